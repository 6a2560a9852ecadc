// SPDX-License-Identifier: Apache-2.0

// The union of the rows of A and B as bits: two an entry of C, whether A has it and whether B has
// it. Rows follow one another in all three, so the bits of all rows are one stream, and filling C
// is a loop over 64 entries at a time: plain vector loops where the bits say that both, or one of
// them, have all.
#pragma once
#include "tulle/core/parallel.hpp"
#include "tulle/format/csr.hpp"

#include "format/detail/copy.hpp"
#include "op/add_row.hpp"

#include <algorithm>

namespace tulle::detail {

using word = std::uint64_t;

/// Where the parts of a merge begin, and the bits, two words for 64 entries: A's, then B's.
struct merge_table {
  std::size_t* row;   // parts + 1
  std::size_t* entry; // parts + 1, of C
  word* bits;         // of part p from word_of(a, b, p) on

  merge_table(void* memory, int parts)
      : row(static_cast<std::size_t*>(memory)), entry(row + parts + 1),
        bits(reinterpret_cast<word*>(entry + parts + 1)) {}
};

/// Entries of A and B before a row.
template <class V, class I, class O>
std::size_t before(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b, std::size_t i) {
  return static_cast<std::size_t>(a.row_ptr[i]) + static_cast<std::size_t>(b.row_ptr[i]);
}

/// First word of a part that begins at that many entries of A and B: parts are rounded up.
inline std::size_t word_of(std::size_t entries, int part) {
  return 2 * (entries / 64 + static_cast<std::size_t>(part));
}

template <class V, class I, class O>
std::size_t merge_bytes(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b, int parts) {
  std::size_t const most = static_cast<std::size_t>(a.nnz) + static_cast<std::size_t>(b.nnz);
  return word_of(most, parts) * sizeof(word) +
         2 * (static_cast<std::size_t>(parts) + 1) * sizeof(std::size_t);
}

/// The bits of up to 64 entries of C.
struct merged_bits {
  word a = 0, b = 0;
  unsigned count = 0;
};

/// n < 64 of them.
inline word ones(std::size_t n) {
  return (word(1) << n) - 1;
}

/// Appends bits to the stream of a part.
struct bit_writer {
  word* out;
  word a = 0, b = 0;
  unsigned count = 0; // in a and b, below 64
  std::size_t all = 0;

  /// No branch asks whether a word is full: the words are written each time.
  void append(merged_bits m) {
    a |= m.a << count;
    b |= m.b << count;
    out[0] = a;
    out[1] = b;
    unsigned const sum = count + m.count;
    bool const full = sum >= 64;
    // What did not fit; in two shifts, since one of 64 has no meaning.
    a = full ? m.a >> 1 >> (63 - count) : a;
    b = full ? m.b >> 1 >> (63 - count) : b;
    out += full ? 2 : 0;
    count = sum % 64;
    all += m.count;
  }
  /// What is left of a word.
  void end() {
    out[0] = a;
    out[1] = b;
  }
  /// n entries of one kind.
  void append(bool has_a, bool has_b, std::size_t n) {
    for (std::size_t here; n != 0; n -= here) {
      here = n < 32 ? n : 32;
      append({has_a * ones(here), has_b * ones(here), static_cast<unsigned>(here)});
    }
  }
};

/// Whether two lists of n > 0 are the same; ends tell most that are not.
template <class I>
bool same_columns(I const* a, I const* b, std::size_t n) {
  return a[0] == b[0] && a[n - 1] == b[n - 1] && same(a, b, n);
}

constexpr std::size_t piece = 32; // of a row: those of A and B make at most one word of C

/// A row of at most a piece of each, from both ends at once: each step waits for the one before,
/// so there are two that do not wait for each other. ms of one thread to merge A and A shifted,
/// from one end and from both: fem 12.6, 7.6; rmat 18 22.4, 13.9; lattice 8.1, 7.5.
template <class I>
merged_bits merge_piece(I const* a, std::size_t na, I const* b, std::size_t nb) {
  I const* a_end = a + na;
  I const* b_end = b + nb;
  merged_bits low, high;
  while (a_end - a >= 2 && b_end - b >= 2) { // the ends have no entry in common
    I const p = *a, q = *b, r = a_end[-1], s = b_end[-1];
    low.a |= word(p <= q) << low.count;
    low.b |= word(q <= p) << low.count;
    ++low.count;
    high.a = 2 * high.a + (r >= s);
    high.b = 2 * high.b + (s >= r);
    a += p <= q;
    b += q <= p;
    a_end -= r >= s;
    b_end -= s >= r;
  }
  high.count = low.count;
  while (a != a_end && b != b_end) {
    I const p = *a, q = *b;
    low.a |= word(p <= q) << low.count;
    low.b |= word(q <= p) << low.count;
    ++low.count;
    a += p <= q;
    b += q <= p;
  }
  // One of them has nothing left. The count stays below 64: rows as long as that have a high end.
  auto const left = static_cast<unsigned>((a_end - a) + (b_end - b));
  (a != a_end ? low.a : low.b) |= ones(left) << low.count;
  low.count += left;
  return {low.a | high.a << low.count, low.b | high.b << low.count, low.count + high.count};
}

template <class I>
void merge_row(I const* a, std::size_t na, I const* b, std::size_t nb, bit_writer& out) {
  if (na == nb && (na == 0 || same_columns(a, b, na)))
    return out.append(true, true, na);
  // Pieces end at the same column in both: at the lower one of their last.
  while ((na > piece || nb > piece) && na != 0 && nb != 0) {
    std::size_t here_a = std::min(na, piece), here_b = std::min(nb, piece);
    I const last = std::min(a[here_a - 1], b[here_b - 1]);
    auto const up_to_last = [last](I const* p, std::size_t n) {
      I sum = 0;
      for (std::size_t e = 0; e < n; ++e)
        sum += p[e] <= last;
      return static_cast<std::size_t>(sum);
    };
    here_a = up_to_last(a, here_a);
    here_b = up_to_last(b, here_b);
    out.append(merge_piece(a, here_a, b, here_b));
    a += here_a;
    b += here_b;
    na -= here_a;
    nb -= here_b;
  }
  if (na > piece || nb > piece)
    return out.append(na != 0, nb != 0, na + nb);
  out.append(merge_piece(a, na, b, nb));
}

/// Merges all rows: the table, and in row_ptr[i + 1] the entries of C from row i's part on.
template <class V, class I, class O>
void merge(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b, merge_table t, int parts,
           O* row_ptr) {
  auto const rows = static_cast<std::size_t>(a.rows);
  t.row[0] = t.entry[0] = 0;
  for (int p = 1; p <= parts; ++p) { // rows in equal shares of entries
    std::size_t const wanted = split(rows == 0 ? 0 : before(a, b, rows), p, parts);
    std::size_t lo = t.row[p - 1], hi = rows;
    while (lo < hi) {
      std::size_t const mid = lo + (hi - lo) / 2;
      if (before(a, b, mid) < wanted)
        lo = mid + 1;
      else
        hi = mid;
    }
    t.row[p] = p == parts ? rows : lo;
  }
  parallel(parts, [&](int part) {
    if (t.row[part] == t.row[part + 1]) {
      t.entry[part + 1] = 0;
      return;
    }
    bit_writer out{t.bits + word_of(before(a, b, t.row[part]), part)};
    for (std::size_t i = t.row[part]; i < t.row[part + 1]; ++i) {
      merge_row(a.col + a.row_ptr[i], static_cast<std::size_t>(a.row_ptr[i + 1] - a.row_ptr[i]),
                b.col + b.row_ptr[i], static_cast<std::size_t>(b.row_ptr[i + 1] - b.row_ptr[i]),
                out);
      row_ptr[i + 1] = static_cast<O>(out.all); // fits if all of C does
    }
    out.end();
    t.entry[part + 1] = out.all;
  });
  for (int p = 0; p < parts; ++p)
    t.entry[p + 1] += t.entry[p];
}

/// How an entry of C comes from those of A and B: their columns. Where both have it, A's comes to
/// a place that was cleared, then B's.
template <class I>
struct join_columns {
  I const* a;
  I const* b;
  I* c;

  join_columns at(std::size_t k, std::size_t l, std::size_t n) const {
    return {a + k, b + l, c + n};
  }
  void of_a(std::size_t n, std::size_t k) const { c[n] = a[k]; }
  void of_b(std::size_t n, std::size_t l) const { c[n] = b[l]; }
  void of_both(std::size_t n, std::size_t k, std::size_t) const { c[n] = a[k]; }
  void clear(std::size_t, std::size_t) const {}
  void and_b(std::size_t n, std::size_t l) const { c[n] = b[l]; }
};

/// And their values. A factor of zero does not let a NaN through.
template <class V>
struct join_values {
  V alpha;
  V const* a;
  V beta;
  V const* b;
  V* c;
  bool no_a = alpha == V(0), no_b = beta == V(0);

  join_values at(std::size_t k, std::size_t l, std::size_t n) const {
    return {alpha, a + k, beta, b + l, c + n};
  }
  V term_a(std::size_t k) const { return no_a ? V(0) : alpha * a[k]; }
  V term_b(std::size_t l) const { return no_b ? V(0) : beta * b[l]; }
  void of_a(std::size_t n, std::size_t k) const { c[n] = term_a(k); }
  void of_b(std::size_t n, std::size_t l) const { c[n] = term_b(l); }
  void of_both(std::size_t n, std::size_t k, std::size_t l) const { c[n] = term_a(k) + term_b(l); }
  void clear(std::size_t n, std::size_t count) const {
    std::fill_n(c + n, count, only_if(false, V(0)));
  }
  void and_b(std::size_t n, std::size_t l) const { c[n] += term_b(l); }
};

/// Columns and values.
template <class V, class I>
struct join_entries {
  join_columns<I> col;
  join_values<V> val;

  join_entries at(std::size_t k, std::size_t l, std::size_t n) const {
    return {col.at(k, l, n), val.at(k, l, n)};
  }
  void of_a(std::size_t n, std::size_t k) const {
    col.of_a(n, k);
    val.of_a(n, k);
  }
  void of_b(std::size_t n, std::size_t l) const {
    col.of_b(n, l);
    val.of_b(n, l);
  }
  void of_both(std::size_t n, std::size_t k, std::size_t l) const {
    col.of_both(n, k, l);
    val.of_both(n, k, l);
  }
  void clear(std::size_t n, std::size_t count) const { val.clear(n, count); }
  void and_b(std::size_t n, std::size_t l) const {
    col.and_b(n, l);
    val.and_b(n, l);
  }
};

/// f(place) for each bit that is set.
template <class F>
void each_bit(word bits, F f) {
  for (; bits != 0; bits &= bits - 1)
    f(static_cast<std::size_t>(__builtin_ctzll(bits)));
}

/// n entries of C by their bits: all of A's, then all of B's, each to its place. No branch asks
/// whose an entry is. ms of one thread for A and A shifted, going through C's entries with both
/// read and masked, and so: lattice 7.7, 4.0; fem 8.9, 6.5; rmat 18 14.9, 8.3.
template <class Join>
void expand(word const* bits, std::size_t n, Join const join) {
  std::size_t k = 0, l = 0;
  for (std::size_t first = 0; first < n; first += 64, bits += 2) {
    word const has_a = bits[0];
    word const has_b = bits[1];
    if ((has_a & has_b) == ~word(0)) {
      for (std::size_t e = 0; e < 64; ++e)
        join.of_both(first + e, k + e, l + e);
      k += 64;
      l += 64;
    } else if (has_a == ~word(0) && has_b == 0) {
      for (std::size_t e = 0; e < 64; ++e)
        join.of_a(first + e, k + e);
      k += 64;
    } else if (has_b == ~word(0) && has_a == 0) {
      for (std::size_t e = 0; e < 64; ++e)
        join.of_b(first + e, l + e);
      l += 64;
    } else if ((has_a & has_b) == 0) {
      each_bit(has_a, [&](std::size_t e) { join.of_a(first + e, k++); });
      each_bit(has_b, [&](std::size_t e) { join.of_b(first + e, l++); });
    } else {
      join.clear(first, std::min<std::size_t>(64, n - first));
      each_bit(has_a, [&](std::size_t e) { join.of_a(first + e, k++); });
      each_bit(has_b, [&](std::size_t e) { join.and_b(first + e, l++); });
    }
  }
}

/// expand() for every part.
template <class V, class I, class O, class Join>
void expand_all(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b, merge_table t, int parts,
                Join const& join) {
  parallel(parts, [&](int part) {
    std::size_t const i = t.row[part];
    std::size_t const n = t.entry[part + 1] - t.entry[part];
    if (n == 0)
      return;
    auto const k = static_cast<std::size_t>(a.row_ptr[i]);
    auto const l = static_cast<std::size_t>(b.row_ptr[i]);
    expand(t.bits + word_of(k + l, part), n, join.at(k, l, t.entry[part]));
  });
}

} // namespace tulle::detail

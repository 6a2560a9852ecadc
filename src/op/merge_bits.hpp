// SPDX-License-Identifier: Apache-2.0

// The union of the rows of A and B as bits: two an entry of C, whether A has it and whether B has
// it. Rows follow one another in all three, so the bits of all rows are one stream, and filling C
// is a loop over 64 entries at a time: plain vector loops where the bits say that both, or one of
// them, have all.
#pragma once
#include "tulle/core/parallel.hpp"
#include "tulle/format/csr.hpp"

#include <bit>

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

/// Appends bits to the stream of a part.
struct bit_writer {
  word* out;
  word a = 0, b = 0;
  unsigned count = 0; // in a and b
  std::size_t all = 0;

  void append(word has_a, word has_b) {
    a |= has_a << count;
    b |= has_b << count;
    if (++count == 64)
      flush();
  }
  void append(word has_a, word has_b, std::size_t n) {
    while (n != 0) {
      std::size_t const here = n < 64 - count ? n : 64 - count;
      word const ones = (here == 64 ? ~word(0) : (word(1) << here) - 1) << count;
      a |= has_a * ones;
      b |= has_b * ones;
      count += static_cast<unsigned>(here);
      n -= here;
      if (count == 64)
        flush();
    }
  }
  void flush() {
    out[0] = a;
    out[1] = b;
    out += 2;
    all += count;
    a = b = count = 0;
  }
};

/// Whether two lists of n > 0 are the same; ends tell most that are not.
template <class I>
bool same_columns(I const* a, I const* b, std::size_t n) {
  return a[0] == b[0] && a[n - 1] == b[n - 1] && same(a, b, n);
}

template <class I>
void merge_row(I const* a, std::size_t na, I const* b, std::size_t nb, bit_writer& out) {
  if (na == nb && (na == 0 || same_columns(a, b, na)))
    return out.append(1, 1, na);
  std::size_t k = 0, l = 0;
  while (k < na && l < nb) {
    word const has_a = a[k] <= b[l];
    word const has_b = b[l] <= a[k];
    out.append(has_a, has_b);
    k += has_a;
    l += has_b;
  }
  out.append(1, 0, na - k);
  out.append(0, 1, nb - l);
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
      row_ptr[i + 1] = static_cast<O>(out.all + out.count); // fits if all of C does
    }
    if (out.count != 0)
      out.flush();
    t.entry[part + 1] = out.all;
  });
  for (int p = 0; p < parts; ++p)
    t.entry[p + 1] += t.entry[p];
}

/// How an entry of C comes from those of A and B: their columns.
template <class I>
struct join_columns {
  I of_a(I j) const { return j; }
  I of_b(I j) const { return j; }
  I of_both(I j, I) const { return j; }
};
/// And their values. A factor of zero does not let a NaN through.
template <class V>
struct join_values {
  V alpha, beta;
  bool no_a = alpha == V(0), no_b = beta == V(0);
  V of_a(V v) const { return no_a ? V(0) : alpha * v; }
  V of_b(V v) const { return no_b ? V(0) : beta * v; }
  V of_both(V v, V w) const { return of_a(v) + of_b(w); }
};

/// Entries of C by their bits: n of them to `out`, from a[0..na) and b[0..nb) on.
template <class T, class Join>
void expand(word const* bits, std::size_t n, T const* a, std::size_t na, T const* b, std::size_t nb,
            T* out, Join const& join) {
  std::size_t k = 0, l = 0;
  for (std::size_t first = 0; first < n; first += 64, bits += 2, out += 64) {
    word const has_a = bits[0];
    word const has_b = bits[1];
    if ((has_a & has_b) == ~word(0)) {
      for (std::size_t e = 0; e < 64; ++e)
        out[e] = join.of_both(a[k + e], b[l + e]);
    } else if (has_a == ~word(0) && has_b == 0) {
      for (std::size_t e = 0; e < 64; ++e)
        out[e] = join.of_a(a[k + e]);
    } else if (has_b == ~word(0) && has_a == 0) {
      for (std::size_t e = 0; e < 64; ++e)
        out[e] = join.of_b(b[l + e]);
    } else if (first + 64 <= n && k + 64 < na && l + 64 < nb) {
      // Both are read whether they are had or not: no branch for bits that nobody can foresee.
      std::size_t p = k, q = l;
      for (std::size_t e = 0; e < 64; ++e) {
        T const v = a[p];
        T const w = b[q];
        bool const is_a = has_a >> e & 1;
        bool const is_b = has_b >> e & 1;
        T const one = is_a ? join.of_a(v) : join.of_b(w);
        out[e] = is_a && is_b ? join.of_both(v, w) : one;
        p += is_a;
        q += is_b;
      }
    } else {
      std::size_t p = k, q = l;
      for (std::size_t e = 0; e < 64 && first + e < n; ++e) {
        bool const is_a = has_a >> e & 1;
        bool const is_b = has_b >> e & 1;
        out[e] = is_a && is_b ? join.of_both(a[p], b[q]) : is_a ? join.of_a(a[p]) : join.of_b(b[q]);
        p += is_a;
        q += is_b;
      }
    }
    k += static_cast<std::size_t>(std::popcount(has_a));
    l += static_cast<std::size_t>(std::popcount(has_b));
  }
}

/// expand() for every part.
template <class V, class I, class O, class T, class Join>
void expand_all(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b, merge_table t, int parts,
                T const* from_a, T const* from_b, T* out, Join const& join) {
  parallel(parts, [&](int part) {
    std::size_t const i = t.row[part];
    std::size_t const n = t.entry[part + 1] - t.entry[part];
    if (n == 0)
      return;
    auto const k = static_cast<std::size_t>(a.row_ptr[i]);
    auto const l = static_cast<std::size_t>(b.row_ptr[i]);
    expand(t.bits + word_of(k + l, part), n, from_a + k, static_cast<std::size_t>(a.nnz) - k,
           from_b + l, static_cast<std::size_t>(b.nnz) - l, out + t.entry[part], join);
  });
}

} // namespace tulle::detail

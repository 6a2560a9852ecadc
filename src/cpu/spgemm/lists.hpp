// SPDX-License-Identifier: Apache-2.0

// Rows of C by lists of columns instead of an accumulator: hash, esc, heap and merge. Each is one
// function for both passes: `out` is where columns and values go, or only counts.
//
// Liu, thesis 2015, sec. 9.4.2 takes heap for rows of up to 32 products, bitonic esc up to 512 and
// merge above, as suits a GPU's scratchpad; here they take rows of any length, and the automatic
// choice is measured against them. All add an entry's products in the order of A's row: the heap
// and the sorts are stable, and the table and the merge take the rows of B in that order.
#pragma once
#include "cpu/spgemm/rows.hpp"
#include "kernel/primitive/network_sort.hpp"
#include "primitive/d_heap.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

constexpr int heap_arity = 4; // other numbers have not been measured

/// A column and the row of B it comes from. The greatest element is the one that comes first.
template <class I>
struct head {
  I col;
  std::int32_t row;
  friend HWY_INLINE bool operator<(head a, head b) {
    return a.col != b.col ? a.col > b.col : a.row > b.row;
  }
};

template <class I>
using row_heap = primitive::d_heap<head<I>, heap_arity>;

HWY_INLINE std::size_t in_lines(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}
/// Slots of a table for n columns: a power of two, at most half full.
HWY_INLINE i64 slots_for(i64 n) {
  i64 slots = 16;
  while (slots < 2 * n)
    slots *= 2;
  return slots;
}

struct no_value {}; // where columns are only counted

/// Scratch of these rows: a table, and two lists. The table is empty between rows.
template <class V, class I>
struct list_scratch {
  I* key;
  V* sum;
  std::int32_t* slot; // of a table, or places of a heap
  I* col[2];
  V* val[2];
  std::byte* heap;

  static i64 listed(spgemm_task const& t, i64 cols) {
    using enum spgemm_method;
    bool const is_expanded = t.wanted == esc || t.wanted == automatic || t.wanted == tiny ||
                             t.wanted == spgemm_method::scatter;
    i64 const most = t.wanted == heap_esc_merge && cols < most_by_esc ? most_by_esc : cols;
    return t.all.listed < most || is_expanded ? t.all.listed : most;
  }
  static bool has(spgemm_task const& t, row_kind k) { return t.all.rows[static_cast<int>(k)] > 0; }
  /// Lays all arrays out from `at`; returns where they end.
  static std::size_t lay(spgemm_task const& t, i64 cols, std::byte* at, list_scratch& s) {
    std::size_t used = 0;
    auto const take = [&](auto*& p, std::size_t n) {
      p = reinterpret_cast<std::remove_reference_t<decltype(p)>>(at + used);
      used += in_lines(n * sizeof(*p));
    };
    auto const n = static_cast<std::size_t>(listed(t, cols));
    std::size_t const slots =
        has(t, row_kind::hash) ? static_cast<std::size_t>(slots_for(static_cast<i64>(n))) : 0;
    take(s.key, slots);
    take(s.sum, slots);
    take(s.slot, slots ? n : 0);
    bool const lists = has(t, row_kind::hash) || has(t, row_kind::esc) || has(t, row_kind::merge);
    for (int k = 0; k < 2; ++k) {
      take(s.col[k], lists ? n : 0);
      take(s.val[k], lists ? n : 0);
    }
    auto const heads = static_cast<std::size_t>(t.all.heads);
    take(s.heap, heads
                     ? in_lines(row_heap<I>::slots(heads) * sizeof(head<I>)) +
                           in_lines(row_heap<I>::slots(heads) * 4) + in_lines(heads * 4) + heads * 8
                     : 0);
    return used;
  }
  list_scratch<no_value, I> columns() const {
    return {key, nullptr, slot, {col[0], col[1]}, {}, heap};
  }
  void clear(spgemm_task const& t, i64 cols) const {
    if (has(t, row_kind::hash))
      for (i64 k = 0, n = slots_for(listed(t, cols)); k < n; ++k)
        key[k] = I(-1);
  }
};

/// Where a row goes: `val` is nullptr where only columns are counted.
template <class V, class I>
struct row_out {
  I* col;
  V* val;
};

/// Merges two ascending lists with values, those of a first where columns are equal.
template <bool values, class K, class V>
HWY_INLINE void merge_runs(K const* a, V const* av, i64 na, K const* b, V const* bv, i64 nb, K* out,
                           V* outv) {
  i64 i = 0, j = 0;
  for (i64 n = 0; n < na + nb; ++n) {
    bool const from_b = i == na || (j < nb && b[j] < a[i]);
    out[n] = from_b ? b[j] : a[i];
    if constexpr (values)
      outv[n] = from_b ? bv[j] : av[i];
    i += !from_b;
    j += from_b;
  }
}

/// Sorts s.col[0] and s.val[0], stable: runs by a network, then merges. Returns which of the two
/// lists holds the result.
template <bool values, class V, class I>
int sort_lists(list_scratch<V, I> const& s, i64 n) {
  for (i64 at = 0; at < n; at += bitonic_limit) {
    i64 const run = n - at < bitonic_limit ? n - at : bitonic_limit;
    if constexpr (values)
      bitonic_sort(s.col[0] + at, s.val[0] + at, run);
    else
      bitonic_sort(s.col[0] + at, run);
  }
  int from = 0;
  for (i64 run = bitonic_limit; run < n; run *= 2, from ^= 1)
    for (i64 at = 0; at < n; at += 2 * run) {
      i64 const na = n - at < run ? n - at : run;
      i64 const nb = n - at - na < run ? n - at - na : run;
      i64 const v = values ? at : 0; // without values there is no list of them
      merge_runs<values>(s.col[from] + at, s.val[from] + v, na, s.col[from] + at + na,
                         s.val[from] + v + (values ? na : 0), nb, s.col[from ^ 1] + at,
                         s.val[from ^ 1] + v);
    }
  return from;
}

/// C is product<V, I, O> where rows are filled; where they are counted product_pattern<I, O>, so
/// that counting is compiled once for all values.
template <class I>
struct list_row {
  /// Expand, sort, compress.
  template <bool fill, class C, class V>
  static i64 esc(C const& c, i64 i, list_scratch<V, I> const& s, row_out<V, I> out) {
    i64 n = 0;
    for (i64 k = c.a.begin(i), end = c.a.begin(i + 1); k < end; ++k) {
      i64 const j = c.b_row(k);
      for (i64 p = c.first_of(k), to = c.b.begin(j + 1); p < to; ++p, ++n) {
        s.col[0][n] = c.b.col[p];
        if constexpr (fill)
          s.val[0][n] = times(c.a_val[k], c.b_val[p]);
      }
    }
    int const from = sort_lists<fill>(s, n);
    I const* const col = s.col[from];
    i64 at = -1;
    for (i64 p = 0; p < n; ++p) {
      bool const is_new = p == 0 || col[p] != col[p - 1];
      at += is_new;
      if constexpr (fill) {
        out.col[at] = col[p];
        out.val[at] = is_new ? s.val[from][p] : out.val[at] + s.val[from][p];
      }
    }
    return at + 1;
  }

  /// Merges one row of B after another into the current list.
  template <bool fill, class C, class V>
  static i64 merge(C const& c, i64 i, list_scratch<V, I> const& s, row_out<V, I> out) {
    int from = 0;
    i64 n = 0;
    for (i64 k = c.a.begin(i), end = c.a.begin(i + 1); k < end; ++k) {
      i64 const j = c.b_row(k), to = c.b.begin(j + 1);
      I const* const col = s.col[from];
      V const* const val = s.val[from];
      I* const next = s.col[from ^ 1];
      V* const next_val = s.val[from ^ 1];
      i64 p = 0, q = c.first_of(k), m = 0;
      while (p < n || q < to) {
        bool const old = q == to || (p < n && col[p] <= c.b.col[q]);
        bool const fresh = p == n || (q < to && c.b.col[q] <= col[p]);
        next[m] = old ? col[p] : c.b.col[q];
        if constexpr (fill) {
          V sum = old ? val[p] : nothing<V>();
          if (fresh)
            sum = sum + times(c.a_val[k], c.b_val[q]);
          next_val[m] = sum;
        }
        ++m;
        p += old;
        q += fresh;
      }
      n = m;
      from ^= 1;
    }
    if constexpr (fill) {
      std::memcpy(out.col, s.col[from], static_cast<std::size_t>(n) * sizeof(I));
      std::memcpy(out.val, s.val[from], static_cast<std::size_t>(n) * sizeof(V));
    }
    return n;
  }

  /// Repeatedly takes the smallest head of all rows of B.
  template <bool fill, class C, class V>
  static i64 heap(C const& c, i64 i, list_scratch<V, I> const& s, row_out<V, I> out) {
    auto const heads = static_cast<std::size_t>(c.a.length(i));
    std::size_t const slots = row_heap<I>::slots(heads);
    auto* const keys = reinterpret_cast<head<I>*>(s.heap);
    auto* const names = reinterpret_cast<std::int32_t*>(s.heap + in_lines(slots * sizeof(head<I>)));
    auto* const places = names + in_lines(slots * 4) / 4;
    auto* const at = reinterpret_cast<i64*>(places + in_lines(heads * 4) / 4); // in each row of B
    row_heap<I> h(keys, names, places, heads);
    i64 const first = c.a.begin(i);
    for (std::size_t k = 0; k < heads; ++k) {
      i64 const j = c.b_row(first + static_cast<i64>(k));
      at[k] = c.first_of(first + static_cast<i64>(k));
      if (at[k] < c.b.begin(j + 1))
        h.insert(static_cast<std::int32_t>(k), {c.b.col[at[k]], static_cast<std::int32_t>(k)});
    }
    i64 n = 0;
    I last = I(-1);
    while (!h.empty()) {
      head<I> const top = h.peek().key;
      i64 const k = first + top.row, p = at[top.row]++;
      if constexpr (fill) {
        V const term = times(c.a_val[k], c.b_val[p]);
        if (top.col != last) {
          out.col[n] = top.col;
          out.val[n] = term;
        } else {
          out.val[n - 1] = out.val[n - 1] + term;
        }
      }
      n += top.col != last;
      last = top.col;
      if (p + 1 < c.b.begin(c.b_row(k) + 1))
        h.update_key(top.row, {c.b.col[p + 1], top.row});
      else
        h.delete_max();
    }
    return n;
  }

  /// A table of columns with linear probing; its columns are sorted afterwards.
  template <bool fill, class C, class V>
  static i64 hash(C const& c, i64 i, i64 products, list_scratch<V, I> const& s, row_out<V, I> out) {
    i64 const cols = static_cast<i64>(c.b.cols);
    i64 const mask = slots_for(products < cols ? products : cols) - 1;
    int const shift = 64 - __builtin_popcountll(static_cast<unsigned long long>(mask));
    i64 n = 0;
    for (i64 k = c.a.begin(i), end = c.a.begin(i + 1); k < end; ++k) {
      i64 const j = c.b_row(k);
      for (i64 p = c.first_of(k), to = c.b.begin(j + 1); p < to; ++p) {
        I const col = c.b.col[p];
        auto at =
            static_cast<i64>((static_cast<std::uint64_t>(col) * 0x9e3779b97f4a7c15u) >> shift);
        while (s.key[at] != col && s.key[at] != I(-1))
          at = (at + 1) & mask;
        bool const is_new = s.key[at] == I(-1);
        if (is_new) {
          s.key[at] = col;
          s.slot[n++] = static_cast<std::int32_t>(at);
        }
        if constexpr (fill) {
          V const term = times(c.a_val[k], c.b_val[p]);
          s.sum[at] = is_new ? term : s.sum[at] + term;
        }
      }
    }
    for (i64 p = 0; p < n; ++p) {
      if constexpr (fill) {
        s.col[0][p] = s.key[s.slot[p]];
        s.val[0][p] = s.sum[s.slot[p]];
      }
      s.key[s.slot[p]] = I(-1);
    }
    if constexpr (fill) {
      int const from = c.t.sorted ? sort_lists<true>(s, n) : 0;
      std::memcpy(out.col, s.col[from], static_cast<std::size_t>(n) * sizeof(I));
      std::memcpy(out.val, s.val[from], static_cast<std::size_t>(n) * sizeof(V));
    }
    return n;
  }

  template <bool fill, class C, class V>
  static i64 run(row_kind kind, C const& c, i64 i, list_scratch<V, I> const& s, row_out<V, I> out) {
    switch (kind) {
    case row_kind::esc:
      return esc<fill>(c, i, s, out);
    case row_kind::merge:
      return merge<fill>(c, i, s, out);
    case row_kind::heap:
      return heap<fill>(c, i, s, out);
    default:
      return hash<fill>(c, i, c.lengths(i).products, s, out);
    }
  }
};

} // namespace
} // namespace tulle::kernels::TULLE_ISA

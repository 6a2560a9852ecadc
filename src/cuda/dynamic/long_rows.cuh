// SPDX-License-Identifier: Apache-2.0

// Rows of more than `few` entries of a compact matrix put in the order of columns. A row has a part
// that ascends and, after it, unsorted entries. The unsorted entries of all rows are sorted in one
// go and then merged with the ascending parts: an entry of one part finds its place by a search in
// the other. Bytes that must move, double with 32-bit indices: 4 per entry to find what ascends, 48
// to merge and to put back.
#pragma once
#include "cuda/cub.cuh"
#include "cuda/dynamic/short_rows.cuh"
#include "cuda/sort_by_key.cuh"

namespace tulle::kernels::cuda {
namespace {

/// The kernels' view of long rows. Their entries are numbered row by row.
template <class V, class I>
struct long_view {
  std::size_t rows;
  I const* row;
  I const* ptr;                  // the first entry
  unsigned long long* ascending; // how many entries ascend
  I* unsorted_ptr;               // rows + 1: of the unsorted ones
  I const* first;                // of the matrix, whose entries are col and val
  I* col;
  V* val;

  struct place {
    std::size_t r; // the row
    I q;           // in it
  };
  __device__ place of(std::size_t e) const {
    std::size_t const r = upper_bound(ptr, rows, static_cast<I>(e)) - 1;
    return {r, static_cast<I>(e) - ptr[r]};
  }
  /// The place of unsorted entry t.
  __device__ place of_unsorted(std::size_t t) const {
    std::size_t const r = upper_bound(unsorted_ptr, rows, static_cast<I>(t)) - 1;
    return {r, ascends(r) + static_cast<I>(t) - unsorted_ptr[r]};
  }
  __device__ I ascends(std::size_t r) const { return static_cast<I>(ascending[r]); }
  __device__ I length(std::size_t r) const { return first[row[r] + 1] - first[row[r]]; }
  __device__ I at(place const& p) const { return first[row[p.r]] + p.q; }
};

template <class V, class I>
struct long_rows {
  std::size_t rows = 0, n = 0; // and their entries
  std::size_t unsorted = 0;    // entries that do not ascend
  owned row, ptr, ascending, unsorted_ptr;
  owned fresh; // of unsorted entries, by column: how many of those before have their own place
  owned to_col, to_val; // all entries, in order

  long_view<V, I> view(matrix<V, I> const& m) const {
    return {rows,
            row.template as<I>(),
            ptr.template as<I>(),
            ascending.template as<unsigned long long>(),
            unsorted_ptr.template as<I>(),
            m.first.template as<I>(),
            m.col.template as<I>(),
            m.val.template as<V>()};
  }
};

/// For each row with a descent among the warp's entries, one lane records the first.
template <class V, class I>
__device__ void note_descent(long_view<V, I> const& a, std::size_t e) {
  auto const p = a.of(e);
  I const k = a.at(p);
  bool const descends = p.q > 0 && a.col[k] <= a.col[k - 1];
  unsigned const here = __activemask(), all = __ballot_sync(here, descends);
  unsigned const before = all & ((1u << threadIdx.x % 32) - 1);
  int const last = before != 0 ? 31 - __clz(static_cast<int>(before)) : threadIdx.x % 32;
  auto const its_row = __shfl_sync(here, static_cast<unsigned long long>(p.r), last);
  if (descends && (before == 0 || its_row != p.r))
    atomicMin(a.ascending + p.r, static_cast<unsigned long long>(p.q));
}

/// Finds the long rows of the matrix and their unsorted entries. Waits for both.
template <class V, class I>
long_rows<V, I> find_long_rows(matrix<V, I> const& m) {
  constexpr int shift = 24; // bits of the number of entries, below that of rows
  void* const s = m.o.queue;
  std::size_t const most = m.entries / few + 1;
  counter const found(s);
  long_rows<V, I> a;
  a.row = m.take(most, sizeof(I));
  a.ptr = m.take(most, sizeof(I));
  a.ascending = m.take(most, sizeof(unsigned long long));
  a.unsorted_ptr = m.take(most + 1, sizeof(I));
  each(static_cast<std::size_t>(m.rows), s,
       [first = m.first.template as<I>(), row = a.row.template as<I>(),
        ptr = a.ptr.template as<I>(), ascending = a.ascending.template as<unsigned long long>(),
        found = found.get()] __device__(std::size_t i) {
         I const n = first[i + 1] - first[i];
         if (n <= few)
           return;
         unsigned long long const at =
             atomicAdd(found, static_cast<unsigned long long>(n) << shift | 1);
         std::size_t const r = at & ((1u << shift) - 1);
         row[r] = static_cast<I>(i);
         ptr[r] = static_cast<I>(at >> shift);
         ascending[r] = static_cast<unsigned long long>(n);
       });
  auto const all = static_cast<unsigned long long>(found.value());
  a.rows = static_cast<std::size_t>(all & ((1u << shift) - 1));
  a.n = static_cast<std::size_t>(all >> shift);
  if (a.n == 0)
    return a;
  auto const v = a.view(m);
  each(a.n, s, [v] __device__(std::size_t e) { note_descent(v, e); });
  each(a.rows, s,
       [v] __device__(std::size_t r) { v.unsorted_ptr[r] = v.length(r) - v.ascends(r); });
  to_pointers(v.unsorted_ptr, a.rows, s);
  a.unsorted = static_cast<std::size_t>(fetch(v.unsorted_ptr + a.rows, 1, s)[0]);
  return a;
}

/// Writes their entries in order to separate arrays; duplicates keep their order, or are added up.
template <class V, class I>
void merge(matrix<V, I> const& m, long_rows<V, I>& a, bool combine) {
  if (a.unsorted == 0)
    return;
  void* const s = m.o.queue;
  auto const v = a.view(m);
  owned const line = m.take(a.unsorted, sizeof(I)), sorted_line = m.take(a.unsorted, sizeof(I));
  owned const col = m.take(a.unsorted, sizeof(I)), sorted_col = m.take(a.unsorted, sizeof(I));
  owned const order = m.take(a.unsorted, sizeof(I)), before = m.take(a.unsorted, sizeof(I));
  a.fresh = m.take(a.unsorted + 1, sizeof(I));
  a.to_col = m.take(a.n, sizeof(I));
  a.to_val = m.take(a.n, sizeof(V));
  each(a.unsorted, s, [v, line = line.as<I>(), col = col.as<I>()] __device__(std::size_t t) {
    auto const p = v.of_unsorted(t);
    line[t] = static_cast<I>(p.r);
    col[t] = v.col[v.at(p)];
  });
  order_by(static_cast<I>(a.rows), m.cols, static_cast<I>(a.unsorted),
           static_cast<I const*>(line.as<I>()), static_cast<I const*>(col.as<I>()),
           sorted_line.as<I>(), order.as<I>(), s);
  // Its place among those that ascend, and whether an entry of the same place is there or was added
  // after them.
  each(a.unsorted, s,
       [v, combine, line = sorted_line.as<I>(), col = col.as<I>(), sorted = sorted_col.as<I>(),
        order = order.as<I>(), before = before.as<I>(),
        fresh = a.fresh.template as<I>()] __device__(std::size_t t) {
         auto const r = static_cast<std::size_t>(line[t]);
         I const c = col[order[t]], n = v.ascends(r);
         I const* const ascending = v.col + v.first[v.row[r]];
         I const at = combine ? lower_bound(ascending, n, c) : upper_bound(ascending, n, c);
         bool const is_again = (at < n && ascending[at] == c) ||
                               (t > 0 && line[t - 1] == line[t] && col[order[t - 1]] == c);
         sorted[t] = c;
         before[t] = at;
         fresh[t] = combine && is_again ? I(0) : I(1);
       });
  to_pointers(a.fresh.template as<I>(), a.unsorted, s);
  each(a.n, s,
       [v, combine, sorted = sorted_col.as<I>(), order = order.as<I>(), before = before.as<I>(),
        fresh = a.fresh.template as<I>(), to_col = a.to_col.template as<I>(),
        to_val = a.to_val.template as<V>()] __device__(std::size_t e) {
         auto const p = v.of(e);
         I const t0 = v.unsorted_ptr[p.r], t1 = v.unsorted_ptr[p.r + 1], n = v.ascends(p.r);
         I c, t = t0 + p.q - n, at = 0; // entries from t on may be at this place, too
         V sum = 0;
         if (p.q < n) {
           I const k = v.at(p);
           c = v.col[k];
           sum = v.val[k];
           t = t0 + lower_bound(sorted + t0, t1 - t0, c);
           at = p.q;
         } else {
           if (fresh[t] == fresh[t + 1])
             return;
           c = sorted[t];
           at = before[t];
         }
         at += fresh[t] - fresh[t0];
         auto const value = [&](I t) { return v.val[v.at({p.r, n + order[t] - t0})]; };
         if (p.q >= n)
           sum = value(t++);
         for (; combine && t < t1 && sorted[t] == c; ++t)
           sum += value(t);
         to_col[v.ptr[p.r] + at] = c;
         to_val[v.ptr[p.r] + at] = sum;
       });
}

/// Copies entries back to the matrix, and counts those that were removed.
template <class V, class I>
void put_back(matrix<V, I> const& m, long_rows<V, I> const& a, unsigned long long* removed) {
  if (a.unsorted == 0)
    return;
  each(a.n, m.o.queue,
       [v = a.view(m), fresh = a.fresh.template as<I>(), col = a.to_col.template as<I>(),
        val = a.to_val.template as<V>(), length = m.length.template as<I>(),
        removed] __device__(std::size_t e) {
         auto const p = v.of(e);
         I const kept =
             v.ascends(p.r) + fresh[v.unsorted_ptr[p.r + 1]] - fresh[v.unsorted_ptr[p.r]];
         if (p.q == 0) {
           length[v.row[p.r]] = kept;
           atomicAdd(removed, static_cast<unsigned long long>(v.length(p.r) - kept));
         }
         if (p.q >= kept)
           return;
         I const k = v.at(p);
         v.col[k] = col[e];
         v.val[k] = val[e];
       });
}

} // namespace
} // namespace tulle::kernels::cuda

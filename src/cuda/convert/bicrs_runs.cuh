// SPDX-License-Identifier: Apache-2.0

// The first steps of conversions to bicrs, cbicrs and vbicrs: rows are cut into parts, the entries
// of each row into runs by the blocks they are in, and the runs of each part are sorted along the
// curve. As on the host, but for all parts at once: runs are sorted by (part, place), and stay in
// the order of rows where those agree.
#pragma once
#include "cuda/convert/convert.cuh"
#include "cuda/primitive/search.cuh"
#include "cuda/sort_by_key.cuh"
#include "format/detail/bicrs_parts.hpp"

namespace tulle::kernels::cuda {
namespace {

/// As detail::greedy_parts, by one warp: each part is a search, 32 rows at once, for the first row
/// that does not fit. *parts: the number of parts.
template <class I, class O>
__global__ void greedy_parts_kernel(std::int64_t rows, O const* row_ptr, std::int64_t part,
                                    I* part_row, unsigned long long* parts) {
  int const lane = threadIdx.x;
  std::int64_t i = 0;
  std::size_t count = 0;
  for (; i < rows; ++count) {
    if (lane == 0)
      part_row[count] = static_cast<I>(i);
    std::int64_t const most = static_cast<std::int64_t>(row_ptr[i]) + i + part;
    std::int64_t first = i + 1, last = rows - i < part ? rows : i + part;
    while (first < last) {
      std::int64_t const here = first + ((last - first) * (lane + 1) + 31) / 32;
      int const fit = __popc(
          __ballot_sync(whole_warp, static_cast<std::int64_t>(row_ptr[here]) + here <= most));
      std::int64_t const before = __shfl_sync(whole_warp, here, fit == 0 ? 0 : fit - 1);
      std::int64_t const next = __shfl_sync(whole_warp, here, fit == 32 ? 31 : fit);
      first = fit == 0 ? first : before;
      last = fit == 32 ? last : next - 1;
    }
    i = first;
  }
  if (lane == 0) {
    part_row[count] = static_cast<I>(rows);
    *parts = count;
  }
}

template <class I>
struct device_parts {
  std::size_t count;
  I const* row; // count + 1, of the result
};
/// Waits for the stream.
template <class V, class I, class O>
device_parts<I> greedy_parts(device_csr<V, I, O> const& a, int part, result const& to) {
  auto const rows = static_cast<std::size_t>(a.rows);
  // Two consecutive parts have more than `part` entries and rows together.
  std::size_t const most = std::min(
      rows, (static_cast<std::size_t>(a.nnz) + rows) / static_cast<std::size_t>(part) * 2 + 1);
  scratch<I> const row(most + 1, to.stream());
  counter const count(to.stream());
  launch(greedy_parts_kernel<I, O>, 1, 32, to.stream(), static_cast<std::int64_t>(rows), a.row_ptr,
         std::int64_t{part}, row.get(), count.get());
  auto const parts = static_cast<std::size_t>(count.value());
  return {parts, to.copy(static_cast<I const*>(row.get()), parts + 1)};
}

/// Runs in the order they are stored, while a conversion works.
template <class V, class I, class O>
struct device_runs {
  device_csr<V, I, O> a;
  device_parts<I> parts;
  void* stream;
  std::size_t count;
  std::unique_ptr<scratch<detail::bicrs_run<I, O>>> runs;
  std::unique_ptr<scratch<std::int64_t>> part_of; // each
  std::unique_ptr<scratch<O>> ptr;                // count + 1: entries before each
  std::unique_ptr<scratch<O>> before; // nnz + 1: runs of the csr that begin before an entry
  std::unique_ptr<scratch<O>> order;  // where those runs are stored

  detail::bicrs_run<I, O> const* run() const { return runs->get(); }
  std::int64_t const* part() const { return part_of->get(); }
  O const* at() const { return ptr->get(); }

  /// Calls f(run, entry of the csr, whether the run begins with it, its place) for each entry.
  template <class F>
  void each_entry(F const& f) const {
    each(static_cast<std::size_t>(a.nnz), stream,
         [=, before = before->get(), order = order->get(), run = run(),
          at = at()] __device__(std::size_t k) {
           O const q = before[k];
           bool const begins = before[k + 1] != q;
           auto const r = static_cast<std::size_t>(order[begins ? q : q - 1]);
           f(r, k, begins,
             static_cast<std::size_t>(at[r]) + (k - static_cast<std::size_t>(run[r].begin)));
         });
  }
};

/// The runs of a canonical csr. Waits for the stream.
template <class V, class I, class O>
device_runs<V, I, O> find_runs(char const* format, device_csr<V, I, O> const& a, int block,
                               int part, result const& to) {
  void* const stream = to.stream();
  auto const n = static_cast<std::size_t>(a.nnz);
  device_parts<I> const parts = greedy_parts(a, part, to);
  int const bits = detail::hilbert_bits(format, fetch(parts.row, parts.count + 1, stream).data(),
                                        parts.count, a.cols, block);
  bool const is_cut = block != 0; // otherwise the matrix is one block
  int shift = 0;
  while (block >> shift > 1)
    ++shift;
  device_runs<V, I, O> made{a, parts, stream, 0, {}, {}, {}, {}, {}};
  made.before = std::make_unique<scratch<O>>(n + 1, stream);
  O* const before = made.before->get();
  scratch<I> const rows(n, stream);
  I* const row = rows.get();
  expand_rows(a.rows, a.nnz, a.row_ptr, row, stream);
  each(n, stream, [=] __device__(std::size_t k) {
    before[k] = static_cast<O>(k) == a.row_ptr[row[k]] ||
                (is_cut && a.col[k] >> shift != a.col[k - 1] >> shift);
  });
  to_pointers(before, n, stream);
  std::size_t const count = last_of(before, n, stream);
  made.count = count;
  made.runs = std::make_unique<scratch<detail::bicrs_run<I, O>>>(count, stream);
  made.part_of = std::make_unique<scratch<std::int64_t>>(count, stream);
  made.ptr = std::make_unique<scratch<O>>(count + 1, stream);
  made.order = std::make_unique<scratch<O>>(count, stream);
  scratch<detail::bicrs_run<I, O>> const in_rows(count, stream);
  scratch<std::int64_t> const part_of(count, stream), place(count, stream), perm(count, stream);
  each(n, stream,
       [=, found = in_rows.get(), part_of = part_of.get(),
        place = place.get()] __device__(std::size_t k) {
         O const q = before[k];
         if (before[k + 1] == q)
           return;
         I const p = upper_bound(parts.row, static_cast<I>(parts.count), row[k]) - 1;
         I const i = row[k] - parts.row[p];
         I const j = is_cut ? static_cast<I>(a.col[k] >> shift) : I(0);
         std::uint64_t const on_curve =
             detail::hilbert(is_cut ? static_cast<std::uint64_t>(i >> shift) : 0,
                             static_cast<std::uint64_t>(j), bits);
         part_of[q] = p;
         place[q] = static_cast<std::int64_t>(on_curve);
         found[q] = {on_curve, i, j, static_cast<O>(k), I(0)};
       });
  // The sort compares as many bits as the greatest key has.
  std::uint64_t const last_place = bits == 0 ? 1 : ~std::uint64_t{0} >> (64 - 2 * bits);
  order_by(static_cast<std::int64_t>(parts.count), static_cast<std::int64_t>(last_place),
           static_cast<std::int64_t>(count), static_cast<std::int64_t const*>(part_of.get()),
           static_cast<std::int64_t const*>(place.get()), made.part_of->get(), perm.get(), stream);
  each(count, stream,
       [=, nnz = a.nnz, from = in_rows.get(), perm = perm.get(), run = made.runs->get(),
        at = made.ptr->get(), order = made.order->get()] __device__(std::size_t r) {
         auto const q = static_cast<std::size_t>(perm[r]);
         O const end = q + 1 < count ? from[q + 1].begin : nnz;
         run[r] = from[q];
         run[r].count = static_cast<I>(end - from[q].begin);
         at[r] = end - from[q].begin;
         order[q] = static_cast<O>(r);
       });
  to_pointers(made.ptr->get(), count, stream);
  return made;
}

} // namespace
} // namespace tulle::kernels::cuda

// SPDX-License-Identifier: Apache-2.0

// Columns by their entries in a sell: the plan has the new columns, one per place of val, and uses
// its own view over the values of the matrix.
#pragma once
#include "tulle/format/sell.hpp"

#include "cuda/spmv/hot_columns.cuh"

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
using any_sell = sell_view<V, I, O, space::cuda>;

/// Arrays in the plan's workspace.
template <class V, class I, class O>
struct ordered_columns {
  hot_columns<V, I> hot;
  I* col; // stored
  O* col_ptr;
  std::uint8_t* kind;
  I* long_col; // long_nnz

  ordered_columns(carver& work, any_sell<V, I, O> const& a)
      : hot(work, a.cols), col(work.take<I>(static_cast<std::size_t>(a.stored))),
        col_ptr(work.take<O>(a.chunks())), kind(work.take<std::uint8_t>(a.chunks())),
        long_col(work.take<I>(static_cast<std::size_t>(a.long_nnz))) {}
  /// The matrix with the new columns.
  any_sell<V, I, O> view_of(any_sell<V, I, O> a) const {
    a.col = col;
    a.col_ptr = col_ptr;
    a.kind = kind;
    a.long_col = long_col;
    return a;
  }
};

/// Calls f(place in val, column, whether it is an entry) for a row of chunk c.
template <class V, class I, class O, class F>
__device__ void each_place(any_sell<V, I, O> const& a, std::size_t c, int lane, std::size_t places,
                           F&& f) {
  std::size_t const place = c * a.chunk + lane;
  if (place >= places)
    return;
  int const kind = a.kind[c] & sell_kind::mask;
  O const first = a.step_ptr[c];
  auto const steps = static_cast<I>(a.step_ptr[c + 1] - first);
  std::size_t const from = a.col_ptr[c];
  I const row = a.perm ? a.perm[place] : static_cast<I>(place);
  I const len = a.len[place];
  for (I k = 0; k < steps; ++k) {
    std::size_t const at = static_cast<std::size_t>(k) * a.chunk + lane;
    I const j = kind == sell_kind::full     ? a.col[from + at]
                : kind == sell_kind::shorts ? static_cast<I>(a.base[c] + a.short_col[from + at])
                                            : static_cast<I>(a.col[from + k] + row);
    bool const is_entry =
        kind == sell_kind::holed ? (a.mask[a.base[c] + k] >> lane & 1) != 0 : k < len;
    f(static_cast<std::size_t>(first) * a.chunk + at, j, is_entry);
  }
}

template <class V, class I, class O>
__global__ void count_columns_kernel(any_sell<V, I, O> a, std::size_t chunks, std::size_t places,
                                     std::size_t skip, unsigned* count) {
  std::size_t const c = side_thread() / a.chunk * skip;
  if (c < chunks)
    each_place(a, c, threadIdx.x % a.chunk, places, [&](std::size_t, I j, bool is_entry) {
      if (is_entry)
        atomicAdd(count + j, 1u);
    });
}
template <class V, class I, class O>
__global__ void renumber_kernel(any_sell<V, I, O> a, std::size_t chunks, std::size_t places,
                                I const* number, ordered_columns<V, I, O> to) {
  std::size_t const c = side_thread() / a.chunk;
  int const lane = threadIdx.x % a.chunk;
  if (c >= chunks)
    return;
  each_place(a, c, lane, places, [&](std::size_t at, I j, bool) { to.col[at] = number[j]; });
  if (lane == 0) {
    to.kind[c] = sell_kind::full;
    to.col_ptr[c] = a.step_ptr[c] * a.chunk;
  }
}
/// Counts the entries of columns, or those in every skip-th chunk.
template <class V, class I, class O>
auto counting(any_sell<V, I, O> const& a, std::size_t skip, void* stream) {
  return [=](unsigned* count) {
    launch(count_columns_kernel<V, I, O>,
           side_blocks(ceil_div(a.chunks(), skip) * static_cast<std::size_t>(a.chunk)),
           side_threads, stream, a, a.chunks(), a.places(), skip, count);
    count_entries(static_cast<std::size_t>(a.long_nnz), 1, a.long_col, count, stream);
  };
}

template <class V, class I, class O>
bool is_worth_ordering(any_sell<V, I, O> const& a, void* stream) {
  return is_worth_ordering<I>(static_cast<std::size_t>(a.cols), static_cast<std::size_t>(a.nnz),
                              stream, counting(a, sample, stream));
}

template <class V, class I, class O>
void renumber(any_sell<V, I, O> const& a, ordered_columns<V, I, O> const& to, void* stream) {
  auto const cols = static_cast<std::size_t>(a.cols);
  auto const longs = static_cast<std::size_t>(a.long_nnz);
  scratch<I> const number(cols, stream);
  to.hot.choose(cols, number.get(), stream, counting(a, 1, stream));
  launch(renumber_kernel<V, I, O>, side_blocks(a.chunks() * static_cast<std::size_t>(a.chunk)),
         side_threads, stream, a, a.chunks(), a.places(), static_cast<I const*>(number.get()), to);
  launch(gather_kernel<I, I>, side_blocks(longs), side_threads, stream, longs, a.long_col,
         static_cast<I const*>(number.get()), to.long_col);
}

} // namespace
} // namespace tulle::kernels::cuda

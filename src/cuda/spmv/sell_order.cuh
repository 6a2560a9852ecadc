// SPDX-License-Identifier: Apache-2.0

// Columns by their entries: where few columns have many of them, the plan numbers columns anew,
// most entries first, and x is gathered in that order before each product. What is read often then
// lies together and stays in the caches. The plan has the new columns, one for each place of val,
// and so a view of its own over the values of the matrix.
#pragma once
#include "tulle/format/sell.hpp"

#include "cuda/instantiate.cuh"
#include "cuda/turn.cuh"
#include "cuda/workspace.cuh"

namespace tulle::simt {
namespace {

// Shares of the bound of csr on an H200, rmat 21 16, windows of 1024 and of all rows: double .41
// and .45, ordered .42 and .46; float .33 and .37, ordered .38 and .42. The first 8192 to 27648
// elements of x in shared memory besides, in double: .31 to .38, with chunks taken in turn or from
// a queue; what that leaves of the first-level cache holds too few loads on their way.
constexpr std::size_t least_entries = std::size_t{1} << 20, least_columns = 1 << 16;
constexpr std::size_t few = 128;    // of so many columns one is in
constexpr double least_share = .25; // of entries there. rmat .47, circuit .09
constexpr int sample = 16;          // of so many chunks one is looked at

constexpr int side_threads = 256; // of the kernels here
inline std::size_t side_blocks(std::size_t n) {
  return ceil_div(n, std::size_t{side_threads});
}
__device__ inline std::size_t side_thread() {
  return blockIdx.x * std::size_t{side_threads} + threadIdx.x;
}

template <class V, class I, class O>
using any_sell = sell_view<V, I, O, space::device>;

/// In the plan's workspace.
template <class V, class I, class O>
struct ordered_columns {
  I* order; // cols: the old number of each
  V* x;     // cols
  I* col;   // stored
  O* col_ptr;
  std::uint8_t* kind;
  I* long_col; // long_nnz

  ordered_columns(carver& work, any_sell<V, I, O> const& a)
      : order(work.take<I>(static_cast<std::size_t>(a.cols))),
        x(work.take<V>(static_cast<std::size_t>(a.cols))),
        col(work.take<I>(static_cast<std::size_t>(a.stored))), col_ptr(work.take<O>(a.chunks())),
        kind(work.take<std::uint8_t>(a.chunks())),
        long_col(work.take<I>(static_cast<std::size_t>(a.long_nnz))) {}
  /// The matrix with its columns so.
  any_sell<V, I, O> view_of(any_sell<V, I, O> a) const {
    a.col = col;
    a.col_ptr = col_ptr;
    a.kind = kind;
    a.long_col = long_col;
    return a;
  }
};

/// f(place in val, column, whether it is an entry) for a row of chunk c.
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
                                     int skip, unsigned* count) {
  std::size_t const c = side_thread() / a.chunk * skip;
  if (c < chunks)
    each_place(a, c, threadIdx.x % a.chunk, places, [&](std::size_t, I j, bool is_entry) {
      if (is_entry)
        atomicAdd(count + j, 1u);
    });
}
template <class I>
__global__ void count_long_kernel(std::size_t n, I const* col, unsigned* count) {
  if (std::size_t const k = side_thread(); k < n)
    atomicAdd(count + col[k], 1u);
}
/// sums[0]: of the first `most` counts; sums[1]: of the others.
__global__ void sum_counts_kernel(std::size_t n, std::size_t most, unsigned const* count,
                                  unsigned long long* sums) {
  unsigned long long mine[2] = {};
  for (std::size_t j = side_thread(); j < n; j += std::size_t{gridDim.x} * side_threads)
    mine[j >= most] += count[j];
  atomicAdd(sums, mine[0]);
  atomicAdd(sums + 1, mine[1]);
}
template <class I>
__global__ void rank_kernel(std::size_t n, I const* order, I* rank) {
  if (std::size_t const j = side_thread(); j < n)
    rank[order[j]] = static_cast<I>(j);
}
template <class V, class I, class O>
__global__ void renumber_kernel(any_sell<V, I, O> a, std::size_t chunks, std::size_t places,
                                I const* rank, ordered_columns<V, I, O> to) {
  std::size_t const c = side_thread() / a.chunk;
  int const lane = threadIdx.x % a.chunk;
  if (c >= chunks)
    return;
  each_place(a, c, lane, places, [&](std::size_t at, I j, bool) { to.col[at] = rank[j]; });
  if (lane == 0) {
    to.kind[c] = sell_kind::full;
    to.col_ptr[c] = a.step_ptr[c] * a.chunk;
  }
}
template <class V, class I>
__global__ void gather_kernel(std::size_t n, I const* order, V const* from, V* to) {
  if (std::size_t const j = side_thread(); j < n)
    to[j] = __ldg(from + order[j]);
}

/// Columns by their entries, or those of every `skip`-th chunk: order, and counts sorted alike.
template <class V, class I, class O>
void order_columns(any_sell<V, I, O> const& a, int skip, unsigned* count, I* order, void* stream) {
  auto const cols = static_cast<std::size_t>(a.cols);
  TULLE_CUDA(cudaMemsetAsync, count, 0, cols * sizeof(unsigned), static_cast<cudaStream_t>(stream));
  launch(count_columns_kernel<V, I, O>,
         side_blocks(ceil_div(a.chunks(), static_cast<std::size_t>(skip)) *
                     static_cast<std::size_t>(a.chunk)),
         side_threads, stream, a, a.chunks(), a.places(), skip, count);
  launch(count_long_kernel<I>, side_blocks(static_cast<std::size_t>(a.long_nnz)), side_threads,
         stream, static_cast<std::size_t>(a.long_nnz), a.long_col, count);
  order_by_count(cols, count, order, stream);
}

/// Whether few columns have many of the entries, by a sample.
template <class V, class I, class O>
bool is_worth_ordering(any_sell<V, I, O> const& a, void* stream) {
  auto const cols = static_cast<std::size_t>(a.cols);
  if (static_cast<std::size_t>(a.nnz) < least_entries || cols < least_columns)
    return false;
  scratch<unsigned> const count(cols, stream);
  scratch<I> const order(cols, stream);
  order_columns(a, sample, count.get(), order.get(), stream);
  scratch<unsigned long long> const sums(2, stream);
  TULLE_CUDA(cudaMemsetAsync, sums.get(), 0, 2 * sizeof(unsigned long long),
             static_cast<cudaStream_t>(stream));
  launch(sum_counts_kernel, std::size_t{64}, side_threads, stream, cols, cols / few,
         static_cast<unsigned const*>(count.get()), sums.get());
  auto const s = fetch(sums.get(), 2, stream);
  return static_cast<double>(s[0]) > least_share * static_cast<double>(s[0] + s[1]);
}

template <class V, class I, class O>
void renumber(any_sell<V, I, O> const& a, ordered_columns<V, I, O> const& to, void* stream) {
  auto const cols = static_cast<std::size_t>(a.cols);
  auto const longs = static_cast<std::size_t>(a.long_nnz);
  scratch<unsigned> const count(cols, stream);
  order_columns(a, 1, count.get(), to.order, stream);
  scratch<I> const rank(cols, stream);
  launch(rank_kernel<I>, side_blocks(cols), side_threads, stream, cols,
         static_cast<I const*>(to.order), rank.get());
  launch(renumber_kernel<V, I, O>, side_blocks(a.chunks() * static_cast<std::size_t>(a.chunk)),
         side_threads, stream, a, a.chunks(), a.places(), static_cast<I const*>(rank.get()), to);
  launch(gather_kernel<I, I>, side_blocks(longs), side_threads, stream, longs, a.long_col,
         static_cast<I const*>(rank.get()), to.long_col);
}

} // namespace
} // namespace tulle::simt

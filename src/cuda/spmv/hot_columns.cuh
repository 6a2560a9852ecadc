// SPDX-License-Identifier: Apache-2.0

// Columns by their entries: if few columns have many of the entries, the plan renumbers them, most
// entries first, and gathers their elements of x in that order before each product. So frequently
// read elements are contiguous and stay in the caches. The plan has the new columns: -1 - k is the
// k-th gathered one, others are unchanged.
#pragma once
#include "cuda/instantiate.cuh"
#include "cuda/sort_by_key.cuh"
#include "cuda/spmv/element.cuh"
#include "cuda/workspace.cuh"

namespace tulle::kernels::cuda {
namespace {

constexpr std::size_t least_entries = std::size_t{1} << 20, least_columns = 1 << 16;
constexpr std::size_t few = 128;    // one of so many columns is in the share
constexpr double least_share = .25; // of the entries, in those columns. rmat .47, circuit .09
constexpr std::size_t sample = 16;  // one of so many entries is sampled
// Columns that are gathered. Shares of the bound of csr on an H200, rmat 21 16, sell of all rows
// sorted, none / 2^15 / 2^17 / 2^19 / all: double .45, .50, .50, .49, .47; float .37, .42, .42,
// .42, .41. The first 8192 to 27648 of them in shared memory: .31 to .38; the remaining first-level
// cache holds too few loads in flight. With loads of other columns bypassing that cache: .41.
constexpr std::size_t most_hot = 1 << 17;

constexpr int side_threads = 256; // threads per block of the kernels here
inline std::size_t side_blocks(std::size_t n) {
  return ceil_div(n, std::size_t{side_threads});
}
__device__ inline std::size_t side_thread() {
  return blockIdx.x * std::size_t{side_threads} + threadIdx.x;
}

/// sums[0]: the sum of the first `most` counts; sums[1]: of the others.
__global__ void sum_counts_kernel(std::size_t n, std::size_t most, unsigned const* count,
                                  unsigned long long* sums) {
  unsigned long long mine[2] = {};
  for (std::size_t j = side_thread(); j < n; j += std::size_t{gridDim.x} * side_threads)
    mine[j >= most] += count[j];
  atomicAdd(sums, mine[0]);
  atomicAdd(sums + 1, mine[1]);
}
/// The new numbers of columns; the first `hots` of order are gathered.
template <class I>
__global__ void number_kernel(std::size_t n, std::size_t hots, I const* order, I* number) {
  if (std::size_t const k = side_thread(); k < n)
    number[order[k]] = k < hots ? ~static_cast<I>(k) : order[k];
}
template <class V, class I>
__global__ void gather_kernel(std::size_t n, I const* order, V const* from, V* to) {
  if (std::size_t const j = side_thread(); j < n)
    to[j] = __ldg(from + order[j]);
}
/// Counts every skip-th element of col.
template <class I>
__global__ void count_kernel(std::size_t n, std::size_t skip, I const* col, unsigned* count) {
  if (std::size_t const k = side_thread() * skip; k < n)
    atomicAdd(count + col[k], 1u);
}
template <class I>
void count_entries(std::size_t n, std::size_t skip, I const* col, unsigned* count, void* stream) {
  launch(count_kernel<I>, side_blocks(ceil_div(n, skip)), side_threads, stream, n, skip, col,
         count);
}

/// Sorts columns by their entries, which count_into(count) counts; count is sorted in the same way.
template <class I, class Count>
void order_columns(std::size_t cols, unsigned* count, I* order, void* stream, Count&& count_into) {
  TULLE_CUDA(cudaMemsetAsync, count, 0, cols * sizeof(unsigned), static_cast<cudaStream_t>(stream));
  count_into(count);
  order_by_count(cols, count, order, stream);
}

/// Whether few columns have many of the entries, judged by a sample.
template <class I, class Count>
bool is_worth_ordering(std::size_t cols, std::size_t nnz, void* stream, Count&& count_sample) {
  if (nnz < least_entries || cols < least_columns)
    return false;
  scratch<unsigned> const count(cols, stream);
  scratch<I> const order(cols, stream);
  order_columns(cols, count.get(), order.get(), stream, count_sample);
  scratch<unsigned long long> const sums(2, stream);
  TULLE_CUDA(cudaMemsetAsync, sums.get(), 0, 2 * sizeof(unsigned long long),
             static_cast<cudaStream_t>(stream));
  launch(sum_counts_kernel, std::size_t{64}, side_threads, stream, cols, cols / few,
         static_cast<unsigned const*>(count.get()), sums.get());
  auto const s = fetch(sums.get(), 2, stream);
  return static_cast<double>(s[0]) > least_share * static_cast<double>(s[0] + s[1]);
}

/// Arrays in the plan's workspace.
template <class V, class I>
struct hot_columns {
  std::size_t hots;
  I* order; // hots: the columns that are gathered
  V* hot;   // hots

  hot_columns(carver& work, I cols)
      : hots(static_cast<std::size_t>(cols) < most_hot ? static_cast<std::size_t>(cols) : most_hot),
        order(work.take<I>(hots)), hot(work.take<V>(hots)) {}

  /// number[j]: the new number of each column.
  template <class Count>
  void choose(std::size_t cols, I* number, void* stream, Count&& count_all) const {
    scratch<unsigned> const count(cols, stream);
    scratch<I> const all(cols, stream);
    order_columns(cols, count.get(), all.get(), stream, count_all);
    TULLE_CUDA(cudaMemcpyAsync, order, all.get(), hots * sizeof(I), cudaMemcpyDeviceToDevice,
               static_cast<cudaStream_t>(stream));
    launch(number_kernel<I>, side_blocks(cols), side_threads, stream, cols, hots,
           static_cast<I const*>(all.get()), number);
  }
  hot_and_rest<V, I> gather(V const* x, void* stream) const {
    launch(gather_kernel<V, I>, side_blocks(hots), side_threads, stream, hots,
           static_cast<I const*>(order), x, hot);
    return {hot, x};
  }
};

} // namespace
} // namespace tulle::kernels::cuda

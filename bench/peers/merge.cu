// SPDX-License-Identifier: Apache-2.0
#include "bench/peers/merge.hpp"

#include <bit>
#include <cub/device/device_radix_sort.cuh>
#include <cuda_runtime_api.h>
#include <vector>

namespace tulle::bench {
namespace {

using key = unsigned long long; // row and column

constexpr int threads = 256;
constexpr int share = 2048; // entries that a block merges

void check(cudaError_t status, char const* call) {
  if (status != cudaSuccess)
    fail(errc::backend, "merge: %s: %s", call, cudaGetErrorString(status));
}
#define CHECKED(function, ...) check(function(__VA_ARGS__), #function)

unsigned blocks_for(std::size_t n, std::size_t each = threads) {
  return static_cast<unsigned>((n + each - 1) / each);
}
__device__ std::size_t thread_number() {
  return blockIdx.x * std::size_t{threads} + threadIdx.x;
}

template <class T, class N>
__device__ N first_above(T const* p, N low, N high, T wanted) {
  while (low < high) {
    N const middle = low + (high - low) / 2;
    if (p[middle] <= wanted)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

template <class I>
__global__ void keys_kernel(std::size_t n, I const* row, I const* col, int bits, key* keys,
                            unsigned* number) {
  std::size_t const k = thread_number();
  if (k >= n)
    return;
  keys[k] = static_cast<key>(row[k]) << bits | static_cast<key>(col[k]);
  number[k] = static_cast<unsigned>(k);
}

/// The entry before which each one of the batch goes.
template <class I>
__global__ void places_kernel(std::size_t n, key const* keys, int bits, I const* row_ptr,
                              I const* a_col, I* place, I* row) {
  std::size_t const k = thread_number();
  if (k >= n)
    return;
  I const i = static_cast<I>(keys[k] >> bits);
  I const j = static_cast<I>(keys[k] & ((key{1} << bits) - 1));
  row[k] = i;
  place[k] = first_above(a_col, row_ptr[i], row_ptr[i + 1], j);
}

/// A block's rows look in the part of the batch that is theirs.
template <class I>
__global__ void pointers_kernel(std::size_t rows, I n, I const* row, I const* row_ptr, I* to) {
  __shared__ I part[2];
  std::size_t const begin = blockIdx.x * std::size_t{threads};
  if (threadIdx.x < 2)
    part[threadIdx.x] =
        first_above(row, I(0), n, static_cast<I>(begin + (threadIdx.x ? threads : 0)) - I(1));
  __syncthreads();
  std::size_t const i = begin + threadIdx.x;
  if (i <= rows)
    to[i] = row_ptr[i] + first_above(row, part[0], part[1], static_cast<I>(i) - I(1));
}

/// How many of the batch are among the first d of both.
template <class I, class T>
__device__ I crossing(T const* place, I n, I nnz, I d) {
  I low = d > nnz ? d - nnz : 0, high = d < n ? d : n;
  while (low < high) {
    I const middle = low + (high - low) / 2;
    if (place[middle] <= d - middle - 1)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

template <class V, class I>
__global__ void merge_kernel(I nnz, I n, I const* place, key const* keys, unsigned const* number,
                             V const* val, int bits, I const* a_col, V const* a_val, I* to_col,
                             V* to_val) {
  __shared__ int near[share + 1];
  __shared__ I range[2];
  I const d0 = static_cast<I>(blockIdx.x) * share;
  I const d1 = nnz + n - d0 < share ? nnz + n : d0 + share;
  if (threadIdx.x < 2)
    range[threadIdx.x] = crossing(place, n, nnz, threadIdx.x ? d1 : d0);
  __syncthreads();
  I const b0 = range[0], a0 = d0 - b0;
  int const count = static_cast<int>(range[1] - b0), rest = static_cast<int>(d1 - range[1] - a0);
  for (int k = threadIdx.x; k < count; k += threads)
    near[k] = static_cast<int>(place[b0 + k] - a0);
  __syncthreads();
  for (int d = threadIdx.x; d < d1 - d0; d += threads) {
    int const k = crossing(near, count, rest, d), at = d - k;
    if (k < count && (at >= rest || near[k] <= at)) {
      to_col[d0 + d] = static_cast<I>(keys[b0 + k] & ((key{1} << bits) - 1));
      to_val[d0 + d] = val[number[b0 + k]];
    } else {
      to_col[d0 + d] = a_col[a0 + at];
      to_val[d0 + d] = a_val[a0 + at];
    }
  }
}

} // namespace

template <class V, class I>
struct merged_on_device<V, I>::state {
  I rows, cols;
  std::size_t nnz;
  int bits; // of a column
  std::vector<void*> all;
  std::size_t bytes = 0, sort_bytes = 0;
  I *row_ptr[2], *col[2];
  V* val[2];
  key *keys, *sorted;
  unsigned *number, *perm;
  I *place, *row;
  char* room;
  int now = 0;

  template <class T>
  T* take(std::size_t n) {
    void* p = nullptr;
    CHECKED(cudaMalloc, &p, n * sizeof(T) + 1);
    all.push_back(p);
    bytes += n * sizeof(T);
    return static_cast<T*>(p);
  }
  cudaError_t sort(void* space, std::size_t n) {
    return cub::DeviceRadixSort::SortPairs(
        space, sort_bytes, keys, sorted, number, perm, static_cast<int>(n), 0,
        bits + static_cast<int>(std::bit_width(static_cast<std::size_t>(rows))));
  }
  ~state() {
    for (void* p : all)
      cudaFree(p);
  }
};

template <class V, class I>
merged_on_device<V, I>::merged_on_device(csr_view<V, I, I> a, std::size_t most, std::size_t batch)
    : state_(std::make_unique<state>()) {
  state& s = *state_;
  s.rows = a.rows;
  s.cols = a.cols;
  s.nnz = static_cast<std::size_t>(a.nnz);
  s.bits = static_cast<int>(std::bit_width(static_cast<std::size_t>(a.cols)));
  for (int k = 0; k < 2; ++k) {
    s.row_ptr[k] = s.template take<I>(static_cast<std::size_t>(a.rows) + 1);
    s.col[k] = s.template take<I>(most);
    s.val[k] = s.template take<V>(most);
  }
  s.keys = s.template take<key>(batch);
  s.sorted = s.template take<key>(batch);
  s.number = s.template take<unsigned>(batch);
  s.perm = s.template take<unsigned>(batch);
  s.place = s.template take<I>(batch);
  s.row = s.template take<I>(batch);
  CHECKED(s.sort, nullptr, batch);
  s.room = s.template take<char>(s.sort_bytes);
  auto const there = cudaMemcpyHostToDevice;
  CHECKED(cudaMemcpy, s.row_ptr[0], a.row_ptr, (static_cast<std::size_t>(a.rows) + 1) * sizeof(I),
          there);
  CHECKED(cudaMemcpy, s.col[0], a.col, s.nnz * sizeof(I), there);
  CHECKED(cudaMemcpy, s.val[0], a.val, s.nnz * sizeof(V), there);
}
template <class V, class I>
merged_on_device<V, I>::merged_on_device(merged_on_device&&) noexcept = default;
template <class V, class I>
merged_on_device<V, I>::~merged_on_device() = default;

template <class V, class I>
void merged_on_device<V, I>::merge(I const* row, I const* col, V const* val, std::size_t n) {
  state& s = *state_;
  int const now = s.now, next = 1 - now;
  auto const rows = static_cast<std::size_t>(s.rows);
  keys_kernel<<<blocks_for(n), threads>>>(n, row, col, s.bits, s.keys, s.number);
  CHECKED(s.sort, s.room, n);
  places_kernel<<<blocks_for(n), threads>>>(n, s.sorted, s.bits, s.row_ptr[now], s.col[now],
                                            s.place, s.row);
  pointers_kernel<<<blocks_for(rows + 1), threads>>>(rows, static_cast<I>(n), s.row, s.row_ptr[now],
                                                     s.row_ptr[next]);
  merge_kernel<<<blocks_for(s.nnz + n, share), threads>>>(
      static_cast<I>(s.nnz), static_cast<I>(n), s.place, s.sorted, s.perm, val, s.bits, s.col[now],
      s.val[now], s.col[next], s.val[next]);
  CHECKED(cudaGetLastError);
  s.nnz += n;
  s.now = next;
}

template <class V, class I>
csr_view<V, I, I, space::cuda> merged_on_device<V, I>::view() const {
  state const& s = *state_;
  return {unchecked,        s.rows,       s.cols,      static_cast<I>(s.nnz),
          s.row_ptr[s.now], s.col[s.now], s.val[s.now]};
}
template <class V, class I>
std::size_t merged_on_device<V, I>::bytes() const {
  return state_->bytes;
}

template class merged_on_device<float, std::int32_t>;
template class merged_on_device<double, std::int32_t>;
template class merged_on_device<float, std::int64_t>;
template class merged_on_device<double, std::int64_t>;

} // namespace tulle::bench

// SPDX-License-Identifier: Apache-2.0
#include "cuda/cub.cuh"
#include "cuda/instantiate.cuh"
#include "cuda/order.cuh"
#include "cuda/sort_by_key.cuh"
#include "cuda/workspace.cuh"

#include <algorithm>
#include <bit>

namespace tulle::kernels::cuda {
namespace {

constexpr int threads = 256;

__device__ std::size_t thread_number() {
  return blockIdx.x * std::size_t{threads} + threadIdx.x;
}

template <class I>
__global__ void descents_kernel(I const* key, std::size_t n, int* found) {
  std::size_t const k = thread_number();
  if (k + 1 < n && key[k + 1] < key[k])
    *found = 1;
}

// Each entry sets the pointers of the lines from that of the entry before up to its own; the last
// entry sets those after it, too.
template <class I, class O>
__global__ void pointers_kernel(I lines, O nnz, I const* key, O* ptr) {
  std::size_t const k = thread_number();
  if (k > static_cast<std::size_t>(nnz))
    return;
  I const from = k == 0 ? I(-1) : key[k - 1];
  I const to = k == static_cast<std::size_t>(nnz) ? lines : key[k];
  for (I i = from; i < to; ++i)
    ptr[i + 1] = static_cast<O>(k);
}

template <class I, class O>
__global__ void longest_row_kernel(I rows, O const* row_ptr, unsigned long long* longest_row) {
  __shared__ unsigned long long most;
  if (threadIdx.x == 0)
    most = 0;
  __syncthreads();
  unsigned long long mine = 0;
  for (std::size_t i = blockIdx.x * std::size_t{threads} + threadIdx.x;
       i < static_cast<std::size_t>(rows); i += std::size_t{gridDim.x} * threads)
    mine = max(mine, static_cast<unsigned long long>(row_ptr[i + 1] - row_ptr[i]));
  atomicMax(&most, mine);
  __syncthreads();
  if (threadIdx.x == 0)
    atomicMax(longest_row, most);
}

template <class I, class O>
__global__ void starts_kernel(I rows, O const* row_ptr, I* row) {
  std::size_t const i = thread_number();
  if (i < static_cast<std::size_t>(rows) && row_ptr[i] != row_ptr[i + 1])
    row[row_ptr[i]] = static_cast<I>(i);
}

template <class O>
__global__ void count_kernel(O n, O* to) {
  std::size_t const k = thread_number();
  if (k < static_cast<std::size_t>(n))
    to[k] = static_cast<O>(k);
}

__global__ void complement_kernel(std::size_t n, unsigned const* from, unsigned* to) {
  std::size_t const k = thread_number();
  if (k < n)
    to[k] = ~from[k];
}

template <class I, class O>
__global__ void gather_kernel(O n, I const* from, O const* perm, I* to) {
  std::size_t const k = thread_number();
  if (k < static_cast<std::size_t>(n))
    to[k] = from[perm[k]];
}

template <class O>
std::size_t blocks_for(O n) {
  return ceil_div<std::size_t>(static_cast<std::size_t>(n), threads);
}

} // namespace

template <class I, class O>
bool is_sorted(I const* key, O nnz, void* stream) {
  auto const s = static_cast<cudaStream_t>(stream);
  scratch<int> const found(1, s);
  TULLE_CUDA(cudaMemsetAsync, found.get(), 0, sizeof(int), s);
  launch(descents_kernel<I>, blocks_for(nnz), threads, stream, key, static_cast<std::size_t>(nnz),
         found.get());
  int descent = 0;
  TULLE_CUDA(cudaMemcpyAsync, &descent, found.get(), sizeof descent, cudaMemcpyDeviceToHost, s);
  TULLE_CUDA(cudaStreamSynchronize, s);
  return descent == 0;
}

template <class I, class O>
void line_pointers(I lines, O nnz, I const* key, O* ptr, void* stream) {
  launch(pointers_kernel<I, O>, ceil_div<std::size_t>(static_cast<std::size_t>(nnz) + 1, threads),
         threads, stream, lines, nnz, key, ptr);
}

template <class I, class O>
std::int64_t longest_row(I rows, O const* row_ptr, void* stream) {
  counter const most(stream);
  launch(longest_row_kernel<I, O>,
         std::min<std::size_t>(ceil_div<std::size_t>(rows, threads), 1024), threads, stream, rows,
         row_ptr, most.get());
  return most.value();
}

// Writes each row's number where it begins, then takes running maxima. ms from csr to coo this way,
// and with a search of row_ptr per entry: lattice 4000000 .30, .46; fem 500000 .46, .67.
template <class I, class O>
void expand_rows(I rows, O nnz, O const* row_ptr, I* row, void* stream) {
  if (nnz == 0)
    return;
  TULLE_CUDA(cudaMemsetAsync, row, 0, static_cast<std::size_t>(nnz) * sizeof(I),
             static_cast<cudaStream_t>(stream));
  launch(starts_kernel<I, O>, blocks_for(rows), threads, stream, rows, row_ptr, row);
  with_room(stream, [&](void* room, std::size_t& bytes) {
    greatest_so_far(row, static_cast<std::size_t>(nnz), room, bytes, stream);
  });
}

template <class O>
void count_up(O* to, std::size_t n, void* stream) {
  launch(count_kernel<O>, blocks_for(n), threads, stream, static_cast<O>(n), to);
}

template <class I, class O>
void order_by(I lines, O nnz, I const* key, O const* places, I* sorted, O* perm, void* room,
              std::size_t& bytes, void* stream) {
  sort_pairs(key, sorted, places, perm, static_cast<std::size_t>(nnz),
             std::bit_width(static_cast<std::make_unsigned_t<I>>(lines)), room, bytes, stream);
}

template <class I, class O>
void order_by(I lines, O nnz, I const* key, I* sorted, O* perm, void* stream) {
  scratch<O> const places(static_cast<std::size_t>(nnz), stream);
  count_up(places.get(), static_cast<std::size_t>(nnz), stream);
  with_room(stream, [&](void* room, std::size_t& bytes) {
    order_by(lines, nnz, key, static_cast<O const*>(places.get()), sorted, perm, room, bytes,
             stream);
  });
}

template <class I, class O>
void order_by(I lines, I others, O nnz, I const* line, I const* other, I* sorted, O* perm,
              void* stream) {
  auto const n = static_cast<std::size_t>(nnz);
  scratch<O> const by_other(n, stream), by_line(n, stream);
  scratch<I> const lines_there(n, stream);
  order_by(others, nnz, other, lines_there.get(), by_other.get(), stream);
  launch(gather_kernel<I, O>, blocks_for(nnz), threads, stream, nnz, line,
         static_cast<O const*>(by_other.get()), lines_there.get());
  order_by(lines, nnz, static_cast<I const*>(lines_there.get()), sorted, by_line.get(), stream);
  launch(gather_kernel<O, O>, blocks_for(nnz), threads, stream, nnz,
         static_cast<O const*>(by_other.get()), static_cast<O const*>(by_line.get()), perm);
}

template <class I, class O>
void sort_by_key(I lines, O nnz, I const* key, I const* other, O* ptr, I* to, O* perm,
                 void* stream) {
  scratch<I> const sorted(static_cast<std::size_t>(nnz), stream);
  order_by(lines, nnz, key, sorted.get(), perm, stream);
  launch(gather_kernel<I, O>, blocks_for(nnz), threads, stream, nnz, other,
         static_cast<O const*>(perm), to);
  line_pointers(lines, nnz, static_cast<I const*>(sorted.get()), ptr, stream);
}

template <class I>
void order_by_count(std::size_t n, unsigned* count, I* order, void* stream) {
  scratch<I> const places(n, stream);
  scratch<unsigned> const unsorted(n, stream);
  launch(count_kernel<I>, blocks_for(n), threads, stream, static_cast<I>(n), places.get());
  // The least complement first, which is the greatest count.
  launch(complement_kernel, blocks_for(n), threads, stream, n, static_cast<unsigned const*>(count),
         unsorted.get());
  sort_pairs(static_cast<unsigned const*>(unsorted.get()), count,
             static_cast<I const*>(places.get()), order, n, 32, stream);
  launch(complement_kernel, blocks_for(n), threads, stream, n, static_cast<unsigned const*>(count),
         count);
}

#define TULLE_ORDER(I, O)                                                                          \
  template bool is_sorted(I const*, O, void*);                                                     \
  template void line_pointers(I, O, I const*, O*, void*);                                          \
  template void expand_rows(I, O, O const*, I*, void*);                                            \
  template std::int64_t longest_row(I, O const*, void*);                                           \
  template void order_by(I, O, I const*, O const*, I*, O*, void*, std::size_t&, void*);            \
  template void order_by(I, O, I const*, I*, O*, void*);                                           \
  template void order_by(I, I, O, I const*, I const*, I*, O*, void*);                              \
  template void sort_by_key(I, O, I const*, I const*, O*, I*, O*, void*);
TULLE_ORDER(std::int32_t, std::int32_t)
TULLE_ORDER(std::int64_t, std::int64_t)
TULLE_ORDER(std::int32_t, std::int64_t)
#define TULLE_COUNTS(I)                                                                            \
  template void count_up(I*, std::size_t, void*);                                                  \
  template void order_by_count(std::size_t, unsigned*, I*, void*);
TULLE_COUNTS(std::int32_t)
TULLE_COUNTS(std::int64_t)

} // namespace tulle::kernels::cuda

// SPDX-License-Identifier: Apache-2.0

// y = alpha A x + beta y, A in scsr: a row gathers both its entries and their mirror images, so
// nothing is added to another row's y and the order of additions is fixed. A group of 1 to 32 lanes
// a row. The plan has the transpose of what lies below the diagonal: for each entry its row, and
// the place of its value.
//
// Bytes that must move, double with 32-bit indices: 12 an entry of the triangle, 8 for its mirror
// image, whose value comes from the caches where the matrix is narrow: 20 of the 24 of csr.
//
// Unlike Lee, Vuduc, Demmel & Yelick, ICPP 2004, where an entry updates two rows: that needs
// floating-point atomics here, whose order differs from run to run. The transpose is the same.
#include "tulle/format/scsr.hpp"

#include "cuda/instantiate.cuh"
#include "cuda/primitive/warp.cuh"

#include <cub/device/device_radix_sort.cuh>

namespace tulle::simt {
namespace {

template <class V, class I, class O>
using view = scsr_view<V, I, O, space::device>;

constexpr int threads = 256;

/// The strict lower triangle transposed, in the plan's workspace.
template <class I, class O>
struct mirror {
  O* ptr;   // rows + 1
  O* place; // entries: of their values
  I* row;   // entries: ascending within a column

  /// Laid out from `at` on; `bytes` is what it takes.
  mirror(char* at, std::size_t rows, std::size_t entries, std::size_t& bytes)
      : ptr(reinterpret_cast<O*>(at)), place(ptr + rows + 1),
        row(reinterpret_cast<I*>(place + entries)) {
    bytes = (rows + 1 + entries) * sizeof(O) + entries * sizeof(I);
  }
};

template <class V, class I, class O>
mirror<I, O> mirror_in(void* work, view<V, I, O> const& a, std::size_t& bytes) {
  // Entries beside the diagonal count twice in nnz.
  return {static_cast<char*>(work), static_cast<std::size_t>(a.rows),
          static_cast<std::size_t>(a.nnz - a.stored), bytes};
}

template <int width, class V, class I, class O>
__global__ void __launch_bounds__(threads)
    rows_kernel(V alpha, view<V, I, O> a, mirror<I, O> m, V const* x, V beta, V* y) {
  std::size_t const at = blockIdx.x * std::size_t{threads} + threadIdx.x;
  auto const i = static_cast<I>(at / width);
  int const lane = threadIdx.x % width;
  bool const is_row = at / width < static_cast<std::size_t>(a.rows);
  V sum = 0;
  if (is_row) {
    O const end = a.row_ptr[i + 1];
    O const mirror_end = m.ptr[i + 1];
#pragma unroll 4
    for (O k = a.row_ptr[i] + lane; k < end; k += width)
      sum = fma(a.val[k], x[a.col[k]], sum);
#pragma unroll 4
    for (O k = m.ptr[i] + lane; k < mirror_end; k += width)
      sum = fma(a.val[m.place[k]], x[m.row[k]], sum);
  }
  sum = reduce<width>(sum);
  if (is_row && lane == 0)
    update(y + i, alpha, sum, beta);
}

/// Of each entry: its column, or `rows` on the diagonal, which then comes last; its place; its row.
template <class I, class O>
__global__ void list_kernel(I rows, O const* row_ptr, I const* col, I* key, O* place, I* row) {
  std::size_t const warp = (blockIdx.x * std::size_t{threads} + threadIdx.x) / 32;
  if (warp >= static_cast<std::size_t>(rows))
    return;
  auto const i = static_cast<I>(warp);
  for (O k = row_ptr[i] + static_cast<O>(threadIdx.x % 32); k < row_ptr[i + 1]; k += 32) {
    key[k] = col[k] == i ? rows : col[k];
    place[k] = k;
    row[k] = i;
  }
}

/// m from the entries sorted by column: `key` and `place`.
template <class I, class O>
__global__ void index_kernel(I rows, O entries, I const* key, O const* place, I const* row,
                             mirror<I, O> m) {
  std::size_t const at = blockIdx.x * std::size_t{threads} + threadIdx.x;
  if (at > static_cast<std::size_t>(entries))
    return;
  auto const k = static_cast<O>(at);
  I const before = k == 0 ? -1 : key[k - 1];
  I const here = k == entries ? rows : key[k];
  for (I j = before; j < here; ++j)
    m.ptr[j + 1] = k;
  if (k < entries) {
    m.place[k] = place[k];
    m.row[k] = row[place[k]];
  }
}

template <class V, class I, class O>
std::size_t prepare(view<V, I, O> a, plan_view& p) {
  p.method = "symmetric rows";
  std::int64_t const average = a.rows == 0 ? 0 : static_cast<std::int64_t>(a.stored) / a.rows;
  std::int64_t width = 1;
  while (width < 32 && width * 2 <= average)
    width *= 2;
  p.info[0] = width;
  std::size_t bytes;
  mirror_in(nullptr, a, bytes);
  return bytes;
}

/// Device memory for as long as it lives, in the order of a stream.
class scratch {
public:
  scratch(std::size_t bytes, cudaStream_t stream) : stream_(stream) {
    TULLE_CUDA(cudaMallocAsync, &data_, bytes, stream);
  }
  ~scratch() { cudaFreeAsync(data_, stream_); }
  scratch(scratch const&) = delete;
  scratch& operator=(scratch const&) = delete;
  void* get() const { return data_; }

private:
  void* data_ = nullptr;
  cudaStream_t stream_;
};

template <class V, class I, class O>
void fill(view<V, I, O> a, plan_view const& p) {
  auto const stream = static_cast<cudaStream_t>(p.stream);
  auto const n = static_cast<std::size_t>(a.stored);
  std::size_t bytes;
  mirror<I, O> const m = mirror_in(p.work, a, bytes);
  if (n == 0) {
    TULLE_CUDA(cudaMemsetAsync, p.work, 0, bytes, stream);
    return;
  }
  int bits = 1; // of a key
  while (static_cast<std::uint64_t>(a.rows) >> bits != 0)
    ++bits;
  scratch const keys(2 * n * sizeof(I), stream);
  scratch const places(2 * n * sizeof(O), stream);
  scratch const rows(n * sizeof(I), stream);
  auto* const key = static_cast<I*>(keys.get());
  auto* const place = static_cast<O*>(places.get());
  auto* const row = static_cast<I*>(rows.get());
  launch(list_kernel<I, O>, ceil_div(static_cast<std::size_t>(a.rows) * 32, std::size_t{threads}),
         threads, p.stream, a.rows, a.row_ptr, a.col, key, place, row);
  // Stable, so that rows ascend within a column.
  auto const sort = [&](void* temporary, std::size_t& size) {
    TULLE_CUDA(cub::DeviceRadixSort::SortPairs, temporary, size, key, key + n, place, place + n,
               static_cast<O>(n), 0, bits, stream);
  };
  std::size_t size = 0;
  sort(nullptr, size);
  scratch const temporary(size, stream);
  sort(temporary.get(), size);
  O const entries = a.nnz - a.stored;
  launch(index_kernel<I, O>, static_cast<std::size_t>(entries) / threads + 1, threads, p.stream,
         a.rows, entries, key + n, place + n, row, m);
}

template <class V, class I, class O>
void spmv(V alpha, view<V, I, O> a, V const* x, V beta, V* y, plan_view const& p, void* stream) {
  std::size_t bytes;
  mirror<I, O> const m = mirror_in(p.work, a, bytes);
  auto const go = [&]<int width>(std::integral_constant<int, width>) {
    launch(rows_kernel<width, V, I, O>,
           ceil_div(static_cast<std::size_t>(a.rows) * width, std::size_t{threads}), threads,
           stream, alpha, a, m, x, beta, y);
  };
  switch (p.info[0]) {
  case 1:
    return go(std::integral_constant<int, 1>());
  case 2:
    return go(std::integral_constant<int, 2>());
  case 4:
    return go(std::integral_constant<int, 4>());
  case 8:
    return go(std::integral_constant<int, 8>());
  case 16:
    return go(std::integral_constant<int, 16>());
  default:
    return go(std::integral_constant<int, 32>());
  }
}

} // namespace

TULLE_INSTANTIATE_CUDA_SPMV(scsr)

} // namespace tulle::simt

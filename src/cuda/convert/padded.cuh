// SPDX-License-Identifier: Apache-2.0

// The first entries of each row, padded: all of an ell, and a part of a hyb.
#pragma once
#include "tulle/format/ell.hpp"

#include "cuda/convert/convert.cuh"
#include "cuda/convert/warp_transpose.cuh"
#include "cuda/sort_by_key.cuh"
#include "format/detail/ell_build.hpp"

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
struct padded_rows {
  device_csr<V, I, O> a;
  std::size_t width, stride;
  I* row_len;
  I* col;
  V* val;

  /// The entries of row i that are stored here; none for the rows that pad to stride.
  __device__ void find(std::size_t i, O& first, O& length) const {
    first = length = 0;
    if (i >= static_cast<std::size_t>(a.rows))
      return;
    first = a.row_ptr[i];
    O const all = a.row_ptr[i + 1] - first;
    length = static_cast<std::size_t>(all) < width ? all : static_cast<O>(width);
    row_len[i] = static_cast<I>(length);
  }
};

template <class V, class I, class O>
__global__ void wide_rows_kernel(padded_rows<V, I, O> b) {
  __shared__ transpose_room<V, I> rooms[transpose_warps];
  int const lane = threadIdx.x % 32;
  auto& room = rooms[threadIdx.x / 32];
  std::size_t const i = blockIdx.x * std::size_t{32 * transpose_warps} + threadIdx.x;
  O first = 0, n = 0;
  if (i < b.stride)
    b.find(i, first, n);
  put_transposed(b.a.col, first, n, b.width, n == 0 ? I(0) : b.a.col[first + n - 1], room.col, lane,
                 [&](std::size_t s, I j) {
                   if (i < b.stride)
                     b.col[s * b.stride + i] = j;
                 });
  put_transposed(b.a.val, first, n, b.width, V(0), room.val, lane, [&](std::size_t s, V v) {
    if (i < b.stride)
      b.val[s * b.stride + i] = v;
  });
}

/// As detail::first_entries; nnz is left 0.
template <class V, class I, class O>
ell_view<V, I, O, space::cuda> first_entries(device_csr<V, I, O> const& a, I width,
                                             result const& to) {
  auto const n = static_cast<std::size_t>(a.rows);
  auto const wide = static_cast<std::size_t>(width);
  std::size_t const stride = detail::ell_stride(n);
  std::size_t const stored = checked_mul(wide, stride, "ell");
  padded_rows<V, I, O> const b{
      a, wide, stride, to.take<I>(n), to.take<I>(stored), to.take<V>(stored)};
  if (wide > narrow_width)
    launch(wide_rows_kernel<V, I, O>, ceil_div(stride, std::size_t{32 * transpose_warps}),
           32 * transpose_warps, to.stream(), b);
  else
    each(stride, to.stream(), [=] __device__(std::size_t i) {
      O first = 0, length = 0;
      b.find(i, first, length);
      I last = 0;
      for (std::size_t s = 0; s < b.width; ++s) {
        bool const has = s < static_cast<std::size_t>(length);
        if (has)
          last = b.a.col[first + static_cast<O>(s)];
        b.col[s * b.stride + i] = last;
        b.val[s * b.stride + i] = has ? b.a.val[first + static_cast<O>(s)] : V(0);
      }
    });
  return {unchecked, a.rows, a.cols, O(0), width, stride, b.row_len, b.col, b.val};
}

} // namespace
} // namespace tulle::kernels::cuda

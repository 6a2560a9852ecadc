// SPDX-License-Identifier: Apache-2.0

// alpha A B + beta D = [alpha A, beta I] (B over D). This takes copies of the operands, but needs
// no special kernels and no product in addition to C.
#include "tulle/core/narrow.hpp"

#include "cuda/each.cuh"
#include "cuda/spgemm/stacked.cuh"
#include "cuda/types.hpp"

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
scratch_csr<V, I, O> room_for(I rows, I cols, std::size_t nnz, void* stream) {
  scratch_csr<V, I, O> c;
  c.row_ptr = std::make_unique<scratch<O>>(static_cast<std::size_t>(rows) + 1, stream);
  c.col = std::make_unique<scratch<I>>(nnz, stream);
  c.val = std::make_unique<scratch<V>>(nnz, stream);
  O const n = narrow<O>(nnz, "spgemm: entries of two operands");
  c.view = {unchecked, rows, cols, n, c.row_ptr->get(), c.col->get(), c.val->get()};
  return c;
}

/// Appends A's columns or values to others; zeros if its values must not be read.
template <class T, class O>
void append(T* to, T const* from, O n, bool is_read, void* stream) {
  auto const s = static_cast<cudaStream_t>(stream);
  std::size_t const bytes = static_cast<std::size_t>(n) * sizeof(T);
  if (n != 0 && is_read)
    TULLE_CUDA(cudaMemcpyAsync, to, from, bytes, cudaMemcpyDeviceToDevice, s);
  else if (n != 0)
    TULLE_CUDA(cudaMemsetAsync, to, 0, bytes, s);
}

} // namespace

template <class V, class I, class O>
stacked<V, I, O> stack(V alpha, device_csr<V, I, O> const& a, device_csr<V, I, O> const& b, V beta,
                       device_csr<V, I, O> const& d, void* stream) {
  bool are_canonical = true;
  for (auto const* const m :
       {&a, &b, &d}) // and valid: a column of A that is too large would refer to D
    are_canonical &= canonical<V, I, O>(*m, stream).view.col == m->col;
  auto const rows = static_cast<std::size_t>(a.rows), inner = static_cast<std::size_t>(b.rows);
  I const wide = narrow<I>(inner + rows, "spgemm: rows of B and D");
  auto left = room_for<V, I, O>(a.rows, wide, static_cast<std::size_t>(a.nnz) + rows, stream);
  auto right = room_for<V, I, O>(
      wide, b.cols, static_cast<std::size_t>(b.nnz) + static_cast<std::size_t>(d.nnz), stream);
  TULLE_CUDA(cudaMemsetAsync, left.row_ptr->get(), 0, sizeof(O), static_cast<cudaStream_t>(stream));
  each_warp(rows, stream,
            [=, row_ptr = left.row_ptr->get(), col = left.col->get(),
             val = left.val->get()] __device__(std::size_t i, int lane) {
              O const from = a.row_ptr[i], n = a.row_ptr[i + 1] - from;
              O const at = from + static_cast<O>(i);
              for (O k = lane; k < n; k += 32) {
                col[at + k] = a.col[from + k];
                val[at + k] = alpha == V(0) ? V(0) : alpha * a.val[from + k];
              }
              if (lane != 0)
                return;
              col[at + n] = static_cast<I>(inner + i);
              val[at + n] = beta;
              row_ptr[i + 1] = at + n + 1;
            });
  each(inner + rows + 1, stream, [=, row_ptr = right.row_ptr->get()] __device__(std::size_t i) {
    row_ptr[i] = i == 0 ? O(0) : i <= inner ? b.row_ptr[i] : b.nnz + d.row_ptr[i - inner];
  });
  append(right.col->get(), b.col, b.nnz, true, stream);
  append(right.col->get() + b.nnz, d.col, d.nnz, true, stream);
  append(right.val->get(), b.val, b.nnz, alpha != V(0), stream);
  append(right.val->get() + b.nnz, d.val, d.nnz, beta != V(0), stream);
  return {std::move(left), std::move(right), are_canonical};
}

#define TULLE_STACKED(tag, V, I, O)                                                                \
  template stacked<V, I, O> stack(V, device_csr<V, I, O> const&, device_csr<V, I, O> const&, V,    \
                                  device_csr<V, I, O> const&, void*);
TULLE_KERNEL_TYPES(TULLE_STACKED)

} // namespace tulle::kernels::cuda

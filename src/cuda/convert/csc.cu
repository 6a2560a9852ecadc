// SPDX-License-Identifier: Apache-2.0

// csr to csc and back: a stable sort by columns, or by rows.
#include "tulle/format/csc.hpp"

#include "cuda/convert/convert.cuh"
#include "cuda/sort_by_key.cuh"

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
csc_view<V, I, O, space::cuda> from_csr(device_csr<V, I, O> const& a, csc_options,
                                          result const& to) {
  canonical<V, I, O> const c(a, to.stream());
  auto const n = static_cast<std::size_t>(c.view.nnz);
  if (n == 0)
    return {unchecked, a.rows, a.cols, O(0), to.zeros<O>(static_cast<std::size_t>(a.cols) + 1),
            nullptr,   nullptr};
  O* const col_ptr = to.take<O>(static_cast<std::size_t>(a.cols) + 1);
  I* const row = to.take<I>(n);
  V* const val = to.take<V>(n);
  scratch<I> const row_of(n, to.stream());
  scratch<O> const order(n, to.stream());
  expand_rows(a.rows, c.view.nnz, c.view.row_ptr, row_of.get(), to.stream());
  sort_by_key(a.cols, c.view.nnz, c.view.col, static_cast<I const*>(row_of.get()), col_ptr, row,
              order.get(), to.stream());
  each(n, to.stream(), [=, from = c.view.val, order = order.get()] __device__(std::size_t k) {
    val[k] = from[order[k]];
  });
  return {unchecked, a.rows, a.cols, c.view.nnz, col_ptr, row, val};
}

template <class V, class I, class O>
device_csr<V, I, O> to_csr(csc_view<V, I, O, space::cuda> const& a, result const& to) {
  scratch<I> const col(static_cast<std::size_t>(a.nnz), to.stream());
  expand_rows(a.cols, a.nnz, a.col_ptr, col.get(), to.stream());
  auto const c =
      compress(a.rows, a.cols, a.nnz, a.row, static_cast<I const*>(col.get()), a.val, to.stream());
  return to.copy(c.view);
}

} // namespace

TULLE_INSTANTIATE_CUDA_CONVERT_BASIC_BACK(csc)

} // namespace tulle::kernels::cuda

// SPDX-License-Identifier: Apache-2.0

// csr to scoo: all slices at once are sorted by (slice, column).
#include "tulle/format/scoo.hpp"

#include "cuda/convert/convert.cuh"
#include "cuda/sort_by_key.cuh"
#include "format/detail/slices.hpp"

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
scoo_view<V, I, O, space::cuda> from_csr(device_csr<V, I, O> const& a, scoo_options const& o,
                                           result const& to) {
  detail::check_slice_rows(o);
  canonical<V, I, O> const c(a, to.stream());
  device_csr<V, I, O> const from = c.view;
  auto const n = static_cast<std::size_t>(from.nnz);
  auto const rows = static_cast<std::size_t>(a.rows);
  auto const h = static_cast<std::size_t>(o.rows);
  std::size_t const slices = ceil_div(rows, h);
  O* const slice_ptr = to.take<O>(slices + 1);
  each(slices + 1, to.stream(), [=] __device__(std::size_t s) {
    slice_ptr[s] = s == 0 ? O(0) : from.row_ptr[min(rows, s * h)];
  });
  auto* const row = to.take<std::uint16_t>(n);
  I* const col = to.take<I>(n);
  V* const val = to.take<V>(n);
  scratch<I> const rows_of(n, to.stream()), slice(n, to.stream()), sorted(n, to.stream());
  scratch<O> const order(n, to.stream());
  if (n != 0) {
    expand_rows(a.rows, from.nnz, from.row_ptr, rows_of.get(), to.stream());
    each(n, to.stream(), [=, of = rows_of.get(), slice = slice.get()] __device__(std::size_t k) {
      slice[k] = of[k] / static_cast<I>(h);
    });
    order_by(static_cast<I>(slices), a.cols, from.nnz, static_cast<I const*>(slice.get()), from.col,
             sorted.get(), order.get(), to.stream());
  }
  each(n, to.stream(), [=, of = rows_of.get(), order = order.get()] __device__(std::size_t at) {
    O const k = order[at];
    row[at] = static_cast<std::uint16_t>(of[k] % static_cast<I>(h));
    col[at] = from.col[k];
    val[at] = from.val[k];
  });
  return {unchecked, a.rows, a.cols, from.nnz, o.rows, slice_ptr, row, col, val};
}

} // namespace

TULLE_INSTANTIATE_CUDA_CONVERT(scoo)

} // namespace tulle::kernels::cuda

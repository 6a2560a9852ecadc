// SPDX-License-Identifier: Apache-2.0

// csr to jds: rows sorted by length, then one thread per row.
#include "cuda/convert/jds_fill.cuh"
#include "format/detail/jds_layout.hpp"

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
jds_view<V, I, O, space::cuda> from_csr(device_csr<V, I, O> const& a, jds_options o,
                                        result const& to) {
  detail::check_jds_options("jds", 1, o.split);
  canonical<V, I, O> const c(a, to.stream());
  auto const order = sort_rows(c.view, o.split, to);
  array<O> const diag_ptr = detail::jds_diagonals(order.lengths, cpu());
  jds_arrays<V, I, O> own;
  own.diag_ptr = {put(diag_ptr, to), diag_ptr.size()};
  return fill_sorted<jds_view<V, I, O, space::cuda>>(
      c.view, order, static_cast<std::size_t>(diag_ptr.back()), own, to);
}

} // namespace

TULLE_INSTANTIATE_CUDA_CONVERT(jds)

} // namespace tulle::kernels::cuda

// SPDX-License-Identifier: Apache-2.0

// csr to jds_csr: rows sorted by length; sections on the host, from how many rows are longer than
// each length; then one thread per row.
#include "cuda/convert/jds_fill.cuh"
#include "format/detail/jds_layout.hpp"

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
jds_csr_view<V, I, O, space::cuda> from_csr(device_csr<V, I, O> const& a, jds_csr_options o,
                                            result const& to) {
  detail::check_jds_options("jds_csr", o.section, o.split);
  canonical<V, I, O> const c(a, to.stream());
  auto const order = sort_rows(c.view, o.split, to);
  detail::jagged_sections<I, O> const sections(order.lengths, o.section, cpu());
  jds_arrays<V, I, O> own;
  own.place_ptr = {put(sections.place_ptr, to), sections.place_ptr.size()};
  own.section_ptr = {put(sections.section_ptr, to), sections.section_ptr.size()};
  own.diag_ptr = {put(sections.diag_ptr, to), sections.diag_ptr.size()};
  return fill_sorted<jds_csr_view<V, I, O, space::cuda>>(
      c.view, order, static_cast<std::size_t>(sections.diag_ptr.back()), own, to);
}

} // namespace

TULLE_INSTANTIATE_CUDA_CONVERT(jds_csr)

} // namespace tulle::kernels::cuda

// SPDX-License-Identifier: Apache-2.0

// csr to jds_ell: rows sorted by length; sections on the host, from how many rows are longer than
// each length; then one thread per row.
#include "cuda/convert/jds_fill.cuh"
#include "format/detail/ell_build.hpp"
#include "format/detail/jds_layout.hpp"

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
jds_ell_view<V, I, O, space::cuda> from_csr(device_csr<V, I, O> const& a, jds_ell_options o,
                                            result const& to) {
  detail::check_jds_options("jds_ell", o.section, o.split);
  detail::check_limit("jds_ell", o.limit);
  canonical<V, I, O> const c(a, to.stream());
  auto const order = sort_rows(c.view, o.split, to);
  detail::padded_sections<V, I, O> const sections(order.lengths, o, detail::bytes_of(c.view),
                                                  cpu());
  jds_arrays<V, I, O> own;
  own.len = {lengths_at(c.view, static_cast<I const*>(order.perm), to), order.lengths.rows};
  own.place_ptr = {put(sections.place_ptr, to), sections.place_ptr.size()};
  own.section_ptr = {put(sections.section_ptr, to), sections.section_ptr.size()};
  return fill_sorted<jds_ell_view<V, I, O, space::cuda>>(
      c.view, order, static_cast<std::size_t>(sections.section_ptr.back()), own, to);
}

} // namespace

TULLE_INSTANTIATE_CUDA_CONVERT(jds_ell)

} // namespace tulle::kernels::cuda

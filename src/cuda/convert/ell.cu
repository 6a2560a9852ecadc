// SPDX-License-Identifier: Apache-2.0

// csr to ell: every row padded to the longest.
#include "cuda/convert/padded.cuh"
#include "format/detail/check_room.hpp"
#include "format/detail/ell_build.hpp"

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
ell_view<V, I, O, space::cuda> from_csr(device_csr<V, I, O> const& a, ell_options o,
                                          result const& to) {
  detail::check_limit("ell", o.limit);
  canonical<V, I, O> const c(a, to.stream());
  auto const width = static_cast<I>(longest_row(c.view.rows, c.view.row_ptr, to.stream()));
  detail::check_room("ell", detail::ell_bytes<V>(static_cast<std::size_t>(a.rows), width),
                     detail::bytes_of(c.view), o.limit);
  auto b = first_entries(c.view, width, to);
  b.nnz = c.view.nnz;
  return b;
}

} // namespace

TULLE_INSTANTIATE_CUDA_CONVERT(ell)

} // namespace tulle::kernels::cuda

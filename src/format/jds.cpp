// SPDX-License-Identifier: Apache-2.0
#include "tulle/format/jds.hpp"

#include "tulle/core/limited.hpp"

#include "format/detail/jds_check.hpp"
#include "format/detail/jds_layout.hpp"
#include "format/instantiate.hpp"

namespace tulle {

template <class V, class I, class O, space S>
jds_view<V, I, O, S>::jds_view(I rows, I cols, I longs,
                               jds_arrays<V, I, O> const& a) requires(S == space::host)
    : jds_view(unchecked, rows, cols, O(0), longs, a) {
  detail::check_jds_sizes("jds", rows, cols, a);
  this->nnz = narrow<O>(a.val.size() + a.coo_val.size(), "number of entries");
  validate();
}

template <class V, class I, class O, space S>
void jds_view<V, I, O, S>::validate() const {
  detail::check_jds_shape("jds", *this);
  detail::check_pointers("jds: diag_ptr", diag_ptr, static_cast<std::size_t>(width), this->stored);
  if (sections() == 0 && width != 0)
    fail(errc::bad_structure, "jds: %lld diagonals, but no rows", static_cast<long long>(width));
  detail::check_jds("jds", *this);
}

template <class V, class I, class O, space S>
csr<V, I, O> jds_view<V, I, O, S>::to_csr(cpu const& policy) const {
  detail::limited const space("jds", policy);
  cpu const& where = space.counted();
  return detail::jds_to_csr(*this, where);
}

template <class V, class I, class O>
void jds<V, I, O>::validate() const {
  if (jds_view<V, I, O>(this->rows, this->cols, this->longs, arrays()).nnz != this->nnz)
    view().validate(); // throws, since nnz is wrong
}

template <class V, class I, class O>
jds<V, I, O> jds<V, I, O>::from_csr(csr_view<V, I, O> a, jds_options o, cpu const& policy) {
  detail::limited const space("jds", policy);
  cpu const& where = space.counted();
  detail::check_jds_options("jds", 1, o.split);
  detail::canonical<V, I, O> const c(a, where);
  detail::rows_by_length<V, I, O> order(c.view, o.split, where);
  array<O> diag_ptr = detail::jds_diagonals(order, where);
  jds b(order, static_cast<std::size_t>(diag_ptr.back()), where);
  b.diag_ptr = std::move(diag_ptr);
  detail::jds_fill(b, c.view, where);
  return b;
}

template <class V, class I, class O>
void jds<V, I, O>::refill(csr_view<V, I, O> a, cpu const& policy) {
  detail::limited const space("jds", policy);
  cpu const& where = space.counted();
  detail::check_arrays("jds", *this);
  detail::jds_refill("jds", *this, a, where);
}

} // namespace tulle

TULLE_INSTANTIATE_FORMAT(jds, every)

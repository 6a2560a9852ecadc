// SPDX-License-Identifier: Apache-2.0
#include "tulle/format/jds_csr.hpp"

#include "tulle/core/limited.hpp"

#include "format/detail/jds_check.hpp"
#include "format/detail/jds_layout.hpp"
#include "format/instantiate.hpp"

namespace tulle {

template <class V, class I, class O, space S>
jds_csr_view<V, I, O, S>::jds_csr_view(I rows, I cols, I longs,
                                       jds_arrays<V, I, O> const& a) requires(S == space::host)
    : jds_csr_view(unchecked, rows, cols, O(0), longs, a) {
  detail::check_jds_sizes("jds_csr", rows, cols, a);
  if (a.section_ptr.size() != a.place_ptr.size())
    fail(errc::bad_structure, "jds_csr: section_ptr has %zu elements, expected %zu",
         a.section_ptr.size(), a.place_ptr.size());
  this->nnz = narrow<O>(a.val.size() + a.coo_val.size(), "number of entries");
  validate();
}

template <class V, class I, class O, space S>
void jds_csr_view<V, I, O, S>::validate() const {
  detail::check_jds_shape("jds_csr", *this);
  detail::check_places("jds_csr", place_ptr, sections(), this->longs, this->rows);
  detail::check_pointers("jds_csr: section_ptr", section_ptr, sections(), diags);
  detail::check_pointers("jds_csr: diag_ptr", diag_ptr, static_cast<std::size_t>(diags),
                         this->stored);
  detail::check_jds("jds_csr", *this);
}

template <class V, class I, class O, space S>
csr<V, I, O> jds_csr_view<V, I, O, S>::to_csr(cpu const& policy) const {
  detail::limited const space("jds_csr", policy);
  cpu const& where = space.counted();
  return detail::jds_to_csr(*this, where);
}

template <class V, class I, class O, space S>
std::size_t jds_csr_view<V, I, O, S>::section_of(std::size_t place) const {
  return detail::section_of(place_ptr, sections(), place);
}

template <class V, class I, class O>
void jds_csr<V, I, O>::validate() const {
  if (jds_csr_view<V, I, O>(this->rows, this->cols, this->longs, arrays()).nnz != this->nnz)
    view().validate(); // throws, since nnz is wrong
}

template <class V, class I, class O>
jds_csr<V, I, O> jds_csr<V, I, O>::from_csr(csr_view<V, I, O> a, jds_csr_options o,
                                            cpu const& policy) {
  detail::limited const space("jds_csr", policy);
  cpu const& where = space.counted();
  detail::check_jds_options("jds_csr", o.section, o.split);
  detail::canonical<V, I, O> const c(a, where);
  detail::rows_by_length<V, I, O> order(c.view, o.split, where);
  detail::jagged_sections<I, O> to(order, o.section, where);
  jds_csr b(order, static_cast<std::size_t>(to.diag_ptr.back()), where);
  b.place_ptr = std::move(to.place_ptr);
  b.section_ptr = std::move(to.section_ptr);
  b.diag_ptr = std::move(to.diag_ptr);
  detail::jds_fill(b, c.view, where);
  return b;
}

template <class V, class I, class O>
void jds_csr<V, I, O>::refill(csr_view<V, I, O> a, cpu const& policy) {
  detail::limited const space("jds_csr", policy);
  cpu const& where = space.counted();
  detail::check_arrays("jds_csr", *this);
  detail::jds_refill("jds_csr", *this, a, where);
}

} // namespace tulle

TULLE_INSTANTIATE_FORMAT(jds_csr, every)

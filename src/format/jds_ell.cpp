// SPDX-License-Identifier: Apache-2.0
#include "tulle/format/jds_ell.hpp"

#include "tulle/core/limited.hpp"

#include "format/detail/ell_build.hpp"
#include "format/detail/jds_check.hpp"
#include "format/detail/jds_layout.hpp"
#include "format/instantiate.hpp"

#include <algorithm>
#include <limits>

namespace tulle {

template <class V, class I, class O, space S>
jds_ell_view<V, I, O, S>::jds_ell_view(I rows, I cols, I longs,
                                       jds_arrays<V, I, O> const& a) requires(S == space::host)
    : jds_ell_view(unchecked, rows, cols, O(0), longs, a) {
  detail::check_jds_sizes("jds_ell", rows, cols, a);
  if (a.len.size() != a.perm.size() || a.section_ptr.size() != a.place_ptr.size())
    fail(errc::bad_structure,
         "jds_ell: len has %zu elements and section_ptr %zu, expected %zu, %zu", a.len.size(),
         a.section_ptr.size(), a.perm.size(), a.place_ptr.size());
  detail::check_jds_shape("jds_ell", *this);
  std::size_t const entries =
      detail::count_entries("jds_ell", len, a.len.size(), std::numeric_limits<I>::max());
  this->nnz = narrow<O>(entries, "number of entries");
  validate();
}

template <class V, class I, class O, space S>
void jds_ell_view<V, I, O, S>::validate() const {
  detail::check_jds_shape("jds_ell", *this);
  detail::check_places("jds_ell", place_ptr, sections(), this->longs, this->rows);
  detail::check_pointers("jds_ell: section_ptr", section_ptr, sections(), this->stored);
  for (std::size_t s = 0; s < sections(); ++s)
    if (auto const slots = section_ptr[s + 1] - section_ptr[s];
        slots % static_cast<O>(place_ptr[s + 1] - place_ptr[s]) != 0)
      fail(errc::bad_structure, "jds_ell: section %zu has %lld slots for %lld rows", s,
           static_cast<long long>(slots), static_cast<long long>(place_ptr[s + 1] - place_ptr[s]));
  detail::check_jds("jds_ell", *this);
  for (std::size_t j = 0; j < static_cast<std::size_t>(this->longs); ++j) {
    auto const [begin, end] =
        std::equal_range(this->coo_row, this->coo_row + this->rest, this->perm[j]);
    if (std::cmp_not_equal(end - begin, len[j]))
      fail(errc::bad_structure, "jds_ell: len[%zu] is %lld, but coo has %lld", j,
           static_cast<long long>(len[j]), static_cast<long long>(end - begin));
  }
}

template <class V, class I, class O, space S>
csr<V, I, O> jds_ell_view<V, I, O, S>::to_csr(cpu const& policy) const {
  detail::limited const space("jds_ell", policy);
  cpu const& where = space.counted();
  return detail::jds_to_csr(*this, where);
}

template <class V, class I, class O, space S>
std::size_t jds_ell_view<V, I, O, S>::section_of(std::size_t place) const {
  return detail::section_of(place_ptr, sections(), place);
}

template <class V, class I, class O>
void jds_ell<V, I, O>::validate() const {
  if (jds_ell_view<V, I, O>(this->rows, this->cols, this->longs, arrays()).nnz != this->nnz)
    view().validate(); // throws, since nnz is wrong
}

template <class V, class I, class O>
jds_ell<V, I, O> jds_ell<V, I, O>::from_csr(csr_view<V, I, O> a, jds_ell_options o,
                                            cpu const& policy) {
  detail::limited const space("jds_ell", policy);
  cpu const& where = space.counted();
  detail::check_jds_options("jds_ell", o.section, o.split);
  detail::check_limit("jds_ell", o.limit);
  detail::canonical<V, I, O> const c(a, where);
  detail::rows_by_length<V, I, O> order(c.view, o.split, where);
  detail::padded_sections<V, I, O> to(order, o, detail::bytes_of(c.view), where);
  array<I> len(order.rows, where.memory);
  int const parts = parts_for(order.rows, where.threads);
  parallel(parts, [&](int part) {
    for (std::size_t p = split(order.rows, part, parts), end = split(order.rows, part + 1, parts);
         p < end; ++p)
      len[p] = static_cast<I>(order.length_at(p));
  });
  jds_ell b(order, static_cast<std::size_t>(to.section_ptr.back()), where);
  b.len = std::move(len);
  b.place_ptr = std::move(to.place_ptr);
  b.section_ptr = std::move(to.section_ptr);
  detail::jds_fill(b, c.view, where);
  return b;
}

template <class V, class I, class O>
void jds_ell<V, I, O>::refill(csr_view<V, I, O> a, cpu const& policy) {
  detail::limited const space("jds_ell", policy);
  cpu const& where = space.counted();
  detail::check_arrays("jds_ell", *this);
  detail::jds_refill("jds_ell", *this, a, where);
}

} // namespace tulle

TULLE_INSTANTIATE_FORMAT(jds_ell, every)

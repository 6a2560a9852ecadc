// SPDX-License-Identifier: Apache-2.0
#include "tulle/format/ell.hpp"

#include "tulle/core/limited.hpp"

#include "format/detail/canonical.hpp"
#include "format/detail/check_room.hpp"
#include "format/detail/ell_build.hpp"
#include "format/detail/refill.hpp"
#include "format/detail/row_lengths.hpp"
#include "format/instantiate.hpp"

namespace tulle {

template <class V, class I, class O, space S>
ell_view<V, I, O, S>::ell_view(I rows, I cols, I width, std::size_t stride,
                               std::span<I const> row_len, std::span<I const> col,
                               std::span<V const> val) requires(S == space::host)
    : rows(rows), cols(cols), width(width), stride(stride), row_len(row_len.data()),
      col(col.data()), val(val.data()) {
  nnz = narrow<O>(
      detail::check_ell_sizes("ell", rows, cols, width, stride, row_len, col.size(), val.size()),
      "number of entries");
  validate();
}

template <class V, class I, class O, space S>
void ell_view<V, I, O, S>::validate() const {
  detail::check_ell("ell", *this);
}

template <class V, class I, class O, space S>
csr<V, I, O> ell_view<V, I, O, S>::to_csr(cpu const& policy) const {
  detail::limited const space("ell", policy);
  cpu const& where = space.counted();
  auto const entries = static_cast<std::size_t>(nnz);
  csr<V, I, O> c(
      unchecked, rows, cols,
      detail::pointers_of<O>(
          static_cast<std::size_t>(rows), [&](std::size_t i) { return row_len[i]; }, where),
      array<I>(entries, where.memory), array<V>(entries, where.memory));
  detail::each_entry(*this, where, [&](std::size_t i, std::size_t s, std::size_t at) {
    std::size_t const k = static_cast<std::size_t>(c.row_ptr[i]) + s;
    c.col[k] = col[at];
    c.val[k] = val[at];
  });
  return c;
}

template <class V, class I, class O>
ell<V, I, O>::ell(I rows, I cols, I width, std::size_t stride, array<I> row_len, array<I> col,
                  array<V> val)
    : ell(unchecked, rows, cols, O(0), width, stride, std::move(row_len), std::move(col),
          std::move(val)) {
  nnz = ell_view<V, I, O>(rows, cols, width, stride, this->row_len, this->col, this->val).nnz;
}

template <class V, class I, class O>
void ell<V, I, O>::validate() const {
  ell_view<V, I, O> const seen(rows, cols, width, stride, row_len, col, val);
  if (seen.nnz != nnz)
    view().validate(); // says so
}

template <class V, class I, class O>
ell<V, I, O> ell<V, I, O>::from_csr(csr_view<V, I, O> a, ell_options o, cpu const& policy) {
  detail::limited const space("ell", policy);
  cpu const& where = space.counted();
  detail::check_limit("ell", o.limit);
  detail::canonical<V, I, O> const c(a, where);
  auto const n = static_cast<std::size_t>(c.view.rows);
  // A canonical row holds no column twice, so that its length is an I.
  I const width = static_cast<I>(detail::longest_row(c.view.row_ptr, n, where));
  detail::check_room("ell", detail::ell_bytes<V>(n, width), detail::bytes_of(c.view), o.limit);
  return detail::first_entries(c.view, width, where);
}

template <class V, class I, class O>
void ell<V, I, O>::refill(csr_view<V, I, O> a, cpu const& policy) {
  detail::limited const space("ell", policy);
  cpu const& where = space.counted();
  detail::check_arrays("ell", *this);
  detail::refill_if(
      "ell", rows, cols, nnz, a, where,
      // With as many entries in all, rows that begin alike are alike.
      [&](csr_view<V, I, O> const& c) { return detail::holds_first_entries(view(), c, where); },
      [&](csr_view<V, I, O> const& c) {
        detail::refill_first_entries(view(), c, val.data(), where);
      });
}

} // namespace tulle

TULLE_INSTANTIATE_FORMAT(ell, every)

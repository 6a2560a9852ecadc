// SPDX-License-Identifier: Apache-2.0
#include "tulle/format/scsr.hpp"

#include "tulle/core/limited.hpp"

#include "format/detail/check_pointers.hpp"
#include "format/detail/refill.hpp"
#include "format/detail/symmetric.hpp"
#include "format/instantiate.hpp"

#include <algorithm>

namespace tulle {

namespace detail {

/// Entries of the whole matrix, from canonical rows of its lower triangle.
template <class I, class O>
std::size_t mirrored_size(O const* row_ptr, I const* col, std::size_t n) {
  std::size_t on = 0; // the diagonal
  for (std::size_t i = 0; i < n; ++i)
    on += row_ptr[i] != row_ptr[i + 1] && col[row_ptr[i + 1] - 1] == static_cast<I>(i);
  return n == 0 ? 0 : 2 * static_cast<std::size_t>(row_ptr[n]) - on;
}

} // namespace detail

template <class V, class I, class O, space S>
scsr_view<V, I, O, S>::scsr_view(I n, std::span<O const> row_ptr, std::span<I const> col,
                                 std::span<V const> val) requires(S == space::host)
    : rows(n), cols(n), row_ptr(row_ptr.data()), col(col.data()), val(val.data()) {
  detail::check_shape("scsr", rows, cols);
  stored = detail::check_sizes<O>("scsr", row_ptr.size(), rows, col.size(), val.size());
  nnz = stored; // until the pointers are known to be good
  detail::check_pointers("scsr: row_ptr", this->row_ptr, static_cast<std::size_t>(n), stored);
  nnz = narrow<O>(detail::mirrored_size(this->row_ptr, this->col, static_cast<std::size_t>(n)),
                  "number of entries");
  validate();
}

template <class V, class I, class O, space S>
void scsr_view<V, I, O, S>::validate() const {
  detail::check_shape("scsr", rows, cols);
  if (rows != cols)
    fail(errc::bad_structure, "scsr: %lld rows and %lld columns, expected as many",
         static_cast<long long>(rows), static_cast<long long>(cols));
  auto const n = static_cast<std::size_t>(rows);
  detail::check_pointers("scsr: row_ptr", row_ptr, n, stored);
  detail::check_indices("scsr: col", col, static_cast<std::size_t>(stored), cols);
  detail::check_present("scsr: val", val, static_cast<std::size_t>(stored));
  for (std::size_t i = 0; i < n; ++i)
    for (O k = row_ptr[i]; k < row_ptr[i + 1]; ++k) {
      if (k > row_ptr[i] && col[k] <= col[k - 1])
        fail(errc::bad_structure, "scsr: col does not ascend from %lld to %lld at %lld",
             static_cast<long long>(col[k - 1]), static_cast<long long>(col[k]),
             static_cast<long long>(k));
      if (col[k] > static_cast<I>(i))
        fail(errc::bad_structure, "scsr: col[%lld] is %lld, above the diagonal of row %zu",
             static_cast<long long>(k), static_cast<long long>(col[k]), i);
    }
  if (std::size_t const found = detail::mirrored_size(row_ptr, col, n);
      nnz < 0 || found != static_cast<std::size_t>(nnz))
    fail(errc::bad_structure, "scsr: %zu entries are stored, but nnz is %lld", found,
         static_cast<long long>(nnz));
}

template <class V, class I, class O, space S>
csr<V, I, O> scsr_view<V, I, O, S>::to_csr(cpu const& policy) const {
  detail::limited const space("scsr", policy);
  cpu const& where = space.counted();
  return detail::mirrored(lower(), where);
}

template <class V, class I, class O>
void scsr<V, I, O>::validate() const {
  if (rows != cols)
    fail(errc::bad_structure, "scsr: %lld rows and %lld columns, expected as many",
         static_cast<long long>(rows), static_cast<long long>(cols));
  if (O const found = checked().nnz; found != nnz)
    fail(errc::bad_structure, "scsr: %lld entries are stored, but nnz is %lld",
         static_cast<long long>(found), static_cast<long long>(nnz));
}

template <class V, class I, class O>
scsr<V, I, O> scsr<V, I, O>::from_csr(csr_view<V, I, O> a, scsr_options, cpu const& policy) {
  detail::limited const space("scsr", policy);
  cpu const& where = space.counted();
  detail::canonical<V, I, O> const c(a, where);
  detail::check_symmetric("scsr", c.view, where);
  csr<V, I, O> l = detail::lower_triangle(c.view, where);
  scsr m;
  m.rows = m.cols = a.rows;
  m.nnz = c.view.nnz;
  m.row_ptr = std::move(l.row_ptr);
  m.col = std::move(l.col);
  m.val = std::move(l.val);
  return m;
}

template <class V, class I, class O>
void scsr<V, I, O>::refill(csr_view<V, I, O> a, cpu const& policy) {
  detail::limited const space("scsr", policy);
  cpu const& where = space.counted();
  detail::check_arrays("scsr", *this);
  detail::refill_if(
      "scsr", rows, cols, nnz, a, where,
      [&](csr_view<V, I, O> const& c) {
        return detail::mirrors(c, row_ptr.data(), col.data(), where);
      },
      [&](csr_view<V, I, O> const& c) {
        auto const n = static_cast<std::size_t>(rows);
        int const parts = parts_for(static_cast<std::size_t>(nnz), where.threads);
        if (nnz != 0)
          parallel(parts, [&](int part) {
            std::size_t const end = split_by_entries(row_ptr.data(), n, part + 1, parts);
            for (std::size_t i = split_by_entries(row_ptr.data(), n, part, parts); i < end; ++i)
              std::copy_n(c.val + c.row_ptr[i], row_ptr[i + 1] - row_ptr[i],
                          val.data() + row_ptr[i]);
          });
      },
      [&](csr_view<V, I, O> const& c) {
        if (c.rows == rows && c.cols == cols && c.nnz == nnz)
          detail::check_symmetric("scsr", c, where, true);
      });
}

} // namespace tulle

TULLE_INSTANTIATE_FORMAT(scsr, every)

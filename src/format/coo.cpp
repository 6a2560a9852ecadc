// SPDX-License-Identifier: Apache-2.0
#include "tulle/format/coo.hpp"

#include "tulle/core/limited.hpp"
#include "tulle/op/detail/compress.hpp"

#include "format/detail/canonical.hpp"
#include "format/detail/counting_sort.hpp"
#include "format/detail/refill.hpp"
#include "format/instantiate.hpp"

namespace tulle {

template <class V, class I, class O, space S>
void coo_view<V, I, O, S>::validate(cpu const& where) const {
  detail::check_shape("coo", rows, cols);
  if (nnz < 0)
    fail(errc::bad_structure, "coo: %lld entries; that may not be negative",
         static_cast<long long>(nnz));
  detail::check_indices("coo: row", row, static_cast<std::size_t>(nnz), rows, where.threads);
  detail::check_indices("coo: col", col, static_cast<std::size_t>(nnz), cols, where.threads);
  detail::check_present("coo: val", val, static_cast<std::size_t>(nnz));
}

namespace detail {

/// No index is less than the one before it.
template <class I>
bool ascends(I const* index, std::size_t n, cpu const& where) {
  int const parts = parts_for(n, where.threads, 1 << 18);
  bool good = true;
  parallel(parts, [&](int part) {
    std::size_t k = split(n, part, parts);
    std::size_t const end = split(n, part + 1, parts);
    for (k += k == 0; k < end && index[k - 1] <= index[k];)
      ++k;
    if (k < end)
      __atomic_store_n(&good, false, __ATOMIC_RELAXED);
  });
  return good;
}

} // namespace detail

template <class V, class I, class O, space S>
csr<V, I, O> coo_view<V, I, O, S>::to_csr(cpu const& policy) const {
  detail::limited const space("coo", policy);
  cpu const& where = space.counted();
  auto const n = static_cast<std::size_t>(nnz);
  // Rows in order, as most come, are at copy cost; what else there is, is sorted outright.
  if (!detail::ascends(row, n, where))
    return detail::compress<O>(
        rows, cols, row, col, val, n, [](V const& a, V const& b) { return static_cast<V>(a + b); },
        where, where.memory);
  csr<V, I, O> c(unchecked, rows, cols, {}, array<I>(n, where.memory), array<V>(n, where.memory));
  c.row_ptr = detail::bucket_sort<O>(
      static_cast<std::size_t>(rows), n, row,
      [&](int part, int parts) { return split(n, part, parts); },
      [&](int part, int parts, auto&& f) {
        for (std::size_t k = split(n, part, parts), end = split(n, part + 1, parts); k < end; ++k)
          f(k, col[k], val[k], false);
      },
      c.col.data(), c.val.data(), where);
  return c.view().is_canonical(where) ? std::move(c) : c.to_csr(where);
}

template <class V, class I, class O>
coo<V, I, O>::coo(I rows, I cols, array<I> row, array<I> col, array<V> val)
    : coo(unchecked, rows, cols, std::move(row), std::move(col), std::move(val)) {
  validate();
}

template <class V, class I, class O>
coo<V, I, O> coo<V, I, O>::from_csr(csr_view<V, I, O> a, coo_options, cpu const& policy) {
  detail::limited const space("coo", policy);
  cpu const& where = space.counted();
  detail::canonical<V, I, O> const c(a, where);
  auto const n = static_cast<std::size_t>(c.view.rows);
  auto const entries = static_cast<std::size_t>(c.view.nnz);
  coo b(unchecked, a.rows, a.cols, array<I>(entries, where.memory), array<I>(entries, where.memory),
        array<V>(entries, where.memory));
  if (entries == 0)
    return b;
  int const parts = parts_for(entries, where.threads);
  parallel(parts, [&](int part) {
    std::size_t const end = split_by_entries(c.view.row_ptr, n, part + 1, parts);
    for (std::size_t i = split_by_entries(c.view.row_ptr, n, part, parts); i < end; ++i)
      for (O k = c.view.row_ptr[i]; k < c.view.row_ptr[i + 1]; ++k) {
        b.row[k] = static_cast<I>(i);
        b.col[k] = c.view.col[k];
        b.val[k] = c.view.val[k];
      }
  });
  return b;
}

template <class V, class I, class O>
void coo<V, I, O>::refill(csr_view<V, I, O> a, cpu const& policy) {
  detail::limited const space("coo", policy);
  cpu const& where = space.counted();
  detail::check_arrays("coo", *this);
  auto const lines = static_cast<std::size_t>(rows);
  std::size_t const n = val.size();
  int const parts = parts_for(n, where.threads);
  detail::refill_if(
      "coo", rows, cols, view().nnz, a, where,
      [&](csr_view<V, I, O> const& c) {
        bool good = true;
        if (n != 0)
          parallel(parts, [&](int part) {
            std::size_t const end = split_by_entries(c.row_ptr, lines, part + 1, parts);
            I other = 0; // no branch an entry
            for (std::size_t i = split_by_entries(c.row_ptr, lines, part, parts); i < end; ++i)
              for (auto k = static_cast<std::size_t>(c.row_ptr[i]);
                   k < static_cast<std::size_t>(c.row_ptr[i + 1]); ++k)
                other |= static_cast<I>((row[k] ^ static_cast<I>(i)) | (col[k] ^ c.col[k]));
            if (other != 0)
              __atomic_store_n(&good, false, __ATOMIC_RELAXED);
          });
        return good;
      },
      [&](csr_view<V, I, O> const& c) { detail::copy_values(c.val, n, val.data(), where); });
}

} // namespace tulle

TULLE_INSTANTIATE_FORMAT(coo, basic)

// SPDX-License-Identifier: Apache-2.0
#include "tulle/format/csr.hpp"

#include "tulle/core/limited.hpp"

#include "format/detail/canonical.hpp"
#include "format/detail/check_pointers.hpp"
#include "format/detail/refill.hpp"
#include "format/instantiate.hpp"

#include <algorithm>

namespace tulle {

template <class V, class I, class O, space S>
csr_view<V, I, O, S>::csr_view(csr<V, I, O> const& a) requires(S == space::host)
    : csr_view(a.view()) {}

template <class V, class I, class O, space S>
void csr_view<V, I, O, S>::validate(cpu const& where) const {
  detail::check_shape("csr", rows, cols);
  detail::check_pointers("csr: row_ptr", row_ptr, static_cast<std::size_t>(rows), nnz);
  detail::check_indices("csr: col", col, static_cast<std::size_t>(nnz), cols, where.threads);
  detail::check_present("csr: val", val, static_cast<std::size_t>(nnz));
}

template <class V, class I, class O, space S>
bool csr_view<V, I, O, S>::is_canonical(cpu const& where) const {
  if (nnz == 0)
    return true;
  int const parts = parts_for(static_cast<std::size_t>(nnz), where.threads, 1 << 18);
  auto const n = static_cast<std::size_t>(rows);
  // Columns may go down, or stay, from one row to the next alone: as often in all as there.
  std::size_t inside = 0;
  parallel(parts, [&](int part) {
    std::size_t const first = split_by_entries(row_ptr, n, part, parts);
    std::size_t const last = split_by_entries(row_ptr, n, part + 1, parts);
    auto const begin = static_cast<std::size_t>(row_ptr[first]);
    auto const end = static_cast<std::size_t>(row_ptr[last]);
    std::size_t down = detail::descents<true>(col + begin, end - begin);
    for (std::size_t i = first; i < last; ++i) {
      auto const k = static_cast<std::size_t>(row_ptr[i]);
      if (k > begin && k < end && row_ptr[i] != row_ptr[i + 1])
        down -= col[k] <= col[k - 1];
    }
    __atomic_fetch_add(&inside, down, __ATOMIC_RELAXED);
  });
  return inside == 0;
}

template <class V, class I, class O, space S>
csr<V, I, O> csr_view<V, I, O, S>::to_csr(cpu const& policy) const {
  detail::limited const space("csr", policy);
  cpu const& where = space.counted();
  auto const n = static_cast<std::size_t>(rows);
  auto const entries = static_cast<std::size_t>(nnz);
  csr<V, I, O> c(unchecked, rows, cols, array<O>(n + 1, where.memory),
                 array<I>(entries, where.memory), array<V>(entries, where.memory));
  int const parts = parts_for(entries + n, where.threads);
  if (is_canonical(where)) {
    if (row_ptr)
      std::copy_n(row_ptr, n + 1, c.row_ptr.data());
    else
      c.row_ptr[0] = 0;
    parallel(parts, [&](int part) {
      std::size_t const k = split(entries, part, parts);
      std::size_t const count = split(entries, part + 1, parts) - k;
      std::copy_n(col + k, count, c.col.data() + k);
      std::copy_n(val + k, count, c.val.data() + k);
    });
    return c;
  }

  detail::sort_rows(*this, c, where);
  auto const kept = static_cast<std::size_t>(c.row_ptr[n]);
  if (kept == entries)
    return c;
  array<I> new_col(kept, where.memory);
  array<V> new_val(kept, where.memory);
  parallel(parts, [&](int part) {
    std::size_t const end = split_by_entries(row_ptr, n, part + 1, parts);
    for (std::size_t i = split_by_entries(row_ptr, n, part, parts); i < end; ++i) {
      O const length = c.row_ptr[i + 1] - c.row_ptr[i];
      std::copy_n(c.col.data() + row_ptr[i], length, new_col.data() + c.row_ptr[i]);
      std::copy_n(c.val.data() + row_ptr[i], length, new_val.data() + c.row_ptr[i]);
    }
  });
  c.col.swap(new_col);
  c.val.swap(new_val);
  return c;
}

template <class V, class I, class O>
csr<V, I, O>::csr(I rows, I cols, array<O> row_ptr, array<I> col, array<V> val)
    : csr(unchecked, rows, cols, std::move(row_ptr), std::move(col), std::move(val)) {
  validate();
}

template <class V, class I, class O>
void csr<V, I, O>::validate(cpu const& where) const {
  detail::check_shape("csr", rows, cols);
  detail::check_sizes<O>("csr", row_ptr.size(), rows, col.size(), val.size());
  view().validate(where);
}

template <class V, class I, class O>
csr<V, I, O> csr<V, I, O>::from_csr(csr_view<V, I, O> a, csr_options, cpu const& policy) {
  detail::limited const space("csr", policy);
  cpu const& where = space.counted();
  a.validate(where);
  return a.to_csr(where);
}

template <class V, class I, class O>
void csr<V, I, O>::refill(csr_view<V, I, O> a, cpu const& policy) {
  detail::limited const space("csr", policy);
  cpu const& where = space.counted();
  detail::check_arrays("csr", *this);
  detail::refill_rows("csr", rows, cols, view().nnz, a, row_ptr.data(), col.data(), val.data(),
                      where);
}

} // namespace tulle

TULLE_INSTANTIATE_FORMAT(csr, basic)

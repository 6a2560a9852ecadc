// SPDX-License-Identifier: Apache-2.0
#include "tulle/format/hyb.hpp"

#include "tulle/core/limited.hpp"

#include "format/detail/canonical.hpp"
#include "format/detail/check_room.hpp"
#include "format/detail/counting_sort.hpp"
#include "format/detail/ell_build.hpp"
#include "format/detail/hyb_build.hpp"
#include "format/detail/refill.hpp"
#include "format/detail/row_lengths.hpp"
#include "format/instantiate.hpp"

#include <optional>

namespace tulle {

template <class V, class I, class O, space S>
hyb_view<V, I, O, S>::hyb_view(I rows, I cols, I width, std::size_t stride,
                               std::span<I const> row_len, std::span<I const> col,
                               std::span<V const> val, std::span<I const> coo_row,
                               std::span<I const> coo_col,
                               std::span<V const> coo_val) requires(S == space::host)
    : rows(rows), cols(cols), width(width), stride(stride), row_len(row_len.data()),
      col(col.data()), val(val.data()), coo_row(coo_row.data()), coo_col(coo_col.data()),
      coo_val(coo_val.data()) {
  std::size_t const first =
      detail::check_ell_sizes("hyb", rows, cols, width, stride, row_len, col.size(), val.size());
  if (coo_row.size() != coo_val.size() || coo_col.size() != coo_val.size())
    fail(errc::bad_structure, "hyb: %zu row indices, %zu column indices, %zu values in coo",
         coo_row.size(), coo_col.size(), coo_val.size());
  rest = narrow<O>(coo_val.size(), "number of entries");
  nnz = narrow<O>(first + coo_val.size(), "number of entries");
  validate();
}

template <class V, class I, class O, space S>
void hyb_view<V, I, O, S>::validate() const {
  if (rest < 0 || nnz < rest)
    fail(errc::bad_structure, "hyb: %lld entries, %lld of them in coo", static_cast<long long>(nnz),
         static_cast<long long>(rest));
  detail::check_ell("hyb", regular());
  auto const n = static_cast<std::size_t>(rest);
  detail::check_indices("hyb: coo_row", coo_row, n, rows);
  detail::check_indices("hyb: coo_col", coo_col, n, cols);
  detail::check_present("hyb: coo_val", coo_val, n);
  int const parts = parts_for(n, 0, 1 << 18);
  parallel(parts, [&](int part) {
    for (std::size_t k = split(n, part, parts), end = split(n, part + 1, parts); k < end; ++k) {
      auto const i = static_cast<std::size_t>(coo_row[k]);
      if (row_len[i] != width)
        fail(errc::bad_structure, "hyb: coo[%zu] is in row %zu, which holds %lld of %lld in ell", k,
             i, static_cast<long long>(row_len[i]), static_cast<long long>(width));
      if (k > 0 && coo_row[k] < coo_row[k - 1])
        fail(errc::bad_structure, "hyb: coo_row[%zu] is %lld after %lld, expected ascending", k,
             static_cast<long long>(coo_row[k]), static_cast<long long>(coo_row[k - 1]));
      bool const goes_on = k > 0 && coo_row[k] == coo_row[k - 1];
      if (!goes_on && width == 0)
        continue;
      I const before =
          goes_on ? coo_col[k - 1] : col[static_cast<std::size_t>(width - 1) * stride + i];
      if (coo_col[k] <= before)
        fail(errc::bad_structure,
             "hyb: coo_col[%zu] is %lld after %lld in row %zu, expected ascending", k,
             static_cast<long long>(coo_col[k]), static_cast<long long>(before), i);
    }
  });
}

template <class V, class I, class O, space S>
csr<V, I, O> hyb_view<V, I, O, S>::to_csr(cpu const& policy) const {
  detail::limited const space("hyb", policy);
  cpu const& where = space.counted();
  auto const lines = static_cast<std::size_t>(rows);
  auto const entries = static_cast<std::size_t>(nnz);
  auto const n = static_cast<std::size_t>(rest);
  csr<V, I, O> c(unchecked, rows, cols, array<O>(lines + 1, where.memory),
                 array<I>(entries, where.memory), array<V>(entries, where.memory));
  // Where a row's entries in coo begin, and with those of ell before it, where it does.
  array<O> const rest_ptr = detail::counting_sort<O>(
      lines, n,
      [&](int part, int parts, auto&& f) {
        for (std::size_t k = split(n, part, parts), end = split(n, part + 1, parts); k < end; ++k)
          f(static_cast<std::size_t>(coo_row[k]));
      },
      [](std::size_t, O const*) {}, where);
  array<O> const first_ptr = detail::pointers_of<O>(
      lines, [&](std::size_t i) { return row_len[i]; }, where);
  for (std::size_t i = 0; i <= lines; ++i)
    c.row_ptr[i] = static_cast<O>(first_ptr[i] + rest_ptr[i]);
  detail::each_entry(regular(), where, [&](std::size_t i, std::size_t s, std::size_t at) {
    std::size_t const k = static_cast<std::size_t>(c.row_ptr[i]) + s;
    c.col[k] = col[at];
    c.val[k] = val[at];
  });
  int const parts = parts_for(n, where.threads);
  parallel(parts, [&](int part) {
    for (std::size_t k = split(n, part, parts), end = split(n, part + 1, parts); k < end; ++k) {
      std::size_t const at =
          static_cast<std::size_t>(first_ptr[static_cast<std::size_t>(coo_row[k]) + 1]) + k;
      c.col[at] = coo_col[k];
      c.val[at] = coo_val[k];
    }
  });
  return c;
}

template <class V, class I, class O>
hyb<V, I, O>::hyb(I rows, I cols, I width, std::size_t stride, array<I> row_len, array<I> col,
                  array<V> val, array<I> coo_row, array<I> coo_col, array<V> coo_val)
    : rows(rows), cols(cols), width(width), stride(stride), row_len(std::move(row_len)),
      col(std::move(col)), val(std::move(val)), coo_row(std::move(coo_row)),
      coo_col(std::move(coo_col)), coo_val(std::move(coo_val)) {
  nnz = hyb_view<V, I, O>(rows, cols, width, stride, this->row_len, this->col, this->val,
                          this->coo_row, this->coo_col, this->coo_val)
            .nnz;
}

template <class V, class I, class O>
void hyb<V, I, O>::validate() const {
  hyb_view<V, I, O> const seen(rows, cols, width, stride, row_len, col, val, coo_row, coo_col,
                               coo_val);
  if (seen.nnz != nnz)
    view().validate(); // says so
}

template <class V, class I, class O>
hyb<V, I, O> hyb<V, I, O>::from_csr(csr_view<V, I, O> a, hyb_options o, cpu const& policy) {
  detail::limited const space("hyb", policy);
  cpu const& where = space.counted();
  detail::check_hyb_options(o);
  detail::canonical<V, I, O> const c(a, where);
  O const* const row_ptr = c.view.row_ptr;
  auto const n = static_cast<std::size_t>(c.view.rows);
  // No width is above that of the longest row, which is an I.
  std::size_t const width =
      o.width == 0 ? detail::width_by_lengths(row_ptr, n, where)
                   : std::min(static_cast<std::size_t>(o.width),
                              static_cast<std::size_t>(detail::longest_row(row_ptr, n, where)));
  detail::rest_parts<O> const parts(row_ptr, n, static_cast<std::size_t>(c.view.nnz), width, where);
  std::size_t const rest = parts.size();
  detail::check_room("hyb", detail::hyb_bytes<V>(n, static_cast<I>(width), rest),
                     detail::bytes_of(c.view), o.limit);
  coo<V, I, O> others(unchecked, a.rows, a.cols, array<I>(rest, where.memory),
                      array<I>(rest, where.memory), array<V>(rest, where.memory));
  parts.each([&](std::size_t i, std::size_t k, std::size_t count, std::size_t at) {
    std::fill_n(others.row.data() + at, count, static_cast<I>(i));
    std::copy_n(c.view.col + k, count, others.col.data() + at);
    std::copy_n(c.view.val + k, count, others.val.data() + at);
  });
  return {unchecked, detail::first_entries(c.view, static_cast<I>(width), where),
          std::move(others)};
}

template <class V, class I, class O>
void hyb<V, I, O>::refill(csr_view<V, I, O> a, cpu const& policy) {
  detail::limited const space("hyb", policy);
  cpu const& where = space.counted();
  detail::check_arrays("hyb", *this);
  std::optional<detail::rest_parts<O>> rest;
  detail::refill_if(
      "hyb", rows, cols, nnz, a, where,
      [&](csr_view<V, I, O> const& c) {
        if (!detail::holds_first_entries(view().regular(), c, where))
          return false;
        rest.emplace(c.row_ptr, static_cast<std::size_t>(rows), static_cast<std::size_t>(nnz),
                     static_cast<std::size_t>(width), where);
        bool good = rest->size() == coo_val.size();
        if (good)
          rest->each([&](std::size_t i, std::size_t k, std::size_t n, std::size_t at) {
            I other = 0; // no branch an entry
            for (std::size_t e = 0; e < n; ++e)
              other |= static_cast<I>((coo_row[at + e] ^ static_cast<I>(i)) |
                                      (coo_col[at + e] ^ c.col[k + e]));
            if (other != 0)
              __atomic_store_n(&good, false, __ATOMIC_RELAXED);
          });
        return good;
      },
      [&](csr_view<V, I, O> const& c) {
        detail::refill_first_entries(view().regular(), c, val.data(), where);
        rest->each([&](std::size_t, std::size_t k, std::size_t n, std::size_t at) {
          std::copy_n(c.val + k, n, coo_val.data() + at);
        });
      });
}

} // namespace tulle

TULLE_INSTANTIATE_FORMAT(hyb, every)

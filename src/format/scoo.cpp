// SPDX-License-Identifier: Apache-2.0
#include "tulle/format/scoo.hpp"

#include "tulle/core/limited.hpp"

#include "format/detail/check_pointers.hpp"
#include "format/detail/refill.hpp"
#include "format/detail/slices.hpp"
#include "format/detail/sort_by_column.hpp"
#include "format/instantiate.hpp"

#include <algorithm>

namespace tulle {

template <class V, class I, class O, space S>
scoo_view<V, I, O, S>::scoo_view(I rows, I cols, int height, std::span<O const> slice_ptr,
                                 std::span<std::uint16_t const> row, std::span<I const> col,
                                 std::span<V const> val) requires(S == space::host)
    : rows(rows), cols(cols), nnz(narrow<O>(val.size(), "number of entries")), height(height),
      slice_ptr(slice_ptr.data()), row(row.data()), col(col.data()), val(val.data()) {
  detail::check_shape("scoo", rows, cols);
  if (height >= 1 && slice_ptr.size() != slices() + 1 && !(rows == 0 && slice_ptr.empty()))
    fail(errc::bad_structure, "scoo: %zu pointers for %zu slices, expected one more",
         slice_ptr.size(), slices());
  if (row.size() != val.size() || col.size() != val.size())
    fail(errc::bad_structure, "scoo: %zu rows, %zu columns, %zu values", row.size(), col.size(),
         val.size());
  validate();
}

template <class V, class I, class O, space S>
void scoo_view<V, I, O, S>::validate() const {
  detail::check_shape("scoo", rows, cols);
  if (height < 1 || height > detail::most_slice_rows)
    fail(errc::bad_structure, "scoo: slices of %d rows, expected 1 to %d", height,
         detail::most_slice_rows);
  auto const n = static_cast<std::size_t>(nnz);
  detail::check_pointers("scoo: slice_ptr", slice_ptr, slices(), nnz);
  detail::check_present("scoo: row", row, n);
  detail::check_indices("scoo: col", col, n, cols);
  detail::check_present("scoo: val", val, n);
  detail::each_slice(*this, {}, [&](std::size_t s) {
    auto const h = static_cast<std::size_t>(height);
    std::size_t const here = std::min(h, static_cast<std::size_t>(rows) - s * h);
    for (O k = slice_ptr[s]; k < slice_ptr[s + 1]; ++k) {
      if (row[k] >= here)
        fail(errc::bad_structure, "scoo: row[%lld] is %d, but slice %zu has %zu rows",
             static_cast<long long>(k), row[k], s, here);
      if (k != slice_ptr[s] &&
          (col[k] < col[k - 1] || (col[k] == col[k - 1] && row[k] <= row[k - 1])))
        fail(errc::bad_structure, "scoo: row %d, column %lld of slice %zu is out of order at %lld",
             row[k], static_cast<long long>(col[k]), s, static_cast<long long>(k));
    }
  });
}

template <class V, class I, class O, space S>
csr<V, I, O> scoo_view<V, I, O, S>::to_csr(cpu const& policy) const {
  detail::limited const space("scoo", policy);
  cpu const& where = space.counted();
  auto const n = static_cast<std::size_t>(rows);
  auto const entries = static_cast<std::size_t>(nnz);
  csr<V, I, O> c(unchecked, rows, cols, array<O>(n + 1, O(0), where.memory),
                 array<I>(entries, where.memory), array<V>(entries, where.memory));
  detail::each_slice(*this, where, [&](std::size_t s) {
    O* const length = c.row_ptr.data() + s * static_cast<std::size_t>(height) + 1;
    for (O k = slice_ptr[s]; k < slice_ptr[s + 1]; ++k)
      ++length[row[k]];
  });
  for (std::size_t i = 0; i < n; ++i)
    c.row_ptr[i + 1] = static_cast<O>(c.row_ptr[i + 1] + c.row_ptr[i]);
  detail::each_slice(*this, where, [&](std::size_t s) {
    detail::walk_slice(*this, s, c.row_ptr.data(), [&](O k, O to) {
      c.col[to] = col[k];
      c.val[to] = val[k];
    });
  });
  return c;
}

template <class V, class I, class O>
scoo<V, I, O> scoo<V, I, O>::from_csr(csr_view<V, I, O> a, scoo_options o, cpu const& policy) {
  detail::limited const space("scoo", policy);
  cpu const& where = space.counted();
  detail::check_slice_rows(o);
  detail::canonical<V, I, O> const canon(a, where);
  csr_view<V, I, O> const& c = canon.view;
  auto const n = static_cast<std::size_t>(c.rows);
  auto const entries = static_cast<std::size_t>(c.nnz);
  auto const h = static_cast<std::size_t>(o.rows);
  scoo b;
  b.rows = c.rows;
  b.cols = c.cols;
  b.height = o.rows;
  std::size_t const slices = b.view().slices();
  b.slice_ptr = array<O>(slices + 1, where.memory);
  b.slice_ptr[0] = 0;
  std::size_t longest = 0;
  for (std::size_t s = 0; s < slices; ++s) {
    b.slice_ptr[s + 1] = c.row_ptr[std::min(n, (s + 1) * h)];
    longest = std::max(longest, static_cast<std::size_t>(b.slice_ptr[s + 1] - b.slice_ptr[s]));
  }
  b.row = array<std::uint16_t>(entries, where.memory);
  b.col = array<I>(entries, where.memory);
  b.val = array<V>(entries, where.memory);
  if (entries == 0)
    return b;
  struct entry {
    V val;
    I col;
    std::uint16_t row;
  };
  int const parts = parts_for(entries, where.threads);
  array<entry> scratch(checked_mul(2 * longest, static_cast<std::size_t>(parts), "scoo"),
                       where.memory);
  parallel(parts, [&](int part) {
    entry* const mine = scratch.data() + 2 * longest * static_cast<std::size_t>(part);
    std::size_t const end = split_by_entries(b.slice_ptr.data(), slices, part + 1, parts);
    for (std::size_t s = split_by_entries(b.slice_ptr.data(), slices, part, parts); s < end; ++s) {
      entry* to = mine;
      I most = 0;
      for (std::size_t i = s * h; i < std::min(n, (s + 1) * h); ++i)
        for (O k = c.row_ptr[i]; k < c.row_ptr[i + 1]; ++k) {
          *to++ = {c.val[k], c.col[k], static_cast<std::uint16_t>(i - s * h)};
          most = std::max(most, c.col[k]);
        }
      entry const* from =
          detail::sort_by_column<O>(mine, mine + longest, static_cast<std::size_t>(to - mine), I(0),
                                    most, [](entry const& e) { return e.col; });
      for (O k = b.slice_ptr[s]; k < b.slice_ptr[s + 1]; ++k, ++from) {
        b.row[k] = from->row;
        b.col[k] = from->col;
        b.val[k] = from->val;
      }
    }
  });
  return b;
}

template <class V, class I, class O>
void scoo<V, I, O>::refill(csr_view<V, I, O> a, cpu const& policy) {
  detail::limited const space("scoo", policy);
  cpu const& where = space.counted();
  detail::check_arrays("scoo", *this);
  scoo_view<V, I, O> const b = view();
  detail::refill_if(
      "scoo", rows, cols, b.nnz, a, where,
      [&](csr_view<V, I, O> const& c) {
        bool good = true;
        detail::each_slice(b, where, [&](std::size_t s) {
          I other = 0; // no branch per entry
          auto const compare = [&, last = static_cast<O>(b.nnz - 1)](O k, O from) {
            other |= static_cast<I>(c.col[std::min(from, last)] ^ b.col[k]);
          };
          if (!detail::walk_slice(b, s, c.row_ptr, compare) || other != 0)
            __atomic_store_n(&good, false, __ATOMIC_RELAXED);
        });
        return good;
      },
      [&](csr_view<V, I, O> const& c) {
        detail::each_slice(b, where, [&](std::size_t s) {
          detail::walk_slice(b, s, c.row_ptr,
                             [to = val.data(), &c](O k, O from) { to[k] = c.val[from]; });
        });
      });
}

} // namespace tulle

TULLE_INSTANTIATE_FORMAT(scoo, every)

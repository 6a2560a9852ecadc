// SPDX-License-Identifier: Apache-2.0
#include "tulle/format/sell.hpp"

#include "tulle/core/limited.hpp"

#include "format/detail/canonical.hpp"
#include "format/detail/check_pointers.hpp"
#include "format/detail/refill.hpp"
#include "format/detail/sell_build.hpp"
#include "format/detail/symmetric.hpp"
#include "format/instantiate.hpp"

namespace tulle {

template <class V, class I, class O, space S>
sell_view<V, I, O, S>::sell_view(I rows, I cols, int chunk, int sigma,
                                 sell_arrays<V, I, O> const& a,
                                 bool symmetric) requires(S == space::host)
    : sell_view(unchecked, rows, cols, O(0), chunk, sigma, a, symmetric) {
  detail::check_shape("sell", rows, cols);
  if (chunk < 1 || chunk > 64 || (chunk & (chunk - 1)) != 0)
    fail(errc::bad_structure, "sell: chunk is %d, expected a power of two up to 64", chunk);
  if (a.long_row.size() > static_cast<std::size_t>(rows))
    fail(errc::bad_structure, "sell: %zu long rows of %lld", a.long_row.size(),
         static_cast<long long>(rows));
  auto const sized = [](char const* name, std::size_t is, std::size_t expected) {
    if (is != expected)
      fail(errc::bad_structure, "sell: %s has %zu elements, expected %zu", name, is, expected);
  };
  std::size_t const n = chunks();
  if (!a.perm.empty() || longs != 0)
    sized("perm", a.perm.size(), places());
  sized("len", a.len.size(), places());
  if (n != 0 || !a.step_ptr.empty())
    sized("step_ptr", a.step_ptr.size(), n + 1);
  sized("kind", a.kind.size(), n);
  sized("col_ptr", a.col_ptr.size(), n);
  sized("base", a.base.size(), n);
  sized("long_col", a.long_col.size(), a.long_val.size());
  if (longs != 0 || !a.long_ptr.empty() || long_nnz != 0)
    sized("long_ptr", a.long_ptr.size(), static_cast<std::size_t>(longs) + 1);
  for (std::size_t const size :
       {a.val.size(), a.col.size(), a.short_col.size(), a.mask.size(), a.long_val.size()})
    narrow<O>(size, "number of entries");
  for (std::size_t p = 0; p < a.len.size() && a.len.data(); ++p)
    if (a.len[p] < 0)
      fail(errc::bad_structure, "sell: len[%zu] is %lld", p, static_cast<long long>(a.len[p]));
  check(true);
}

template <class V, class I, class O, space S>
csr<V, I, O> sell_view<V, I, O, S>::to_csr(cpu const& policy) const {
  detail::limited const space("sell", policy);
  cpu const& where = space.counted();
  auto const n = static_cast<std::size_t>(rows);
  auto const apart = static_cast<std::size_t>(longs);
  auto const wide = static_cast<std::size_t>(chunk);
  csr<V, I, O> c(unchecked, rows, cols, array<O>(n + 1, where.memory), {}, {});
  for (std::size_t p = 0; p < places(); ++p)
    c.row_ptr[static_cast<std::size_t>(row_at(p)) + 1] = static_cast<O>(len[p]);
  for (std::size_t i = 0; i < apart; ++i)
    c.row_ptr[static_cast<std::size_t>(long_row[i]) + 1] =
        static_cast<O>(long_ptr[i + 1] - long_ptr[i]);
  c.row_ptr[0] = 0;
  for (std::size_t i = 0; i < n; ++i)
    c.row_ptr[i + 1] = static_cast<O>(c.row_ptr[i] + c.row_ptr[i + 1]);
  c.col = array<I>(static_cast<std::size_t>(c.row_ptr[n]), where.memory);
  c.val = array<V>(c.col.size(), where.memory);
  int const parts = parts_for(c.col.size() + n, where.threads);
  parallel(parts, [&](int part) {
    if (places() != 0) {
      std::size_t const end = split_by_entries(step_ptr, chunks(), part + 1, parts);
      for (std::size_t b = split_by_entries(step_ptr, chunks(), part, parts); b < end; ++b)
        for (int lane = 0; lane < rows_of(b); ++lane) {
          std::size_t const place = b * wide + static_cast<std::size_t>(lane);
          auto to = static_cast<std::size_t>(c.row_ptr[static_cast<std::size_t>(row_at(place))]);
          entries_of(b, lane, [&](std::size_t p, I j) {
            c.col[to] = j;
            c.val[to++] = val[p];
          });
        }
    }
    if (apart != 0) {
      std::size_t const end = split_by_entries(long_ptr, apart, part + 1, parts);
      for (std::size_t i = split_by_entries(long_ptr, apart, part, parts); i < end; ++i) {
        O const first = c.row_ptr[static_cast<std::size_t>(long_row[i])];
        std::copy(long_col + long_ptr[i], long_col + long_ptr[i + 1], c.col.data() + first);
        std::copy(long_val + long_ptr[i], long_val + long_ptr[i + 1], c.val.data() + first);
      }
    }
  });
  if (symmetric)
    return detail::mirrored(c.view(), where);
  return c;
}

template <class V, class I, class O, space S>
void sell_view<V, I, O, S>::check_chunk(std::size_t c) const {
  auto const wide = static_cast<std::size_t>(chunk);
  auto const here = static_cast<std::size_t>(rows_of(c));
  auto const first = static_cast<std::size_t>(step_ptr[c]);
  std::size_t const width = static_cast<std::size_t>(step_ptr[c + 1]) - first;
  auto const bad = [&](char const* what, std::size_t at) {
    fail(errc::bad_structure, "sell: chunk %zu: %s at %zu", c, what, at);
  };
  // `count` elements from `from` lie in an array of `size`.
  auto const inside = [](auto from, std::size_t count, O size) {
    return from >= 0 && count <= static_cast<std::size_t>(size) &&
           static_cast<std::size_t>(from) <= static_cast<std::size_t>(size) - count;
  };
  int const tag = kind[c] & sell_kind::mask;
  if (kind[c] > (sell_kind::mask | sell_kind::in_order) ||
      (tag >= sell_kind::shared && !(kind[c] & sell_kind::in_order)))
    bad("no such kind", kind[c]);
  if (!perm && !(kind[c] & sell_kind::in_order))
    bad("rows out of order without perm, kind", kind[c]);
  if (kind[c] & sell_kind::in_order)
    for (std::size_t lane = 1; lane < here; ++lane)
      if (row_at(c * wide + lane) != row_at(c * wide + lane - 1) + 1)
        bad("rows are not in order as kind says", lane);
  bool const by_lane = tag == sell_kind::full || tag == sell_kind::shorts;
  if (!inside(col_ptr[c], by_lane ? width * wide : width,
              tag == sell_kind::shorts ? short_size : col_size))
    bad("col_ptr leads outside", static_cast<std::size_t>(col_ptr[c]));
  if (tag == sell_kind::holed && !inside(base[c], width, mask_size))
    bad("base leads outside of mask", static_cast<std::size_t>(base[c]));
  auto const from = static_cast<std::size_t>(col_ptr[c]);
  // In range for all lanes: the kernel reads x for padding too.
  for (std::size_t k = 0; k < width; ++k) {
    for (std::size_t lane = 0; by_lane && lane < wide; ++lane) {
      std::size_t const p = from + k * wide + lane;
      bool const good = tag == sell_kind::full
                            ? col[p] >= 0 && col[p] < cols
                            : base[c] >= 0 && base[c] < cols && short_col[p] < cols - base[c];
      if (!good)
        bad("a column outside of the matrix", p);
    }
    if (!by_lane &&
        ((k > 0 && col[from + k] <= col[from + k - 1]) || col[from + k] < -row_at(c * wide) ||
         wide > static_cast<std::size_t>(cols) ||
         col[from + k] > static_cast<I>(static_cast<std::size_t>(cols) - wide) - row_at(c * wide)))
      bad("an offset out of order or outside of the matrix", from + k);
    if (tag == sell_kind::holed && here < 64 &&
        mask[static_cast<std::size_t>(base[c]) + k] >> here != 0)
      bad("mask has a lane that is not there", k);
  }
  for (std::size_t lane = 0; lane < wide; ++lane) {
    std::size_t n = 0; // entries of the row
    if (lane < here) {
      if (len[c * wide + lane] < 0 || static_cast<std::size_t>(len[c * wide + lane]) > width)
        bad("len outside of the chunk", lane);
      n = static_cast<std::size_t>(len[c * wide + lane]);
    }
    if (tag == sell_kind::shared && n != width)
      bad("a row lacks entries without a mask", lane);
    std::size_t entries = 0;
    for (std::size_t k = 0; k < width; ++k) {
      bool const is_entry =
          tag == sell_kind::holed ? mask[static_cast<std::size_t>(base[c]) + k] >> lane & 1 : k < n;
      if (!is_entry && !(val[(first + k) * wide + lane] == V{}))
        bad("padding is not 0", (first + k) * wide + lane);
      std::size_t const p = from + k * wide + lane;
      if (is_entry && by_lane && k > 0 &&
          !(tag == sell_kind::full ? col[p - wide] < col[p] : short_col[p - wide] < short_col[p]))
        bad("columns do not ascend", p);
      entries += is_entry;
    }
    if (entries != n)
      bad("mask and len differ in lane", lane);
  }
}

template <class V, class I, class O, space S>
std::size_t sell_view<V, I, O, S>::check_lower() const {
  if (rows != cols || longs != 0 || (perm && sigma % chunk != 0))
    fail(errc::bad_structure,
         "sell: symmetric, but %lld x %lld, %lld long rows, or sigma %d in chunks of %d",
         static_cast<long long>(rows), static_cast<long long>(cols), static_cast<long long>(longs),
         sigma, chunk);
  auto const wide = static_cast<std::size_t>(chunk);
  auto const window = static_cast<std::size_t>(sigma);
  std::size_t on = 0;
  for (std::size_t p = 0; p < places(); ++p) {
    I const row = row_at(p);
    std::size_t const c = p / wide;
    if (perm && static_cast<std::size_t>(row) / window != p / window)
      fail(errc::bad_structure, "sell: perm[%zu] is %lld, outside of its window of %d rows", p,
           static_cast<long long>(row), sigma);
    I last = 0; // column
    entries_of(c, static_cast<int>(p % wide), [&](std::size_t, I j) { last = j; });
    on += len[p] > 0 && last == row; // the chunk's last offset may be one that this row lacks
    if ((kind[c] & sell_kind::mask) >= sell_kind::shared && step_ptr[c] != step_ptr[c + 1])
      last = std::max(last,
                      static_cast<I>(row + col[col_ptr[c] + (step_ptr[c + 1] - step_ptr[c]) - 1]));
    if (last > row)
      fail(errc::bad_structure, "sell: row %lld has column %lld, above the diagonal",
           static_cast<long long>(row), static_cast<long long>(last));
  }
  return on;
}

template <class V, class I, class O, space S>
void sell_view<V, I, O, S>::check(bool count) {
  detail::check_shape("sell", rows, cols);
  if (chunk < 1 || chunk > 64 || (chunk & (chunk - 1)) != 0 || sigma < 1)
    fail(errc::bad_structure,
         "sell: chunk is %d and sigma %d, expected a power of two up to 64 "
         "and at least 1",
         chunk, sigma);
  if (longs < 0 || longs > rows || (longs != 0 && !perm && places() != 0))
    fail(errc::bad_structure, "sell: %lld long rows of %lld, or no perm with them",
         static_cast<long long>(longs), static_cast<long long>(rows));
  std::size_t const n = chunks();
  std::size_t const all = places();
  if (char const* const missing = detail::missing_array(*this))
    fail(errc::bad_structure, "sell: %s is null, but the matrix needs it", missing);
  detail::check_pointers("sell: step_ptr", step_ptr, n, static_cast<O>(stored / chunk));
  if (stored % chunk != 0)
    fail(errc::bad_structure, "sell: %lld values in chunks of %d", static_cast<long long>(stored),
         chunk);
  if (perm || longs != 0) {
    detail::check_indices("sell: perm", perm, all, rows);
    detail::check_indices("sell: long_row", long_row, static_cast<std::size_t>(longs), rows);
    array<std::uint8_t> seen(static_cast<std::size_t>(rows), std::uint8_t(0));
    auto const once = [&](char const* name, I r) {
      if (seen[static_cast<std::size_t>(r)]++)
        fail(errc::bad_structure, "sell: %s names row %lld again", name, static_cast<long long>(r));
    };
    for (std::size_t p = 0; p < all; ++p)
      once("perm", perm[p]);
    for (std::size_t i = 0; i < static_cast<std::size_t>(longs); ++i)
      once("long_row", long_row[i]);
  }
  int const parts = parts_for(static_cast<std::size_t>(stored) + all, 0, 1 << 16);
  parallel(parts, [&](int part) {
    for (std::size_t c = split(n, part, parts), e = split(n, part + 1, parts); c < e; ++c)
      check_chunk(c);
  });
  csr_view<V, I, O> const apart(unchecked, longs, cols, long_nnz, long_ptr, long_col, long_val);
  detail::check_pointers("sell: long_ptr", long_ptr, static_cast<std::size_t>(longs), long_nnz);
  detail::check_indices("sell: long_col", long_col, static_cast<std::size_t>(long_nnz), cols);
  if (!apart.is_canonical())
    fail(errc::bad_structure, "sell: long_col does not ascend within a row");
  std::size_t entries = static_cast<std::size_t>(long_nnz);
  for (std::size_t p = 0; p < all; ++p)
    entries += static_cast<std::size_t>(len[p]);
  if (symmetric)
    entries = 2 * entries - check_lower();
  if (count)
    nnz = narrow<O>(entries, "number of entries");
  if (nnz < 0 || entries != static_cast<std::size_t>(nnz))
    fail(errc::bad_structure, "sell: %zu entries, but nnz is %lld", entries,
         static_cast<long long>(nnz));
}

template <class V, class I, class O>
sell<V, I, O> sell<V, I, O>::from_csr(csr_view<V, I, O> a, sell_options o, cpu const& policy) {
  detail::limited const space("sell", policy);
  cpu const& where = space.counted();
  detail::check_sell_options(o);
  detail::canonical<V, I, O> const c(a, where);
  if (o.symmetric) {
    detail::check_symmetric("sell", c.view, where);
    o.split = 0;
  }
  detail::stored_part const kept(c.view, o.symmetric, where);
  detail::sell_builder<V, I, O> builder{kept.view, o, where, {}};
  sell& b = builder.b;
  b.rows = a.rows;
  b.cols = a.cols;
  b.nnz = c.view.nnz;
  b.chunk = o.chunk;
  b.sigma = o.sigma;
  b.symmetric = o.symmetric;
  builder.wide = static_cast<std::size_t>(o.chunk);
  if (a.rows == 0)
    return std::move(b);
  builder.split_rows();
  builder.sort_windows();
  if (builder.chunks != 0) {
    builder.shape_chunks();
    builder.fill_chunks();
  }
  detail::sell_values(b, kept.view, where);
  return std::move(b);
}

template <class V, class I, class O>
void sell<V, I, O>::refill(csr_view<V, I, O> a, cpu const& policy) {
  detail::limited const space("sell", policy);
  cpu const& where = space.counted();
  detail::check_arrays("sell", *this);
  // What is stored, as a matrix of its own.
  auto const refill_part = [&](csr_view<V, I, O> const& part, O entries) {
    detail::refill_if(
        "sell", rows, cols, entries, part, where,
        [&](csr_view<V, I, O> const& c) { return detail::sell_has_columns(*this, c, where); },
        [&](csr_view<V, I, O> const& c) { detail::sell_values(*this, c, where); });
  };
  if (!symmetric)
    return refill_part(a, nnz);
  detail::canonical<V, I, O> const c(a, where);
  if (c.view.rows != rows || c.view.cols != cols || c.view.nnz != nnz)
    detail::refill_mismatch("sell");
  detail::check_symmetric("sell", c.view, where, true);
  detail::stored_part const kept(c.view, true, where);
  refill_part(kept.view, kept.view.nnz);
}

} // namespace tulle

TULLE_INSTANTIATE_FORMAT(sell, every)

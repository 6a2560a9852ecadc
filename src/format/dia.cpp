// SPDX-License-Identifier: Apache-2.0
#include "tulle/format/dia.hpp"

#include "tulle/core/limited.hpp"

#include "format/detail/canonical.hpp"
#include "format/detail/check_room.hpp"
#include "format/detail/dia_convert.hpp"
#include "format/detail/dia_refill.hpp"
#include "format/detail/dia_share.hpp"
#include "format/detail/refill.hpp"
#include "format/detail/symmetric.hpp"
#include "format/instantiate.hpp"

#include <atomic>
#include <bit>

namespace tulle {

template <class V, class I, class O, space S>
dia_view<V, I, O, S>::dia_view(I rows, I cols, std::int32_t block, std::span<I const> diagonal,
                               std::span<O const> block_ptr, std::span<V const> val,
                               std::span<std::uint8_t const> mask, std::span<I const> stray_row,
                               std::span<O const> stray_ptr, std::span<I const> stray_col,
                               std::span<V const> stray_val, bool symmetric,
                               std::span<O const> shared) requires(S == space::host)
    : dia_view(unchecked, rows, cols, 0, block, diagonal, block_ptr.data(), val, mask.data(),
               stray_row, stray_ptr.data(), stray_col, stray_val.data(), symmetric, shared) {
  detail::check_shape("dia", rows, cols);
  if (!detail::is_dia_block(block))
    fail(errc::bad_structure, "dia: block is %d, expected a power of two up to %d", block,
         detail::most_dia_block);
  if (block_ptr.size() != blocks() + 1 && !(rows == 0 && block_ptr.empty()))
    fail(errc::bad_structure, "dia: %zu pointers for %zu blocks, expected one more",
         block_ptr.size(), blocks());
  if (val.size() % static_cast<std::size_t>(block) != 0 || mask.size() != stretches * mask_bytes())
    fail(errc::bad_structure, "dia: %zu values and %zu bytes of mask, for blocks of %d rows",
         val.size(), mask.size(), block);
  if (stray_row.size() + !stray_row.empty() != stray_ptr.size() ||
      stray_col.size() != stray_val.size())
    fail(errc::bad_structure,
         "dia: %zu rows with strays, %zu pointers, %zu columns, %zu values of them",
         stray_row.size(), stray_ptr.size(), stray_col.size(), stray_val.size());
  narrow<I>(diagonal.size(), "number of diagonals");
  narrow<I>(stray_row.size(), "number of rows with strays");
  narrow<O>(stray_col.size(), "number of strays");
  detail::check_present("dia: mask", mask.data(), mask.size());
  check(true);
}

template <class V, class I, class O, space S>
void dia_view<V, I, O, S>::check(bool count) {
  using detail::check_present;
  detail::check_shape("dia", rows, cols);
  if (!detail::is_dia_block(block))
    fail(errc::bad_structure, "dia: block is %d, expected a power of two up to %d", block,
         detail::most_dia_block);
  if (diagonals < 0 || stray_rows < 0 || strays < 0)
    fail(errc::bad_structure,
         "dia: %lld diagonals, %lld rows with %lld strays; none may be negative",
         static_cast<long long>(diagonals), static_cast<long long>(stray_rows),
         static_cast<long long>(strays));
  if (symmetric && rows != cols)
    fail(errc::bad_structure, "dia: symmetric, but there are %lld rows and %lld columns",
         static_cast<long long>(rows), static_cast<long long>(cols));
  detail::dia_grid const g{rows, cols, block};
  auto const n = static_cast<std::size_t>(diagonals);
  check_present("dia: diagonal", diagonal, n);
  for (std::size_t d = 0; d < n; ++d) {
    if (diagonal[d] <= -g.rows || diagonal[d] >= g.cols || rows == 0)
      fail(errc::bad_structure, "dia: diagonal[%zu] is %lld, outside (%lld, %lld)", d,
           static_cast<long long>(diagonal[d]), -static_cast<long long>(rows),
           static_cast<long long>(cols));
    if (d > 0 && diagonal[d] <= diagonal[d - 1])
      fail(errc::bad_structure, "dia: diagonal does not ascend from %lld to %lld at %zu",
           static_cast<long long>(diagonal[d - 1]), static_cast<long long>(diagonal[d]), d);
    if (symmetric && diagonal[d] > 0)
      fail(errc::bad_structure, "dia: diagonal[%zu] is %lld, above the main one of a symmetric dia",
           d, static_cast<long long>(diagonal[d]));
  }
  if (block_ptr == nullptr && rows != 0)
    fail(errc::bad_structure, "dia: block_ptr is null, but there are %zu blocks", g.blocks());
  if (block_ptr && block_ptr[0] != 0)
    fail(errc::bad_structure, "dia: block_ptr[0] is %lld, expected 0",
         static_cast<long long>(block_ptr[0]));
  if (symmetric && shared)
    fail(errc::bad_structure, "dia: symmetric and shared, expected one of them at most");
  std::size_t met = 0; // stretches
  for (std::size_t b = 0; b < g.blocks(); ++b) {
    met += detail::dia_range(g, diagonal, n, b).count;
    if (!std::in_range<O>(met) || block_ptr[b + 1] != static_cast<O>(met))
      fail(errc::bad_structure, "dia: block_ptr[%zu] is %lld, but the diagonals make it %zu", b + 1,
           static_cast<long long>(block_ptr[b + 1]), met);
  }
  std::size_t kept = shared ? 0 : met; // stretches of val
  if (stretches != met && (shared || stored == met * static_cast<std::size_t>(block)))
    fail(errc::bad_structure, "dia: %zu stretches, but the diagonals have %zu", stretches, met);
  for (std::size_t s = 0; shared && s < met; ++s) {
    if (shared[s] < 0 || static_cast<std::size_t>(shared[s]) > kept)
      fail(errc::bad_structure, "dia: shared[%zu] is %lld, expected 0 to %zu", s,
           static_cast<long long>(shared[s]), kept);
    kept += static_cast<std::size_t>(shared[s]) == kept;
  }
  if (stored != kept * static_cast<std::size_t>(block))
    fail(errc::bad_structure, "dia: %zu values, but the diagonals have %zu slots", stored,
         kept * static_cast<std::size_t>(block));
  check_present("dia: val", val, stored);
  check_present("dia: mask", mask, stretches * mask_bytes());
  // Slots: those outside the matrix are holes, and holes are zero.
  int const parts = parts_for(met * static_cast<std::size_t>(block), 0, 1 << 18);
  std::size_t found = static_cast<std::size_t>(strays);
  parallel(parts, [&](int part) {
    std::size_t entries = 0;
    std::size_t const end = split(g.blocks(), part + 1, parts);
    for (std::size_t b = split(g.blocks(), part, parts); b < end; ++b) {
      detail::dia_range const here(g, diagonal, n, b);
      for (std::size_t d = 0; d < here.count; ++d) {
        auto const stretch = static_cast<std::size_t>(block_ptr[b]) + d;
        std::int64_t const o = diagonal[here.first + d];
        for (std::size_t i = 0; i < 8 * mask_bytes(); ++i) {
          bool const is_stored = mask[stretch * mask_bytes() + i / 8] >> i % 8 & 1;
          std::int64_t const row = g.first_row(b) + static_cast<std::int64_t>(i);
          entries += is_stored + (is_stored && symmetric && o != 0);
          if (is_stored && (i >= static_cast<std::size_t>(block) || row >= g.rows || row + o < 0 ||
                            o >= g.cols - row))
            fail(errc::bad_structure,
                 "dia: mask stores a value of diagonal %lld at row %lld, outside the matrix",
                 static_cast<long long>(o), static_cast<long long>(row));
          if (!is_stored && i < static_cast<std::size_t>(block) && !(values(stretch)[i] == V{}))
            fail(errc::bad_structure,
                 "dia: val has something in a hole, diagonal %lld at row %lld; expected 0",
                 static_cast<long long>(o), static_cast<long long>(row));
        }
      }
    }
    std::atomic_ref(found).fetch_add(entries, std::memory_order_relaxed);
  });
  if (count)
    nnz = narrow<O>(found, "number of entries");
  if (nnz < 0 || found != static_cast<std::size_t>(nnz))
    fail(errc::bad_structure, "dia: %zu entries are stored, but nnz is %lld", found,
         static_cast<long long>(nnz));
  detail::check_dia_strays(*this);
}

template <class V, class I, class O, space S>
csr<V, I, O> dia_view<V, I, O, S>::to_csr(cpu const& policy) const {
  detail::limited const space("dia", policy);
  cpu const& where = space.counted();
  auto const n = static_cast<std::size_t>(rows);
  detail::dia_grid const g{rows, cols, block};
  csr<V, I, O> c(unchecked, rows, cols, array<O>(n + 1, where.memory), {}, {});
  int const parts = parts_for(stretches * static_cast<std::size_t>(block) + n, where.threads);
  array<O> before(static_cast<std::size_t>(parts) + 1, where.memory); // entries of parts before
  auto const first_block = [&](int part) { return split(g.blocks(), part, parts); };
  auto const first_stray = [&](std::size_t b) {
    return static_cast<std::size_t>(
        std::lower_bound(stray_row, stray_row + stray_rows, g.first_row(b)) - stray_row);
  };
  auto const is_stored = [&](std::size_t stretch, std::size_t i) {
    return mask[stretch * mask_bytes() + i / 8] >> i % 8 & 1;
  };

  // How many entries each part has; where rows begin is known when they are written.
  c.row_ptr[0] = before[0] = 0;
  parallel(parts, [&](int part) {
    std::size_t const b = first_block(part);
    std::size_t const end = first_block(part + 1);
    std::size_t count = 0;
    if (b != end)
      for (std::size_t m = static_cast<std::size_t>(block_ptr[b]) * mask_bytes();
           m < static_cast<std::size_t>(block_ptr[end]) * mask_bytes(); ++m)
        count += static_cast<std::size_t>(std::popcount(mask[m]));
    if (strays != 0)
      count += static_cast<std::size_t>(stray_ptr[first_stray(end)] - stray_ptr[first_stray(b)]);
    before[static_cast<std::size_t>(part) + 1] = static_cast<O>(count);
  });
  for (std::size_t p = 0; p < static_cast<std::size_t>(parts); ++p)
    before[p + 1] = static_cast<O>(before[p] + before[p + 1]);
  c.col = array<I>(static_cast<std::size_t>(before.back()), where.memory);
  c.val = array<V>(c.col.size(), where.memory);

  parallel(parts, [&](int part) {
    std::size_t s = first_stray(first_block(part));
    auto at = static_cast<std::size_t>(before[static_cast<std::size_t>(part)]);
    for (std::size_t b = first_block(part); b < first_block(part + 1); ++b) {
      detail::dia_range const here(g, diagonal, static_cast<std::size_t>(diagonals), b);
      auto const first = static_cast<std::size_t>(block_ptr[b]);
      for (std::int64_t row = g.first_row(b); row <= g.last_row(b); ++row) {
        auto const i = static_cast<std::size_t>(row - g.first_row(b));
        O k = 0; // strays of the row that are left
        O end = 0;
        if (s < static_cast<std::size_t>(stray_rows) && stray_row[s] == row) {
          k = stray_ptr[s];
          end = stray_ptr[++s];
        }
        auto const strays_before = [&](std::int64_t column) {
          for (; k < end && stray_col[k] < column; ++k, ++at) {
            c.col[at] = stray_col[k];
            c.val[at] = stray_val[k];
          }
        };
        for (std::size_t d = 0; d < here.count; ++d)
          if (is_stored(first + d, i)) {
            auto const column = static_cast<I>(row + diagonal[here.first + d]);
            strays_before(column);
            c.col[at] = column;
            c.val[at++] = values(first + d)[i];
          }
        strays_before(g.cols);
        c.row_ptr[static_cast<std::size_t>(row) + 1] = static_cast<O>(at);
      }
    }
  });
  if (!symmetric)
    return c;
  c = detail::lower_triangle(c.view(), where); // without half of the strays
  return detail::mirrored(c.view(), where);
}

template <class V, class I, class O>
dia<V, I, O>::dia(I rows, I cols, std::int32_t block, array<I> diagonal, array<O> block_ptr,
                  array<V> val, array<std::uint8_t> mask, array<I> stray_row, array<O> stray_ptr,
                  array<I> stray_col, array<V> stray_val, bool symmetric, array<O> shared)
    : rows(rows), cols(cols), block(block), symmetric(symmetric), diagonal(std::move(diagonal)),
      block_ptr(std::move(block_ptr)), val(std::move(val)), mask(std::move(mask)),
      shared(std::move(shared)), stray_row(std::move(stray_row)), stray_ptr(std::move(stray_ptr)),
      stray_col(std::move(stray_col)), stray_val(std::move(stray_val)) {
  nnz = checked().nnz;
}

template <class V, class I, class O>
void dia<V, I, O>::validate() const {
  if (O const found = checked().nnz; found != nnz)
    fail(errc::bad_structure, "dia: %lld entries are stored, but nnz is %lld",
         static_cast<long long>(found), static_cast<long long>(nnz));
}

template <class V, class I, class O>
dia<V, I, O> dia<V, I, O>::from_csr(csr_view<V, I, O> a, dia_options o, cpu const& policy) {
  detail::limited const space("dia", policy);
  cpu const& where = space.counted();
  detail::check_dia_options(o);
  detail::canonical<V, I, O> const c(a, where);
  if (o.symmetric)
    detail::check_symmetric("dia", c.view, where);
  detail::dia_grid const g{a.rows, a.cols, o.block};
  auto const n = static_cast<std::size_t>(a.rows);
  auto const block = static_cast<std::size_t>(o.block);
  detail::dia_choice<I> chosen(c.view, g, o.fill, o.symmetric, where);
  std::size_t const strays = static_cast<std::size_t>(c.view.nnz) - chosen.entries;

  double stretches = 0;
  for (I const d : chosen.diagonal)
    stretches += static_cast<double>(g.end_block(d) - g.first_block(d));
  detail::check_room("dia",
                     detail::dia_bytes<V, I, O>(g, chosen.diagonal.size(), stretches, strays),
                     detail::bytes_of(c.view), o.limit);

  dia m;
  m.rows = a.rows;
  m.cols = a.cols;
  m.nnz = c.view.nnz;
  m.block = o.block;
  m.symmetric = o.symmetric;
  m.diagonal = std::move(chosen.diagonal);
  m.block_ptr = array<O>(g.blocks() + 1, where.memory);
  std::size_t sum = 0;
  m.block_ptr[0] = 0;
  for (std::size_t b = 0; b < g.blocks(); ++b) {
    sum += detail::dia_range(g, m.diagonal.data(), m.diagonal.size(), b).count;
    m.block_ptr[b + 1] = narrow<O>(sum, "number of stretches of diagonals");
  }
  m.val = array<V>(checked_mul(sum, block, "dia"), where.memory);
  m.mask = array<std::uint8_t>(sum * ((block + 7) / 8), where.memory);

  int const parts =
      parts_for(m.val.size() + static_cast<std::size_t>(c.view.nnz) + n, where.threads);
  array<detail::dia_strays> at(static_cast<std::size_t>(parts) + 1, {}, where.memory);
  auto const part_of = [&](int part) { return detail::dia_part(g, c.view.row_ptr, part, parts); };
  if (strays != 0) {
    parallel(parts, [&](int part) {
      detail::dia_strays mine;
      auto const nothing = [](std::size_t, std::size_t) {};
      detail::dia_runs(
          c.view, g, m.diagonal, part_of(part), part_of(part + 1), [&](detail::dia_run const& r) {
            std::size_t const others = detail::dia_sort(r, c.view.col, m, nothing, nothing);
            mine.row += others != 0 ? r.rows : 0;
            mine.entry += others * r.rows;
          });
      at[static_cast<std::size_t>(part) + 1] = mine;
    });
    for (std::size_t p = 0; p < static_cast<std::size_t>(parts); ++p) {
      at[p + 1].row += at[p].row;
      at[p + 1].entry += at[p].entry;
    }
    m.stray_row = array<I>(at.back().row, where.memory);
    m.stray_ptr = array<O>(at.back().row + 1, where.memory);
    m.stray_col = array<I>(strays, where.memory);
    m.stray_val = array<V>(strays, where.memory);
    m.stray_ptr[at.back().row] = static_cast<O>(strays);
  }
  parallel(parts, [&](int part) {
    detail::dia_fill(c.view, g, m, at[static_cast<std::size_t>(part)], part_of(part),
                     part_of(part + 1));
  });
  if (o.shared)
    detail::dia_share(m, where);
  return m;
}

template <class V, class I, class O>
void dia<V, I, O>::refill(csr_view<V, I, O> a, cpu const& policy) {
  detail::limited const space("dia", policy);
  cpu const& where = space.counted();
  detail::check_arrays("dia", *this);
  detail::dia_grid const g{rows, cols, block};
  int const parts = parts_for(static_cast<std::size_t>(nnz), where.threads);
  auto const each_part = [&](csr_view<V, I, O> const& c, auto&& f) {
    parallel(parts, [&](int part) {
      f(detail::dia_part(g, c.row_ptr, part, parts),
        detail::dia_part(g, c.row_ptr, part + 1, parts));
    });
  };
  auto const is = [&](csr_view<V, I, O> const& c) {
    bool good = true; // as many entries, all of them stored or mirrored: the same
    each_part(c, [&](std::size_t b, std::size_t end) {
      if (!detail::dia_holds(c, g, *this, b, end))
        __atomic_store_n(&good, false, __ATOMIC_RELAXED);
    });
    return good;
  };
  auto const fill_to = [&](csr_view<V, I, O> const& c, array<V>& all, array<V>& strays) {
    each_part(c, [&](std::size_t b, std::size_t end) {
      detail::dia_refill(c, g, *this, all.data(), strays.data(), b, end);
    });
  };
  auto const fill = [&](csr_view<V, I, O> const& c) {
    if (shared.empty())
      return fill_to(c, val, stray_val);
    // Of other values, others are the same. Made beside the old ones, which stay if that fails.
    auto const slots = static_cast<std::size_t>(block);
    array<V> all(checked_mul(shared.size(), slots, "dia"), V{}, where.memory);
    array<V> strays(stray_val.size(), where.memory);
    array<O> which;
    fill_to(c, all, strays);
    detail::dia_share(all, which, slots, where);
    val = std::move(all);
    shared = std::move(which);
    stray_val = std::move(strays);
  };
  if (!symmetric)
    return detail::refill_if("dia", rows, cols, nnz, a, where, is, fill);
  detail::canonical<V, I, O> const c(a, where);
  if (c.view.rows != rows || c.view.cols != cols || c.view.nnz != nnz)
    detail::refill_mismatch("dia");
  detail::check_symmetric("dia", c.view, where, true);
  if (!is(c.view))
    detail::refill_mismatch("dia");
  fill(c.view);
}

} // namespace tulle

TULLE_INSTANTIATE_FORMAT(dia, every)

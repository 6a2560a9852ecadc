// SPDX-License-Identifier: Apache-2.0

/// Entries of csr to the sections of jds, jds_csr and jds_ell, and back.
#pragma once
#include "tulle/format/detail/jds_base.hpp"

#include "format/detail/copy.hpp"
#include "format/detail/refill.hpp"
#include "format/detail/row_lengths.hpp"

#include <algorithm>

namespace tulle::detail {

/// The section that has a place.
template <class I>
std::size_t section_of(I const* place_ptr, std::size_t sections, std::size_t place) {
  I const* const end = place_ptr + sections + 1;
  return static_cast<std::size_t>(std::upper_bound(place_ptr, end, static_cast<I>(place)) -
                                  place_ptr) -
         1;
}

// Rows that are converted together, entry by entry, as in ell.
constexpr std::size_t jds_strip = 256;

/// f(section, r, n) for rows r to r + n of a section, n up to jds_strip, in parallel.
template <class View, class F>
void jds_strips(View const& v, cpu const& where, F&& f) {
  auto const first = static_cast<std::size_t>(v.longs);
  auto const rows = static_cast<std::size_t>(v.rows);
  std::size_t const strips = (rows - first + jds_strip - 1) / jds_strip;
  int const parts = parts_for(static_cast<std::size_t>(v.stored) + rows, where.threads);
  parallel_each(strips, parts, [&](std::size_t t, int) { // the longest rows come first
    std::size_t p = first + t * jds_strip;
    std::size_t const end = std::min(rows, p + jds_strip);
    for (std::size_t s = v.section_of(p); p < end; ++s) {
      auto const section = v.section(s);
      std::size_t const stop = std::min(end, section.first + section.rows);
      f(section, p - section.first, stop - p);
      p = stop;
    }
  });
}

/// f(q, k, at) for slot k of row r + q of the section, which is at `at`, step by step.
template <class Section, class F>
void each_step(Section const& section, std::size_t r, std::size_t n, F&& f) {
  for (std::size_t k = 0; k < section.width && section.count(k) > r; ++k) {
    std::size_t const at = section.start(k) + r;
    std::size_t const here = std::min(n, section.count(k) - r);
    for (std::size_t q = 0; q < here; ++q)
      f(q, k, at + q);
  }
}

/// f(row, at, n) for each row that is kept apart, whose n entries begin at `at` of coo: those of
/// rows with length(row) entries. In parallel.
template <class View, class Length, class F>
void jds_long_rows(View const& v, Length const& length, cpu const& where, F&& f) {
  auto const longs = static_cast<std::size_t>(v.longs);
  if (longs == 0)
    return;
  using O = typename View::offset;
  auto const row = [&](std::size_t j) { return static_cast<std::size_t>(v.perm[j]); };
  array<O> const ptr = pointers_of<O>(
      longs, [&](std::size_t j) { return length(row(j)); }, where);
  int const parts = parts_for(static_cast<std::size_t>(v.rest), where.threads);
  parallel(parts, [&](int part) {
    std::size_t const end = split_by_entries(ptr.data(), longs, part + 1, parts);
    for (std::size_t j = split_by_entries(ptr.data(), longs, part, parts); j < end; ++j)
      f(row(j), static_cast<std::size_t>(ptr[j]), static_cast<std::size_t>(ptr[j + 1] - ptr[j]));
  });
}

/// The entries of each row of a, from row_ptr[i] on, at the places of a strip.
template <class View, class V, class I, class O>
struct strip_rows_of {
  O from[jds_strip];
  strip_rows_of(View const& v, csr_view<V, I, O> const& a, std::size_t place, std::size_t n) {
    for (std::size_t q = 0; q < n; ++q)
      from[q] = a.row_ptr[v.perm[place + q]];
  }
};

/// The values of a, which has the pattern of b.
template <class Owner, class V, class I, class O>
void jds_values(Owner& b, csr_view<V, I, O> const& a, cpu const& where) {
  auto const v = b.view();
  // First, since it is what allocates.
  jds_long_rows(
      v, [&](std::size_t i) { return a.row_ptr[i + 1] - a.row_ptr[i]; }, where,
      [&](std::size_t i, std::size_t at, std::size_t n) {
        std::copy_n(a.val + a.row_ptr[i], n, b.coo_val.data() + at);
      });
  jds_strips(v, where, [&, val = b.val.data()](auto const& s, std::size_t r, std::size_t n) {
    strip_rows_of const rows(v, a, s.first + r, n);
    each_step(s, r, n, [&](std::size_t q, std::size_t k, std::size_t at) {
      if (s.has(r + q, k))
        val[at] = a.val[rows.from[q] + static_cast<O>(k)];
    });
  });
}

/// Columns, padding, what is kept apart and values of b, whose sections are known, from a.
template <class Owner, class V, class I, class O>
void jds_fill(Owner& b, csr_view<V, I, O> const& a, cpu const& where) {
  auto const v = b.view();
  jds_strips(v, where, [&, col = b.col.data()](auto const& s, std::size_t r, std::size_t n) {
    strip_rows_of const rows(v, a, s.first + r, n);
    each_step(s, r, n, [&](std::size_t q, std::size_t k, std::size_t at) {
      if (s.has(r + q, k)) {
        col[at] = a.col[rows.from[q] + static_cast<O>(k)];
      } else { // the row's last again, as in ell
        col[at] = k == 0 ? I(0) : col[at - s.rows];
        b.val[at] = V{};
      }
    });
  });
  jds_long_rows(
      v, [&](std::size_t i) { return a.row_ptr[i + 1] - a.row_ptr[i]; }, where,
      [&](std::size_t i, std::size_t at, std::size_t n) {
        std::fill_n(b.coo_row.data() + at, n, static_cast<I>(i));
        std::copy_n(a.col + a.row_ptr[i], n, b.coo_col.data() + at);
      });
  jds_values(b, a, where);
}

/// Whether the columns of v are those of a, which has its shape and as many entries.
template <class View, class V, class I, class O>
bool jds_has_columns(View const& v, csr_view<V, I, O> const& a, cpu const& where) {
  bool good = true;
  auto const differs = [&] { __atomic_store_n(&good, false, __ATOMIC_RELAXED); };
  auto const length = [&](std::size_t i) {
    return static_cast<std::size_t>(a.row_ptr[i + 1] - a.row_ptr[i]);
  };
  jds_strips(v, where, [&](auto const& s, std::size_t r, std::size_t n) {
    for (std::size_t q = 0; q < n; ++q)
      if (length(static_cast<std::size_t>(v.perm[s.first + r + q])) != s.length(r + q))
        return differs();
    strip_rows_of const rows(v, a, s.first + r, n);
    I other = 0; // no branch per entry
    each_step(s, r, n, [&](std::size_t q, std::size_t k, std::size_t at) {
      if (s.has(r + q, k))
        other |= static_cast<I>(v.col[at] ^ a.col[rows.from[q] + static_cast<O>(k)]);
    });
    if (other != 0)
      differs();
  });
  std::size_t entries = 0;
  for (std::size_t j = 0; j < static_cast<std::size_t>(v.longs); ++j)
    entries += length(static_cast<std::size_t>(v.perm[j]));
  if (!good || entries != static_cast<std::size_t>(v.rest))
    return false;
  jds_long_rows(v, length, where, [&](std::size_t i, std::size_t at, std::size_t n) {
    // coo_row ascends, so that its ends say what lies between them.
    if (n == 0 || v.coo_row[at] != static_cast<I>(i) ||
        v.coo_row[at + n - 1] != static_cast<I>(i) ||
        !same(v.coo_col + at, a.col + a.row_ptr[i], n))
      differs();
  });
  return good;
}

/// New values for b from a, which has its pattern or is refused.
template <class Owner, class V, class I, class O>
void jds_refill(char const* format, Owner& b, csr_view<V, I, O> const& a, cpu const& where) {
  refill_if(
      format, b.rows, b.cols, b.nnz, a, where,
      [&](csr_view<V, I, O> const& c) { return jds_has_columns(b.view(), c, where); },
      [&](csr_view<V, I, O> const& c) { jds_values(b, c, where); });
}

template <class View>
auto jds_to_csr(View const& v, cpu const& where) {
  using V = typename View::value;
  using I = typename View::index;
  using O = typename View::offset;
  auto const n = static_cast<std::size_t>(v.rows);
  auto const entries = static_cast<std::size_t>(v.nnz);
  array<I> len(n, where.memory); // of each row
  jds_strips(v, where, [&](auto const& s, std::size_t r, std::size_t here) {
    for (std::size_t q = r; q < r + here; ++q)
      len[static_cast<std::size_t>(v.perm[s.first + q])] = static_cast<I>(s.length(q));
  });
  for (std::size_t j = 0; j < static_cast<std::size_t>(v.longs); ++j) {
    auto const [begin, end] = std::equal_range(v.coo_row, v.coo_row + v.rest, v.perm[j]);
    len[static_cast<std::size_t>(v.perm[j])] = static_cast<I>(end - begin);
  }
  auto const length = [&](std::size_t i) { return len[i]; };
  csr<V, I, O> c(unchecked, v.rows, v.cols, pointers_of<O>(n, length, where),
                 array<I>(entries, where.memory), array<V>(entries, where.memory));
  jds_strips(v, where, [&](auto const& s, std::size_t r, std::size_t here) {
    strip_rows_of const rows(v, c.view(), s.first + r, here);
    each_step(s, r, here, [&](std::size_t q, std::size_t k, std::size_t at) {
      if (s.has(r + q, k)) {
        c.col[static_cast<std::size_t>(rows.from[q]) + k] = v.col[at];
        c.val[static_cast<std::size_t>(rows.from[q]) + k] = v.val[at];
      }
    });
  });
  jds_long_rows(v, length, where, [&](std::size_t i, std::size_t at, std::size_t count) {
    std::copy_n(v.coo_col + at, count, c.col.data() + c.row_ptr[i]);
    std::copy_n(v.coo_val + at, count, c.val.data() + c.row_ptr[i]);
  });
  return c;
}

} // namespace tulle::detail

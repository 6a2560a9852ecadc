// SPDX-License-Identifier: Apache-2.0

/// The invariants that jds, jds_csr and jds_ell share.
#pragma once
#include "format/detail/check_pointers.hpp"
#include "format/detail/jds_convert.hpp"
#include "format/detail/label.hpp"

namespace tulle::detail {

/// Arrays that a caller gives have sizes that fit.
template <class V, class I, class O>
void check_jds_sizes(char const* format, I rows, I cols, jds_arrays<V, I, O> const& a) {
  check_shape(format, rows, cols);
  auto const sized = [&](char const* name, std::size_t is, std::size_t expected) {
    if (is != expected)
      fail(errc::bad_structure, "%s: %s has %zu elements, expected %zu", format, name, is,
           expected);
  };
  sized("perm", a.perm.size(), static_cast<std::size_t>(rows));
  sized("col", a.col.size(), a.val.size());
  sized("coo_row", a.coo_row.size(), a.coo_val.size());
  sized("coo_col", a.coo_col.size(), a.coo_val.size());
  narrow<O>(a.val.size(), "number of entries with padding");
  narrow<O>(a.coo_val.size(), "number of entries in coo");
}

/// What the arrays of every format in the family need before anything is read by them.
template <class View>
void check_jds_shape(char const* format, View const& v) {
  check_shape(format, v.rows, v.cols);
  if (v.longs < 0 || v.longs > v.rows)
    fail(errc::bad_structure, "%s: %lld long rows of %lld", format, static_cast<long long>(v.longs),
         static_cast<long long>(v.rows));
  if (v.nnz < 0 || v.stored < 0 || v.rest < 0)
    fail(errc::bad_structure, "%s: %lld entries, %lld stored, %lld in coo", format,
         static_cast<long long>(v.nnz), static_cast<long long>(v.stored),
         static_cast<long long>(v.rest));
  if (char const* const missing = missing_array(v))
    fail(errc::bad_structure, "%s: %s is null, but the matrix needs it", format, missing);
}

/// Sections take all places from the first that is not kept apart, and none is empty.
template <class I>
void check_places(char const* format, I const* place_ptr, std::size_t sections, I longs, I rows) {
  if ((sections == 0) != (longs == rows) ||
      (sections != 0 && (place_ptr[0] != longs || place_ptr[sections] != rows)))
    fail(errc::bad_structure, "%s: %zu sections do not reach from place %lld to %lld", format,
         sections, static_cast<long long>(longs), static_cast<long long>(rows));
  for (std::size_t s = 0; s < sections; ++s)
    if (place_ptr[s + 1] <= place_ptr[s])
      fail(errc::bad_structure, "%s: place_ptr[%zu] is %lld after %lld, expected ascending", format,
           s + 1, static_cast<long long>(place_ptr[s + 1]), static_cast<long long>(place_ptr[s]));
}

template <class O>
void check_section(char const* format, jagged_section<O> const& s) {
  std::size_t before = s.rows;
  for (std::size_t k = 0; k < s.width; ++k) {
    if (s.count(k) == 0 || s.count(k) > before)
      fail(errc::bad_structure, "%s: diagonal %zu from place %zu on has %zu rows after %zu", format,
           k, s.first, s.count(k), before);
    before = s.count(k);
  }
}

template <class I>
void check_section(char const* format, padded_section<I> const& s) {
  for (std::size_t r = 0; r < s.rows; ++r)
    if (s.len[r] < 0 || s.length(r) > s.width)
      fail(errc::bad_structure, "%s: len[%zu] is %lld, outside [0, %zu]", format, s.first + r,
           static_cast<long long>(s.len[r]), s.width);
}

/// The coo of the rows that are kept apart: each has entries, in order.
template <class View>
void check_long_rows(char const* format, View const& v) {
  auto const n = static_cast<std::size_t>(v.rest);
  std::size_t rows = 0; // that have begun
  for (std::size_t k = 0; k < n; ++k) {
    bool const goes_on = k > 0 && v.coo_row[k] == v.coo_row[k - 1];
    rows += !goes_on;
    if (rows > static_cast<std::size_t>(v.longs) || v.coo_row[k] != v.perm[rows - 1])
      fail(errc::bad_structure, "%s: coo_row[%zu] is %lld, not a long row in the order of perm",
           format, k, static_cast<long long>(v.coo_row[k]));
    if (goes_on && v.coo_col[k] <= v.coo_col[k - 1])
      fail(errc::bad_structure, "%s: coo_col[%zu] is %lld after %lld in row %lld", format, k,
           static_cast<long long>(v.coo_col[k]), static_cast<long long>(v.coo_col[k - 1]),
           static_cast<long long>(v.coo_row[k]));
    if (!goes_on && rows > 1 && v.coo_row[k] < v.coo_row[k - 1])
      fail(errc::bad_structure, "%s: coo_row[%zu] is %lld after %lld, expected ascending", format,
           k, static_cast<long long>(v.coo_row[k]), static_cast<long long>(v.coo_row[k - 1]));
  }
  if (rows != static_cast<std::size_t>(v.longs))
    fail(errc::bad_structure, "%s: %zu rows in coo, expected %lld", format, rows,
         static_cast<long long>(v.longs));
}

/// perm names each of the rows once.
template <class I>
void check_perm(char const* format, I const* perm, I rows) {
  auto const n = static_cast<std::size_t>(rows);
  check_indices(label(format, "perm"), perm, n, rows);
  array<std::uint8_t> seen(n, std::uint8_t(0));
  for (std::size_t p = 0; p < n; ++p)
    if (seen[static_cast<std::size_t>(perm[p])]++)
      fail(errc::bad_structure, "%s: perm[%zu] names row %lld again", format, p,
           static_cast<long long>(perm[p]));
}

/// Every invariant, where the format's own pointers are known to be good.
template <class View>
void check_jds(char const* format, View const& v) {
  check_indices(label(format, "col"), v.col, static_cast<std::size_t>(v.stored), v.cols);
  check_indices(label(format, "coo_col"), v.coo_col, static_cast<std::size_t>(v.rest), v.cols);
  check_perm(format, v.perm, v.rows);
  check_long_rows(format, v);
  for (std::size_t s = 0; s < v.sections(); ++s)
    check_section(format, v.section(s));
  std::size_t entries = static_cast<std::size_t>(v.rest);
  jds_strips(v, {}, [&](auto const& s, std::size_t r, std::size_t n) {
    std::size_t here = 0;
    each_step(s, r, n, [&](std::size_t q, std::size_t k, std::size_t at) {
      if (!s.has(r + q, k)) {
        if (!(v.val[at] == 0))
          fail(errc::bad_structure, "%s: val[%zu] is padding and not 0", format, at);
        return;
      }
      ++here;
      std::size_t const last = k == 0 ? at : s.start(k - 1) + r + q;
      if (k > 0 && v.col[at] <= v.col[last])
        fail(errc::bad_structure, "%s: col[%zu] is %lld after %lld in row %lld", format, at,
             static_cast<long long>(v.col[at]), static_cast<long long>(v.col[last]),
             static_cast<long long>(v.perm[s.first + r + q]));
    });
    __atomic_fetch_add(&entries, here, __ATOMIC_RELAXED);
  });
  if (std::cmp_not_equal(entries, v.nnz))
    fail(errc::bad_structure, "%s: %zu entries, but nnz is %lld", format, entries,
         static_cast<long long>(v.nnz));
}

} // namespace tulle::detail

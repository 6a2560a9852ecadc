// SPDX-License-Identifier: Apache-2.0

// What spmm asks of B and C before any work: shapes, strides, overlap.
#pragma once
#include "tulle/core/narrow.hpp"
#include "tulle/view/dense.hpp"

#include "op/operands.hpp"

#include <cstdint>

namespace tulle::detail {

/// Bytes from the first place to behind the last; 0 where there is none. errc::overflow.
inline std::size_t extent(char const* op, char const* what, dense_ref const& d, std::size_t each) {
  if (d.rows == 0 || d.cols == 0)
    return 0;
  std::size_t const down = checked_mul(d.rows - 1, d.row_stride, op);
  std::size_t const across = checked_mul(d.cols - 1, d.col_stride, op);
  if (down > SIZE_MAX - 1 - across)
    fail(errc::overflow, "%s: the places of %s do not fit 64 bits", op, what);
  return checked_mul(down + across + 1, each, op);
}

/// Whether two places of d are one.
inline bool shares_places(dense_ref const& d) {
  if (d.rows == 0 || d.cols == 0)
    return false;
  if ((d.rows > 1 && d.row_stride == 0) || (d.cols > 1 && d.col_stride == 0))
    return true;
  return d.rows > 1 && d.cols > 1 && d.row_stride <= (d.cols - 1) * d.col_stride &&
         d.col_stride <= (d.rows - 1) * d.row_stride;
}

/// Whether a place of b is one of c, neither of which shares places. Columns of one array have
/// extents that overlap, and no such place: that is told where strides are the same.
inline bool meet(dense_ref const& b, std::size_t b_bytes, dense_ref const& c, std::size_t c_bytes,
                 std::size_t each) {
  if (b_bytes == 0 || c_bytes == 0 || !overlap(b.data, b_bytes, c.data, c_bytes))
    return false;
  std::intptr_t const bytes = static_cast<char*>(c.data) - static_cast<char*>(b.data);
  auto const size = static_cast<std::intptr_t>(each);
  if (b.row_stride != c.row_stride || b.col_stride != c.col_stride || bytes % size != 0)
    return true;
  bool const by_rows = b.row_stride >= b.col_stride;
  auto const line = static_cast<std::intptr_t>(by_rows ? b.row_stride : b.col_stride);
  auto const step = static_cast<std::intptr_t>(by_rows ? b.col_stride : b.row_stride);
  auto const b_steps = static_cast<std::intptr_t>(by_rows ? b.cols : b.rows);
  auto const c_steps = static_cast<std::intptr_t>(by_rows ? c.cols : c.rows);
  if (step == 0 || (b_steps - 1) * step >= line || (c_steps - 1) * step >= line)
    return true;
  // A place of c is one of b if so many steps further in a line of b there is one; lines of c may
  // begin anywhere between those of b.
  std::intptr_t const apart = bytes / size % line;
  for (std::intptr_t const further : {apart - line, apart, apart + line})
    if (further % step == 0 && further / step < b_steps && -further / step < c_steps)
      return true;
  return false;
}

/// Whether C has no room in the caches, and is better written past them.
inline bool passes_cache_by(dense_ref const& c, std::size_t each) {
  std::size_t const cache = machine::here().l3 ? machine::here().l3 : std::size_t{16} << 20;
  return c.rows * c.cols * each > cache;
}

/// A takes B of so many rows, and C has so many; elements have that many bytes. Returns C's extent.
inline std::size_t check_dense(char const* op, bool transposed, std::size_t rows, std::size_t cols,
                               std::size_t each, dense_ref const& b, dense_ref const& c) {
  std::size_t const in = transposed ? rows : cols, out = transposed ? cols : rows;
  if (b.rows != in)
    fail(errc::shape_mismatch, "%s: B has %zu rows but A has %zu %s", op, b.rows, in,
         transposed ? "rows" : "columns");
  if (c.rows != out)
    fail(errc::shape_mismatch, "%s: C has %zu rows but A has %zu %s", op, c.rows, out,
         transposed ? "columns" : "rows");
  if (b.cols != c.cols)
    fail(errc::shape_mismatch, "%s: B has %zu columns but C has %zu", op, b.cols, c.cols);
  std::size_t const b_bytes = extent(op, "B", b, each), c_bytes = extent(op, "C", c, each);
  if (b_bytes != 0 && !b.data)
    fail(errc::bad_structure, "%s: B is null but is %zu x %zu", op, b.rows, b.cols);
  if (c_bytes != 0 && !c.data)
    fail(errc::bad_structure, "%s: C is null but is %zu x %zu", op, c.rows, c.cols);
  if (shares_places(c))
    fail(errc::bad_structure, "%s: C has strides %zu and %zu, so that places of it are shared", op,
         c.row_stride, c.col_stride);
  if (meet(b, b_bytes, c, c_bytes, each))
    fail(errc::bad_structure, "%s: B and C overlap", op);
  return c_bytes;
}

} // namespace tulle::detail

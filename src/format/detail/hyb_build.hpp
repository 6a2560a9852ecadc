// SPDX-License-Identifier: Apache-2.0

/// The entries of hyb beyond the width of its ell, and the choice of that width.
#pragma once
#include "tulle/format/hyb.hpp"

#include "format/detail/ell_build.hpp"

#include <algorithm>

namespace tulle::detail {

inline void check_hyb_options(hyb_options const& o) {
  check_limit("hyb", o.limit);
  if (o.width < 0)
    fail(errc::unsupported, "hyb: option width is %d, expected 0 or more", o.width);
}

/// The bytes of an ell of that width and so many entries beside it.
template <class V, class I>
double hyb_bytes(std::size_t rows, I width, std::size_t rest) {
  return ell_bytes<V>(rows, width) +
         static_cast<double>(rest) * static_cast<double>(sizeof(V) + 2 * sizeof(I));
}

/// The largest width that a third of the rows reach. So many rows of so many entries are nnz at
/// most: the histogram ends there, however long the longest row is.
template <class O>
std::size_t width_by_lengths(O const* row_ptr, std::size_t rows, cpu const& where) {
  if (rows == 0)
    return 0;
  std::size_t const third = (rows + 2) / 3;
  std::size_t const most = static_cast<std::size_t>(row_ptr[rows]) / third;
  int const parts = parts_for(rows, where.threads, most + (1 << 17));
  // Rows of each length, of `most` and more in the last.
  array<std::size_t> count(checked_mul(most + 1, static_cast<std::size_t>(parts), "hyb"),
                           where.memory);
  parallel(parts, [&](int part) {
    std::size_t* const mine = count.data() + static_cast<std::size_t>(part) * (most + 1);
    std::fill_n(mine, most + 1, std::size_t{0});
    for (std::size_t i = split(rows, part, parts), end = split(rows, part + 1, parts); i < end; ++i)
      ++mine[std::min(most, static_cast<std::size_t>(row_ptr[i + 1] - row_ptr[i]))];
  });
  std::size_t width = most;
  for (std::size_t reach = 0; width > 0; --width) {
    for (std::size_t part = 0; part < static_cast<std::size_t>(parts); ++part)
      reach += count[part * (most + 1) + width];
    if (reach >= third)
      break;
  }
  return width;
}

/// What a row holds beyond the width.
template <class O>
std::size_t beyond(O const* row_ptr, std::size_t i, std::size_t width) {
  auto const length = static_cast<std::size_t>(row_ptr[i + 1] - row_ptr[i]);
  return length > width ? length - width : 0;
}

/// The entries beyond the width, in order whatever the number of parts: each part of the rows knows
/// how many lie before it.
template <class O>
struct rest_parts {
  O const* row_ptr;
  std::size_t rows;
  std::size_t width;
  int parts;
  array<std::size_t> before; // of each part

  rest_parts(O const* row_ptr, std::size_t rows, std::size_t nnz, std::size_t width,
             cpu const& where)
      : row_ptr(row_ptr), rows(rows), width(width), parts(parts_for(nnz + rows, where.threads)),
        before(static_cast<std::size_t>(parts) + 1, where.memory) {
    before[0] = 0;
    parallel(parts, [&](int part) {
      std::size_t sum = 0;
      for (std::size_t i = begin(part), end = begin(part + 1); i < end; ++i)
        sum += beyond(row_ptr, i, width);
      before[static_cast<std::size_t>(part) + 1] = sum;
    });
    for (std::size_t p = 0; p < static_cast<std::size_t>(parts); ++p)
      before[p + 1] += before[p];
  }

  std::size_t begin(int part) const {
    return rows == 0 ? 0 : split_by_entries(row_ptr, rows, part, parts);
  }
  std::size_t size() const { return before[static_cast<std::size_t>(parts)]; }

  /// f(i, k, n, at) for each row i with n entries beyond the width, k and up, which are `at` and
  /// up of all such.
  template <class F>
  void each(F&& f) const {
    if (size() == 0)
      return;
    parallel(parts, [&](int part) {
      std::size_t at = before[static_cast<std::size_t>(part)];
      for (std::size_t i = begin(part), end = begin(part + 1); i < end; ++i) {
        std::size_t const n = beyond(row_ptr, i, width);
        if (n != 0)
          f(i, static_cast<std::size_t>(row_ptr[i + 1]) - n, n, at);
        at += n;
      }
    });
  }
};

} // namespace tulle::detail

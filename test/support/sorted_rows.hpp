// SPDX-License-Identifier: Apache-2.0

/// Arrays of jds, jds_csr and jds_ell to break one at a time.
#pragma once
#include "tulle/format/detail/jds_base.hpp"

#include "support/expect.hpp"

#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace tulle::test {

struct sorted_rows {
  std::int32_t rows = 0, cols = 0, longs = 0;
  std::vector<std::int32_t> perm = {}, len = {}, place_ptr = {}, section_ptr = {}, diag_ptr = {},
                            col = {};
  std::vector<double> val = {};
  std::vector<std::int32_t> coo_row = {}, coo_col = {};
  std::vector<double> coo_val = {};

  jds_arrays<double, std::int32_t, std::int32_t> arrays() const {
    return {perm, len, place_ptr, section_ptr, diag_ptr, col, val, coo_row, coo_col, coo_val};
  }
  template <class View>
  View view() const {
    return View(rows, cols, longs, arrays());
  }
};

using ints = array<std::int32_t>;
using doubles = array<double>;

/// Kirk & Hwu, figure 10.15.
inline csr<double> kirk_hwu() {
  return {4, 4, {0, 2, 2, 5, 7}, {0, 2, 1, 2, 3, 0, 3}, {3, 1, 2, 4, 1, 1, 1}};
}

/// Four rows of five columns: row 2 in coo; rows 1, 3 and 0 have 2, 1 and no entries. What each
/// format adds is missing.
inline sorted_rows example_rows() {
  return {.rows = 4,
          .cols = 5,
          .longs = 1,
          .perm = {2, 1, 3, 0},
          .col = {0, 4, 1},
          .val = {1, 2, 3},
          .coo_row = {2, 2, 2},
          .coo_col = {0, 2, 3},
          .coo_val = {4, 5, 6}};
}
inline csr<double> example_as_csr() {
  return {4, 5, {0, 0, 2, 5, 6}, {0, 1, 0, 2, 3, 4}, {1, 3, 4, 5, 6, 2}};
}

struct broken_rows {
  char const* what;
  std::function<void(sorted_rows&)> change;
  std::vector<std::string> expected;
};

/// Each change makes of a matrix that is good one that is refused in these words.
template <class View>
void expect_refused(sorted_rows const& good, std::vector<broken_rows> const& cases) {
  EXPECT_NO_THROW(good.view<View>());
  for (broken_rows const& b : cases) {
    sorted_rows bad = good;
    b.change(bad);
    EXPECT_TRUE(fails_with(errc::bad_structure, b.expected, [&] { bad.view<View>(); })) << b.what;
  }
}

/// What all of them refuse, of a matrix whose first row in perm is the only one in coo.
inline std::vector<broken_rows> broken_in_all(std::string const& format) {
  using rows = sorted_rows;
  return {
      {"rows negative", [](rows& a) { a.rows = -1; }, {format, "-1"}},
      {"columns negative", [](rows& a) { a.cols = -3; }, {format, "-3"}},
      {"a row more", [](rows& a) { ++a.rows; }, {format, "perm has"}},
      {"a row less in perm", [](rows& a) { a.perm.pop_back(); }, {format, "perm has"}},
      {"a row twice", [](rows& a) { a.perm.back() = a.perm[1]; }, {format, "perm[", "again"}},
      {"row negative", [](rows& a) { a.perm[1] = -1; }, {format + ": perm[1] is -1"}},
      {"row at the limit", [](rows& a) { a.perm[1] = a.rows; }, {format + ": perm[1]"}},
      {"a column missing", [](rows& a) { a.col.pop_back(); }, {format, "col has"}},
      {"column negative", [](rows& a) { a.col[0] = -1; }, {format + ": col[0] is -1"}},
      {"column at the limit", [](rows& a) { a.col[0] = a.cols; }, {format + ": col[0]"}},
      {"columns descend",
       [](rows& a) { std::swap(a.col.front(), a.col.back()); },
       {format, "after", "in row"}},
      {"long rows negative", [](rows& a) { a.longs = -1; }, {format, "-1 long rows"}},
      {"more long rows than rows", [](rows& a) { a.longs = 9; }, {format, "9 long rows"}},
      {"coo: a row missing", [](rows& a) { a.coo_row.pop_back(); }, {format, "coo_row has"}},
      {"coo: a column missing", [](rows& a) { a.coo_col.pop_back(); }, {format, "coo_col has"}},
      {"coo: another row", [](rows& a) { a.coo_row.back() = a.perm[1]; }, {format, "coo_row["}},
      {"coo: no entries",
       [](rows& a) {
         a.coo_row.clear();
         a.coo_col.clear();
         a.coo_val.clear();
       },
       {format, "0 rows in coo, expected 1"}},
      {"coo: column at the limit",
       [](rows& a) { a.coo_col.back() = a.cols; },
       {format + ": coo_col["}},
      {"coo: columns descend",
       [](rows& a) { std::swap(a.coo_col[0], a.coo_col[1]); },
       {format + ": coo_col[1]", "after"}},
  };
}

} // namespace tulle::test

// SPDX-License-Identifier: Apache-2.0

// Arrays that are not the matrix they claim to be, through every constructor: refused, and the
// message says where and what.
#include "tulle/format/formats.hpp"

#include "support/expect.hpp"

#include <gtest/gtest.h>
#include <limits>

namespace tulle::test::hostile_test {
namespace {

using ints = std::vector<std::int32_t>;
using doubles = std::vector<double>;
using words = std::vector<std::string>;

struct broken {
  char const* what;
  std::int32_t rows, cols;
  ints first, second; // row_ptr and col, col_ptr and row, or row and col
  doubles val;
  words expected;
};

array<std::int32_t> owned(ints const& v) {
  return {v.data(), v.size()};
}
array<double> owned(doubles const& v) {
  return {v.data(), v.size()};
}

// By a view over the caller's arrays, by an owner, and by validate() of both made without a look.
template <template <class, class, class> class Owner, class View>
void expect_refused(std::vector<broken> const& cases, errc code = errc::bad_structure) {
  using owner = Owner<double, std::int32_t, std::int32_t>;
  for (broken const& b : cases) {
    EXPECT_TRUE(fails_with(code, b.expected, [&] {
      View(b.rows, b.cols, b.first, b.second, b.val);
    })) << b.what;
    EXPECT_TRUE(fails_with(code, b.expected, [&] {
      owner(b.rows, b.cols, owned(b.first), owned(b.second), owned(b.val));
    })) << b.what;
    owner const unseen(unchecked, b.rows, b.cols, owned(b.first), owned(b.second), owned(b.val));
    EXPECT_TRUE(fails_with(code, b.expected, [&] { unseen.validate(); })) << b.what;
  }
}

// csr and csc are one layout: n lines with pointers, indices below `limit`.
std::vector<broken> broken_lines(std::string const& format, std::string const& ptr,
                                 std::string const& index, bool by_columns) {
  auto const make = [&](char const* what, std::int32_t lines, std::int32_t limit, ints p, ints i,
                        doubles v, words expected) {
    expected.push_back(format);
    return broken{what,
                  by_columns ? limit : lines,
                  by_columns ? lines : limit,
                  std::move(p),
                  std::move(i),
                  std::move(v),
                  std::move(expected)};
  };
  std::int32_t const most = std::numeric_limits<std::int32_t>::max();
  std::int32_t const least = std::numeric_limits<std::int32_t>::min();
  return {
      make("pointers decrease", 3, 4, {0, 2, 1, 3}, {0, 1, 2}, {1, 2, 3},
           {ptr, "from 2 to 1", "at 2"}),
      make("the last pointer decreases", 3, 4, {0, 2, 3, 2}, {0, 1}, {1, 2},
           {ptr, "from 3 to 2", "at 3"}),
      make("first pointer not 0", 2, 4, {1, 2, 3}, {0, 1, 2}, {1, 2, 3}, {ptr + "[0] is 1", "0"}),
      make("first pointer negative", 2, 4, {-1, 2, 3}, {0, 1, 2}, {1, 2, 3}, {ptr + "[0] is -1"}),
      make("pointers end early", 2, 4, {0, 1, 2}, {0, 1, 2}, {1, 2, 3}, {ptr, "at 2", "3 entries"}),
      make("pointers end late", 2, 4, {0, 1, 4}, {0, 1, 2}, {1, 2, 3}, {ptr, "at 4", "3 entries"}),
      make("pointers end far away", 2, 4, {0, 1, most}, {0, 1, 2}, {1, 2, 3},
           {ptr, "2147483647", "3 entries"}),
      make("pointer far below", 2, 4, {0, least, 3}, {0, 1, 2}, {1, 2, 3},
           {ptr, "from 0 to -2147483648", "at 1"}),
      make("index negative", 2, 4, {0, 1, 3}, {0, -1, 2}, {1, 2, 3},
           {index + "[1] is -1", "[0, 4)"}),
      make("index at the limit", 2, 4, {0, 1, 3}, {0, 1, 4}, {1, 2, 3},
           {index + "[2] is 4", "[0, 4)"}),
      make("index far away", 2, 4, {0, 1, 3}, {most, 1, 2}, {1, 2, 3},
           {index + "[0] is 2147483647", "[0, 4)"}),
      make("an entry where nothing fits", 1, 0, {0, 1}, {0}, {1}, {index + "[0] is 0", "[0, 0)"}),
      make("a pointer missing", 3, 4, {0, 1, 3}, {0, 1, 2}, {1, 2, 3}, {"3 pointers", "3"}),
      make("a pointer too many", 1, 4, {0, 1, 3}, {0, 1, 2}, {1, 2, 3}, {"3 pointers", "1"}),
      make("no pointers", 2, 4, {}, {}, {}, {"0 pointers", "2"}),
      make("entries without lines", 0, 4, {}, {0}, {1}, {ptr, "1 entries"}),
      make("entries in no line", 0, 4, {0}, {0}, {1}, {ptr, "at 0", "1 entries"}),
      make("an index missing", 2, 4, {0, 1, 3}, {0, 1}, {1, 2, 3}, {"2 indices", "3 values"}),
      make("a value missing", 2, 4, {0, 1, 3}, {0, 1, 2}, {1, 2}, {"3 indices", "2 values"}),
      make("lines negative", -1, 4, {}, {}, {}, {"-1", "4"}),
      make("lines as negative as can be", least, 4, {0}, {}, {}, {"-2147483648", "4"}),
      make("limit negative", 1, -3, {0, 0}, {}, {}, {"-3", "1"}),
      make("more lines than pointers can say", most, 4, {0}, {}, {}, {"1 pointers", "2147483647"}),
  };
}

TEST(hostile_arrays, csr_refuses_them) {
  expect_refused<csr, csr_view<double>>(broken_lines("csr", "row_ptr", "col", false));
}

TEST(hostile_arrays, csc_refuses_them) {
  expect_refused<csc, csc_view<double>>(broken_lines("csc", "col_ptr", "row", true));
}

TEST(hostile_arrays, coo_refuses_them) {
  std::int32_t const most = std::numeric_limits<std::int32_t>::max();
  expect_refused<coo, coo_view<double>>({
      {"row negative", 3, 4, {0, -1}, {0, 0}, {1, 2}, {"coo: row[1] is -1", "[0, 3)"}},
      {"row at the limit", 3, 4, {3, 1}, {0, 0}, {1, 2}, {"coo: row[0] is 3", "[0, 3)"}},
      {"column negative", 3, 4, {0, 1}, {0, -7}, {1, 2}, {"coo: col[1] is -7", "[0, 4)"}},
      {"column at the limit", 3, 4, {0, 1}, {4, 0}, {1, 2}, {"coo: col[0] is 4", "[0, 4)"}},
      {"column far away", 3, 4, {0, 1}, {0, most}, {1, 2}, {"coo: col[1] is 2147483647"}},
      {"no rows", 0, 4, {0}, {0}, {1}, {"coo: row[0] is 0", "[0, 0)"}},
      {"no columns", 4, 0, {0}, {0}, {1}, {"coo: col[0] is 0", "[0, 0)"}},
      {"a row missing", 3, 4, {0}, {0, 1}, {1, 2}, {"1 row", "2 column", "2 values"}},
      {"a column missing", 3, 4, {0, 1}, {0}, {1, 2}, {"2 row", "1 column", "2 values"}},
      {"a value missing", 3, 4, {0, 1}, {0, 1}, {1}, {"2 row", "2 column", "1 values"}},
      {"rows negative", -3, 4, {}, {}, {}, {"-3", "4"}},
      {"columns negative", 3, -4, {}, {}, {}, {"3", "-4"}},
  });
}

// Null with a size, as a caller of the C interface might pass.
TEST(hostile_arrays, null_with_a_size_is_refused) {
  ints const ptr = {0, 1, 2};
  ints const index = {0, 1};
  doubles const val = {1, 2};
  std::span<std::int32_t const> const no_pointers(static_cast<std::int32_t const*>(nullptr), 3);
  std::span<std::int32_t const> const no_indices(static_cast<std::int32_t const*>(nullptr), 2);
  std::span<double const> const no_values(static_cast<double const*>(nullptr), 2);
  auto const refused = [](words const& w, auto&& f) {
    EXPECT_TRUE(fails_with(errc::bad_structure, w, f));
  };
  refused({"csr: row_ptr", "null", "2"}, [&] { csr_view<double>(2, 2, no_pointers, index, val); });
  refused({"csr: col", "null", "2"}, [&] { csr_view<double>(2, 2, ptr, no_indices, val); });
  refused({"csr: val", "null", "2"}, [&] { csr_view<double>(2, 2, ptr, index, no_values); });
  refused({"csc: col_ptr", "null", "2"}, [&] { csc_view<double>(2, 2, no_pointers, index, val); });
  refused({"csc: row", "null", "2"}, [&] { csc_view<double>(2, 2, ptr, no_indices, val); });
  refused({"csc: val", "null", "2"}, [&] { csc_view<double>(2, 2, ptr, index, no_values); });
  refused({"coo: row", "null", "2"}, [&] { coo_view<double>(2, 2, no_indices, index, val); });
  refused({"coo: col", "null", "2"}, [&] { coo_view<double>(2, 2, index, no_indices, val); });
  refused({"coo: val", "null", "2"}, [&] { coo_view<double>(2, 2, index, index, no_values); });
}

TEST(hostile_arrays, a_negative_number_of_entries_is_refused) {
  ints const ptr = {0, 0, 0};
  auto const refused = [](auto const& view) {
    EXPECT_TRUE(fails_with(errc::bad_structure, {"-1"}, [&] { view.validate(); }));
  };
  refused(csr_view<double>(unchecked, 2, 2, -1, ptr.data(), nullptr, nullptr));
  refused(csc_view<double>(unchecked, 2, 2, -1, ptr.data(), nullptr, nullptr));
  refused(coo_view<double>(unchecked, 2, 2, -1, nullptr, nullptr, nullptr));
  refused(csr_view<double>(unchecked, 0, 2, -1, nullptr, nullptr, nullptr));
}

// Checked by several threads, told by the first position.
TEST(hostile_arrays, the_first_of_many_broken_indices_is_named) {
  std::size_t const n = 2'000'000;
  ints index(n, 0);
  for (std::size_t k = 700'001; k < n; k += 3)
    index[k] = -5;
  ints const row(n, 0);
  doubles const val(n, 1);
  EXPECT_TRUE(fails_with(errc::bad_structure, {"col[700001] is -5"},
                         [&] { coo_view<double>(1, 1, row, index, val); }));
}

TEST(hostile_arrays, ordinary_emptiness_is_accepted) {
  ints const none{}, one{0}, four{0, 0, 0, 0};
  doubles const no_values{};
  EXPECT_NO_THROW(csr_view<double>(0, 0, none, none, no_values));
  EXPECT_NO_THROW(csr_view<double>(0, 7, one, none, no_values));
  EXPECT_NO_THROW(csr_view<double>(3, 0, four, none, no_values));
  EXPECT_NO_THROW(csc_view<double>(7, 0, none, none, no_values));
  EXPECT_NO_THROW(csc_view<double>(0, 3, four, none, no_values));
  EXPECT_NO_THROW(coo_view<double>(0, 0, none, none, no_values));
  EXPECT_NO_THROW(coo_view<double>(5, 0, none, none, no_values));
}

} // namespace
} // namespace tulle::test::hostile_test

// SPDX-License-Identifier: Apache-2.0

// The 4 x 4 picture at the head of each format header, array by array.
//
//     1 . 2 .
//     . 3 . .
//     . . . 4
//     5 6 7 .
//
// Of a format that takes symmetric matrices alone:
//
//     1 . 2 .
//     . 3 . 6
//     2 . 4 .
//     . 6 . 5
#include "format/detail/options.hpp"
#include "support/expect.hpp"
#include "support/formats.hpp"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <vector>

namespace tulle::test::picture_test {
namespace {

using ints = array<std::int32_t>;
using doubles = array<double>;

csr<double> example() {
  return {4, 4, {0, 2, 3, 4, 7}, {0, 2, 1, 3, 0, 1, 2}, {1, 2, 3, 4, 5, 6, 7}};
}
csr<double> symmetric_example() {
  return {4, 4, {0, 2, 4, 6, 8}, {0, 2, 1, 3, 0, 2, 1, 3}, {1, 2, 3, 6, 2, 4, 6, 5}};
}

/// The numbers behind the array's name in the head of the format's header; '-' is -1, as where a
/// column is padding.
std::vector<double> drawn(std::string const& format, std::string const& array) {
  std::ifstream header(std::string(TULLE_SOURCE_DIR) + "/include/tulle/format/" + format + ".hpp");
  for (std::string line; std::getline(header, line) && line != "#pragma once";) {
    std::istringstream words(line);
    std::string word;
    while (words >> word && word != array) {
    }
    std::vector<double> numbers;
    while (words >> word) {
      char* end = nullptr;
      double const number = word == "-" ? -1 : std::strtod(word.c_str(), &end);
      if (end && *end != '\0')
        break;
      numbers.push_back(number);
    }
    if (!numbers.empty())
      return numbers;
  }
  return {};
}

template <class F>
class picture : public testing::Test {};
TYPED_TEST_SUITE(picture, every_format, format_names);

TYPED_TEST(picture, shows_the_arrays) {
  using options = typename TypeParam::options;
  options o;
  if constexpr (requires { options::drawn; }) // where the default would not fit a page
    o = detail::parse_options<options>("picture", options::drawn);
  constexpr bool needs_symmetric = requires {
    requires options::needs_symmetric;
  };
  auto const a =
      TypeParam::from_csr(borrowed(needs_symmetric ? symmetric_example() : example()), o);
  std::size_t bytes = 0;
  a.view().arrays([&](char const* array, auto const* data, std::size_t size) {
    std::vector<double> const stored(data, data + size);
    EXPECT_EQ(drawn(tulle::name(owner_traits<TypeParam>::format), array), stored) << array;
    bytes += size * sizeof(*data);
  });
  EXPECT_EQ(a.bytes(), bytes);
}

// Any order in, canonical out: triplets as a file might have them.
TEST(coo, triplets_in_any_order_become_sorted_rows) {
  coo<double> const a(3, 3, {2, 0, 2, 0, 2}, {1, 2, 0, 0, 1}, {1, 2, 3, 4, 0.5});
  csr<double> const c = a.to_csr();
  EXPECT_EQ(c.row_ptr, (ints{0, 2, 2, 4}));
  EXPECT_EQ(c.col, (ints{0, 2, 0, 1}));
  EXPECT_EQ(c.val, (doubles{4, 2, 3, 1.5}));
}

// Duplicates add up in the order they are stored: (1e16 + 1) - 1e16 is 0, another order gives 1.
TEST(coo, duplicates_are_summed_in_the_order_stored) {
  coo<double> const a(1, 2, {0, 0, 0, 0}, {1, 1, 0, 1}, {1e16, 1, 7, -1e16});
  csr<double> const c = a.to_csr();
  EXPECT_EQ(c.val, (doubles{7, 0}));
  coo<double> const b(1, 2, {0, 0, 0, 0}, {1, 1, 0, 1}, {1e16, -1e16, 7, 1});
  EXPECT_EQ(b.to_csr().val, (doubles{7, 1}));
  csr<double> const d(1, 2, {0, 4}, {1, 1, 0, 1}, {1e16, 1, 7, -1e16});
  EXPECT_EQ(d.to_csr().val, (doubles{7, 0}));
}

TEST(csc, columns_in_any_order_become_sorted_rows) {
  csc<double> const a(3, 2, {0, 3, 5}, {2, 0, 2, 1, 0}, {1, 2, 3, 4, 5});
  csr<double> const c = a.to_csr();
  EXPECT_EQ(c.row_ptr, (ints{0, 2, 3, 4}));
  EXPECT_EQ(c.col, (ints{0, 1, 1, 0}));
  EXPECT_EQ(c.val, (doubles{2, 5, 4, 4}));
}

} // namespace
} // namespace tulle::test::picture_test

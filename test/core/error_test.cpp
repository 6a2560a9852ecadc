// SPDX-License-Identifier: Apache-2.0
#include "tulle/core/error.hpp"
#include "tulle/core/narrow.hpp"

#include "support/expect.hpp"

#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <set>

namespace tulle::test::error_test {
namespace {

constexpr errc every_code[] = {
    errc::shape_mismatch, errc::bad_structure, errc::overflow, errc::out_of_memory,
    errc::unsupported,    errc::backend,       errc::io};

TEST(error, codes_have_names_and_the_numbers_of_the_c_interface) {
  std::set<std::string> names;
  int number = 1;
  for (errc const code : every_code) {
    EXPECT_EQ(static_cast<int>(code), number++);
    names.insert(name(code));
  }
  EXPECT_EQ(names.size(), std::size(every_code));
  EXPECT_EQ(names.count("?"), 0u);
  EXPECT_STREQ(name(errc::shape_mismatch), "shape_mismatch");
  EXPECT_STREQ(name(static_cast<errc>(99)), "?");
}

TEST(error, fail_formats_messages_of_any_length) {
  EXPECT_TRUE(fails_with(errc::io, {"line 3: 'x', 7 of 8"}, [] {
    fail(errc::io, "line %d: '%s', %zu of %lld", 3, "x", std::size_t{7}, 8LL);
  }));
  std::string const text(10000, 'y');
  EXPECT_TRUE(fails_with(errc::io, {text + "!"}, [&] { fail(errc::io, "%s!", text.c_str()); }));
  EXPECT_TRUE(fails_with(errc::io, {}, [] { fail(errc::io, "%s", ""); }));
}

TEST(error, is_a_runtime_error) {
  try {
    fail(errc::overflow, "%d", 1);
  } catch (std::runtime_error const& e) {
    EXPECT_STREQ(e.what(), "1");
    return;
  }
  FAIL();
}

TEST(narrow, keeps_what_fits) {
  EXPECT_EQ(narrow<std::int8_t>(127), 127);
  EXPECT_EQ(narrow<std::int8_t>(-128L), -128);
  EXPECT_EQ(narrow<std::int32_t>(std::size_t{2147483647}), 2147483647);
  EXPECT_EQ(narrow<std::uint8_t>(255ull), 255);
  EXPECT_EQ(narrow<std::size_t>(std::int64_t{5}), 5u);
  static_assert(narrow<std::int16_t>(300) == 300);
}

TEST(narrow, refuses_what_does_not) {
  EXPECT_TRUE(
      fails_with(errc::overflow, {"a size", "128", "8-bit"}, [] { narrow<std::int8_t>(128); }));
  EXPECT_TRUE(fails_with(errc::overflow, {"rows", "2147483648", "32-bit"},
                         [] { narrow<std::int32_t>(std::size_t{1} << 31, "rows"); }));
  EXPECT_TRUE(fails_with(errc::overflow, {"-1"}, [] { narrow<std::size_t>(-1); }));
  EXPECT_TRUE(fails_with(errc::overflow, {"-1"}, [] { narrow<std::uint32_t>(std::int64_t{-1}); }));
  EXPECT_TRUE(fails_with(errc::overflow, {"18446744073709551615"},
                         [] { narrow<std::int64_t>(std::numeric_limits<std::size_t>::max()); }));
}

TEST(checked_mul, is_exact_or_an_error) {
  std::size_t const half = std::size_t{1} << 32;
  EXPECT_EQ(checked_mul(half, half - 1), half * (half - 1));
  EXPECT_EQ(checked_mul(0, std::numeric_limits<std::size_t>::max()), 0u);
  EXPECT_TRUE(fails_with(errc::overflow, {"rows", "4294967296 times 4294967296"},
                         [&] { checked_mul(half, half, "rows"); }));
}

} // namespace
} // namespace tulle::test::error_test

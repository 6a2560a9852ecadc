// SPDX-License-Identifier: Apache-2.0

// gzip in every state: whole, in members, cut short, damaged, a bomb.
#include "files.hpp"

namespace tulle::test::matrix_market_gzip_test {
namespace {

TEST(matrix_market_gzip, is_told_by_its_bytes_and_not_by_its_name) {
  folder const f;
  EXPECT_EQ(read_matrix_market(f.write("a.mtx", gzip(example_text))), example());
  EXPECT_EQ(read_matrix_market(f.write("b.mtx.gz", example_text)), example());
  EXPECT_EQ(read_text(gzip(example_text)), example());
}

TEST(matrix_market_gzip, several_members_are_one_text) {
  std::string const text = example_text;
  std::string packed;
  for (std::size_t k = 0; k < text.size(); k += 10)
    packed += gzip(text.substr(k, 10));
  EXPECT_EQ(read_text(packed + gzip("")), example());
}

TEST(matrix_market_gzip, padding_is_skipped_and_other_bytes_are_refused) {
  auto const packed = gzip(example_text);
  EXPECT_EQ(read_text(packed + std::string(1000, '\0')), example());
  EXPECT_EQ(error_in(packed + "x"),
            "io: stream: neither gzip data nor padding at byte " + std::to_string(packed.size()));
}

TEST(matrix_market_gzip, every_truncation_is_an_error) {
  auto const packed = gzip(example_text);
  for (std::size_t n = 2; n < packed.size(); ++n)
    EXPECT_EQ(error_in(packed.substr(0, n)), "io: stream: gzip data is truncated after " +
                                                 std::to_string(n) + " compressed bytes");
  EXPECT_NE(error_in(packed.substr(0, 1)), "");
}

TEST(matrix_market_gzip, damage_is_never_a_matrix) {
  auto const packed = gzip(example_text);
  for (std::size_t k = 10; k < packed.size();
       ++k) { // behind the header, whose time stamp and such do not matter
    auto broken = packed;
    broken[k] = static_cast<char>(broken[k] ^ 0x10);
    EXPECT_NE(error_in(broken), "") << k;
  }
}

TEST(matrix_market_gzip, a_bomb_is_defused) {
  // 32 MiB of blank lines in about 32 KiB.
  auto const bomb = gzip("%%MatrixMarket matrix coordinate real general\n1 1 1\n" +
                         std::string(32 << 20, '\n') + "1 1 7\n");
  ASSERT_LT(bomb.size(), 64u << 10);
  EXPECT_EQ(read_text(bomb).val, (array<double>{7})); // below the free 64 MiB
  auto const e = error_in(bomb, {.max_bytes = 1 << 20});
  EXPECT_NE(e.find("of gzip hold more than 1048576 of text; raise max_bytes to read them"),
            std::string::npos)
      << e;
  EXPECT_EQ(e.substr(0, 14), "out_of_memory:");

  std::string larger = gzip("%%MatrixMarket matrix coordinate real general\n1 1 1\n");
  for (int k = 0; k < 5; ++k)
    larger += bomb.substr(0, 0) + gzip(std::string(16 << 20, '\n'));
  EXPECT_EQ(error_in(larger).substr(0, 14), "out_of_memory:");
  EXPECT_EQ(read_text(larger + gzip("1 1 7\n"), {.max_bytes = 1 << 28}).val, (array<double>{7}));
}

TEST(matrix_market_gzip, an_empty_member_is_an_empty_file) {
  EXPECT_EQ(error_in(gzip("")), "io: stream:1: expected a banner that starts with %%MatrixMarket, "
                                "found the end of the file");
}

} // namespace
} // namespace tulle::test::matrix_market_gzip_test

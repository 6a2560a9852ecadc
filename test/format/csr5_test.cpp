// SPDX-License-Identifier: Apache-2.0

// csr5: the worked example of the thesis (fig. 6.1 and 6.2), empty rows wherever they may be, the
// conversions in place, single entries, and what is refused.
#include "tulle/format/csr5.hpp"

#include "format/detail/csr5_tiles.hpp"
#include "format/detail/options.hpp"
#include "support/expect.hpp"
#include "support/memory.hpp"
#include "support/zoo.hpp"

#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

namespace tulle::test::csr5_test {
namespace {

using ints = array<std::int32_t>;
using words = array<std::uint32_t>;
using doubles = array<double>;
constexpr std::uint32_t mark = 0x80000000u;

csr<double> thesis() {
  return {8,
          8,
          {0, 5, 7, 7, 14, 17, 19, 26, 34},
          {0, 2, 3, 6, 7, 1, 3, 0, 1, 2, 3, 4, 6, 7, 1, 3, 5,
           0, 1, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7},
          {1, 2, 3, 4, 5, 1, 2, 1, 2, 3, 4, 5, 6, 7, 1, 2, 3,
           1, 2, 1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4, 5, 6, 7, 8}};
}

csr5<double> example() {
  return csr5<double>::from_csr(borrowed(thesis()), {.omega = 4, .sigma = 4});
}

// Words: y_offset in 4 bits, seg_offset in 2, bit_flag in 4.
std::uint32_t word(std::uint32_t y, std::uint32_t seg, std::uint32_t flags) {
  return y << 28 | seg << 26 | flags << 22;
}

TEST(csr5, stores_the_example_of_the_thesis) {
  csr5<double> const a = example();
  EXPECT_EQ(a.row_ptr, thesis().row_ptr);
  EXPECT_EQ(a.tile_ptr, (words{mark | 0, 4, 7, 8})); // -0: row 2 is empty
  EXPECT_EQ(
      a.tile_desc,
      (words{word(0, 0, 0b1000), word(1, 1, 0b0101), word(3, 0, 0b0000), word(3, 0, 0b0010), //
             word(0, 1, 0b1101), word(3, 0, 0b0000), word(3, 1, 0b0010), word(4, 0, 0b0000)}));
  EXPECT_EQ(a.empty_offset_ptr, (ints{0, 4, 4}));
  EXPECT_EQ(a.empty_offset, (ints{0, 1, 3, 4}));
  EXPECT_EQ(a.col, (ints{0, 7, 1, 6, 2, 1, 2, 7, 3, 3, 3, 1, 6, 0, 4, 3, //
                         5, 2, 6, 2, 0, 3, 7, 3, 1, 4, 0, 4, 1, 5, 1, 5, //
                         6, 7}));
  EXPECT_EQ(a.val, (doubles{1, 5, 2, 6, 2, 1, 3, 7, 3, 2, 4, 1, 4, 1, 5, 2, //
                            3, 2, 6, 3, 1, 3, 7, 4, 2, 4, 1, 5, 1, 5, 2, 6, //
                            7, 8}));
}

// Rows 0, 1, 3, 6 and 7 are empty. Tiles of four entries: row 2 and half of 4; the rest of 4 and
// row 5, which ends with the tile, so that the rows behind are its own.
TEST(csr5, empty_rows_belong_to_the_tile_before_them) {
  csr<double> const a(8, 4, {0, 0, 0, 2, 2, 6, 8, 8, 8}, {0, 1, 0, 1, 2, 3, 0, 3},
                      {1, 2, 3, 4, 5, 6, 7, 8});
  auto const b = csr5<double>::from_csr(a.view(), {.omega = 2, .sigma = 2});
  EXPECT_EQ(b.tile_ptr, (words{mark | 2, mark | 4, 8}));
  EXPECT_EQ(b.empty_offset_ptr, (ints{0, 2, 4}));
  EXPECT_EQ(b.empty_offset, (ints{0, 2, 0, 1}));
  EXPECT_NO_THROW(b.validate());
  // A tile without an empty row between two that have one, and an empty row before a tile's end.
  csr<double> const c(6, 4, {0, 3, 3, 4, 8, 12, 12}, {0, 1, 2, 0, 0, 1, 2, 3, 0, 1, 2, 3},
                      doubles(12, 1.0));
  auto const d = csr5<double>::from_csr(c.view(), {.omega = 2, .sigma = 2});
  EXPECT_EQ(d.tile_ptr, (words{mark | 0, 3, mark | 4, 6}));
  EXPECT_EQ(d.empty_offset, (ints{0, 2, 0}));
}

TEST(csr5, a_matrix_without_entries_has_no_tiles) {
  auto const a = csr5<double>::from_csr(borrowed(csr<double>(2, 3, {0, 0, 0}, {}, {})));
  EXPECT_TRUE(a.tile_ptr.empty());
  EXPECT_TRUE(a.empty_offset_ptr.empty());
  EXPECT_NO_THROW(a.validate());
}

TEST(csr5, from_csr_in_place_is_from_csr_in_the_same_memory) {
  for (animal const& a : zoo())
    for (char const* const text : csr5_options::variants) {
      auto const o = detail::parse_options<csr5_options>("csr5", text);
      auto const expected = csr5<double>::from_csr(a.matrix.view(), o);
      csr<double> source = a.matrix;
      double const* const val = source.val.data();
      bool const canonical = source.view().is_canonical();
      auto const m = csr5<double>::from_csr(std::move(source), o, cpu{.threads = 3});
      EXPECT_TRUE(same_arrays(m.view(), expected.view())) << a.name << " " << text;
      EXPECT_EQ(m.val.data() == val, canonical) << a.name;
      EXPECT_TRUE(source == csr<double>()) << a.name;
    }
}

TEST(csr5, to_csr_in_place_gives_the_memory_back) {
  for (animal const& a : zoo()) {
    auto m = csr5<double>::from_csr(a.matrix.view(), {.omega = 4, .sigma = 3});
    csr<double> const expected = m.to_csr();
    double const* const val = m.val.data();
    csr<double> const c = std::move(m).to_csr(cpu{.threads = 3});
    EXPECT_TRUE(same_arrays(c.view(), expected.view())) << a.name;
    EXPECT_EQ(c.val.data(), val) << a.name;
    EXPECT_TRUE(m == csr5<double>()) << a.name;
  }
}

TEST(csr5, a_conversion_in_place_that_fails_changes_nothing) {
  csr<double> a = thesis();
  EXPECT_TRUE(fails_with(errc::unsupported, {"omega", "3"},
                         [&] { csr5<double>::from_csr(std::move(a), {.omega = 3}); }));
  EXPECT_TRUE(a == thesis());
  failing_memory memory;
  for (std::size_t k = 1; k <= 4; ++k) { // tile_ptr, tile_desc, empty_offset_ptr, empty_offset
    memory.fail_at(k);
    EXPECT_TRUE(fails_with(errc::out_of_memory, {}, [&] {
      csr5<double>::from_csr(std::move(a), {.omega = 4, .sigma = 4},
                             cpu{.threads = 1, .memory = &memory});
    })) << k;
    EXPECT_TRUE(a == thesis()) << k;
    EXPECT_EQ(memory.outstanding(), 0u) << k;
  }
}

TEST(csr5, one_value_is_read_and_changed_where_it_lies) {
  csr<double> const c = thesis();
  csr5<double> a = example();
  for (std::int32_t i = 0; i < c.rows; ++i)
    for (std::int32_t k = c.row_ptr[i]; k < c.row_ptr[i + 1]; ++k)
      EXPECT_EQ(a.at(i, c.col[k]), c.val[k]) << i << " " << c.col[k];
  csr<double> changed = c;
  changed.val[20] = -9; // (6, 2), in the second tile
  changed.val[33] = 10; // (7, 7), behind the tiles
  a.set(6, 2, -9);
  a.set(7, 7, 10);
  EXPECT_TRUE(same_arrays(
      a.view(), borrowed(csr5<double>::from_csr(changed.view(), {.omega = 4, .sigma = 4}))));
}

TEST(csr5, what_is_not_stored_is_neither_read_nor_changed) {
  csr5<double> a = example();
  csr5<double> const before = a;
  std::int32_t const places[][2] = {{0, 1},  {2, 0}, {1, 7},  {5, 2},
                                    {-1, 0}, {8, 0}, {0, -1}, {0, 8}};
  for (auto const& p : places) {
    std::vector<std::string> const expected = {std::to_string(p[0]) + ", " + std::to_string(p[1])};
    EXPECT_TRUE(fails_with(errc::bad_structure, expected, [&] { a.at(p[0], p[1]); }));
    EXPECT_TRUE(fails_with(errc::bad_structure, expected, [&] { a.set(p[0], p[1], 1); }));
  }
  EXPECT_TRUE(a == before);
}

TEST(csr5, options_that_cannot_be_are_refused_by_name) {
  csr<double> const a = thesis();
  auto const refused = [&](csr5_options o, std::vector<std::string> const& expected) {
    EXPECT_TRUE(
        fails_with(errc::unsupported, expected, [&] { csr5<double>::from_csr(a.view(), o); }));
  };
  refused({.omega = 3}, {"omega is 3", "2, 4, 8"});
  refused({.omega = 1}, {"omega is 1"});
  refused({.omega = -4}, {"omega is -4"});
  refused({.omega = 128}, {"omega is 128"});
  refused({.omega = 4, .sigma = -1}, {"sigma is -1", "1 to 23"});
  refused({.omega = 4, .sigma = 24}, {"sigma is 24", "1 to 23", "omega is 4"});
  refused({.omega = 64, .sigma = 17}, {"sigma is 17", "1 to 16"});
  refused({.omega = 64, .sigma = std::numeric_limits<int>::max()}, {"sigma is 2147483647"});
}

// Sec. 6.3.2: r steps up to r entries a row, as many as entries up to s, s up to t, then u. Here r
// and s are 16, so that the second case has no place of its own; t is 256, and u 16, for warps 4.
TEST(csr5, steps_follow_the_length_of_rows) {
  auto const sigma = [](int omega, std::size_t rows, std::size_t nnz) {
    return detail::csr5_layout<double>({.omega = omega}, rows, nnz).sigma;
  };
  for (int const omega : {4, 8}) // 16 on every CPU
    for (std::size_t const length : {0, 1, 15, 16, 17, 100, 256, 257, 5000})
      EXPECT_EQ(sigma(omega, 10, 10 * length), 16) << omega << " " << length;
  for (std::size_t const length : {0, 1, 15, 16, 17, 100, 256})
    EXPECT_EQ(sigma(32, 10, 10 * length), 16) << length;
  for (std::size_t const length : {257, 5000})
    EXPECT_EQ(sigma(32, 10, 10 * length), 4) << length;
  EXPECT_EQ(sigma(32, 10, 2561), 4); // 256.1 on average
  EXPECT_EQ(sigma(4, 0, 0), 16);
  EXPECT_EQ(detail::csr5_layout<float>({}, 1, 1).omega, 8); // 256 bits
  EXPECT_EQ(detail::csr5_layout<double>({}, 1, 1).omega, 4);
  EXPECT_EQ(detail::csr5_layout<double>({.omega = 32, .sigma = 7}, 1, 1000).sigma, 7); // asked for
}

TEST(csr5, conversion_takes_the_steps_that_follow) {
  csr<double> const near = from_lengths(300, std::vector<std::int32_t>(8, 256));
  csr<double> const far = from_lengths(300, std::vector<std::int32_t>(8, 257));
  EXPECT_EQ(csr5<double>::from_csr(near.view()).sigma, 16);
  EXPECT_EQ(csr5<double>::from_csr(far.view()).sigma, 16);
  EXPECT_EQ(csr5<double>::from_csr(near.view(), {.omega = 32}).sigma, 16);
  EXPECT_EQ(csr5<double>::from_csr(far.view(), {.omega = 32}).sigma, 4);
  EXPECT_EQ(csr5<double>::from_csr(csr<double>(far), {.omega = 32}).sigma, 4); // in place
}

// Every number of lanes with the most steps that fit a word: all bits of it in use.
TEST(csr5, the_largest_tiles_round_trip) {
  csr<double> const a = from_lengths(500, std::vector<std::int32_t>(300, 7));
  int const most[][2] = {{2, 25}, {4, 23}, {8, 21}, {16, 19}, {32, 17}, {64, 16}};
  for (auto const& [omega, sigma] : most) {
    auto const b = csr5<double>::from_csr(a.view(), {.omega = omega, .sigma = sigma});
    EXPECT_NO_THROW(b.validate()) << omega;
    EXPECT_TRUE(same_arrays(borrowed(b.to_csr()), a.view())) << omega;
  }
}

// By a view over the caller's arrays, by an owner, and by validate() of an owner made without a
// look.
TEST(csr5, broken_arrays_are_refused) {
  struct broken {
    char const* what;
    std::function<void(csr5<double>&)> harm;
    std::vector<std::string> expected;
  };
  std::vector<broken> const cases = {
      {"rows negative", [](auto& a) { a.rows = -8; }, {"-8"}},
      {"columns negative", [](auto& a) { a.cols = -1; }, {"-1"}},
      {"omega no power of two", [](auto& a) { a.omega = 3; }, {"omega is 3"}},
      {"omega 0", [](auto& a) { a.omega = 0; }, {"omega is 0"}},
      {"sigma 0", [](auto& a) { a.sigma = 0; }, {"sigma is 0"}},
      {"another sigma", [](auto& a) { a.sigma = 5; }, {"tile_ptr has 4", "expected 3"}},
      {"another omega", [](auto& a) { a.omega = 2; }, {"tile_ptr has 4", "expected 6"}},
      {"pointers decrease", [](auto& a) { a.row_ptr[4] = 6; }, {"row_ptr", "from 7 to 6", "at 4"}},
      {"pointers end early", [](auto& a) { a.row_ptr[8] = 33; }, {"row_ptr", "at 33", "34"}},
      {"a row more", [](auto& a) { a.rows = 9; }, {"9 pointers", "9"}},
      {"a column outside", [](auto& a) { a.col[17] = 8; }, {"col[17] is 8", "[0, 8)"}},
      {"a column negative", [](auto& a) { a.col[33] = -1; }, {"col[33] is -1"}},
      {"columns that do not ascend", [](auto& a) { a.col[16] = 3; }, {"row 4", "col[16] is 3"}},
      {"a column twice, across lanes", [](auto& a) { a.col[1] = 6; }, {"row 0", "col[12] is 6"}},
      {"a value missing", [](auto& a) { a.val = doubles(33, 1.0); }, {"34 indices", "33 values"}},
      {"a mark missing", [](auto& a) { a.tile_ptr[0] = 0; }, {"tile_ptr[0] is 0"}},
      {"a mark too many", [](auto& a) { a.tile_ptr[1] |= mark; }, {"tile_ptr[1]", "expected 4"}},
      {"another row", [](auto& a) { a.tile_ptr[2] = 6; }, {"tile_ptr[2] is 6", "expected 7"}},
      {"no end", [](auto& a) { a.tile_ptr[3] = 7; }, {"tile_ptr[3] is 7", "expected 8"}},
      {"no tile_ptr", [](auto& a) { a.tile_ptr = {}; }, {"tile_ptr has 0", "expected 4"}},
      {"another y_offset",
       [](auto& a) { a.tile_desc[1] = word(2, 1, 0b0101); },
       {"tile_desc[1]", "356515840"}},
      {"another seg_offset",
       [](auto& a) { a.tile_desc[6] = word(3, 0, 0b0010); },
       {"tile_desc[6]"}},
      {"another flag", [](auto& a) { a.tile_desc[4] ^= 1u << 23; }, {"tile_desc[4]"}},
      {"bits behind the flags", [](auto& a) { a.tile_desc[7] |= 1; }, {"tile_desc[7]"}},
      {"a word missing", [](auto& a) { a.tile_desc = words(7, 0u); }, {"tile_desc has 7", "8"}},
      {"no first pointer",
       [](auto& a) { a.empty_offset_ptr[0] = 1; },
       {"empty_offset_ptr[0] is 1"}},
      {"a pointer too far",
       [](auto& a) { a.empty_offset_ptr[1] = 1 << 30; },
       {"empty_offset_ptr[1]", "expected 4"}},
      {"offsets of a tile that has no empty row",
       [](auto& a) { a.empty_offset_ptr[2] = 5; },
       {"empty_offset_ptr[2] is 5", "expected 4"}},
      {"a pointer missing",
       [](auto& a) {
         a.empty_offset_ptr = {0, 4};
       },
       {"empty_offset_ptr has 2", "expected 3"}},
      {"another offset",
       [](auto& a) { a.empty_offset[2] = 2; },
       {"empty_offset[2] is 2", "expected 3"}},
      {"an offset missing",
       [](auto& a) {
         a.empty_offset = {0, 1, 3};
       },
       {"3", "expected 4"}},
      {"an offset more",
       [](auto& a) {
         a.empty_offset = {0, 1, 3, 4, 5};
       },
       {"5", "expected 4"}},
  };
  for (broken const& b : cases) {
    csr5<double> a = example();
    b.harm(a);
    EXPECT_TRUE(fails_with(errc::bad_structure, b.expected, [&] { a.validate(); })) << b.what;
    EXPECT_TRUE(fails_with(errc::bad_structure, b.expected, [&] {
      csr5_view<double>(a.rows, a.cols, a.omega, a.sigma, a.row_ptr, a.tile_ptr, a.tile_desc,
                        a.empty_offset_ptr, a.empty_offset, a.col, a.val);
    })) << b.what;
    EXPECT_TRUE(fails_with(errc::bad_structure, b.expected, [&] {
      csr5<double>(a.rows, a.cols, a.omega, a.sigma, a.row_ptr, a.tile_ptr, a.tile_desc,
                   a.empty_offset_ptr, a.empty_offset, a.col, a.val);
    })) << b.what;
  }
}

TEST(csr5, null_with_a_size_is_refused) {
  csr5<double> const a = example();
  csr5_view<double> v = a.view();
  v.tile_desc = nullptr;
  EXPECT_TRUE(fails_with(errc::bad_structure, {"tile_desc", "null", "8"}, [&] { v.validate(); }));
  v = a.view();
  v.val = nullptr;
  EXPECT_TRUE(fails_with(errc::bad_structure, {"val", "null", "34"}, [&] { v.validate(); }));
  v = a.view();
  v.nnz = -1;
  EXPECT_TRUE(fails_with(errc::bad_structure, {"-1"}, [&] { v.validate(); }));
}

} // namespace
} // namespace tulle::test::csr5_test

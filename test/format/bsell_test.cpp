// SPDX-License-Identifier: Apache-2.0

// BSELL: where blocks of a slice lie, the order of slices, short and full columns, arrays that are
// not what they claim to be, options and the limit.
#include "tulle/format/bsell.hpp"
#include "tulle/gen/generate.hpp"

#include "support/expect.hpp"
#include "support/memory.hpp"
#include "support/zoo.hpp"

#include <functional>
#include <gtest/gtest.h>

namespace tulle::test::bsell_test {
namespace {

using ints = array<std::int32_t>;
using doubles = array<double>;
using shorts = array<std::uint16_t>;
using words = array<std::uint64_t>;

bsell_options layout_of(int side, int chunk, int sigma = 1) {
  bsell_options o;
  o.rows = o.cols = side;
  o.chunk = chunk;
  o.sigma = sigma;
  return o;
}

/// Rows of those lengths; entry k of row i is in column k, value 10 * (i + 1) + k.
csr<double> triangle_of(std::vector<std::int32_t> const& lengths, std::int32_t cols) {
  std::vector<std::int32_t> ptr = {0}, col;
  std::vector<double> val;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    for (std::int32_t k = 0; k < lengths[i]; ++k) {
      col.push_back(k);
      val.push_back(10. * static_cast<double>(i + 1) + k);
    }
    ptr.push_back(static_cast<std::int32_t>(col.size()));
  }
  return {static_cast<std::int32_t>(lengths.size()), cols, ints(ptr.data(), ptr.size()),
          ints(col.data(), col.size()), doubles(val.data(), val.size())};
}

// Seven blocks and five in a slice of two rows: four and four, in pairs of a lane's two blocks;
// then two and one by lanes, and two that are padding.
TEST(bsell, goes_by_fours_and_then_by_twos) {
  csr<double> const a = triangle_of({6, 5}, 6);
  auto const b = bsell<double>::from_csr(a.view(), layout_of(1, 2));
  EXPECT_EQ(b.slice_ptr, (ints{0, 12}));
  EXPECT_EQ(b.len, (ints{6, 5}));
  EXPECT_TRUE(b.perm.empty());
  EXPECT_EQ(b.base, (ints{0}));
  EXPECT_EQ(b.short_col, (shorts{0, 1, 0, 1, 2, 3, 2, 3, 4, 4, 5, 0}));
  EXPECT_EQ(b.val, (doubles{10, 11, 20, 21, 12, 13, 22, 23, 14, 24, 15, 0}));
  EXPECT_TRUE(b.pattern.empty());
  EXPECT_EQ(b.to_csr(), a);
  EXPECT_NO_THROW(b.validate());
}

// Two blocks of 1 x 3 a lane are six values: three pairs, the second with a value of each block.
TEST(bsell, pairs_go_across_two_blocks) {
  csr<double> const a = triangle_of({12}, 12);
  bsell_options o = layout_of(1, 1);
  o.cols = 3;
  auto const b = bsell<double>::from_csr(a.view(), o);
  EXPECT_EQ(b.val, (doubles{10, 11, 16, 17, 12, 13, 18, 19, 14, 15, 20, 21}));
  EXPECT_EQ(b.short_col, (shorts{0, 1, 2, 3}));
  EXPECT_EQ(b.to_csr(), a);
}

// Windows of four rows, slices of two: the longest rows of each window first, then the longest
// slices; the last, which is not whole, stays.
TEST(bsell, sorts_rows_in_windows_and_then_slices) {
  csr<double> const a = triangle_of({1, 2, 1, 2, 3, 5, 1, 5, 9}, 9);
  auto const b = bsell<double>::from_csr(a.view(), layout_of(1, 2, 4));
  EXPECT_EQ(b.perm, (ints{5, 7, 4, 6, 1, 3, 0, 2, 8}));
  EXPECT_EQ(b.len, (ints{5, 5, 3, 1, 2, 2, 1, 1, 9}));
  EXPECT_EQ(b.slice_ptr, (ints{0, 12, 20, 24, 28, 48}));
  EXPECT_EQ(b.to_csr(), a);
  EXPECT_NO_THROW(b.validate());
  EXPECT_TRUE(bsell<double>::from_csr(a.view(), layout_of(1, 2)).perm.empty());
  csr<double> const even = triangle_of({4, 4, 4}, 9);
  EXPECT_TRUE(bsell<double>::from_csr(even.view(), layout_of(1, 2, 4)).perm.empty());
}

TEST(bsell, columns_are_short_where_those_of_every_slice_are_near) {
  auto const with = [](std::int32_t first, std::int32_t last) {
    return csr<double>(2, 100'000, {0, 1, 2}, {first, last}, {1, 2});
  };
  auto const near = bsell<double>::from_csr(borrowed(with(10, 65'545)), layout_of(1, 2));
  EXPECT_EQ(near.base, (ints{10}));
  EXPECT_EQ(near.short_col, (shorts{0, 65'535, 0, 0}));
  EXPECT_TRUE(near.col.empty());
  auto const far = bsell<double>::from_csr(borrowed(with(10, 65'546)), layout_of(1, 2));
  EXPECT_TRUE(far.base.empty() && far.short_col.empty());
  EXPECT_EQ(far.col, (ints{10, 65'546, 0, 0}));
  auto const apart = bsell<double>::from_csr(borrowed(with(10, 65'546)), layout_of(1, 1));
  EXPECT_EQ(apart.base, (ints{10, 65'546}));
}

TEST(bsell, round_trips_in_every_shape) {
  csr<double> const a = generate("random:57:71:900");
  for (int h = 1; h <= 8; ++h)
    for (int w = 1; w <= 8; ++w)
      for (int chunk : {1, 4, 16}) {
        bsell_options const o{h, w, chunk, 2 * chunk, 100};
        auto b = bsell<double>::from_csr(a.view(), o);
        EXPECT_NO_THROW(b.validate()) << h << " x " << w;
        EXPECT_EQ(b.to_csr(), a) << h << " x " << w;
        csr<double> const fresh = other_values(a);
        b.refill(fresh.view());
        EXPECT_EQ(b, bsell<double>::from_csr(fresh.view(), o)) << h << " x " << w;
      }
}

TEST(bsell, a_slice_fills_a_vector_unless_told_otherwise) {
  EXPECT_EQ(bsell<double>::from_csr(borrowed(generate("fem:300"))).chunk, 4);
  EXPECT_EQ(bsell<float>::from_csr(borrowed(generate<float>("fem:300"))).chunk, 8);
}

TEST(bsell, refuses_options_that_cannot_be) {
  csr<double> const a(1, 1, {0, 1}, {0}, {1});
  auto const refused = [&](bsell_options const& o, std::vector<std::string> const& what) {
    EXPECT_TRUE(fails_with(errc::unsupported, what, [&] { bsell<double>::from_csr(a.view(), o); }));
  };
  for (int const bad : {-1, 3, 65, 128})
    refused(layout_of(1, bad), {"bsell", "chunk", std::to_string(bad), "power of two"});
  refused(layout_of(1, 4, 6), {"bsell", "sigma", "6", "multiple of chunk, 4"});
  refused(layout_of(1, 4, -4), {"bsell", "sigma", "-4"});
  refused(layout_of(9, 4), {"rows", "9", "1 to 8"});
}

// One row of 300 blocks in a slice of 64: as much for 63 empty ones.
TEST(bsell, refuses_more_than_the_limit_and_leaks_nothing) {
  std::vector<std::int32_t> lengths(640, 1);
  lengths[5] = 3000;
  csr<double> const a = triangle_of(lengths, 3000);
  failing_memory memory;
  cpu const where{.threads = 2, .memory = &memory};
  bsell_options o = layout_of(1, 64);
  EXPECT_TRUE(fails_with(errc::unsupported, {"bsell", "option limit is 8"},
                         [&] { bsell<double>::from_csr(a.view(), o, where); }));
  EXPECT_EQ(memory.outstanding(), 0u);
  o.limit = 100;
  EXPECT_EQ(bsell<double>::from_csr(a.view(), o, where).to_csr(), a);
}

TEST(bsell, refuses_hostile_arrays) {
  // Two block rows of 2 x 2 in a slice, the second longer: three blocks, one of them with a hole.
  csr<double> const a(4, 6, {0, 2, 4, 8, 11}, {0, 1, 0, 1, 2, 3, 4, 5, 2, 3, 4},
                      {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  auto const good = bsell<double>::from_csr(a.view(), layout_of(2, 2));
  ASSERT_EQ(good.short_col, (shorts{0, 1, 0, 2}));
  ASSERT_EQ(good.pattern.size(), 1u);
  struct broken {
    char const* what;
    std::function<void(bsell<double>&)> change;
    std::vector<std::string> expected;
  };
  std::vector<broken> const cases = {
      {"no height", [](auto& b) { b.height = 0; }, {"0 x 2"}},
      {"too wide", [](auto& b) { b.width = 9; }, {"2 x 9"}},
      {"chunk", [](auto& b) { b.chunk = 3; }, {"chunk is 3"}},
      {"rows", [](auto& b) { b.rows = -4; }, {"-4"}},
      {"len short", [](auto& b) { b.len = {1}; }, {"len has 1", "2"}},
      {"len negative", [](auto& b) { b.len[0] = -1; }, {"len[0] is -1"}},
      {"len long", [](auto& b) { b.len[0] = 3; }, {"slice 0", "expected 4 times 2"}},
      {"pointer", [](auto& b) { b.slice_ptr[0] = 1; }, {"slice_ptr[0] is 1"}},
      {"pointers missing", [](auto& b) { b.slice_ptr = {0}; }, {"slice_ptr has 1"}},
      {"pointers end late", [](auto& b) { b.slice_ptr[1] = 6; }, {"short_col has 4", "6"}},
      {"base", [](auto& b) { b.base[0] = 3; }, {"base outside"}},
      {"base negative", [](auto& b) { b.base[0] = -1; }, {"base outside"}},
      {"no base", [](auto& b) { b.base = {}; }, {"base has 0"}},
      {"column", [](auto& b) { b.short_col[3] = 3; }, {"outside of the matrix at 3"}},
      {"order", [](auto& b) { b.short_col[3] = 1; }, {"ascend at 3"}},
      {"padding's column", [](auto& b) { b.short_col[2] = 1; }, {"padding with a column at 2"}},
      {"padding's value", [](auto& b) { b.val[2] = 1; }, {"hole", "at 2"}},
      {"padding's bit", [](auto& b) { b.pattern[0] |= 1 << 8; }, {"padding with an entry at 2"}},
      {"hole's value", [](auto& b) { b.val[15] = 1; }, {"hole", "at 3"}},
      {"bits beyond", [](auto& b) { b.pattern[0] |= 1 << 16; }, {"beyond"}},
      {"a bit outside", [](auto& b) { b.cols = 5; }, {"outside of the matrix at 3"}},
      {"values missing",
       [](auto& b) {
         b.val = {1, 2};
       },
       {"val has 2", "16"}},
      {"words",
       [](auto& b) {
         b.pattern = {1, 2};
       },
       {"pattern has 2"}},
      {"perm short", [](auto& b) { b.perm = {0}; }, {"perm has 1"}},
      {"perm twice",
       [](auto& b) {
         b.perm = {1, 1};
       },
       {"perm names block row 1 again"}},
      {"perm outside",
       [](auto& b) {
         b.perm = {0, 2};
       },
       {"perm[1] is 2"}},
      {"nnz", [](auto& b) { b.nnz = 7; }, {"11 entries", "7"}},
  };
  EXPECT_NO_THROW(good.validate());
  for (broken const& c : cases) {
    auto b = good;
    c.change(b);
    EXPECT_TRUE(fails_with(errc::bad_structure, c.expected, [&] { b.validate(); })) << c.what;
  }
  bsell_view<double> null = good.view();
  null.val = nullptr;
  EXPECT_TRUE(fails_with(errc::bad_structure, {"val", "null"}, [&] { null.validate(); }));
}

// What does not fit changes nothing, not even where it is the last block that differs.
TEST(bsell, refill_counts_each_row) {
  csr<double> const a(2, 4, {0, 2, 4}, {0, 1, 0, 1}, {1, 2, 3, 4});
  for (csr<double> const& other : {csr<double>(2, 4, {0, 3, 4}, {0, 1, 2, 1}, {1, 2, 3, 4}),
                                   csr<double>(2, 4, {0, 1, 4}, {0, 0, 1, 2}, {1, 2, 3, 4}),
                                   csr<double>(2, 4, {0, 4, 4}, {0, 1, 2, 3}, {1, 2, 3, 4}),
                                   csr<double>(2, 4, {0, 0, 4}, {0, 1, 2, 3}, {1, 2, 3, 4})})
    for (int const side : {1, 2, 3}) {
      auto b = bsell<double>::from_csr(a.view(), layout_of(side, 2));
      auto const before = b;
      EXPECT_TRUE(
          fails_with(errc::bad_structure, {"bsell", "refill"}, [&] { b.refill(other.view()); }));
      EXPECT_EQ(b, before);
    }
}

} // namespace
} // namespace tulle::test::bsell_test

// SPDX-License-Identifier: Apache-2.0

// cmrs: the paper's matrix in every order, arrays that are not strips, options that are not there.
#include "tulle/format/cmrs.hpp"

#include "support/expect.hpp"
#include "support/memory.hpp"
#include "support/zoo.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <limits>

namespace tulle::test::cmrs_test {
namespace {

using ints = array<std::int32_t>;
using doubles = array<double>;

constexpr std::int32_t sign = std::numeric_limits<std::int32_t>::min();

// Koza et al., eq. 2.1.
csr<double> paper() {
  return {
      5, 5, {0, 2, 4, 6, 9, 10}, {0, 3, 1, 4, 2, 4, 2, 3, 4, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}};
}

/// A column word of a strip of two.
constexpr std::int32_t word(std::int32_t column, std::int32_t row) {
  return 2 * column + row;
}

// Sec. 3: columns and values as in csr, rows 0 0 1 1 | 0 0 1 1 1 | 0.
TEST(cmrs, the_papers_strips_in_the_order_of_csr) {
  auto const a = cmrs<double>::from_csr(borrowed(paper()), {.height = 2, .sorted = false});
  EXPECT_EQ(a.strip_ptr, (ints{0, 4, 9, 10}));
  EXPECT_EQ(a.col, (ints{word(0, 0), word(3, 0), word(1, 1), word(4, 1), word(2, 0), word(4, 0),
                         word(2, 1), word(3, 1), word(4, 1), word(4, 0)}));
  EXPECT_EQ(a.val, (doubles{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  EXPECT_EQ(a.layout, (cmrs_layout{2, false, 0, 0}));
  EXPECT_EQ(a.bytes(), 4 * 4 + 10 * 12u);
}

// Sec. 4: sorted by strip, then by column.
TEST(cmrs, the_papers_strips_sorted) {
  auto const a = cmrs<double>::from_csr(borrowed(paper()), {.height = 2, .sorted = true});
  EXPECT_EQ(a.strip_ptr, (ints{0, 4, 9, 10}));
  EXPECT_EQ(a.col, (ints{word(0, 0), word(1, 1), word(3, 0), word(4, 1), word(2, 0), word(2, 1),
                         word(3, 1), word(4, 0), word(4, 1), word(4, 0)}));
  EXPECT_EQ(a.val, (doubles{1, 3, 2, 4, 5, 7, 8, 6, 9, 10}));
}

// Sec. 6.7, warps of 4 with at most 2 of a row: strip 1 has 2 + 3 entries, so two warps; they take
// turns: 5, 7 and 9 | 6, 8.
TEST(cmrs, the_papers_strips_padded) {
  auto const a = cmrs<double>::from_csr(borrowed(paper()),
                                        {.height = 2, .padded = true, .warp = 4, .modulo = 2});
  EXPECT_EQ(a.strip_ptr, (ints{0, 4, 12, 16}));
  EXPECT_EQ(a.nnz, 10);
  std::int32_t const last = word(4, 0) | sign;
  EXPECT_EQ(a.col, (ints{word(0, 0), word(3, 0), word(1, 1), word(4, 1),        //
                         word(2, 0), word(2, 1), word(3, 1), word(3, 1) | sign, //
                         word(4, 0), word(4, 1), word(4, 1) | sign, word(4, 1) | sign, word(4, 0),
                         last, last, last}));
  EXPECT_EQ(a.val, (doubles{1, 2, 3, 4, 5, 7, 8, 0, 6, 9, 0, 0, 10, 0, 0, 0}));
  EXPECT_NO_THROW(a.validate());
  EXPECT_EQ(a.to_csr(), paper());
}

// A row of six with at most one in a warp: six warps, whatever the others need.
TEST(cmrs, a_long_row_asks_for_warps) {
  csr<double> const a(2, 6, {0, 6, 7}, {0, 1, 2, 3, 4, 5, 0}, {1, 2, 3, 4, 5, 6, 7});
  auto const m =
      cmrs<double>::from_csr(a.view(), {.height = 2, .padded = true, .warp = 4, .modulo = 1});
  EXPECT_EQ(m.strip_ptr, (ints{0, 24}));
  EXPECT_NO_THROW(m.validate());
  EXPECT_EQ(m.to_csr(), a);
}

TEST(cmrs, height_one_is_csr) {
  auto const a = cmrs<double>::from_csr(borrowed(paper()), {.height = 1});
  EXPECT_EQ(a.strip_ptr, paper().row_ptr);
  EXPECT_EQ(a.col, paper().col);
  EXPECT_EQ(a.val, paper().val);
}

// Stored zeros are entries, padding is not.
TEST(cmrs, stored_zeros_are_not_padding) {
  csr<double> const a(3, 3, {0, 2, 2, 3}, {0, 2, 1}, {0, 0, 0});
  auto const m =
      cmrs<double>::from_csr(a.view(), {.height = 2, .padded = true, .warp = 8, .modulo = 2});
  EXPECT_EQ(m.nnz, 3);
  EXPECT_EQ(m.col.size(), 16u);
  EXPECT_EQ(m.to_csr(), a);
}

cmrs_options const layouts[] = {
    {.height = 2},
    {.height = 16},
    {.height = 64, .sorted = false},
    {.height = 8, .padded = true},
};

TEST(cmrs, from_a_csr_that_is_given_away_is_the_same) {
  for (animal const& a : zoo())
    for (cmrs_options const& o : layouts) {
      auto const expected = cmrs<double>::from_csr(a.matrix.view(), o);
      for (int const threads : {1, 3}) {
        csr<double> given = a.matrix;
        auto const m = cmrs<double>::from_csr(std::move(given), o, cpu{.threads = threads});
        EXPECT_TRUE(same_arrays(m.view(), expected.view())) << a.name << ' ' << o.height;
        EXPECT_EQ(given.rows, 0);
        EXPECT_EQ(given.bytes(), 0u);
      }
    }
}

// Rows of one pattern are sorted once: a whole strip of them, some, none; without entries; in a
// last strip that is not full.
TEST(cmrs, rows_alike_are_sorted_as_all_are) {
  for (std::int32_t const length : {1, 3, 40}) {
    std::vector<std::int32_t> ptr{0}, col;
    std::vector<double> val;
    for (std::int32_t const pattern : {0, 0, 0, 0, 1, 1, 2, 2, -1, -1, 0, 0, 1, 0, 1, 0, 3, 3}) {
      for (std::int32_t k = 0; pattern >= 0 && k < length; ++k) {
        col.push_back(5 * k + pattern % 2 + pattern / 2 * (k % 2));
        val.push_back(static_cast<double>(val.size()));
      }
      ptr.push_back(static_cast<std::int32_t>(col.size()));
    }
    csr<double> const a(18, 1000, {ptr.data(), ptr.size()}, {col.data(), col.size()},
                        {val.data(), val.size()});
    auto const m = cmrs<double>::from_csr(a.view(), {.height = 4});
    for (std::size_t s = 0; s < 5; ++s) {
      std::vector<std::pair<std::int32_t, double>> wanted; // words ascend as columns, then rows do
      for (std::size_t i = 4 * s; i < std::min<std::size_t>(18, 4 * s + 4); ++i)
        for (auto k = static_cast<std::size_t>(ptr[i]); k < static_cast<std::size_t>(ptr[i + 1]);
             ++k)
          wanted.emplace_back(4 * col[k] + static_cast<std::int32_t>(i % 4), val[k]);
      std::sort(wanted.begin(), wanted.end());
      auto const first = static_cast<std::size_t>(m.strip_ptr[s]);
      ASSERT_EQ(static_cast<std::size_t>(m.strip_ptr[s + 1]) - first, wanted.size());
      for (std::size_t k = 0; k < wanted.size(); ++k) {
        EXPECT_EQ(m.col[first + k], wanted[k].first) << length << ' ' << s;
        EXPECT_EQ(m.val[first + k], wanted[k].second) << length << ' ' << s;
      }
    }
    csr<double> given = a;
    EXPECT_TRUE(
        same_arrays(borrowed(cmrs<double>::from_csr(std::move(given), {.height = 4})), m.view()));
  }
}

TEST(cmrs, a_csr_given_away_keeps_its_arrays) {
  for (bool const sorted : {false, true}) {
    csr<double> given = paper();
    auto const* const col = given.col.data();
    auto const* const val = given.val.data();
    auto const m = cmrs<double>::from_csr(std::move(given), {.height = 4, .sorted = sorted});
    EXPECT_EQ(m.col.data(), col);
    EXPECT_EQ(m.val.data(), val);
    EXPECT_EQ(m.to_csr(), paper());
  }
}

// Refused, or out of memory at any allocation: what was given is still there.
TEST(cmrs, a_csr_that_is_refused_is_not_taken) {
  csr<double> const a = find("lengths_0_to_70_unsorted_duplicates").matrix;
  csr<double> given = a;
  EXPECT_TRUE(fails_with(errc::unsupported, {"height"},
                         [&] { cmrs<double>::from_csr(std::move(given), {.height = 3}); }));
  EXPECT_TRUE(same_arrays(given.view(), a.view()));
  for (csr<double> const& before : {a, a.to_csr()}) {
    failing_memory memory;
    bool done = false;
    for (std::size_t k = 1; k < 20 && !done; ++k) {
      given = before;
      memory.fail_at(k);
      try {
        cmrs<double>::from_csr(std::move(given), {}, cpu{.threads = 1, .memory = &memory});
        done = true;
      } catch (error const& e) {
        EXPECT_EQ(e.code(), errc::out_of_memory);
        EXPECT_TRUE(same_arrays(given.view(), before.view())) << k;
      }
      EXPECT_EQ(memory.outstanding(), 0u);
    }
    EXPECT_TRUE(done);
  }
}

TEST(cmrs, options_that_are_not_there_are_refused) {
  auto const refused = [](cmrs_options o, std::vector<std::string> const& words) {
    EXPECT_TRUE(fails_with(errc::unsupported, words,
                           [&] { cmrs<double>::from_csr(borrowed(paper()), o); }));
  };
  refused({.height = 0}, {"height is 0", "1 to 64"});
  refused({.height = 3}, {"height is 3", "power of two"});
  refused({.height = 128}, {"height is 128", "1 to 64"});
  refused({.height = -8}, {"height is -8"});
  refused({.padded = true, .warp = 6}, {"warp is 6"});
  refused({.padded = true, .warp = 0}, {"warp is 0"});
  refused({.padded = true, .warp = 128}, {"warp is 128"});
  refused({.padded = true, .warp = 8, .modulo = 16}, {"modulo is 16", "1 to 8"});
  refused({.padded = true, .modulo = 0}, {"modulo is 0"});
}

// 2^25 columns and six bits are 31; one column more is too many, and nothing is read to find out.
TEST(cmrs, columns_that_do_not_fit_a_word_are_refused) {
  std::int32_t const most = 1 << 25;
  csr<double> const fits(1, most, {0, 1}, {most - 1}, {1});
  auto const m = cmrs<double>::from_csr(fits.view(), {.height = 64});
  EXPECT_EQ(m.col, ints{(most - 1) * 64});
  EXPECT_EQ(m.to_csr(), fits);
  csr<double> const wide(1, most + 1, {0, 1}, {0}, {1});
  EXPECT_TRUE(fails_with(errc::overflow, {"33554433 columns", "6 bits"},
                         [&] { cmrs<double>::from_csr(wide.view(), {.height = 64}); }));
  EXPECT_TRUE(fails_with(errc::overflow, {"33554433 columns"},
                         [&] { cmrs<double>::from_csr(csr<double>(wide), {.height = 64}); }));
  EXPECT_NO_THROW(cmrs<double>::from_csr(wide.view(), {.height = 32}));
  EXPECT_TRUE(fails_with(errc::overflow, {"33554433 columns"}, [&] {
    cmrs<double>(1, most + 1, cmrs_layout{64, true, 0, 0}, {0, 0}, {}, {});
  }));
  csr_view<double> const unread(unchecked, 1, most + 1, 1, nullptr, nullptr, nullptr);
  EXPECT_TRUE(fails_with(errc::overflow, {"33554433 columns"},
                         [&] { cmrs<double>::from_csr(unread, {.height = 64}); }));
  using wide_cmrs = cmrs<double, std::int64_t, std::int64_t>;
  csr<double, std::int64_t> const far(1, std::int64_t(1) << 57, {0, 1},
                                      {(std::int64_t(1) << 57) - 1}, {1});
  EXPECT_EQ(wide_cmrs::from_csr(far.view(), {.height = 64}).to_csr(), far);
}

// Rows of one entry among rows of very many, one of each in a strip, one of a row in a warp of 64.
TEST(cmrs, padding_beyond_the_limit_is_refused_before_it_is_made) {
  std::int32_t const n = 40000;
  csr<double> a(unchecked, 1, n, {0, n}, ints(n), doubles(n, 1.0));
  for (std::int32_t j = 0; j < n; ++j)
    a.col[static_cast<std::size_t>(j)] = j;
  cmrs_options o{.height = 2, .padded = true, .warp = 64, .modulo = 1};
  failing_memory memory(1);
  EXPECT_TRUE(fails_with(errc::unsupported, {"cmrs", "bytes", "option limit is 8"}, [&] {
    cmrs<double>::from_csr(a.view(), o, cpu{.threads = 1, .memory = &memory});
  }));
  EXPECT_EQ(memory.allocations(), 0u);
  o.limit = 65;
  auto const m = cmrs<double>::from_csr(a.view(), o);
  EXPECT_EQ(m.col.size(), 64u * n);
  EXPECT_EQ(m.to_csr(), a);
}

struct broken {
  char const* what;
  std::int32_t rows, cols;
  cmrs_layout layout;
  ints strip_ptr, col;
  doubles val;
  std::vector<std::string> expected;
};

TEST(cmrs, broken_arrays_are_refused) {
  cmrs_layout const plain{2, false, 0, 0};
  cmrs_layout const sorted{2, true, 0, 0};
  cmrs_layout const padded{2, false, 4, 2};
  broken const cases[] = {
      {"rows negative", -1, 4, plain, {0}, {}, {}, {"-1"}},
      {"height not a power of two", 3, 4, {3, false, 0, 0}, {0, 0}, {}, {}, {"height 3"}},
      {"height zero", 3, 4, {0, false, 0, 0}, {0, 0}, {}, {}, {"height 0"}},
      {"height too large", 3, 4, {128, false, 0, 0}, {0, 0}, {}, {}, {"height 128"}},
      {"warp without modulo", 3, 4, {2, false, 4, 0}, {0, 0, 0}, {}, {}, {"warp 4, modulo 0"}},
      {"modulo beyond warp", 3, 4, {2, false, 4, 8}, {0, 0, 0}, {}, {}, {"modulo 8"}},
      {"padded and sorted", 3, 4, {2, true, 4, 2}, {0, 0, 0}, {}, {}, {"not sorted"}},
      {"a pointer too many", 3, 4, plain, {0, 0, 0, 0}, {}, {}, {"4 pointers"}},
      {"pointers of rows, not strips", 4, 4, plain, {0, 0, 0, 0, 0}, {}, {}, {"5 pointers", "2"}},
      {"first pointer not 0", 3, 4, plain, {1, 1, 1}, {0}, {1}, {"strip_ptr[0] is 1"}},
      {"pointers decrease", 3, 4, plain, {0, 2, 1}, {0}, {1}, {"from 2 to 1", "at 2"}},
      {"pointers end late", 3, 4, plain, {0, 1, 2}, {0}, {1}, {"at 2", "1 entries"}},
      {"a value missing", 3, 4, plain, {0, 1, 2}, {0, 0}, {1}, {"2 indices", "1 values"}},
      {"column at the limit", 3, 4, plain, {0, 1, 1}, {8}, {1}, {"col[0] is 8", "column 4"}},
      {"row that the last strip lacks", 3, 4, plain, {0, 0, 1}, {1}, {1}, {"col[0] is 1", "row 1"}},
      {"padding where there is none", 3, 4, plain, {0, 1, 1}, {sign}, {0}, {"col[0]", "padding"}},
      {"rows descend", 3, 4, plain, {0, 2, 2}, {1, 2}, {1, 2}, {"col[1] is 2", "out of order"}},
      {"columns descend", 3, 4, plain, {0, 2, 2}, {4, 2}, {1, 2}, {"col[1] is 2", "ascend"}},
      {"a duplicate", 3, 4, plain, {0, 2, 2}, {4, 4}, {1, 2}, {"col[1] is 4", "ascend"}},
      {"words descend", 3, 4, sorted, {0, 2, 2}, {3, 2}, {1, 2}, {"col[1] is 2", "out of order"}},
      {"a sorted duplicate", 3, 4, sorted, {0, 2, 2}, {3, 3}, {1, 2}, {"col[1] is 3", "ascend"}},
      {"part of a warp", 3, 4, padded, {0, 3, 3}, {0, 1, 2}, {1, 2, 3}, {"3 slots", "of 4"}},
      {"three of a row in a warp",
       3,
       4,
       padded,
       {0, 4, 4},
       {0, 2, 4, 1},
       {1, 2, 3, 4},
       {"col[2] is 4", "too many"}},
      {"rows of a warp descend",
       3,
       4,
       padded,
       {0, 4, 4},
       {1, 2, 3 | sign, 3 | sign},
       {1, 2, 0, 0},
       {"col[1] is 2", "out of order"}},
      {"columns descend over warps",
       3,
       4,
       padded,
       {0, 8, 8},
       {4, 4 | sign, 4 | sign, 4 | sign, 2, 2 | sign, 2 | sign, 2 | sign},
       {1, 0, 0, 0, 2, 0, 0, 0},
       {"col[4] is 2", "ascend"}},
      {"an entry behind padding",
       3,
       4,
       padded,
       {0, 4, 4},
       {0, sign, 2, 2 | sign},
       {1, 0, 2, 0},
       {"col[2] is 2", "follows padding"}},
      {"a warp of padding",
       3,
       4,
       padded,
       {0, 4, 4},
       {sign, sign, sign, sign},
       {0, 0, 0, 0},
       {"col[0]", "start of a warp"}},
      {"padding with a value",
       3,
       4,
       padded,
       {0, 4, 4},
       {0, sign, sign, sign},
       {1, 0, 5, 0},
       {"val[2]", "padding"}},
      {"padding outside the matrix",
       3,
       4,
       padded,
       {0, 4, 4},
       {0, sign | 8, sign, sign},
       {1, 0, 0, 0},
       {"col[1]", "column 4"}},
  };
  for (broken const& b : cases) {
    EXPECT_TRUE(fails_with(errc::bad_structure, b.expected, [&] {
      cmrs_view<double>(b.rows, b.cols, b.layout, b.strip_ptr, b.col, b.val);
    })) << b.what;
    EXPECT_TRUE(fails_with(errc::bad_structure, b.expected, [&] {
      cmrs<double>(b.rows, b.cols, b.layout, b.strip_ptr, b.col, b.val);
    })) << b.what;
    cmrs<double> const unseen(unchecked, b.rows, b.cols, 0, b.layout, b.strip_ptr, b.col, b.val);
    EXPECT_TRUE(fails_with(errc::bad_structure, b.expected, [&] { unseen.validate(); })) << b.what;
  }
}

TEST(cmrs, a_wrong_count_of_entries_is_refused) {
  auto a = cmrs<double>::from_csr(borrowed(paper()), {.padded = true});
  a.nnz = 11;
  EXPECT_TRUE(fails_with(errc::bad_structure, {"nnz is 11", "10 entries"}, [&] { a.validate(); }));
  EXPECT_TRUE(
      fails_with(errc::bad_structure, {"nnz is 11", "10 entries"}, [&] { a.view().validate(); }));
}

TEST(cmrs, null_with_a_size_is_refused) {
  std::span<std::int32_t const> const none(static_cast<std::int32_t const*>(nullptr), 2);
  std::span<double const> const no_values(static_cast<double const*>(nullptr), 2);
  ints const ptr{0, 2};
  ints const col{0, 1};
  doubles const val{1, 2};
  cmrs_layout const l{2, true, 0, 0};
  auto const refused = [](char const* name, auto&& f) {
    EXPECT_TRUE(fails_with(errc::bad_structure, {name, "null"}, f));
  };
  refused("strip_ptr", [&] { cmrs_view<double>(2, 2, l, none, col, val); });
  refused("col", [&] { cmrs_view<double>(2, 2, l, ptr, none, val); });
  refused("val", [&] { cmrs_view<double>(2, 2, l, ptr, col, no_values); });
}

TEST(cmrs, what_arrays_say_is_taken) {
  cmrs<double> const a(3, 4, cmrs_layout{2, false, 4, 2}, {0, 4, 4},
                       {0, 6, 3, std::int32_t(3 | sign)}, {1, 2, 3, 0});
  EXPECT_EQ(a.nnz, 3);
  EXPECT_EQ(a.to_csr(), (csr<double>(3, 4, {0, 2, 3, 3}, {0, 3, 1}, {1, 2, 3})));
  EXPECT_NO_THROW(cmrs<double>(0, 7, cmrs_layout{2, true, 0, 0}, {}, {}, {}));
  EXPECT_NO_THROW(cmrs<double>(0, 7, cmrs_layout{2, true, 0, 0}, {0}, {}, {}));
}

} // namespace
} // namespace tulle::test::cmrs_test

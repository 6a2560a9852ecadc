// SPDX-License-Identifier: Apache-2.0

// dia: the worked examples of Liu's thesis, sec. 5.2.1, which diagonals are kept, and arrays that
// are not what they claim to be.
#include "tulle/format/dia.hpp"

#include "support/expect.hpp"
#include "support/memory.hpp"

#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <thread>

namespace tulle::test::dia_test {
namespace {

using ints = array<std::int32_t>;
using doubles = array<double>;
using bytes = array<std::uint8_t>;

/// Rows of (column, value).
csr<double> from_rows(std::int32_t cols,
                      std::vector<std::vector<std::pair<std::int32_t, double>>> const& rows) {
  std::vector<std::int32_t> ptr{0}, col;
  std::vector<double> val;
  for (auto const& row : rows) {
    for (auto const& [j, v] : row) {
      col.push_back(j);
      val.push_back(v);
    }
    ptr.push_back(static_cast<std::int32_t>(col.size()));
  }
  return {static_cast<std::int32_t>(rows.size()), cols, ints(ptr.data(), ptr.size()),
          ints(col.data(), col.size()), doubles(val.data(), val.size())};
}

// Figures 5.1, 5.2 and 5.3: one diagonal, three, and three with two weak ones.
csr<double> a0() {
  return from_rows(6, {{{0, 1}}, {{1, 1}}, {{2, 1}}, {{3, 1}}, {{4, 1}}, {{5, 1}}});
}
csr<double> a1() {
  return from_rows(6, {{{0, 1}, {1, 2}},
                       {{0, 1}, {1, 2}, {2, 3}},
                       {{1, 1}, {2, 2}, {3, 3}},
                       {{2, 1}, {3, 2}, {4, 3}},
                       {{3, 1}, {4, 2}, {5, 3}},
                       {{4, 1}, {5, 2}}});
}
csr<double> a2() {
  return from_rows(6, {{{0, 1}, {1, 2}},
                       {{0, 1}, {1, 2}, {2, 3}},
                       {{0, 1}, {1, 2}, {2, 3}, {3, 4}},
                       {{2, 1}, {3, 2}, {4, 3}, {5, 4}},
                       {{3, 1}, {4, 2}, {5, 3}},
                       {{4, 1}, {5, 2}}});
}

TEST(dia, one_diagonal_is_one_array) {
  auto const m = dia<double>::from_csr(borrowed(a0()), {.block = 8});
  EXPECT_EQ(m.diagonal, (ints{0}));
  EXPECT_EQ(m.block_ptr, (ints{0, 1}));
  EXPECT_EQ(m.val, (doubles{1, 1, 1, 1, 1, 1, 0, 0}));
  EXPECT_EQ(m.mask, (bytes{0x3f}));
  EXPECT_EQ(m.nnz, 6);
}

TEST(dia, three_diagonals_are_padded_where_the_matrix_ends) {
  auto const m = dia<double>::from_csr(borrowed(a1()), {.block = 8});
  EXPECT_EQ(m.diagonal, (ints{-1, 0, 1}));
  EXPECT_EQ(m.val, (doubles{0, 1, 1, 1, 1, 1, 0, 0, //
                            1, 2, 2, 2, 2, 2, 0, 0, //
                            2, 3, 3, 3, 3, 0, 0, 0}));
  EXPECT_EQ(m.mask, (bytes{0x3e, 0x3f, 0x1f}));
  EXPECT_TRUE(m.stray_row.empty());
}

TEST(dia, weak_diagonals_are_strays) {
  auto const m = dia<double>::from_csr(borrowed(a2()), {.block = 8});
  EXPECT_EQ(m.diagonal, (ints{-1, 0, 1}));
  EXPECT_EQ(m.val, (doubles{0, 1, 2, 1, 1, 1, 0, 0, //
                            1, 2, 3, 2, 2, 2, 0, 0, //
                            2, 3, 4, 3, 3, 0, 0, 0}));
  EXPECT_EQ(m.stray_row, (ints{2, 3}));
  EXPECT_EQ(m.stray_ptr, (ints{0, 1, 2}));
  EXPECT_EQ(m.stray_col, (ints{0, 5}));
  EXPECT_EQ(m.stray_val, (doubles{1, 4}));
  EXPECT_EQ(m.to_csr(), a2());
}

TEST(dia, without_a_threshold_weak_diagonals_are_kept) {
  auto const m = dia<double>::from_csr(borrowed(a2()), {.block = 8, .fill = 0});
  EXPECT_EQ(m.diagonal, (ints{-2, -1, 0, 1, 2}));
  EXPECT_EQ(m.val, (doubles{0, 0, 1, 0, 0, 0, 0, 0, //
                            0, 1, 2, 1, 1, 1, 0, 0, //
                            1, 2, 3, 2, 2, 2, 0, 0, //
                            2, 3, 4, 3, 3, 0, 0, 0, //
                            0, 0, 0, 4, 0, 0, 0, 0}));
  EXPECT_EQ(m.mask, (bytes{0x04, 0x3e, 0x3f, 0x1f, 0x08}));
  EXPECT_TRUE(m.stray_row.empty());
}

// A diagonal takes slots in the blocks that it meets, and in no other.
TEST(dia, a_diagonal_ends_with_the_matrix) {
  auto const m = dia<double>::from_csr(
      borrowed(from_rows(4, {{{3, 1}}, {}, {}, {}, {}, {}, {{0, 2}}, {{1, 3}}})),
      {.block = 2, .fill = .5});
  EXPECT_EQ(m.diagonal, (ints{-6, 3}));
  EXPECT_EQ(m.block_ptr, (ints{0, 1, 1, 1, 2}));
  EXPECT_EQ(m.val, (doubles{1, 0, 2, 3}));
  EXPECT_EQ(m.mask, (bytes{1, 3}));
}

TEST(dia, the_threshold_is_a_share_of_the_slots) {
  auto const a = from_rows(4, {{{0, 1}}, {{1, 1}}, {{2, 1}}, {}}); // three of four
  EXPECT_EQ(dia<double>::from_csr(a.view(), {.block = 4, .fill = .75}).diagonal, (ints{0}));
  EXPECT_TRUE(dia<double>::from_csr(a.view(), {.block = 4, .fill = .76}).diagonal.empty());
}

TEST(dia, stored_zeros_are_entries_and_holes_are_not) {
  auto const a = from_rows(2, {{{0, 0.}}, {{0, 5}}});
  auto const m = dia<double>::from_csr(a.view(), {.block = 2, .fill = 0});
  EXPECT_EQ(m.diagonal, (ints{-1, 0}));
  EXPECT_EQ(m.val, (doubles{0, 5, 0, 0}));
  EXPECT_EQ(m.mask, (bytes{2, 1}));
  EXPECT_EQ(m.to_csr(), a);
}

TEST(dia, far_more_columns_than_entries_take_no_counters) {
  using I = std::int64_t;
  I const far = I(1) << 61;
  csr<double, I> const a(3, far, {0, 2, 2, 4}, {0, far - 1, 2, 5}, {1, 2, 3, 4});
  auto const m = dia<double, I>::from_csr(a.view(), {.block = 1, .fill = .6});
  EXPECT_EQ(m.diagonal, (array<I>{0, far - 1})); // two of three, one of one
  EXPECT_EQ(m.stray_row, (array<I>{2}));
  EXPECT_EQ(m.to_csr(), a);
}

TEST(dia, options_out_of_range_are_refused) {
  auto const refused = [](std::vector<std::string> const& words, dia_options o) {
    EXPECT_TRUE(
        fails_with(errc::unsupported, words, [&] { dia<double>::from_csr(borrowed(a1()), o); }));
  };
  for (int const block : {0, -8, 3, 48, 2048})
    refused({"dia", "block is " + std::to_string(block), "power of two up to 1024"},
            {.block = block});
  refused({"dia", "fill is -0.1", "between 0 and 1"}, {.fill = -.1});
  refused({"dia", "fill is 1.5"}, {.fill = 1.5});
  refused({"dia", "fill is nan"}, {.fill = std::numeric_limits<double>::quiet_NaN()});
  refused({"dia", "limit is -1"}, {.limit = -1});
}

TEST(dia, a_layout_above_the_limit_is_refused) {
  std::vector<std::vector<std::pair<std::int32_t, double>>> rows(4096);
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] = {{static_cast<std::int32_t>(i * 2654435761u % 4096), 1.}};
  csr<double> const a = from_rows(4096, rows);
  EXPECT_TRUE(fails_with(errc::unsupported, {"dia", "bytes", "option limit is 8"},
                         [&] { dia<double>::from_csr(a.view(), {.fill = 0}); }));
  EXPECT_NO_THROW(dia<double>::from_csr(a.view(), {.fill = 0, .limit = 1e6}));
  EXPECT_NO_THROW(dia<double>::from_csr(a.view())); // all strays
}

TEST(dia, refill_tells_a_stray_from_an_entry) {
  auto const before = dia<double>::from_csr(borrowed(a2()), {.block = 8});
  auto m = before;
  csr<double> moved = a2();
  moved.col[5] = 5; // the stray of row 2: now the row has {5, 1, 2, 3}
  EXPECT_TRUE(fails_with(errc::bad_structure, {"dia", "refill"}, [&] { m.refill(moved.view()); }));
  EXPECT_EQ(m, before);
  csr<double> other = a2();
  for (double& v : other.val)
    v += 10;
  m.refill(other.view());
  EXPECT_EQ(m, dia<double>::from_csr(other.view(), {.block = 8}));
}

// 1 2 . 7
// 2 3 4 .
// . 4 5 6
// 7 . 6 0, the last 0 stored
csr<double> symmetric() {
  return from_rows(4, {{{0, 1}, {1, 2}, {3, 7}},
                       {{0, 2}, {1, 3}, {2, 4}},
                       {{1, 4}, {2, 5}, {3, 6}},
                       {{0, 7}, {2, 6}, {3, 0}}});
}

TEST(dia, symmetric_keeps_the_diagonals_below_and_all_strays) {
  auto const m =
      dia<double>::from_csr(borrowed(symmetric()), {.block = 4, .fill = .5, .symmetric = true});
  EXPECT_EQ(m.diagonal, (ints{-1, 0}));
  EXPECT_EQ(m.val, (doubles{0, 2, 4, 6, 1, 3, 5, 0}));
  EXPECT_EQ(m.mask, (bytes{0x0e, 0x0f}));
  EXPECT_EQ(m.stray_row, (ints{0, 3}));
  EXPECT_EQ(m.stray_col, (ints{3, 0}));
  EXPECT_EQ(m.stray_val, (doubles{7, 7}));
  EXPECT_EQ(m.nnz, 12);
  EXPECT_EQ(m.to_csr(), symmetric());
  EXPECT_NO_THROW(m.validate());
}

TEST(dia, symmetric_gives_inf_and_nan_back) {
  csr<double> a = symmetric();
  a.val[1] = a.val[3] = std::numeric_limits<double>::infinity();
  a.val[5] = a.val[6] = std::numeric_limits<double>::quiet_NaN();
  auto const m = dia<double>::from_csr(a.view(), {.block = 2, .symmetric = true});
  EXPECT_TRUE(same_arrays(borrowed(m.to_csr()), a.view()));
}

TEST(dia, symmetric_refuses_the_first_entry_without_an_equal_twin) {
  auto const refused = [](std::vector<std::string> const& words, csr<double> const& a) {
    EXPECT_TRUE(fails_with(errc::unsupported, words,
                           [&] { dia<double>::from_csr(a.view(), {.symmetric = true}); }));
  };
  csr<double> a = symmetric();
  a.val[10] = 8; // (3, 2)
  refused({"dia", "symmetric storage of a matrix whose (2, 3) is 6 and (3, 2) is 8"}, a);
  a = symmetric();
  a.val[1] = -0.;
  a.val[3] = 0.;
  refused({"(0, 1) is -0 and (1, 0) is 0"}, a);
  refused({"(1, 0) is stored and (0, 1) is not"}, from_rows(2, {{{0, 1}}, {{0, 2}, {1, 3}}}));
  refused({"(0, 1) is stored and (1, 0) is not"}, from_rows(2, {{{0, 1}, {1, 2}}, {{1, 3}}}));
  refused({"2 rows and 3 columns"}, from_rows(3, {{{0, 1}}, {{1, 3}}}));
}

TEST(dia, symmetric_refills_with_symmetric_values_alone) {
  dia_options const o{.block = 2, .fill = .5, .symmetric = true};
  auto const before = dia<double>::from_csr(borrowed(symmetric()), o);
  auto m = before;
  csr<double> a = symmetric();
  a.val[2] = 9; // (0, 3)
  EXPECT_TRUE(fails_with(errc::unsupported, {"dia", "(0, 3) is 9 and (3, 0) is 7"},
                         [&] { m.refill(a.view()); }));
  EXPECT_EQ(m, before);
  csr<double> moved = symmetric();
  moved.col[2] = 2; // as many entries, without twins
  EXPECT_TRUE(fails_with(errc::bad_structure, {"dia", "refill"}, [&] { m.refill(moved.view()); }));
  EXPECT_EQ(m, before);
  a.val[9] = 9;
  m.refill(a.view());
  EXPECT_EQ(m, dia<double>::from_csr(a.view(), o));
}

TEST(dia, what_is_not_symmetric_is_refused_by_every_constructor) {
  auto const refused = [](std::vector<std::string> const& words, std::int32_t cols, ints diagonal,
                          ints stray_row, ints stray_ptr, ints stray_col, doubles stray_val) {
    EXPECT_TRUE(fails_with(errc::bad_structure, words, [&] {
      dia<double>(4, cols, 4, diagonal, {0, 1}, {1, 1, 1, 0}, {7}, stray_row, stray_ptr, stray_col,
                  stray_val, true);
    })) << words[0];
  };
  refused({"symmetric", "4 rows and 5 columns"}, 5, {0}, {}, {}, {}, {});
  refused({"diagonal[0] is 1", "above"}, 4, {1}, {}, {}, {}, {});
  refused({"stray_val[0]", "twin"}, 4, {0}, {1}, {0, 1}, {0}, {2});
  refused({"stray_val[0]", "twin"}, 4, {0}, {0, 1}, {0, 1, 2}, {1, 0}, {2, 3});
  refused({"stray_val[0]", "twin"}, 4, {0}, {0, 2}, {0, 1, 2}, {1, 0}, {2, 2});
  EXPECT_NO_THROW((dia<double>(4, 4, 4, {0}, {0, 1}, {1, 1, 1, 0}, {7}, {0, 1}, {0, 1, 2}, {1, 0},
                               {2, 2}, true)));
  EXPECT_TRUE(fails_with(errc::bad_structure, {"stray_col[0] is 1", "mirrors diagonal -1"}, [&] {
    dia<double>(4, 4, 4, {-1}, {0, 1}, {0, 1, 1, 1}, {14}, {0}, {0, 1}, {1}, {2}, true);
  }));
}

/// 12 rows of 1 2 3 around the diagonal, or of others in one of them.
csr<double> band(double other = 2) {
  std::vector<std::vector<std::pair<std::int32_t, double>>> rows(12);
  for (std::int32_t i = 0; i < 12; ++i) {
    if (i > 0)
      rows[static_cast<std::size_t>(i)].push_back({i - 1, 1});
    rows[static_cast<std::size_t>(i)].push_back({i, i == 6 ? other : 2});
    if (i < 11)
      rows[static_cast<std::size_t>(i)].push_back({i + 1, 3});
  }
  return from_rows(12, rows);
}

TEST(dia, shared_keeps_each_stretch_once) {
  auto const m = dia<double>::from_csr(borrowed(band()), {.block = 4, .shared = true});
  EXPECT_EQ(m.diagonal, (ints{-1, 0, 1}));
  EXPECT_EQ(m.block_ptr, (ints{0, 3, 6, 9}));
  EXPECT_EQ(m.val, (doubles{0, 1, 1, 1, //
                            2, 2, 2, 2, //
                            3, 3, 3, 3, //
                            1, 1, 1, 1, //
                            3, 3, 3, 0}));
  EXPECT_EQ(m.shared, (ints{0, 1, 2, 3, 1, 2, 3, 1, 4}));
  EXPECT_EQ(m.mask, (bytes{14, 15, 15, 15, 15, 15, 15, 15, 7}));
  EXPECT_EQ(m.to_csr(), band());
  EXPECT_NO_THROW(m.validate());
  EXPECT_EQ(m.bytes(), (20 + 0) * 8 + 9 * 4 + 9 + 4 * 4 + 3 * 4u);
}

TEST(dia, shared_tells_values_apart_by_their_bits) {
  auto const m =
      dia<double>::from_csr(borrowed(from_rows(4, {{{0, 0.}}, {{1, 0.}}, {{2, -0.}}, {{3, 0.}}})),
                            {.block = 1, .shared = true});
  EXPECT_EQ(m.shared, (ints{0, 0, 1, 0}));
  EXPECT_TRUE(std::signbit(m.to_csr().val[2]));
  EXPECT_FALSE(std::signbit(m.to_csr().val[3]));
}

TEST(dia, shared_is_found_anew_when_values_change) {
  dia_options const o{.block = 4, .shared = true};
  auto m = dia<double>::from_csr(borrowed(band()), o);
  m.refill(borrowed(band(5)));
  EXPECT_EQ(m, dia<double>::from_csr(borrowed(band(5)), o));
  EXPECT_EQ(m.val.size(), 24u); // one more
  m.refill(borrowed(band()));
  EXPECT_EQ(m, dia<double>::from_csr(borrowed(band()), o));
  auto const before = m;
  csr<double> moved = band();
  moved.col[0] = 5;
  EXPECT_TRUE(fails_with(errc::bad_structure, {"dia", "refill"}, [&] { m.refill(moved.view()); }));
  EXPECT_EQ(m, before);
}

// Stretches that come back in every part: numbers are those of the first coming, whatever the
// parts.
TEST(dia, shared_is_the_same_for_every_number_of_threads) {
  std::vector<std::vector<std::pair<std::int32_t, double>>> rows(200'000);
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] = {{static_cast<std::int32_t>(i), static_cast<double>(i * i % 1013 % 200)}};
  csr<double> const a = from_rows(static_cast<std::int32_t>(rows.size()), rows);
  auto const m = dia<double>::from_csr(a.view(), {.block = 2, .shared = true}, cpu{.threads = 1});
  EXPECT_LT(m.val.size(), 2 * 1013u);
  EXPECT_NO_THROW(m.validate());
  EXPECT_EQ(m.to_csr(), a);
  for (int const threads : {2, 3, 7})
    EXPECT_EQ(
        dia<double>::from_csr(a.view(), {.block = 2, .shared = true}, cpu{.threads = threads}), m)
        << threads;
}

TEST(dia, shared_is_made_and_refilled_in_the_memory_that_was_given) {
  auto const with_strays = [](double other) { // two in twelve rows
    std::vector<std::vector<std::pair<std::int32_t, double>>> rows(12);
    for (std::int32_t i = 0; i < 12; ++i)
      rows[static_cast<std::size_t>(i)] = {{i, i == 6 ? other : 2}};
    rows[2].push_back({9, other});
    rows[3].push_back({7, 5});
    return from_rows(12, rows);
  };
  dia_options const o{.block = 4, .shared = true};
  failing_memory memory;
  cpu const where{.threads = 1, .memory = &memory};
  {
    auto m = dia<double>::from_csr(borrowed(with_strays(2)), o, where);
    ASSERT_EQ(m.stray_val.size(), 2u);
    EXPECT_EQ(memory.outstanding(), m.bytes());
    m.refill(borrowed(with_strays(3)), where);
    EXPECT_EQ(m, dia<double>::from_csr(borrowed(with_strays(3)), o));
    EXPECT_EQ(memory.outstanding(), m.bytes());
    memory.fail_at(SIZE_MAX);
    m.refill(borrowed(with_strays(4)), where);
    auto const before = m;
    for (std::size_t k = 1, all = memory.allocations(); k <= all; ++k) {
      memory.fail_at(k);
      EXPECT_TRUE(fails_with(errc::out_of_memory, {}, [&] {
        m.refill(borrowed(with_strays(9)), where);
      })) << k;
      EXPECT_EQ(m, before) << k;
      EXPECT_EQ(memory.outstanding(), m.bytes()) << k;
    }
  }
  EXPECT_EQ(memory.outstanding(), 0u);
}

/// Takes its time, and knows whether a thread came while another was there.
class lonely_memory final : public std::pmr::memory_resource {
public:
  bool was_shared() const { return was_shared_; }
  std::size_t visits() const { return visits_; }

private:
  template <class F>
  auto alone(F&& f) {
    if (inside_.fetch_add(1) != 0)
      was_shared_ = true;
    ++visits_;
    std::this_thread::sleep_for(std::chrono::microseconds(500));
    struct leave {
      std::atomic<int>& inside;
      ~leave() { inside.fetch_sub(1); }
    } const at_end{inside_};
    return f();
  }
  void* do_allocate(std::size_t size, std::size_t alignment) override {
    return alone([&] { return ::operator new (size, std::align_val_t{alignment}); });
  }
  void do_deallocate(void* p, std::size_t, std::size_t alignment) override {
    alone([&] { ::operator delete (p, std::align_val_t{alignment}); });
  }
  bool do_is_equal(std::pmr::memory_resource const& other) const noexcept override {
    return this == &other;
  }
  std::atomic<int> inside_{0};
  std::atomic<bool> was_shared_{false};
  std::atomic<std::size_t> visits_{0};
};

TEST(dia, shared_asks_for_memory_by_one_thread_at_a_time) {
  std::vector<std::vector<std::pair<std::int32_t, double>>> rows(200'000);
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] = {{static_cast<std::int32_t>(i), static_cast<double>(i * i % 1013)}};
  csr<double> const a = from_rows(static_cast<std::int32_t>(rows.size()), rows);
  lonely_memory memory;
  cpu const where{.threads = 4, .memory = &memory};
  auto m = dia<double>::from_csr(a.view(), {.block = 2, .shared = true}, where);
  EXPECT_FALSE(memory.was_shared());
  EXPECT_GT(memory.visits(), 4u * 4); // four parts had tables that grew
  m.refill(a.view(), where);
  EXPECT_FALSE(memory.was_shared());
  EXPECT_EQ(m.to_csr(), a);
}

TEST(dia, what_is_not_shared_as_it_says_is_refused) {
  auto const refused = [](std::vector<std::string> const& words, ints shared, doubles val,
                          bool symmetric = false) {
    EXPECT_TRUE(fails_with(errc::bad_structure, words, [&] {
      dia<double>(4, 4, 2, {0}, {0, 1, 2}, val, {3, 3}, {}, {}, {}, {}, symmetric, shared);
    })) << words[0];
  };
  EXPECT_NO_THROW(
      (dia<double>(4, 4, 2, {0}, {0, 1, 2}, {1, 1}, {3, 3}, {}, {}, {}, {}, false, {0, 0})));
  refused({"shared[0] is 1", "0 to 0"}, {1, 0}, {1, 1, 2, 2});
  refused({"shared[1] is 2", "0 to 1"}, {0, 2}, {1, 1, 2, 2, 3, 3});
  refused({"shared[1] is -1"}, {0, -1}, {1, 1, 2, 2});
  refused({"4 values", "2 slots"}, {0, 0}, {1, 1, 2, 2});
  refused({"2 values", "4 slots"}, {0, 1}, {1, 1});
  refused({"mask"}, {0, 0, 0}, {1, 1});
  refused({"symmetric and shared"}, {0, 0}, {1, 1}, true);
  EXPECT_TRUE(fails_with(errc::unsupported, {"dia", "symmetric and shared"}, [&] {
    dia<double>::from_csr(borrowed(band()), {.symmetric = true, .shared = true});
  }));
}

// Every array of a valid matrix, to be broken one at a time: 4 x 4, as in the header.
struct parts {
  std::int32_t rows = 4, cols = 4, block = 2;
  std::vector<std::int32_t> diagonal{-3, -2, 0, 2}, block_ptr{0, 2, 5};
  std::vector<double> val{1, 3, 2, 0, 0, 5, 0, 6, 0, 0};
  std::vector<std::uint8_t> mask{3, 1, 2, 2, 0};
  std::vector<std::int32_t> stray_row{2, 3}, stray_ptr{0, 1, 2}, stray_col{3, 2};
  std::vector<double> stray_val{4, 7};

  template <class T>
  static array<T> owned(std::vector<T> const& v) {
    return {v.data(), v.size()};
  }
  dia<double> owner() const {
    return {rows,
            cols,
            block,
            owned(diagonal),
            owned(block_ptr),
            owned(val),
            owned(mask),
            owned(stray_row),
            owned(stray_ptr),
            owned(stray_col),
            owned(stray_val)};
  }
  dia<double> unseen() const {
    dia<double> m;
    m.rows = rows;
    m.cols = cols;
    m.nnz = 7;
    m.block = block;
    m.diagonal = owned(diagonal);
    m.block_ptr = owned(block_ptr);
    m.val = owned(val);
    m.mask = owned(mask);
    m.stray_row = owned(stray_row);
    m.stray_ptr = owned(stray_ptr);
    m.stray_col = owned(stray_col);
    m.stray_val = owned(stray_val);
    return m;
  }
};

TEST(dia, what_the_hostile_cases_start_from_is_valid) {
  csr<double> const expected(4, 4, {0, 2, 3, 4, 7}, {0, 2, 1, 3, 0, 1, 2}, {1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(parts().owner().to_csr(), expected);
  EXPECT_NO_THROW(parts().unseen().validate());
  EXPECT_EQ(parts().owner(), dia<double>::from_csr(expected.view(), {.block = 2}));
}

TEST(dia, broken_arrays_are_refused_by_every_constructor) {
  struct broken {
    char const* what;
    std::vector<std::string> words;
    std::function<void(parts&)> change;
  };
  std::int32_t const most = std::numeric_limits<std::int32_t>::max();
  for (broken const& b : std::vector<broken>{
           {"rows negative", {"-4"}, [](parts& p) { p.rows = -4; }},
           {"columns negative", {"-4"}, [](parts& p) { p.cols = -4; }},
           {"block 0", {"block is 0"}, [](parts& p) { p.block = 0; }},
           {"block 3", {"block is 3"}, [](parts& p) { p.block = 3; }},
           {"block 2048", {"block is 2048"}, [](parts& p) { p.block = 2048; }},
           {"another block", {"pointers", "1 blocks"}, [](parts& p) { p.block = 4; }},
           {"a row too many", {"pointers", "3 blocks"}, [](parts& p) { p.rows = 5; }},
           {"a column less", {"diagonal[3] is 2"}, [](parts& p) { p.cols = 2; }},
           {"a diagonal below", {"diagonal[0] is -4"}, [](parts& p) { p.diagonal[0] = -4; }},
           {"a diagonal above", {"diagonal[3] is 4"}, [](parts& p) { p.diagonal[3] = 4; }},
           {"a diagonal far above",
            {"diagonal[3] is 2147483647"},
            [=](parts& p) { p.diagonal[3] = most; }},
           {"diagonals equal",
            {"diagonal", "-3 to -3", "at 1"},
            [](parts& p) { p.diagonal[1] = -3; }},
           {"diagonals descend",
            {"-2 to -3"},
            [](parts& p) {
              p.diagonal = {-2, -3, 0, 2};
            }},
           {"a diagonal elsewhere",
            {"block_ptr[1] is 2", "3"},
            [](parts& p) { p.diagonal[1] = -1; }},
           {"first pointer 1", {"block_ptr[0] is 1"}, [](parts& p) { p.block_ptr[0] = 1; }},
           {"pointer decreases", {"block_ptr[2] is 1"}, [](parts& p) { p.block_ptr[2] = 1; }},
           {"pointer far away", {"block_ptr[1]"}, [=](parts& p) { p.block_ptr[1] = most; }},
           {"a pointer missing", {"2 pointers"}, [](parts& p) { p.block_ptr.pop_back(); }},
           {"a value missing", {"9 values"}, [](parts& p) { p.val.pop_back(); }},
           {"a stretch missing",
            {"8 values", "10 slots"},
            [](parts& p) { p.val.resize(8), p.mask.resize(4); }},
           {"a byte missing", {"4 bytes of mask"}, [](parts& p) { p.mask.pop_back(); }},
           {"a hole that is not 0",
            {"hole", "diagonal 2 at row 1"},
            [](parts& p) { p.val[3] = 9; }},
           {"a hole that is NaN",
            {"hole", "diagonal -3 at row 2"},
            [](parts& p) { p.val[4] = std::numeric_limits<double>::quiet_NaN(); }},
           {"a slot outside", {"outside", "diagonal -3 at row 2"}, [](parts& p) { p.mask[2] = 3; }},
           {"a bit below the block", {"outside"}, [](parts& p) { p.mask[0] = 7; }},
           {"a row of strays negative",
            {"stray_row[0] is -1"},
            [](parts& p) { p.stray_row[0] = -1; }},
           {"a row of strays beyond", {"stray_row[1] is 4"}, [](parts& p) { p.stray_row[1] = 4; }},
           {"rows of strays equal", {"stray_row", "2 to 2"}, [](parts& p) { p.stray_row[1] = 2; }},
           {"stray pointers decrease",
            {"stray_ptr"},
            [](parts& p) {
              p.stray_ptr = {0, 3, 2};
            }},
           {"a row without strays",
            {"without strays"},
            [](parts& p) {
              p.stray_ptr = {0, 0, 2};
            }},
           {"a stray beyond", {"stray_col[0] is 4"}, [](parts& p) { p.stray_col[0] = 4; }},
           {"a stray on a diagonal",
            {"stray_col[0] is 2", "diagonal 0"},
            [](parts& p) { p.stray_col[0] = 2; }},
           {"strays descend",
            {"stray_col", "3 to 2"},
            [](parts& p) {
              p.stray_row = {2}, p.stray_ptr = {0, 2};
            }},
           {"strays without rows", {"0 rows with strays"}, [](parts& p) { p.stray_row.clear(); }},
           {"a stray value missing", {"1 values"}, [](parts& p) { p.stray_val.pop_back(); }},
       }) {
    parts p;
    b.change(p);
    EXPECT_TRUE(fails_with(errc::bad_structure, b.words, [&] {
      dia_view<double>(p.rows, p.cols, p.block, p.diagonal, p.block_ptr, p.val, p.mask, p.stray_row,
                       p.stray_ptr, p.stray_col, p.stray_val);
    })) << b.what;
    EXPECT_TRUE(fails_with(errc::bad_structure, b.words, [&] { p.owner(); })) << b.what;
    dia<double> const unseen = p.unseen();
    EXPECT_TRUE(fails_with(errc::bad_structure, b.words, [&] { unseen.validate(); })) << b.what;
  }
}

TEST(dia, another_number_of_entries_than_stored_is_refused) {
  dia<double> m = parts().unseen();
  m.nnz = 8;
  EXPECT_TRUE(fails_with(errc::bad_structure, {"7 entries", "nnz is 8"}, [&] { m.validate(); }));
  EXPECT_TRUE(
      fails_with(errc::bad_structure, {"7 entries", "nnz is 8"}, [&] { m.view().validate(); }));
}

TEST(dia, ordinary_emptiness_is_accepted) {
  EXPECT_NO_THROW((dia<double>(0, 0, 64, {}, {}, {}, {}, {}, {}, {}, {})));
  EXPECT_NO_THROW((dia<double>(3, 0, 2, {}, {0, 0, 0}, {}, {}, {}, {}, {}, {})));
  EXPECT_NO_THROW((dia<double>(0, 3, 2, {}, {0}, {}, {}, {}, {}, {}, {})));
}

} // namespace
} // namespace tulle::test::dia_test

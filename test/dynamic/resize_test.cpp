// SPDX-License-Identifier: Apache-2.0

// A dynamic matrix that gets another size: what it holds then, what others see, and what fails.
// sequences_test.cpp mixes it with all other changes.
#include "tulle/op/select.hpp"
#include "tulle/op/spmv.hpp"

#include "dynamic/model.hpp"
#include "support/expect.hpp"
#include "support/memory.hpp"
#include "support/zoo.hpp"

#include <atomic>
#include <cmath>
#include <filesystem>
#include <limits>
#include <thread>
#include <unistd.h>

namespace tulle::test::resize_test {
namespace {

using matrix = dynamic_csr<double>;

/// What of a canonical matrix lies in rows x cols.
csr<double> cut(csr<double> const& a, std::int32_t rows, std::int32_t cols) {
  model<double, std::int32_t> m{a.rows, a.cols, {}};
  for (std::int32_t i = 0; i < a.rows; ++i)
    for (std::int32_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
      m.at[{i, a.col[k]}] = a.val[k];
  m.resize(rows, cols);
  return m.to_csr();
}

struct way {
  char const* name;
  dynamic_options options;
  bool compact;
};
/// The ways in which rows may lie.
std::vector<way> const& ways() {
  static std::vector<way> const all = [] {
    std::vector<way> made{{"rows", in_rows(), false},   {"segments", in_rows(), false},
                          {"width", in_rows(), false},  {"by length", in_rows(), false},
                          {"compact", in_rows(), true}, {"pending", {}, true}};
    made[1].options.move_below = 0;
    made[2].options.width = 3;
    made[3].options.by_length = true;
    made[5].options.pending_from = 1;
    for (way& w : made)
      w.options.where.threads = 2;
    return made;
  }();
  return all;
}

/// Entries of a, and three that came behind them.
matrix stored_as(way const& w, csr<double> const& a) {
  matrix d =
      w.compact ? matrix::adopt(csr<double>(a), w.options) : matrix::from_csr(a.view(), w.options);
  for (std::int32_t k = 0; k < 3 && a.rows > 0 && a.cols > 0; ++k)
    d.insert(a.rows * k / 3, a.cols * k / 3, 1 + k);
  return d;
}

TEST(dynamic_resize, keeps_what_lies_inside) {
  for (animal const& one : zoo()) {
    if (one.matrix.val.size() > 5000) // a map of them takes long
      continue;
    for (way const& w : ways()) {
      csr<double> const before = stored_as(w, one.matrix).to_csr();
      std::int32_t const n = before.rows, m = before.cols;
      std::vector<std::pair<std::int32_t, std::int32_t>> const sizes{
          {n, m},     {n + 1, m}, {n, m + 1},           {n + 300, m + 5},
          {n / 2, m}, {n, m / 2}, {n / 2 + 1, m + 100}, {n + 700, m / 3},
          {0, 0}};
      for (auto const& [rows, cols] : sizes) {
        std::string const what =
            one.name + ", " + w.name + ", " + std::to_string(rows) + " x " + std::to_string(cols);
        matrix d = stored_as(w, one.matrix);
        d.resize(rows, cols);
        d.validate();
        EXPECT_EQ(d.rows(), rows) << what;
        EXPECT_EQ(d.cols(), cols) << what;
        csr<double> const expected = cut(before, rows, cols);
        EXPECT_EQ(d.to_csr(), expected) << what;
        if (rows == 0 || cols == 0)
          continue;
        double const last = d.at(rows - 1, cols - 1); // takes an entry, pending or not
        d.insert(rows - 1, cols - 1, 5);
        d.validate();
        EXPECT_EQ(d.at(rows - 1, cols - 1), last + 5) << what;
        std::vector<double> const x(static_cast<std::size_t>(cols), 1);
        std::vector<double> y(static_cast<std::size_t>(rows), std::nan("")), z = y;
        spmv(1.0, d, x, 0.0, y);
        spmv(1.0, d.to_csr(), x, 0.0, z);
        EXPECT_EQ(y, z) << what;
      }
    }
  }
}

TEST(dynamic_resize, leaves_snapshots_as_they_were) {
  for (way const& w : ways()) {
    csr<double> const& a = find("lengths_0_to_70").matrix;
    matrix d = stored_as(w, a);
    csr<double> const before = d.to_csr();
    auto const s = d.snapshot();
    d.resize(a.rows + 1000, a.cols + 1);
    d.insert(a.rows + 999, a.cols, 1);
    auto const larger = d.snapshot();
    csr<double> const then = d.to_csr();
    d.resize(3, 2);
    d.scale_rows(0, 2);
    EXPECT_EQ(s.rows(), a.rows) << w.name;
    EXPECT_EQ(s.cols(), a.cols) << w.name;
    EXPECT_EQ(s.to_csr(), before) << w.name;
    EXPECT_EQ(larger.to_csr(), then) << w.name;
    auto const frozen = d.freeze();
    EXPECT_EQ(frozen.as_csr().to_csr(), d.to_csr()) << w.name;
  }
}

TEST(dynamic_resize, keeps_what_lies_inside_of_a_large_matrix) {
  for (way const& w : ways()) {
    csr<double> const& a = elephant();
    matrix d = matrix::from_csr(a.view(), w.options);
    d.resize(a.rows + 5000, a.cols + 1);
    d.validate();
    EXPECT_EQ(d.shape().entries, a.val.size()) << w.name;
    d.resize(a.rows, a.cols);
    EXPECT_EQ(d.to_csr(), a.to_csr()) << w.name;
    d.resize(a.rows / 2, a.cols / 2);
    d.validate();
    csr<double> const got = d.to_csr();
    csr<double> const inside = select(a, [&](std::int32_t i, std::int32_t j, double) {
      return i < a.rows / 2 && j < a.cols / 2;
    });
    EXPECT_EQ(got.col, inside.col) << w.name;
    EXPECT_EQ(got.val, inside.val) << w.name;
  }
}

// Appending copies no entry: the pool is the same, to its last place.
TEST(dynamic_resize, moves_no_entry_to_append_rows_and_columns) {
  for (way const& w : ways()) {
    if (w.options.by_length || w.options.width != 0)
      continue;
    matrix d = stored_as(w, elephant());
    auto const s = d.snapshot();
    d.resize(elephant().rows + 5000, elephant().cols + 7);
    auto const after = d.snapshot();
    EXPECT_EQ(after.view().pages[0].col, s.view().pages[0].col) << w.name;
    EXPECT_EQ(after.entries(), s.entries());
  }
}

TEST(dynamic_resize, holds_in_files) {
  std::string const path =
      (std::filesystem::temp_directory_path() / ("tulle_resize_" + std::to_string(::getpid())))
          .string();
  for (way const& w : ways())
    for (int const by : {-20, 400}) {
      csr<double> const& a = find("lengths_0_to_70").matrix;
      matrix d = stored_as(w, a);
      d.resize(a.rows + by, a.cols + by);
      d.save(path);
      matrix const back = matrix::load(path);
      EXPECT_EQ(back.to_csr(), d.to_csr()) << w.name;
      EXPECT_TRUE(stored(back.snapshot()) == stored(d.snapshot())) << w.name;
    }
  std::filesystem::remove(path);
}

TEST(dynamic_resize, refuses_what_is_no_size_or_has_no_entry) {
  matrix d = stored_as(ways()[0], find("lengths_0_to_70").matrix);
  csr<double> const before = d.to_csr();
  EXPECT_TRUE(fails_with(errc::bad_structure, {"resize", "-1 rows", "5 columns"},
                         [&] { d.resize(-1, 5); }));
  EXPECT_TRUE(fails_with(errc::bad_structure, {"resize", "-2 columns"}, [&] { d.resize(5, -2); }));
  EXPECT_EQ(d.to_csr(), before);
  d.resize(10, 20);
  EXPECT_TRUE(fails_with(errc::bad_structure, {"at", "(10, 0)", "10 x 20"}, [&] { d.at(10, 0); }));
  expect_refused_batches(d, [&](errc code, std::vector<std::string> const& words, auto&& f) {
    EXPECT_TRUE(fails_with(code, words, f));
  });
  std::vector<double> x(20), y(11);
  EXPECT_TRUE(fails_with(errc::shape_mismatch, {"spmv", "11", "10 rows"},
                         [&] { spmv(1.0, d, x, 0.0, y); }));
}

TEST(dynamic_resize, leaves_the_matrix_as_it_was_where_memory_ends) {
  csr<double> const& a = find("lengths_0_to_70").matrix;
  for (way w : ways())
    for (int const by : {-20, 400})
      for (std::size_t k = 1;; ++k) {
        failing_memory memory;
        w.options.where.memory = &memory;
        w.options.where.threads = 1;
        bool done = false;
        {
          matrix d = stored_as(w, a);
          auto const before = stored(d.snapshot());
          memory.fail_at(k);
          try {
            d.resize(a.rows + by, a.cols + by);
            done = true;
          } catch (error const& e) {
            EXPECT_EQ(e.code(), errc::out_of_memory);
          }
          memory.fail_at(SIZE_MAX);
          d.validate();
          if (!done) {
            EXPECT_TRUE(stored(d.snapshot()) == before) << w.name << ", " << k;
            EXPECT_EQ(d.rows(), a.rows);
            d.insert(a.rows - 1, a.cols - 1, 1);
            d.validate();
          }
        }
        EXPECT_EQ(memory.outstanding(), 0u);
        if (done) {
          EXPECT_GT(k, 1u) << w.name;
          break;
        }
      }
}

// A pool that may have so many places and no more.
TEST(dynamic_resize, keeps_to_the_limit_of_the_pool) {
  csr<double> const& a = find("lengths_0_to_70").matrix;
  dynamic_options o = in_rows();
  o.limit = a.val.size();
  matrix d = matrix::adopt(csr<double>(a), o);
  d.resize(a.rows + 500, a.cols);
  d.resize(a.rows - 1, a.cols - 1);
  EXPECT_EQ(d.to_csr(), cut(a.to_csr(), a.rows - 1, a.cols - 1));
}

// Batches are whole, and inside of the matrix as it is when they are made.
TEST(dynamic_resize, goes_with_readers_and_writers_at_once) {
  dynamic_options o;
  o.pending_from = 64;
  o.where.threads = 2;
  matrix d(64, 64, o);
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> all;
  for (unsigned t = 0; t < 2; ++t)
    all.emplace_back([&, t] {
      std::mt19937 random(t);
      while (!stop) {
        auto const b = random_batch<double, std::int32_t>(random, 96, 96, t == 0 ? 200 : 3);
        try {
          t == 0 ? d.insert(b.row, b.col, b.val) : d.assign(b.row, b.col, b.val);
        } catch (error const& e) {
          wrong += e.code() != errc::bad_structure;
        }
      }
    });
  all.emplace_back([&] {
    while (!stop) {
      auto const s = d.snapshot();
      s.for_each(
          [&](std::int32_t i, std::int32_t j, double) { wrong += i >= s.rows() || j >= s.cols(); });
      auto const n = static_cast<std::size_t>(d.rows());
      std::vector<double> const x(n, 1);
      std::vector<double> y(n);
      try {
        spmv(cpu{.threads = 2}, 1.0, d, x, 0.0, y);
      } catch (error const& e) {
        wrong += e.code() != errc::shape_mismatch;
      }
    }
  });
  for (int turn = 0; turn < 60; ++turn) {
    std::int32_t const n = turn % 3 == 0 ? 96 : turn % 3 == 1 ? 400 : 64;
    d.resize(n, n);
    d.validate();
    std::this_thread::yield();
  }
  stop = true;
  for (std::thread& t : all)
    t.join();
  d.validate();
  EXPECT_EQ(wrong, 0);
}

} // namespace
} // namespace tulle::test::resize_test

// SPDX-License-Identifier: Apache-2.0

// Pending entries: stored apart from their rows, and seen by every operation.
#include "tulle/op/spmm.hpp"
#include "tulle/op/spmv.hpp"

#include "dynamic/model.hpp"
#include "support/expect.hpp"
#include "support/product.hpp"

#include <cmath>
#include <limits>
#include <utility>

namespace tulle::test::pending_test {
namespace {

using matrix = dynamic_csr<double>;
using entries = batch<double, std::int32_t>;

constexpr std::int32_t rows = 3000, cols = 2000;

dynamic_options from_one() {
  dynamic_options o;
  o.pending_from = 1;
  return o;
}

entries some(std::size_t n, unsigned seed, std::int32_t of_rows = rows) {
  std::mt19937 random(seed);
  return random_batch<double, std::int32_t>(random, of_rows, cols, n);
}

/// What there is, a matrix of it, and two batches of pending entries.
struct pending_matrix {
  model<double, std::int32_t> m{rows, cols, {}};
  matrix d{rows, cols, from_one()};

  explicit pending_matrix(std::size_t n, std::size_t pending) {
    add(some(n, 1));
    EXPECT_EQ(d.shape().pending, 0u);
    add(some(pending / 2, 2, rows / 3)); // groups that have none, too
    add(some(pending - pending / 2, 3, rows / 3));
  }
  void add(entries const& e) {
    d.insert(e.row, e.col, e.val);
    m.insert(e);
  }
};

TEST(dynamic_pending, entries_stay_apart_and_everybody_sees_them) {
  pending_matrix a(60000, 300);
  auto const s = a.d.shape();
  EXPECT_EQ(s.pending, 300u);
  EXPECT_EQ(s.entries, 60300u);
  EXPECT_FALSE(s.compact);
  a.d.validate();
  csr<double> const expected = a.m.to_csr();
  EXPECT_EQ(a.d.to_csr(), expected);
  auto const seen = a.d.snapshot();
  EXPECT_EQ(seen.to_csr(), expected);
  std::size_t n = 0;
  seen.for_each([&](std::int32_t, std::int32_t, double) { ++n; });
  EXPECT_EQ(n, s.entries);
  EXPECT_TRUE(fails_with(errc::unsupported, {"freeze"}, [&] { seen.as_csr(); }));
  for (auto const& [place, v] : a.m.at)
    ASSERT_EQ(a.d.at(place.first, place.second), v);
  auto const frozen = a.d.freeze();
  EXPECT_EQ(frozen.as_csr().to_csr(), expected);
  EXPECT_EQ(a.d.shape().pending, 0u);
  a.add(some(40, 4));
  EXPECT_EQ(a.d.shape().pending, 40u);
  EXPECT_EQ(seen.to_csr(), expected); // as it was
}

TEST(dynamic_pending, entries_go_where_they_belong_when_they_are_many) {
  pending_matrix a(60000, 300);
  auto const apart = [&](std::size_t n, unsigned seed) {
    a.add(some(n, seed));
    a.d.validate();
    EXPECT_EQ(a.d.to_csr(), a.m.to_csr());
    return a.d.shape().pending;
  };
  EXPECT_EQ(apart(200, 5), 500u);
  EXPECT_EQ(apart(230, 6), 730u);
  EXPECT_EQ(apart(2, 7), 0u);       // so few, through so many
  EXPECT_EQ(apart(3000, 8), 3000u); // a larger part, so that more may wait
  EXPECT_EQ(apart(6000, 9), 0u);
  EXPECT_EQ(apart(40000, 10), 0u); // at once
  EXPECT_TRUE(a.d.shape().compact);
  EXPECT_EQ(a.d.shape().chunks, 1u);
}

TEST(dynamic_pending, other_changes_find_them) {
  entries const e = some(500, 11);
  auto const check = [&](char const* what, auto&& f) {
    pending_matrix a(60000, 300);
    f(a.d, a.m);
    a.d.validate();
    EXPECT_EQ(a.d.to_csr(), a.m.to_csr()) << what;
    EXPECT_EQ(a.d.shape().pending, 0u) << what;
  };
  check("assign", [&](auto& d, auto& m) {
    d.assign(e.row, e.col, e.val);
    m.assign(e);
  });
  check("erase", [&](auto& d, auto& m) {
    entries const pending = some(150, 2, rows / 3);
    d.erase(pending.row, pending.col);
    m.erase(pending);
  });
  check("scale_rows", [&](auto& d, auto& m) {
    entries const few = some(20, 12, rows / 3);
    d.scale_rows(few.row, few.val);
    m.scale_rows(few);
  });
  check("add_product", [&](auto& d, auto& m) {
    model<double, std::int32_t> left{rows, cols, {}}, right{cols, cols, {}};
    left.insert(some(400, 13));
    right.insert(some(400, 14, cols));
    d.add_product(borrowed(left.to_csr()), borrowed(right.to_csr()));
    m.add_product(left, right);
  });
  check("defragment", [&](auto& d, auto&) { d.defragment({.sort = true, .combine = true}); });
}

// Some in each of several parts that threads have; y is not read where it need not be.
TEST(dynamic_pending, products_have_the_same_bits_for_every_number_of_threads) {
  pending_matrix grown(400000, 20000);
  EXPECT_EQ(grown.d.shape().pending, 20000u);
  csr<double> const a = grown.m.to_csr();
  any_matrix const any = a;
  std::vector<double> const x = roughs(static_cast<std::size_t>(cols), 3);
  product const p = exact_product(any, false, to_dense(any.type(), x));
  std::vector<double> const nan(rows, std::numeric_limits<double>::quiet_NaN());
  for (double const beta : {0., -.5}) {
    std::vector<double> const start = beta == 0 ? nan : roughs(static_cast<std::size_t>(rows), 4);
    std::vector<double> first;
    for (int const threads : {1, 2, 3, 7}) {
      std::vector<double> y = start;
      spmv(cpu{.threads = threads}, 1.5, grown.d, x, beta, y);
      if (first.empty()) {
        first = y;
        EXPECT_TRUE(is_product(p, 1.5, beta, to_dense(any.type(), start), to_dense(any.type(), y),
                               epsilon(any.type()), 8));
      }
      EXPECT_TRUE(same_bits(first, y)) << threads << " threads";
    }
  }
  std::vector<double> y(static_cast<std::size_t>(rows), 2), poisoned(cols, nan[0]);
  spmv(0.0, grown.d, poisoned, 2.0, y);
  EXPECT_EQ(y, std::vector<double>(static_cast<std::size_t>(rows), 4));
}

// Each row's own are added when the row is there, also where it is cut into pieces that several
// threads have: as if they came behind all rows.
TEST(dynamic_pending, products_add_them_to_rows_that_are_done) {
  constexpr std::int32_t many = 1 << 16, wide = 50000;
  for (bool const is_uneven : {false, true}) {
    std::vector<std::int32_t> lengths(many, 4);
    for (std::size_t i = 0; is_uneven && i < lengths.size(); i += 2)
      lengths[i] = static_cast<std::int32_t>(i / 2 % 7);
    std::fill(lengths.begin() + 500, lengths.begin() + 9000, 0);
    std::vector<std::int32_t> const ends{0, 100, 101, 500, 8999, 9000, 30000, many - 100, many - 1};
    for (std::int32_t const i : {100, 101, 30000, many - 100})
      lengths[static_cast<std::size_t>(i)] = 20000 + i % 1000;
    csr<double> const a = rough(from_lengths(wide, lengths));
    EXPECT_NE(spmv_plan(a.view()).path().find(is_uneven ? "products first" : "equal"),
              std::string::npos);
    entries pending;
    for (std::int32_t i = 0; i < many; i += 61)
      pending.add(i, i * 7 % wide, std::sin(i));
    for (std::int32_t const i : ends)
      for (std::int32_t k = 0; k < 3; ++k)
        pending.add(i, (i + k) % wide, std::cos(i + k));
    auto d = matrix::from_csr(a.view(), from_one());
    d.insert(pending.row, pending.col, pending.val);
    ASSERT_EQ(d.shape().pending, pending.row.size());
    std::vector<double> const x = roughs(wide, 3), start = roughs(many, 4);
    std::vector<double> expected = start;
    spmv(1.5, a.view(), x, -.5, expected);
    for (std::size_t k = 0; k < pending.row.size(); ++k) { // those of a row in their order
      auto const i = static_cast<std::size_t>(pending.row[k]);
      expected[i] += 1.5 * (pending.val[k] * x[static_cast<std::size_t>(pending.col[k])]);
    }
    for (int const threads : {1, 2, 3, 8}) {
      std::vector<double> y = start;
      spmv(cpu{.threads = threads}, 1.5, d, x, -.5, y);
      EXPECT_TRUE(same_bits(y, expected)) << threads << " threads, uneven: " << is_uneven;
    }
  }
}

TEST(dynamic_pending, products_keep_to_the_limit_of_their_workspace) {
  pending_matrix const pending(60000, 300);
  auto const kept = matrix::from_csr(borrowed(pending.m.to_csr()), in_rows());
  std::vector<double> const x(cols, 1), before(rows, 3);
  for (matrix const* const d : {&pending.d, &kept}) {
    std::vector<double> y = before;
    EXPECT_TRUE(fails_with(errc::out_of_memory, {"workspace", "limit", "1"},
                           [&] { spmv(cpu{.workspace_limit = 1}, 1.0, *d, x, 0.0, y); }));
    EXPECT_EQ(y, before);
  }
}

TEST(dynamic_pending, products_are_not_written_into_the_matrix) {
  csr<double> a = from_lengths(cols, std::vector<std::int32_t>(rows, 5));
  csr<double> const before = a;
  double* const val = a.val.data();
  auto d = matrix::adopt(std::move(a), from_one());
  std::vector<double> const x(cols, 1);
  EXPECT_TRUE(fails_with(errc::bad_structure, {"y overlaps", "arrays of A"}, [&] {
    spmv(1.0, d, x, 0.0, vector_view<double>(val, static_cast<std::size_t>(rows)));
  }));
  EXPECT_EQ(d.to_csr(), before.to_csr());
  d.insert(5, 6, 1);
  EXPECT_EQ(d.shape().pending, 1u);
  csr<double> const grown = d.to_csr();
  EXPECT_TRUE(fails_with(errc::bad_structure, {"C overlaps", "arrays of A"}, [&] {
    spmm(1.0, d, row_major(x.data(), cols, 1), 0.0, row_major(val, rows, 1));
  }));
  EXPECT_EQ(d.to_csr(), grown);
}

TEST(dynamic_pending, the_matrix_is_the_same_for_every_number_of_threads) {
  std::vector<entries> found;
  std::vector<dynamic_shape> shapes;
  for (int const threads : {1, 2, 7}) {
    dynamic_options o = from_one();
    o.where.threads = threads;
    matrix d(rows, cols, o);
    for (unsigned k = 0; k < 12; ++k) {
      entries const e = some(k == 0 ? 200000 : 9000, k);
      d.insert(e.row, e.col, e.val);
      found.push_back(stored(d.snapshot()));
      shapes.push_back(d.shape());
    }
  }
  for (std::size_t k = 0; k < found.size(); ++k) {
    EXPECT_TRUE(found[k] == found[k % 12]) << k;
    EXPECT_EQ(shapes[k].pending, shapes[k % 12].pending);
    EXPECT_EQ(shapes[k].compact, shapes[k % 12].compact);
  }
}

TEST(dynamic_pending, products_with_dense_matrices_have_them) {
  pending_matrix const grown(100000, 6000);
  EXPECT_EQ(grown.d.shape().pending, 6000u);
  constexpr std::size_t width = 13, m = rows, n = cols;
  auto const b = integers(n * width, 1);
  std::vector<double> expected(m * width, -1);
  for (auto const& [place, v] : grown.m.at)
    for (std::size_t j = 0; j < width; ++j)
      expected[static_cast<std::size_t>(place.first) * width + j] +=
          2 * v * b[static_cast<std::size_t>(place.second) * width + j];
  std::vector<double> b_by_columns(b.size());
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < width; ++j)
      b_by_columns[j * n + i] = b[i * width + j];
  for (int const threads : {1, 2, 7}) {
    std::vector<double> c(m * width, 1), by_columns(c);
    spmm(cpu{.threads = threads}, 2.0, grown.d, row_major(b.data(), n, width), -1.0,
         row_major(c.data(), m, width));
    EXPECT_EQ(c, expected);
    spmm(cpu{.threads = threads}, 2.0, grown.d,
         col_major(std::as_const(b_by_columns).data(), n, width), -1.0,
         col_major(by_columns.data(), m, width));
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < width; ++j)
        ASSERT_EQ(by_columns[j * m + i], expected[i * width + j]);
  }
}

// Rows cut into pieces, which reach over pending entries or are all of them; empty rows and groups.
TEST(dynamic_pending, products_with_dense_matrices_have_those_of_long_rows) {
  constexpr std::int32_t many = 3000, wide = 12000;
  std::vector<std::int32_t> lengths(many, 100);
  std::fill(lengths.begin() + 500, lengths.begin() + 1300, 0);
  lengths[7] = 9000;
  lengths[8] = 8100;
  lengths[many - 1] = 10;
  csr<double> const a = from_lengths(wide, lengths);
  auto d = matrix::from_csr(a.view(), from_one());
  entries pending;
  for (std::int32_t const i : {0, 7, 8, 9, 600, 1299, 1300, many - 1})
    for (std::int32_t k = 0; k < (i == 9 ? 9500 : 200); ++k)
      pending.add(i, (i + k * 7) % wide, k % 5 + 1.);
  d.insert(pending.row, pending.col, pending.val);
  ASSERT_EQ(d.shape().pending, pending.row.size());
  csr<double> const all = d.to_csr();
  for (std::size_t const width : {1, 8, 70}) {
    auto const b = integers(wide * width, 1);
    std::vector<double> expected(many * width, 3);
    spmm(2.0, all, row_major(b.data(), wide, width), -1.0, row_major(expected.data(), many, width));
    for (int const threads : {1, 2, 7}) {
      std::vector<double> c(many * width, 3);
      spmm(cpu{.threads = threads}, 2.0, d, row_major(b.data(), wide, width), -1.0,
           row_major(c.data(), many, width));
      EXPECT_EQ(c, expected) << width << " columns, " << threads << " threads";
    }
  }
}

TEST(dynamic_pending, a_pool_has_a_limit_for_them_too) {
  dynamic_options o = from_one();
  o.limit = 60100;
  matrix d(rows, cols, o);
  entries const e = some(60000, 1), more = some(101, 2);
  d.insert(e.row, e.col, e.val);
  EXPECT_TRUE(fails_with(errc::out_of_memory, {"60101", "60100"},
                         [&] { d.insert(more.row, more.col, more.val); }));
  EXPECT_EQ(d.shape().entries, 60000u);
  d.insert(std::span(more.row).first(90), std::span(more.col).first(90),
           std::span(more.val).first(90));
  EXPECT_EQ(d.shape().pending, 90u);
  d.scale_rows(std::span(more.row).first(1), std::span(more.val).first(1)); // no room for slack
  EXPECT_EQ(d.shape().entries, 60090u);
  EXPECT_TRUE(d.shape().compact);
}

} // namespace
} // namespace tulle::test::pending_test

// SPDX-License-Identifier: Apache-2.0

// A B by every method against the reference, bit for bit, and the reference against paper.
#include "tulle/format/coo.hpp"
#include "tulle/format/csc.hpp"
#include "tulle/op/spgemm.hpp"

#include "support/expect.hpp"
#include "support/memory.hpp"
#include "support/zoo.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace tulle::test::spgemm_test {
namespace {

constexpr spgemm_method methods[] = {spgemm_method::automatic,  spgemm_method::tiny,
                                     spgemm_method::heap,       spgemm_method::esc,
                                     spgemm_method::merge,      spgemm_method::hash,
                                     spgemm_method::dense,      spgemm_method::scatter,
                                     spgemm_method::global_esc, spgemm_method::heap_esc_merge};
static_assert(std::size(methods) == spgemm_method_count);

/// 3 x 4 and 4 x 2; unsorted, with (1, 0) twice.
csr<double> left() {
  return {3, 4, {0, 3, 3, 5}, {2, 0, 3, 1, 1}, {2, 1, 3, 4, 5}};
}
csr<double> right() {
  return {4, 2, {0, 1, 3, 4, 6}, {1, 1, 0, 0, 1, 0}, {1, 2, 3, 5, 6, 7}};
}

TEST(spgemm, of_the_reference_is_as_on_paper) {
  csr<double> const expected{
      3, 2, {0, 2, 2, 4}, {0, 1, 0, 1}, {2 * 5 + 3 * 7, 1 * 1 + 3 * 6, 9 * 3, 9 * 2}};
  EXPECT_EQ(spgemm(reference{}, left(), right()), expected);
}

TEST(spgemm, keeps_zeros_that_come_out_and_the_sign_of_those_that_do_not) {
  csr<double> const a{2, 2, {0, 2, 3}, {0, 1, 0}, {1, -1, -1}};
  csr<double> const b{2, 2, {0, 2, 3}, {0, 1, 0}, {1, 0, 1}};
  for (spgemm_method const m : methods) {
    csr<double> const c = spgemm(cpu{}, a, b, {.method = m});
    EXPECT_EQ(c, (csr<double>{2, 2, {0, 2, 4}, {0, 1, 0, 1}, {0, 0, -1, 0}})) << name(m);
    EXPECT_FALSE(std::signbit(c.val[0])) << name(m);
    EXPECT_FALSE(std::signbit(c.val[1])) << name(m);
    EXPECT_TRUE(std::signbit(c.val[3])) << name(m);
  }
}

template <class V, class I, class O>
void expect_product(csr<V, I, O> const& a, csr<V, I, O> const& b, std::string const& what,
                    std::vector<spgemm_method> const& by, std::vector<int> const& threads) {
  csr<V, I, O> const expected = spgemm(reference{}, a, b);
  expected.validate();
  EXPECT_TRUE(expected.view().is_canonical()) << what;
  for (int const n : threads)
    for (spgemm_method const m : by) {
      cpu const w{.threads = n};
      EXPECT_TRUE(same_arrays(borrowed(spgemm(w, a, b, {.method = m})), expected.view()))
          << what << " " << name(m) << " " << n;
      if (n > 1)
        continue;
      EXPECT_EQ(spgemm(w, a, b, {.method = m, .sorted = false}).to_csr(), expected)
          << what << " unsorted " << name(m);
    }
}

/// Rows of b's for a product with a: cols of a's, of few and many lengths.
csr<double> factor_for(csr<double> const& a, std::int32_t cols, unsigned seed) {
  std::vector<std::int32_t> lengths;
  for (std::int32_t i = 0; i < a.cols; ++i) {
    unsigned const r = (static_cast<unsigned>(i) * 2654435761u + seed) >> 16;
    lengths.push_back(std::min<std::int32_t>(cols, r % 97 == 0 ? 40
                                                   : r % 11 == 0
                                                       ? 0
                                                       : static_cast<std::int32_t>(r % 9)));
  }
  return rough(from_lengths(cols, lengths, seed), seed);
}

bool is_large(csr<double> const& a) {
  return a.val.size() > 20000;
}

class multiplies : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(op, multiplies, testing::Range<std::size_t>(0, type_count),
                         [](auto const& info) { return name(static_cast<type_tag>(info.param)); });

TEST_P(multiplies, the_zoo_as_the_reference_does) {
  auto const type = static_cast<type_tag>(GetParam());
  visit(type, [&](auto types) {
    using T = decltype(types);
    using owner = csr<typename T::value, typename T::index, typename T::offset>;
    bool const is_first = type == type_tag::f64_i32;
    for (animal const& a : zoo()) {
      if (is_large(a.matrix) && !is_first)
        continue;
      any_matrix const of_a = as_type(rough(a.matrix), type);
      for (std::int32_t const cols : {1, 500}) {
        if (cols != 500 && !is_first)
          continue;
        any_matrix const of_b = as_type(factor_for(a.matrix, cols, 5), type);
        // Lists are slow on long rows.
        std::vector<spgemm_method> by(std::begin(methods), std::end(methods));
        if (is_large(a.matrix))
          by = {spgemm_method::automatic, spgemm_method::hash, spgemm_method::dense,
                spgemm_method::scatter};
        expect_product(
            *of_a.get_if<owner>(), *of_b.get_if<owner>(), a.name + " times " + std::to_string(cols),
            by, is_first && !is_large(a.matrix) ? std::vector{1, 2, 3, 7} : std::vector{1, 3});
      }
    }
  });
}

/// Each row a moved copy of the row before; of blocks each three rows have one pattern.
csr<double> stencil(std::int32_t n) {
  std::vector<std::int32_t> ptr{0}, col;
  std::vector<double> val;
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int32_t const o : {-30, -1, 0, 1, 30})
      if (i + o >= 0 && i + o < n) {
        col.push_back(i + o);
        val.push_back(1 + o % 7 + i % 13);
      }
    ptr.push_back(static_cast<std::int32_t>(col.size()));
  }
  return csr<double>(n, n, array<std::int32_t>(ptr.data(), ptr.size()),
                     array<std::int32_t>(col.data(), col.size()),
                     array<double>(val.data(), val.size()));
}
csr<double> blocks(std::int32_t nodes, std::int32_t size, std::int32_t reach) {
  std::vector<std::int32_t> ptr{0}, col;
  std::vector<double> val;
  for (std::int32_t i = 0; i < nodes * size; ++i) {
    std::int32_t const node = i / size;
    for (std::int32_t j = 0; j < nodes; ++j)
      if ((j * 7 + node * 3) % reach < 5)
        for (std::int32_t q = 0; q < size; ++q) {
          col.push_back(j * size + q);
          val.push_back(j + q - i);
        }
    ptr.push_back(static_cast<std::int32_t>(col.size()));
  }
  auto const n = static_cast<std::int32_t>(ptr.size() - 1);
  return csr<double>(n, n, array<std::int32_t>(ptr.data(), ptr.size()),
                     array<std::int32_t>(col.data(), col.size()),
                     array<double>(val.data(), val.size()));
}

TEST_P(multiplies, stencils_and_blocks_as_the_reference_does) {
  auto const type = static_cast<type_tag>(GetParam());
  visit(type, [&](auto types) {
    using T = decltype(types);
    using owner = csr<typename T::value, typename T::index, typename T::offset>;
    std::vector<spgemm_method> const by{spgemm_method::automatic, spgemm_method::tiny,
                                        spgemm_method::dense, spgemm_method::scatter};
    std::vector<csr<double>> all{stencil(400), stencil(31), unsorted(stencil(200)),
                                 duplicated(stencil(200))};
    for (std::int32_t const size : {1, 2, 3, 4, 5, 6, 9})
      all.push_back(blocks(40, size, 17));
    for (csr<double> const& a : all) {
      any_matrix const of_a = as_type(rough(a), type);
      expect_product(*of_a.get_if<owner>(), *of_a.get_if<owner>(),
                     "square of " + std::to_string(a.rows), by, {1, 2, 7});
      spgemm_plan plan(cpu{.threads = 2}, *of_a.get_if<owner>(), *of_a.get_if<owner>());
      any_matrix const other = as_type(rough(a, 9), type);
      EXPECT_TRUE(same_arrays(
          spgemm(plan, *other.get_if<owner>(), *other.get_if<owner>()).view(),
          borrowed(spgemm(reference{}, *other.get_if<owner>(), *other.get_if<owner>()))))
          << a.rows << " " << plan.path();
    }
  });
}

// Rows by one program, in groups and what is left of them, up to the last entries of A and of B.
TEST_P(multiplies, stairs_as_the_reference_does) {
  auto const type = static_cast<type_tag>(GetParam());
  visit(type, [&](auto types) {
    using T = decltype(types);
    using owner = csr<typename T::value, typename T::index, typename T::offset>;
    std::vector<std::int32_t> const firsts[] = {
        {0}, {0, 1}, {0, 1, 3}, {0, 2, 3, 9}, {0, 1, 2, 5, 6}, {0, 1, 2, 3, 4, 5, 6, 7}};
    for (auto const& first : firsts)
      for (auto const& second : firsts)
        for (std::int32_t const rows : {1, 2, 5, 6, 7, 8, 70}) {
          csr<double> const a = stairs(rows, first), b = stairs(a.cols, second);
          any_matrix const of_a = as_type(rough(a), type), of_b = as_type(rough(b, 2), type);
          expect_product(*of_a.get_if<owner>(), *of_b.get_if<owner>(),
                         std::to_string(rows) + " rows of " + std::to_string(first.size()) +
                             " times " + std::to_string(second.size()),
                         {spgemm_method::automatic}, {1, 3});
        }
  });
}

/// Rows far apart and of all lengths: some of B's are copied, some scattered from where they are.
csr<double> far_apart(std::int32_t rows, std::int32_t cols, unsigned seed) {
  std::vector<std::int32_t> lengths;
  for (std::int32_t i = 0; i < rows; ++i)
    lengths.push_back(std::min(cols, i % 31 == 0 ? 130 : i % 7 == 0 ? 0 : i % 23));
  return rough(from_lengths(cols, lengths, seed), seed);
}

TEST_P(multiplies, rows_far_apart_as_the_reference_does) {
  auto const type = static_cast<type_tag>(GetParam());
  visit(type, [&](auto types) {
    using T = decltype(types);
    using owner = csr<typename T::value, typename T::index, typename T::offset>;
    for (std::int32_t const cols : {63, 5000, 300000}) {
      any_matrix const of_a = as_type(far_apart(400, 300, 1), type),
                       of_b = as_type(far_apart(300, cols, 2), type),
                       others = as_type(rough(far_apart(400, 300, 1), 9), type);
      owner const &a = *of_a.get_if<owner>(), &b = *of_b.get_if<owner>();
      std::string const what = "300 rows of " + std::to_string(cols);
      expect_product(a, b, what, {spgemm_method::automatic, spgemm_method::scatter}, {1, 2, 7});
      // Computed once and kept, computed twice, and values alone.
      owner const expected = spgemm(reference{}, a, b);
      spgemm_plan plan(cpu{.threads = 2}, a, b, {.method = spgemm_method::scatter});
      EXPECT_EQ(plan.result<owner>(), expected) << what;
      EXPECT_NE(plan.path().find(" scatter"), std::string::npos) << plan.path();
      spgemm_plan const tight(cpu{.threads = 2, .workspace_limit = plan.bytes()}, a, b,
                              {.method = spgemm_method::scatter});
      EXPECT_EQ(tight.result<owner>(), expected) << what;
      EXPECT_TRUE(same_arrays(spgemm(plan, *others.get_if<owner>(), b).view(),
                              borrowed(spgemm(reference{}, *others.get_if<owner>(), b))))
          << what;
    }
  });
}

/// Rows of `length` entries at a distance of `step` columns, each a bit after the one before.
csr<double> comb(std::int32_t rows, std::int32_t cols, std::int32_t length, std::int32_t step) {
  std::vector<std::int32_t> ptr{0}, col;
  for (std::int32_t i = 0; i < rows; ++i) {
    std::int32_t const n = i % 13 == 5 ? 0 : i % 7 == 3 ? 1 : length - i % 3;
    for (std::int32_t k = 0; k < n; ++k)
      col.push_back((i * cols / rows / 2) + k * step);
    ptr.push_back(static_cast<std::int32_t>(col.size()));
  }
  std::vector<double> const val(col.size(), 1);
  return rough(
      {rows, cols, {ptr.data(), ptr.size()}, {col.data(), col.size()}, {val.data(), val.size()}});
}

TEST_P(multiplies, rows_of_few_products_as_the_reference_does) {
  auto const type = static_cast<type_tag>(GetParam());
  visit(type, [&](auto types) {
    using T = decltype(types);
    using owner = csr<typename T::value, typename T::index, typename T::offset>;
    for (std::int32_t const n : {2, 3, 4, 5, 6, 8, 9, 12}) // of A's and of B's rows
      for (std::int32_t const m : {1, 3, 5, 8, 9, 16, 21}) {
        std::string const what = std::to_string(n) + " rows of " + std::to_string(m);
        any_matrix const of_a = as_type(comb(300, 200, n, 5), type),
                         of_b = as_type(comb(200, 900, m, 3), type);
        owner const &a = *of_a.get_if<owner>(), &b = *of_b.get_if<owner>();
        owner const expected = spgemm(reference{}, a, b);
        EXPECT_EQ(spgemm(cpu{.threads = 1}, a, b), expected) << what;
        EXPECT_EQ(spgemm(cpu{.threads = 3}, a, b), expected) << what;
        spgemm_plan plan(cpu{.threads = 2}, a, b);
        EXPECT_EQ(plan.result<owner>(), expected) << what;
        EXPECT_EQ(spgemm(plan, a, b), expected) << what;
        // Nothing is kept: rows are counted, then filled in.
        spgemm_plan const tight(cpu{.threads = 2, .workspace_limit = plan.bytes()}, a, b);
        EXPECT_EQ(tight.result<owner>(), expected) << what;
      }
  });
}

TEST(spgemm, of_products_that_are_minus_zero_has_each_column_once) {
  for (std::int32_t const n : {3, 4, 5, 6}) { // 9 n products a row
    csr<double> a = comb(300, 200, n, 5), b = comb(200, 900, 9, 1);
    for (double& v : a.val)
      v = 1;
    for (std::size_t k = 0; k < b.val.size(); ++k)
      b.val[k] = k % 3 == 0 ? 1 : -0.0;
    csr<double> const expected = spgemm(reference{}, a, b);
    csr<double> const c = spgemm(cpu{}, a, b);
    EXPECT_TRUE(same_arrays(borrowed(c), expected.view())) << n;
    for (std::size_t k = 0; k < c.val.size(); ++k)
      ASSERT_EQ(std::signbit(c.val[k]), std::signbit(expected.val[k])) << n;
  }
}

TEST(spgemm, of_large_matrices_is_as_the_reference_does) {
  csr<double> const& a = elephant();
  csr<double> const b = factor_for(a, 30000, 3);
  csr<double> const expected = spgemm(reference{}, a, b);
  for (int const threads : {1, 2, 7, 64}) {
    EXPECT_TRUE(same_arrays(borrowed(spgemm(cpu{.threads = threads}, a, b)), expected.view()))
        << threads;
    spgemm_plan plan(cpu{.threads = threads}, a, b);
    EXPECT_TRUE(same_arrays(borrowed(spgemm(plan, a, b)), expected.view())) << threads;
  }
}

// Columns that multiplicative hashing sends to one slot, and those that ascend by powers of two.
TEST(spgemm, hash_stands_columns_that_are_made_to_collide) {
  std::int32_t const cols = 1 << 22, n = 700;
  std::uint64_t const inverse = 0xf1de83e19937733d; // of 0x9e3779b97f4a7c15 modulo 2^64
  ASSERT_EQ(inverse * 0x9e3779b97f4a7c15u, 1u);
  std::vector<std::int32_t> worst;
  for (std::int64_t j = 1; j < cols && static_cast<std::int32_t>(worst.size()) < n; ++j)
    if ((static_cast<std::uint64_t>(j) * 0x9e3779b97f4a7c15u) >> 52 == 7)
      worst.push_back(static_cast<std::int32_t>(j));
  ASSERT_EQ(static_cast<std::int32_t>(worst.size()), n);
  for (bool const powers : {false, true}) {
    std::vector<std::int32_t> ptr{0}, col;
    std::vector<double> val;
    for (std::int32_t i = 0; i < 4; ++i) {
      for (std::int32_t k = i; k < n; k += i + 1) {
        col.push_back(powers ? k << 12 : worst[static_cast<std::size_t>(k)]);
        val.push_back(1.0 / (k + i + 1));
      }
      ptr.push_back(static_cast<std::int32_t>(col.size()));
    }
    csr<double> const b(4, cols, array<std::int32_t>(ptr.data(), ptr.size()),
                        array<std::int32_t>(col.data(), col.size()),
                        array<double>(val.data(), val.size()));
    csr<double> const a{2, 4, {0, 4, 6}, {0, 1, 2, 3, 1, 3}, {1, -.5, 3, .7, 2, 9}};
    csr<double> const expected = spgemm(reference{}, a, b);
    for (spgemm_method const m :
         {spgemm_method::automatic, spgemm_method::hash, spgemm_method::heap, spgemm_method::esc,
          spgemm_method::merge, spgemm_method::global_esc})
      EXPECT_TRUE(same_arrays(borrowed(spgemm(cpu{}, a, b, {.method = m})), expected.view()))
          << name(m) << " " << powers;
    EXPECT_EQ(spgemm(cpu{}, a, b, {.method = spgemm_method::hash, .sorted = false}).to_csr(),
              expected);
  }
}

TEST(spgemm, passes_inf_and_nan_on_through_stored_entries_alone) {
  double const inf = std::numeric_limits<double>::infinity();
  csr<double> a = stencil(100), b = stencil(100);
  a.val[7] = inf;
  b.val[40] = std::numeric_limits<double>::quiet_NaN();
  csr<double> const expected = spgemm(reference{}, a, b);
  for (spgemm_method const m : methods) {
    csr<double> const c = spgemm(cpu{}, a, b, {.method = m});
    for (std::size_t k = 0; k < c.val.size(); ++k)
      EXPECT_TRUE(c.val[k] == expected.val[k] ||
                  (std::isnan(c.val[k]) && std::isnan(expected.val[k])))
          << name(m) << " " << k;
  }
}

TEST(spgemm, takes_every_format_and_types_of_run_time) {
  csr<double> const expected = spgemm(reference{}, left(), right());
  EXPECT_EQ(
      spgemm(csc<double>::from_csr(borrowed(left())), coo<double>::from_csr(borrowed(right()))),
      expected);
  EXPECT_EQ(spgemm(borrowed(left()), right()), expected);
  any_matrix const c = spgemm(any_matrix(coo<double>::from_csr(borrowed(left()))),
                              any_matrix(csc<double>::from_csr(borrowed(right()))));
  EXPECT_EQ(*c.get_if<csr<double>>(), expected);
  EXPECT_TRUE(fails_with(errc::unsupported, {"spgemm", "f64_i32", "f32_i32"},
                         [&] { spgemm(any_matrix(left()), as_type(right(), type_tag::f32_i32)); }));
}

TEST(spgemm, refuses_shapes_that_do_not_fit_and_what_is_no_matrix) {
  csr<double> const a = left();
  for (where const& w : {where(cpu{}), where(reference{})}) {
    EXPECT_TRUE(fails_with(errc::shape_mismatch, {"spgemm", "A is 3 x 4", "B is 3 x 4"},
                           [&] { spgemm(w, a, a); }));
    EXPECT_TRUE(fails_with(errc::shape_mismatch, {"spgemm", "A is 3 x 4", "B is 3 x 4"},
                           [&] { spgemm_plan plan(w, a, a); }));
    csr<double> gone = right();
    csr<double> const there = std::move(gone);
    EXPECT_TRUE(fails_with(errc::bad_structure, {"spgemm", "B", "row_ptr", "moved"},
                           [&] { spgemm(w, a, gone); })); // NOLINT
  }
}

TEST(spgemm, that_would_have_too_many_entries_is_an_overflow) {
  std::int32_t const n = 50000;
  csr<float> const tall(
      n, 1,
      [] {
        array<std::int32_t> ptr(n + 1);
        for (std::int32_t i = 0; i <= n; ++i)
          ptr[static_cast<std::size_t>(i)] = i;
        return ptr;
      }(),
      array<std::int32_t>(n, 0), array<float>(n, 1.f));
  csr<float> const wide(
      1, n, {0, n},
      [] {
        array<std::int32_t> col(n);
        for (std::int32_t j = 0; j < n; ++j)
          col[static_cast<std::size_t>(j)] = j;
        return col;
      }(),
      array<float>(n, 1.f));
  for (spgemm_method const m : {spgemm_method::automatic, spgemm_method::global_esc})
    EXPECT_TRUE(fails_with(errc::overflow, {"spgemm", "2500000000", "32-bit"},
                           [&] { spgemm(cpu{}, tall, wide, {.method = m}); }));
}

TEST(spgemm_plan, refuses_other_patterns_and_keeps_its_result) {
  csr<double> const a = stencil(50);
  for (where const& w : {where(cpu{}), where(reference{})}) {
    spgemm_plan plan(w, a, a);
    csr<double> const before = spgemm(plan, a, a);
    csr<double> moved_entry = a;
    moved_entry.col[1] = 5;
    EXPECT_TRUE(fails_with(errc::bad_structure, {"spgemm", "another pattern", "A"},
                           [&] { spgemm(plan, moved_entry, a); }));
    EXPECT_TRUE(fails_with(errc::bad_structure, {"spgemm", "another pattern", "B"},
                           [&] { spgemm(plan, a, moved_entry); }));
    EXPECT_TRUE(fails_with(errc::shape_mismatch, {"spgemm", "50 x 50", "31 x 31"},
                           [&] { spgemm(plan, stencil(31), stencil(31)); }));
    EXPECT_EQ(plan.result<csr<double>>(), before);
  }
}

TEST(spgemm_plan, says_what_it_does_and_allocates_nothing_when_it_runs) {
  csr<double> const a = stencil(50);
  spgemm_plan plan(cpu{.threads = 1}, a, a);
  EXPECT_NE(plan.path().find("csr, rows: "), std::string::npos) << plan.path();
  EXPECT_NE(plan.path().find(" program, 1 thread"), std::string::npos) << plan.path();
  EXPECT_GT(plan.bytes(), 0u);
  std::size_t const before = global_allocations();
  spgemm(plan, a, a);
  if (counts_global_allocations()) {
    EXPECT_EQ(global_allocations(), before);
  }
  csr<double> const mixed = unsorted(a);
  EXPECT_NE(spgemm_plan(mixed, a).path().find(", A sorted first"), std::string::npos);
  EXPECT_EQ(spgemm_plan(reference{}, a, a).path(), "reference csr");
  EXPECT_NE(spgemm_plan(cpu{}, a, a, {.method = spgemm_method::heap}).path().find("50 heap"),
            std::string::npos);
}

TEST_P(multiplies, every_method_renews_the_values_of_a_plan) {
  auto const type = static_cast<type_tag>(GetParam());
  visit(type, [&](auto types) {
    using T = decltype(types);
    using owner = csr<typename T::value, typename T::index, typename T::offset>;
    csr<double> const a = from_lengths(300, {0, 1, 300, 2, 0, 40, 41, 42, 9, 8, 7});
    any_matrix const b = as_type(factor_for(a, 900, 2), type);
    any_matrix const old_a = as_type(rough(a), type), new_a = as_type(rough(a, 4), type);
    owner const expected = spgemm(reference{}, *new_a.get_if<owner>(), *b.get_if<owner>());
    for (spgemm_method const m : methods) {
      spgemm_plan plan(cpu{}, *old_a.get_if<owner>(), *b.get_if<owner>(), {.method = m});
      EXPECT_TRUE(same_arrays(spgemm(plan, *new_a.get_if<owner>(), *b.get_if<owner>()).view(),
                              expected.view()))
          << name(m);
    }
  });
}

// A row with most of the products is dealt to all threads by columns; of two neighbours with the
// same columns both are, where there are threads enough.
TEST_P(multiplies, one_long_row_over_threads_as_the_reference_does) {
  auto const type = static_cast<type_tag>(GetParam());
  visit(type, [&](auto types) {
    using T = decltype(types);
    using owner = csr<typename T::value, typename T::index, typename T::offset>;
    csr<double> const pattern = from_lengths(3000, {2, 0, 3000, 3000, 9, 1, 40});
    any_matrix const of_a = as_type(rough(pattern), type), next = as_type(rough(pattern, 4), type);
    any_matrix const of_b =
        as_type(rough(from_lengths(5000, std::vector<std::int32_t>(3000, 27), 3)), type);
    owner const &a = *of_a.get_if<owner>(), &b = *of_b.get_if<owner>();
    expect_product(a, b, "long rows", {spgemm_method::automatic, spgemm_method::dense},
                   {1, 2, 3, 64});
    owner const expected = spgemm(reference{}, *next.get_if<owner>(), b);
    for (int const threads : {1, 2, 3, 5}) {
      spgemm_plan plan(cpu{.threads = threads}, a, b);
      EXPECT_EQ(plan.path().find("2 split") != std::string::npos, threads > 2) << plan.path();
      EXPECT_TRUE(same_arrays(spgemm(plan, *next.get_if<owner>(), b).view(), expected.view()))
          << threads;
      for (std::size_t const part : {1, 2, 4}) { // which may leave no room for the cuts
        std::size_t const limit = plan.bytes() / part;
        spgemm_plan tight(cpu{.threads = threads, .workspace_limit = limit}, a, b);
        EXPECT_LE(tight.bytes(), limit) << tight.path();
        EXPECT_TRUE(same_arrays(spgemm(tight, *next.get_if<owner>(), b).view(), expected.view()))
            << tight.path();
      }
    }
  });
}

TEST(spgemm, keeps_to_a_workspace_limit) {
  std::vector<std::pair<std::string, csr<double>>> const all{
      {"skewed", rough(find("skewed").matrix)},
      {"blocks", rough(blocks(300, 3, 40))},
      {"stencil", stencil(9000)},
      {"dense row", rough(from_lengths(3000, {0, 1, 3000, 2, 0, 900, 901, 902, 9, 8, 7}))}};
  for (auto const& named : all) {
    auto const& what = named.first;
    auto const& a = named.second;
    csr<double> const b = a.rows == a.cols ? a : factor_for(a, 20000, 3);
    csr<double> const expected = spgemm(reference{}, a, b);
    for (int const threads : {1, 2, 7}) {
      peak_memory memory;
      spgemm(cpu{.threads = threads, .memory = &memory}, a, b);
      EXPECT_EQ(memory.outstanding(), 0u);
      std::size_t const extra = memory.peak() - expected.bytes();
      for (std::size_t const part : {1, 2, 4, 10}) {
        peak_memory tight;
        std::size_t const limit = extra / part;
        csr<double> const c =
            spgemm(cpu{.threads = threads, .memory = &tight, .workspace_limit = limit}, a, b);
        EXPECT_TRUE(same_arrays(c.view(), expected.view())) << what << " " << part;
        EXPECT_LE(tight.peak() - expected.bytes(), limit) << what << " " << part << " " << threads;
      }
    }
    EXPECT_TRUE(fails_with(errc::out_of_memory, {"spgemm", "bytes of workspace", "7"}, [&] {
      spgemm(cpu{.workspace_limit = 7}, a, b);
    })) << what;
  }
}

TEST(spgemm, by_a_method_that_does_not_fit_the_limit_is_refused) {
  csr<double> const a = from_lengths(3000, {0, 1, 3000, 2, 0, 900, 901, 902, 9, 8, 7});
  csr<double> const b = factor_for(a, 20000, 3);
  for (spgemm_method const m : {spgemm_method::hash, spgemm_method::esc, spgemm_method::merge,
                                spgemm_method::heap, spgemm_method::global_esc})
    EXPECT_TRUE(fails_with(errc::out_of_memory, {"spgemm", "bytes of workspace", name(m)}, [&] {
      spgemm(cpu{.workspace_limit = 20000}, a, b, {.method = m});
    })) << name(m);
  EXPECT_TRUE(same_arrays(
      borrowed(spgemm(cpu{.workspace_limit = 20000}, a, b, {.method = spgemm_method::dense})),
      borrowed(spgemm(reference{}, a, b))));
}

TEST(spgemm, leaves_nothing_behind_where_memory_ends) {
  csr<double> const a = rough(unsorted(stencil(60)));
  csr<double> const before = a;
  for (std::size_t k = 1;; ++k) {
    failing_memory memory(k);
    try {
      cpu const w{.threads = 1, .memory = &memory};
      for (spgemm_method const m : methods)
        spgemm(w, a, a, {.method = m});
      spgemm_plan const plan(w, a, a);
      EXPECT_GT(k, 40u);
      break;
    } catch (error const& e) {
      EXPECT_EQ(e.code(), errc::out_of_memory);
    }
    EXPECT_EQ(memory.outstanding(), 0u);
  }
  EXPECT_EQ(a, before);
}

// A plan that cannot renew its values keeps those it has.
TEST(spgemm_plan, keeps_its_result_where_memory_ends) {
  csr<double> const a = rough(unsorted(stencil(60))), next = rough(unsorted(stencil(60)), 5);
  for (spgemm_method const m : {spgemm_method::automatic, spgemm_method::global_esc})
    for (std::size_t k = 1;; ++k) {
      failing_memory memory;
      cpu const w{.threads = 1, .memory = &memory};
      spgemm_plan plan(w, a, a, {.method = m});
      csr<double> const before = plan.result<csr<double>>();
      memory.fail_at(k);
      try {
        spgemm(plan, next, next);
        EXPECT_GT(k, 1u);
        break;
      } catch (error const& e) {
        EXPECT_EQ(e.code(), errc::out_of_memory);
      }
      EXPECT_EQ(plan.result<csr<double>>(), before) << name(m) << " " << k;
    }
}

} // namespace
} // namespace tulle::test::spgemm_test

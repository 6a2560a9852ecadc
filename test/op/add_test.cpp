// SPDX-License-Identifier: Apache-2.0

// alpha A + beta B and alpha A + beta D against the reference, and the reference against paper.
#include "tulle/format/coo.hpp"
#include "tulle/format/csc.hpp"
#include "tulle/op/add.hpp"

#include "support/expect.hpp"
#include "support/memory.hpp"
#include "support/zoo.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace tulle::test::add_test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

csr<double> small() {
  return {3, 4, {0, 2, 2, 4}, {0, 2, 1, 3}, {1, 2, 3, 4}};
}
// Shares (0, 2); unsorted, with (2, 0) twice.
csr<double> other() {
  return {3, 4, {0, 2, 3, 5}, {3, 2, 1, 0, 0}, {5, 6, 7, 8, 9}};
}

TEST(add, of_the_reference_is_as_on_paper) {
  csr<double> const expected{
      3, 4, {0, 3, 4, 7}, {0, 2, 3, 1, 0, 1, 3}, {2, 4 - 6, -5, -7, -17, 6, 8}};
  EXPECT_EQ(add(reference{}, 2.0, small(), -1.0, other()), expected);
}

template <class V, class I, class O>
void expect_sum(csr<V, I, O> const& a, csr<V, I, O> const& b, std::string const& what) {
  V const alpha = V(3) / V(2), beta = V(-5) / V(4);
  csr<V, I, O> const expected = add(reference{}, alpha, a, beta, b);
  expected.validate();
  EXPECT_TRUE(expected.view().is_canonical()) << what;
  for (int const threads : {1, 2, 3, 7}) {
    cpu const w{.threads = threads};
    EXPECT_TRUE(same_arrays(borrowed(add(w, alpha, a, beta, b)), expected.view()))
        << what << " " << threads;
    for (add_method const m :
         {add_method::spa, add_method::heap, add_method::esc, add_method::merge})
      EXPECT_TRUE(same_arrays(borrowed(add(w, alpha, a, beta, b, {.method = m})), expected.view()))
          << what << " " << name(m) << " " << threads;
    add_plan plan(w, a, b);
    for (int run = 0; run < 2; ++run)
      EXPECT_TRUE(same_arrays(borrowed(add(plan, alpha, a, beta, b)), expected.view()))
          << what << " " << plan.path() << " " << threads;
  }
}

/// Another matrix of that shape that shares some places with a: every second entry of it, and
/// others.
csr<double> half_of(csr<double> const& a) {
  auto const rows = static_cast<std::size_t>(a.rows);
  std::vector<std::int32_t> row_ptr{0}, col;
  std::vector<double> val;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::int32_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
      if ((k + static_cast<std::int32_t>(i)) % 2 == 0) {
        col.push_back(k % 3 == 0 ? a.col[k] : (a.col[k] * 7 + 3) % a.cols);
        val.push_back(k % 11 - 5);
      }
    row_ptr.push_back(static_cast<std::int32_t>(col.size()));
  }
  return csr<double>(a.rows, a.cols, array<std::int32_t>(row_ptr.data(), row_ptr.size()),
                     array<std::int32_t>(col.data(), col.size()),
                     array<double>(val.data(), val.size()));
}

class adds : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(op, adds, testing::Range<std::size_t>(0, type_count),
                         [](auto const& info) { return name(static_cast<type_tag>(info.param)); });

TEST_P(adds, the_zoo_as_the_reference_does) {
  auto const type = static_cast<type_tag>(GetParam());
  visit(type, [&](auto types) {
    using T = decltype(types);
    using owner = csr<typename T::value, typename T::index, typename T::offset>;
    for (animal const& a : zoo()) {
      if (a.matrix.val.size() > 20000 && type != type_tag::f64_i32)
        continue; // networks and heaps are slow on long rows; one type is enough
      any_matrix const left = as_type(rough(a.matrix), type);
      any_matrix const right = as_type(half_of(a.matrix), type);
      expect_sum(*left.get_if<owner>(), *right.get_if<owner>(), a.name);
      expect_sum(*left.get_if<owner>(), *left.get_if<owner>(), a.name + " and itself");
    }
  });
}

// Whole words of bits of every kind: both have all, one has all, mixed.
TEST(add, takes_words_that_one_or_both_fill) {
  std::int32_t const n = 1000;
  for (std::int32_t const shift : {0, 1, 63, 64, 65, 500, 1000}) {
    std::vector<std::int32_t> col_a, col_b;
    std::vector<double> val_a, val_b;
    for (std::int32_t j = 0; j < n; ++j) {
      col_a.push_back(j);
      val_a.push_back(j + 1);
      col_b.push_back(j + shift);
      val_b.push_back(-j);
    }
    csr<double> const a(1, 2000, {0, n}, array<std::int32_t>(col_a.data(), col_a.size()),
                        array<double>(val_a.data(), val_a.size()));
    csr<double> const b(1, 2000, {0, n}, array<std::int32_t>(col_b.data(), col_b.size()),
                        array<double>(val_b.data(), val_b.size()));
    expect_sum(a, b, "shifted by " + std::to_string(shift));
    expect_sum(b, a, "shifted by " + std::to_string(-shift));
  }
}

TEST(add, of_large_matrices_is_as_the_reference_does) {
  csr<double> const& a = elephant();
  csr<double> const b = half_of(a);
  csr<double> const expected = add(reference{}, 1.0, a, 2.0, b);
  for (int const threads : {1, 2, 5, 64}) {
    cpu const w{.threads = threads};
    EXPECT_TRUE(same_arrays(borrowed(add(w, 1.0, a, 2.0, b)), expected.view())) << threads;
    add_plan plan(w, a, b);
    EXPECT_TRUE(same_arrays(borrowed(add(plan, 1.0, a, 2.0, b)), expected.view())) << threads;
  }
}

TEST(add, keeps_the_pattern_whatever_the_factors_and_reads_no_values_for_zero) {
  csr<double> bad = small();
  for (double& v : bad.val)
    v = nan;
  csr<double> const good = other().to_csr();
  csr<double> const expected{3, 4, {0, 3, 4, 7}, {0, 2, 3, 1, 0, 1, 3}, {0, 6, 5, 7, 17, 0, 0}};
  for (where const& w : {where(cpu{}), where(reference{})})
    for (add_method const m : {add_method::automatic, add_method::spa, add_method::heap,
                               add_method::esc, add_method::merge}) {
      EXPECT_EQ(add(w, 0.0, bad, 1.0, good, {.method = m}), expected);
      EXPECT_EQ(add(w, 1.0, good, 0.0, bad, {.method = m}), expected);
    }
  add_plan plan(bad, good);
  EXPECT_EQ(add(plan, 0.0, bad, 1.0, good), expected);
}

TEST(add, takes_every_format) {
  csr<double> const expected = add(reference{}, 2.0, small(), 1.0, other());
  EXPECT_EQ(add(2.0, csc<double>::from_csr(borrowed(small())), 1.0,
                coo<double>::from_csr(borrowed(other()))),
            expected);
  EXPECT_EQ(add(2.0, borrowed(small()), 1.0, other()), expected);
}

TEST(add, refuses_shapes_that_differ_and_what_is_no_matrix) {
  csr<double> const a = small();
  csr<double> const wide{3, 5, {0, 0, 0, 0}, {}, {}};
  for (where const& w : {where(cpu{}), where(reference{})}) {
    EXPECT_TRUE(fails_with(errc::shape_mismatch, {"add", "A is 3 x 4", "B is 3 x 5"},
                           [&] { add(w, 1.0, a, 1.0, wide); }));
    EXPECT_TRUE(fails_with(errc::shape_mismatch, {"add", "A is 3 x 4", "B is 3 x 5"},
                           [&] { add_plan plan(w, a, wide); }));
    csr<double> gone = a;
    csr<double> const there = std::move(gone);
    EXPECT_TRUE(fails_with(errc::bad_structure, {"add", "B", "row_ptr", "moved"},
                           [&] { add(w, 1.0, a, 1.0, gone); })); // NOLINT
  }
  EXPECT_TRUE(fails_with(errc::out_of_memory, {"add", "bytes of workspace", "7"},
                         [&] { add(cpu{.workspace_limit = 7}, 1.0, a, 1.0, a); }));
  EXPECT_TRUE(fails_with(errc::out_of_memory, {"add", "bytes of workspace", "7"}, [&] {
    add(cpu{.workspace_limit = 7}, 1.0, a, 1.0, a, {.method = add_method::spa});
  }));
}

TEST(add_plan, refuses_other_patterns_and_keeps_its_result) {
  csr<double> const a = small(), b = other();
  for (where const& w : {where(cpu{}), where(reference{})}) {
    add_plan plan(w, a, b);
    csr<double> const before = add(plan, 1.0, a, 1.0, b);
    csr<double> moved_entry = a;
    moved_entry.col[0] = 1;
    EXPECT_TRUE(fails_with(errc::bad_structure, {"add", "another pattern", "A"},
                           [&] { add(plan, 1.0, moved_entry, 1.0, b); }));
    EXPECT_TRUE(fails_with(errc::bad_structure, {"add", "another pattern", "B"},
                           [&] { add(plan, 1.0, a, 1.0, moved_entry); }));
    csr<double> const tall{4, 4, {0, 0, 0, 0, 0}, {}, {}};
    EXPECT_TRUE(fails_with(errc::shape_mismatch, {"add", "3 x 4", "4 x 4"},
                           [&] { add(plan, 1.0, tall, 1.0, tall); }));
    EXPECT_EQ(plan.result(), before);
  }
}

TEST(add_plan, says_what_it_does_and_allocates_nothing_when_it_runs) {
  csr<double> const a = small(), b = other().to_csr();
  add_plan plan(cpu{.threads = 1}, a, b);
  EXPECT_EQ(plan.path(), "cpu csr by merged bits");
  EXPECT_GT(plan.bytes(), 0u);
  std::size_t const before = global_allocations();
  add(plan, 1.0, a, 1.0, b);
  if (counts_global_allocations()) {
    EXPECT_EQ(global_allocations(), before);
  }
  EXPECT_EQ(add_plan(a, other()).path(), "cpu csr by merged bits, B sorted first");
  EXPECT_EQ(add_plan(other(), a).path(), "cpu csr by merged bits, A sorted first");
  EXPECT_EQ(add_plan(reference{}, a, b).path(), "reference csr");
}

TEST(add, leaves_nothing_behind_where_memory_ends) {
  csr<double> const a = small(), b = other();
  for (std::size_t k = 1;; ++k) {
    failing_memory memory(k);
    try {
      cpu const w{.threads = 1, .memory = &memory};
      {
        add(w, 1.0, a, 1.0, b);
        add(w, 1.0, a, 1.0, b, {.method = add_method::heap});
        add_plan const plan(w, a, b);
      }
      EXPECT_GT(k, 10u);
      break;
    } catch (error const& e) {
      EXPECT_EQ(e.code(), errc::out_of_memory);
    }
    EXPECT_EQ(memory.outstanding(), 0u);
  }
}

// Dense ----------------------------------------------------------------------------------------

TEST(add_dense, is_right_for_every_layout_and_number_of_threads) {
  for (animal const& animal : zoo()) {
    csr<double> const& a = animal.matrix;
    auto const rows = static_cast<std::size_t>(a.rows), cols = static_cast<std::size_t>(a.cols);
    if (rows * cols > 2000000)
      continue;
    std::size_t const gap = 3;
    std::vector<double> const start((rows + gap) * (cols + gap) + 1, 1.5);
    for (bool const by_rows : {true, false}) {
      auto const view = [&](std::vector<double>& d) {
        return by_rows ? row_major(d.data(), rows, cols, cols + gap)
                       : col_major(d.data(), rows, cols, rows + gap);
      };
      std::vector<double> expected = start;
      add(reference{}, 2.0, a, -0.5, view(expected));
      for (int const threads : {1, 2, 7}) {
        std::vector<double> d = start;
        add(cpu{.threads = threads}, 2.0, a, -0.5, view(d));
        EXPECT_TRUE(same_bits(d, expected)) << animal.name << " " << by_rows << " " << threads;
      }
    }
  }
}

TEST(add_dense, of_the_reference_is_as_on_paper) {
  std::vector<double> d{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  add(reference{}, 2.0, other(), 1.0, row_major(d.data(), 3, 4));
  EXPECT_EQ(d, (std::vector<double>{1, 1, 13, 11, 1, 15, 1, 1, 35, 1, 1, 1}));
}

TEST(add_dense, reads_nothing_for_factors_of_zero) {
  csr<double> bad = small();
  for (double& v : bad.val)
    v = nan;
  for (where const& w : {where(cpu{}), where(reference{})}) {
    std::vector<double> d(12, 3);
    add(w, 0.0, bad, 2.0, row_major(d.data(), 3, 4));
    EXPECT_EQ(d, std::vector<double>(12, 6));
    std::vector<double> poisoned(12, nan);
    add(w, 1.0, small(), 0.0, row_major(poisoned.data(), 3, 4));
    EXPECT_EQ(poisoned, (std::vector<double>{1, 0, 2, 0, 0, 0, 0, 0, 0, 3, 0, 4}));
  }
}

TEST(add_dense, refuses_what_does_not_fit) {
  csr<double> const a = small();
  std::vector<double> d(12, 3);
  std::vector<double> const before = d;
  for (where const& w : {where(cpu{}), where(reference{})}) {
    EXPECT_TRUE(fails_with(errc::shape_mismatch, {"add", "A is 3 x 4", "D is 4 x 3"},
                           [&] { add(w, 1.0, a, 1.0, row_major(d.data(), 4, 3)); }));
    EXPECT_TRUE(fails_with(errc::bad_structure, {"add", "D is null", "3 x 4"}, [&] {
      add(w, 1.0, a, 1.0, row_major(static_cast<double*>(nullptr), 3, 4));
    }));
    EXPECT_TRUE(fails_with(errc::bad_structure, {"add", "strides 3 and 1"},
                           [&] { add(w, 1.0, a, 1.0, row_major(d.data(), 3, 4, 3)); }));
    EXPECT_TRUE(fails_with(errc::overflow, {"add", "rows of D"}, [&] {
      add(w, 1.0, a, 1.0, row_major(d.data(), 3, 4, SIZE_MAX / 2 + 2));
    }));
    csr<double> own = csr<double>(1, 4, {0, 4}, {0, 1, 2, 3}, {1, 2, 3, 4});
    EXPECT_TRUE(fails_with(errc::bad_structure, {"add", "D overlaps"},
                           [&] { add(w, 1.0, own, 1.0, row_major(own.val.data(), 1, 4)); }));
  }
  EXPECT_EQ(d, before);
}

} // namespace
} // namespace tulle::test::add_test

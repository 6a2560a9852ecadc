// SPDX-License-Identifier: Apache-2.0

// Plans: for one pattern, wherever it lies, and for one call at a time.
#include "tulle/op/add.hpp"
#include "tulle/op/convert.hpp"
#include "tulle/op/spgemm.hpp"
#include "tulle/op/spmm.hpp"
#include "tulle/op/spmv.hpp"
#include "tulle/op/transpose.hpp"

#include "support/expect.hpp"
#include "support/layouts.hpp"
#include "support/zoo.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <gtest/gtest.h>
#include <memory_resource>
#include <thread>

namespace tulle::test::plan_test {
namespace {

using doubles = std::vector<double>;
using matrix = csr<double>;

/// Rows of three entries in a band whose place differs from one `shift` to another: the shape and
/// the number of entries do not.
matrix band(int rows, int shift, cpu const& where = {}) {
  matrix a(unchecked, rows, rows, array<int>(static_cast<std::size_t>(rows) + 1, where.memory),
           array<int>(3 * static_cast<std::size_t>(rows), where.memory),
           array<double>(3 * static_cast<std::size_t>(rows), where.memory));
  a.row_ptr[0] = 0;
  for (int i = 0; i < rows; ++i) {
    int at[3] = {(i + shift) % rows, (i + 7 * shift + 1) % rows, (i + 11 * shift + 2) % rows};
    std::sort(at, at + 3);
    for (int k = 0; k < 3; ++k) {
      a.col[static_cast<std::size_t>(3 * i + k)] = at[k];
      a.val[static_cast<std::size_t>(3 * i + k)] = 1 + (i + 5 * k) % 13;
    }
    a.row_ptr[static_cast<std::size_t>(i) + 1] = 3 * i + 3;
  }
  return a;
}

/// Gives the same addresses to the same sequence of requests, as memory that is used again does.
class same_memory final : public std::pmr::memory_resource {
public:
  void rewind() { used_ = 0; }

private:
  void* do_allocate(std::size_t bytes, std::size_t) override {
    void* const p = room_.data() + used_;
    used_ += (bytes + 63) / 64 * 64;
    if (used_ > room_.size())
      throw std::bad_alloc();
    return p;
  }
  void do_deallocate(void*, std::size_t, std::size_t) override {}
  bool do_is_equal(std::pmr::memory_resource const& other) const noexcept override {
    return this == &other;
  }
  array<std::byte> room_{std::size_t{1} << 22};
  std::size_t used_ = 0;
};

constexpr int rows = 400;

/// What f() gives, or empty where it threw that the plan is for another pattern.
template <class F>
doubles unless_other_pattern(F&& f) {
  try {
    return f();
  } catch (error const& e) {
    EXPECT_TRUE(e.code() == errc::bad_structure || e.code() == errc::shape_mismatch) << e.what();
    return {};
  }
}

TEST(plans, tell_another_matrix_at_the_same_address) {
  doubles x(rows);
  for (int i = 0; i < rows; ++i)
    x[static_cast<std::size_t>(i)] = 1 + i % 7;
  same_memory memory;
  cpu const where{.threads = 2, .memory = &memory};
  int refused = 0;
  any_matrix const other(band(rows, 3));
  for_each_layout(any_matrix(band(rows, 0)), [&](std::string const& name, any_matrix const&) {
    layout const l = layout::parse(name);
    for (bool const is_transposed : {false, true}) {
      doubles expected(rows);
      is_transposed ? spmv(reference{}, 1.0, transposed(other), x, 0.0, expected)
                    : spmv(reference{}, 1.0, other, x, 0.0, expected);
      memory.rewind();
      auto made = std::make_unique<any_matrix>(convert(any_matrix(band(rows, 0)), l, where));
      auto plan = is_transposed ? spmv_plan(cpu{.threads = 2}, transposed(*made))
                                : spmv_plan(cpu{.threads = 2}, *made);
      made.reset();
      memory.rewind();
      any_matrix const next = convert(other, l, where);
      doubles const found = unless_other_pattern([&] {
        doubles y(rows, std::nan(""));
        is_transposed ? spmv(plan, 1.0, transposed(next), x, 0.0, y)
                      : spmv(plan, 1.0, next, x, 0.0, y);
        return y;
      });
      refused += found.empty();
      if (!found.empty()) {
        EXPECT_EQ(found, expected) << name << " " << is_transposed;
      }
      is_transposed ? plan.rebind(transposed(next)) : plan.rebind(next);
      doubles y(rows, std::nan(""));
      is_transposed ? spmv(plan, 1.0, transposed(next), x, 0.0, y)
                    : spmv(plan, 1.0, next, x, 0.0, y);
      EXPECT_EQ(y, expected) << name << " rebound " << is_transposed;
    }
  });
  EXPECT_GT(refused, 0);
}

TEST(plans, of_other_operations_tell_another_matrix_at_the_same_address) {
  same_memory memory;
  cpu const where{.threads = 2, .memory = &memory};
  matrix const b = band(rows, 2);
  matrix const first = band(rows, 0), second = band(rows, 3);
  auto const copy_of = [&](matrix const& a) {
    memory.rewind();
    return matrix::from_csr(a.view(), {}, where);
  };
  {
    auto const a = copy_of(first);
    transpose_plan<double, int, int> plan(a);
    auto const c = copy_of(second);
    EXPECT_TRUE(fails_with(errc::bad_structure, {"transpose", "another pattern", "rebind"},
                           [&] { transpose(plan, c); }));
    EXPECT_TRUE(fails_with(errc::bad_structure, {"transpose"}, [&] { plan.check(c.view()); }));
    plan.rebind(c.view());
    plan.check(c.view());
    EXPECT_EQ(transpose(plan, c), transpose(second));
  }
  {
    auto const a = copy_of(first);
    add_plan<double, int, int> plan(a, b);
    auto const c = copy_of(second);
    EXPECT_TRUE(fails_with(errc::bad_structure, {"add", "another pattern"},
                           [&] { add(plan, 1.0, c, 1.0, b); }));
    EXPECT_TRUE(fails_with(errc::bad_structure, {"add"}, [&] { plan.check(c.view(), b.view()); }));
    plan.rebind(c.view(), b.view());
    EXPECT_EQ(add(plan, 1.0, c, 1.0, b), add(1.0, second, 1.0, b));
  }
  {
    auto const a = copy_of(first);
    spgemm_plan plan(a, b);
    auto const c = copy_of(second);
    EXPECT_TRUE(fails_with(errc::bad_structure, {"spgemm", "another pattern"},
                           [&] { spgemm(plan, c, b); }));
    EXPECT_TRUE(
        fails_with(errc::bad_structure, {"spgemm"}, [&] { plan.check(c.view(), b.view()); }));
    plan.rebind(c.view(), b.view());
    EXPECT_EQ(spgemm(plan, c, b), spgemm(second, b));
  }
  for (bool const is_transposed : {false, true}) {
    doubles x(2 * rows, 1.5), y(2 * rows), expected(2 * rows);
    auto const b2 = row_major(static_cast<double const*>(x.data()), rows, 2);
    auto const c2 = row_major(y.data(), rows, 2);
    auto const e2 = row_major(expected.data(), rows, 2);
    auto const a = copy_of(first);
    auto plan = is_transposed ? spmm_plan(cpu{.threads = 2}, transposed(a), b2, c2)
                              : spmm_plan(cpu{.threads = 2}, a, b2, c2);
    auto const c = copy_of(second);
    is_transposed ? spmm(reference{}, 1.0, transposed(second), b2, 0.0, e2)
                  : spmm(reference{}, 1.0, second, b2, 0.0, e2);
    doubles const found = unless_other_pattern([&] {
      is_transposed ? spmm(plan, 1.0, transposed(c), b2, 0.0, c2) : spmm(plan, 1.0, c, b2, 0.0, c2);
      return y;
    });
    if (!found.empty()) {
      EXPECT_EQ(found, expected);
    }
    EXPECT_TRUE(fails_with(errc::bad_structure, {"spm", "another pattern"},
                           [&] { is_transposed ? plan.check(transposed(c)) : plan.check(c); }));
    is_transposed ? plan.rebind(transposed(c)) : plan.rebind(c);
    is_transposed ? spmm(plan, 1.0, transposed(c), b2, 0.0, c2) : spmm(plan, 1.0, c, b2, 0.0, c2);
    EXPECT_EQ(y, expected);
  }
}

// The caller's own arrays, filled anew: sampled indices tell, and check() reads them all.
TEST(plans, tell_borrowed_arrays_that_were_filled_anew) {
  matrix const first = band(rows, 0), second = band(rows, 3);
  std::vector<int> ptr(first.row_ptr.begin(), first.row_ptr.end());
  std::vector<int> col(first.col.begin(), first.col.end());
  doubles val(first.val.begin(), first.val.end()), x(rows, 1.0), y(rows);
  csr_view<double> const a(rows, rows, ptr, col, val);
  spmv_plan plan(transposed(a));
  plan.check(transposed(a));
  std::copy(second.col.begin(), second.col.end(), col.begin());
  EXPECT_TRUE(fails_with(errc::bad_structure, {"another pattern", "rebind"},
                         [&] { spmv(plan, 1.0, transposed(a), x, 0.0, y); }));
  std::copy(first.col.begin(), first.col.end(), col.begin());
  spmv(plan, 1.0, transposed(a), x, 0.0, y);
  ++col[3 * 131 + 2]; // one index
  EXPECT_TRUE(
      fails_with(errc::bad_structure, {"another pattern"}, [&] { plan.check(transposed(a)); }));
}

TEST(plans, are_for_one_call_at_a_time) {
  matrix const a = band(rows, 1);
  doubles x(rows, 1.0), y(rows);
  spmv_plan plan(a);
  {
    detail::plan_turn const elsewhere(plan, "spmv");
    EXPECT_TRUE(fails_with(errc::bad_structure, {"spmv", "in use by another thread"},
                           [&] { spmv(plan, 1.0, a, x, 0.0, y); }));
  }
  spmv(plan, 1.0, a, x, 0.0, y);
  transpose_plan<double, int, int> other(a);
  {
    detail::plan_turn const elsewhere(other, "transpose");
    EXPECT_TRUE(fails_with(errc::bad_structure, {"in use"}, [&] { transpose(other, a); }));
  }
  // A call that failed has given it back.
  EXPECT_TRUE(fails_with(errc::shape_mismatch, {}, [&] {
    transpose(other, matrix(1, 1, {0, 0}, {}, {}));
  }));
  transpose(other, a);
}

TEST(plans, used_by_several_threads_give_the_product_or_say_so) {
  for (bool const is_transposed : {false, true}) {
    matrix const a = band(20000, 1);
    doubles const x(20000, 1.0);
    doubles expected(20000);
    is_transposed ? spmv(1.0, transposed(a), x, 0.0, expected) : spmv(1.0, a, x, 0.0, expected);
    auto plan = is_transposed ? spmv_plan(cpu{.threads = 2}, transposed(a))
                              : spmv_plan(cpu{.threads = 2}, a);
    std::atomic<int> wrong = 0, right = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        doubles y(20000);
        for (int run = 0; run < 50; ++run)
          try {
            is_transposed ? spmv(plan, 1.0, transposed(a), x, 0.0, y)
                          : spmv(plan, 1.0, a, x, 0.0, y);
            ++(y == expected ? right : wrong);
          } catch (error const& e) {
            wrong += e.code() != errc::bad_structure;
          }
      });
    for (auto& t : threads)
      t.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(right, 0);
  }
}

} // namespace
} // namespace tulle::test::plan_test

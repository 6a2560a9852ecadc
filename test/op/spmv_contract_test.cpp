// SPDX-License-Identifier: Apache-2.0

// What spmv refuses, what a plan promises, and that a refusal leaves y as it was.
#include "tulle/core/machine.hpp"
#include "tulle/format/coo.hpp"
#include "tulle/format/csc.hpp"
#include "tulle/gen/generate.hpp"
#include "tulle/op/convert.hpp"
#include "tulle/op/spmv.hpp"

#include "support/expect.hpp"
#include "support/layouts.hpp"
#include "support/memory.hpp"
#include "support/zoo.hpp"

#include <gtest/gtest.h>

namespace tulle::test::spmv_contract_test {
namespace {

using doubles = std::vector<double>;

// 4 x 3, seven entries.
csr<double> small() {
  return {4, 3, {0, 2, 3, 4, 7}, {0, 2, 1, 2, 0, 1, 2}, {1, 2, 3, 4, 5, 6, 7}};
}

TEST(spmv_refuses, vectors_of_the_wrong_size) {
  auto const a = small();
  any_matrix const any = a;
  for (where const& w : {where(cpu{}), where(reference{})}) {
    doubles x(3, 1), y(4, 5), x5(5, 1), y6(6, 5), none;
    expect_refused(errc::shape_mismatch, {"spmv", "x has 5", "3 columns"}, y,
                   [&] { spmv(w, 1.0, a, x5, 0.0, y); });
    expect_refused(errc::shape_mismatch, {"spmv", "x has 0", "3 columns"}, y,
                   [&] { spmv(w, 1.0, a, none, 0.0, y); });
    expect_refused(errc::shape_mismatch, {"spmv", "y has 6", "4 rows"}, y6,
                   [&] { spmv(w, 1.0, a, x, 0.0, y6); });
    expect_refused(errc::shape_mismatch, {"spmv", "y has 6", "4 rows"}, y6,
                   [&] { spmv(w, 1.0, any, x, 0.0, y6); });
    expect_refused(errc::shape_mismatch, {"transposed", "x has 3", "4 rows"}, y6,
                   [&] { spmv(w, 1.0, transposed(a), x, 0.0, y6); });
    expect_refused(errc::shape_mismatch, {"transposed", "y has 6", "3 columns"}, y6,
                   [&] { spmv(w, 1.0, transposed(a), y, 0.0, y6); });
  }
}

TEST(spmv_refuses, a_matrix_that_was_moved_from) {
  auto a = small();
  auto const b = std::move(a);
  doubles x(3, 1), y(4, 5);
  expect_refused(errc::bad_structure, {"spmv", "4 x 3", "row_ptr", "moved"}, y,
                 [&] { spmv(1.0, a, x, 0.0, y); }); // NOLINT(bugprone-use-after-move)
  expect_refused(errc::bad_structure, {"spmv", "row_ptr"}, y, [&] { spmv_plan{a}; });
  expect_refused(errc::bad_structure, {"convert", "row_ptr"}, y,
                 [&, view = a.view()] { convert(matrix_ref(view), format::coo); });
}

TEST(spmv_refuses, null_with_a_size) {
  auto const a = small();
  doubles x(3, 1), y(4, 5);
  vector_view<double const> const no_x(nullptr, 3);
  vector_view<double> const no_y(nullptr, 4);
  expect_refused(errc::bad_structure, {"x is null", "3"}, y, [&] { spmv(1.0, a, no_x, 0.0, y); });
  expect_refused(errc::bad_structure, {"y is null", "4"}, y, [&] { spmv(1.0, a, x, 0.0, no_y); });
  csr<double> const no_columns = find("5x0").matrix;
  vector_view<double> const no_y5(nullptr, 5);
  expect_refused(errc::bad_structure, {"y is null", "5"}, y,
                 [&] { spmv(1.0, no_columns, doubles{}, 0.0, no_y5); });
}

TEST(spmv_refuses, x_and_y_that_overlap) {
  auto const a = small();
  doubles both(8, 1);
  auto const x_at = [&](std::size_t i) { return vector_view<double const>(both.data() + i, 3); };
  auto const y_at = [&](std::size_t i) { return vector_view<double>(both.data() + i, 4); };
  for (where const& w : {where(cpu{}), where(reference{})})
    for (auto const& [x, y] : {std::pair{0, 0}, {0, 2}, {3, 0}, {2, 1}, {4, 4}})
      expect_refused(errc::bad_structure, {"overlap"}, both,
                     [&, x = x, y = y] { spmv(w, 1.0, a, x_at(x), 0.0, y_at(y)); });
  EXPECT_NO_THROW(spmv(1.0, a, x_at(0), 0.0, y_at(3))); // side by side
  EXPECT_NO_THROW(spmv(1.0, a, x_at(4), 0.0, y_at(0)));
}

TEST(spmv_refuses, y_in_the_arrays_of_a) {
  doubles val = {1, 2, 3, 4, 5, 6, 7, 9, 9, 9, 9};
  std::vector<std::int32_t> const ptr = {0, 2, 3, 4, 7};
  std::vector<std::int32_t> col(30, 0);
  csr_view<double> const a(4, 3, ptr, std::span(col).first(7), std::span(val).first(7));
  doubles const x(3, 1);
  for (std::size_t const at : {0, 3, 6})
    expect_refused(errc::bad_structure, {"y overlaps", "A"}, val,
                   [&] { spmv(1.0, a, x, 0.0, vector_view<double>(val.data() + at, 4)); });
  EXPECT_NO_THROW(spmv(1.0, a, x, 0.0, vector_view<double>(val.data() + 7, 4)));
  auto* const in_col = reinterpret_cast<double*>(col.data());
  EXPECT_TRUE(fails_with(errc::bad_structure, {"y overlaps", "A"},
                         [&] { spmv(1.0, a, x, 0.0, vector_view<double>(in_col, 4)); }));
  EXPECT_EQ(col, std::vector<std::int32_t>(30, 0));
  // An array of no elements overlaps nothing, wherever it points.
  std::vector<std::int32_t> const zeros(5, 0);
  csr_view<double> const nothing(4, 3, zeros, std::span(col).first(0),
                                 std::span(val).subspan(2, 0));
  EXPECT_NO_THROW(spmv(1.0, nothing, x, 0.0, vector_view<double>(val.data(), 4)));
}

TEST(spmv_refuses, vectors_of_another_type_than_the_matrix_has) {
  any_matrix const a = small();
  std::vector<float> const x(3, 1);
  std::vector<float> y(4, 5);
  EXPECT_TRUE(fails_with(errc::unsupported, {"spmv", "f64_i32"}, [&] { spmv(1.f, a, x, 0.f, y); }));
  EXPECT_EQ(y, std::vector<float>(4, 5));
}

TEST(spmv_refuses, an_empty_any_matrix_and_a_backend_that_is_not_there) {
  doubles x(3, 1), y(4, 5);
  expect_refused(errc::bad_structure, {"any_matrix"}, y,
                 [&] { spmv(1.0, any_matrix(), x, 0.0, y); });
  for (backend const b : {backend::cuda, backend::opencl}) {
    where w;
    w.backend = b;
    expect_refused(errc::unsupported, {"spmv", name(b)}, y,
                   [&] { spmv(w, 1.0, small(), x, 0.0, y); });
  }
}

TEST(spmv_refuses, a_workspace_beyond_the_limit) {
  for_each_format(mirrored(find("banded").matrix), [](any_matrix const& a) {
    for (bool const t : {false, true}) {
      doubles x(12000, 1), y(12000, 5);
      auto const call = [&](std::size_t limit) {
        cpu const w{.threads = 2, .workspace_limit = limit};
        t ? spmv(w, 1.0, transposed(a), x, 0.0, y) : spmv(w, 1.0, a, x, 0.0, y);
      };
      auto const plan = [&](std::size_t limit) {
        cpu const w{.threads = 2, .workspace_limit = limit};
        t ? spmv_plan(w, transposed(a)) : spmv_plan(w, a);
      };
      cpu const two{.threads = 2};
      std::size_t const needed =
          t ? spmv_plan(two, transposed(a)).bytes() : spmv_plan(two, a).bytes();
      if (needed == 0 && a.format() != format::csr && a.format() != format::coo)
        continue;
      ASSERT_GT(needed, 0u);
      expect_refused(errc::out_of_memory,
                     {"spmv", std::to_string(needed), std::to_string(needed - 1)}, y,
                     [&] { plan(needed - 1); });
      EXPECT_NO_THROW(plan(needed));
      EXPECT_NO_THROW(call(needed)); // a plan may keep more than one call needs
      if (needed > 0)
        expect_refused(errc::out_of_memory, {"spmv", "the limit is 1"}, y, [&] { call(1); });
    }
  });
}

TEST(spmv_refuses, when_memory_fails_and_leaks_nothing) {
  for_each_format(mirrored(find("banded").matrix), [](any_matrix const& a) {
    doubles x(12000, 1), y(12000, 5);
    failing_memory memory;
    std::size_t needed = 0;
    {
      spmv_plan const plan(cpu{.memory = &memory}, a);
      needed = plan.bytes();
      EXPECT_EQ(memory.outstanding(), needed);
    }
    EXPECT_EQ(memory.outstanding(), 0u);
    format const f = a.format();
    EXPECT_TRUE(needed > 0 || (f != format::csr && f != format::coo));
    memory.fail_at(1);
    if (needed > 0)
      expect_refused(errc::out_of_memory, {"bytes"}, y,
                     [&] { spmv_plan(cpu{.memory = &memory}, a); });
    memory.fail_at(1);
    if (needed > 1024 && f != format::csr) // what is smaller lies on the stack
      expect_refused(errc::out_of_memory, {"bytes"}, y,
                     [&] { spmv(cpu{.memory = &memory}, 1.0, a, x, 0.0, y); });
    EXPECT_EQ(memory.outstanding(), 0u);
    if (f != format::csr) { // the reference goes through csr
      memory.fail_at(1);
      expect_refused(errc::out_of_memory, {"bytes"}, y,
                     [&] { spmv(reference{.memory = &memory}, 1.0, a, x, 0.0, y); });
    }
  });
}

TEST(spmv_plan, refuses_another_shape_format_or_transposition) {
  auto const a = small();
  spmv_plan plan(a);
  doubles x(3, 1), y(4, 5), x4(4, 1), y3(3, 5);
  csr<double> const wider(4, 4, {0, 2, 3, 4, 7}, {0, 2, 1, 2, 0, 1, 2}, {1, 2, 3, 4, 5, 6, 7});
  csr<double> const taller(5, 3, {0, 2, 3, 4, 7, 7}, {0, 2, 1, 2, 0, 1, 2}, {1, 2, 3, 4, 5, 6, 7});
  csr<double> const fewer(4, 3, {0, 2, 3, 4, 6}, {0, 2, 1, 2, 0, 1}, {1, 2, 3, 4, 5, 6});
  doubles y5(5, 5);
  expect_refused(errc::shape_mismatch, {"plan", "4 x 3", "4 x 4"}, y,
                 [&] { spmv(plan, 1.0, wider, x4, 0.0, y); });
  expect_refused(errc::shape_mismatch, {"plan", "4 x 3", "5 x 3"}, y5,
                 [&] { spmv(plan, 1.0, taller, x, 0.0, y5); });
  expect_refused(errc::shape_mismatch, {"plan", "7 entries", "with 6"}, y,
                 [&] { spmv(plan, 1.0, fewer, x, 0.0, y); });
  expect_refused(errc::shape_mismatch, {"plan", "csr", "coo"}, y,
                 [&] { spmv(plan, 1.0, coo<double>::from_csr(a.view()), x, 0.0, y); });
  expect_refused(errc::shape_mismatch, {"plan", "csr transposed"}, y3,
                 [&] { spmv(plan, 1.0, transposed(a), x4, 0.0, y3); });
  spmv_plan moved = std::move(plan);
  expect_refused(errc::bad_structure, {"plan"}, y, [&] { spmv(plan, 1.0, a, x, 0.0, y); });
  EXPECT_NO_THROW(spmv(moved, 1.0, a, x, 0.0, y));
  EXPECT_EQ(y, (doubles{3, 3, 4, 18}));
  plan = std::move(moved);
  EXPECT_NO_THROW(spmv(plan, 2.0, a, x, 0.0, y));
  EXPECT_EQ(y, (doubles{6, 6, 8, 36}));
}

// Same shape, same number of entries, other places: blocks of the plan's workspace would be missed.
TEST(spmv_plan, refuses_another_pattern_where_it_relies_on_one) {
  csr<double> const a = generate("banded:20000:2");
  csr<double> const copy = a;
  csr<double> b = a;
  for (auto& j : b.col)
    j = a.cols - 1 - j;
  doubles const x(20000, 1);
  doubles y(20000, 3), expected(20000, 0);
  spmv_plan plan(cpu{.threads = 2}, transposed(a));
  expect_refused(errc::bad_structure, {"plan", "pattern"}, y,
                 [&] { spmv(plan, 1.0, transposed(b), x, 0.0, y); });
  spmv(cpu{.threads = 2}, 1.0, transposed(a), x, 0.0, expected);
  EXPECT_NO_THROW(spmv(plan, 1.0, transposed(copy), x, 0.0, y));
  EXPECT_EQ(y, expected);
  EXPECT_NO_THROW(spmv(plan, 1.0, transposed(a), x, 0.0, y));
}

// Same shape and number of entries, other lengths of rows: what a layout makes of them may want
// more workspace than the plan has. It is refused, or the product is right.
TEST(spmv_plan, never_multiplies_another_layout_wrongly) {
  constexpr int rows = 4000;
  std::vector<std::int32_t> even(rows, 40), uneven(rows, 1);
  for (int i = 0; i < 39; ++i)
    uneven[static_cast<std::size_t>(100 * i)] = 4001;
  csr<double> const some[] = {from_lengths(5000, even), from_lengths(5000, uneven)};
  ASSERT_EQ(some[0].val.size(), some[1].val.size());
  int refused = 0;
  for (int const first : {0, 1})
    for_each_format(some[first], [&](any_matrix const& a) {
      std::vector<any_matrix> others;
      try {
        others.push_back(convert(any_matrix(some[1 - first]), a.format()));
      } catch (error const& e) {
        EXPECT_EQ(e.code(), errc::unsupported) << e.what();
      }
      for (any_matrix const& b : others) {
        spmv_plan plan(cpu{.threads = 2}, a);
        doubles const x = integers(5000, 1);
        doubles y(rows, 5), expected(rows, 5);
        spmv(reference{}, 1.0, b, x, 0.0, expected);
        try {
          spmv(plan, 1.0, b, x, 0.0, y);
          EXPECT_EQ(y, expected) << plan.path();
        } catch (error const& e) {
          EXPECT_EQ(e.code(), errc::bad_structure) << e.what();
          EXPECT_EQ(y, doubles(rows, 5)) << plan.path();
          ++refused;
        }
        EXPECT_NO_THROW(spmv(plan, 1.0, a, x, 0.0, y)) << plan.path();
      }
    });
  EXPECT_GT(refused, 0); // acsr, csr_adaptive and brc at the least
}

TEST(spmv_plan, serves_other_values_on_the_same_pattern) {
  csr<double> const first = mirrored(find("banded").matrix);
  csr<double> const second = other_values(first);
  for_each_format(first, [&](any_matrix const& a) {
    any_matrix const b = convert(any_matrix(second), a.format());
    for (bool const t : {false, true}) {
      spmv_plan plan =
          t ? spmv_plan(cpu{.threads = 3}, transposed(a)) : spmv_plan(cpu{.threads = 3}, a);
      doubles const x = integers(12000, 1);
      for (any_matrix const* const m : {&a, &b, &a}) {
        doubles planned(12000, 5), expected(12000, 5);
        if (t) {
          spmv(plan, 1.0, transposed(*m), x, 0.0, planned);
          spmv(reference{}, 1.0, transposed(*m), x, 0.0, expected);
        } else {
          spmv(plan, 1.0, *m, x, 0.0, planned);
          spmv(reference{}, 1.0, *m, x, 0.0, expected);
        }
        EXPECT_EQ(planned, expected) << plan.path();
      }
    }
  });
}

TEST(spmv_plan, path_names_backend_set_format_method_and_threads) {
  auto const a = small();
  std::string const set = name(active_isa());
  EXPECT_EQ(spmv_plan(cpu{.threads = 1}, a).path(), "cpu/" + set + " csr rows: 1 plain, 1 thread");
  EXPECT_EQ(spmv_plan(cpu{.threads = 3}, a).path(), "cpu/" + set + " csr rows: 1 plain, 3 threads");
  EXPECT_EQ(spmv_plan(reference{}, a).path(), "reference csr");
  EXPECT_EQ(spmv_plan(reference{}, transposed(a)).path(), "reference csr transposed");
  for_each_format(mirrored(find("banded").matrix), [&](any_matrix const& m) {
    std::string const of = name(m.format());
    std::string const path = spmv_plan(cpu{.threads = 2}, transposed(m)).path();
    EXPECT_EQ(path.rfind("cpu/" + set + " " + of + " transposed ", 0), 0u) << path;
    if (m.format() != format::csr) {
      EXPECT_EQ(spmv_plan(reference{}, m).path(), "reference, " + of + " through csr");
    }
  });
  // The methods are told apart.
  auto const path_of = [](auto const& m) { return spmv_plan(cpu{.threads = 2}, m).path(); };
  auto const has = [](std::string const& text, char const* word) {
    return text.find(word) != std::string::npos;
  };
  csr<double> const banded = find("banded").matrix;
  EXPECT_TRUE(has(path_of(transposed(banded)), "scatter in blocks"));
  EXPECT_TRUE(has(path_of(transposed(find("blocks_merged_to_one").matrix)), "one block"));
  auto const triplets = coo<double>::from_csr(banded.view());
  auto const columns = csc<double>::from_csr(banded.view());
  EXPECT_TRUE(has(path_of(triplets), "runs"));
  EXPECT_TRUE(has(path_of(transposed(triplets)), "scatter"));
  EXPECT_TRUE(has(path_of(transposed(columns)), "columns"));
}

TEST(spmv_plan, says_what_it_cost) {
  csr<double> const& a = elephant();
  spmv_plan const plan(cpu{.threads = 2}, a);
  EXPECT_GT(plan.seconds(), 0);
  EXPECT_LT(plan.seconds(), 10);
  EXPECT_GT(plan.bytes(), 0u);
  EXPECT_LT(plan.bytes(), a.bytes() / 10) << "a plan for rows should be small";
  // Sums of blocks take at most half as many values as there are entries, or one y.
  EXPECT_LE(spmv_plan(cpu{.threads = 2}, transposed(a)).bytes(),
            std::max<std::size_t>(a.val.size() / 2, static_cast<std::size_t>(a.cols)) *
                sizeof(double));
  EXPECT_EQ(spmv_plan(reference{}, a).bytes(), 0u);
}

TEST(spmv_plan, a_planned_call_allocates_nothing) {
  if (!counts_global_allocations())
    GTEST_SKIP() << "the sanitizer has operator new";
  for_each_format(mirrored(find("banded").matrix), [](any_matrix const& a) {
    for (bool const t : {false, true}) {
      doubles const x(12000, 1);
      doubles y(12000, 5);
      for (int const threads : {1, 3}) {
        cpu const w{.threads = threads};
        spmv_plan plan = t ? spmv_plan(w, transposed(a)) : spmv_plan(w, a);
        auto const ta = transposed(a);
        for (double const alpha : {1.0, 0.0}) {
          std::size_t const before = global_allocations();
          t ? spmv(plan, alpha, ta, x, 0.5, y) : spmv(plan, alpha, a, x, 0.5, y);
          EXPECT_EQ(global_allocations(), before) << plan.path() << " alpha " << alpha;
        }
      }
      std::size_t const before = global_allocations();
      spmv_plan const another(a);
      EXPECT_GT(global_allocations(), before) << "the counter does not count";
    }
  });
}

TEST(spmv, a_call_with_a_small_csr_allocates_nothing) {
  if (!counts_global_allocations())
    GTEST_SKIP() << "the sanitizer has operator new";
  csr<double> const a(3, 3, {0, 1, 2, 4}, {0, 1, 0, 2}, {1, 2, 3, 4});
  doubles const x(3, 1);
  doubles y(3);
  std::size_t const before = global_allocations();
  spmv(1.0, a, x, 0.0, y);
  spmv(cpu{.threads = 4}, 1.0, a, x, 0.0, y);
  EXPECT_EQ(global_allocations(), before);
}

} // namespace
} // namespace tulle::test::spmv_contract_test

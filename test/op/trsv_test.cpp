// SPDX-License-Identifier: Apache-2.0

// Triangular solves against dense substitution in extended precision, and what trsv refuses.
#include "tulle/format/coo.hpp"
#include "tulle/format/csc.hpp"
#include "tulle/format/sell.hpp"
#include "tulle/op/convert.hpp"
#include "tulle/op/select.hpp"
#include "tulle/op/transpose.hpp"
#include "tulle/op/trsv.hpp"

#include "op/triangles.hpp"
#include "support/expect.hpp"
#include "support/layouts.hpp"
#include "support/memory.hpp"
#include "support/zoo.hpp"

#include <gtest/gtest.h>

namespace tulle::test::trsv_test {
namespace {

using doubles = std::vector<double>;

// 3 x 3, both triangles.
csr<double> small() {
  return {3, 3, {0, 2, 4, 6}, {0, 2, 0, 1, 1, 2}, {2, 9, 1, 4, 3, 5}};
}

TEST(trsv, is_what_paper_says) {
  csr<double> const a = small();
  for (where const& w : {where(cpu{}), where(reference{})}) {
    doubles x(3);
    trsv(w, 1.0, a, doubles{2, 9, 16}, x);
    EXPECT_EQ(x, (doubles{1, 2, 2}));
    trsv(w, 1.0, a, doubles{11, 8, 5}, x, {.triangle = triangle::upper});
    EXPECT_EQ(x, (doubles{1, 2, 1}));
    trsv(w, 2.0, a, doubles{1, 2, 4}, x, {.unit_diagonal = true});
    EXPECT_EQ(x, (doubles{2, 2, 2}));
    trsv(w, 1.0, transposed(a), doubles{4, 11, 5}, x);
    EXPECT_EQ(x, (doubles{1, 2, 1}));
    trsv(w, 1.0, scaled(a, 2.0), doubles{4, 18, 32}, x);
    EXPECT_EQ(x, (doubles{1, 2, 2}));
  }
}

std::vector<std::size_t> const sizes = {0, 1, 2, 31, 32, 33, 63, 64, 65, 101, 255, 256, 257};

template <class V, class I, class O>
void expect_solved(csr<V, I, O> const& a, std::string const& what) {
  auto const n = static_cast<std::size_t>(a.rows);
  std::vector<V> const b = right_side<V>(n);
  V const alpha(-1.5);
  for (triangle const side : {triangle::lower, triangle::upper})
    for (bool const unit : {false, true}) {
      if (unit && n > 101)
        continue; // the solution grows beyond all bounds
      csr<V, I, O> tamed = a;
      if (unit)
        for (V& v : tamed.val)
          v = v / V(32);
      for (view_of_triangle const v : every_view) {
        trsv_options o{.triangle = side, .unit_diagonal = unit};
        auto const expected = dense_solution(tamed, v, o, alpha, b);
        with_view(v, tamed, [&](auto const& view) {
          std::vector<V> x(n, not_a_number<V>()), first;
          trsv(reference{}, alpha, view, b, x, o);
          EXPECT_TRUE(is_near(x, expected)) << what << " reference " << name(side) << unit;
          for (trsv_method const m : every_method)
            for (int const threads : {1, 2, 5}) {
              o.method = m;
              cpu const w{.threads = threads};
              auto const id = [&] {
                return what + " n=" + std::to_string(n) + " " + name(side) + " unit " +
                       std::to_string(unit) + " view " + std::to_string(static_cast<int>(v)) + " " +
                       name(m) + " threads " + std::to_string(threads);
              };
              std::fill(x.begin(), x.end(), not_a_number<V>());
              trsv(w, alpha, view, b, x, o);
              ASSERT_TRUE(is_near(x, expected)) << id();
              if (first.empty())
                first = x;
              ASSERT_TRUE(same_bits(x, first)) << id() << ": other bits";
              trsv_plan plan(w, view, o);
              x = b;
              trsv(plan, alpha, view, x, x);
              ASSERT_TRUE(same_bits(x, first)) << id() << ": other bits in place, planned";
            }
        });
      }
    }
}

TEST(trsv, of_every_size_is_as_dense_substitution) {
  for (std::size_t const n : sizes)
    expect_solved(safe_matrix<double>(n, n < 100 ? 5 : 12), "random");
}

class solves : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(op, solves, testing::Range<std::size_t>(0, type_count),
                         [](auto const& info) { return name(static_cast<type_tag>(info.param)); });

TEST_P(solves, every_type_as_dense_substitution) {
  visit(static_cast<type_tag>(GetParam()), [&](auto types) {
    using T = decltype(types);
    using V = typename T::value;
    for (std::size_t const n : {std::size_t(1), std::size_t(33), std::size_t(101)}) {
      auto const a = safe_matrix<V, typename T::index, typename T::offset>(n, 4);
      expect_solved(a, "sorted");
      expect_solved(untidy(a, false), "unsorted");
      expect_solved(untidy(a, true), "duplicates");
    }
  });
}

// Levels wide enough to be dealt out, by as many threads as there are and more.
TEST(trsv, of_wide_levels_has_the_same_bits_for_every_method_and_number_of_threads) {
  for (char const* name_of : {"poisson3d7:30", "poisson2d5:90", "diagonal"}) {
    csr<double> a = name_of[0] == 'd' ? csr<double>() : rough(generate(name_of));
    if (name_of[0] == 'd') {
      std::vector<std::int32_t> ptr(5001), col(5000);
      for (std::int32_t i = 0; i < 5000; ++i)
        ptr[static_cast<std::size_t>(i) + 1] = i + 1, col[static_cast<std::size_t>(i)] = i;
      a = csr<double>(5000, 5000, array<std::int32_t>(ptr.data(), ptr.size()),
                      array<std::int32_t>(col.data(), col.size()), array<double>(5000, 3.0));
    }
    auto const n = static_cast<std::size_t>(a.rows);
    for (std::size_t i = 0; i < n; ++i)
      for (auto k = static_cast<std::size_t>(a.row_ptr[i]);
           k < static_cast<std::size_t>(a.row_ptr[i + 1]); ++k)
        a.val[k] = static_cast<std::size_t>(a.col[k]) == i ? 7.25 + a.val[k] : a.val[k];
    doubles const b = right_side<double>(n);
    for (triangle const side : {triangle::lower, triangle::upper})
      for (view_of_triangle const v : {view_of_triangle::plain, view_of_triangle::transposed})
        with_view(v, a, [&](auto const& view) {
          doubles expected(n), first;
          trsv(reference{}, 1.0, view, b, expected, {.triangle = side});
          for (trsv_method const m : every_method)
            for (int threads = 1; threads <= 5; ++threads) {
              trsv_plan plan(cpu{.threads = threads}, view, {.triangle = side, .method = m});
              for (int run = 0; run < 3; ++run) {
                doubles x(n, not_a_number<double>());
                trsv(plan, 1.0, view, b, x);
                if (first.empty()) {
                  first = x;
                  EXPECT_TRUE(
                      is_near(x, std::vector<long double>(expected.begin(), expected.end())));
                }
                ASSERT_TRUE(same_bits(x, first)) << name_of << " " << plan.path();
              }
            }
        });
  }
}

TEST(trsv, alpha_zero_reads_neither_a_nor_b) {
  csr<double> a = small();
  for (double& v : a.val)
    v = not_a_number<double>();
  doubles const b(3, not_a_number<double>());
  for (where const& w : {where(cpu{}), where(reference{})}) {
    doubles x(3, not_a_number<double>());
    trsv(w, 0.0, a, b, x);
    EXPECT_EQ(x, doubles(3, 0));
    x.assign(3, 1);
    trsv(w, 0.0, scaled(a, 0.0), b, x);
    EXPECT_EQ(x, doubles(3, 0));
  }
  for (double const alpha : {1.0, -1.0, 0.75}) {
    doubles x(3), y(3);
    trsv(alpha, small(), doubles{1, 2, 3}, x);
    trsv(1.0, small(), doubles{alpha, 2 * alpha, 3 * alpha}, y);
    EXPECT_EQ(x, y);
  }
}

TEST(trsv, does_not_read_the_other_triangle_nor_a_diagonal_of_ones) {
  csr<double> a = safe_matrix<double>(65, 5);
  doubles const b = right_side<double>(65);
  for (triangle const side : {triangle::lower, triangle::upper})
    for (bool const unit : {false, true})
      for (view_of_triangle const v : {view_of_triangle::plain, view_of_triangle::transposed})
        for (trsv_method const m : every_method) {
          csr<double> poisoned = a;
          for (std::int32_t i = 0; i < a.rows; ++i)
            for (auto k = a.row_ptr[static_cast<std::size_t>(i)];
                 k < a.row_ptr[static_cast<std::size_t>(i) + 1]; ++k) {
              auto const q = static_cast<std::size_t>(k);
              if ((side == triangle::lower ? a.col[q] > i : a.col[q] < i) ||
                  (unit && a.col[q] == i))
                poisoned.val[q] = not_a_number<double>();
            }
          trsv_options const o{.triangle = side, .unit_diagonal = unit, .method = m};
          doubles x(65), y(65);
          with_view(v, a, [&](auto const& view) { trsv(cpu{.threads = 2}, 1.0, view, b, x, o); });
          with_view(v, poisoned,
                    [&](auto const& view) { trsv(cpu{.threads = 2}, 1.0, view, b, y, o); });
          EXPECT_TRUE(same_bits(x, y)) << name(side) << unit << name(m);
        }
}

TEST(trsv, of_a_triangle_without_its_unit_diagonal_needs_none) {
  csr<double> const a = safe_matrix<double>(64, 3);
  csr<double> const strict = tril(a, -1);
  doubles const b = right_side<double>(64);
  doubles x(64), y(64);
  trsv(1.0, strict, b, x, {.unit_diagonal = true});
  trsv(1.0, a, b, y, {.unit_diagonal = true});
  EXPECT_TRUE(same_bits(x, y));
}

// Numbers whose inverses are infinite or denormal are divided by.
TEST(trsv, takes_tiny_and_huge_diagonals) {
  double const tiny = 4e-310, huge = 1.5e308;
  csr<double> const a{2, 2, {0, 1, 2}, {0, 1}, {tiny, huge}};
  for (trsv_method const m : every_method) {
    doubles x(2);
    trsv(1.0, a, doubles{tiny * 2, huge}, x, {.method = m});
    EXPECT_EQ(x, (doubles{2, 1}));
  }
}

TEST(trsv, takes_every_format_and_any_matrix) {
  csr<double> const a = safe_matrix<double>(33, 4);
  doubles const b = right_side<double>(33);
  for (triangle const side : {triangle::lower, triangle::upper}) {
    doubles expected(33), x(33), t(33), turned(33);
    trsv(1.0, a, b, expected, {.triangle = side});
    trsv(1.0, transposed(a), b, turned, {.triangle = side});
    for_each_format(a, [&](any_matrix const& m) {
      std::fill(x.begin(), x.end(), not_a_number<double>());
      trsv(1.0, m, b, x, {.triangle = side});
      EXPECT_TRUE(same_bits(x, expected)) << name(m.format());
      trsv(1.0, transposed(m), b, x, {.triangle = side});
      EXPECT_TRUE(same_bits(x, turned)) << name(m.format()) << " transposed";
      trsv_plan plan(cpu{.threads = 2}, m, {.triangle = side, .method = trsv_method::levels});
      trsv(plan, 1.0, m, b, x);
      EXPECT_TRUE(same_bits(x, expected)) << plan.path();
      any_matrix const other = m;
      trsv(plan, 1.0, other, b, x);
      EXPECT_TRUE(same_bits(x, expected)) << plan.path();
    });
  }
}

TEST(trsv_refuses, what_is_not_square_and_sizes_that_do_not_fit) {
  csr<double> const a = small(), flat{2, 3, {0, 1, 2}, {0, 1}, {1, 1}};
  for (where const& w : {where(cpu{}), where(reference{})}) {
    doubles x(3, 7);
    auto const refused = [&](std::vector<std::string> const& words, auto&& f) {
      expect_refused(errc::shape_mismatch, words, x, f);
    };
    refused({"trsv", "2 x 3", "square"}, [&] { trsv(w, 1.0, flat, doubles(2), x); });
    refused({"trsv", "2 x 3", "square"}, [&] { trsv_plan plan(w, flat); });
    refused({"trsv", "b has 2 entries", "3 rows"}, [&] { trsv(w, 1.0, a, doubles(2), x); });
    doubles longer(4, 7);
    refused({"trsv", "x has 4 entries", "3 rows"}, [&] { trsv(w, 1.0, a, doubles(3), longer); });
  }
}

TEST(trsv_refuses, null_overlap_and_other_backends) {
  csr<double> a = small();
  doubles x(6, 7);
  auto const refused = [&](errc code, std::vector<std::string> const& words, auto&& f) {
    expect_refused(code, words, x, f);
  };
  vector_view<double> const to(x.data(), 3), none(nullptr, 3);
  refused(errc::bad_structure, {"b is null"}, [&] { trsv(1.0, a, none, to); });
  refused(errc::bad_structure, {"x is null"}, [&] { trsv(1.0, a, to, none); });
  refused(errc::bad_structure, {"b and x overlap"},
          [&] { trsv(1.0, a, vector_view<double>(x.data() + 1, 3), to); });
  refused(errc::bad_structure, {"x overlaps the arrays of A"},
          [&] { trsv(1.0, a, to, vector_view<double>(a.val.data(), 3)); });
  refused(errc::bad_structure, {"scaled by zero"}, [&] { trsv(1.0, scaled(a, 0.0), to, to); });
  for (backend const there : {backend::cuda, backend::opencl}) {
    where w;
    w.backend = there;
    refused(errc::unsupported, {"trsv", name(there)}, [&] { trsv(w, 1.0, a, to, to); });
    refused(errc::unsupported, {"trsv", name(there)}, [&] { trsv_plan plan(w, a); });
  }
  any_matrix const any = a;
  std::vector<float> few(3, 1);
  EXPECT_TRUE(
      fails_with(errc::unsupported, {"trsv", "f64_i32"}, [&] { trsv(1.f, any, few, few); }));
  csr<double> const here = std::move(a);
  refused(errc::bad_structure, {"trsv", "row_ptr", "moved"},
          [&] { trsv(1.0, a, to, to); }); // NOLINT(bugprone-use-after-move)
}

TEST(trsv_refuses, a_diagonal_that_is_missing_or_zero_and_names_the_row) {
  csr<double> const hole{3, 3, {0, 1, 2, 3}, {0, 0, 1}, {1, 1, 1}};
  csr<double> zero = safe_matrix<double>(257, 5), cancelled = untidy(zero, true);
  for (std::size_t const i : {std::size_t(100), std::size_t(200)})
    for (csr<double>* const a : {&zero, &cancelled}) {
      double sign = 1;
      bool const twice = a == &cancelled;
      for (auto k = static_cast<std::size_t>(a->row_ptr[i]);
           k < static_cast<std::size_t>(a->row_ptr[i + 1]); ++k)
        if (static_cast<std::size_t>(a->col[k]) == i) {
          a->val[k] = twice ? sign : 0;
          sign = -sign;
        }
    }
  doubles const b(257, 1);
  for (where const& w : {where(cpu{.threads = 1}), where(cpu{.threads = 3}), where(reference{})}) {
    doubles x(3, 7), y(257, 7);
    expect_refused(errc::bad_structure, {"trsv", "row 1", "no entry on the diagonal"}, x,
                   [&] { trsv(w, 1.0, hole, doubles(3, 1), x); });
    EXPECT_TRUE(fails_with(errc::bad_structure, {"row 1"}, [&] { trsv_plan plan(w, hole); }));
    EXPECT_TRUE(
        fails_with(errc::bad_structure, {"row 1"}, [&] { trsv_plan plan(w, transposed(hole)); }));
    for (trsv_method const m : every_method)
      for (csr<double> const* a : {&zero, &cancelled})
        for (view_of_triangle const v : every_view)
          with_view(v, *a, [&](auto const& view) {
            trsv_options const o{.method = m};
            trsv_plan plan(w, view, o);
            expect_refused(errc::bad_structure, {"trsv", "row 100", "zero"}, y,
                           [&] { trsv(plan, 1.0, view, b, y); });
            expect_refused(errc::bad_structure, {"trsv", "row 100", "zero"}, y,
                           [&] { trsv(plan, 1.0, view, y, y); });
            expect_refused(errc::bad_structure, {"trsv", "row 100", "zero"}, y,
                           [&] { trsv(w, 1.0, view, b, y, o); });
          });
  }
}

TEST(trsv_plan, serves_new_values_and_refuses_another_pattern) {
  csr<double> const a = safe_matrix<double>(101, 5);
  csr<double> other = a;
  for (double& v : other.val)
    v = v * 1.5 + (v > 5 ? 2 : 0.25);
  doubles const b = right_side<double>(101);
  csr<double> elsewhere = a;
  elsewhere.col[static_cast<std::size_t>(elsewhere.row_ptr[50])] += 1; // may now be a duplicate
  for (where const& w : {where(cpu{.threads = 2}), where(reference{})})
    for (trsv_method const m : every_method) {
      trsv_plan plan(w, a, {.method = m});
      doubles x(101), y(101);
      trsv(plan, 1.0, other, b, x);
      trsv(w, 1.0, other, b, y, {.method = m});
      EXPECT_TRUE(same_bits(x, y)) << plan.path();
      expect_refused(errc::bad_structure, {"trsv", "another pattern"}, x,
                     [&] { trsv(plan, 1.0, elsewhere, b, x); });
      expect_refused(errc::shape_mismatch, {"trsv", "plan", "transposed"}, x,
                     [&] { trsv(plan, 1.0, transposed(a), b, x); });
      EXPECT_NO_THROW(plan.check(other));
      EXPECT_TRUE(
          fails_with(errc::bad_structure, {"another pattern"}, [&] { plan.check(elsewhere); }));
      csr<double> const larger = safe_matrix<double>(102, 5);
      EXPECT_TRUE(fails_with(errc::shape_mismatch, {"101 x 101", "102 x 102"},
                             [&] { plan.check(larger); }));
      plan.rebind(larger);
      doubles longer(102);
      EXPECT_NO_THROW(trsv(plan, 1.0, larger, longer, longer));
    }
}

TEST(trsv_plan, says_which_road_it_takes) {
  csr<double> const a = generate("poisson2d5:20");
  auto const has = [](trsv_plan const& p, char const* words) {
    return p.path().find(words) != std::string::npos ? testing::AssertionSuccess()
                                                     : testing::AssertionFailure() << p.path();
  };
  trsv_plan const levels(cpu{.threads = 2}, generate("poisson3d7:30"),
                         {.method = trsv_method::levels});
  EXPECT_TRUE(has(levels, " csr trsv levels: 88 levels, 2 threads"));
  EXPECT_EQ(levels.levels(), 88);
  EXPECT_TRUE(has(trsv_plan(cpu{.threads = 2}, a, {.method = trsv_method::levels}),
                  " csr trsv levels: 39 levels, 1 thread")); // none is worth sharing
  EXPECT_GT(levels.bytes(), 0u);
  EXPECT_TRUE(has(trsv_plan(cpu{.threads = 2}, a, {.method = trsv_method::serial}),
                  " csr trsv serial, 1 thread"));
  EXPECT_TRUE(has(trsv_plan(cpu{.threads = 2}, transposed(a), {.method = trsv_method::sync_free}),
                  " csr transposed trsv sync_free, 2 threads"));
  EXPECT_TRUE(has(trsv_plan(reference{}, a), "reference csr trsv"));
  any_matrix const by_sell = convert(any_matrix(a), format::sell);
  EXPECT_TRUE(has(trsv_plan(by_sell), " sell through csr trsv "));
  trsv_plan gone(a);
  trsv_plan const here = std::move(gone);
  doubles x(400, 1);
  EXPECT_TRUE(fails_with(errc::bad_structure, {"moved"},
                         [&] { trsv(gone, 1.0, a, x, x); })); // NOLINT(bugprone-use-after-move)
}

TEST(trsv_plan, a_planned_call_allocates_nothing) {
  if (!counts_global_allocations())
    GTEST_SKIP() << "the sanitizer has operator new";
  csr<double> const a = generate("poisson2d5:60");
  doubles const b(3600, 1);
  doubles x(3600);
  for (trsv_method const m : every_method)
    for (int const threads : {1, 3}) {
      trsv_plan plan(cpu{.threads = threads}, a, {.method = m});
      trsv(plan, 1.0, a, b, x); // starts threads
      std::size_t const before = global_allocations();
      trsv(plan, 1.0, a, b, x);
      EXPECT_EQ(global_allocations(), before) << plan.path();
    }
}

TEST(trsv, leaves_nothing_behind_where_memory_ends) {
  csr<double> const a = safe_matrix<double>(101, 5), mixed = untidy(a, true);
  for (csr<double> const* from : {&a, &mixed})
    for (trsv_method const m : every_method)
      for (bool const turned : {false, true}) {
        doubles x(101, 7);
        for (std::size_t k = 1;; ++k) {
          failing_memory memory(k);
          cpu const w{.threads = 1, .memory = &memory};
          try {
            if (turned)
              trsv_plan const plan(w, transposed(*from), {.method = m});
            else
              trsv_plan const plan(w, *from, {.method = m});
            trsv(w, 1.0, *from, doubles(101, 1), x, {.method = m});
            EXPECT_GT(k, 2u);
            break;
          } catch (error const& e) {
            EXPECT_EQ(e.code(), errc::out_of_memory);
            EXPECT_EQ(x, doubles(101, 7));
          }
          EXPECT_EQ(memory.outstanding(), 0u);
        }
      }
}

TEST(trsv, keeps_within_the_limit_of_its_workspace) {
  csr<double> const a = safe_matrix<double>(101, 5);
  doubles x(101, 7);
  for (trsv_method const m : every_method) {
    std::size_t low = 0, high = std::size_t(1) << 20;
    while (high - low > 1) { // the least that suffices
      std::size_t const middle = (low + high) / 2;
      peak_memory memory;
      try {
        trsv_plan const plan(cpu{.threads = 2, .memory = &memory, .workspace_limit = middle}, a,
                             {.method = m});
        EXPECT_LE(memory.peak(), middle + 4096); // and what alignment takes
        EXPECT_GE(middle, plan.bytes());
        high = middle;
      } catch (error const& e) {
        EXPECT_EQ(e.code(), errc::out_of_memory);
        low = middle;
      }
      EXPECT_EQ(memory.outstanding(), 0u);
    }
    expect_refused(errc::out_of_memory, {"trsv"}, x, [&] {
      trsv(cpu{.workspace_limit = 64}, 1.0, a, doubles(101, 1), x, {.method = m});
    });
  }
}

} // namespace
} // namespace tulle::test::trsv_test

// SPDX-License-Identifier: Apache-2.0

// What spmm refuses, what a plan promises, and that a refusal leaves C as it was.
#include "tulle/format/coo.hpp"
#include "tulle/format/csr_pool.hpp"
#include "tulle/format/sell.hpp"
#include "tulle/op/convert.hpp"
#include "tulle/op/spmm.hpp"

#include "support/expect.hpp"
#include "support/layouts.hpp"
#include "support/memory.hpp"
#include "support/zoo.hpp"

#include <gtest/gtest.h>

namespace tulle::test::spmm_contract_test {
namespace {

using doubles = std::vector<double>;

// 4 x 3, seven entries.
csr<double> small() {
  return {4, 3, {0, 2, 3, 4, 7}, {0, 2, 1, 2, 0, 1, 2}, {1, 2, 3, 4, 5, 6, 7}};
}
dense_view<double const> in(doubles const& b, std::size_t rows, std::size_t cols) {
  return row_major(b.data(), rows, cols);
}
dense_view<double> out(doubles& c, std::size_t rows, std::size_t cols) {
  return row_major(c.data(), rows, cols);
}

TEST(spmm, is_what_paper_says) {
  doubles const b = {1, 10, 2, 20, 3, 30};
  csr<double> const a = small();
  for (where const& w : {where(cpu{}), where(reference{})}) {
    doubles c(8, 1);
    spmm(w, 1.0, a, in(b, 3, 2), 0.0, out(c, 4, 2));
    EXPECT_EQ(c, (doubles{7, 70, 6, 60, 12, 120, 38, 380}));
    spmm(w, 2.0, scaled(a, 0.5), in(b, 3, 2), -1.0, out(c, 4, 2));
    EXPECT_EQ(c, doubles(8, 0));
    doubles t(6, 1);
    spmm(w, 1.0, transposed(a), in({1, 0, 0, 1, 1, 0, 0, 1}, 4, 2), 1.0, out(t, 3, 2));
    EXPECT_EQ(t, (doubles{2, 6, 1, 10, 7, 8}));
  }
}

TEST(spmm_refuses, shapes_that_do_not_fit) {
  auto const a = small();
  any_matrix const any = a;
  for (where const& w : {where(cpu{}), where(reference{})}) {
    doubles const b(20, 1);
    doubles c(20, 5);
    auto const refused = [&](std::vector<std::string> const& words, auto&& f) {
      expect_refused(errc::shape_mismatch, words, c, f);
    };
    refused({"spmm", "B has 5 rows", "3 columns"},
            [&] { spmm(w, 1.0, a, in(b, 5, 2), 0.0, out(c, 4, 2)); });
    refused({"C has 5 rows", "4 rows"}, [&] { spmm(w, 1.0, any, in(b, 3, 2), 0.0, out(c, 5, 2)); });
    refused({"B has 2 columns", "C has 3"},
            [&] { spmm(w, 1.0, a, in(b, 3, 2), 0.0, out(c, 4, 3)); });
    refused({"transposed", "B has 3 rows", "4 rows"},
            [&] { spmm(w, 1.0, transposed(a), in(b, 3, 2), 0.0, out(c, 3, 2)); });
    refused({"transposed", "C has 4 rows", "3 columns"},
            [&] { spmm(w, 1.0, transposed(a), in(b, 4, 2), 0.0, out(c, 4, 2)); });
  }
}

TEST(spmm_refuses, null_and_strides_that_do_not_do) {
  auto const a = small();
  doubles const b(40, 1);
  doubles c(40, 5);
  auto const refused = [&](errc code, std::vector<std::string> const& words, auto&& f) {
    expect_refused(code, words, c, f);
  };
  dense_view<double const> const no_b{nullptr, 3, 2, 2, 1};
  dense_view<double> const no_c{nullptr, 4, 2, 2, 1};
  refused(errc::bad_structure, {"B is null", "3 x 2"},
          [&] { spmm(1.0, a, no_b, 0.0, out(c, 4, 2)); });
  refused(errc::bad_structure, {"C is null", "4 x 2"},
          [&] { spmm(1.0, a, in(b, 3, 2), 0.0, no_c); });
  for (auto const& [row, col] : {std::pair<std::size_t, std::size_t>{1, 1}, {0, 1}, {2, 2}, {1, 3}})
    refused(errc::bad_structure, {"C has strides", "shared"}, [&, row = row, col = col] {
      spmm(1.0, a, in(b, 3, 2), 0.0, dense_view<double>{c.data(), 4, 2, row, col});
    });
  std::size_t const far = SIZE_MAX / 2;
  refused(errc::overflow, {"spmm"}, [&] {
    spmm(1.0, a, in(b, 3, 2), 0.0, dense_view<double>{c.data(), 4, 2, far, 1});
  });
  refused(errc::overflow, {"spmm"}, [&] {
    spmm(1.0, a, dense_view<double const>{b.data(), 3, 2, 1, far}, 0.0, out(c, 4, 2));
  });
  // Rows that are all one row of B are fine.
  EXPECT_NO_THROW(spmm(1.0, a, dense_view<double const>{b.data(), 3, 2, 0, 1}, 0.0, out(c, 4, 2)));
}

TEST(spmm_refuses, operands_that_overlap) {
  auto const a = small();
  doubles all(100, 1);
  auto const at = [&](std::size_t k, std::size_t rows, std::size_t cols, std::size_t row,
                      std::size_t col) {
    return dense_view<double>{all.data() + k, rows, cols, row, col};
  };
  for (where const& w : {where(cpu{}), where(reference{})}) {
    auto const refused = [&](dense_view<double> b, dense_view<double> c) {
      expect_refused(errc::bad_structure, {"B and C overlap"}, all,
                     [&] { spmm(w, 1.0, a, b, 0.0, c); });
    };
    refused(at(0, 3, 2, 2, 1), at(0, 4, 2, 2, 1));
    refused(at(5, 3, 2, 2, 1), at(0, 4, 2, 2, 1));
    refused(at(0, 3, 2, 5, 1), at(1, 4, 2, 5, 1)); // columns 0, 1 and 1, 2
    refused(at(3, 3, 2, 5, 1), at(2, 4, 2, 5, 1));
    refused(at(0, 3, 2, 1, 9), at(2, 4, 2, 1, 9)); // rows 0 to 2 and 2 to 5
    refused(at(0, 3, 2, 6, 2), at(2, 4, 2, 6, 2)); // every second column
    refused(at(0, 3, 2, 5, 1), at(3, 4, 2, 6, 1)); // strides differ: not looked at closely
    // Columns and rows of one array, one step or line further.
    EXPECT_NO_THROW(spmm(w, 1.0, a, at(0, 3, 2, 5, 1), 0.0, at(2, 4, 2, 5, 1)));
    EXPECT_NO_THROW(spmm(w, 1.0, a, at(2, 3, 2, 5, 1), 0.0, at(0, 4, 2, 5, 1)));
    EXPECT_NO_THROW(spmm(w, 1.0, a, at(7, 3, 2, 5, 1), 0.0, at(0, 4, 2, 5, 1)));
    EXPECT_NO_THROW(spmm(w, 1.0, a, at(0, 3, 2, 1, 9), 0.0, at(3, 4, 2, 1, 9)));
    EXPECT_NO_THROW(spmm(w, 1.0, a, at(0, 3, 2, 6, 2), 0.0, at(1, 4, 2, 6, 2)));
    EXPECT_NO_THROW(spmm(w, 1.0, a, at(0, 3, 2, 2, 1), 0.0, at(6, 4, 2, 2, 1)));
    std::fill(all.begin(), all.end(), 1);
  }
  auto own = small();
  doubles const b(6, 1);
  doubles before(own.val.begin(), own.val.end());
  EXPECT_TRUE(fails_with(errc::bad_structure, {"C overlaps", "A"}, [&] {
    spmm(1.0, own, in(b, 3, 1), 0.0, row_major(own.val.data(), 4, 1));
  }));
  EXPECT_EQ(before, doubles(own.val.begin(), own.val.end()));
}

TEST(spmm_refuses, what_spmv_refuses_of_matrices) {
  doubles const b(6, 1);
  doubles c(8, 5);
  any_matrix const a = small();
  std::vector<float> const few(6, 1);
  std::vector<float> floats(8, 5);
  EXPECT_TRUE(fails_with(errc::unsupported, {"spmm", "f64_i32"}, [&] {
    spmm(1.f, a, row_major(few.data(), 3, 2), 0.f, row_major(floats.data(), 4, 2));
  }));
  EXPECT_EQ(floats, std::vector<float>(8, 5));
  auto gone = small();
  auto const here = std::move(gone);
  expect_refused(errc::bad_structure, {"spmm", "4 x 3", "row_ptr", "moved"}, c, [&] {
    spmm(1.0, gone, in(b, 3, 2), 0.0, out(c, 4, 2)); // NOLINT(bugprone-use-after-move)
  });
  for (backend const there : {backend::cuda, backend::opencl}) {
    where w;
    w.backend = there;
    expect_refused(errc::unsupported, {"spmm", name(there)}, c,
                   [&] { spmm(w, 1.0, here, in(b, 3, 2), 0.0, out(c, 4, 2)); });
  }
}

TEST(spmm_refuses, a_workspace_beyond_the_limit_and_memory_that_fails) {
  for_each_format(mirrored(find("banded").matrix), [](any_matrix const& a) {
    doubles const b(3 * 12000, 1);
    doubles c(3 * 12000, 5);
    for (bool const by_rows : {false, true}) {
      auto const from = by_rows ? row_major(b.data(), 12000, 3) : col_major(b.data(), 12000, 3);
      auto const to = by_rows ? row_major(c.data(), 12000, 3) : col_major(c.data(), 12000, 3);
      std::size_t const needed = spmm_plan(cpu{.threads = 2}, a, from, to).bytes();
      if (needed == 0)
        continue;
      expect_refused(errc::out_of_memory, {std::to_string(needed - 1)}, c, [&] {
        spmm(cpu{.threads = 2, .workspace_limit = needed - 1}, 1.0, a, from, 0.0, to);
      });
      failing_memory memory;
      EXPECT_NO_THROW(spmm(cpu{.threads = 2, .memory = &memory, .workspace_limit = needed}, 0.0, a,
                           from, 1.0, to));
      {
        spmm_plan const plan(cpu{.threads = 2, .memory = &memory}, a, from, to);
        EXPECT_EQ(memory.outstanding(), needed) << plan.path();
      }
      for (std::size_t const k : {1, 2}) {
        memory.fail_at(k);
        try {
          doubles const before = c;
          spmm(cpu{.threads = 2, .memory = &memory}, 1.0, a, from, 0.0, to);
          EXPECT_GT(k, memory.allocations()) << "a failure went unnoticed";
          c = before;
        } catch (error const& e) {
          EXPECT_EQ(e.code(), errc::out_of_memory);
          EXPECT_EQ(c, doubles(c.size(), 5));
        }
        EXPECT_EQ(memory.outstanding(), 0u);
      }
    }
  });
}

TEST(spmm_plan, refuses_other_shapes_and_strides) {
  auto const a = small();
  doubles const b(40, 1);
  doubles c(40, 5);
  spmm_plan plan(a, in(b, 3, 2), out(c, 4, 2));
  auto const refused = [&](std::vector<std::string> const& words, auto&& f) {
    expect_refused(errc::shape_mismatch, words, c, f);
  };
  refused({"plan", "2 columns", "this one has 3"},
          [&] { spmm(plan, 1.0, a, in(b, 3, 3), 0.0, out(c, 4, 3)); });
  refused({"plan", "strides 2 and 1", "with 1 and 3"},
          [&] { spmm(plan, 1.0, a, col_major(b.data(), 3, 2), 0.0, out(c, 4, 2)); });
  refused({"plan", "C of 2 columns", "with 5 and 1"},
          [&] { spmm(plan, 1.0, a, in(b, 3, 2), 0.0, row_major(c.data(), 4, 2, 5)); });
  refused({"plan", "csr", "coo"}, [&] {
    spmm(plan, 1.0, coo<double>::from_csr(a.view()), in(b, 3, 2), 0.0, out(c, 4, 2));
  });
  csr<double> const fewer(4, 3, {0, 2, 3, 4, 6}, {0, 2, 1, 2, 0, 1}, {1, 2, 3, 4, 5, 6});
  refused({"plan", "7 entries", "with 6"},
          [&] { spmm(plan, 1.0, fewer, in(b, 3, 2), 0.0, out(c, 4, 2)); });
  spmm_plan const other = std::move(plan);
  expect_refused(errc::bad_structure, {"moved"}, c, [&] {
    spmm(plan, 1.0, a, in(b, 3, 2), 0.0, out(c, 4, 2)); // NOLINT(bugprone-use-after-move)
  });
}

TEST(spmm_plan, says_which_road_it_takes) {
  auto const a = small();
  doubles const b(40, 1);
  doubles c(40, 5);
  auto const path_of = [&](auto const& m, std::size_t rows, std::size_t cols, bool by_rows = true) {
    return by_rows ? spmm_plan(cpu{.threads = 2}, m, in(b, cols, 2), out(c, rows, 2)).path()
                   : spmm_plan(cpu{.threads = 2}, m, col_major(b.data(), cols, 2),
                               col_major(c.data(), rows, 2))
                         .path();
  };
  auto const has = [](std::string const& text, char const* word) {
    return text.find(word) != std::string::npos;
  };
  EXPECT_TRUE(has(path_of(a, 4, 3), " csr rows, 2 threads")) << path_of(a, 4, 3);
  EXPECT_TRUE(has(path_of(a, 4, 3, false), " csr rows, B packed, 2 threads"));
  EXPECT_TRUE(has(path_of(csr_pool<double>::from_csr(a.view()), 4, 3), " csr_pool rows"));
  EXPECT_TRUE(has(path_of(transposed(a), 3, 4), "column by column, cpu/"));
  EXPECT_TRUE(has(path_of(sell<double>::from_csr(a.view()), 4, 3), "column by column, cpu/"));
  spmm_plan const one(reference{}, coo<double>::from_csr(a.view()), in(b, 3, 2), out(c, 4, 2));
  EXPECT_TRUE(has(one.path(), "reference, coo through csr"));
  EXPECT_EQ(one.bytes(), 0u);
}

TEST(spmm_plan, a_planned_call_allocates_nothing) {
  if (!counts_global_allocations())
    GTEST_SKIP() << "the sanitizer has operator new";
  for_each_format(mirrored(find("banded").matrix), [](any_matrix const& a) {
    doubles const b(3 * 12000, 1);
    doubles c(3 * 12000, 5);
    for (int const threads : {1, 3})
      for (bool const by_rows : {false, true}) {
        auto const from = by_rows ? row_major(b.data(), 12000, 3) : col_major(b.data(), 12000, 3);
        auto const to = by_rows ? row_major(c.data(), 12000, 3) : col_major(c.data(), 12000, 3);
        spmm_plan plan(cpu{.threads = threads}, a, from, to);
        for (double const alpha : {1.0, 0.0}) {
          std::size_t const before = global_allocations();
          spmm(plan, alpha, a, from, 0.5, to);
          EXPECT_EQ(global_allocations(), before) << plan.path() << " alpha " << alpha;
        }
      }
  });
}

} // namespace
} // namespace tulle::test::spmm_contract_test

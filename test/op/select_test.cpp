// SPDX-License-Identifier: Apache-2.0

// Triangles, kinds and predicates against the reference, and the reference against paper.
#include "tulle/format/csc.hpp"
#include "tulle/op/add.hpp"
#include "tulle/op/convert.hpp"
#include "tulle/op/select.hpp"

#include "support/expect.hpp"
#include "support/layouts.hpp"
#include "support/memory.hpp"
#include "support/zoo.hpp"

#include <atomic>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace tulle::test::select_test {
namespace {

constexpr select_kind kinds[] = {select_kind::lower, select_kind::upper, select_kind::diagonal,
                                 select_kind::off_diagonal, select_kind::nonzero};
constexpr std::int64_t diagonals[] = {0, -1, 3, std::numeric_limits<std::int64_t>::min(),
                                      std::numeric_limits<std::int64_t>::max()};

// 3 x 4, duplicates at (0, 2) that cancel, an explicit zero at (2, 0), a row out of order.
csr<double> small() {
  return {3, 4, {0, 3, 4, 7}, {2, 0, 2, 1, 3, 2, 0}, {1, 2, -1, 4, 5, 6, 0}};
}

TEST(select, of_the_reference_is_as_on_paper) {
  reference const w;
  EXPECT_EQ(tril(w, small()), (csr<double>{3, 4, {0, 1, 2, 4}, {0, 1, 0, 2}, {2, 4, 0, 6}}));
  EXPECT_EQ(tril(w, small(), -1), (csr<double>{3, 4, {0, 0, 0, 1}, {0}, {0}}));
  EXPECT_EQ(triu(w, small(), 1), (csr<double>{3, 4, {0, 1, 1, 2}, {2, 3}, {0, 5}}));
  EXPECT_EQ(select(w, small(), select_kind::diagonal),
            (csr<double>{3, 4, {0, 1, 2, 3}, {0, 1, 2}, {2, 4, 6}}));
  EXPECT_EQ(select(w, small(), select_kind::off_diagonal, {.k = 2}),
            (csr<double>{3, 4, {0, 1, 2, 5}, {0, 1, 0, 2, 3}, {2, 4, 0, 6, 5}}));
  EXPECT_EQ(select(w, small(), select_kind::nonzero),
            (csr<double>{3, 4, {0, 1, 2, 4}, {0, 1, 2, 3}, {2, 4, 6, 5}}));
}

template <class V, class I, class O>
void expect_selected(csr<V, I, O> const& a, std::string const& what) {
  for (select_kind const kind : kinds)
    for (std::int64_t const k : diagonals) {
      if (kind == select_kind::nonzero && k != 0)
        continue;
      csr<V, I, O> const expected = select(reference{}, a, kind, {.k = k});
      expected.validate();
      EXPECT_TRUE(expected.view().is_canonical());
      for (int const threads : {1, 7}) {
        csr<V, I, O> const got = select(cpu{.threads = threads}, a, kind, {.k = k});
        EXPECT_TRUE(same_arrays(got.view(), expected.view()))
            << what << ", kind " << static_cast<int>(kind) << ", k " << k << ", " << threads;
      }
    }
}

class selects : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(op, selects, testing::Range<std::size_t>(0, type_count),
                         [](auto const& info) { return name(static_cast<type_tag>(info.param)); });

TEST_P(selects, the_zoo_as_the_reference_does) {
  auto const type = static_cast<type_tag>(GetParam());
  visit(type, [&](auto types) {
    using T = decltype(types);
    using owner = csr<typename T::value, typename T::index, typename T::offset>;
    for (animal const& a : zoo())
      expect_selected(*as_type(a.matrix, type).get_if<owner>(), a.name);
  });
}

TEST(select, of_a_large_matrix_is_as_the_reference_does) {
  expect_selected(elephant(), "elephant");
}

// Whatever order and duplicates a matrix is stored with.
TEST(select, of_twins_is_the_same_matrix) {
  for (animal const& a : zoo())
    for (select_kind const kind : kinds) {
      csr<double> const expected = select(a.matrix.to_csr(), kind);
      EXPECT_EQ(select(unsorted(a.matrix), kind), expected) << a.name;
      EXPECT_EQ(select(duplicated(a.matrix), kind), expected) << a.name;
    }
}

TEST(select, triangles_add_up_to_the_matrix) {
  for (animal const& a : zoo())
    EXPECT_EQ(add(1.0, tril(a.matrix, 2), 1.0, triu(a.matrix, 3)), a.matrix.to_csr()) << a.name;
}

TEST(select, takes_what_a_predicate_holds_for) {
  for (animal const& one : zoo()) {
    csr<double> const a = one.matrix.to_csr();
    csr<double> expected(unchecked, a.rows, a.cols,
                         array<std::int32_t>(static_cast<std::size_t>(a.rows) + 1, 0), {}, {});
    std::vector<std::int32_t> col;
    std::vector<double> val;
    for (std::int32_t i = 0; i < a.rows; ++i) {
      for (std::int32_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
        if ((i + a.col[k]) % 3 == 0 || a.val[k] > 2) {
          col.push_back(a.col[k]);
          val.push_back(a.val[k]);
        }
      expected.row_ptr[i + 1] = static_cast<std::int32_t>(col.size());
    }
    expected.col = array<std::int32_t>(col.data(), col.size());
    expected.val = array<double>(val.data(), val.size());
    auto const f = [](std::int32_t i, std::int32_t j, double v) {
      return (i + j) % 3 == 0 || v > 2;
    };
    for (where const& w : {where(reference{}), where(cpu{.threads = 1}), where(cpu{.threads = 7})})
      EXPECT_EQ(select(w, one.matrix, f), expected) << one.name;
  }
}

// One that answers otherwise the second time, as a random one does, is asked once.
TEST(select, asks_a_predicate_once_for_each_place) {
  for (int const threads : {1, 7}) {
    std::atomic<std::size_t> asked = 0;
    csr<double> const half = select(cpu{.threads = threads}, elephant(),
                                    [&](auto, auto, auto) { return asked++ % 2 == 0; });
    EXPECT_EQ(asked, elephant().val.size());
    EXPECT_EQ(half.val.size(), (elephant().val.size() + 1) / 2);
    half.validate();
  }
}

TEST(select, passes_on_what_a_predicate_throws) {
  for (int const threads : {1, 7})
    EXPECT_THROW(select(cpu{.threads = threads}, elephant(),
                        [](auto, auto, double) -> bool { throw std::runtime_error("no"); }),
                 std::runtime_error);
}

TEST(select, keeps_nan_and_drops_zeros_by_value) {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  csr<double> const a(1, 3, {0, 3}, {0, 1, 2}, {nan, -0.0, 1});
  csr<double> const kept = select(a, select_kind::nonzero);
  EXPECT_EQ(kept.col, (array<std::int32_t>{0, 2}));
  EXPECT_TRUE(std::isnan(kept.val[0]));
}

TEST(select, takes_every_format_and_any_matrix) {
  csr<double> const a = find("lengths_0_to_70").matrix;
  csr<double> const lower = tril(reference{}, a, 2);
  EXPECT_EQ(tril(csc<double>::from_csr(a.view()), 2), lower);
  EXPECT_EQ(tril(a.view(), 2), lower);
  for_each_format(a, [&](any_matrix const& m) {
    for (any_matrix const& got :
         {tril(m, 2), select(m, select_kind::lower, {.k = 2}), tril(cpu{.threads = 2}, m, 2)}) {
      ASSERT_TRUE(got.get_if<csr<double>>()) << name(m.format());
      EXPECT_EQ(*got.get_if<csr<double>>(), lower) << name(m.format());
    }
    EXPECT_EQ(*triu(m, 3).get_if<csr<double>>(), triu(reference{}, a, 3)) << name(m.format());
  });
}

TEST(select, refuses_what_is_no_matrix) {
  csr<double> a = small();
  csr<double> const b = std::move(a);
  EXPECT_TRUE(fails_with(errc::bad_structure, {"tril", "A", "row_ptr", "moved"},
                         [&] { tril(a); })); // NOLINT(bugprone-use-after-move)
  where w;
  w.backend = backend::cuda;
  EXPECT_TRUE(fails_with(errc::unsupported, {"triu", "cuda"}, [&] { triu(w, b); }));
  auto const all = [](auto, auto, auto) { return true; };
  EXPECT_TRUE(fails_with(errc::unsupported, {"select", "cuda"}, [&] { select(w, b, all); }));
}

TEST(select, keeps_its_workspace_within_the_limit) {
  for (csr<double> const& a : {elephant(), unsorted(elephant())})
    for (std::size_t const limit : {std::size_t(1000), a.val.size(), std::size_t(1) << 26}) {
      peak_memory memory;
      cpu const w{.threads = 2, .memory = &memory, .workspace_limit = limit};
      bool refused = false;
      {
        csr<double> c;
        try {
          c = tril(w, a);
        } catch (error const& e) {
          EXPECT_EQ(e.code(), errc::out_of_memory);
          refused = true;
        }
        EXPECT_LE(memory.peak(), limit + c.bytes());
      }
      EXPECT_EQ(refused, limit == 1000 || (limit == a.val.size() && !a.view().is_canonical()));
      EXPECT_EQ(memory.outstanding(), 0u);
    }
}

TEST(select, leaves_nothing_behind_where_memory_ends) {
  csr<double> const a = small();
  for (std::size_t k = 1;; ++k) {
    failing_memory memory(k);
    try {
      cpu const w{.threads = 1, .memory = &memory};
      EXPECT_EQ(tril(w, a), tril(a));
      EXPECT_GT(k, 4u);
      break;
    } catch (error const& e) {
      EXPECT_EQ(e.code(), errc::out_of_memory);
    }
    EXPECT_EQ(memory.outstanding(), 0u);
  }
}

} // namespace
} // namespace tulle::test::select_test

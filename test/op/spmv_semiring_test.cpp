// SPDX-License-Identifier: Apache-2.0

// Products with vectors over semirings and with masks, against one plain loop.
#include "tulle/format/coo.hpp"
#include "tulle/format/csc.hpp"
#include "tulle/gen/generate.hpp"
#include "tulle/op/spmv.hpp"
#include "tulle/op/spmv_semiring.hpp"
#include "tulle/op/transpose.hpp"

#include "op/vectors.hpp"
#include "support/memory.hpp"
#include "support/zoo.hpp"

#include <limits>

namespace tulle::test::spmv_semiring_test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

struct longest { // a user's own
  double add(double a, double b) const { return a < b ? b : a; }
  double multiply(double a, double b) const { return a + b; }
  double zero(double) const { return -inf; }
};
struct without_zero {
  double add(double a, double b) const { return a < b ? b : a; }
  double multiply(double a, double b) const { return a + b; }
};

template <class V>
using elements = std::vector<V>;

/// Over canonical rows, one after the other; `in` says which elements of y are computed.
template <class S, class V, class I, class O>
elements<V> plain(S const& s, csr<V, I, O> const& stored, bool transposed, elements<V> const& x,
                  elements<V> y, bool accumulate, elements<int> const& in) {
  csr<V, I, O> const a = stored.to_csr();
  for (std::size_t i = 0; i < y.size() && !accumulate; ++i)
    if (in[i])
      y[i] = s.zero(V{});
  for (I i = 0; i < a.rows; ++i)
    for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k) {
      auto const from = static_cast<std::size_t>(transposed ? i : a.col[k]);
      auto const to = static_cast<std::size_t>(transposed ? a.col[k] : i);
      if (in[to])
        y[to] = s.add(y[to], s.multiply(a.val[k], x[from]));
    }
  return y;
}

template <class S, class V, class I, class O>
void expect_products(S const& s, csr<V, I, O> const& a, std::string const& what) {
  for (bool const turned : {false, true}) {
    auto const in = static_cast<std::size_t>(turned ? a.rows : a.cols);
    auto const out = static_cast<std::size_t>(turned ? a.cols : a.rows);
    elements<V> const x = dense_of<V>(in, 1, true), start = dense_of<V>(out, 2, true);
    elements<V> const poison(out, make<V>(nan, nan));
    elements<int> const all(out, 1);
    elements<int> some(out);
    for (std::size_t i = 0; i < out; ++i)
      some[i] = i % 3 == 0 ? 7 : 0;
    elements<int> others(out);
    for (std::size_t i = 0; i < out; ++i)
      others[i] = !some[i];
    auto const expected = plain(s, a, turned, x, poison, false, all);
    auto const added = plain(s, a, turned, x, start, true, all);
    auto const masked = plain(s, a, turned, x, start, false, some);
    auto const rest = plain(s, a, turned, x, start, true, others);
    for (where const& w :
         {where(reference{}), where(cpu{.threads = 1}), where(cpu{.threads = 7})}) {
      elements<V> y = poison;
      turned ? spmv(w, s, transposed(a), x, y) : spmv(w, s, a, x, y);
      EXPECT_TRUE(same_bits(y, expected)) << what << ", " << turned << ", " << w.threads;
      y = start;
      spmv_semiring_options const onto{.accumulate = true};
      turned ? spmv(w, s, transposed(a), x, y, onto) : spmv(w, s, a, x, y, onto);
      EXPECT_TRUE(same_bits(y, added)) << what << ", onto y, " << turned << ", " << w.threads;
      y = start;
      turned ? spmv(w, mask(some), s, transposed(a), x, y) : spmv(w, mask(some), s, a, x, y);
      EXPECT_TRUE(same_bits(y, masked)) << what << ", masked, " << turned << ", " << w.threads;
      y = start;
      auto const but = mask(some, {.complement = true});
      turned ? spmv(w, but, s, transposed(a), x, y, onto) : spmv(w, but, s, a, x, y, onto);
      EXPECT_TRUE(same_bits(y, rest)) << what << ", but masked, " << turned << ", " << w.threads;
    }
  }
}

class semiring_products : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(op, semiring_products, testing::Range<std::size_t>(0, type_count),
                         [](auto const& info) { return name(static_cast<type_tag>(info.param)); });

TEST_P(semiring_products, the_zoo_are_those_of_a_plain_loop) {
  auto const type = static_cast<type_tag>(GetParam());
  visit(type, [&](auto types) {
    using T = decltype(types);
    using V = typename T::value;
    using owner = csr<V, typename T::index, typename T::offset>;
    for (animal const& one : zoo()) {
      owner const a = *as_type(one.matrix, type).get_if<owner>();
      expect_products(plus_times(), a, one.name + ", plus_times");
      expect_products(plus_pair(), a, one.name + ", plus_pair");
      expect_products(or_and(), a, one.name + ", or_and");
      if constexpr (!is_complex<V>) {
        expect_products(min_plus(), a, one.name + ", min_plus");
        expect_products(max_times(), a, one.name + ", max_times");
      }
    }
  });
}

TEST(spmv_semiring, a_users_own_semiring_is_that_of_a_plain_loop) {
  for (animal const& one : zoo())
    expect_products(longest(), one.matrix, one.name);
  expect_products(longest(), elephant(), "elephant");
  expect_products(plus_times(), elephant(), "elephant");
}

TEST(spmv_semiring, is_as_on_paper) {
  // 0 -> 1 of 2, 0 -> 2 of 5, 1 -> 2 of 1; nothing leaves 2.
  csr<double> const a(3, 3, {0, 2, 3, 3}, {1, 2, 2}, {2, 5, 1});
  std::vector<double> d{0, inf, inf}, next = d;
  for (int step = 0; step < 2; ++step) {
    spmv(min_plus(), transposed(a), d, next, {.accumulate = true});
    d = next;
  }
  EXPECT_EQ(d, (std::vector<double>{0, 2, 3}));
  std::vector<double> y(3, nan);
  spmv(min_plus(), a, std::vector<double>{0, 0, 0}, y);
  EXPECT_EQ(y, (std::vector<double>{2, 1, inf}));
  spmv(max_times(), a, std::vector<double>{.5, .5, .25}, y);
  EXPECT_EQ(y, (std::vector<double>{1.25, .25, 0}));
  spmv(plus_pair(), a, y, d);
  EXPECT_EQ(d, (std::vector<double>{2, 1, 0}));
  std::vector<char> const seen{1, 0, 0};
  y = {9, 9, 9};
  spmv(mask(seen, {.complement = true}), or_and(), transposed(a), std::vector<double>{1, 0, 0}, y);
  EXPECT_EQ(y, (std::vector<double>{9, 1, 1}));
}

// Entries of one place are one entry, whose value is their sum as everywhere else.
TEST(spmv_semiring, of_twins_is_the_same_product) {
  for (animal const& one : zoo()) {
    csr<double> const a = one.matrix.to_csr();
    std::vector<double> const x = integers(static_cast<std::size_t>(a.cols), 3);
    std::vector<double> expected(static_cast<std::size_t>(a.rows)), y = expected;
    spmv(min_plus(), a, x, expected);
    for (csr<double> const& twin : {unsorted(a), duplicated(a)}) {
      spmv(min_plus(), twin, x, y);
      EXPECT_EQ(y, expected) << one.name;
    }
    spmv(min_plus(), csc<double>::from_csr(a.view()), x, y);
    EXPECT_EQ(y, expected) << one.name;
    csr<double> const turned = transpose(a);
    auto const as_coo = coo<double>::from_csr(turned.view());
    spmv(min_plus(), transposed(as_coo), x, y);
    EXPECT_EQ(y, expected) << one.name;
  }
}

TEST(spmv_semiring_refuses, what_does_not_fit) {
  csr<double> a(2, 3, {0, 2, 3}, {0, 2, 1}, {1, 2, 3});
  std::vector<double> const x(3, 1);
  std::vector<double> y(2, 5), longer(3, 5);
  expect_refused(errc::shape_mismatch, {"spmv", "x has 2 entries", "3 columns"}, longer,
                 [&] { spmv(min_plus(), a, y, longer); });
  expect_refused(errc::shape_mismatch, {"spmv", "y has 3 entries", "2 rows"}, longer,
                 [&] { spmv(min_plus(), a, x, longer); });
  expect_refused(errc::shape_mismatch, {"spmv", "x has 3 entries", "2 rows"}, longer,
                 [&] { spmv(min_plus(), transposed(a), x, longer); });
  expect_refused(errc::shape_mismatch, {"spmv", "mask has 3 entries", "y has 2"}, y,
                 [&] { spmv(mask(x), min_plus(), a, x, y); });
  expect_refused(errc::bad_structure, {"spmv", "y overlaps x"}, longer,
                 [&] { spmv(min_plus(), a, longer, vector_view<double>(longer.data() + 1, 2)); });
  expect_refused(errc::bad_structure, {"spmv", "y overlaps the mask"}, y,
                 [&] { spmv(mask(y), min_plus(), a, x, y); });
  expect_refused(errc::bad_structure, {"spmv", "y overlaps the arrays of A"}, a.val,
                 [&] { spmv(min_plus(), a, x, vector_view<double>(a.val.data(), 2)); });
  auto by_columns = csc<double>::from_csr(a.view());
  expect_refused(errc::bad_structure, {"spmv", "y overlaps the arrays of A"}, by_columns.val, [&] {
    spmv(min_plus(), by_columns, x, vector_view<double>(by_columns.val.data(), 2));
  });
  vector_view<double> const none(nullptr, 2);
  EXPECT_TRUE(fails_with(errc::bad_structure, {"spmv", "y is null"},
                         [&] { spmv(min_plus(), a, x, none); }));
  EXPECT_TRUE(fails_with(errc::bad_structure, {"spmv", "x is null"},
                         [&] { spmv(min_plus(), transposed(a), none, longer); }));
  expect_refused(errc::unsupported, {"spmv", "no zero(v)", "accumulate"}, y,
                 [&] { spmv(without_zero(), a, x, y); });
  spmv(without_zero(), a, x, y, {.accumulate = true});
  EXPECT_EQ(y, (std::vector<double>{5, 5}));
  where w;
  w.backend = backend::cuda;
  expect_refused(errc::unsupported, {"spmv", "cuda"}, y, [&] { spmv(w, min_plus(), a, x, y); });
  csr<double> const b = std::move(a);
  expect_refused(errc::bad_structure, {"spmv", "row_ptr", "moved"}, y,
                 [&] { spmv(min_plus(), a, x, y); }); // NOLINT(bugprone-use-after-move)
}

TEST(spmv_semiring, keeps_its_workspace_within_the_limit) {
  csr<double> const a = duplicated(find("lengths_0_to_70").matrix);
  std::vector<double> const x(static_cast<std::size_t>(a.cols), 1);
  std::vector<double> y(static_cast<std::size_t>(a.rows));
  peak_memory memory;
  cpu const small{.threads = 2, .memory = &memory, .workspace_limit = 1000};
  expect_refused(errc::out_of_memory, {"spmv", "the limit is 1000"}, y,
                 [&] { spmv(small, min_plus(), a, x, y); });
  EXPECT_EQ(memory.peak(), 0u);
  spmv(small, min_plus(), a.to_csr(), x, y);
  EXPECT_EQ(memory.peak(), 0u);
  std::size_t const limit = 3 * a.bytes();
  spmv(cpu{.threads = 2, .memory = &memory, .workspace_limit = limit}, min_plus(), a, x, y);
  EXPECT_GT(memory.peak(), 0u);
  EXPECT_LE(memory.peak(), limit);
}

} // namespace
} // namespace tulle::test::spmv_semiring_test

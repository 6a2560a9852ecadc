// SPDX-License-Identifier: Apache-2.0

// Products over semirings, with masks, with a third operand, and of three matrices.
#include "tulle/format/coo.hpp"
#include "tulle/gen/generate.hpp"
#include "tulle/op/add.hpp"
#include "tulle/op/galerkin.hpp"
#include "tulle/op/spgemm_semiring.hpp"

#include "support/expect.hpp"
#include "support/memory.hpp"
#include "support/zoo.hpp"

#include <gtest/gtest.h>
#include <limits>
#include <map>

namespace tulle::test::spgemm_forms_test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

using places = std::map<std::pair<std::int32_t, std::int32_t>, double>;

/// Entry by entry, duplicates and order as canonical() leaves them.
template <class S>
places plain(S const& s, csr<double> const& a, csr<double> const& b) {
  csr<double> const x = a.to_csr(), y = b.to_csr();
  places c;
  for (std::int32_t i = 0; i < x.rows; ++i)
    for (std::int32_t k = x.row_ptr[i]; k < x.row_ptr[i + 1]; ++k)
      for (std::int32_t p = y.row_ptr[x.col[k]]; p < y.row_ptr[x.col[k] + 1]; ++p) {
        double const term = s.multiply(x.val[k], y.val[p]);
        auto const [at, is_new] = c.emplace(std::pair(i, y.col[p]), term);
        if (!is_new)
          at->second = s.add(at->second, term);
      }
  return c;
}
places of(csr<double> const& a) {
  EXPECT_TRUE(a.view().is_canonical());
  places c;
  for (std::int32_t i = 0; i < a.rows; ++i)
    for (std::int32_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
      c.emplace(std::pair(i, a.col[k]), a.val[k]);
  return c;
}

struct longest { // a user's own
  double add(double a, double b) const { return a < b ? b : a; }
  double multiply(double a, double b) const { return a - b; }
};

std::vector<std::pair<csr<double>, csr<double>>> pairs() {
  std::vector<std::pair<csr<double>, csr<double>>> all;
  for (char const* const name :
       {"0x0", "5x0", "0x5", "all_rows_empty", "one_dense_row", "dense", "wide", "tall",
        "lengths_0_to_70", "lengths_0_to_70_unsorted_duplicates", "six_rows_of_63"}) {
    csr<double> a;
    try {
      a = find(name).matrix;
    } catch (std::exception const&) {
      continue;
    }
    std::vector<std::int32_t> lengths;
    for (std::int32_t i = 0; i < a.cols; ++i)
      lengths.push_back(i % 5);
    all.emplace_back(a, from_lengths(40, lengths));
  }
  return all;
}

template <class S>
void expect_semiring(S const& s) {
  auto const all = pairs();
  ASSERT_GE(all.size(), 9u);
  for (auto const& [a, b] : all) {
    places const expected = plain(s, a, b);
    csr<double> const first = spgemm(cpu{.threads = 1}, s, a, b);
    EXPECT_EQ(of(first), expected);
    EXPECT_TRUE(first.view().is_canonical());
    for (int const threads : {2, 7})
      EXPECT_EQ(spgemm(cpu{.threads = threads}, s, a, b), first) << threads;
    // A mask with some of the places, and others.
    std::vector<std::int32_t> lengths;
    for (std::int32_t i = 0; i < a.rows; ++i)
      lengths.push_back((i * 7) % 23);
    csr<double> const m = from_lengths(40, lengths, 3);
    places const in_mask = of(m.to_csr());
    for (bool const complement : {false, true}) {
      places left;
      for (auto const& [at, value] : expected)
        if (in_mask.contains(at) != complement)
          left.emplace(at, value);
      for (int const threads : {1, 3})
        EXPECT_EQ(of(spgemm(cpu{.threads = threads}, mask(m, {.complement = complement}), s, a, b)),
                  left);
      EXPECT_EQ(of(spgemm(mask(unsorted(m), {.complement = complement}), s, a, b)), left);
    }
  }
}

TEST(spgemm_semiring, every_semiring_is_as_entry_by_entry) {
  expect_semiring(plus_times());
  expect_semiring(or_and());
  expect_semiring(min_plus());
  expect_semiring(plus_pair());
  expect_semiring(longest());
}

TEST(spgemm_semiring, plus_times_has_the_bits_of_spgemm) {
  csr<double> const a = rough(generate<double>("fem:300"));
  EXPECT_TRUE(same_arrays(borrowed(spgemm(plus_times(), a, a)), borrowed(spgemm(a, a))));
}

TEST(spgemm_semiring, takes_every_format_and_refuses_what_does_not_fit) {
  csr<double> const a = from_lengths(4, {1, 2, 3}), b = from_lengths(9, {3, 3, 0, 1});
  EXPECT_EQ(spgemm(min_plus(), coo<double>::from_csr(a.view()), b), spgemm(min_plus(), a, b));
  EXPECT_TRUE(fails_with(errc::shape_mismatch, {"spgemm", "A is 3 x 4", "B is 3 x 4"},
                         [&] { spgemm(min_plus(), a, a); }));
  EXPECT_TRUE(fails_with(errc::shape_mismatch, {"spgemm", "mask is 3 x 4", "A B is 3 x 9"},
                         [&] { spgemm(mask(a), min_plus(), a, b); }));
  EXPECT_TRUE(fails_with(errc::out_of_memory, {"spgemm", "bytes of workspace", "100"},
                         [&] { spgemm(cpu{.workspace_limit = 100}, min_plus(), a, b); }));
}

TEST(spgemm_semiring, leaves_nothing_behind_where_memory_ends) {
  csr<double> const a = from_lengths(4, {1, 2, 3}), b = from_lengths(9, {3, 3, 0, 1});
  for (std::size_t k = 1;; ++k) {
    failing_memory memory(k);
    try {
      spgemm(cpu{.threads = 1, .memory = &memory}, mask(from_lengths(9, {5, 5, 5})), or_and(), a,
             b);
      EXPECT_GT(k, 4u);
      break;
    } catch (error const& e) {
      EXPECT_EQ(e.code(), errc::out_of_memory);
    }
    EXPECT_EQ(memory.outstanding(), 0u);
  }
}

TEST(spgemm_three, is_the_product_and_then_the_sum) {
  for (auto const& [a, b] : pairs()) {
    std::vector<std::int32_t> lengths;
    for (std::int32_t i = 0; i < a.rows; ++i)
      lengths.push_back((i * 5) % 17);
    csr<double> const d = unsorted(from_lengths(40, lengths, 3)); // integers: sums are exact
    csr<double> const expected = add(2.0, spgemm(a, b), -3.0, d);
    for (where const& w : {where(cpu{.threads = 1}), where(cpu{.threads = 3}), where(reference{})})
      EXPECT_EQ(spgemm(w, 2.0, a, b, -3.0, d), expected);
  }
}

TEST(spgemm_three, reads_no_values_for_factors_of_zero_and_keeps_the_pattern) {
  csr<double> const a = from_lengths(4, {1, 2, 3}), b = from_lengths(9, {3, 3, 0, 1}),
                    d = from_lengths(9, {2, 2, 2}, 5);
  csr<double> bad_a = a, bad_b = b, bad_d = d;
  for (csr<double>* const bad : {&bad_a, &bad_b, &bad_d})
    for (double& v : bad->val)
      v = nan;
  EXPECT_EQ(spgemm(0.0, bad_a, bad_b, 2.0, d), spgemm(0.0, a, b, 2.0, d));
  EXPECT_EQ(spgemm(2.0, a, b, 0.0, bad_d), spgemm(2.0, a, b, 0.0, d));
  EXPECT_EQ(spgemm(0.0, bad_a, bad_b, 2.0, d), add(0.0, spgemm(a, b), 2.0, d));
}

TEST(spgemm_three, refuses_what_does_not_fit) {
  csr<double> const a = from_lengths(4, {1, 2, 3}), b = from_lengths(9, {3, 3, 0, 1});
  EXPECT_TRUE(fails_with(errc::shape_mismatch, {"spgemm", "D is 3 x 4", "A B is 3 x 9"},
                         [&] { spgemm(1.0, a, b, 1.0, a); }));
  EXPECT_TRUE(fails_with(errc::out_of_memory, {"spgemm", "bytes of workspace", "100"}, [&] {
    spgemm(cpu{.workspace_limit = 100}, 1.0, a, b, 1.0, spgemm(a, b));
  }));
}

TEST(galerkin, both_orders_are_the_product_of_three) {
  csr<double> const a = generate<double>("poisson2d5:20");
  std::vector<std::int32_t> ptr{0}, col;
  for (std::int32_t i = 0; i < 400; ++i) { // aggregates of 2 x 2
    col.push_back(i / 40 * 10 + i % 20 / 2);
    ptr.push_back(i + 1);
  }
  csr<double> const p(400, 100, array<std::int32_t>(ptr.data(), ptr.size()),
                      array<std::int32_t>(col.data(), col.size()), array<double>(400, 1.0));
  csr<double> const r = transpose(p);
  csr<double> const expected = spgemm(reference{}, spgemm(reference{}, r, a), p);
  for (galerkin_order const order :
       {galerkin_order::automatic, galerkin_order::ra_first, galerkin_order::ap_first}) {
    EXPECT_EQ(galerkin(r, a, p, {.order = order}), expected);
    EXPECT_EQ(galerkin(cpu{.threads = 2}, a, p, {.order = order}), expected);
  }
  EXPECT_EQ(galerkin_road_of(cpu{}, r, a, p).order, galerkin_order::ra_first); // even
  csr<double> const narrow = from_lengths(2, std::vector<std::int32_t>(400, 1));
  EXPECT_EQ(galerkin_road_of(cpu{}, a, a, narrow).order, galerkin_order::ap_first);
  EXPECT_TRUE(
      fails_with(errc::shape_mismatch, {"galerkin", "P 100 x 400"}, [&] { galerkin(r, a, r); }));
}

TEST(galerkin, has_the_bits_of_its_order_in_any_number_of_blocks) {
  csr<double> const a = rough(generate<double>("poisson2d9:20")),
                    p = rough(from_lengths(90, std::vector<std::int32_t>(400, 3), 2));
  std::vector<std::int32_t> lengths; // of R, with empty rows
  for (std::int32_t i = 0; i < 90; ++i)
    lengths.push_back(i % 7 == 0 ? 0 : i % 11);
  csr<double> const r = rough(from_lengths(400, lengths, 5));
  for (galerkin_order const order : {galerkin_order::ra_first, galerkin_order::ap_first}) {
    csr<double> const whole = galerkin(r, a, p, {.order = order});
    for (std::size_t const blocks : {1, 2, 7, 90, 1000}) {
      EXPECT_TRUE(same_arrays(borrowed(galerkin(r, a, p, {.order = order, .blocks = blocks})),
                              whole.view()))
          << blocks;
      EXPECT_EQ(galerkin(cpu{.threads = 3}, unsorted(r), unsorted(a), unsorted(p),
                         {.order = order, .blocks = blocks}),
                whole)
          << blocks;
    }
  }
  csr<double> const none(0, 400, array<std::int32_t>(1, 0), {}, {});
  EXPECT_EQ(galerkin(none, a, p, {.blocks = 3}).rows, 0);
}

TEST(galerkin, goes_in_blocks_where_the_first_product_does_not_fit) {
  csr<double> const a = generate<double>("poisson2d5:60");
  std::vector<std::int32_t> ptr{0}, col;
  for (std::int32_t i = 0; i < 3600; ++i) { // aggregates of 3 x 3
    col.push_back(i / 180 * 20 + i % 60 / 3);
    ptr.push_back(i + 1);
  }
  csr<double> const t(3600, 400, array<std::int32_t>(ptr.data(), ptr.size()),
                      array<std::int32_t>(col.data(), col.size()), array<double>(3600, 1.0));
  csr<double> const p = spgemm(-1.0 / 6, a, t, 1.0, t), r = transpose(p);
  for (galerkin_order const order : {galerkin_order::ra_first, galerkin_order::ap_first}) {
    std::size_t const first =
        order == galerkin_order::ra_first ? spgemm(r, a).bytes() : spgemm(a, p).bytes();
    csr<double> const whole = galerkin(r, a, p, {.order = order});
    EXPECT_EQ(galerkin_road_of(cpu{}, r, a, p, {.order = order}).path(),
              order == galerkin_order::ra_first ? "(R A) P" : "R (A P)");
    for (std::size_t const part : {1, 2, 4}) {
      peak_memory memory;
      cpu const w{.threads = 1, .memory = &memory, .workspace_limit = first / part};
      galerkin_road const road = galerkin_road_of(w, r, a, p, {.order = order});
      EXPECT_GT(road.blocks, part) << road.path();
      EXPECT_NE(road.path().find("blocks of rows"), std::string::npos) << road.path();
      EXPECT_TRUE(same_arrays(borrowed(galerkin(w, r, a, p, {.order = order})), whole.view()));
      EXPECT_LE(memory.peak(), first / part + whole.bytes() + whole.val.bytes()) << road.path();
    }
  }
}

} // namespace
} // namespace tulle::test::spgemm_forms_test

// SPDX-License-Identifier: Apache-2.0

// Products of matrices that grow on the device: against those of another that grew alike, bit for
// bit, of the csr that they freeze to, and of a map.
#include "tulle/gen/generate.hpp"

#include "cuda/grown.hpp"
#include "support/expect.hpp"
#include "support/zoo.hpp"

#include <cmath>

namespace tulle::test::device_dynamic_test {
namespace {

TEST(device_dynamic_csr, products_on_four_streams_see_whole_batches) {
  std::mt19937 random(7);
  std::int32_t const n = 5000;
  own_queue const own;
  own_queue const others[4];
  device_dynamic_options o;
  o.where = own;
  matrix a(n, n, o);
  model<double, std::int32_t> m{n, n, {}};
  std::vector<double> const x = integers(static_cast<std::size_t>(n), 3);
  device_array<double> const there(x);
  for (int round = 0; round < 10; ++round) {
    auto const b = random_batch<double, std::int32_t>(random, n, n, 3000);
    a.insert(b.row, b.col, b.val);
    m.insert(b);
    std::vector<double> z(static_cast<std::size_t>(n));
    for (auto const& [place, v] : m.at)
      z[static_cast<std::size_t>(place.first)] += v * x[static_cast<std::size_t>(place.second)];
    std::vector<device_array<double>> y;
    for (own_queue const& s : others) {
      y.emplace_back(z.size(), s);
      spmv(s, 1.0, a, there, 0.0, y.back());
    }
    auto const more = random_batch<double, std::int32_t>(random, n, n, 100);
    a.insert(more.row, more.col, more.val); // behind the products
    m.insert(more);
    for (auto const& one : y)
      EXPECT_EQ(from_there(one), z) << round;
  }
}

/// In six batches, by another alike and by the cpu; then from csr, with some of it once more in
/// three batches, few enough that products do not defragment. Sums are exact in every order where
/// `exact` is set.
void expect_grown(csr<double> const& a, bool exact, std::string const& what) {
  auto const b = shuffled(a);
  auto const cols = static_cast<std::size_t>(a.cols);
  std::vector<double> const x = exact ? integers(cols, 4) : roughs(cols, 4);
  std::size_t const n = b.val.size(), parts = 6;
  auto const in = [&](auto& m, std::size_t from, std::size_t count) {
    m.insert(std::span(b.row).subspan(from, count), std::span(b.col).subspan(from, count),
             std::span(b.val).subspan(from, count));
  };
  matrix d(a.rows, a.cols), again(a.rows, a.cols);
  dynamic_csr<double> here(a.rows, a.cols);
  for (std::size_t part = 0; part < parts; ++part) {
    std::size_t const from = n * part / parts, count = n * (part + 1) / parts - from;
    in(d, from, count);
    in(again, from, count);
    in(here, from, count);
    EXPECT_TRUE(same_bits(product({}, d, x), product({}, again, x))) << what;
  }
  EXPECT_EQ(d.shape().entries, n) << what;
  auto const frozen = d.freeze();
  EXPECT_TRUE(same_bits(product({}, d, x), product(frozen, x))) << what;
  EXPECT_EQ(d.freeze().col, frozen.col) << "freezing what is compact copies";
  EXPECT_TRUE(stored(d.download().snapshot()) == stored(here.snapshot())) << what;
  EXPECT_EQ(d.to_csr(), here.to_csr()) << what;
  auto e = matrix::from_csr(a.view()), alike = matrix::from_csr(a.view());
  EXPECT_TRUE(e.shape().compact);
  EXPECT_TRUE(same_bits(product({}, e, x), product(e.freeze(), x))) << what;
  std::size_t const few = n / 40;
  for (std::size_t const from : {n / 2, n - 2 * few, n - few}) {
    in(e, from, few);
    in(alike, from, few);
    std::vector<double> const y = product({}, e, x);
    EXPECT_TRUE(same_bits(y, product({}, alike, x))) << what;
    EXPECT_EQ(e.shape().compact, few == 0) << what;
    auto copy = matrix::from_csr(borrowed(alike.download().to_csr()));
    std::vector<double> const z = product(copy.freeze(), x);
    for (std::size_t i = 0; i < y.size(); ++i)
      ASSERT_TRUE(exact ? y[i] == z[i] : std::abs(y[i] - z[i]) <= 1e-11 * (1 + std::abs(z[i])))
          << what << ", row " << i;
    if (few == 0)
      break;
    // What was downloaded is compact; let it grow as the other did.
    alike = matrix::from_csr(a.view());
    for (std::size_t const again_from : {n / 2, n - 2 * few, n - few}) {
      in(alike, again_from, few);
      if (again_from == from)
        break;
    }
  }
  e.defragment({.combine = true});
  EXPECT_EQ(e.shape().entries, a.to_csr().val.size()) << what;
}

TEST(device_dynamic_csr, products_repeat_and_are_those_of_what_it_freezes_to) {
  for (animal const& animal : zoo())
    if (!is_quick() || animal.matrix.val.size() < 1000)
      for (bool const exact : {false, true})
        expect_grown(exact ? animal.matrix : rough(animal.matrix), exact, animal.name);
  for (char const* const text :
       {"rmat:12:16", "poisson2d5:90", "circuit:20000", "fem:900", "lattice:5000", "dense:200",
        "random:3000:100:3000", "lp:40:20000:260"})
    if (!is_quick() || generate(text).val.size() < 20'000)
      for (bool const exact : {false, true})
        expect_grown(exact ? other_values(generate(text)) : rough(generate(text)), exact, text);
}

// Rows that a block adds up, rows that blocks share, and rows with segments behind segments.
TEST(device_dynamic_csr, products_add_what_long_rows_have_behind) {
  std::int32_t const scale = is_quick() ? 1 : 3;
  std::vector<std::int32_t> lengths(400, 100);
  lengths[7] = scale * 100'000; // a fortieth at a time: pieces of one batch, of two, of three
  lengths[200] = scale * 40'000;
  lengths[300] = scale * 20'000;
  lengths[399] = scale * 3'000;
  for (bool const exact : {false, true}) {
    csr<double> const a = from_lengths(400'000, lengths);
    expect_grown(exact ? a : rough(a), exact, "long rows");
  }
}

/// As the model's products are, with a y of zeros.
std::vector<double> doubled(std::vector<double> y) {
  for (double& v : y)
    v *= 2;
  return y;
}

// A row has some room that takes no segment; rows in lists, as all are which csr takes by groups of
// lanes, stay there when the pool grows.
TEST(device_dynamic_csr, products_add_what_slack_and_lists_have) {
  csr<double> const a = from_lengths(1000, std::vector<std::int32_t>(150, 200));
  std::vector<double> const x = integers(1000, 5);
  auto d = matrix::from_csr(a.view());
  model<double, std::int32_t> m{150, 1000, {}};
  m.insert(shuffled(a));
  auto const grow = [&](std::int32_t row, std::int32_t n) {
    batch<double, std::int32_t> b;
    for (std::int32_t k = 0; k < n; ++k)
      b.add(row, k * 7 % 1000, k % 5 - 2.);
    d.insert(b.row, b.col, b.val);
    m.insert(b);
    EXPECT_EQ(doubled(product({}, d, x)), m.product(x, std::vector<double>(150))) << row;
  };
  grow(1, 1);
  EXPECT_EQ(d.shape().segments, 1u);
  grow(2, 40);
  EXPECT_EQ(d.shape().segments, 2u);
  grow(3, 200);
  grow(5, 600);
  std::size_t const places = d.shape().places;
  grow(7, 3600);
  EXPECT_GT(d.shape().places, places);
  EXPECT_FALSE(d.shape().compact);
}

// Rows that have grown a little, also those that lost what they had and got it again: few of them,
// then many.
TEST(device_dynamic_csr, products_add_what_few_rows_have) {
  csr<double> const a = other_values(generate("poisson2d5:60"));
  std::vector<double> const x = integers(3600, 5);
  auto d = matrix::from_csr(a.view());
  model<double, std::int32_t> m{3600, 3600, {}};
  m.insert(shuffled(a));
  auto const change = [&](bool adds, std::int32_t from, std::int32_t n) {
    batch<double, std::int32_t> b;
    for (std::int32_t i = from; i < from + 9 * n; i += 9)
      b.add(i, (i + 1800) % 3600, i % 7 + 1.);
    if (adds) {
      d.insert(b.row, b.col, b.val);
      m.insert(b);
    } else {
      d.erase(b.row, b.col);
      m.erase(b);
    }
    EXPECT_EQ(doubled(product({}, d, x)), m.product(x, std::vector<double>(3600)))
        << adds << " " << from << " " << n;
    EXPECT_FALSE(d.shape().compact);
  };
  change(true, 0, 60);
  change(false, 0, 30);
  change(true, 0, 60);
  change(true, 1, 60);
  change(true, 2, 300);
}

// Rows of no entry, of few and of very many, short ones in blocks and all in shares: with so much
// behind some of them that copies have no room, with partners that are asked more than once, and
// after some has been taken away again.
TEST(device_dynamic_csr, products_add_what_has_partners) {
  for (std::int32_t const longest : {100, 3000}) {
    std::vector<std::int32_t> lengths(8000);
    for (std::size_t i = 0; i < lengths.size(); ++i)
      lengths[i] = i % 7 == 0 ? 0 : 1 + static_cast<std::int32_t>(i) % 5;
    lengths[4000] = longest;
    csr<double> const a = from_lengths(8000, lengths);
    std::vector<double> const x = integers(8000, 5);
    auto d = matrix::from_csr(a.view()), again = matrix::from_csr(a.view());
    model<double, std::int32_t> m{8000, 8000, {}};
    m.insert(shuffled(a));
    auto const expect_product = [&](char const* what) {
      std::vector<double> const y = product({}, d, x);
      EXPECT_EQ(doubled(y), m.product(x, std::vector<double>(8000))) << longest << " " << what;
      EXPECT_TRUE(same_bits(y, product({}, again, x))) << longest << " " << what;
      EXPECT_FALSE(d.shape().compact) << longest << " " << what;
    };
    auto const change = [&](bool adds, std::int32_t from, std::int32_t rows, std::int32_t most) {
      batch<double, std::int32_t> b;
      for (std::int32_t i = from; i < from + rows; ++i)
        for (std::int32_t k = 0; k <= i % most; ++k)
          b.add(i, (i * 3 + k * 11 + 4000) % 8000, i % 7 + k + 1.);
      for (matrix* const one : {&d, &again}) {
        if (adds)
          one->insert(b.row, b.col, b.val);
        else
          one->erase(b.row, b.col);
      }
      if (adds)
        m.insert(b);
      else
        m.erase(b);
      expect_product(adds ? "inserted" : "erased");
    };
    change(true, 5000, 100, 3);
    change(true, 0, 200, 12);
    change(true, 3999, 3, 500);
    change(true, 0, 20, 12);
    change(false, 5000, 60, 3);
    change(true, 5030, 60, 2);
    for (std::size_t i = 0; i < lengths.size(); ++i)
      lengths[i] = i % 97 == 0 ? 2 : 0;
    csr<double> const more = from_lengths(8000, lengths);
    d.merge(more.view());
    again.merge(more.view());
    m.insert(shuffled(more));
    expect_product("merged");
  }
}

// How csr multiplies hangs on the longest row, which is known from batches and not looked for
// again; segments of rows are forgotten when they are put together, and their tables are there for
// others.
TEST(device_dynamic_csr, products_follow_the_longest_row) {
  csr<double> const a = generate("poisson2d5:60");
  std::vector<double> const x = integers(3600, 5), zeros(3600);
  auto d = matrix::from_csr(a.view());
  model<double, std::int32_t> m{3600, 3600, {}};
  m.insert(shuffled(a));
  auto const row = [](std::int32_t i, std::int32_t n) {
    batch<double, std::int32_t> b;
    for (std::int32_t j = 0; j < n; ++j)
      b.add(i, j * 3, i % 7 + 1.);
    return b;
  };
  auto const expect_product = [&](char const* what) {
    EXPECT_EQ(doubled(product({}, d, x)), m.product(x, zeros)) << what;
    d.defragment();
    EXPECT_EQ(d.shape().segments, 1u) << what;
    std::vector<double> const y = product({}, d, x);
    EXPECT_EQ(doubled(y), m.product(x, zeros)) << what << ", defragmented";
    auto fresh = matrix::from_csr(d.freeze());
    EXPECT_TRUE(same_bits(y, product({}, fresh, x))) << what;
  };
  expect_product("as it was");
  for (std::int32_t const n : {50, 60, 30, 900}) {
    for (std::int32_t const i : {7, 3599}) {
      auto const b = row(i, n);
      d.insert(b.row, b.col, b.val);
      m.insert(b);
      EXPECT_GT(d.shape().segments, 1u) << n;
    }
    expect_product("inserted");
  }
  for (std::int32_t const i : {7, 3599}) {
    auto const b = row(i, 1000);
    d.erase(b.row, b.col);
    m.erase(b);
  }
  expect_product("erased");
  auto const assigned = row(9, 150);
  d.assign(assigned.row, assigned.col, assigned.val);
  m.assign(assigned);
  expect_product("assigned");
  model<double, std::int32_t> more{3600, 3600, {}};
  more.insert(row(11, 400));
  d.merge(borrowed(more.to_csr()));
  m.insert(row(11, 400));
  expect_product("merged");
  model<double, std::int32_t> one{3600, 3600, {}};
  one.insert(row(13, 1)); // (13, 0)
  more.insert(row(0, 1100));
  device_matrix const left = upload(one.to_csr()), right = upload(more.to_csr());
  d.add_product(left.view<matrix::csr_there>(), right.view<matrix::csr_there>());
  m.add_product(one, more);
  expect_product("a product added");
}

// Products pay for rows that have grown until they have paid for a copy.
TEST(device_dynamic_csr, products_defragment_in_time) {
  csr<double> const a = generate("poisson2d5:60");
  auto const b = shuffled(a);
  matrix d = matrix::from_csr(a.view());
  std::size_t const few = b.val.size() / 40;
  d.insert(std::span(b.row).first(few), std::span(b.col).first(few), std::span(b.val).first(few));
  std::vector<double> const x(static_cast<std::size_t>(a.cols), 1);
  int products = 0;
  for (; !d.shape().compact && products < 100; ++products)
    product({}, d, x);
  EXPECT_GT(products, 3);
  EXPECT_LT(products, 60);
}

} // namespace
} // namespace tulle::test::device_dynamic_test

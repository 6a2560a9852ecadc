// SPDX-License-Identifier: Apache-2.0

// Triplets and elements to csr, against a map that takes them one by one.
#include "tulle/gen/generate.hpp"
#include "tulle/op/assemble.hpp"

#include "support/expect.hpp"
#include "support/memory.hpp"

#include <complex>
#include <gtest/gtest.h>
#include <map>
#include <random>

namespace tulle::test::assemble_test {
namespace {

template <class V, class I>
struct triplets {
  I rows, cols;
  std::vector<I> row, col;
  std::vector<V> val;
};

/// n of them; few places make many duplicates.
template <class V, class I>
triplets<V, I> some(I rows, I cols, std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  triplets<V, I> t{rows, cols, {}, {}, {}};
  for (std::size_t k = 0; k < n; ++k) {
    t.row.push_back(static_cast<I>(random() % static_cast<std::uint64_t>(rows)));
    t.col.push_back(static_cast<I>(random() % static_cast<std::uint64_t>(cols)));
    t.val.push_back(static_cast<V>(static_cast<double>(random()) / 1e6 - 1000));
  }
  return t;
}

/// One by one, in the order given.
template <class V, class I, class Combine>
csr<V, I, I> one_by_one(triplets<V, I> const& t, Combine combine) {
  std::map<std::pair<I, I>, V> all;
  for (std::size_t k = 0; k < t.val.size(); ++k) {
    auto const [at, is_new] = all.try_emplace({t.row[k], t.col[k]}, t.val[k]);
    if (!is_new)
      at->second = combine(at->second, t.val[k]);
  }
  csr<V, I, I> a(unchecked, t.rows, t.cols, array<I>(static_cast<std::size_t>(t.rows) + 1, I(0)),
                 array<I>(all.size()), array<V>(all.size()));
  std::size_t k = 0;
  for (auto const& [place, v] : all) {
    ++a.row_ptr[static_cast<std::size_t>(place.first) + 1];
    a.col[k] = place.second;
    a.val[k++] = v;
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(t.rows); ++i)
    a.row_ptr[i + 1] += a.row_ptr[i];
  return a;
}

template <class V, class I, class Combine>
void expect_assembled(triplets<V, I> const& t, Combine combine) {
  csr<V, I, I> const expected = one_by_one(t, combine);
  for (int const threads : {1, 2, 3, 7}) {
    auto const a =
        from_triplets<V>(t.rows, t.cols, t.row, t.col, t.val, combine, cpu{.threads = threads});
    a.validate();
    EXPECT_EQ(a, expected) << t.val.size() << " triplets, " << threads << " threads";
  }
}

TEST(from_triplets, equals_taking_them_one_by_one) {
  for (std::size_t const n : {0u, 1u, 2u, 40u, 5000u, 100000u}) {
    expect_assembled(some<double, std::int32_t>(1000, 700, n, 1), combine::sum);
    expect_assembled(some<float, std::int64_t>(1 << 20, 1 << 20, n, 2), combine::sum);
    expect_assembled(some<double, std::int32_t>(3, 2, n, 3), combine::sum); // nearly all alike
    expect_assembled(some<double, std::int32_t>(1, 100000, n, 4), combine::sum);
    expect_assembled(some<double, std::int32_t>(100000, 1, n, 5), combine::sum);
  }
}

TEST(from_triplets, combines_as_asked) {
  auto const t = some<double, std::int32_t>(50, 60, 100000, 6);
  expect_assembled(t, combine::last);
  expect_assembled(t, combine::min);
  expect_assembled(t, combine::max);
  expect_assembled(t, [](double a, double b) { return a / 2 + b; });
}

TEST(from_triplets, takes_complex_values) {
  std::vector<int> const row{1, 0, 1}, col{1, 0, 1};
  std::vector<std::complex<double>> const val{{1, 2}, {3, 4}, {5, 6}};
  auto const a = from_triplets<std::complex<double>>(2, 2, row, col, val);
  EXPECT_EQ(a.row_ptr, (array<int>{0, 1, 2}));
  EXPECT_EQ(a.val[1], std::complex<double>(6, 8));
}

TEST(from_triplets, keeps_explicit_zeros) {
  std::vector<int> const row{0, 0, 1}, col{1, 1, 0};
  std::vector<double> const val{2, -2, 0};
  auto const a = from_triplets<double>(2, 2, row, col, val);
  EXPECT_EQ(a.val, (array<double>{0, 0}));
}

TEST(from_triplets, refuses_what_does_not_fit) {
  std::vector<int> const row{0, 5, 1}, col{0, 1, 2}, fine{0, 1, 2}, two{0, 1};
  std::vector<double> const val{1, 2, 3};
  EXPECT_TRUE(fails_with(errc::bad_structure, {"row[1] is 5", "[0, 3)"},
                         [&] { from_triplets<double>(3, 3, row, col, val); }));
  EXPECT_TRUE(fails_with(errc::bad_structure, {"col[2] is 2", "[0, 2)"},
                         [&] { from_triplets<double>(3, 2, fine, col, val); }));
  EXPECT_TRUE(fails_with(errc::shape_mismatch, {"2 row indices", "3 values"},
                         [&] { from_triplets<double>(3, 3, two, col, val); }));
  std::vector<std::int8_t> const many(200, 1);
  std::vector<double> const values(200, 1);
  EXPECT_TRUE(fails_with(errc::overflow, {"200"},
                         [&] { from_triplets<double, std::int8_t>(3, 3, many, many, values); }));
}

TEST(from_triplets, leaves_nothing_behind_where_it_fails) {
  auto const t = some<double, std::int32_t>(300, 300, 100000, 7);
  int calls = 0;
  EXPECT_THROW(from_triplets<double>(
                   t.rows, t.cols, t.row, t.col, t.val,
                   [&](double a, double) -> double {
                     if (++calls == 50)
                       throw std::runtime_error("enough");
                     return a;
                   },
                   cpu{.threads = 1}),
               std::runtime_error);
  for (std::size_t k = 1;; ++k) {
    failing_memory memory(k);
    try {
      from_triplets<double>(t.rows, t.cols, t.row, t.col, t.val, combine::sum,
                            cpu{.threads = 2, .memory = &memory});
      EXPECT_GT(k, 5u);
      break;
    } catch (error const& e) {
      EXPECT_EQ(e.code(), errc::out_of_memory);
      EXPECT_EQ(memory.outstanding(), 0u) << "after failure " << k;
    }
  }
}

// Two triangles that share an edge, stiffness of the unit right triangle.
TEST(assemble, adds_elements_where_they_meet) {
  std::vector<int> const first{0, 1, 2}, second{1, 3, 2};
  std::vector<double> const stiffness{1, -.5, -.5, -.5, .5, 0, -.5, 0, .5};
  std::vector<element<double, int>> const elements{{first, first, stiffness},
                                                   {second, second, stiffness}};
  auto const a = assemble<double>(4, 4, elements);
  EXPECT_EQ(a.row_ptr, (array<int>{0, 3, 7, 11, 14}));
  EXPECT_EQ(a.col, (array<int>{0, 1, 2, 0, 1, 2, 3, 0, 1, 2, 3, 1, 2, 3}));
  EXPECT_EQ(a.val, (array<double>{1, -.5, -.5, -.5, 1.5, -.5, -.5, -.5, -.5, 1, 0, -.5, 0, .5}));
  EXPECT_EQ(assemble<double>(4, 4, std::vector<element<double, int>>{}).val.size(), 0u);
}

// The arrays of an element are gone when the next one comes.
TEST(assemble, of_a_list_has_copied_its_elements) {
  element_list<double> all;
  for (int const first : {0, 1}) {
    std::vector<int> nodes{first, 2 * first + 1, 2};
    std::vector<double> stiffness{1, -.5, -.5, -.5, .5, 0, -.5, 0, .5};
    all.add(nodes, stiffness);
    std::fill(nodes.begin(), nodes.end(), -1);
    std::fill(stiffness.begin(), stiffness.end(), 7);
  }
  std::vector<int> const first{0, 1, 2}, second{1, 3, 2};
  std::vector<double> const stiffness{1, -.5, -.5, -.5, .5, 0, -.5, 0, .5};
  std::vector<element<double, int>> const elements{{first, first, stiffness},
                                                   {second, second, stiffness}};
  EXPECT_EQ(all.size(), 2u);
  for (int const threads : {1, 3})
    EXPECT_EQ(assemble(4, 4, all, combine::sum, cpu{.threads = threads}),
              assemble<double>(4, 4, elements));
  int const row[] = {3}, columns[] = {0, 1};
  double const values[] = {5, 6};
  all.add(row, columns, values);
  csr<double> const a = assemble(4, 4, all);
  EXPECT_EQ(a.val[11], 5); // (3, 0)
  EXPECT_EQ(assemble(4, 4, element_list<float>()).val.size(), 0u);
  EXPECT_TRUE(fails_with(errc::shape_mismatch, {"element 3", "1 values", "2 x 2"},
                         [&] { all.add(columns, std::vector<double>{1}); }));
  EXPECT_EQ(all.size(), 3u);
}

TEST(assemble, names_the_element_of_a_bad_index) {
  std::vector<int> const good{0, 1}, bad{1, 4}, negative{-1, 0};
  std::vector<double> const four{1, 2, 3, 4};
  std::vector<element<double, int>> elements(1000, {good, good, four});
  elements[700] = {good, negative, four};
  elements[800] = {bad, good, four};
  for (int const threads : {1, 4})
    EXPECT_TRUE(fails_with(errc::bad_structure, {"element 700", "cols[0] is -1", "[0, 4)"}, [&] {
      assemble<double>(4, 4, elements, combine::sum, cpu{.threads = threads});
    }));
  elements[700] = elements[0];
  EXPECT_TRUE(fails_with(errc::bad_structure, {"element 800", "rows[1] is 4", "[0, 4)"},
                         [&] { assemble<double>(4, 4, elements); }));
}

TEST(assemble, refuses_elements_of_the_wrong_size) {
  std::vector<int> const nodes{0, 1};
  std::vector<double> const three{1, 2, 3};
  std::vector<element<double, int>> const elements{{nodes, nodes, three}};
  EXPECT_TRUE(fails_with(errc::shape_mismatch, {"element 0", "3 values", "2 x 2"},
                         [&] { assemble<double>(4, 4, elements); }));
}

} // namespace
} // namespace tulle::test::assemble_test

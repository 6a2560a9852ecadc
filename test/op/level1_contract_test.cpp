// SPDX-License-Identifier: Apache-2.0

// What operations on sparse vectors refuse, that a refusal changes nothing, and batches of rows.
#include "tulle/op/level1.hpp"

#include "op/vectors.hpp"
#include "support/memory.hpp"
#include "support/zoo.hpp"

#include <functional>

namespace tulle::test::level1_contract_test {
namespace {

using doubles = std::vector<double>;
using words = std::vector<std::string>;
using X = sparse_vector<double>;
using operation = std::function<void(where const&, X&, vector_view<double>)>;

// Every operation of a sparse x and a dense y, and whether it writes to either.
struct named {
  char const* name;
  operation run;
  bool writes;
};
std::vector<named> const& operations() {
  using w = where const&;
  using y = vector_view<double>;
  static std::vector<named> const all{
      {"dot", [](w p, X& x, y v) { dot(p, x, vector_view<double const>(v)); }, false},
      {"axpy", [](w p, X& x, y v) { axpy(p, 2.0, x, v); }, true},
      {"gather", [](w p, X& x, y v) { gather(p, vector_view<double const>(v), x); }, true},
      {"gather_zero", [](w p, X& x, y v) { gather_zero(p, v, x); }, true},
      {"scatter", [](w p, X& x, y v) { scatter(p, x, v); }, true},
      {"rotate", [](w p, X& x, y v) { rotate(p, x, v, .6, .8); }, true},
      {"add", [](w p, X& x, y v) { add(p, 2.0, x, 3.0, v); }, true},
  };
  return all;
}

template <class F>
void expect_refused(errc code, words const& w, X const& x, doubles const& y, F&& f) {
  X const before_x = x;
  doubles const before_y = y;
  EXPECT_TRUE(fails_with(code, w, f));
  EXPECT_EQ(x, before_x);
  EXPECT_EQ(y, before_y);
}

TEST(level1_refuses, a_dense_vector_of_another_size) {
  for (auto const& op : operations())
    for (where const& w : {where(cpu{}), where(reference{})})
      for (std::size_t const n : {0, 5, 7}) {
        X x(6, {0, 4}, {1, 2});
        doubles y(n, 3);
        expect_refused(errc::shape_mismatch, {op.name, "size 6", std::to_string(n) + " entries"}, x,
                       y, [&] { op.run(w, x, y); });
      }
  X const x(6, {0}, {1}), y(7, {0}, {1});
  EXPECT_TRUE(fails_with(errc::shape_mismatch, {"dot", "size 6", "size 7"}, [&] { dot(x, y); }));
}

TEST(level1_refuses, null_with_a_size) {
  for (auto const& op : operations()) {
    X x(6, {0, 4}, {1, 2});
    expect_refused(errc::bad_structure, {op.name, "y is null", "6"}, x, {}, [&] {
      op.run({}, x, {nullptr, 6});
    });
    X no_values(unchecked, 6, {0, 4}, {});
    doubles y(6, 3);
    expect_refused(errc::bad_structure, {op.name, "val", "2 entries"}, no_values, y,
                   [&] { op.run({}, no_values, y); });
  }
  X const no_values(unchecked, 6, {0, 4}, {});
  EXPECT_TRUE(fails_with(errc::bad_structure, {"norm2", "val"}, [&] { norm2(no_values); }));
  EXPECT_TRUE(fails_with(errc::bad_structure, {"add", "y"},
                         [&] { add(1.0, X(6, {}, {}), 1.0, no_values); }));
}

TEST(level1_refuses, y_in_the_arrays_of_x) {
  for (auto const& op : operations()) {
    X x(6, {0, 1, 2, 3, 4, 5}, {1, 2, 3, 4, 5, 6});
    X const before = x;
    vector_view<double> const inside(x.val.data(), 6);
    if (!op.writes) {
      EXPECT_EQ(dot(x, vector_view<double const>(inside)), 91) << "reading twice is no harm";
      continue;
    }
    for (where const& w : {where(cpu{}), where(reference{})})
      EXPECT_TRUE(
          fails_with(errc::bad_structure, {op.name, "overlap"}, [&] { op.run(w, x, inside); }));
    EXPECT_EQ(x, before) << op.name;
  }
}

TEST(level1_refuses, values_that_lie_in_their_indices) {
  std::vector<std::int64_t> room{0, 1, 2, 3};
  auto* const val = reinterpret_cast<double*>(room.data());
  mutable_sparse_vector_view<double, std::int64_t> const x(unchecked, 4, 4, room.data(), val);
  doubles const y(4, 1);
  EXPECT_TRUE(
      fails_with(errc::bad_structure, {"gather", "values", "indices"}, [&] { gather(y, x); }));
  EXPECT_EQ(room, (std::vector<std::int64_t>{0, 1, 2, 3}));
}

TEST(level1_refuses, a_backend_that_is_not_there) {
  for (backend const b : {backend::cuda, backend::opencl}) {
    where w;
    w.backend = b;
    X x(6, {0, 4}, {1, 2});
    doubles y(6, 3);
    for (auto const& op : operations())
      expect_refused(errc::unsupported, {op.name, name(b)}, x, y, [&] { op.run(w, x, y); });
    EXPECT_TRUE(fails_with(errc::unsupported, {"norm1", name(b)}, [&] { norm1(w, x); }));
    EXPECT_TRUE(fails_with(errc::unsupported, {"add", name(b)}, [&] { add(w, 1.0, x, 1.0, x); }));
  }
}

TEST(level1, allocates_nothing_beside_a_sum_of_sparse_vectors) {
  if (!counts_global_allocations())
    GTEST_SKIP();
  auto x = sparse_of<double, std::int32_t>(100000, 3, 1);
  doubles y(static_cast<std::size_t>(x.size), 1);
  cpu const w{.threads = 2};
  for (auto const& op : operations())
    op.run(w, x, y); // threads are started
  std::size_t const before = global_allocations();
  for (auto const& op : operations())
    op.run(w, x, y);
  dot(w, x, x);
  norm2(w, x);
  EXPECT_EQ(global_allocations(), before);
}

template <class T>
struct rows_of : testing::Test {};
TYPED_TEST_SUITE(rows_of, vector_types);

template <class V, class I>
sparse_vector_view<V, I> row(csr<V, I, I> const& a, I i) {
  I const first = a.row_ptr[static_cast<std::size_t>(i)];
  return {unchecked, a.cols, a.row_ptr[static_cast<std::size_t>(i) + 1] - first,
          a.col.data() + first, a.val.data() + first};
}

// 300 rows, lengths from none to 5000, of which some pairs are merged and some searched.
template <class V, class I>
csr<V, I, I> batch(std::uint64_t seed) {
  draws d(seed);
  I const rows = 300;
  array<I> ptr(static_cast<std::size_t>(rows) + 1);
  std::vector<I> col;
  ptr[0] = 0;
  for (I i = 0; i < rows; ++i) {
    std::size_t const length = d.next() % 5 == 0 ? 0 : d.next() % (d.next() % 20 == 0 ? 5000 : 40);
    std::size_t const gap = 20000 / (length + 1);
    auto const x = sparse_of<V, I>(length, gap, d.next());
    for (I const j : x.index)
      if (j < 20000)
        col.push_back(j);
    ptr[static_cast<std::size_t>(i) + 1] = static_cast<I>(col.size());
  }
  auto const val = dense_of<V>(col.size(), seed + 1);
  return {rows, 20000, std::move(ptr), array<I>(col.data(), col.size()),
          array<V>(val.data(), val.size())};
}

TYPED_TEST(rows_of, dots_are_those_of_the_vectors) {
  using V = typename TypeParam::V;
  using I = typename TypeParam::I;
  auto const a = batch<V, I>(1), b = batch<V, I>(2);
  for (bool const conjugate : {false, true}) {
    dot_options const options{.conjugate = conjugate};
    for (where const& w : {where(reference{}), where(cpu{.threads = 1}), where(cpu{.threads = 2}),
                           where(cpu{.threads = 7})}) {
      std::vector<V> out(300, V(9)), expected(300);
      for (I i = 0; i < 300; ++i)
        expected[static_cast<std::size_t>(i)] = dot(w, row(a, i), row(b, i), options);
      dot(w, a, b, out, options);
      EXPECT_TRUE(same_bits(out, expected)) << name(w.backend) << ", " << w.threads;
    }
  }
}

TYPED_TEST(rows_of, gather_takes_the_values_of_one_dense_vector) {
  using V = typename TypeParam::V;
  using I = typename TypeParam::I;
  auto const a = batch<V, I>(3);
  auto const y = dense_of<V>(20000, 4);
  for (where const& w : {where(reference{}), where(cpu{.threads = 1}), where(cpu{.threads = 7})}) {
    auto b = a;
    gather(w, y, b);
    EXPECT_EQ(b.row_ptr, a.row_ptr);
    EXPECT_EQ(b.col, a.col);
    for (std::size_t k = 0; k < b.val.size(); ++k)
      ASSERT_EQ(b.val[k], y[static_cast<std::size_t>(b.col[k])]);
  }
}

TEST(rows, of_every_animal_with_itself) {
  for (auto const& a : zoo()) {
    if (!a.twin.empty())
      continue;
    doubles out(static_cast<std::size_t>(a.matrix.rows), 7);
    dot(cpu{.threads = 3}, a.matrix, a.matrix, out);
    for (std::int32_t i = 0; i < a.matrix.rows; ++i) {
      double sum = 0;
      for (std::int32_t k = a.matrix.row_ptr[static_cast<std::size_t>(i)];
           k < a.matrix.row_ptr[static_cast<std::size_t>(i) + 1]; ++k)
        sum +=
            a.matrix.val[static_cast<std::size_t>(k)] * a.matrix.val[static_cast<std::size_t>(k)];
      ASSERT_EQ(out[static_cast<std::size_t>(i)], sum) << a.name << ", row " << i;
    }
  }
}

TEST(rows, refuses_what_does_not_fit) {
  csr<double> const a(2, 3, {0, 2, 3}, {0, 2, 1}, {1, 2, 3});
  csr<double> const wider(2, 4, {0, 2, 3}, {0, 2, 1}, {1, 2, 3});
  csr<double> const twice(2, 3, {0, 1, 3}, {0, 1, 1}, {1, 2, 3});
  doubles out(2, 7), three(3, 7);
  for (where const& w : {where(cpu{}), where(reference{})}) {
    EXPECT_TRUE(fails_with(errc::shape_mismatch, {"dot", "2 x 3", "2 x 4"},
                           [&] { dot(w, a, wider, out); }));
    EXPECT_TRUE(fails_with(errc::shape_mismatch, {"dot", "3 entries", "2 rows"},
                           [&] { dot(w, a, a, three); }));
    EXPECT_TRUE(fails_with(errc::bad_structure, {"dot", "row 1 of B", "column 1 after 1"},
                           [&] { dot(w, a, twice, out); }));
    EXPECT_TRUE(fails_with(errc::bad_structure, {"dot", "row 1 of A", "column 1 after 1"},
                           [&] { dot(w, twice, a, out); }));
    EXPECT_TRUE(fails_with(errc::bad_structure, {"dot", "out is null", "2"},
                           [&] { dot(w, a, a, vector_view<double>(nullptr, 2)); }));
    auto b = a;
    EXPECT_TRUE(fails_with(errc::bad_structure, {"dot", "overlap"},
                           [&] { dot(w, a, b, vector_view<double>(b.val.data(), 2)); }));
    EXPECT_TRUE(fails_with(errc::shape_mismatch, {"gather", "2 entries", "3 columns"},
                           [&] { gather(w, out, b); }));
    EXPECT_TRUE(fails_with(errc::bad_structure, {"gather", "overlap"},
                           [&] { gather(w, vector_view<double const>(b.val.data(), 3), b); }));
    EXPECT_EQ(b, a);
  }
  EXPECT_EQ(out, doubles(2, 7));
}

} // namespace
} // namespace tulle::test::level1_contract_test

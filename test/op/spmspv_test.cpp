// SPDX-License-Identifier: Apache-2.0

// y = A x for a sparse x, by rows and by columns, against dense loops; over semirings against spmv.
#include "tulle/format/coo.hpp"
#include "tulle/op/spmspv.hpp"
#include "tulle/op/transpose.hpp"

#include "op/arranged.hpp"
#include "op/sized.hpp"
#include "op/vectors.hpp"
#include "support/expect.hpp"
#include "support/memory.hpp"

#include <gtest/gtest.h>
#include <limits>

namespace tulle::test::spmspv_test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// Unsorted, with (0, 0) twice.
csr<double> small() {
  return {3, 4, {0, 3, 4, 5}, {2, 0, 0, 1, 3}, {1, 2, 3, 4, -1}};
}
sparse_vector<double> small_x() {
  return {4, {0, 2, 3}, {10, 5, 0}};
}

TEST(spmspv, is_as_on_paper) {
  sparse_vector<double> const expected(3, {0, 2}, {55, 0}); // the zero is an entry
  for (where const& w : {where(reference{}), where(cpu{})}) {
    EXPECT_EQ(spmspv(w, small(), small_x()), expected);
    EXPECT_EQ(spmspv(w, csc<double>::from_csr(borrowed(small())), small_x()), expected);
  }
}

/// Every `gap`-th place, with small integers.
template <class V, class I>
sparse_vector<V, I> sparse_x(I size, std::size_t gap, unsigned seed) {
  std::vector<I> index;
  for (std::size_t j = seed % gap; j < static_cast<std::size_t>(size); j += gap)
    index.push_back(static_cast<I>(j));
  std::vector<V> const val = integers_of<V>(index.size(), seed);
  return {size, array<I>(index.data(), index.size()), array<V>(val.data(), val.size())};
}

/// y by a dense loop, of integers: exact.
template <class V, class I, class O>
sparse_vector<V, I> expected_product(csr<V, I, O> const& a, sparse_vector<V, I> const& x) {
  array<V> const dense_x = x.to_dense();
  std::vector<char> in(static_cast<std::size_t>(x.size), 0);
  for (I const j : x.index)
    in[static_cast<std::size_t>(j)] = 1;
  std::vector<I> index;
  std::vector<V> val;
  for (I i = 0; i < a.rows; ++i) {
    V sum(0);
    bool any = false;
    for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
      if (in[static_cast<std::size_t>(a.col[k])]) {
        sum += a.val[k] * dense_x[a.col[k]];
        any = true;
      }
    if (any) {
      index.push_back(i);
      val.push_back(sum);
    }
  }
  return {a.rows, array<I>(index.data(), index.size()), array<V>(val.data(), val.size())};
}

class sparse_products : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(op, sparse_products, testing::Range<std::size_t>(0, type_count),
                         [](auto const& info) { return name(static_cast<type_tag>(info.param)); });

TEST_P(sparse_products, of_all_sizes_by_rows_and_by_columns) {
  each_sized([&](csr<double> const& m, std::string const& what) {
    with_type(m, static_cast<type_tag>(GetParam()),
              [&]<class V, class I, class O>(csr<V, I, O> const& a) {
                auto const by_columns = csc<V, I, O>::from_csr(a.view());
                csr<V, I, O> const turned = transpose(a); // duplicates stay
                auto const turned_columns = csc<V, I, O>::from_csr(turned.view());
                for (std::size_t const gap : {1u, 2u, 9u, 1000u})
                  for (int const threads : {1, 2, 7}) {
                    cpu const w{.threads = threads};
                    sparse_vector<V, I> const x = sparse_x<V, I>(a.cols, gap, 3);
                    sparse_vector<V, I> const expected = expected_product(a, x);
                    EXPECT_EQ(spmspv(w, a, x), expected) << what;
                    EXPECT_EQ(spmspv(w, by_columns, x), expected) << what;
                    EXPECT_EQ(spmspv(w, transposed(turned), x), expected) << what;
                    EXPECT_EQ(spmspv(w, transposed(turned_columns), x), expected) << what;
                  }
              });
  });
}

TEST(spmspv, has_the_same_bits_for_every_number_of_threads_and_every_way) {
  csr<double> const a = rough(elephant());
  auto const c = csc<double>::from_csr(a.view());
  draws d(5);
  for (std::size_t const gap : {1u, 30u, 1000u}) {
    sparse_vector<double> x = sparse_x<double, std::int32_t>(a.cols, gap, 7);
    for (double& v : x.val)
      v = d.number(false);
    sparse_vector<double> const expected = spmspv(cpu{.threads = 1}, a, x);
    for (int const threads : {1, 2, 5, 64}) {
      sparse_vector<double> const rows = spmspv(cpu{.threads = threads}, a, x);
      sparse_vector<double> const columns = spmspv(cpu{.threads = threads}, c, x);
      EXPECT_EQ(rows.index, expected.index);
      EXPECT_TRUE(same_bits(rows.val, expected.val));
      EXPECT_EQ(columns.index, expected.index);
      EXPECT_TRUE(same_bits(columns.val, expected.val));
    }
  }
}

// The result is spmv's where x is filled up with the semiring's zero.
template <class S>
void expect_as_spmv(S const& s) {
  csr<double> const a = sized(257, 190);
  auto const c = csc<double>::from_csr(a.view());
  sparse_vector<double> const x = sparse_x<double, std::int32_t>(190, 5, 2);
  std::vector<double> dense_x(190, s.zero(0.0)), y(257, nan), seen(257);
  for (std::size_t k = 0; k < x.val.size(); ++k)
    dense_x[static_cast<std::size_t>(x.index[k])] = x.val[k];
  for (std::size_t i = 0; i < seen.size(); ++i)
    seen[i] = i % 3 == 0;
  spmv(s, a, dense_x, y);
  for (bool const masked : {false, true})
    for (bool const complement : {false, true})
      for (int const threads : {1, 7}) {
        cpu const w{.threads = threads};
        auto const m = mask(seen, {.complement = complement});
        for (auto const& got : {masked ? spmspv(w, m, s, a, x) : spmspv(w, s, a, x),
                                masked ? spmspv(w, m, s, c, x) : spmspv(w, s, c, x)}) {
          got.validate();
          std::vector<double> full(y.size(), s.zero(0.0));
          for (std::size_t k = 0; k < got.val.size(); ++k)
            full[static_cast<std::size_t>(got.index[k])] = got.val[k];
          for (std::size_t i = 0; i < y.size(); ++i)
            EXPECT_EQ(full[i], masked && (seen[i] != 0) == complement ? s.zero(0.0) : y[i]);
        }
      }
}

TEST(spmspv, over_semirings_and_masks_is_as_spmv) {
  expect_as_spmv(plus_times());
  expect_as_spmv(min_plus());
  expect_as_spmv(or_and());
}

TEST(spmspv, does_not_meet_values_outside_of_x) {
  csr<double> a = sized(33, 20);
  for (std::size_t k = 0; k < a.val.size(); ++k)
    a.val[k] = a.col[k] % 4 == 0 ? 2 : nan;
  sparse_vector<double> const x = sparse_x<double, std::int32_t>(20, 4, 4);
  for (double const v : spmspv(a, x).val)
    EXPECT_EQ(v, v);
  for (double const v : spmspv(csc<double>::from_csr(a.view()), x).val)
    EXPECT_EQ(v, v);
}

TEST(spmspv, takes_other_formats) {
  csr<double> const a = small().to_csr();
  EXPECT_EQ(spmspv(coo<double>::from_csr(a.view()), small_x()), spmspv(a, small_x()));
  EXPECT_EQ(spmspv(a.view(), small_x().view()), spmspv(a, small_x()));
}

TEST(spmspv, refuses_what_does_not_fit) {
  csr<double> a = small();
  auto const c = csc<double>::from_csr(a.view());
  sparse_vector<double> const longer(5, {4}, {1});
  std::vector<double> const seen(2, 1);
  for (where const& w : {where(cpu{}), where(reference{})}) {
    EXPECT_TRUE(fails_with(errc::shape_mismatch, {"spmspv", "x has size 5", "A has 4 columns"},
                           [&] { spmspv(w, a, longer); }));
    EXPECT_TRUE(fails_with(errc::shape_mismatch, {"spmspv", "x has size 5", "A has 4 columns"},
                           [&] { spmspv(w, c, longer); }));
    EXPECT_TRUE(fails_with(errc::shape_mismatch, {"spmspv", "x has size 4", "A has 3 columns"},
                           [&] { spmspv(w, transposed(a), small_x()); }));
    EXPECT_TRUE(fails_with(errc::shape_mismatch, {"spmspv", "mask has 2", "A has 3 rows"},
                           [&] { spmspv(w, mask(seen), plus_times(), a, small_x()); }));
    EXPECT_TRUE(fails_with(errc::bad_structure, {"spmspv", "index", "x is null", "2"}, [&] {
      spmspv(w, a, sparse_vector_view<double>(unchecked, 4, 2, nullptr, nullptr));
    }));
  }
  EXPECT_TRUE(fails_with(errc::out_of_memory, {"spmspv", "bytes of workspace", "7"},
                         [&] { spmspv(cpu{.workspace_limit = 7}, c, small_x()); }));
  where w;
  w.backend = backend::cuda;
  EXPECT_TRUE(fails_with(errc::unsupported, {"spmspv", "cuda"}, [&] { spmspv(w, a, small_x()); }));
  csr<double> const gone = std::move(a);
  EXPECT_TRUE(fails_with(errc::bad_structure, {"spmspv", "row_ptr", "moved"},
                         [&] { spmspv(a, small_x()); })); // NOLINT(bugprone-use-after-move)
}

TEST(spmspv, leaves_nothing_behind_where_memory_ends) {
  csr<double> const a = small();
  csr<double> const turned = transpose(duplicated(a));
  for (std::size_t k = 1;; ++k) {
    failing_memory memory(k);
    try {
      cpu const w{.threads = 1, .memory = &memory};
      {
        spmspv(w, a, small_x());
        spmspv(w, transposed(turned), small_x());
      }
      EXPECT_GT(k, 8u);
      break;
    } catch (error const& e) {
      EXPECT_EQ(e.code(), errc::out_of_memory);
    }
    EXPECT_EQ(memory.outstanding(), 0u);
  }
}

// Dense matrices
// -----------------------------------------------------------------------------------

template <class T>
class spmspv_dense : public testing::Test {};
TYPED_TEST_SUITE(spmspv_dense, vector_types);

TYPED_TEST(spmspv_dense, is_right_for_every_layout_and_all_factors) {
  using V = typename TypeParam::V;
  using I = typename TypeParam::I;
  for (std::int32_t const m : {0, 1, 2, 33, 65, 513, 1031})
    for (std::int32_t const n : {0, 1, 37}) {
      auto const rows = static_cast<std::size_t>(m), cols = static_cast<std::size_t>(n);
      std::vector<V> const from = integers_of<V>(rows * cols, 4);
      sparse_vector<V, I> const x = sparse_x<V, I>(static_cast<I>(n), 3, 2);
      std::vector<V> product(rows, V(0));
      for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t e = 0; e < x.val.size(); ++e)
          product[i] += from[i * cols + static_cast<std::size_t>(x.index[e])] * x.val[e];
      for (arrangement const how : every_arrangement) {
        places const at = arranged(how, rows, cols);
        std::vector<V> b(at.size(), make<V>(nan));
        for (I const j : x.index) // nothing else is read
          for (std::size_t i = 0; i < rows; ++i)
            b[at.at(i, static_cast<std::size_t>(j))] = from[i * cols + static_cast<std::size_t>(j)];
        dense_view<V const> const view = at.view(b.data());
        for (double const s : {0.0, 1.0, -1.0, 3.0})
          for (double const t : {0.0, 1.0, -1.0, 0.5})
            for (where const& w :
                 {where(reference{}), where(cpu{.threads = 1}), where(cpu{.threads = 7})}) {
              std::vector<V> y(rows, t == 0 ? make<V>(nan) : make<V>(2));
              spmv(w, make<V>(s), view, x, make<V>(t), y);
              for (std::size_t i = 0; i < rows; ++i)
                ASSERT_EQ(y[i], make<V>(s) * product[i] + make<V>(2 * t)) << name(how) << i;
            }
      }
    }
}

TEST(spmspv_of_dense, refuses_what_does_not_fit) {
  std::vector<double> const b(12, 1);
  std::vector<double> y(3, 5);
  sparse_vector<double> const x = small_x();
  for (where const& w : {where(cpu{}), where(reference{})}) {
    expect_refused(errc::shape_mismatch, {"spmv", "x has size 4", "B has 3 columns"}, y,
                   [&] { spmv(w, 1.0, row_major(b.data(), 3, 3), x, 0.0, y); });
    expect_refused(errc::shape_mismatch, {"spmv", "y has 3", "B has 2 rows"}, y,
                   [&] { spmv(w, 1.0, row_major(b.data(), 2, 4), x, 0.0, y); });
    expect_refused(errc::bad_structure, {"spmv", "B is null", "3 x 4"}, y, [&] {
      spmv(w, 1.0, row_major(static_cast<double const*>(nullptr), 3, 4), x, 0.0, y);
    });
    expect_refused(errc::bad_structure, {"spmv", "y overlaps B"}, y, [&] {
      spmv(w, 1.0, dense_view<double const>{y.data(), 3, 4, 1, 0}, x, 0.0, y);
    });
  }
  where w;
  w.backend = backend::cuda;
  EXPECT_TRUE(fails_with(errc::unsupported, {"spmv", "cuda"},
                         [&] { spmv(w, 1.0, row_major(b.data(), 3, 4), x, 0.0, y); }));
}

} // namespace
} // namespace tulle::test::spmspv_test

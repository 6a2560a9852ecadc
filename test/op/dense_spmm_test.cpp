// SPDX-License-Identifier: Apache-2.0

// Dense times sparse and sparse times sparse into a dense matrix, against dense loops.
#include "tulle/format/csc.hpp"
#include "tulle/op/dense_spmm.hpp"

#include "op/arranged.hpp"
#include "op/sized.hpp"
#include "support/expect.hpp"
#include "support/memory.hpp"

#include <gtest/gtest.h>
#include <limits>

namespace tulle::test::dense_spmm_test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double factors[] = {0, 1, -1, 3};

template <class V>
V as(double v) {
  return static_cast<V>(static_cast<real_t<V>>(v));
}

class dense_spmms : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(op, dense_spmms, testing::Range<std::size_t>(0, type_count),
                         [](auto const& info) { return name(static_cast<type_tag>(info.param)); });

/// run(w, alpha, beta, c) computes alpha `product` + beta C, for all factors and arrangements of C.
template <class V, class Run>
void expect_product(std::size_t rows, std::size_t cols, std::vector<V> const& product,
                    Run const& run, std::string const& what) {
  for (arrangement const how : {arrangement::rows_apart, arrangement::columns}) {
    places const at = arranged(how, rows, cols);
    for (where const& w : {where(reference{}), where(cpu{.threads = 1}), where(cpu{.threads = 7})})
      for (double const s : factors)
        for (double const t : factors) {
          std::vector<V> c(at.size(), as<V>(t == 0 ? nan : 2));
          run(w, as<V>(s), as<V>(t), at.view(c.data()));
          for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t j = 0; j < cols; ++j)
              ASSERT_EQ(c[at.at(i, j)], as<V>(s) * product[i * cols + j] + as<V>(2 * t))
                  << what << ", " << name(how) << " " << i << " " << j;
        }
  }
}

TEST_P(dense_spmms, matrices_of_all_sizes) {
  std::size_t number = 0;
  each_sized([&](csr<double> const& m, std::string const& what) {
    if (m.rows > 70)
      return;
    with_type(m, static_cast<type_tag>(GetParam()),
              [&]<class V, class I, class O>(csr<V, I, O> const& a) {
                auto const rows = static_cast<std::size_t>(a.rows),
                           cols = static_cast<std::size_t>(a.cols);
                std::size_t const height = ++number % 9;
                places const at = arranged(every_arrangement[number % 5], height, rows);
                std::vector<V> const from = integers_of<V>(at.size() + 1, 4),
                                     dense_a = dense_form(a);
                dense_view<V const> const b = at.view(from.data());
                std::vector<V> product(height * cols, V(0));
                for (std::size_t i = 0; i < height; ++i)
                  for (std::size_t k = 0; k < rows; ++k)
                    for (std::size_t j = 0; j < cols; ++j)
                      product[i * cols + j] += b(i, k) * dense_a[k * cols + j];
                expect_product<V>(
                    height, cols, product,
                    [&](where const& w, V alpha, V beta, dense_view<V> c) {
                      spmm(w, alpha, b, a, beta, c);
                    },
                    what + ", dense times sparse");
                any_matrix const other =
                    as_type(unsorted(sized(a.cols, 23, 3)), static_cast<type_tag>(GetParam()));
                auto const& right = *other.get_if<csr<V, I, O>>();
                std::vector<V> const dense_b = dense_form(right);
                product.assign(rows * 23, V(0));
                for (std::size_t i = 0; i < rows; ++i)
                  for (std::size_t k = 0; k < cols; ++k)
                    for (std::size_t j = 0; j < 23; ++j)
                      product[i * 23 + j] += dense_a[i * cols + k] * dense_b[k * 23 + j];
                expect_product<V>(
                    rows, 23, product,
                    [&](where const& w, V alpha, V beta, dense_view<V> c) {
                      spmm(w, alpha, a, right, beta, c);
                    },
                    what + ", sparse times sparse");
              });
  });
}

TEST(dense_spmm, has_the_same_bits_for_every_number_of_threads) {
  csr<double> const a = rough(sized(389, 257));
  auto const x = roughs(40 * 389, 1);
  std::vector<double> first, second;
  for (int const threads : {1, 2, 5, 64}) {
    std::vector<double> c(40 * 257, nan), d(389 * 389, nan);
    spmm(cpu{.threads = threads}, 0.7, row_major(x.data(), 40, 389), a, 0.0,
         row_major(c.data(), 40, 257));
    spmm(cpu{.threads = threads}, 0.7, a, transpose(a), 0.0, row_major(d.data(), 389, 389));
    if (threads == 1) {
      first = c;
      second = d;
    }
    EXPECT_TRUE(same_bits(c, first));
    EXPECT_TRUE(same_bits(d, second));
  }
}

TEST(dense_spmm, takes_every_format) {
  csr<double> const a = sized(5, 7);
  auto const by_columns = csc<double>::from_csr(a.view());
  std::vector<double> const x = integers(15, 1);
  std::vector<double> c(21, nan), d(21, nan);
  spmm(1.0, row_major(x.data(), 3, 5), a, 0.0, row_major(c.data(), 3, 7));
  spmm(1.0, row_major(x.data(), 3, 5), by_columns, 0.0, row_major(d.data(), 3, 7));
  EXPECT_EQ(c, d);
}

TEST(dense_spmm, refuses_what_does_not_fit) {
  csr<double> a(3, 4, {0, 1, 2, 3}, {0, 1, 3}, {1, 2, 3});
  std::vector<double> const b(12, 1);
  std::vector<double> c(16, 5);
  for (where const& w : {where(cpu{}), where(reference{})}) {
    expect_refused(errc::shape_mismatch, {"spmm", "B has 4 columns", "A has 3 rows"}, c, [&] {
      spmm(w, 1.0, row_major(b.data(), 2, 4), a, 0.0, row_major(c.data(), 2, 4));
    });
    expect_refused(errc::shape_mismatch, {"spmm", "C has 3 rows", "B has 2"}, c, [&] {
      spmm(w, 1.0, row_major(b.data(), 2, 3), a, 0.0, row_major(c.data(), 3, 4));
    });
    expect_refused(errc::shape_mismatch, {"spmm", "A has 4 columns", "B has 3 rows"}, c,
                   [&] { spmm(w, 1.0, a, a, 0.0, row_major(c.data(), 3, 4)); });
    expect_refused(errc::bad_structure, {"spmm", "strides 2 and 1"}, c, [&] {
      spmm(w, 1.0, row_major(b.data(), 2, 3), a, 0.0, row_major(c.data(), 2, 4, 2));
    });
    EXPECT_TRUE(fails_with(errc::bad_structure, {"spmm", "C overlaps the arrays of A"}, [&] {
      spmm(w, 1.0, row_major(b.data(), 0, 3), a, 0.0, row_major(a.val.data(), 0, 4));
      spmm(w, 1.0, row_major(b.data(), 1, 3),
           csr_view<double>(unchecked, 3, 1, 3, a.row_ptr.data(), a.col.data(), a.val.data()), 0.0,
           row_major(a.val.data(), 1, 1));
    }));
  }
  EXPECT_TRUE(fails_with(errc::out_of_memory, {"bytes", "7"}, [&] {
    spmm(cpu{.workspace_limit = 7}, 1.0, row_major(b.data(), 2, 3), a, 0.0,
         row_major(c.data(), 2, 4));
  }));
  where w;
  w.backend = backend::cuda;
  EXPECT_TRUE(fails_with(errc::unsupported, {"spmm", "cuda"}, [&] {
    spmm(w, 1.0, row_major(b.data(), 2, 3), a, 0.0, row_major(c.data(), 2, 4));
  }));
  EXPECT_EQ(c, std::vector<double>(16, 5));
}

} // namespace
} // namespace tulle::test::dense_spmm_test

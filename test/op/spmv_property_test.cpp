// SPDX-License-Identifier: Apache-2.0

// Random matrices in any order, with duplicates and empty rows, rows about as long as tiles among
// them.
#include "tulle/format/csc.hpp"
#include "tulle/op/convert.hpp"

#include "support/expect.hpp"
#include "support/layouts.hpp"
#include "support/product.hpp"
#include "support/zoo.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace tulle::test::spmv_property_test {
namespace {

// Lengths are drawn and shrink; columns and values follow from a seed, since drawing each would
// take seconds.
csr<double> draw(bool long_rows) {
  auto const length = long_rows
                          ? rc::gen::oneOf(rc::gen::inRange(0, 12), rc::gen::inRange(0, 12),
                                           rc::gen::inRange(4090, 4100),
                                           rc::gen::inRange(8180, 8200), rc::gen::inRange(0, 40000))
                          : rc::gen::inRange(0, 12);
  auto const lengths = *rc::gen::resize(12, rc::gen::container<std::vector<int>>(length));
  auto const cols = *rc::gen::inRange(1, long_rows ? 30000 : 20);
  auto const seed = *rc::gen::arbitrary<unsigned>();
  std::vector<std::int32_t> row_ptr = {0};
  std::vector<std::int32_t> col;
  std::uint64_t state = seed;
  for (int const n : lengths) {
    for (int k = 0; k < n; ++k) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      col.push_back(static_cast<std::int32_t>((state >> 33) % static_cast<unsigned>(cols)));
    }
    row_ptr.push_back(static_cast<std::int32_t>(col.size()));
  }
  std::vector<double> const val = integers(col.size(), seed);
  return {static_cast<std::int32_t>(lengths.size()),
          cols,
          {row_ptr.data(), row_ptr.size()},
          {col.data(), col.size()},
          {val.data(), val.size()}};
}

std::vector<double> times(any_matrix const& a, bool transposed, std::vector<double> const& x,
                          int threads) {
  std::vector<double> y(transposed ? a.cols() : a.rows(), 7);
  cpu const w{.threads = threads};
  transposed ? spmv(w, 1.0, tulle::transposed(a), x, 0.0, y) : spmv(w, 1.0, a, x, 0.0, y);
  return y;
}

RC_GTEST_PROP(spmv_properties, every_road_gives_the_same_exact_product, (bool long_rows)) {
  any_matrix const a = draw(long_rows);
  int const threads = *rc::gen::inRange(1, 9);
  std::vector<double> x[2], expected[2]; // of a, and of its transpose
  for (bool const t : {false, true}) {
    x[t] = integers(t ? a.rows() : a.cols(), 5);
    product const p = exact_product(a, t, to_dense(a.type(), x[t]));
    for (wide const s : p.sum)
      expected[t].push_back(static_cast<double>(s.real()));
    RC_ASSERT(times(a, t, x[t], threads) == expected[t]); // unsorted, with duplicates
  }
  for_each_layout(a, [&](std::string const&, any_matrix const& m) {
    for (bool const t : {false, true})
      RC_ASSERT(times(m, t, x[t], threads) == expected[t]);
  });
}

RC_GTEST_PROP(spmv_properties, the_transpose_is_the_explicit_one, (bool long_rows)) {
  // The csc of A, read as a csr, is A's transpose.
  csr<double> const a = draw(long_rows);
  auto c = csc<double>::from_csr(a.view());
  csr<double> const explicit_one(c.cols, c.rows, std::move(c.col_ptr), std::move(c.row),
                                 std::move(c.val));
  std::vector<double> const x = integers(static_cast<std::size_t>(a.rows), 6);
  int const threads = *rc::gen::inRange(1, 9);
  RC_ASSERT(times(any_matrix(a), true, x, threads) == times(explicit_one, false, x, threads));
}

RC_GTEST_PROP(spmv_properties, it_is_linear_within_rounding, (bool long_rows)) {
  any_matrix const a = rough(draw(long_rows));
  std::size_t const n = a.cols();
  std::vector<double> const x = roughs(n, 7);
  std::vector<double> const z = roughs(n, 8);
  std::vector<double> sum(n);
  for (std::size_t i = 0; i < n; ++i)
    sum[i] = 3 * x[i] + z[i];
  dense const xd = to_dense(a.type(), x);
  dense const zd = to_dense(a.type(), z);
  dense y = constant(a.type(), a.rows(), 0);
  multiply(cpu{.threads = 3}, 3, a, false, xd, 0, y);
  multiply(cpu{.threads = 2}, 1, a, false, zd, 1, y);
  dense const sd = to_dense(a.type(), sum);
  product p = exact_product(a, false, sd);
  product const px = exact_product(a, false, xd);
  product const pz = exact_product(a, false, zd);
  for (std::size_t i = 0; i < a.rows(); ++i)
    p.magnitude[i] = 3 * px.magnitude[i] + pz.magnitude[i]; // sums may cancel
  RC_ASSERT(static_cast<bool>(is_product(p, 1, 0, y, y, epsilon(a.type()), 8)));
}

RC_GTEST_PROP(spmv_properties, conversions_round_trip, (bool long_rows)) {
  csr<double> const a = rough(draw(long_rows));
  csr<double> const canonical = a.to_csr();
  RC_ASSERT(canonical.view().is_canonical());
  any_matrix const any = a;
  for_each_layout(any, [&](std::string const&, any_matrix const& m) {
    any_matrix const back = convert(m, format::csr);
    RC_ASSERT(static_cast<bool>(same_arrays(back.get_if<csr<double>>()->view(), canonical.view())));
  });
}

} // namespace
} // namespace tulle::test::spmv_property_test

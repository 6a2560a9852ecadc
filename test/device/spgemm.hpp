// SPDX-License-Identifier: Apache-2.0

/// Products of matrices on the device, held against the cpu's.
#pragma once
#include "tulle/gen/generate.hpp"
#include "tulle/op/convert.hpp"
#include "tulle/op/galerkin.hpp"
#include "tulle/op/spgemm_forecast.hpp"
#include "tulle/op/spgemm_semiring.hpp"

#include "device/product.hpp"
#include "support/expect.hpp"
#include "support/zoo.hpp"

#include <string>

namespace tulle::test::device_products {

/// Values that are none, so that what comes out is not what was there.
inline void forget_values(device_matrix const& there, any_matrix const& like) {
  with_csr(like, [&]<class V, class I, class O>(csr<V, I, O> const&) {
    auto const c = there.view<csr_view<V, I, O, space_there>>();
    detail::device_set(const_cast<V*>(c.val), 0xff, there.nnz() * sizeof(V), policy{});
    synchronize(policy{});
  });
}

/// The path of a plan for a b, after what comes out of it is what is wanted, by a map where there
/// is one and without: tiny is automatic but for that.
inline std::string expect_plan(policy const& where, device_matrix const& a, device_matrix const& b,
                               any_matrix const& wanted, std::string const& what) {
  spgemm_plan plan(where, a, b), unmapped(where, a, b, {.method = spgemm_method::tiny});
  EXPECT_EQ(unmapped.path().find(" map "), std::string::npos) << what;
  for (auto* const p : {&plan, &unmapped}) {
    EXPECT_TRUE(same_as(p->result<device_matrix>(), wanted)) << what << " planned";
    forget_values(p->result<device_matrix>(), wanted);
    EXPECT_TRUE(same_as(spgemm(*p, a, b), wanted)) << what << " again";
  }
  return plan.path();
}

/// The same, after the product without a plan was that of the cpu, twice.
inline std::string expect_product(any_matrix const& a, any_matrix const& b, std::string const& what,
                                  policy const& where = {}) {
  any_matrix const wanted = spgemm(cpu{}, a, b);
  device_matrix const there_a = put(a), there_b = put(b);
  for (int k = 0; k < 2; ++k) {
    device_matrix const c = spgemm(where, there_a, there_b);
    EXPECT_TRUE(same_as(c, wanted)) << what;
    EXPECT_EQ(c.bytes(), wanted.bytes()) << what;
  }
  return expect_plan(where, there_a, there_b, wanted, what);
}
/// A A, which looks at A once.
inline std::string expect_square(any_matrix const& a, std::string const& what) {
  any_matrix const wanted = spgemm(cpu{}, a, a);
  device_matrix const there = put(a);
  EXPECT_TRUE(same_as(spgemm(there, there), wanted)) << what;
  return expect_plan({}, there, there, wanted, what);
}

/// Rows of b's for a product with a: of few and many lengths.
inline csr<double> factor_for(csr<double> const& a, std::int32_t cols, unsigned seed) {
  std::vector<std::int32_t> lengths;
  for (std::int32_t i = 0; i < a.cols; ++i) {
    unsigned const r = (static_cast<unsigned>(i) * 2654435761u + seed) >> 16;
    lengths.push_back(std::min(cols, r % 97 == 0   ? 40
                                     : r % 11 == 0 ? 0
                                                   : static_cast<std::int32_t>(r % 9)));
  }
  return rough(from_lengths(cols, lengths, seed), seed);
}

/// A random matrix with values of full precision.
inline csr<double> random(std::string const& text) {
  return rough(generate(text));
}

} // namespace tulle::test::device_products

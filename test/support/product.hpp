// SPDX-License-Identifier: Apache-2.0

/// y = alpha A x + beta y in extended precision, and the operands of a call whose types only run
/// time tells, so that a test sweeps types without compiling for each.
#pragma once
#include "tulle/core/any_matrix.hpp"
#include "tulle/op/spmv.hpp"

#include <complex>
#include <gtest/gtest.h>
#include <string>
#include <variant>
#include <vector>

namespace tulle::test {

using wide = std::complex<long double>;

/// A dense vector of any built value type.
struct dense {
  std::variant<std::vector<float>, std::vector<double>, std::vector<std::complex<float>>,
               std::vector<std::complex<double>>>
      values;
  std::size_t size() const;
};

/// Rounded to the value type of t. A complex type gets the next element as the imaginary part.
dense to_dense(type_tag t, std::vector<double> const& v);
/// n times v, also as the imaginary part.
dense constant(type_tag t, std::size_t n, double v);
std::vector<wide> widen(dense const& v);
void set(dense& v, std::size_t i, double value);
/// v, for complex types with an imaginary part unless it is 0 or 1.
wide scalar(type_tag t, double v);
template <class V>
V round_to(wide w) {
  if constexpr (std::is_floating_point_v<V>)
    return static_cast<V>(w.real());
  else
    return {static_cast<typename V::value_type>(w.real()),
            static_cast<typename V::value_type>(w.imag())};
}
bool same_bits(dense const& a, dense const& b);
double epsilon(type_tag t);

/// One call: with the plan where there is one, else on w. alpha and beta are rounded to A's value
/// type.
void multiply(where const& w, wide alpha, any_matrix const& a, bool transposed, dense const& x,
              wide beta, dense& y, spmv_plan* plan = nullptr);
inline spmv_plan make_plan(where const& w, any_matrix const& a, bool transposed) {
  return transposed ? spmv_plan(w, tulle::transposed(a)) : spmv_plan(w, a);
}

/// A x, and |A| |x|, which is what rounding is measured by.
struct product {
  std::vector<wide> sum;
  std::vector<long double> magnitude;
};
product exact_product(any_matrix const& csr, bool transposed, dense const& x);

/// That got is alpha * p + beta * y, each element within c * epsilon * (|alpha| |A||x| + |beta y|);
/// c == 0: exactly.
testing::AssertionResult is_product(product const& p, wide alpha, wide beta, dense const& y,
                                    dense const& got, double epsilon, double c);

} // namespace tulle::test

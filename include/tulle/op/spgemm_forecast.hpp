// SPDX-License-Identifier: Apache-2.0

/// What C = A B would take, before anything of C's size is allocated.
///
///     auto f = tulle::spgemm_forecast(a, b);
///     if (f.peak_bytes > 8_GiB) ...
///
/// The number of products is exact. The number of entries is counted where A has few rows, and else
/// estimated from rows drawn with a probability proportional to their products: for each, the share
/// of its products that become entries is computed; the mean share times all products is the
/// estimate. It is the same on every run. Costs one pass over A's entries and the sampled rows.
///
/// On a device all rows are counted, as the product itself does it first: all numbers but the
/// seconds are exact, and more entries than offsets count are no error. That takes the product's
/// workspace and one offset per row, and waits for the device.
#pragma once
#include "tulle/op/spgemm.hpp"

namespace tulle {

struct product_forecast {
  std::size_t products = 0;
  double entries = 0;                       ///< of C, estimated
  double entries_low = 0, entries_high = 0; ///< where they lie 95 times of 100
  std::size_t most_entries = 0;             ///< never more: each row's products, or its columns
  std::size_t sampled_rows = 0;
  bool is_exact = false;           ///< all rows were counted
  std::size_t result_bytes = 0;    ///< of C, at entries_high
  std::size_t workspace_bytes = 0; ///< beside operands and C, within the policy's limit
  std::size_t peak_bytes = 0;      ///< both of them
  double seconds = 0;              ///< by the time that products took on one machine: a rough guess
  std::string path;                ///< how rows would be computed
};

namespace detail {
template <class V, class I, class O>
product_forecast spgemm_forecast(where const& w, csr_view<V, I, O> a, csr_view<V, I, O> b,
                                 std::size_t samples, std::size_t taken);
product_forecast spgemm_forecast(device const& where, matrix_ref const& a, matrix_ref const& b);
} // namespace detail

/// Of at most `samples` rows.
template <detail::hub_operand A, detail::hub_operand B>
product_forecast spgemm_forecast(where const& w, A const& a, B const& b,
                                 std::size_t samples = 1000) {
  detail::limited const space("spgemm_forecast", w);
  auto const of_a = detail::built_hub_of(a, space.counted());
  auto const of_b = detail::built_hub_of(b, space.counted());
  return detail::spgemm_forecast(w, of_a.view, of_b.view, samples, space.taken());
}
template <detail::hub_operand A, detail::hub_operand B>
product_forecast spgemm_forecast(A const& a, B const& b, std::size_t samples = 1000) {
  return spgemm_forecast(where{}, a, b, samples);
}
/// On a device.
template <detail::plain_matrix_on_device A, detail::plain_matrix_on_device B>
product_forecast spgemm_forecast(device const& where, A const& a, B const& b) {
  return detail::with_matrix(a, [&](matrix_ref const& of_a) {
    return detail::with_matrix(
        b, [&](matrix_ref const& of_b) { return detail::spgemm_forecast(where, of_a, of_b); });
  });
}
template <detail::plain_matrix_on_device A, detail::plain_matrix_on_device B>
product_forecast spgemm_forecast(A const& a, B const& b) {
  return spgemm_forecast(detail::home(a).as_device(), a, b);
}

} // namespace tulle

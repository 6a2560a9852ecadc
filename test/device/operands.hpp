// SPDX-License-Identifier: Apache-2.0

/// Products on the device whose types only run time tells.
#pragma once
#include "tulle/core/error.hpp"

#include "device/under_test.hpp"
#include "support/product.hpp"

namespace tulle::test {

/// Whether the device multiplies with it: not every format has its transpose.
inline bool has_plan(device_matrix const& a, bool transposed, spmv_options o = {}) {
  try {
    transposed ? spmv_plan(tulle::transposed(a), o) : spmv_plan(a, o);
    return true;
  } catch (error const& e) {
    if (e.code() != errc::unsupported)
      throw;
    return false;
  }
}

/// y = alpha A x + beta y through device memory; y starts `shift` elements into its allocation.
inline void multiply_there(device_matrix const& a, bool transposed, wide alpha, dense const& x,
                           wide beta, dense& y, spmv_options o = {}, std::size_t shift = 0) {
  std::visit(
      [&](auto& out) {
        using vector = std::remove_reference_t<decltype(out)>;
        using V = typename vector::value_type;
        there_array<V> const in(std::get<vector>(x.values));
        vector shifted(shift + out.size());
        std::copy(out.begin(), out.end(), shifted.begin() + static_cast<std::ptrdiff_t>(shift));
        there_array<V> result(shifted);
        vector_view<V, space_there> const there(result.data() + shift, out.size());
        if (transposed)
          spmv(round_to<V>(alpha), tulle::transposed(a), in, round_to<V>(beta), there, o);
        else
          spmv(round_to<V>(alpha), a, in, round_to<V>(beta), there, o);
        result.copy_to(shifted.data());
        std::copy_n(shifted.begin() + static_cast<std::ptrdiff_t>(shift), out.size(), out.begin());
      },
      y.values);
}

} // namespace tulle::test

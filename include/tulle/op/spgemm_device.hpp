// SPDX-License-Identifier: Apache-2.0

/// C = A B of two sparse matrices on a device.
///
///     auto c = tulle::spgemm(da, db);                                     // where A is
///     auto c = tulle::spgemm(tulle::cuda{.stream = s}, da, db);
///     auto plan = tulle::spgemm_plan(da, db);                             // once per two patterns
///     auto const& c = tulle::spgemm(plan, da, db);                        // new values
///     auto c = tulle::spgemm(2.0, da, db, -1.0, dd);                      // 2 A B - D
///
/// What is said of spgemm on the host (op/spgemm.hpp) holds: places, order and bits of C are the
/// same. Operands are csr, or what convert() makes a csr of on a device. There are all
/// methods (esc and hash for up to 4096 products of a row, heap for up to 32 entries of A's; others
/// are tiled, by heap as by automatic), and C is always sorted.
///
/// C is allocated once, as large as it is. Beside it a call takes a byte for each row of A, up to
/// two indices for each of those that are not short, and, where rows have more than 4096 products
/// far apart, 52 MiB at most, or two offsets a row of B if those are more. Under a workspace_limit
/// that is less, such rows go over B in more turns; what does not fit at all is
/// errc::out_of_memory. global_esc, merge and heap_esc_merge take more, and do not go in turns to save it.
#pragma once
#include "tulle/core/device_matrix.hpp"
#include "tulle/op/spgemm_forecast.hpp"

namespace tulle {

/// Waits for the device: the size of C depends on what is there.
device_matrix spgemm(device const& where, device_ref const& a, device_ref const& b,
                     spgemm_options o = {});
inline device_matrix spgemm(device const& where, device_matrix const& a, device_matrix const& b,
                            spgemm_options o = {}) {
  return spgemm(where, a.ref(), b.ref(), o);
}
inline device_matrix spgemm(device_matrix const& a, device_matrix const& b, spgemm_options o = {}) {
  return spgemm(a.where(), a.ref(), b.ref(), o);
}

/// C = alpha A B + beta D, of which the same holds as on the host; the factors are rounded to the
/// type of the values, and complex only where those are. Takes copies of A, B and D, and no product
/// beside C.
device_matrix spgemm(device const& where, std::complex<double> alpha, device_ref const& a,
                     device_ref const& b, std::complex<double> beta, device_ref const& d,
                     spgemm_options o = {});
inline device_matrix spgemm(device const& where, std::complex<double> alpha, device_matrix const& a,
                            device_matrix const& b, std::complex<double> beta,
                            device_matrix const& d, spgemm_options o = {}) {
  return spgemm(where, alpha, a.ref(), b.ref(), beta, d.ref(), o);
}
inline device_matrix spgemm(std::complex<double> alpha, device_matrix const& a,
                            device_matrix const& b, std::complex<double> beta,
                            device_matrix const& d, spgemm_options o = {}) {
  return spgemm(a.where(), alpha, a, b, beta, d, o);
}

/// What C = A B would take there. Rows are counted, as the product itself does it first: all
/// numbers but the seconds are exact, and more entries than offsets count are no error. Takes the
/// product's workspace and an offset a row; waits for the device.
product_forecast spgemm_forecast(device const& where, device_ref const& a, device_ref const& b);
inline product_forecast spgemm_forecast(device_matrix const& a, device_matrix const& b) {
  return spgemm_forecast(a.where(), a.ref(), b.ref());
}

/// What spgemm computes once per two patterns on a device. It keeps its result, whose values each
/// call renews. The kernels rely on the index arrays it was made for: operands with others need a
/// plan of their own. They are csr.
///
/// By method automatic it keeps where each product falls too, in two or four bytes, if that is at
/// most four times C and within the workspace_limit; not where rows share their columns, which is
/// as fast without. To find that takes up to 17 bytes a product, of 2^24 at once, beside it.
template <>
class spgemm_plan<device_matrix, void, void> : public plan {
public:
  spgemm_plan(device_matrix const& a, device_matrix const& b, spgemm_options o = {})
      : spgemm_plan(a.where(), a.ref(), b.ref(), o) {}
  spgemm_plan(device const& where, device_matrix const& a, device_matrix const& b,
              spgemm_options o = {})
      : spgemm_plan(where, a.ref(), b.ref(), o) {}
  spgemm_plan(device const& where, device_ref const& a, device_ref const& b, spgemm_options o = {});
  /// As large as the product, beside bytes().
  device_matrix const& result() const noexcept { return result_; }
  std::size_t bytes() const noexcept;

  /// On the plan's stream; not waited for, unless an operand is not canonical, the method is
  /// global_esc, merge or heap_esc_merge, or rows are scattered and there is no map; these take memory too.
  device_matrix const& run(device_ref const& a, device_ref const& b);

private:
  struct state;
  std::shared_ptr<state> state_;
  device_matrix result_;
};
using device_spgemm_plan = spgemm_plan<device_matrix, void, void>;

spgemm_plan(device_matrix const&, device_matrix const&, spgemm_options = {})
    ->spgemm_plan<device_matrix, void, void>;
spgemm_plan(device const&, device_matrix const&, device_matrix const&, spgemm_options = {})
    ->spgemm_plan<device_matrix, void, void>;
spgemm_plan(device const&, device_ref const&, device_ref const&, spgemm_options = {})
    ->spgemm_plan<device_matrix, void, void>;

/// The plan's own result.
inline device_matrix const& spgemm(device_spgemm_plan& plan, device_ref const& a,
                                   device_ref const& b) {
  return plan.run(a, b);
}
inline device_matrix const& spgemm(device_spgemm_plan& plan, device_matrix const& a,
                                   device_matrix const& b) {
  return plan.run(a.ref(), b.ref());
}

} // namespace tulle

// SPDX-License-Identifier: Apache-2.0

/// R A P on a device; R is P^T where none is given.
///
///     auto coarse = tulle::galerkin(da, dp);            // P^T A P
///     auto coarse = tulle::galerkin(dr, da, dp, {.order = tulle::galerkin_order::ra_first});
///
/// What is said of it on the host (op/galerkin.hpp) holds, and an order has the same bits there.
/// Forecasts are exact on a device, and automatic takes R (A P) where the two are even.
#pragma once
#include "tulle/op/galerkin.hpp"
#include "tulle/op/spgemm_device.hpp"

namespace tulle {

/// Both wait for the device.
device_matrix galerkin(device const& where, device_ref const& r, device_ref const& a,
                       device_ref const& p, galerkin_options o = {});
device_matrix galerkin(device const& where, device_ref const& a, device_ref const& p,
                       galerkin_options o = {});

inline device_matrix galerkin(device const& where, device_matrix const& r, device_matrix const& a,
                              device_matrix const& p, galerkin_options o = {}) {
  return galerkin(where, r.ref(), a.ref(), p.ref(), o);
}
inline device_matrix galerkin(device const& where, device_matrix const& a, device_matrix const& p,
                              galerkin_options o = {}) {
  return galerkin(where, a.ref(), p.ref(), o);
}
/// Where A is.
inline device_matrix galerkin(device_matrix const& r, device_matrix const& a,
                              device_matrix const& p, galerkin_options o = {}) {
  return galerkin(a.where(), r, a, p, o);
}
inline device_matrix galerkin(device_matrix const& a, device_matrix const& p,
                              galerkin_options o = {}) {
  return galerkin(a.where(), a, p, o);
}

} // namespace tulle

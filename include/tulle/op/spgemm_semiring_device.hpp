// SPDX-License-Identifier: Apache-2.0

/// C = A B over a semiring on a device, and of it only what a mask leaves.
///
///     auto d = tulle::spgemm(tulle::min_plus(), da, da);
///     auto t = tulle::spgemm(tulle::mask(dl), tulle::plus_pair(), dl, dl);
///
/// What is said of it on the host (op/spgemm_semiring.hpp) holds: places, order and bits of C are the
/// same. The semirings are those of op/semiring.hpp, for complex values plus_times alone. Operands
/// and mask are of one type.
///
/// Without a mask the usual product comes first, for its places. Beside C a call then takes what
/// that takes; with a mask a value, an offset and a byte for each entry of the mask; with the
/// complement of one, all of A B and as much for each of its entries.
#pragma once
#include "tulle/op/spgemm_device.hpp"
#include "tulle/op/spgemm_semiring.hpp"

namespace tulle {

struct device_mask {
  device_ref base;
  bool complement;
};
inline device_mask mask(device_ref const& m, mask_options o = {}) {
  return {m, o.complement};
}
inline device_mask mask(device_matrix const& m, mask_options o = {}) {
  return {m.ref(), o.complement};
}

namespace detail {
/// Without a mask where that is nullptr.
device_matrix spgemm_semiring(device const& where, device_mask const* mask, semiring_kind s,
                              device_ref const& a, device_ref const& b);
} // namespace detail

/// Both wait for the device.
template <named_semiring S>
device_matrix spgemm(device const& where, S const&, device_matrix const& a, device_matrix const& b) {
  return detail::spgemm_semiring(where, nullptr, S::kind, a.ref(), b.ref());
}
template <named_semiring S>
device_matrix spgemm(S const& s, device_matrix const& a, device_matrix const& b) {
  return spgemm(a.where(), s, a, b);
}
/// The mask has C's shape.
template <named_semiring S>
device_matrix spgemm(device const& where, device_mask const& mask, S const&, device_matrix const& a,
                     device_matrix const& b) {
  return detail::spgemm_semiring(where, &mask, S::kind, a.ref(), b.ref());
}
template <named_semiring S>
device_matrix spgemm(device_mask const& mask, S const& s, device_matrix const& a,
                     device_matrix const& b) {
  return spgemm(a.where(), mask, s, a, b);
}

} // namespace tulle

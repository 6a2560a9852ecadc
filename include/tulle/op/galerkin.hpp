// SPDX-License-Identifier: Apache-2.0

/// R A P, the coarse matrix of a multigrid method; R is P^T where none is given.
///
///     auto coarse = tulle::galerkin(a, p);              // P^T A P
///     auto coarse = tulle::galerkin(r, a, p, {.order = tulle::galerkin_order::ra_first});
///
/// The first product is computed whole, unless that would take more than half of the
/// workspace_limit. Then R's rows are processed in blocks, each with the rows of A and of P from
/// the first to the last that it needs, so that little is computed twice where the numbering is
/// local. The bits are those of the order for every number of blocks. Blocks save memory, not time:
/// on grids 16 of them take 1.0 to 1.2 times as long in (R A) P, and 1.2 to 2.2 in R (A P), where
/// the rows of A that blocks share are more. P^T, copies of operands, the first product, and C's
/// values once more when its blocks are put together count against the limit.
///
/// On a device an order has the same bits as on the host. Forecasts are exact there, and automatic
/// takes R (A P) where the two are even. Calls wait for the device.
#pragma once
#include "tulle/op/spgemm_forecast.hpp"
#include "tulle/op/transpose.hpp"

#include <string>

namespace tulle {

enum class galerkin_order : std::uint8_t {
  automatic, ///< the one with fewer products, as spgemm_forecast sees them; (R A) P where close
  ra_first,  ///< (R A) P
  ap_first,  ///< R (A P)
};
struct galerkin_options {
  galerkin_order order = galerkin_order::automatic;
  std::size_t blocks = 0; ///< of R's rows, on the host; 0: as many as the workspace_limit requires
};

/// How R A P is computed.
struct galerkin_road {
  galerkin_order order = galerkin_order::ra_first;
  std::size_t blocks = 1;

  /// "(R A) P, 4 blocks of rows"
  std::string path() const {
    std::string const text = order == galerkin_order::ra_first ? "(R A) P" : "R (A P)";
    return blocks > 1 ? text + ", " + std::to_string(blocks) + " blocks of rows" : text;
  }
};

namespace detail {
template <class V, class I, class O>
galerkin_road road_of(where const& w, csr_view<V, I, O> const& r, csr_view<V, I, O> const& a,
                      csr_view<V, I, O> const& p, galerkin_options const& o);
template <class V, class I, class O>
csr<V, I, O> galerkin(where const& w, limited const& space, csr_view<V, I, O> const& r,
                      csr_view<V, I, O> const& a, csr_view<V, I, O> const& p,
                      galerkin_options const& o);
device_matrix galerkin(device const& where, matrix_ref const& r, matrix_ref const& a,
                       matrix_ref const& p, galerkin_options const& o);
device_matrix galerkin(device const& where, matrix_ref const& a, matrix_ref const& p,
                       galerkin_options const& o); ///< R is P^T
} // namespace detail

/// What galerkin() will do.
template <detail::hub_operand R, detail::hub_operand A, detail::hub_operand P>
galerkin_road galerkin_road_of(where const& w, R const& r, A const& a, P const& p,
                               galerkin_options o = {}) {
  detail::limited const space("galerkin", w);
  auto const of_r = detail::built_hub_of(r, space.counted());
  auto const of_a = detail::built_hub_of(a, space.counted());
  auto const of_p = detail::built_hub_of(p, space.counted());
  return detail::road_of(space.rest(w), of_r.view, of_a.view, of_p.view, o);
}

/// The two orders have different bits, each the same for every number of threads.
template <detail::hub_operand R, detail::hub_operand A, detail::hub_operand P>
auto galerkin(where const& w, R const& r, A const& a, P const& p, galerkin_options o = {}) {
  detail::limited const space("galerkin", w);
  auto const of_r = detail::built_hub_of(r, space.counted());
  auto const of_a = detail::built_hub_of(a, space.counted());
  auto const of_p = detail::built_hub_of(p, space.counted());
  return detail::galerkin(w, space, of_r.view, of_a.view, of_p.view, o);
}
template <detail::hub_operand R, detail::hub_operand A, detail::hub_operand P>
auto galerkin(R const& r, A const& a, P const& p, galerkin_options o = {}) {
  return galerkin(where{}, r, a, p, o);
}
template <detail::hub_operand A, detail::hub_operand P>
auto galerkin(where const& w, A const& a, P const& p, galerkin_options o = {}) {
  detail::limited const space("galerkin", w);
  auto const of_a = detail::built_hub_of(a, space.counted());
  auto const of_p = detail::built_hub_of(p, space.counted());
  auto const r = transpose(space.rest(where(space.counted())), of_p.view);
  return detail::galerkin(w, space, r.view(), of_a.view, of_p.view, o);
}
template <detail::hub_operand A, detail::hub_operand P>
auto galerkin(A const& a, P const& p, galerkin_options o = {}) {
  return galerkin(where{}, a, p, o);
}

/// On a device.
template <detail::plain_matrix_on_device R, detail::plain_matrix_on_device A,
          detail::plain_matrix_on_device P>
device_matrix galerkin(device const& where, R const& r, A const& a, P const& p,
                       galerkin_options o = {}) {
  return detail::with_matrix(r, [&](matrix_ref const& of_r) {
    return detail::with_matrix(a, [&](matrix_ref const& of_a) {
      return detail::with_matrix(
          p, [&](matrix_ref const& of_p) { return detail::galerkin(where, of_r, of_a, of_p, o); });
    });
  });
}
template <detail::plain_matrix_on_device R, detail::plain_matrix_on_device A,
          detail::plain_matrix_on_device P>
device_matrix galerkin(R const& r, A const& a, P const& p, galerkin_options o = {}) {
  return galerkin(detail::home(a).as_device(), r, a, p, o);
}
template <detail::plain_matrix_on_device A, detail::plain_matrix_on_device P>
device_matrix galerkin(device const& where, A const& a, P const& p, galerkin_options o = {}) {
  return detail::with_matrix(a, [&](matrix_ref const& of_a) {
    return detail::with_matrix(
        p, [&](matrix_ref const& of_p) { return detail::galerkin(where, of_a, of_p, o); });
  });
}
template <detail::plain_matrix_on_device A, detail::plain_matrix_on_device P>
device_matrix galerkin(A const& a, P const& p, galerkin_options o = {}) {
  return galerkin(detail::home(a).as_device(), a, p, o);
}

} // namespace tulle

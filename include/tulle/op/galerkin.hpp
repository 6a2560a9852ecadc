// SPDX-License-Identifier: Apache-2.0

/// R A P, the coarse matrix of a multigrid method; R is P^T where none is given.
///
///     auto coarse = tulle::galerkin(a, p);              // P^T A P
///     auto coarse = tulle::galerkin(r, a, p, {.order = tulle::galerkin_order::ra_first});
#pragma once
#include "tulle/op/spgemm_forecast.hpp"
#include "tulle/op/transpose.hpp"

namespace tulle {

enum class galerkin_order : std::uint8_t {
  automatic, ///< the one with fewer products, as spgemm_forecast sees them
  ra_first,  ///< (R A) P
  ap_first,  ///< R (A P)
};
struct galerkin_options {
  galerkin_order order = galerkin_order::automatic;
};

namespace detail {

/// errc::shape_mismatch where R A P is not one.
template <class R, class A, class P>
void check_galerkin(R const& r, A const& a, P const& p) {
  if (r.cols != a.rows || a.cols != p.rows)
    fail(errc::shape_mismatch, "galerkin: R is %lld x %lld, A %lld x %lld, P %lld x %lld",
         static_cast<long long>(r.rows), static_cast<long long>(r.cols),
         static_cast<long long>(a.rows), static_cast<long long>(a.cols),
         static_cast<long long>(p.rows), static_cast<long long>(p.cols));
}

/// The one with fewer products: of each entry of the first product the second makes as many as P's
/// rows, or R's columns, are long on average.
template <class R, class P>
galerkin_order cheaper_order(product_forecast const& ra, P const& p, product_forecast const& ap,
                             R const& r) {
  auto const mean = [](auto entries, auto lines) {
    return static_cast<double>(entries) / static_cast<double>(lines > 0 ? lines : 1);
  };
  double const ra_first = static_cast<double>(ra.products) + ra.entries * mean(p.nnz, p.rows);
  double const ap_first = static_cast<double>(ap.products) + ap.entries * mean(r.nnz, r.cols);
  return ra_first < ap_first ? galerkin_order::ra_first : galerkin_order::ap_first;
}

} // namespace detail

/// The two orders have different bits, each the same for every number of threads.
template <detail::hub_operand R, detail::hub_operand A, detail::hub_operand P>
auto galerkin(where const& w, R const& r, A const& a, P const& p, galerkin_options o = {}) {
  auto const of_r = detail::hub_of(r, w.as_cpu());
  auto const of_a = detail::hub_of(a, w.as_cpu());
  auto const of_p = detail::hub_of(p, w.as_cpu());
  detail::check_galerkin(of_r.view, of_a.view, of_p.view);
  if (o.order == galerkin_order::automatic)
    o.order = detail::cheaper_order(spgemm_forecast(w, of_r.view, of_a.view, 200), of_p.view,
                                    spgemm_forecast(w, of_a.view, of_p.view, 200), of_r.view);
  if (o.order == galerkin_order::ra_first)
    return spgemm(w, spgemm(w, of_r.view, of_a.view), of_p.view);
  return spgemm(w, of_r.view, spgemm(w, of_a.view, of_p.view));
}
template <detail::hub_operand R, detail::hub_operand A, detail::hub_operand P>
auto galerkin(R const& r, A const& a, P const& p, galerkin_options o = {}) {
  return galerkin(where{}, r, a, p, o);
}
template <detail::hub_operand A, detail::hub_operand P>
auto galerkin(where const& w, A const& a, P const& p, galerkin_options o = {}) {
  return galerkin(w, transpose(w, p), a, p, o);
}
template <detail::hub_operand A, detail::hub_operand P>
auto galerkin(A const& a, P const& p, galerkin_options o = {}) {
  return galerkin(where{}, a, p, o);
}

} // namespace tulle

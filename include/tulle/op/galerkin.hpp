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

/// Products of X Y, and of Z with it if Z's rows, or columns, are as long as they are on average.
template <class V, class I, class O>
double products_of_both(where const& w, csr_view<V, I, O> const& x, csr_view<V, I, O> const& y,
                        double mean_of_z) {
  product_forecast const f = spgemm_forecast(w, x, y, 200);
  return static_cast<double>(f.products) + f.entries * mean_of_z;
}

} // namespace detail

/// The two orders have different bits, each the same for every number of threads.
template <detail::hub_operand R, detail::hub_operand A, detail::hub_operand P>
auto galerkin(where const& w, R const& r, A const& a, P const& p, galerkin_options o = {}) {
  auto const of_r = detail::hub_of(r, w.as_cpu());
  auto const of_a = detail::hub_of(a, w.as_cpu());
  auto const of_p = detail::hub_of(p, w.as_cpu());
  if (of_r.view.cols != of_a.view.rows || of_a.view.cols != of_p.view.rows)
    fail(errc::shape_mismatch, "galerkin: R is %lld x %lld, A %lld x %lld, P %lld x %lld",
         static_cast<long long>(of_r.view.rows), static_cast<long long>(of_r.view.cols),
         static_cast<long long>(of_a.view.rows), static_cast<long long>(of_a.view.cols),
         static_cast<long long>(of_p.view.rows), static_cast<long long>(of_p.view.cols));
  if (o.order == galerkin_order::automatic) {
    auto const mean = [](auto entries, auto lines) {
      return static_cast<double>(entries) / static_cast<double>(lines > 0 ? lines : 1);
    };
    double const ra =
        detail::products_of_both(w, of_r.view, of_a.view, mean(of_p.view.nnz, of_p.view.rows));
    double const ap =
        detail::products_of_both(w, of_a.view, of_p.view, mean(of_r.view.nnz, of_r.view.cols));
    o.order = ra < ap ? galerkin_order::ra_first : galerkin_order::ap_first;
  }
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

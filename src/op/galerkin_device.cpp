// SPDX-License-Identifier: Apache-2.0

// R A P on a device: two products, the one with fewer products first. P^T is P's csc.
#include "tulle/op/galerkin_device.hpp"

#include "tulle/format/csc.hpp"
#include "tulle/op/convert.hpp"

namespace tulle {

device_matrix galerkin(device const& where, device_ref const& r, device_ref const& a,
                       device_ref const& p, galerkin_options o) {
  matrix_ref const &of_r = r.matrix, &of_a = a.matrix, &of_p = p.matrix;
  detail::check_galerkin(of_r, of_a, of_p);
  if (o.order == galerkin_order::automatic)
    o.order = detail::cheaper_order(spgemm_forecast(where, r, a), of_p,
                                    spgemm_forecast(where, a, p), of_r);
  if (o.order == galerkin_order::ra_first) {
    device_matrix const ra = spgemm(where, r, a);
    return spgemm(where, ra.ref(), p);
  }
  device_matrix const ap = spgemm(where, a, p);
  return spgemm(where, r, ap.ref());
}

namespace {

/// P^T of P by columns.
template <space S, class T>
device_matrix with_turned(device const& where, device_matrix const& by_columns, device_ref const& a,
                          device_ref const& p, galerkin_options o, T) {
  using V = typename T::value;
  using I = typename T::index;
  using O = typename T::offset;
  auto const c = by_columns.view<csc_view<V, I, O, S>>();
  csr_view<V, I, O, S> const r(unchecked, c.cols, c.rows, c.nnz, c.col_ptr, c.row, c.val);
  return galerkin(where, device_ref(matrix_ref(r), where), a, p, o);
}

} // namespace

device_matrix galerkin(device const& where, device_ref const& a, device_ref const& p,
                       galerkin_options o) {
  device_matrix const by_columns = convert(p, format::csc, where);
  return visit(p.matrix.type, [&](auto types) {
    return space_of(where) == space::opencl
               ? with_turned<space::opencl>(where, by_columns, a, p, o, types)
               : with_turned<space::cuda>(where, by_columns, a, p, o, types);
  });
}

} // namespace tulle

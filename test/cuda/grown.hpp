// SPDX-License-Identifier: Apache-2.0

/// Matrices that grow on the device, and their products.
#pragma once
#include "tulle/core/device_matrix.hpp"
#include "tulle/dynamic/device_dynamic_csr.hpp"
#include "tulle/op/spmv.hpp"

#include "device/product.hpp"
#include "dynamic/model.hpp"

#include <algorithm>
#include <random>

namespace tulle::test::device_dynamic_test {

using matrix = device_dynamic_csr<double>;

/// y = A x into memory that was full of NaN.
template <class V, class I>
std::vector<V> product(cuda const& where, device_dynamic_csr<V, I> const& a,
                       std::vector<V> const& x) {
  device_array<V> const there(x, where);
  device_array<V> y(static_cast<std::size_t>(a.rows()), where);
  detail::device_set(y.data(), 0xff, y.bytes(), where);
  spmv(where, V(1), a, there, V(0), y);
  return from_there(y);
}
/// The same by csr.
template <class V, class I>
std::vector<V> product(csr_view<V, I, I, space::cuda> const& a, std::vector<V> const& x) {
  device_array<V> const there(x);
  device_array<V> y(static_cast<std::size_t>(a.rows));
  spmv(V(1), device_ref{matrix_ref(a)}, there, V(0), y);
  return from_there(y);
}

/// Entries of a in an order of their own.
inline batch<double, std::int32_t> shuffled(csr<double> const& a) {
  batch<double, std::int32_t> b;
  std::vector<std::pair<std::int32_t, std::size_t>> all;
  for (std::int32_t i = 0; i < a.rows; ++i)
    for (auto k = a.row_ptr[static_cast<std::size_t>(i)];
         k < a.row_ptr[static_cast<std::size_t>(i) + 1]; ++k)
      all.emplace_back(i, static_cast<std::size_t>(k));
  std::shuffle(all.begin(), all.end(), std::mt19937(5));
  for (auto const& [i, k] : all)
    b.add(i, a.col[k], a.val[k]);
  return b;
}

} // namespace tulle::test::device_dynamic_test

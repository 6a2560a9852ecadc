// SPDX-License-Identifier: Apache-2.0

/// The result of a contestant that computes in host memory.
#pragma once
#include "tulle/core/array.hpp"

#include "bench/contestant.hpp"
#include "bench/problem.hpp"

#include <algorithm>
#include <limits>

namespace tulle::bench {

/// Makes y for a contestant, on huge pages as tulle's own, and tells it how to hand y out and how
/// to poison it. The contestant keeps it alive.
template <class V>
V* keep_result(contestant& c, std::size_t size) {
  auto const y = std::make_shared<array<V>>(size, V(0));
  c.result = [y](void* to) { std::copy(y->begin(), y->end(), static_cast<V*>(to)); };
  c.poison = [y] { std::fill(y->begin(), y->end(), std::numeric_limits<V>::quiet_NaN()); };
  return y->data();
}
template <class V, class I>
V* keep_result(contestant& c, spmv_problem<V, I> const& p) {
  return keep_result<V>(c, static_cast<std::size_t>(p.a.rows));
}

} // namespace tulle::bench

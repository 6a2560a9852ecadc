// SPDX-License-Identifier: Apache-2.0

/// What products of matrices may add and multiply by instead of + and *. A semiring is any type
/// with const add(a, b) and multiply(a, b); an entry is the sum of its products from left to right,
/// so no zero is needed.
#pragma once
#include <concepts>

namespace tulle {

template <class S, class V>
concept semiring = requires(S const s, V v) {
  { s.add(v, v) } -> std::convertible_to<V>;
  { s.multiply(v, v) } -> std::convertible_to<V>;
};

/// The usual one.
struct plus_times {
  template <class V>
  V add(V a, V b) const {
    return a + b;
  }
  template <class V>
  V multiply(V a, V b) const {
    return a * b;
  }
};
/// Is there a path: 1 where neither is 0.
struct or_and {
  template <class V>
  V add(V a, V b) const {
    return a != V(0) || b != V(0) ? V(1) : V(0);
  }
  template <class V>
  V multiply(V a, V b) const {
    return a != V(0) && b != V(0) ? V(1) : V(0);
  }
};
/// The shortest path.
struct min_plus {
  template <class V>
  V add(V a, V b) const {
    return b < a ? b : a;
  }
  template <class V>
  V multiply(V a, V b) const {
    return a + b;
  }
};
/// How many paths: every pair of entries counts 1, whatever they are.
struct plus_pair {
  template <class V>
  V add(V a, V b) const {
    return a + b;
  }
  template <class V>
  V multiply(V, V) const {
    return V(1);
  }
};

} // namespace tulle

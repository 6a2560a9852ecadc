// SPDX-License-Identifier: Apache-2.0

/// What products of matrices may add and multiply by instead of + and *. A semiring is any type
/// with const add(a, b) and multiply(a, b); an entry is the sum of its products from left to right,
/// so no zero is needed. Dense results need one for rows without entries: zero(v), the neutral
/// element of add in v's type.
#pragma once
#include "tulle/version.hpp"

#include <concepts>
#include <cstdint>
#include <limits>

namespace tulle {

template <class S, class V>
concept semiring = requires(S const s, V v) {
  { s.add(v, v) } -> std::convertible_to<V>;
  { s.multiply(v, v) } -> std::convertible_to<V>;
};

/// The semirings below as values; devices have no others.
enum class semiring_kind : std::uint8_t { plus_times, or_and, min_plus, plus_pair };
template <class S>
concept named_semiring = requires {
  { S::kind } -> std::convertible_to<semiring_kind>;
};

/// Ordinary addition and multiplication.
struct plus_times {
  static constexpr auto kind = semiring_kind::plus_times;
  template <class V>
  constexpr V add(V a, V b) const {
    return a + b;
  }
  template <class V>
  constexpr V multiply(V a, V b) const {
    return a * b;
  }
  template <class V>
  constexpr V zero(V) const {
    return V(0);
  }
};
/// Whether there is a path: 1 if neither is 0.
struct or_and {
  static constexpr auto kind = semiring_kind::or_and;
  template <class V>
  constexpr V add(V a, V b) const {
    return a != V(0) || b != V(0) ? V(1) : V(0);
  }
  template <class V>
  constexpr V multiply(V a, V b) const {
    return a != V(0) && b != V(0) ? V(1) : V(0);
  }
  template <class V>
  constexpr V zero(V) const {
    return V(0);
  }
};
/// The shortest path.
struct min_plus {
  static constexpr auto kind = semiring_kind::min_plus;
  template <class V>
  constexpr V add(V a, V b) const {
    return b < a ? b : a;
  }
  template <class V>
  constexpr V multiply(V a, V b) const {
    return a + b;
  }
  template <class V>
  constexpr V zero(V) const {
    return std::numeric_limits<V>::has_infinity ? std::numeric_limits<V>::infinity()
                                                : std::numeric_limits<V>::max();
  }
};
/// The number of paths: every pair of entries counts 1, whatever the values.
struct plus_pair {
  static constexpr auto kind = semiring_kind::plus_pair;
  template <class V>
  constexpr V add(V a, V b) const {
    return a + b;
  }
  template <class V>
  constexpr V multiply(V, V) const {
    return V(1);
  }
  template <class V>
  constexpr V zero(V) const {
    return V(0);
  }
};
/// The most probable path. Values must not be negative, so that 0 is neutral.
struct max_times {
  template <class V>
  constexpr V add(V a, V b) const {
    return a < b ? b : a;
  }
  template <class V>
  constexpr V multiply(V a, V b) const {
    return a * b;
  }
  template <class V>
  constexpr V zero(V) const {
    return V(0);
  }
};

} // namespace tulle

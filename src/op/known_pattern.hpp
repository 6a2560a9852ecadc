// SPDX-License-Identifier: Apache-2.0

// Whether an operand has the pattern that a plan was made for.
#pragma once
#include "tulle/core/where.hpp"
#include "tulle/op/detail/hub.hpp"

#include "dispatch/arrays.hpp"

namespace tulle::detail {

template <class View>
known_pattern know(View const& a, int threads) {
  dispatch::array_list const all(a);
  return {dispatch::pattern_of(all, threads), dispatch::place_of(all)};
}

/// errc::bad_structure for other indices than those known; arrays at a known place are not read.
template <class View>
void recognise(char const* op, char const* operand, View const& a, known_pattern& known,
               int threads) {
  dispatch::array_list const all(a);
  std::uint64_t const place = dispatch::place_of(all);
  if (place == known.place)
    return;
  if (dispatch::pattern_of(all, threads) != known.pattern)
    fail(errc::bad_structure, "%s: the plan is for another pattern than that of %s", op, operand);
  known.place = place;
}

/// errc::bad_structure for an operand without its arrays, errc::unsupported where the policy names
/// a backend that does not have the operation.
template <class View>
void check_operand(char const* op, char const* operand, View const& a, where const& w) {
  if (w.backend != backend::cpu && w.backend != backend::reference)
    fail(errc::unsupported, "%s: no %s backend is loaded", op, name(w.backend));
  if (char const* const missing = missing_array(a))
    fail(errc::bad_structure, "%s: %s has no %s; was it moved from?", op, operand, missing);
}

} // namespace tulle::detail

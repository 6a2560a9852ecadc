// SPDX-License-Identifier: Apache-2.0

// Whether an operand has the pattern that a plan was made for.
#pragma once
#include "tulle/core/diagnostics.hpp"
#include "tulle/core/where.hpp"
#include "tulle/op/detail/hub.hpp"

#include "core/arrays.hpp"

namespace tulle::detail {

template <class View>
known_pattern know(View const& a, int threads) {
  formats::array_list const all(a);
  return {formats::pattern_of(all, threads), formats::mark_of(all, a.serial)};
}

/// errc::bad_structure for other indices than those known: all of them are read.
template <class View>
void check_pattern(char const* op, char const* operand, View const& a, known_pattern const& known,
                   int threads) {
  if (formats::pattern_of(formats::array_list(a), threads) != known.pattern)
    fail(errc::bad_structure,
         "%s: the plan is for another pattern than that of %s; see plan.rebind()", op, operand);
}

/// errc::bad_structure for other indices than those known. All of them are read where the mark is
/// another one.
template <class View>
void recognise(char const* op, char const* operand, View const& a, known_pattern& known,
               int threads) {
  std::uint64_t const mark = formats::mark_of(formats::array_list(a), a.serial);
  if (mark == known.mark)
    return;
  tell(event::pattern_compared,
       "%s: the plan met arrays of %s that it did not know, and reads all indices", op, operand);
  check_pattern(op, operand, a, known, threads);
  known.mark = mark;
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

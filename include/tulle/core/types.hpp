// SPDX-License-Identifier: Apache-2.0

/// The built type pairs as tags, and what can be asked of them.
#pragma once
#include "tulle/core/types.def"
#include "tulle/version.hpp"

#include <complex>
#include <cstddef>
#include <cstdint>

namespace tulle {

/// One built (value, index, offset) triple: f64_i32 is double values with 32-bit indices and
/// offsets.
enum class type_tag : std::uint8_t {
#define TULLE_ENUM(tag, V, I, O) tag,
  TULLE_TYPES(TULLE_ENUM) TULLE_BASIC_TYPES(TULLE_ENUM)
#undef TULLE_ENUM
};

#define TULLE_COUNT(tag, V, I, O) +1
inline constexpr std::size_t type_count = 0 TULLE_TYPES(TULLE_COUNT) TULLE_BASIC_TYPES(TULLE_COUNT);
#undef TULLE_COUNT

/// The tag of a triple.
template <class V, class I, class O>
struct type_of {
#define TULLE_SPELL(tag, V, I, O) " (" #V ", " #I ", " #O ")"
  static_assert(sizeof(V) == 0, // of none: the triples that are built are defined below
                "tulle is not built for this (value, index, offset). Every format is built "
                "for" TULLE_TYPES(TULLE_SPELL) "; csr, csc and coo also for" TULLE_BASIC_TYPES(
                    TULLE_SPELL) ". csr_from() copies arrays of other integers to one of these");
#undef TULLE_SPELL
};
#define TULLE_TYPE_OF(tag, V, I, O)                                                                \
  template <>                                                                                      \
  struct type_of<V, I, O> {                                                                        \
    static constexpr type_tag value = type_tag::tag;                                               \
  };
TULLE_TYPES(TULLE_TYPE_OF)
TULLE_BASIC_TYPES(TULLE_TYPE_OF)
#undef TULLE_TYPE_OF

/// "f64_i32", as the command line and error messages spell it.
constexpr char const* name(type_tag t) {
  switch (t) {
#define TULLE_NAME(tag, V, I, O)                                                                   \
  case type_tag::tag:                                                                              \
    return #tag;
    TULLE_TYPES(TULLE_NAME) TULLE_BASIC_TYPES(TULLE_NAME)
#undef TULLE_NAME
  }
  return "?";
}

/// A type as a value, to choose a template's arguments at run time: visit(tag, [](auto t) { using V
/// = t::value; ... }).
template <class V, class I, class O>
struct type_list {
  using value = V;
  using index = I;
  using offset = O;
};

template <class F>
decltype(auto) visit(type_tag t, F&& f) {
  switch (t) {
#define TULLE_VISIT(tag, V, I, O)                                                                  \
  case type_tag::tag:                                                                              \
    return f(type_list<V, I, O>{});
    TULLE_TYPES(TULLE_VISIT) TULLE_BASIC_TYPES(TULLE_VISIT)
#undef TULLE_VISIT
  }
  __builtin_unreachable();
}

} // namespace tulle

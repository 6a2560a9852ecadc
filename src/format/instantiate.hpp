// SPDX-License-Identifier: Apache-2.0

// TULLE_INSTANTIATE_FORMAT(sell, every): the last line of src/format/sell.cpp, outside of every
// namespace. It compiles the members of the owner and of its host view for each type that
// formats.def names, and defines the format's row of the table in core/format_table.hpp.
#pragma once
#include "core/format_table.hpp"

#define TULLE_FORMAT_TYPES_every(X, name) TULLE_TYPES(X, name)
#define TULLE_FORMAT_TYPES_basic(X, name) TULLE_TYPES(X, name) TULLE_BASIC_TYPES(X, name)

#define TULLE_FORMAT_MEMBERS(tag, V, I, O, name)                                                   \
  template struct name<V, I, O>;                                                                   \
  template struct name##_view<V, I, O>;
#define TULLE_FORMAT_OPS(tag, V, I, O, name) make_ops<name, V, I, O>(),

#define TULLE_INSTANTIATE_FORMAT(name, types)                                                      \
  namespace tulle {                                                                                \
  static_assert(info(format::name).is_basic == detail::types,                                      \
                "formats.def has another word for the types of " #name);                           \
  TULLE_FORMAT_TYPES_##types(TULLE_FORMAT_MEMBERS, name)                                           \
  }                                                                                                \
  namespace tulle::formats {                                                                       \
  extern format_ops const name##_ops[type_count];                                                  \
  format_ops const name##_ops[type_count] = {TULLE_FORMAT_TYPES_##types(TULLE_FORMAT_OPS, name)};  \
  extern format_options const name##_options;                                                      \
  format_options const name##_options =                                                            \
      make_options<typename name<double, std::int32_t, std::int32_t>::options>();                  \
  }

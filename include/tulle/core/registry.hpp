// SPDX-License-Identifier: Apache-2.0

/// The formats as values: an enum, names, and a way from a type to its tag. All of it read off
/// formats.def. Owners and views are only declared here: include the header of a format to use it,
/// or "tulle/format/formats.hpp" for all of them.
#pragma once
#include "tulle/core/space.hpp"
#include "tulle/core/types.hpp"

#include <string_view>
#include <tuple>

namespace tulle {

#define TULLE_FORMAT(name, types, spmv, spmm)                                                      \
  template <class V, class I, class O>                                                             \
  struct name;                                                                                     \
  template <class V, class I, class O, space S>                                                    \
  struct name##_view;
#include "tulle/format/formats.def"
#undef TULLE_FORMAT

enum class format : std::uint8_t {
#define TULLE_FORMAT(name, types, spmv, spmm) name,
#include "tulle/format/formats.def"
#undef TULLE_FORMAT
};

inline constexpr format all_formats[] = {
#define TULLE_FORMAT(name, types, spmv, spmm) format::name,
#include "tulle/format/formats.def"
#undef TULLE_FORMAT
};
inline constexpr std::size_t format_count = sizeof(all_formats) / sizeof(all_formats[0]);

constexpr char const* name(format f) {
  constexpr char const* names[] = {
#define TULLE_FORMAT(name, types, spmv, spmm) #name,
#include "tulle/format/formats.def"
#undef TULLE_FORMAT
  };
  return names[static_cast<std::size_t>(f)];
}

/// The format of that name; errc::unsupported lists those there are.
format format_of(std::string_view name);

/// Whether a view type is one of ours, and which.
template <class View>
struct view_traits {
  static constexpr bool is_view = false;
};
/// The same for owners.
template <class Owner>
struct owner_traits {
  static constexpr bool is_owner = false;
};

#define TULLE_FORMAT(name, types, spmv, spmm)                                                      \
  template <class V, class I, class O, space S>                                                    \
  struct view_traits<name##_view<V, I, O, S>> {                                                    \
    static constexpr bool is_view = true;                                                          \
    static constexpr tulle::format format = tulle::format::name;                                   \
    static constexpr tulle::space space = S;                                                       \
    using owner = name<V, I, O>;                                                                   \
    using value = V;                                                                               \
  };                                                                                               \
  template <class V, class I, class O>                                                             \
  struct owner_traits<name<V, I, O>> {                                                             \
    static constexpr bool is_owner = true;                                                         \
    static constexpr tulle::format format = tulle::format::name;                                   \
    static constexpr type_tag type = type_of<V, I, O>::value;                                      \
    using value = V;                                                                               \
    using index = I;                                                                               \
    using offset = O;                                                                              \
  };
#include "tulle/format/formats.def"
#undef TULLE_FORMAT

/// Every format over one type pair, as a std::tuple: for tests and sweeps.
template <class V, class I, class O>
struct formats_over {
  template <class...>
  struct drop_first;
  template <class First, class... Rest>
  struct drop_first<First, Rest...> {
    using type = std::tuple<Rest...>;
  };
  using type = typename drop_first<void
#define TULLE_FORMAT(name, types, spmv, spmm) , name<V, I, O>
#include "tulle/format/formats.def"
#undef TULLE_FORMAT
                                   >::type;
};

} // namespace tulle

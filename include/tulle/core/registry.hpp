// SPDX-License-Identifier: Apache-2.0

/// The formats as values: an enum, names, and a way from a type to its tag. All of it is generated
/// from formats.def. Owners and views are only declared here: include the header of a format to use
/// it, or "tulle/format/formats.hpp" for all of them.
#pragma once
#include "tulle/core/space.hpp"
#include "tulle/core/types.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <tuple>

namespace tulle {

#define TULLE_FORMAT(name, ...)                                                                    \
  template <class V, class I, class O>                                                             \
  struct name;                                                                                     \
  template <class V, class I, class O, space S>                                                    \
  struct name##_view;
#include "tulle/format/formats.def"
#undef TULLE_FORMAT

enum class format : std::uint8_t {
#define TULLE_FORMAT(name, ...) name,
#include "tulle/format/formats.def"
#undef TULLE_FORMAT
};

enum class shelf : std::uint8_t {
  core,       ///< formats that carry the speed
  literature, ///< formats to be studied and measured
  internal,   ///< parts of the library; all_formats leaves them out
};

/// What formats.def says of a format.
struct format_info {
  char const* name;
  tulle::shelf shelf;
  bool is_basic;       ///< built for TULLE_BASIC_TYPES too
  unsigned spmv, spmm; ///< backends with a kernel of its own: see has_spmv(), has_spmm()
};

namespace detail {

enum format_types : bool { every, basic };
enum backend_word : unsigned { NONE = 0, CPU = 1, CUDA = 2, OPENCL = 4 };
constexpr unsigned word_of(backend b) {
  constexpr unsigned words[] = {NONE, CPU, CUDA, OPENCL};
  return words[static_cast<std::size_t>(b)];
}

inline constexpr format_info infos[] = {
#define TULLE_FORMAT(name, its_shelf, types, spmv, spmm)                                           \
  {#name, shelf::its_shelf, types, spmv, spmm},
#include "tulle/format/formats.def"
#undef TULLE_FORMAT
};

} // namespace detail

/// Internal formats included.
inline constexpr std::size_t format_count = std::size(detail::infos);

constexpr format_info const& info(format f) {
  return detail::infos[static_cast<std::size_t>(f)];
}
constexpr char const* name(format f) {
  return info(f).name;
}
/// Whether a backend has a kernel for this format.
constexpr bool has_spmv(format f, backend b) {
  return (info(f).spmv & detail::word_of(b)) != 0;
}
constexpr bool has_spmm(format f, backend b) {
  return (info(f).spmm & detail::word_of(b)) != 0;
}

namespace detail {

constexpr bool is_public(format_info const& f) {
  return f.shelf != shelf::internal;
}
constexpr bool is_core(format_info const& f) {
  return f.shelf == shelf::core;
}
template <bool is_listed(format_info const&)>
inline constexpr auto listed = [] {
  constexpr std::size_t n =
      static_cast<std::size_t>(std::count_if(std::begin(infos), std::end(infos), is_listed));
  std::array<format, n> all{};
  for (std::size_t f = 0, k = 0; f < format_count; ++f)
    if (is_listed(infos[f]))
      all[k++] = static_cast<format>(f);
  return all;
}();

} // namespace detail

/// The core formats, then those of the literature shelf.
inline constexpr auto all_formats = detail::listed<detail::is_public>;
inline constexpr auto core_formats = detail::listed<detail::is_core>;

/// The format of that name; errc::unsupported lists the existing ones.
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

#define TULLE_FORMAT(name, ...)                                                                    \
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
#define TULLE_FORMAT(name, ...) , name<V, I, O>
#include "tulle/format/formats.def"
#undef TULLE_FORMAT
                                   >::type;
};

} // namespace tulle

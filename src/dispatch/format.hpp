// SPDX-License-Identifier: Apache-2.0

// table[format][type] of what is not a kernel: conversions and questions to a view. Each format's
// row is compiled in a file of its own, which the build writes from format.cpp.in.
#pragma once
#include "tulle/core/any_matrix.hpp"
#include "tulle/format/detail/options.hpp"

#include "dispatch/pattern.hpp"

#include <functional>
#include <new>

namespace tulle::dispatch {

/// Takes an array to another place.
using moved_array = std::function<void const*(void const* from, std::size_t bytes)>;

struct format_ops {
  any_matrix (*from_csr)(void const* csr_view, std::string_view options,
                         cpu const& where) = nullptr;
  any_matrix (*to_csr)(void const* view, cpu const& where) = nullptr;
  bool (*overlaps)(void const* view, void const* first, void const* last) = nullptr;
  char const* (*missing)(void const* view) = nullptr;                // see detail::missing_array
  std::uint64_t (*pattern)(void const* view, int threads) = nullptr; // hash of what the indices are
  std::uint64_t (*place)(void const* view) = nullptr;                // and of where they lie
  std::size_t view_bytes = 0;
  /// The view with each array that is not empty where move(bytes, its place) says.
  void (*move)(void const* view, void* to, moved_array const& move) = nullptr;
  matrix_ref (*ref)(void const* view) = nullptr;
  std::size_t options_bytes = 0;
  void (*options)(std::string_view text, void* to) = nullptr; // see detail::parse_options
};

template <template <class, class, class> class Format, class V, class I, class O>
constexpr format_ops make_ops() {
  using owner = Format<V, I, O>;
  using view = decltype(std::declval<owner const&>().view());
  return {
      [](void const* a, std::string_view options, cpu const& where) -> any_matrix {
        return owner::from_csr(*static_cast<csr_view<V, I, O> const*>(a),
                               detail::parse_options<typename owner::options>(
                                   name(owner_traits<owner>::format), options),
                               where);
      },
      [](void const* a, cpu const& where) -> any_matrix {
        return static_cast<view const*>(a)->to_csr(where);
      },
      [](void const* a, void const* first, void const* last) {
        return detail::overlaps(*static_cast<view const*>(a), first, last);
      },
      [](void const* a) { return detail::missing_array(*static_cast<view const*>(a)); },
      [](void const* a, int threads) { return pattern_of(*static_cast<view const*>(a), threads); },
      [](void const* a) { return place_of(*static_cast<view const*>(a)); },
      sizeof(view),
      [](void const* a, void* to, moved_array const& move) {
        auto* const moved = new (to) view(*static_cast<view const*>(a));
        moved->arrays([&]<class T>(char const*, T const* const& member, std::size_t n) {
          // The members of a view that is not constant itself.
          const_cast<T const*&>(member) =
              n == 0 ? nullptr : static_cast<T const*>(move(member, n * sizeof(T)));
        });
      },
      [](void const* a) { return matrix_ref(*static_cast<view const*>(a)); },
      sizeof(typename owner::options),
      [](std::string_view text, void* to) {
        new (to) typename owner::options(detail::parse_options<typename owner::options>(
            name(owner_traits<owner>::format), text));
      }};
}

/// That format's operations on that type; fields are nullptr where it is not built.
format_ops const& ops(format f, type_tag t);

/// errc::bad_structure for a matrix without its arrays: one that was moved from.
void check_present(char const* op, matrix_ref const& a);

} // namespace tulle::dispatch

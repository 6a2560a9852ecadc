// SPDX-License-Identifier: Apache-2.0

// table[format][type] of what is not a kernel: conversions and questions to a view. Each format's
// row is in src/format/<name>.cpp.
#pragma once
#include "tulle/core/any_matrix.hpp"
#include "tulle/core/named_array.hpp"
#include "tulle/format/csr.hpp"

#include "core/arrays.hpp"
#include "format/detail/options.hpp"

#include <new>
#include <string>
#include <type_traits>
#include <vector>

namespace tulle::formats {

/// What a format does with one type pair; fields are nullptr where it is not built.
struct format_ops {
  any_matrix (*from_csr)(void const* csr_view, std::string_view options,
                         cpu const& where) = nullptr;
  any_matrix (*to_csr)(void const* view, cpu const& where) = nullptr;
  array_list (*arrays)(void const* view) = nullptr;
  std::vector<named_array> (*named_arrays)(void const* view) = nullptr;
  std::size_t view_bytes = 0; // trivially copyable
  matrix_ref (*ref)(void const* view) = nullptr;
  std::size_t options_bytes = 0;
  void (*options)(std::string_view text, void* to) = nullptr; // see detail::parse_options
};

/// What a format's options are.
struct format_options {
  std::vector<std::string> (*variants)(); // what tests go through, the default first
  char const* on_device;                  // what suits a GPU; empty: the default
};

template <class View>
std::vector<named_array> named_arrays_of(View const& a) {
  std::vector<named_array> all;
  a.arrays([&]<class T>(char const* name, T const* p, std::size_t n) {
    all.push_back({name, element_type_of<T>(), p, n});
  });
  return all;
}

template <template <class, class, class> class Format, class V, class I, class O>
constexpr format_ops make_ops() {
  using owner = Format<V, I, O>;
  using view = decltype(std::declval<owner const&>().view());
  static_assert(std::is_trivially_copyable_v<view>);
  format_ops f;
  f.from_csr = [](void const* a, std::string_view options, cpu const& where) -> any_matrix {
    return owner::from_csr(
        *static_cast<csr_view<V, I, O> const*>(a),
        detail::parse_options<typename owner::options>(name(owner_traits<owner>::format), options),
        where);
  };
  f.to_csr = [](void const* a, cpu const& where) -> any_matrix {
    {
      detail::policy_threads const here(where.threads);
      static_cast<view const*>(a)->validate(); // members of owners are public
    }
    return static_cast<view const*>(a)->to_csr(where);
  };
  f.arrays = [](void const* a) { return array_list(*static_cast<view const*>(a)); };
  f.named_arrays = [](void const* a) { return named_arrays_of(*static_cast<view const*>(a)); };
  f.view_bytes = sizeof(view);
  f.ref = [](void const* a) { return matrix_ref(*static_cast<view const*>(a)); };
  f.options_bytes = sizeof(typename owner::options);
  f.options = [](std::string_view text, void* to) {
    new (to) typename owner::options(
        detail::parse_options<typename owner::options>(name(owner_traits<owner>::format), text));
  };
  return f;
}

template <class Options>
constexpr format_options make_options() {
  return {[] {
            std::vector<std::string> all;
            detail::for_each_variant<Options>(
                [&](std::string_view options) { all.emplace_back(options); });
            return all;
          },
          detail::options_on_device<Options>()};
}

format_ops const& ops(format f, type_tag t);
format_options const& options(format f);
inline array_list arrays_of(matrix_ref const& a) {
  return ops(a.format, a.type).arrays(a.view);
}

/// Of where the arrays lie, and whose they are.
inline std::uint64_t place_of(matrix_ref const& a) {
  return place_of(arrays_of(a), a.serial);
}

/// errc::bad_structure for a matrix without its arrays: one that was moved from.
void check_present(char const* op, matrix_ref const& a, array_list const& arrays);
inline void check_present(char const* op, matrix_ref const& a) {
  check_present(op, a, arrays_of(a));
}

} // namespace tulle::formats

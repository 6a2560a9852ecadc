// SPDX-License-Identifier: Apache-2.0

/// The arrays of a matrix of any format, by the names that the head of the format's header gives
/// them:
///
///     tulle::any_matrix const m = tulle::convert(matrix_ref(view), tulle::format::csr5);
///     for (tulle::named_array const& a : tulle::arrays(m))
///       std::printf("%s: %zu of %s\n", a.name, a.size, name(a.element)); // row_ptr: 5 of i32
///     std::span<double const> val = tulle::array_of(m, "val").as<double>();
#pragma once
#include "tulle/core/any_matrix.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace tulle {

/// The type of an array's elements: signed and unsigned integers, real and complex numbers, by
/// their bits. c64 is std::complex<double>, as in type_tag.
enum class element_type : std::uint8_t { i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, c32, c64 };

constexpr char const* name(element_type e) {
  constexpr char const* names[] = {"i8",  "i16", "i32", "i64", "u8",  "u16",
                                   "u32", "u64", "f32", "f64", "c32", "c64"};
  return names[static_cast<std::size_t>(e)];
}

constexpr std::size_t bytes_of(element_type e) {
  constexpr std::size_t bytes[] = {1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 8, 16};
  return bytes[static_cast<std::size_t>(e)];
}

/// The element_type of a C++ type: of int, element_type::i32.
template <class T>
constexpr element_type element_type_of() {
  if constexpr (std::is_integral_v<T>) {
    static_assert(!std::is_same_v<T, bool>, "no format has an array of bool");
    constexpr int log2_of_bytes = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return static_cast<element_type>(
        static_cast<int>(std::is_signed_v<T> ? element_type::i8 : element_type::u8) +
        log2_of_bytes);
  } else if constexpr (std::is_same_v<T, float>) {
    return element_type::f32;
  } else if constexpr (std::is_same_v<T, double>) {
    return element_type::f64;
  } else if constexpr (std::is_same_v<T, std::complex<float>>) {
    return element_type::c32;
  } else {
    static_assert(std::is_same_v<T, std::complex<double>>, "no format has an array of this type");
    return element_type::c64;
  }
}

/// One array of a matrix. Borrowed: it lives as long as the matrix does.
struct named_array {
  char const* name = "";
  element_type element{};
  void const* data = nullptr; ///< where the matrix is: in host or in device memory
  std::size_t size = 0;       ///< elements

  std::size_t bytes() const { return size * bytes_of(element); }
  /// The array as elements of type T. errc::unsupported where it has elements of another type.
  template <class T>
  std::span<T const> as() const {
    if (element_type_of<T>() != element)
      fail(errc::unsupported, "named_array: %s has elements of type %s, not %s", name,
           tulle::name(element), tulle::name(element_type_of<T>()));
    return {static_cast<T const*>(data), size};
  }
};

/// f(std::span<T const>) for the type T that the array has.
template <class F>
decltype(auto) visit(named_array const& a, F&& f) {
  switch (a.element) {
  case element_type::i8:
    return f(a.as<std::int8_t>());
  case element_type::i16:
    return f(a.as<std::int16_t>());
  case element_type::i32:
    return f(a.as<std::int32_t>());
  case element_type::i64:
    return f(a.as<std::int64_t>());
  case element_type::u8:
    return f(a.as<std::uint8_t>());
  case element_type::u16:
    return f(a.as<std::uint16_t>());
  case element_type::u32:
    return f(a.as<std::uint32_t>());
  case element_type::u64:
    return f(a.as<std::uint64_t>());
  case element_type::f32:
    return f(a.as<float>());
  case element_type::f64:
    return f(a.as<double>());
  case element_type::c32:
    return f(a.as<std::complex<float>>());
  case element_type::c64:
    return f(a.as<std::complex<double>>());
  }
  __builtin_unreachable();
}

/// All arrays of the matrix, in the order in which its format lists them. One that this matrix does
/// not need has size 0. errc::bad_structure where there is no matrix.
std::vector<named_array> arrays(matrix_ref const& a);
inline std::vector<named_array> arrays(any_matrix const& a) {
  return arrays(a.ref());
}
std::vector<named_array> arrays(any_matrix&&) = delete; // they would dangle

/// The array of that name; errc::unsupported lists the existing names.
named_array array_of(matrix_ref const& a, std::string_view name);
inline named_array array_of(any_matrix const& a, std::string_view name) {
  return array_of(a.ref(), name);
}
named_array array_of(any_matrix&&, std::string_view) = delete;

} // namespace tulle

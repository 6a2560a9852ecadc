// SPDX-License-Identifier: Apache-2.0

/// A borrowed dense vector.
#pragma once
#include "tulle/core/space.hpp"
#include "tulle/view/detail/contiguous.hpp"

#include <cstddef>
#include <type_traits>
#include <utility>

namespace tulle {

template <class T, space S = space::host>
class vector_view;

namespace detail {

/// The memory space of a container: views of the library name it, all others are in host memory.
template <class Container>
inline constexpr space space_of_container = space::host;
template <class T, space S>
inline constexpr space space_of_container<vector_view<T, S>> = S;

/// Something with data() and size() whose data() may be read or written as T.
template <class Container, class T, space S>
concept lends_vector = std::is_convertible_v<decltype(std::declval<Container&>().data()), T*> &&
    std::is_convertible_v<decltype(std::declval<Container&>().size()), std::size_t> &&
    space_of_container<std::remove_cvref_t<Container>>
== S;

} // namespace detail

/// Pointer and size. Made implicitly from anything with data() and size(): std::vector, std::span,
/// tulle::array, a vector of Eigen; and from a C array. Elements must be contiguous: a container
/// with gaps, such as a row of a matrix stored by columns, or with more than one row and column is
/// refused, at compile time if the type shows it.
template <class T, space S>
class vector_view {
public:
  vector_view() = default;
  vector_view(T* data, std::size_t size) : data_(data), size_(size) {}
  template <class Container>
  requires(detail::lends_vector<Container, T, S> &&
           !detail::is_never_a_vector<std::remove_cvref_t<Container>>()) vector_view(Container&& c)
      : data_(c.data()), size_(static_cast<std::size_t>(c.size())) {
    detail::check_vector(c);
  }
  template <class Container>
  requires(detail::lends_vector<Container, T, S>&&
               detail::is_never_a_vector<std::remove_cvref_t<Container>>()) vector_view(Container&&)
  = delete; // its elements do not follow one another
  template <std::size_t n>
  vector_view(T (&elements)[n]) requires(S == space::host) : data_(elements), size_(n) {}

  T* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }

private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

} // namespace tulle

// SPDX-License-Identifier: Apache-2.0

/// A borrowed dense vector.
#pragma once
#include "tulle/core/space.hpp"

#include <cstddef>
#include <type_traits>
#include <utility>

namespace tulle {

template <class T, space S = space::host>
class vector_view;

namespace detail {

/// Where a container's elements are: a view of ours says so, all others are here.
template <class Container>
inline constexpr space space_of = space::host;
template <class T, space S>
inline constexpr space space_of<vector_view<T, S>> = S;

} // namespace detail

/// Pointer and size. Made implicitly from anything with data() and size(): std::vector, std::span,
/// tulle::array.
template <class T, space S>
class vector_view {
public:
  vector_view() = default;
  vector_view(T* data, std::size_t size) : data_(data), size_(size) {}
  template <class Container>
  requires(std::is_convertible_v<decltype(std::declval<Container&>().data()), T*>&&
               detail::space_of<std::remove_cvref_t<Container>> == S) vector_view(Container&& c)
      : data_(c.data()), size_(c.size()) {}

  T* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }

private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

} // namespace tulle

// SPDX-License-Identifier: Apache-2.0

/// The caller's own arrays, as the constructors of views take them: containers, spans, C arrays,
/// pointers, of the type wanted or of another integer of its width.
#pragma once
#include "tulle/core/narrow.hpp"
#include "tulle/format/detail/check.hpp"
#include "tulle/view/detail/contiguous.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace tulle::detail {

template <class T>
inline constexpr bool is_number =
    std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char>;

/// The signed integer that an index of type T is read as: int32_t for unsigned, int64_t for size_t
/// and long long.
template <class T>
struct index_like {
  using type = T;
};
template <class T>
requires(is_number<T> && sizeof(T) <= 8) struct index_like<T> {
  using type = std::conditional_t<
      sizeof(T) == 8, std::int64_t,
      std::conditional_t<sizeof(T) == 4, std::int32_t,
                         std::conditional_t<sizeof(T) == 2, std::int16_t, std::int8_t>>>;
};

/// The element of what lends an array: lent_element<std::vector<int> const&> is int.
template <class A>
auto element_of() {
  using array = std::remove_cvref_t<A>;
  if constexpr (std::is_bounded_array_v<array>)
    return std::type_identity<std::remove_cv_t<std::remove_extent_t<array>>>{};
  else if constexpr (std::is_pointer_v<array>)
    return std::type_identity<std::remove_cv_t<std::remove_pointer_t<array>>>{};
  else if constexpr (requires(array const& a) { a.data() + a.size(); })
    return std::type_identity<
        std::remove_cvref_t<decltype(*std::declval<array const&>().data())>>{};
  else
    return std::type_identity<void>{};
}
template <class A>
using lent_element = typename decltype(element_of<A>())::type;
template <class A>
using lent_index = typename index_like<lent_element<A>>::type;

template <class A>
concept lends_array = !std::is_void_v<lent_element<A>>;
/// Whether its elements may be read as T.
template <class A, class T>
concept lends = lends_array<A> &&
    (std::is_same_v<lent_element<A>, T> ||
     (is_number<T> && is_number<lent_element<A>> && sizeof(lent_element<A>) == sizeof(T)));
/// An array that dies with the expression it stands in. A span may die.
template <class A>
concept dies = !std::is_reference_v<A> && !std::is_pointer_v<A> &&
               !std::ranges::enable_borrowed_range<std::remove_cv_t<A>>;

/// A pointer, and a size where one is known. Unsigned indices too large for a signed one are
/// negative in it, and refused as such.
template <class T>
class lent {
public:
  static constexpr std::size_t unknown = SIZE_MAX; ///< of a bare pointer

  lent(T const* data, std::size_t size) : data_(data), size_(size) {}
  template <class A>
  requires(lends<A, T> && !dies<A>) lent(A&& a) {
    if constexpr (std::is_bounded_array_v<std::remove_cvref_t<A>>) {
      set(&a[0], std::extent_v<std::remove_cvref_t<A>>);
    } else if constexpr (std::is_pointer_v<std::remove_cvref_t<A>>) {
      set(a, unknown);
    } else {
      static_assert(!is_never_a_vector<std::remove_cvref_t<A>>(),
                    "the elements of an array must follow one another");
      check_vector(a);
      set(a.data(), static_cast<std::size_t>(a.size()));
    }
  }
  /// A view of a temporary would outlive it: give the array a name.
  template <class A>
  requires(lends<A, T>&& dies<A>) lent(A&&)
  = delete;

  T const* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  bool has_size() const noexcept { return size_ != unknown; }
  /// With that size where it has none.
  lent or_size(std::size_t n) const { return {data_, has_size() ? size_ : n}; }
  template <class N>
  lent of(N entries) const {
    return or_size(narrow<std::size_t>(entries, "the number of entries"));
  }

private:
  template <class From>
  void set(From const* data, std::size_t size) {
    if constexpr (std::is_same_v<From, T>) {
      data_ = data;
    } else {
      // long and long long are two types to the optimiser: it must not move what was written as one
      // behind what is read as the other.
      asm volatile("" : "+r"(data) : : "memory");
      data_ = reinterpret_cast<T const*>(data);
    }
    size_ = size;
  }
  T const* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Arrays of one line after the other; where only pointers were given, `ptr` says how long `index`
/// and `val` are. Checked are the sizes that are known; returns the number of entries.
template <class O, class I, class V>
O lent_entries(char const* name, I rows, I cols, I lines, lent<O> ptr, lent<I> index, lent<V> val) {
  check_shape(name, rows, cols);
  ptr = ptr.or_size(static_cast<std::size_t>(lines) + 1);
  std::size_t entries = index.has_size() ? index.size() : val.size();
  if (entries == lent<I>::unknown) {
    O const last = ptr.data() && ptr.size() != 0 ? ptr.data()[ptr.size() - 1] : O(0);
    if (last < 0)
      fail(errc::bad_structure, "%s: the pointers end at %lld", name, static_cast<long long>(last));
    entries = static_cast<std::size_t>(last);
  }
  return check_sizes<O>(name, ptr.size(), lines, index.or_size(entries).size(),
                        val.or_size(entries).size());
}

/// The same of triplets.
template <class O, class X, class Y, class V>
O lent_triplets(lent<X> row, lent<Y> col, lent<V> val) {
  std::size_t const n = val.has_size() ? val.size() : row.has_size() ? row.size() : col.size();
  if (n == lent<V>::unknown)
    fail(errc::bad_structure, "coo: pointers do not say how many entries there are; give their "
                              "number behind rows and columns");
  row = row.or_size(n);
  col = col.or_size(n);
  if (row.size() != n || col.size() != n)
    fail(errc::bad_structure, "coo: %zu row indices, %zu column indices, %zu values", row.size(),
         col.size(), n);
  return narrow<O>(n, "number of entries");
}

} // namespace tulle::detail

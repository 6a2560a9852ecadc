// SPDX-License-Identifier: Apache-2.0

/// What follows from a view's list of arrays, `view.arrays(f)` calling f(name, pointer, size) for
/// each.
#pragma once
#include "tulle/core/fail.hpp"
#include "tulle/core/parallel.hpp"
#include "tulle/core/where.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tulle::detail {

/// What a view calls an array. Arrays of indices are the pattern, but for those that follow from
/// the values: a matrix with other values on the same pattern may have others there.
struct array_name {
  char const* text;
  bool follows_values;

  constexpr array_name(char const* text_, bool follows_values_ = false)
      : text(text_), follows_values(follows_values_) {}
  constexpr operator char const*() const { return text; }
};

/// Bytes of all arrays.
template <class View>
std::size_t bytes_of(View const& a) {
  std::size_t n = 0;
  a.arrays([&](char const*, auto const* p, std::size_t size) { n += size * sizeof(*p); });
  return n;
}

/// Whether [first, last) shares a byte with any of the arrays.
template <class View>
bool overlaps(View const& a, void const* first, void const* last) {
  bool hit = false;
  a.arrays([&](char const*, auto const* p, std::size_t size) {
    hit = hit || (size != 0 && first != last && static_cast<void const*>(p) < last &&
                  first < static_cast<void const*>(p + size));
  });
  return hit;
}

/// The name of a missing array, as in an owner that was moved from; else nullptr.
template <class View>
char const* missing_array(View const& a) {
  char const* missing = nullptr;
  a.arrays([&](char const* name, auto const* p, std::size_t size) {
    if (size != 0 && p == nullptr && !missing)
      missing = name;
  });
  return missing;
}

/// errc::bad_structure where the arrays of an owner do not have the sizes that its view takes them
/// to have: it was moved from, or its members were changed by hand. O(1); what is in the arrays is
/// not read.
template <class Owner>
void check_arrays(char const* format, Owner const& m) {
  std::size_t sizes[16] = {}; // no format has more arrays
  Owner::members(m, [&](auto const&... a) {
    static_assert(sizeof...(a) <= 16);
    std::size_t n = 0;
    ((sizes[n++] = a.size()), ...);
  });
  std::size_t n = 0;
  m.view().arrays([&](char const* name, auto const*, std::size_t expected) {
    std::size_t const size = sizes[n++];
    if (size != expected)
      fail(errc::bad_structure, "%s: %s has %zu elements, expected %zu; was it moved from?", format,
           name, size, expected);
  });
}

/// The view of an owner, all of whose invariants are checked: its members are public, and what
/// follows takes its indices for places in memory.
template <class Owner>
auto checked(Owner const& m, cpu const& where) {
  policy_threads const here(where.threads);
  m.validate();
  return m.view();
}

/// n / size, rounded up; 0 where a size that is broken leaves no number.
[[gnu::always_inline]] constexpr std::size_t pieces(std::size_t n, std::size_t size) {
  return size == 0 ? 0 : n / size + (n % size != 0);
}
/// Slots of a block, of whatever sides.
[[gnu::always_inline]] constexpr std::size_t block_size(int height, int width) {
  return static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
}

} // namespace tulle::detail

// SPDX-License-Identifier: Apache-2.0

// The arrays of a view, whatever their types, and what follows from them: whether they are there,
// whether they overlap others, and which pattern they are. A plan made for one pattern must not run
// on another, which might touch memory that the plan did not count on.
#pragma once
#include "tulle/core/fail.hpp"
#include "tulle/format/detail/arrays.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tulle::formats {

struct array_of {
  char const* name;
  void const* at; ///< where the view has its pointer
  std::size_t n;
  std::size_t size; ///< of an element
  bool is_index;
  bool is_pattern; ///< an index that does not follow from the values

  void const* data() const {
    void const* p;
    std::memcpy(&p, at, sizeof p);
    return p;
  }
  std::size_t bytes() const { return n * size; }
};

class array_list {
public:
  /// Those of view.arrays().
  template <class View>
  requires requires(View const& a) { a.rows; }
  explicit array_list(View const& a) {
    a.arrays([&]<class T>(detail::array_name name, T const* const& at, std::size_t n) {
      bool const is_index = std::is_integral_v<T>;
      add({name, &at, n, sizeof(T), is_index, is_index && !name.follows_values});
    });
  }
  static constexpr std::size_t most = 24;
  array_of const* begin() const { return all_; }
  array_of const* end() const { return all_ + count_; }
  std::size_t size() const { return count_; }

private:
  void add(array_of const& a) {
    if (count_ == most)
      fail(errc::unsupported, "a view has more than %zu arrays", most);
    all_[count_++] = a;
  }
  array_of all_[most];
  std::size_t count_ = 0;
};

/// Whether [first, last) shares a byte with any of the arrays.
bool overlaps(array_list const& all, void const* first, void const* last);
/// The name of an array that should be there and is not; else nullptr. As detail::missing_array.
char const* missing(array_list const& all);
/// Of what the arrays of the pattern hold, in 64 bits: the same for every number of threads.
std::uint64_t pattern_of(array_list const& all, int threads);
/// Of where they lie, and whose they are: known again at no cost.
std::uint64_t place_of(array_list const& all, std::uint64_t serial);
/// The same, and of a few indices of each array: memory is used again, and a serial number is not
/// always there. Arrays on the host.
std::uint64_t mark_of(array_list const& all, std::uint64_t serial);

/// The arrays of the last call that was in order, so that a call with the same ones need not look
/// at them but for a few indices: what mark_of() tells, without joining it to one number.
class seen_arrays {
public:
  void keep(array_list const& all, std::uint64_t serial);
  /// Whether they are those, and none of them shares a byte with [first, last).
  bool are(array_list const& all, std::uint64_t serial, void const* first, void const* last) const;

private:
  struct seen {
    void const* data;
    std::size_t n;
    std::uint64_t sample;
  };
  std::uint64_t serial_ = 0;
  std::size_t count_ = 0; // 0: none
  seen all_[array_list::most];
};

} // namespace tulle::formats

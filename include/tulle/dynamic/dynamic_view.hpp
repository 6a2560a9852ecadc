// SPDX-License-Identifier: Apache-2.0

/// Where the entries of a dynamic matrix are: pointers and sizes, trivially copyable, for kernels.
#pragma once
#include "tulle/core/types.def"

#include <cstddef>
#include <cstdint>

namespace tulle {

inline constexpr int most_segments = 8;

/// The arrays behind the places of one page of the pool. Places of a segment follow one another in
/// memory, also from one page into the next.
template <class V, class I>
struct dynamic_page {
  I* col;
  V* val;
};

template <class V, class I>
struct dynamic_view {
  using value = V;
  using index = I;

  I rows = 0;
  I cols = 0;
  I entries = 0;
  bool scattered = false;             ///< some rows have moved to another chunk
  int shift = 0;                      ///< a page has 1 << shift places
  I const* length = nullptr;          ///< of rows; ~length beyond the first segment
  I const* order = nullptr;           ///< rows by length, as products go over them; null: by number
  I const* in_group = nullptr;        ///< entries of each group of rows: kernel/dynamic.hpp
  I const* row_ptr = nullptr;         ///< of a compact one; else null
  I const* begin[most_segments] = {}; ///< places; null: no row has that many segments
  I const* end[most_segments] = {};   ///< a segment that a row has not is empty
  dynamic_page<V, I> const* pages = nullptr;

  I size(I i) const { return length[i] < 0 ? static_cast<I>(~length[i]) : length[i]; }

  /// f(col, val, n) for each segment of row i that has entries, in order.
  template <class F>
  void each_segment(I i, F&& f) const {
    I left = size(i);
    for (int s = 0; left > 0; ++s) {
      I const at = begin[s][i];
      I const room = static_cast<I>(end[s][i] - at);
      I const n = left < room ? left : room;
      dynamic_page<V, I> const page = pages[static_cast<std::size_t>(at) >> shift];
      std::size_t const offset = static_cast<std::size_t>(at) & ((std::size_t(1) << shift) - 1);
      f(page.col + offset, page.val + offset, n);
      left = static_cast<I>(left - n);
    }
  }
};

} // namespace tulle

// SPDX-License-Identifier: Apache-2.0

/// Where the entries of a dynamic matrix are: pointers and sizes, trivially copyable, for kernels.
#pragma once
#include "tulle/core/types.def"
#include "tulle/version.hpp"

#include <cstddef>
#include <cstdint>

namespace tulle {

inline constexpr int most_segments = 8;
// Rows whose entries are counted together, so that work is divided by entries without a pass over
// all rows. Other numbers have not been measured.
inline constexpr std::int64_t group_rows = 256;

/// The arrays behind the places of one page of the pool. Places of a segment follow one another in
/// memory, also from one page into the next.
template <class V, class I>
struct dynamic_page {
  I* col;
  V* val;
};

template <class V, class I, class O = I>
struct dynamic_view {
  using value = V;
  using index = I;

  I rows = 0;
  I cols = 0;
  O entries = 0;
  bool scattered = false;      ///< some rows have moved to another chunk
  int shift = 0;               ///< a page has 1 << shift places
  I const* length = nullptr;   ///< of rows; ~length beyond the first segment. Null: by row_ptr
  I const* order = nullptr;    ///< rows by length, as products go over them; null: by number
  O const* in_group = nullptr; ///< entries of each group of rows
  O const* row_ptr = nullptr;  ///< of a compact one; else null
  O const* begin[most_segments] = {}; ///< places; null: no row has that many, or all by row_ptr
  O const* end[most_segments] = {};   ///< a missing segment of a row is empty
  dynamic_page<V, I> const* pages = nullptr;
  /// Pending entries of a compact matrix, sorted by row; they follow all other entries of their
  /// row. The spmv kernels do not read them.
  I const* pending_ptr = nullptr; ///< of groups; null: there are none
  I const* pending_row = nullptr;
  I const* pending_col = nullptr;
  V const* pending_val = nullptr;

  // Inlined: kernels may not leave these to the linker.
  [[gnu::always_inline]] I in_segments(I i) const {
    if (!length)
      return static_cast<I>(row_ptr[i + 1] - row_ptr[i]);
    return length[i] < 0 ? static_cast<I>(~length[i]) : length[i];
  }
  /// The first pending entry of row i or, where it has none, of a later one of its group.
  [[gnu::always_inline]] I pending_from(I i) const {
    I first = pending_ptr[i / group_rows];
    for (I n = static_cast<I>(pending_ptr[i / group_rows + 1] - first); n > 0;) {
      I const half = static_cast<I>((n + 1) / 2);
      first = static_cast<I>(pending_row[first + half - 1] < i ? first + half : first);
      n = static_cast<I>(n - half);
    }
    return first;
  }
  /// How many there are of row i, from that one on.
  [[gnu::always_inline]] I pending_count(I i, I from) const {
    I n = 0;
    while (from + n < pending_ptr[i / group_rows + 1] && pending_row[from + n] == i)
      ++n;
    return n;
  }
  [[gnu::always_inline]] I size(I i) const {
    return static_cast<I>(in_segments(i) +
                          (pending_ptr ? pending_count(i, pending_from(i)) : I(0)));
  }

  /// f(col, val, n) for each segment of row i that has entries, in order.
  template <class F>
  [[gnu::always_inline]] void each_segment(I i, F&& f) const {
    I left = in_segments(i);
    for (int s = 0; left > 0; ++s) {
      O const at = length ? begin[s][i] : row_ptr[i];
      O const room = static_cast<O>(length ? end[s][i] - at : left);
      I const n = left < room ? left : static_cast<I>(room);
      dynamic_page<V, I> const page = pages[static_cast<std::size_t>(at) >> shift];
      std::size_t const offset = static_cast<std::size_t>(at) & ((std::size_t(1) << shift) - 1);
      f(page.col + offset, page.val + offset, n);
      left = static_cast<I>(left - n);
    }
    if (pending_ptr) {
      I const from = pending_from(i);
      if (I const n = pending_count(i, from); n > 0)
        f(pending_col + from, pending_val + from, n);
    }
  }
};

} // namespace tulle

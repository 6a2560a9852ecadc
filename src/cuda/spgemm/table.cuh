// SPDX-License-Identifier: Apache-2.0

// A hash table of columns in shared memory.
#pragma once
#include <type_traits>

namespace tulle::kernels::cuda {

/// At most half full.
template <int most, class I>
struct hash_table {
  static constexpr int slots = 2 * most;
  using word = std::conditional_t<sizeof(I) == 8, unsigned long long, unsigned>;
  static constexpr word none = ~word{0};
  word column[slots];

  template <int threads>
  __device__ void clear() {
    for (int k = threadIdx.x; k < slots; k += threads)
      column[k] = none;
  }
  /// The slot of the column, which is inserted if missing.
  __device__ int slot(I j, bool& is_new) {
    auto const wanted = static_cast<word>(j);
    // Uses both halves: otherwise columns that differ only in the upper half would begin at the
    // same slot.
    auto const folded = static_cast<unsigned>(wanted ^ wanted >> 16 >> 16);
    unsigned const mixed = folded * 2654435761u;
    for (int k = static_cast<int>(mixed >> 16) & (slots - 1);; k = (k + 1) & (slots - 1)) {
      word const found = column[k] == wanted ? wanted : atomicCAS(&column[k], none, wanted);
      is_new = found == none;
      if (is_new || found == wanted)
        return k;
    }
  }
};

} // namespace tulle::kernels::cuda

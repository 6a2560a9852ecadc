// SPDX-License-Identifier: Apache-2.0

// Where the entries of a dynamic matrix are, on the device. The first segments of all rows are a
// csr without gaps, as defragmenting leaves it; what came later is in segments behind them.
//
//     1 . 2 .      length    2  1  1  4          first     0 2 3 4 7
//     . 3 . .      row_ptr   0  2  3  4  8       further   .  .  .  [7, 9)
//     . . . 4      place     0 1  2  3  4 5 6  7 8
//     5 6 7 8      col       0 2  1  3  0 1 2  3 -
//                  val       1 2  3  4  5 6 7  8 -        - is room
//
// row_ptr counts the entries that are there: products go by it as if entries lay so, and look up
// the place of each. So their order of additions, and their bits, are those of the csr that
// freeze() makes.
#pragma once
#include "cuda/each.cuh"
#include "cuda/spmv/rows.cuh"

namespace tulle::simt {

template <class I>
struct segment {
  I begin, end; // equal: the row has none here
};

template <class V, class I>
struct fragments {
  I rows;
  I nnz;
  I const* row_ptr; // of a product or a copy; nullptr while a batch is made
  I* col;
  V* val;
  I* length;
  I const* first;      // rows + 1
  segment<I>* further; // by rows, one table a level
  std::size_t pitch;   // of tables
  int levels;          // tables that are there

  __device__ V value(I at) const { return val[at]; }
  __device__ segment<I>& behind(int level, std::size_t i) const {
    return further[level * pitch + i];
  }

  /// Of entry p of row i, which is there or has room.
  __device__ I place_of(std::size_t i, I p) const {
    I at = first[i];
    I room = first[i + 1] - at;
    for (int s = 0; p >= room; ++s) {
      p -= room;
      segment<I> const here = behind(s, i);
      at = here.begin;
      room = here.end - here.begin;
    }
    return at + p;
  }
  __device__ I place(std::size_t i, I k) const { return place_of(i, k - row_ptr[i]); }

  // Places lie where the products come, or in room of their own where they are wider.
  static constexpr bool is_wide = sizeof(I) > sizeof(V);
  template <int most>
  struct room {
    I place[is_wide ? most : 1];
  };
  template <class Room>
  __device__ static I* slot(Room& r, V* product, int k) {
    return is_wide ? r.place + k : reinterpret_cast<I*>(product + k);
  }
  template <class Room>
  __device__ I placed(Room& r, V* product, I, int k) const {
    return *slot(r, product, k);
  }
  template <int threads, class Room>
  __device__ void find_places(I from, I to, I k0, int n, Room& r, V* product) const {
    find_places<threads>(from, to, k0, n, [&](int k, I at) { *slot(r, product, k) = at; });
  }
  /// put(k, place) for entries k0 + k, k below n, in rows from `from` up to `to`. A warp takes 32
  /// rows; who has few entries writes them, all lanes those of the others. Then all threads wait.
  template <int threads, class Put>
  __device__ void find_places(I from, I to, I k0, int n, Put const& put) const {
    constexpr int few = 12; // 4, 8 and 32 have not been measured
    int const lane = threadIdx.x % 32;
    for (I base = from + static_cast<I>(threadIdx.x / 32 * 32); base < to; base += threads) {
      I const i = base + lane;
      I k = 0, left = 0, at = 0, places = 0;
      if (i < to) {
        k = row_ptr[i] - k0;
        left = row_ptr[i + 1] - row_ptr[i];
        at = first[i];
        places = first[i + 1] - at;
      }
      for (int s = 0; __any_sync(whole_warp, left > 0); ++s) {
        I const here = left < places ? left : places;
        int const begin = k < 0 ? 0 : k < n ? static_cast<int>(k) : n;
        int const end = k + here < 0 ? 0 : k + here < n ? static_cast<int>(k + here) : n;
        bool const is_few = end - begin <= few;
        I const shift = at - k;
        if (is_few)
          for (int q = begin; q < end; ++q)
            put(q, static_cast<I>(q) + shift);
        for (unsigned others = __ballot_sync(whole_warp, !is_few); others != 0;
             others &= others - 1) {
          int const who = __ffs(static_cast<int>(others)) - 1;
          int const stop = __shfl_sync(whole_warp, end, who);
          I const by = __shfl_sync(whole_warp, shift, who);
          for (int q = __shfl_sync(whole_warp, begin, who) + lane; q < stop; q += 32)
            put(q, static_cast<I>(q) + by);
        }
        k += here;
        left -= here;
        if (left > 0) {
          segment<I> const next = behind(s, i);
          at = next.begin;
          places = next.end - next.begin;
        }
      }
    }
    __syncthreads();
  }
};

} // namespace tulle::simt

// SPDX-License-Identifier: Apache-2.0

// Where the entries of a dynamic matrix are, on the device. The first segments of all rows are a
// csr without gaps, as defragmenting leaves it; what came later is in segments behind them.
//
//     1 . 2 .      length    2  1  1  4          first     0 2 3 4 7
//     . 3 . .      listed    0  0  0  1          grown     row 3: [7, 9), 1 of them
//     . . . 4      place     0 1  2  3  4 5 6  7 8
//     5 6 7 8      col       0 2  1  3  0 1 2  3 -
//                  val       1 2  3  4  5 6 7  8 -        - is room
//
// The rows that have grown are listed, each with the segment behind its first: a product goes over
// the first segments as over a csr and adds what the listed rows have. Segments behind that one are
// in tables.
#pragma once
#include "cuda/each.cuh"

namespace tulle::simt {

template <class I>
struct segment {
  I begin, end; // equal: the row has none here
};

/// A row that has entries behind its first segment, or had.
template <class I>
struct grown_row {
  I row;
  I begin, places; // of its second segment
  I count;         // entries in that one and those behind it
};

template <class V, class I>
struct fragments {
  I rows;
  I nnz;
  I const* row_ptr; // as entries are counted for a copy
  I* col;
  V* val;
  I* length;
  I const* first; // rows + 1
  I* listed;      // by rows: the number of the grown row, from 1 on; 0: it is none
  grown_row<I>* grown;
  segment<I>* further; // by rows, one table for each level from 1 on
  std::size_t pitch;   // of tables
  int levels;          // of segments behind the first

  __device__ segment<I> behind(int level, std::size_t i) const {
    if (level > 0)
      return further[(level - 1) * pitch + i];
    I const number = listed[i];
    if (number == 0)
      return {0, 0};
    grown_row<I> const& g = grown[number - 1];
    return {g.begin, g.begin + g.places};
  }
  /// Of entry p, which is there or has room, of the segments from `level` on.
  __device__ I place_behind(int level, std::size_t i, I p) const {
    for (;; ++level) {
      segment<I> const s = behind(level, i);
      if (p < s.end - s.begin)
        return s.begin + p;
      p -= s.end - s.begin;
    }
  }
  /// Of entry p of row i, which is there or has room.
  __device__ I place_of(std::size_t i, I p) const {
    I const at = first[i];
    I const room = first[i + 1] - at;
    return p < room ? at + p : place_behind(0, i, p - room);
  }

  /// put(k, place) for entries k0 + k, k below n, in rows from `from` up to `to`. A warp takes 32
  /// rows; who has few entries puts them, all lanes those of the others. Then all threads wait.
  template <int threads, class Put>
  __device__ void find_places(I from, I to, I k0, int n, Put const& put) const {
    constexpr int few = 12; // others have not been measured
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
      for (int level = 0; __any_sync(whole_warp, left > 0); ++level) {
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
          segment<I> const next = behind(level, i);
          at = next.begin;
          places = next.end - next.begin;
        }
      }
    }
    __syncthreads();
  }
};

} // namespace tulle::simt

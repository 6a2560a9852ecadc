// SPDX-License-Identifier: Apache-2.0

// Where the entries of a dynamic matrix are, on the device. The first segments of all rows are a
// csr without gaps, as defragmenting leaves it. Their slack lies apart, behind all of them, in the
// order of rows; what has no room there is in segments behind that.
//
//     1 . 2 .      length    2  1  1  5          first     0 2 3 4 7
//     . 3 . .      mark      0  0  0  2          spare     from 7 on, one place each
//     . . . 4      place     0 1  2  3  4 5 6  7 8 9 10  11 12
//     5 6 7 9      col       0 2  1  3  0 1 2  - - - 3    3  -
//                  val       1 2  3  4  5 6 7  - - - 8    1  -       - is room
//
// Slack has no table: where it is follows from the row's number and its first entry. So a product
// goes over the first segments as over a csr, and of rows that have grown a little it reads what
// lies side by side. Those that have grown more are listed. Segments behind slack are in tables.
#pragma once
#include "cuda/each.cuh"

namespace tulle::simt {

template <class I>
struct segment {
  I begin, end; // equal: the row has none here
};

/// Slack of first segments: so many places for each row, and so many for each entry.
template <class I>
struct spare_places {
  I begin;
  I plus;
  double factor;

  /// Of row i, whose first segment begins with entry k; the next row's is its end.
  __host__ __device__ I at(I i, I k) const {
    return begin + plus * i + static_cast<I>(factor * static_cast<double>(k));
  }
};

// Entries behind the first segment of a row: so many are a thread's, more are a block's, and from
// long_behind on blocks share them.
constexpr int few_behind = 8;
constexpr int long_behind = 512;
// What a row is marked with: how many it has, few_behind at most, or the list that it is in, where
// it stays until the matrix is defragmented.
constexpr unsigned char is_listed = 254, is_crowded = 255;

/// Rows that have more than few_behind, in any order.
struct list_counts {
  unsigned listed, crowded; // rows
};
/// What *count was; one addition for all threads of the warp that come here together.
__device__ inline unsigned one_more(unsigned* count) {
  unsigned const all = __activemask(), before = (1u << threadIdx.x % 32) - 1;
  unsigned from = 0;
  if ((all & before) == 0)
    from = atomicAdd(count, static_cast<unsigned>(__popc(all)));
  return __shfl_sync(all, from, __ffs(static_cast<int>(all)) - 1) +
         static_cast<unsigned>(__popc(all & before));
}

template <class V, class I>
struct row_lists {
  list_counts* counts;
  unsigned* ticket; // of a crowded row: pieces that are through
  I *listed, *crowded;
  V* part; // sums of pieces, row by row
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
  spare_places<I> spare;
  unsigned char* mark;
  row_lists<V, I> lists;
  segment<I>* further; // by rows, one table for each level from 1 on
  std::size_t pitch;   // of tables
  int levels;          // of segments behind the first; slack is level 0
  bool lists_rows;     // and marks them
  int few;             // entries behind that are none for a list: few_behind, or 0

  __device__ segment<I> behind(int level, std::size_t i) const {
    if (level > 0)
      return further[(level - 1) * pitch + i];
    I const row = static_cast<I>(i);
    return {spare.at(row, first[i]), spare.at(row + 1, first[i + 1])};
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
  /// Row i has so many entries behind its first segment now.
  __device__ void set_behind(std::size_t i, I n) const {
    if (!lists_rows)
      return;
    unsigned char const before = mark[i];
    if (n > long_behind && before != is_crowded) {
      mark[i] = is_crowded;
      lists.crowded[one_more(&lists.counts->crowded)] = static_cast<I>(i);
    } else if (n > few && before < is_listed) {
      mark[i] = is_listed;
      lists.listed[one_more(&lists.counts->listed)] = static_cast<I>(i);
    } else if (before < is_listed) {
      mark[i] = n < 0 ? 0 : static_cast<unsigned char>(n);
    }
  }
  /// Row i into the list that it is marked for, where lists are new.
  __device__ void list_again(std::size_t i) const {
    if (mark[i] == is_crowded)
      lists.crowded[one_more(&lists.counts->crowded)] = static_cast<I>(i);
    else if (mark[i] == is_listed)
      lists.listed[one_more(&lists.counts->listed)] = static_cast<I>(i);
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

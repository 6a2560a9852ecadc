// SPDX-License-Identifier: Apache-2.0

// Where the entries of a dynamic matrix are, on the device. The first segments of all rows are a
// csr without gaps, as defragmenting leaves it. The rows' slack comes after all first segments, in
// the order of rows; entries without room in the slack go to further segments after it.
//
//     1 . 2 .      length    2  1  1  5          first     0 2 3 4 7
//     . 3 . .      with      4 5                 spare     from 7 on, one place each
//     . . . 4      place     0 1  2  3  4 5 6  7 8 9 10  11 12
//     5 6 7 9      col       0 2  1  3  0 1 2  - - - 3    3  -
//                  val       1 2  3  4  5 6 7  - - - 8    1  -       - is room
//
// Slack has no table: its place is computed from the row's number and its first entry. Further
// segments are in tables.
//
// A product goes over the first segments as over a csr. An overflow entry (in slack or in a further
// segment) has a partner in the first segment (8 above is with 5, 1 with 6), and the products of
// both are added before rows are summed, so the kernel needs no row for it. Copies of such entries
// are stored side by side, for each share of csr's kernel, in the order of arrival.
#pragma once
#include "cuda/each.cuh"

namespace tulle::kernels::cuda {

template <class I>
struct segment {
  I begin, end; // equal: the row has no such segment
};

template <class I>
struct row_now {
  I length;
  segment<I> first;
};

/// Slack of first segments: so many places per row, and so many per entry.
template <class I>
struct spare_places {
  I begin;
  I plus;
  double factor;

  /// The slack of row i, whose first segment begins with entry k; it ends where the next row's
  /// begins.
  __host__ __device__ I at(I i, I k) const {
    return begin + plus * i + static_cast<I>(factor * static_cast<double>(k));
  }
};

// How often an entry of a first segment may be a partner, and how often a row without entries
// there.
constexpr int most_turns = 16;
constexpr int most_alone = 8;

/// The partner, among the first segment's `length` entries, of overflow entry p, in turn p /
/// length. Every eighth entry comes first, so that overflow entries of a long row are dealt to all
/// its shares.
template <class I>
__device__ I partner_of(I p, I length) {
  I const n = length / 8;
  return p < 8 * n ? p % n * 8 + p / n : p;
}
/// The overflow entry whose partner is entry q in the first turn.
template <class I>
__device__ I whose_partner(I q, I length) {
  I const n = length / 8;
  return q < 8 * n ? q % 8 * n + q / 8 : q;
}

/// The partner of an entry, and the turn: an entry, counted from the first of its share, or a row,
/// counted from the share's first row.
struct partner {
  unsigned bits;

  __device__ static partner of(unsigned at, unsigned turn, bool is_row) {
    return {at | turn << 16 | static_cast<unsigned>(is_row) << 24};
  }
  __device__ unsigned at() const { return bits & most; }
  __device__ int turn() const { return static_cast<int>(bits >> 16 & 0xff); }
  __device__ bool is_row() const { return bits >> 24 != 0; }
  /// Whether the partner is an entry, in that turn; in a later one.
  __device__ bool is_with(int turn) const { return bits >> 16 == static_cast<unsigned>(turn); }
  __device__ bool comes_after(int turn) const { return !is_row() && this->turn() > turn; }
  static constexpr unsigned most = 0xffff;
};

/// A copy of an entry that has a partner. One struct: each further array that batches write to at
/// random costs 2 us of 22 on poisson2d5 2048.
template <class V, class I>
struct alignas(16) paired_entry {
  V val;
  I col;
  partner with;
};

/// The counts of a share: copies, and whether some have rows as partners, are in later turns, or
/// have a row too far from its first one to be stored.
struct pair_count {
  static constexpr unsigned rows = 1u << 31, turns = 1u << 30, far = 1u << 29;
  unsigned bits = 0;

  __device__ unsigned copies() const { return bits & (far - 1); }
  __device__ bool has_rows() const { return (bits & rows) != 0; }
  __device__ bool has_turns() const { return (bits & turns) != 0; }
  /// Whether some entries have no copies.
  __device__ bool is_over(unsigned most) const { return (bits & far) != 0 || copies() > most; }
};

/// The copies of overflow entries, by shares of the first segments.
template <class V, class I>
struct paired_entries {
  I share;            // entries of first segments per share; 0: there are no copies and no partners
  I shares;           // the number of shares
  bool by_rows;       // a share has whole rows: those that begin in it
  I const* first_row; // of shares
  pair_count* count;  // of shares
  paired_entry<V, I>* entry;

  /// The most copies of a share: a tenth of all entries in overflow are a ninth of a share, plus
  /// six times the spread.
  __host__ __device__ unsigned most() const { return static_cast<unsigned>(share) / 32 * 5; }
  /// The share of an entry, of a row that begins there, or of the end of all entries.
  __device__ std::size_t share_of(I k) const {
    return static_cast<std::size_t>(k / share < shares ? k / share : shares - 1);
  }
};

// Rows that have entries without partners are listed, and marked as such until the matrix is
// defragmented; those with long_overflow or more are shared by blocks.
constexpr int long_overflow = 512;
constexpr unsigned char is_listed = 1, is_crowded = 2;

/// Rows that are listed, in any order.
struct list_counts {
  unsigned listed, crowded; // rows
};
/// Adds one to *count per thread and returns what it was; one addition for all threads of the warp
/// that call it together.
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
  unsigned* ticket; // of a crowded row: pieces that are done
  I *listed, *crowded;
  V* part; // sums of pieces, row by row
};

template <class V, class I>
struct fragments {
  I rows;
  I nnz;
  I const* row_ptr; // the positions of entries in a copy
  I* col;
  V* val;
  I* length;
  I const* first; // rows + 1
  spare_places<I> spare;
  unsigned char* mark;
  row_lists<V, I> lists;
  paired_entries<V, I> pairs;
  segment<I>* further; // by rows, one table for each level from 1 on
  std::size_t pitch;   // of tables
  int levels;          // of segments that rows have after the first; slack is level 0
  int tables;          // levels that have tables
  I longest;           // entries of the longest row; the greatest I if unknown
  bool lists_rows;     // lists rows, and marks them

  __device__ segment<I> in_first(std::size_t i) const { return {first[i], first[i + 1]}; }
  __device__ row_now<I> now(std::size_t i) const { return {length[i], in_first(i)}; }
  /// The slack of row i, given its first segment.
  __device__ segment<I> slack(I i, segment<I> const& in_first) const {
    return {spare.at(i, in_first.begin), spare.at(i + 1, in_first.end)};
  }
  __device__ segment<I> overflow(int level, std::size_t i) const {
    return level > 0 ? further[(level - 1) * pitch + i] : slack(static_cast<I>(i), in_first(i));
  }
  /// The place of entry p, which exists or has room, in the segments from `level` on.
  __device__ I overflow_place(int level, std::size_t i, I p) const {
    for (;; ++level) {
      segment<I> const s = overflow(level, i);
      if (p < s.end - s.begin)
        return s.begin + p;
      p -= s.end - s.begin;
    }
  }
  /// The place of entry p of row i, which exists or has room.
  __device__ I place_of(std::size_t i, I p) const {
    I const at = first[i];
    I const room = first[i + 1] - at;
    return p < room ? at + p : overflow_place(0, i, p - room);
  }
  /// How many overflow entries of a row with so many in its first segment have partners.
  __device__ std::size_t paired(I length) const {
    if (pairs.share == 0)
      return 0;
    return length == 0 ? most_alone : most_turns * static_cast<std::size_t>(length);
  }
  /// Copies the new entry n of row i to where products find it, if it has a partner.
  __device__ void pair(I i, segment<I> const& in_first, I n, I c, V v) const {
    I const length = in_first.end - in_first.begin, p = n - length;
    if (p < 0 || static_cast<std::size_t>(p) >= paired(length))
      return;
    bool const is_row = length == 0;
    I const k = is_row ? in_first.begin : in_first.begin + partner_of(p % length, length);
    I const turn = is_row ? p : p / length;
    std::size_t const share = pairs.share_of(pairs.by_rows ? in_first.begin : k);
    I const at = is_row ? i - pairs.first_row[share] : k - static_cast<I>(share) * pairs.share;
    bool const is_far = at > static_cast<I>(partner::most);
    unsigned const what = (is_row     ? pair_count::rows
                           : turn > 0 ? pair_count::turns
                                      : 0) |
                          (is_far ? pair_count::far : 0);
    unsigned* const count = &pairs.count[share].bits;
    if (what != 0)
      atomicOr(count, what);
    unsigned const q = is_far ? pairs.most() : pair_count{atomicAdd(count, 1u)}.copies();
    if (q < pairs.most())
      pairs.entry[share * pairs.most() + q] = {
          v, c, partner::of(static_cast<unsigned>(at), static_cast<unsigned>(turn), is_row)};
  }
  /// The mark of a row of n entries, with so many in its first segment.
  __device__ unsigned char mark_of(I length, std::size_t n) const {
    std::size_t const others = static_cast<std::size_t>(length) + paired(length);
    return n <= others ? 0 : n <= others + long_overflow ? is_listed : is_crowded;
  }
  /// Lists row i, which now has n entries, if needed.
  __device__ void list(std::size_t i, segment<I> const& in_first, I n) const {
    unsigned char const m = mark_of(in_first.end - in_first.begin, static_cast<std::size_t>(n));
    if (!lists_rows || m == 0 || m <= mark[i])
      return;
    mark[i] = m;
    list_again(i);
  }
  /// Adds row i to the list that it is marked for, when lists are new.
  __device__ void list_again(std::size_t i) const {
    if (mark[i] == is_crowded)
      lists.crowded[one_more(&lists.counts->crowded)] = static_cast<I>(i);
    else if (mark[i] == is_listed)
      lists.listed[one_more(&lists.counts->listed)] = static_cast<I>(i);
  }

  /// Calls put(k, place) for entries k0 + k, k < n, in rows [from, to). A warp takes 32 rows: a
  /// lane whose row has few entries puts them itself, all lanes put those of longer rows. Then all
  /// threads wait.
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
          segment<I> const next = overflow(level, i);
          at = next.begin;
          places = next.end - next.begin;
        }
      }
    }
    __syncthreads();
  }
};

} // namespace tulle::kernels::cuda

// SPDX-License-Identifier: Apache-2.0

// y = alpha*A*x + beta*y, A in CSR, by speculative segmented sum.
//
// Liu, thesis 2015, sec. 8.4, alg. 31. The entries are cut into tiles of omega lanes (T there) of
// sigma entries each (W). A tile marks where rows begin, from row_ptr; each lane adds its entries
// and restarts its sum at a mark; pieces of a row in several lanes are added from left to right.
// That row i of the tile has the i-th sum is speculation: it holds where no row is empty. The sums
// are stored that way without checking rows; then their number is compared with that of the rows,
// and where they differ the tile's part of y is repaired.
//
// Unlike the thesis, where a CPU repairs what a GPU wrote at the end, the check follows each tile,
// whose sums are still in L1; the old y is kept meanwhile, since beta may need it. The synchronizer
// is kept: a thread goes through a block of tiles (S), transmits the open sum from one to the next,
// and leaves the piece of a row that began before its block; they are added in order. Blocks are of
// fixed size, so the bits do not depend on the number of threads.
//
// A run of empty rows is handled by one tile, however long it is.
#pragma once
#include "cpu/spmv/pieces.hpp"
#include "cpu/spmv/rows.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

// A word of marks; 60, for an odd number of steps: up to 5 % slower
constexpr int tile_entries = 64;
constexpr std::int64_t segment_block = 8192; // entries; as tile_steps in rows.hpp
static_assert(segment_block % tile_entries == 0);

// Lanes. All lanes of wider vectors: 1.1 to 1.2 times as long for float and with AVX-512, since
// then many lanes have no row end, which is mispredicted. Twice the lanes of a vector: no faster.
template <class V>
constexpr int omega = is_pair<V>                      ? 1
                      : HWY_MAX_BYTES / sizeof(V) < 4 ? 2
                                                      : 4;
template <class V>
constexpr int sigma = tile_entries / omega<V>;

/// Reverses the order of bits.
HWY_INLINE std::uint64_t reversed(std::uint64_t w) {
  w = __builtin_bswap64(w);
  w = (w >> 4 & 0x0f0f0f0f0f0f0f0f) | (w & 0x0f0f0f0f0f0f0f0f) << 4;
  w = (w >> 2 & 0x3333333333333333) | (w & 0x3333333333333333) << 2;
  return (w >> 1 & 0x5555555555555555) | (w & 0x5555555555555555) << 1;
}

template <class V>
pieces<V> segment_blocks(std::int64_t nnz, int threads) {
  std::int64_t const blocks = (nnz + segment_block - 1) / segment_block;
  return {blocks > 0 ? blocks : 1, threads}; // a block also sets the rows without entries
}

/// A vector whose lane i is at(i), by single loads, as gather_loads() in kernel/simd.hpp.
template <class D, class At>
HWY_INLINE hn::Vec<D> lanes_from(D d, At at) {
  using raw = decltype(hn::Zero(d).raw);
  using V = hn::TFromD<D>;
  typedef V lanes __attribute__((vector_size(sizeof(raw))));
  lanes g;
  if constexpr (omega<V> == 2)
    g = lanes{at(0), at(1)};
  else
    g = lanes{at(0), at(1), at(2), at(3)};
  return hn::Vec<D>{reinterpret_cast<raw>(g)};
}

/// Where the sum up to an entry of a tile lies.
template <class V>
struct sum_places {
  std::uint16_t at[64];
  constexpr sum_places() : at() {
    for (int e = 0; e < tile_entries; ++e)
      at[e] = static_cast<std::uint16_t>((e % sigma<V> + 1) * omega<V> + e / sigma<V>);
  }
};
template <class V>
constexpr sum_places<V> places;

/// sums[(j + 1) * omega + i]: the sum of lane i from its last mark up to step j.
template <class V, class I>
HWY_INLINE void lane_sums(V const* val, I const* col, V const* x, std::uint64_t marks, int ahead,
                          V* sums) {
  if constexpr (is_pair<V>) {
    V sum{};
    for (int j = 0; j < tile_entries; ++j, marks >>= 1) {
      sum = mul_add(val[j], x[col[j]], marks & 1 ? V{} : sum);
      sums[j + 1] = sum;
    }
  } else {
    constexpr int lanes = omega<V>;
    hn::FixedTag<V, omega<V>> const d;
    using word = hwy::MakeUnsigned<V>;
    hn::Rebind<word, decltype(d)> const dw;
    std::uint64_t const from_top = reversed(marks);
    auto mark = lanes_from(dw, [=](int i) HWY_ATTR {
      return static_cast<word>(from_top << i * sigma<V> >> (64 - 8 * sizeof(word)));
    });
    auto s = hn::Zero(d);
#pragma GCC unroll 16
    for (int j = 0; j < sigma<V>; ++j) {
      if (j * lanes * static_cast<int>(sizeof(V)) % 64 == 0)
        __builtin_prefetch(reinterpret_cast<char const*>(val + j * lanes) + ahead);
      if (j * lanes * static_cast<int>(sizeof(I)) % 64 == 0)
        __builtin_prefetch(reinterpret_cast<char const*>(col + j * lanes) + ahead / 2);
      auto const v = lanes_from(d, [=](int i) HWY_ATTR { return val[i * sigma<V> + j]; });
      auto const g = lanes_from(d, [=](int i) HWY_ATTR { return x[col[i * sigma<V> + j]]; });
      s = hn::MulAdd(v, g, hn::IfNegativeThenElse(hn::BitCast(d, mark), hn::Zero(d), s));
      mark = hn::Add(mark, mark);
      hn::Store(s, d, sums + (j + 1) * lanes);
    }
  }
}

/// Adds to the first sum of each lane what the lanes before it have of the same row; lane 0 gets
/// `open`. Returns the sum that is open at the tile's end.
template <class V>
HWY_INLINE V join_lanes(std::uint64_t marks, V open, V* sums) {
  for (int i = 0; i < omega<V>; ++i) {
    // Steps before the lane's first mark. With none, the sum goes to the row before the first step,
    // which is not read.
    std::uint64_t const of_lane = marks >> i * sigma<V>;
    int const first = of_lane ? __builtin_ctzll(of_lane) : 64;
    int const steps = first < sigma<V> ? first : sigma<V>;
    V const last = sums[sigma<V> * omega<V> + i];
    sums[steps * omega<V> + i] = open + sums[steps * omega<V> + i];
    open = steps < sigma<V> ? last : open + last;
  }
  return open;
}

template <class V, class I, class O>
struct segmented_product {
  O const* ptr;
  I const* col;
  V const* val;
  std::int64_t rows;
  std::int64_t nnz;
  V const* x;
  V* y;
  V alpha;
  V beta;
  bool overwrite;
  int ahead; // bytes of val to prefetch; 0: none

  /// The last row that begins at entry k or before.
  std::int64_t row_of(std::int64_t k) const {
    std::int64_t lo = 0;
    std::int64_t hi = rows;
    while (lo < hi) {
      std::int64_t const mid = (lo + hi + 1) / 2;
      if (static_cast<std::int64_t>(ptr[mid]) <= k)
        lo = mid;
      else
        hi = mid - 1;
    }
    return lo;
  }

  /// Repairs the rows from `row` to `stop`, whose sums were stored in the first `found` of them as
  /// if none was empty.
  void repair(std::int64_t row, std::int64_t stop, V const* sums, std::uint64_t ends, V const* old,
              int found) const {
    for (std::int64_t i = row; i < stop; ++i) {
      V sum{};
      if (ptr[i] != ptr[i + 1]) {
        int const e = __builtin_ctzll(ends);
        ends &= ends - 1;
        sum = sums[places<V>.at[e]];
      }
      if (!overwrite && i - row < found)
        y[i] = old[i - row];
      update(y + i, alpha, sum, beta, overwrite);
    }
  }

  /// The rows after the last whole tile, from `row` on, one by one.
  void last_rows(std::int64_t row, std::int64_t k, bool inside, V open, piece<V>& left) const {
    for (; row < rows; ++row) {
      for (std::int64_t const end = ptr[row + 1]; k < end; ++k)
        open = mul_add(val[k], x[col[k]], open);
      if (inside)
        left = {row, open};
      else
        update(y + row, alpha, open, beta, overwrite);
      inside = false;
      open = V{};
    }
  }

  /// The entries of one row that a tile holds.
  V dot_of_tile(std::int64_t k) const { return dot(val, col, x, k, k + tile_entries, ahead); }

  /// Computes a block; rows that begin and end in it are reported to `done`.
  void block(std::int64_t begin, piece<V>& left, rows_done const* done) const {
    HWY_ALIGN V sums[tile_entries + omega<V>] = {};
    V old[tile_entries];
    V const a = alpha; // copies: the compiler cannot rule out that a store to y changes them
    V const b = beta;
    std::int64_t const end = begin + segment_block < nnz ? begin + segment_block : nnz;
    // The tile before sets the empty rows before it
    std::int64_t row = begin > 0 ? row_of(begin) : 0;
    std::int64_t next = row; // the first that begins at k or after
    // Within a row that began before
    bool inside = begin > 0 && static_cast<std::int64_t>(ptr[row]) < begin;
    next += inside;
    std::int64_t const first = next;
    left.row = -1;
    V open{};
    std::int64_t k = begin;
    for (; k + tile_entries <= end; k += tile_entries) {
      std::int64_t const tile_end = k + tile_entries;
      std::uint64_t marks = 0; // the segment descriptor
      for (; static_cast<std::int64_t>(ptr[next]) < tile_end; ++next)
        marks |= std::uint64_t{1} << (ptr[next] % tile_entries);
      bool const closes = static_cast<std::int64_t>(ptr[next]) == tile_end;
      while (next < rows && static_cast<std::int64_t>(ptr[next + 1]) == tile_end)
        ++next;
      std::int64_t const stop = closes ? next : next - 1;
      if (marks) {
        lane_sums(val + k, col + k, x, marks, ahead, sums);
        open = join_lanes(marks, open, sums);
      } else { // within one row
        open = open + dot_of_tile(k);
        sums[places<V>.at[tile_entries - 1]] = open;
      }
      open = closes ? V{} : open;

      std::uint64_t ends = marks >> 1 | static_cast<std::uint64_t>(closes) << (tile_entries - 1);
      if (inside && ends) {
        int const e = __builtin_ctzll(ends);
        ends &= ends - 1;
        left = {row++, sums[places<V>.at[e]]};
        inside = false;
      }
      int found = 0;
      for (std::uint64_t rest = ends; rest; ++found) {
        int const e = __builtin_ctzll(rest);
        rest &= rest - 1;
        if (!overwrite)
          old[found] = y[row + found];
        update(y + row + found, a, sums[places<V>.at[e]], b, overwrite);
      }
      if (found != stop - row)
        repair(row, stop, sums, ends, old, found);
      row = stop;
    }
    if (end == nnz) {
      last_rows(row, k, inside, open, left);
      row = rows;
    } else if (static_cast<std::int64_t>(ptr[row]) < end) { // goes on in the next block
      if (inside)
        left = {row, open};
      else
        update(y + row, a, open, b, overwrite);
    }
    if (done && first < row)
      (*done)(first, row);
  }
};

template <class V, class I, class O>
void multiply_segments(V alpha, O const* ptr, I const* col, V const* val, std::int64_t rows,
                       std::int64_t nnz, V const* x, V beta, V* y, plan_view const& p) {
  segmented_product<V, I, O> const m{
      ptr, col, val, rows, nnz, x, y, alpha, beta, beta == V{}, p.streaming ? prefetch_bytes : 0};
  auto const blocks = [&](std::int64_t first, std::int64_t last, piece<V>* left) {
    for (std::int64_t u = first; u < last; ++u)
      m.block(u * segment_block, left[u], p.done);
  };
  segment_blocks<V>(nnz, p.threads).run(alpha, y, p.work, blocks, p.done);
}

} // namespace
} // namespace tulle::kernels::TULLE_ISA

// SPDX-License-Identifier: Apache-2.0

// The plan of bicrs_tiles.cuh: where tiles begin, and where the pieces of rows go.
#pragma once
#include "cuda/cub.cuh"
#include "cuda/each.cuh"

#include <limits>

namespace tulle::kernels::cuda {
namespace {

/// The arrays of any of the three formats. D: type of rows and columns; n: slots of a vector.
/// Columns restart at a unit, which is a part of bicrs and a block of the others.
template <int n, class V, class I, class O, class D>
struct increments {
  static constexpr bool in_blocks = !std::is_same_v<D, I>;
  // Windows of 32 vectors per tile. us of cbicrs with 8 and 4, double, H200: rmat 21 16 450, 405;
  // fem 500000 167, 157; lattice 4000000 123, 108; circuit 2000000 234, 268.
  static constexpr int windows = n == 1 ? 4 : 1;
  static constexpr int tile_vectors = windows * 32;
  static constexpr int tile_slots = tile_vectors * n;
  // The type in which distances are added, modulo its size.
  using sum = std::conditional_t<in_blocks, std::uint32_t, std::make_unsigned_t<I>>;

  I rows;
  O stored, jumps;
  std::size_t parts, units;
  I const* part_row;
  O const* part_block; // bicrs: none
  I const *block_row, *block_col;
  O const *unit_ptr, *jump_ptr;
  D const *row, *col;
  V const* val;
  std::uint64_t const* pattern;
  bool has_holes;
  sum jump;        // what it adds to a column
  int height_bits; // rows of a group

  std::size_t pieces(std::size_t tiles) const {
    return (static_cast<std::size_t>(jumps) >> height_bits) + tiles << height_bits;
  }
  __device__ O unit_of(std::size_t part) const {
    return in_blocks ? part_block[part] : static_cast<O>(part);
  }
  __device__ I left(O unit) const {
    return in_blocks ? static_cast<I>(block_col[unit] * static_cast<I>(jump)) : I(0);
  }
  __device__ I top(std::size_t part, O unit) const {
    return in_blocks ? static_cast<I>(part_row[part] + block_row[unit] * static_cast<I>(jump))
                     : part_row[part];
  }
  __device__ std::size_t tiles_of(std::size_t unit) const {
    return ceil_div(static_cast<std::size_t>(unit_ptr[unit + 1] - unit_ptr[unit]),
                    std::size_t{tile_slots});
  }
};

/// The plan. A piece is the part of a row within a tile; pieces of tile t have numbers from
/// (first[t] << height_bits) on.
template <class V, class I, class O>
struct bicrs_plan {
  static constexpr O none = std::numeric_limits<O>::min();

  std::size_t tiles, joined;
  O *begin, *first; // of a tile: slot, the group of pieces
  I* col;           // of its first vector, minus that vector's distance
  unsigned* bits;   // of each window: vectors that begin a group, except for the tile's first
  O* target;        // of a piece: the row of y, or -1 minus its place in part, or none
  I* joined_row;    // rows of none or several pieces
  O* joined_ptr;    // of part
  V* part;

  template <class A>
  bicrs_plan(A const& a, plan_view const& p, carver& work)
      : tiles(static_cast<std::size_t>(p.info[0])), joined(static_cast<std::size_t>(p.info[1])),
        begin(work.take<O>(tiles + 1)), first(work.take<O>(tiles)), col(work.take<I>(tiles)),
        bits(work.take<unsigned>(tiles * A::windows)), target(work.take<O>(a.pieces(tiles))),
        joined_row(work.take<I>(joined)), joined_ptr(work.take<O>(joined + 1)),
        part(work.take<V>(static_cast<std::size_t>(p.info[2]))) {}
};

/// In each lane with `mine`: the number of pieces of its row before it; count has the number per
/// row so far.
template <class I>
__device__ unsigned rank_in_row(bool mine, I row, unsigned* count) {
  unsigned const lanes = __ballot_sync(whole_warp, mine);
  unsigned rank = 0;
  if (mine) {
    unsigned const same = __match_any_sync(lanes, row);
    unsigned const before = count[row];
    unsigned const below = same & ((1u << threadIdx.x % 32) - 1);
    rank = before + static_cast<unsigned>(__popc(below));
    __syncwarp(lanes);
    if (same >> threadIdx.x % 32 == 1) // the last of them
      count[row] = rank + 1;
  }
  __syncwarp();
  return rank;
}

/// One warp per part: counts the pieces of each row and, if `keeps`, writes the plan, with rows as
/// preliminary targets. first_tile: of each unit.
template <bool keeps, int n, class V, class I, class O, class D>
__global__ void walk_kernel(increments<n, V, I, O, D> a, O const* first_tile, unsigned* count,
                            bicrs_plan<V, I, O> to, unsigned* rank) {
  using A = increments<n, V, I, O, D>;
  using S = typename A::sum;
  std::size_t const part = (blockIdx.x * std::size_t{each_threads} + threadIdx.x) / 32;
  if (part >= a.parts)
    return;
  int const lane = threadIdx.x % 32;
  for (O unit = a.unit_of(part); unit < a.unit_of(part + 1); ++unit) {
    O const begin = a.unit_ptr[unit];
    std::int64_t const vectors = (a.unit_ptr[unit + 1] - begin) / n;
    std::int64_t group = a.jump_ptr[unit] >> a.height_bits; // the next
    I row = a.top(part, unit);                              // of the group before
    S col = 0;                                              // of the vector before
    for (std::int64_t at = 0; at < vectors; at += 32) {
      bool const is_there = at + lane < vectors;
      S const by = is_there ? static_cast<S>(a.col[begin + (at + lane) * n]) : S(0);
      // One after the other, since whether a column jumps depends on the column before it.
      S mine = 0;
      bool begins = false;
      for (int k = 0; k < 32; ++k) {
        col = static_cast<S>(col + __shfl_sync(whole_warp, by, k));
        bool const jumps = col >= a.jump;
        col = jumps ? static_cast<S>(col - a.jump) : col;
        if (k == lane) {
          mine = col;
          begins = is_there && (jumps || at + k == 0);
        }
      }
      unsigned const groups = __ballot_sync(whole_warp, begins);
      std::int64_t const g = group + __popc(groups & (0xffffffffu >> (31 - lane))) - 1;
      I const down = begins ? static_cast<I>(a.row[g << a.height_bits]) : I(0);
      I const here = row + inclusive_scan(down);
      group += __popc(groups);
      row = __shfl_sync(whole_warp, here, 31);
      bool const cuts = at % A::tile_vectors == 0;
      std::int64_t const tile =
          static_cast<std::int64_t>(keeps ? first_tile[unit] : O(0)) + at / A::tile_vectors;
      if (keeps && lane == 0) {
        if (cuts) {
          to.begin[tile] = begin + static_cast<O>(at * n);
          to.first[tile] = static_cast<O>(g + tile);
          to.col[tile] = static_cast<I>(a.left(unit) + static_cast<I>(mine) -
                                        static_cast<I>(static_cast<std::make_signed_t<S>>(by)));
        }
        to.bits[tile * A::windows + at % A::tile_vectors / 32] = cuts ? groups & ~1u : groups;
      }
      bool const is_piece = begins || (cuts && lane == 0);
      for (int r = 0; r < 1 << a.height_bits; ++r) {
        I const below = r > 0 && is_piece ? static_cast<I>(a.row[(g << a.height_bits) + r]) : I(0);
        bool const has_row = is_piece && (r == 0 || below != 0);
        unsigned const before = rank_in_row(has_row, static_cast<I>(here + below), count);
        if (keeps && has_row) {
          std::int64_t const piece = (g + tile << a.height_bits) + r;
          to.target[piece] = static_cast<O>(here + below);
          rank[piece] = before;
        }
      }
    }
  }
}

template <bool keeps, int n, class V, class I, class O, class D>
void walk(increments<n, V, I, O, D> const& a, O const* first_tile, unsigned* count,
          bicrs_plan<V, I, O> const& to, unsigned* rank, void* stream) {
  TULLE_CUDA(cudaMemsetAsync, count, 0, static_cast<std::size_t>(a.rows) * sizeof(unsigned),
             static_cast<cudaStream_t>(stream));
  launch(walk_kernel<keeps, n, V, I, O, D>, ceil_div(a.parts, std::size_t{each_threads / 32}),
         each_threads, stream, a, first_tile, count, to, rank);
}

template <int n, class V, class I, class O, class D>
std::size_t prepare_tiles(increments<n, V, I, O, D> const& a, plan_view& p) {
  auto const rows = static_cast<std::size_t>(a.rows);
  p.info[0] = static_cast<std::int64_t>(
      fold<sum>(a.units, p.stream, [=] __device__(std::size_t unit) { return a.tiles_of(unit); }));
  narrow<O>(a.pieces(static_cast<std::size_t>(p.info[0])), "number of pieces of rows");
  scratch<unsigned> const counts(rows, p.stream);
  unsigned* const count = counts.get();
  carver none;
  walk<false>(a, static_cast<O const*>(nullptr), count, bicrs_plan<V, I, O>(a, p, none), count,
              p.stream);
  p.info[1] = static_cast<std::int64_t>(
      fold<sum>(rows, p.stream, [=] __device__(std::size_t i) { return count[i] != 1; }));
  p.info[2] = static_cast<std::int64_t>(fold<sum>(
      rows, p.stream, [=] __device__(std::size_t i) { return count[i] > 1 ? count[i] : 0; }));
  p.method = p.info[1] == 0 ? "tiles" : "tiles, pieces of rows joined";
  carver work;
  bicrs_plan<V, I, O>(a, p, work);
  return work.used();
}

template <int n, class V, class I, class O, class D>
void fill_tiles(increments<n, V, I, O, D> const& a, plan_view const& p) {
  using plan = bicrs_plan<V, I, O>;
  auto const rows = static_cast<std::size_t>(a.rows);
  carver work(p.work);
  plan const to(a, p, work);
  std::size_t const pieces = a.pieces(to.tiles);
  scratch<O> const first_tile(a.units + 1, p.stream), joined(rows + 1, p.stream),
      slot(rows + 1, p.stream);
  scratch<unsigned> const counts(rows, p.stream), ranks(pieces, p.stream);
  unsigned* const count = counts.get();
  unsigned* const rank = ranks.get();
  each(a.units, p.stream, [=, first = first_tile.get()] __device__(std::size_t unit) {
    first[unit] = static_cast<O>(a.tiles_of(unit));
  });
  to_pointers(first_tile.get(), a.units, p.stream);
  each(pieces, p.stream, [=] __device__(std::size_t k) { to.target[k] = plan::none; });
  using A = increments<n, V, I, O, D>;
  TULLE_CUDA(cudaMemsetAsync, to.bits, 0, to.tiles * A::windows * sizeof(unsigned),
             // The last windows of a unit's last tile may not be written.
             static_cast<cudaStream_t>(p.stream));
  walk<true>(a, static_cast<O const*>(first_tile.get()), count, to, rank, p.stream);
  each(rows, p.stream, [=, joined = joined.get(), slot = slot.get()] __device__(std::size_t i) {
    joined[i] = count[i] != 1;
    slot[i] = count[i] > 1 ? static_cast<O>(count[i]) : O(0);
  });
  to_pointers(joined.get(), rows, p.stream);
  to_pointers(slot.get(), rows, p.stream);
  each(rows + 1, p.stream,
       [=, stored = a.stored, joined = joined.get(), slot = slot.get()] __device__(std::size_t i) {
         if (i == rows) {
           to.joined_ptr[to.joined] = slot[i];
           to.begin[to.tiles] = stored;
         } else if (count[i] != 1) {
           to.joined_row[joined[i]] = static_cast<I>(i);
           to.joined_ptr[joined[i]] = slot[i];
         }
       });
  each(pieces, p.stream, [=, slot = slot.get()] __device__(std::size_t k) {
    O const row = to.target[k];
    if (row != plan::none && count[row] > 1)
      to.target[k] = static_cast<O>(-1 - (slot[row] + static_cast<O>(rank[k])));
  });
}

/// The arrays of cbicrs and vbicrs; n: slots of a vector.
template <int n, class View>
auto increments_of(View const& a, int height_bits, std::uint64_t const* pattern) {
  using A = increments<n, typename View::value, typename View::index, typename View::offset,
                       std::int16_t>;
  return A{a.rows,
           a.stored,
           a.jumps,
           a.parts,
           a.blocks,
           a.part_row,
           a.part_block,
           a.block_row,
           a.block_col,
           a.block_ptr,
           a.jump_ptr,
           a.row,
           a.col,
           a.val,
           pattern,
           pattern != nullptr,
           static_cast<std::uint32_t>(a.block),
           height_bits};
}

} // namespace
} // namespace tulle::kernels::cuda

// SPDX-License-Identifier: Apache-2.0

// The path through rows and entries (Merrill & Garland, SC 2016), cut into tiles of a fixed number
// of steps; a step is an entry or a row end. A tile that would end within a short row ends with it.
// Threads are dealt chunks of tiles; a longer row that a tile's end cuts is summed in pieces, and
// the pieces are added in order. Where tiles end depends on the matrix alone, so the bits do not
// depend on the number of threads, one row of any length is shared by all of them, and a million
// empty rows are shared like other work.
#pragma once
#include "kernel/chunks.hpp"
#include "kernel/simd.hpp"
#include "kernel/spmv.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

// 2048 and 32768: within 3 % of 8192 on twelve generated matrices, two threads of Zen 4.
constexpr std::int64_t tile_steps = 8192;
// A path of up to 16 such tiles is cut into about 16 smaller ones, else one thread of two had two
// tiles of three. It stays whole up to tile_steps.
constexpr std::int64_t fewest_tiles = 16, least_tile_steps = 1024;
// Entries of rows that are not cut: two pieces of a row cost as much as 100 entries.
constexpr std::int64_t longest_uncut = 256;
static_assert(longest_uncut < least_tile_steps);

/// The number of rows that end before step `at` of the path. No branch depends on what is found.
template <class O>
HWY_INLINE std::int64_t rows_before(O const* ptr, std::int64_t rows, std::int64_t at) {
  std::int64_t i = 0;
  for (std::int64_t left = rows; left > 0;) { // row r ends at step ptr[r + 1] + r
    std::int64_t const half = (left + 1) / 2;
    std::int64_t const r = i + half - 1;
    i += -static_cast<std::int64_t>(static_cast<std::int64_t>(ptr[r + 1]) + r < at) & half;
    left -= half;
  }
  return i;
}

/// Where a tile begins: with row `row`, or within it.
struct tile_start {
  std::int64_t row;
  std::int64_t entry; // the tile's first; of no meaning where all rows are done
  bool cut;           // the row has entries before that one
};

/// The start of the tile at step `at` of the path; no row before `from` is begun there.
template <class O>
HWY_INLINE tile_start start_of(O const* ptr, std::int64_t rows, std::int64_t at,
                               std::int64_t from = 0) {
  std::int64_t const most = at - from - static_cast<std::int64_t>(ptr[from]); // rows of no entry
  std::int64_t const i =
      from + rows_before(ptr + from, rows - from < most ? rows - from : most, at - from);
  std::int64_t const begin = ptr[i], k = at - i;
  if (i == rows || k <= begin)
    return {i, begin, false};
  std::int64_t const end = ptr[i + 1];
  return end - begin <= longest_uncut ? tile_start{i + 1, end, false} : tile_start{i, k, true};
}

/// What a chunk of tiles leaves when all have ended.
template <class V>
struct chunk_end {
  bool fresh;       // begun by a thread that did not run the chunk before it: a seam
  std::int64_t row; // open at the chunk's end, where that is a seam; -1: none
  V sum;            // of that row so far
};

/// How tiles are dealt, and the layout of the workspace: one piece per tile, one end per chunk, one
/// share per thread.
template <class V>
struct rows_layout {
  std::int64_t steps; // per tile
  std::int64_t tiles;
  std::int64_t chunks;
  std::size_t ends_at;
  std::size_t shares_at;
  std::size_t bytes;

  rows_layout(std::int64_t rows, std::int64_t nnz, int threads)
      : steps(steps_of(rows + nnz)), tiles(tiles_of(rows + nnz, steps)),
        chunks(tiles < threads * chunks_per_thread ? tiles : threads * chunks_per_thread) {
    ends_at = after(static_cast<std::size_t>(tiles) * sizeof(V));
    shares_at = ends_at + after(static_cast<std::size_t>(chunks) * sizeof(chunk_end<V>));
    bytes = tiles > 1 ? shares_at + static_cast<std::size_t>(threads) * sizeof(share) : 0;
  }
  static constexpr std::size_t after(std::size_t n) { return (n + 63) / 64 * 64; }
  static std::int64_t steps_of(std::int64_t path) {
    if (path <= tile_steps || path >= fewest_tiles * tile_steps)
      return tile_steps;
    std::int64_t const even = (path / fewest_tiles + 127) / 128 * 128;
    return even > least_tile_steps ? even : least_tile_steps;
  }
  // Small matrices are multiplied in less time than a division takes.
  static std::int64_t tiles_of(std::int64_t path, std::int64_t steps) {
    return path <= tile_steps ? path > 0 : (path + steps - 1) / steps;
  }
  std::int64_t first_tile(std::int64_t chunk) const { return tiles * chunk / chunks; }
};

template <class V>
std::size_t rows_workspace(std::int64_t rows, std::int64_t nnz, int threads) {
  return rows_layout<plain<V>>(rows, nnz, threads).bytes;
}

/// Rows that chunks of different threads share, pieces in order: the same additions as if one
/// thread had gone through. head: of each tile, the piece of a row that was open when it began.
template <class V, class O>
void join_seams(rows_layout<V> const& layout, V const* head, chunk_end<V> const* ends, V alpha,
                O const* ptr, std::int64_t rows, V beta, V* y, bool overwrite, plan_view const& p) {
  V sum{};
  for (std::int64_t chunk = 0; chunk < layout.chunks;) {
    std::int64_t next = chunk + 1; // the next seam: one thread ran all chunks before it
    while (next < layout.chunks && !ends[next].fresh)
      ++next;
    std::int64_t tile = layout.first_tile(chunk);
    std::int64_t const last = layout.first_tile(next);
    tile_start const from = start_of(ptr, rows, tile * layout.steps);
    if (from.cut) {
      std::int64_t const i = from.row;
      std::int64_t const row_end = static_cast<std::int64_t>(ptr[i + 1]) + i; // a step of the path
      for (; tile < last && row_end >= (tile + 1) * layout.steps; ++tile)
        sum = sum + head[tile];
      if (tile < last) {
        update(y + i, alpha, sum + head[tile], beta, overwrite);
        if (p.done)
          (*p.done)(i, i + 1);
      }
    }
    if (ends[next - 1].row >= 0)
      sum = ends[next - 1].sum;
    chunk = next;
  }
}

} // namespace
} // namespace tulle::kernels::TULLE_ISA

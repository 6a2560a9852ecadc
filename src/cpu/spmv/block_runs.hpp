// SPDX-License-Identifier: Apache-2.0

// y = alpha*A*x + beta*y over blocks in the order of their block rows: bcoo, bccoo.
//
// Blocks are cut into tiles of a fixed number. A tile sums its runs of one block row; a block row
// that a tile's end cuts is summed in pieces, joined in order when all tiles have ended. The tile
// in which a block row ends also sets the empty block rows after it. Runs are summed by the
// functions of bcsr.cpp for the shape.
#pragma once
#include "cpu/spmv/block_parts.hpp"
#include "cpu/spmv/rows.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

constexpr std::int64_t run_slots = 8192; // of a tile; as tile_steps in rows.hpp

template <class V>
struct run_ends {
  std::int64_t head_end; // first block after the run that was open when the tile began; -1: none
  bool head_done;        // the tile ended it
  bool has_tail;         // the tile began a run that it did not end
  V head[side], tail[side];
};

struct runs_layout {
  std::int64_t blocks, tiles, chunks; // blocks of a tile
  std::size_t shares_at, bytes;

  template <class View>
  runs_layout(View const& a, int threads) : blocks(run_slots / (a.height * a.width)) {
    tiles = (a.blocks + blocks - 1) / blocks;
    tiles = tiles > 0 ? tiles : 1; // a tile also sets the rows without entries
    chunks = tiles < threads * chunks_per_thread ? tiles : threads * chunks_per_thread;
    shares_at =
        (static_cast<std::size_t>(tiles) * sizeof(run_ends<typename View::value>) + 63) / 64 * 64;
    bytes = shares_at + static_cast<std::size_t>(threads) * sizeof(share);
  }
};

/// Rows names block rows: of(k) is that of block k, ends(k) says whether k is its last block,
/// run_end(k, end) is the block after its last one, or `end`.
template <class View, class Rows, bool single>
struct run_product {
  using V = typename View::value;
  using I = typename View::index;
  View const& a;
  Rows rows;
  std::int64_t block_rows;
  V alpha, beta;
  bool overwrite;
  V const* x;
  V* y;
  std::int64_t ahead;
  sum_function<V, I> sum_of_blocks;
  std::int64_t last_col;

  /// Blocks [k, end) of one block row.
  HWY_INLINE void sum(std::int64_t k, std::int64_t end, V* out) const {
    if constexpr (single) {
      if (end - k >= vector_from) {
        out[0] = dot(a.val, a.block_col, x, k, end, ahead);
        return;
      }
      V s{}; // like dot(), without the call
      for (; k < end; ++k)
        s = mul_add(a.val[k], x[a.block_col[k]], s);
      out[0] = s;
    } else {
      std::int64_t const stop = safe_end(a.block_col, k, end, a.blocks, last_col);
      sum_of_blocks(a.val, a.block_col, x, k, stop, a.height, ahead, out);
      if (stop < end)
        add_copied(a.val, a.block_col, x, a.cols, stop, end, a.height, a.width, sum_of_blocks, out);
    }
  }
  /// Block row i, which ends before block `end` and whose sums are done.
  HWY_INLINE void finish(std::int64_t i, std::int64_t end, V* sum) const {
    int const h = single ? 1 : a.height;
    if (a.pattern && has_nan(sum, h)) {
      std::int64_t begin = end - 1;
      while (begin > 0 && !rows.ends(begin - 1))
        --begin;
      without_holes(a.val, a.block_col, a.pattern, x, begin, end, h, a.width, sum);
    }
    std::int64_t const top = i * h;
    int const n = a.rows - top < h ? static_cast<int>(a.rows - top) : h;
    for (int r = 0; r < n; ++r)
      update(y + top + r, alpha, sum[r], beta, overwrite);
  }
  /// The block row of block k; the rows of those from `first` up to it have no blocks.
  HWY_INLINE std::int64_t skip(std::int64_t first, std::int64_t k) const {
    std::int64_t const last = k < a.blocks ? rows.of(k) : block_rows;
    if (first != last) {
      std::int64_t const end = last * a.height < a.rows ? last * a.height : a.rows;
      for (std::int64_t i = first * a.height; i < end; ++i)
        update(y + i, alpha, V{}, beta, overwrite);
    }
    return last;
  }

  void tile(std::int64_t begin, std::int64_t end, run_ends<V>& left) const {
    left.head_end = -1;
    left.has_tail = false;
    std::int64_t k = begin;
    std::int64_t i = begin == 0 ? skip(0, 0) : rows.of(begin);
    if (k > 0 && !rows.ends(k - 1)) {
      k = rows.run_end(k, end);
      sum(begin, k, left.head);
      left.head_end = k;
      left.head_done = rows.ends(k - 1);
      if (left.head_done)
        i = skip(i + 1, k);
    }
    while (k < end) {
      std::int64_t const from = k;
      k = rows.run_end(k, end);
      if (!rows.ends(k - 1)) {
        sum(from, k, left.tail);
        left.has_tail = true;
        return;
      }
      V sums[side];
      sum(from, k, sums);
      finish(i, k, sums);
      i = skip(i + 1, k);
    }
  }
};

template <bool single, class V, class View, class Rows>
void multiply_runs_of(V alpha, View const& a, Rows const& rows, V const* x, V beta, V* y,
                      plan_view const& p) {
  using I = typename View::index;
  runs_layout const layout(a, p.threads);
  sum_function<V, I> sum_of_blocks = nullptr;
  int reach = 1;
  if (!single)
    find_block_sum(a.height, a.width, sum_of_blocks, reach);
  run_product<View, Rows, single> const q = {a,
                                             rows,
                                             (a.rows + std::int64_t(a.height) - 1) / a.height,
                                             alpha,
                                             beta,
                                             beta == V{},
                                             x,
                                             y,
                                             p.streaming ? prefetch_bytes : 0,
                                             sum_of_blocks,
                                             last_safe_column(a.cols, reach, a.width)};
  auto* const ends = static_cast<run_ends<V>*>(p.work);
  chunk_queue queue(reinterpret_cast<share*>(static_cast<char*>(p.work) + layout.shares_at),
                    p.threads, layout.chunks);
  parallel(p.threads, [&](int t) {
    auto const mine = q; // a copy, so that its members stay in registers while y is written
    for (std::int64_t c; (c = queue.take(t)) >= 0;)
      for (std::int64_t tile = layout.tiles * c / layout.chunks;
           tile < layout.tiles * (c + 1) / layout.chunks; ++tile) {
        std::int64_t const begin = tile * layout.blocks;
        std::int64_t const left = a.blocks - begin;
        mine.tile(begin, begin + (left < layout.blocks ? left : layout.blocks), ends[tile]);
      }
  });
  V sum[side] = {};
  for (std::int64_t tile = 0; tile < layout.tiles; ++tile) {
    run_ends<V> const& left = ends[tile];
    if (left.head_end >= 0) {
      for (int r = 0; r < a.height; ++r)
        sum[r] = sum[r] + left.head[r];
      if (left.head_done)
        q.finish(rows.of(left.head_end - 1), left.head_end, sum);
    }
    if (left.has_tail)
      for (int r = 0; r < a.height; ++r)
        sum[r] = left.tail[r];
  }
}

template <class View>
std::size_t prepare_runs(View const& a, plan_view& p) {
  if (p.transposed)
    return prepare_block_scatter<typename View::value>(a, p);
  p.method = a.height == 1 && a.width == 1 ? "runs" : "runs of blocks";
  return runs_layout(a, p.threads).bytes;
}

template <class V, class View, class Rows>
void multiply_runs(V alpha, View const& a, Rows const& rows, V const* x, V beta, V* y,
                   plan_view const& p) {
  if (p.transposed)
    return multiply_scatter(alpha, static_cast<std::int64_t>(a.cols),
                            static_cast<std::int64_t>(a.blocks), beta, y, p,
                            [&](std::int64_t k, std::int64_t end, V* out) {
                              auto const blocks = a.as_bcsr(nullptr);
                              while (k < end) {
                                std::int64_t const stop = rows.run_end(k, end);
                                scatter_blocks(blocks, rows.of(k), k, stop, x, out);
                                k = stop;
                              }
                            });
  if (a.height == 1 && a.width == 1 && !a.pattern)
    multiply_runs_of<true>(alpha, a, rows, x, beta, y, p);
  else
    multiply_runs_of<false>(alpha, a, rows, x, beta, y, p);
}

} // namespace
} // namespace tulle::kernels::TULLE_ISA

// SPDX-License-Identifier: Apache-2.0

// src/cpu/spmv/bcsr.cpp:  y = alpha*A*x + beta*y, A in BCSR.
//
// A row of a block is a vector times consecutive elements of x: no gather, and x is loaded once for
// all rows of a block (Im & Yelick's register blocking). Sums are vectors, folded at the end of a
// block row. The path through block rows and blocks is cut into tiles as in rows.hpp; a block row
// that a tile's end cuts is summed in pieces, joined in order when all tiles have ended.
//
// Bytes that must move, double with 32-bit indices and 3 x 3 blocks: 8.44 per slot, 9.3 per row and
// 8 per column, so at best 1.42 times csr's bound; with 8 x 8 blocks 1.49 times.
//
// Holes are multiplied: 0 times a finite x adds nothing, and 0 times Inf or NaN shows as a NaN in
// the sum, whose row is then computed again from the pattern.
#include "tulle/format/bcsr.hpp"

#include "cpu/spmv/bcsr_symmetric.hpp"
#include "cpu/spmv/block_parts.hpp"
#include "cpu/spmv/blocks.hpp"
#include "cpu/spmv/rows.hpp"
#include "cpu/spmv/scatter.hpp"
#include "kernel/instantiate.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

constexpr std::int64_t tile_slots = 8192; // slots of a tile's blocks and block rows, approximately

template <class V>
struct tile_ends {
  std::int64_t head_row; // block row that was open when the tile began; -1: none
  std::int64_t tail_row; // block row that the tile began and did not end; -1: none
  bool head_done;        // the tile ended it
  V head[side], tail[side];
};

template <class V, class I, class O>
struct product {
  O const* ptr;
  I const* col;
  V const* val;
  std::uint64_t const* pattern;
  std::int64_t rows, cols, block_rows, blocks;
  int h, w;
  V alpha, beta;
  bool overwrite;
  V const* x;
  V* y;
  std::int64_t steps; // of the path, a tile
  std::int64_t ahead; // prefetch distance in bytes; 0: none
  tile_ends<V>* ends;
};

/// Blocks::sum, not inlined into the loop over block rows.
template <class Blocks, class V, class I>
HWY_NOINLINE void sum_apart(V const* val, I const* col, V const* x, std::int64_t k,
                            std::int64_t end, int h, std::int64_t ahead, V* out) {
  Blocks::sum(val, col, x, k, end, h, ahead, out);
}

/// Blocks [k, end) of one block row times x; `whole` where the block row is not cut by a tile.
template <class Blocks, bool whole, class V, class I, class O>
HWY_INLINE void sum_blocks(product<V, I, O> const& q, std::int64_t k, std::int64_t end,
                           std::int64_t last_col, V* out) {
  std::int64_t const stop = safe_end(q.col, k, end, q.blocks, last_col);
  if constexpr (whole)
    Blocks::sum(q.val, q.col, q.x, k, stop, q.h, q.ahead, out);
  else
    sum_apart<Blocks>(q.val, q.col, q.x, k, stop, q.h, 0, out);
  if (stop < end)
    add_copied(q.val, q.col, q.x, q.cols, stop, end, q.h, q.w, sum_apart<Blocks, V, I>, out);
}

/// y of block row i, whose sums are done.
template <class V, class I, class O>
HWY_INLINE void finish(product<V, I, O> const& q, std::int64_t i, int h, V* sum) {
  std::int64_t const top = i * h;
  if (q.pattern && has_nan(sum, h))
    without_holes(q.val, q.col, q.pattern, q.x, q.ptr[i], q.ptr[i + 1], q.h, q.w, sum);
  if (top + h <= q.rows) {
    for (int r = 0; r < h; ++r)
      update(q.y + top + r, q.alpha, sum[r], q.beta, q.overwrite);
  } else {
    for (int r = 0; top + r < q.rows; ++r)
      update(q.y + top + r, q.alpha, sum[r], q.beta, q.overwrite);
  }
}

/// The same for any height. Not inlined, since the loops of its callers would grow.
template <class V, class I, class O>
HWY_NOINLINE void finish_any(product<V, I, O> const& q, std::int64_t i, V* sum) {
  finish(q, i, q.h, sum);
}

/// One tile, which begins in block row i at block k; sets both to where the next tile begins.
template <class Blocks, int H, class V, class I, class O>
void run_tile(product<V, I, O> const& q, std::int64_t tile, std::int64_t& i, std::int64_t& k) {
  std::int64_t const end = (tile + 1) * q.steps; // of the path
  std::int64_t const last_col = last_safe_column(q.cols, Blocks::reach, q.w);
  tile_ends<V>& ends = q.ends[tile];
  ends.head_row = ends.tail_row = -1;
  if (i < q.block_rows && k > static_cast<std::int64_t>(q.ptr[i])) {
    std::int64_t const row_end = q.ptr[i + 1];
    ends.head_row = i;
    ends.head_done = row_end + i < end;
    std::int64_t const stop = ends.head_done ? row_end : end - i;
    sum_blocks<Blocks, false>(q, k, stop, last_col, ends.head);
    k = stop;
    if (!ends.head_done)
      return;
    ++i;
  }
  for (; i < q.block_rows; ++i) {
    std::int64_t const row_end = q.ptr[i + 1];
    if (row_end + i >= end)
      break;
    V sum[side];
    sum_blocks<Blocks, true>(q, k, row_end, last_col, sum);
    if constexpr (H != 0)
      finish(q, i, H, sum);
    else
      finish_any(q, i, sum);
    k = row_end;
  }
  if (i < q.block_rows && k < end - i) {
    ends.tail_row = i;
    sum_blocks<Blocks, false>(q, k, end - i, last_col, ends.tail);
    k = end - i;
  }
}

struct blocks_layout {
  std::int64_t steps, tiles, chunks;
  std::size_t shares_at, bytes;

  template <class V, class I, class O>
  blocks_layout(bcsr_view<V, I, O> const& a, int threads)
      : steps(tile_slots / (a.height * a.width)),
        tiles((a.blocks + (a.rows + std::int64_t(a.height) - 1) / a.height + steps - 1) / steps),
        chunks(tiles < threads * chunks_per_thread ? tiles : threads * chunks_per_thread) {
    shares_at = (static_cast<std::size_t>(tiles) * sizeof(tile_ends<V>) + 63) / 64 * 64;
    bytes = shares_at + static_cast<std::size_t>(threads) * sizeof(share);
  }
  std::int64_t first_tile(std::int64_t chunk) const { return tiles * chunk / chunks; }
};

template <class V, class I, class O>
using tile_function = void (*)(product<V, I, O> const&, std::int64_t, std::int64_t&, std::int64_t&);

/// Calls f.template of<Blocks, H>() for that shape: usual squares have their own code, others that
/// of their width, with H == 0 for any height.
template <class V, class I, class F>
auto with_blocks(int h, int w, F f) {
  if (h == w)
    switch (h) {
#define TULLE_SQUARE(n)                                                                            \
  case n:                                                                                          \
    return f.template of<blocks_of<n, n, V, I>, n>();
    case 2:
      if constexpr (most_lanes<V> >= 4)
        return f.template of<pairs_of<V, I>, 2>();
      else
        return f.template of<blocks_of<2, 2, V, I>, 2>();
      TULLE_SQUARE(3)
      TULLE_SQUARE(4)
      TULLE_SQUARE(6)
      TULLE_SQUARE(8)
#undef TULLE_SQUARE
    }
  switch (w) {
#define TULLE_WIDTH(n)                                                                             \
  case n:                                                                                          \
    return f.template of<blocks_of<0, n, V, I>, 0>();
    TULLE_WIDTH(2)
    TULLE_WIDTH(3)
    TULLE_WIDTH(4)
    TULLE_WIDTH(5)
    TULLE_WIDTH(6)
    TULLE_WIDTH(7)
    TULLE_WIDTH(8)
#undef TULLE_WIDTH
  }
  return h <= 2   ? f.template of<columns_of<2, V, I>, 0>()
         : h <= 4 ? f.template of<columns_of<4, V, I>, 0>()
                  : f.template of<columns_of<8, V, I>, 0>();
}

template <class V, class I, class O>
struct tile_for {
  template <class Blocks, int H>
  tile_function<V, I, O> of() const {
    return run_tile<Blocks, H, V, I, O>;
  }
};
template <class V, class I>
struct sum_for {
  int& reach;
  template <class Blocks, int>
  sum_function<V, I> of() const {
    reach = Blocks::reach;
    return sum_apart<Blocks, V, I>;
  }
};

template <class V, class I, class O>
void multiply_blocks(V alpha, bcsr_view<V, I, O> const& a, V const* x, V beta, V* y,
                     plan_view const& p) {
  blocks_layout const layout(a, p.threads);
  char* const work = static_cast<char*>(p.work);
  product<V, I, O> const q = {a.block_ptr,
                              a.block_col,
                              a.val,
                              a.pattern,
                              a.rows,
                              a.cols,
                              (a.rows + std::int64_t(a.height) - 1) / a.height,
                              a.blocks,
                              a.height,
                              a.width,
                              alpha,
                              beta,
                              beta == V{},
                              x,
                              y,
                              layout.steps,
                              p.streaming ? prefetch_bytes : 0,
                              reinterpret_cast<tile_ends<V>*>(work)};
  chunk_queue queue(reinterpret_cast<share*>(work + layout.shares_at), p.threads, layout.chunks);
  auto const run = with_blocks<V, I>(a.height, a.width, tile_for<V, I, O>());
  parallel(p.threads, [&](int t) {
    std::int64_t i = 0;
    std::int64_t k = 0;
    std::int64_t previous = -1;
    for (std::int64_t chunk; (chunk = queue.take(t)) >= 0; previous = chunk) {
      std::int64_t const first = layout.first_tile(chunk);
      if (chunk != previous + 1) {
        i = rows_before(q.ptr, q.block_rows, first * q.steps);
        k = first * q.steps - i;
      }
      for (std::int64_t tile = first; tile < layout.first_tile(chunk + 1); ++tile)
        run(q, tile, i, k);
    }
  });
  V sum[side] = {};
  for (std::int64_t tile = 0; tile < layout.tiles; ++tile) {
    tile_ends<V> const& ends = q.ends[tile];
    if (ends.head_row >= 0) {
      for (int r = 0; r < q.h; ++r)
        sum[r] = sum[r] + ends.head[r];
      if (ends.head_done)
        finish_any(q, ends.head_row, sum);
    }
    if (ends.tail_row >= 0)
      for (int r = 0; r < q.h; ++r)
        sum[r] = ends.tail[r];
  }
}

template <class V, class I, class O>
std::size_t prepare(bcsr_view<V, I, O> const& a, plan_view& p) {
  if (a.symmetric)
    return prepare_symmetric_bcsr(a, p);
  if (p.transposed)
    return prepare_block_scatter<V>(a, p);
  if (a.height == 1 && a.width == 1) {
    p.method = "rows";
    return rows_workspace<V>(a.rows, a.nnz, p.threads);
  }
  p.method = "blocks";
  return blocks_layout(a, p.threads).bytes;
}

/// Blocks [k, end) of block row i, each transposed, times x: added to out.
template <int W, class V, class I, class O>
void scatter_row(bcsr_view<V, I, O> const& a, std::int64_t i, std::int64_t k, std::int64_t end,
                 V const* x, V* out) {
  int const h = a.height;
  int const rows = a.rows - i * h < h ? static_cast<int>(a.rows - i * h) : h;
  V xs[side];
  V product_of_zeros{};
  for (int r = 0; r < rows; ++r) {
    xs[r] = x[i * h + r];
    product_of_zeros = product_of_zeros + V{} * xs[r];
  }
  // Holes may be multiplied where that gives 0.
  bool const dense = !a.pattern || product_of_zeros == V{};
  for (; k < end; ++k) {
    V const* const v = a.val + k * h * W;
    std::int64_t const left = static_cast<std::int64_t>(a.block_col[k]) * W;
    V* const to = out + left;
    if (dense && left + W <= a.cols) {
      V s[W];
#pragma GCC unroll 8
      for (int j = 0; j < W; ++j)
        s[j] = to[j];
      for (int r = 0; r < rows; ++r)
#pragma GCC unroll 8
        for (int j = 0; j < W; ++j)
          s[j] = mul_add(v[r * W + j], xs[r], s[j]);
#pragma GCC unroll 8
      for (int j = 0; j < W; ++j)
        to[j] = s[j];
      continue;
    }
    // A block that reaches beyond the last column has holes, so there is a pattern.
    for (int r = 0; r < rows; ++r) {
      std::uint64_t const bits =
          detail::bits_at(a.pattern, static_cast<std::size_t>((k * h + r) * W), W);
      for (int j = 0; j < W; ++j)
        if (bits >> j & 1)
          to[j] = mul_add(v[r * W + j], xs[r], to[j]);
    }
  }
}

template <class V, class I, class O>
void multiply_transposed(V alpha, bcsr_view<V, I, O> const& a, V const* x, V beta, V* y,
                         plan_view const& p) {
  multiply_scatter(alpha, a.cols, a.blocks, beta, y, p,
                   [&](std::int64_t begin, std::int64_t end, V* out) {
                     if (begin == end)
                       return;
                     std::int64_t lo = 0; // the block row that holds block `begin`
                     std::int64_t hi = (a.rows + std::int64_t(a.height) - 1) / a.height;
                     while (hi - lo > 1) {
                       std::int64_t const mid = (lo + hi) / 2;
                       if (static_cast<std::int64_t>(a.block_ptr[mid]) <= begin)
                         lo = mid;
                       else
                         hi = mid;
                     }
                     for (std::int64_t i = lo, k = begin; k < end; ++i) {
                       std::int64_t const row_end = a.block_ptr[i + 1];
                       std::int64_t const stop = row_end < end ? row_end : end;
                       scatter_blocks(a, i, k, stop, x, out);
                       k = stop;
                     }
                   });
}

template <class V, class I, class O>
void spmv(V alpha, bcsr_view<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p) {
  if (a.symmetric)
    multiply_symmetric_bcsr(alpha, a, x, beta, y, p);
  else if (p.transposed)
    multiply_transposed(alpha, a, x, beta, y, p);
  else if (a.height == 1 && a.width == 1)
    multiply_rows(alpha, a.block_ptr, a.block_col, a.val, a.rows, a.nnz, x, beta, y, p);
  else if (a.rows != 0)
    multiply_blocks(alpha, a, x, beta, y, p);
}

} // namespace

#define TULLE_BLOCKS(tag, V, I, O)                                                                 \
  void find_block_sum(int h, int w, sum_function<V, I>& sum, int& reach) {                         \
    sum = with_blocks<V, I>(h, w, sum_for<V, I>{reach});                                           \
  }                                                                                                \
  void scatter_blocks(bcsr_view<V, I, O> const& a, std::int64_t i, std::int64_t k,                 \
                      std::int64_t end, V const* x, V* out) {                                      \
    using function = void (*)(bcsr_view<V, I, O> const&, std::int64_t, std::int64_t, std::int64_t, \
                              V const*, V*);                                                       \
    static constexpr function by_width[] = {scatter_row<1, V, I, O>, scatter_row<2, V, I, O>,      \
                                            scatter_row<3, V, I, O>, scatter_row<4, V, I, O>,      \
                                            scatter_row<5, V, I, O>, scatter_row<6, V, I, O>,      \
                                            scatter_row<7, V, I, O>, scatter_row<8, V, I, O>};     \
    by_width[a.width - 1](a, i, k, end, x, out);                                                   \
  }
TULLE_TYPES(TULLE_BLOCKS)
#undef TULLE_BLOCKS

TULLE_INSTANTIATE_SPMV(bcsr)

} // namespace tulle::kernels::TULLE_ISA

// SPDX-License-Identifier: Apache-2.0

// y = alpha*A*x + beta*y where the entries of each y are contiguous: csr, and the transpose of csc.
//
// Threads are dealt the tiles of row_tiles.hpp. The whole rows of a tile are taken in blocks, each
// by the loop of row_loops.hpp that suits it; the rows that a tile cuts are summed as wide ones.
// Blocks depend on the matrix alone, and what a plan knows changes no bit.
#pragma once
#include "tulle/core/types.def"

#include "cpu/spmv/rows_plan.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

// Tiles per call of plan_view::done: their y is in L2. With one, pending entries of dynamic_csr
// take twice as long on fem 50000.
constexpr std::int64_t tiles_told = 4;

/// One product by rows.
template <bool streaming, class V, class I, class O>
struct rows_product {
  O const* ptr;
  I const* col;
  V const* val;
  std::int64_t rows;
  std::int64_t nnz;
  V const* x;
  V* y;
  V alpha, beta;
  bool overwrite;
  rows_plan plan;
  bool far; // is_far(), where there is no plan

  /// A piece of a row that a tile cuts.
  V piece(std::int64_t tile, std::int64_t k, std::int64_t end) const {
    return wide_sum<streaming>(val, col, x, k, end, nnz, plan.runs && plan.runs[tile]);
  }

  /// The start of the tile after the one that begins at `from`.
  tile_start after(tile_start const& from, std::int64_t tile, std::int64_t steps) const {
    return plan.starts ? plan.starts[tile + 1] : start_of(ptr, rows, (tile + 1) * steps, from.row);
  }

  /// Whole rows [i, end) of a tile, in blocks.
  void whole_rows(std::int64_t tile, std::int64_t i, std::int64_t end) const {
    for (std::int64_t b = rows_plan::at(tile, i); i < end; ++b, i += block_rows) {
      int const n = static_cast<int>(end - i < block_rows ? end - i : block_rows);
      row_block<V, I, O> block{ptr + i, n, col, val, nnz, x, y + i, alpha, beta, overwrite};
      block_kind kind;
      if (plan.blocks) {
        kind = plan.blocks[b].kind;
        block.how = plan.blocks[b].how;
        for (int w = 0; w < block_rows / 64; ++w)
          block.related[w] = plan.related[b][w];
      } else {
        kind = kind_of<V>(ptr + i, n, rows, far);
      }
      run_block<streaming>(kind, block);
    }
  }
};

template <bool streaming, class V, class I, class O>
void rows_loop(rows_product<streaming, V, I, O> const& a, plan_view const& p) {
  O const* const ptr = a.ptr;
  std::int64_t const rows = a.rows;
  V* const y = a.y;
  V const alpha = a.alpha, beta = a.beta;
  bool const overwrite = a.overwrite;
  rows_layout<V> const layout(rows, a.nnz, p.threads);
  if (layout.tiles <= 1) {
    a.whole_rows(0, 0, rows);
    if (p.done)
      (*p.done)(0, rows);
    return;
  }
  char* const work = static_cast<char*>(p.work);
  V* const head = reinterpret_cast<V*>(work); // piece of a row that was open when the tile began
  auto* const ends = reinterpret_cast<chunk_end<V>*>(work + layout.ends_at);
  chunk_queue queue(reinterpret_cast<share*>(work + layout.shares_at), p.threads, layout.chunks);
  parallel(p.threads, [&](int t) {
    tile_start at{};       // where the next tile begins
    bool is_open = false;  // this thread began the row that is cut there
    V sum{};               // of that row so far
    std::int64_t told = 0; // rows before it are done, or done by another thread
    auto const tell = [&] {
      if (p.done && told < at.row) {
        (*p.done)(told, at.row);
        told = at.row;
      }
    };
    auto const leave = [&](std::int64_t chunk) {
      ends[chunk].row = is_open ? at.row : -1;
      ends[chunk].sum = sum;
    };
    std::int64_t previous = -2;
    for (std::int64_t chunk; (chunk = queue.take(t)) >= 0; previous = chunk) {
      std::int64_t const first = layout.first_tile(chunk);
      std::int64_t const last = layout.first_tile(chunk + 1);
      ends[chunk].fresh = chunk != previous + 1;
      if (ends[chunk].fresh) {
        if (previous >= 0)
          leave(previous);
        at = a.plan.starts ? a.plan.starts[first] : start_of(ptr, rows, first * layout.steps);
        is_open = false;
        told = at.row + at.cut;
      }
      for (std::int64_t tile = first; tile < last; ++tile) {
        tile_start const from = at;
        at = a.after(from, tile, layout.steps);
        std::int64_t i = from.row;
        if (from.cut) { // the row that was open, up to its end or the tile's end
          bool const done = at.row > i;
          V const piece = a.piece(tile, from.entry, done ? ptr[i + 1] : at.entry);
          if (!is_open)
            head[tile] = piece; // another thread began it
          else
            sum = sum + piece;
          if (!done)
            continue;
          if (is_open)
            update(y + i, alpha, sum, beta, overwrite);
          is_open = false;
          ++i;
        }
        a.whole_rows(tile, i, at.row);
        if (at.cut) {
          sum = a.piece(tile, ptr[at.row], at.entry);
          is_open = true;
        }
        if ((tile + 1) % tiles_told == 0)
          tell();
      }
      tell();
    }
    if (previous >= 0)
      leave(previous);
  });

  join_seams(layout, head, ends, alpha, ptr, rows, beta, y, overwrite, p);
}

template <class V, class I, class O>
void product_by_rows(V alpha, O const* ptr, I const* col, V const* val, std::int64_t rows,
                     std::int64_t nnz, V const* x, V beta, V* y, plan_view const& p,
                     rows_plan const& plan = {}) {
  if (rows == 0)
    return;
  auto const multiply = [&](auto const& a) { rows_loop(a, p); };
  using W = plain<V>;
  W const b = *as_plain(&beta);
  bool const far = !plan.blocks && is_far(ptr, col, rows);
  if (p.from_memory)
    multiply(rows_product<true, W, I, O>{ptr, col, as_plain(val), rows, nnz, as_plain(x),
                                         as_plain(y), *as_plain(&alpha), b, b == W{}, plan, far});
  else
    multiply(rows_product<false, W, I, O>{ptr, col, as_plain(val), rows, nnz, as_plain(x),
                                          as_plain(y), *as_plain(&alpha), b, b == W{}, plan, far});
}

/// What prepare() and fill() do for a matrix with rows of this kind; plan_view::info[0] is where
/// the workspace holds the plan of rows, 0: there is none.
template <class V>
std::size_t prepare_rows(std::int64_t rows, std::int64_t nnz, plan_view& p) {
  rows_layout<plain<V>> const layout(rows, nnz, p.threads);
  p.method = "rows";
  if (p.once || is_pair<plain<V>> || nnz == 0)
    return layout.bytes;
  p.one_pattern = true;
  p.info[0] = static_cast<std::int64_t>(layout.after(layout.bytes) + 64);
  return static_cast<std::size_t>(p.info[0]) + rows_plan::bytes(rows, layout.tiles);
}
template <class V>
rows_plan plan_of(std::int64_t rows, std::int64_t nnz, plan_view const& p) {
  if (p.info[0] == 0)
    return {};
  return {static_cast<char*>(p.work) + p.info[0], rows,
          rows_layout<plain<V>>(rows, nnz, p.threads).tiles};
}
template <class V, class I, class O>
void fill_rows(O const* ptr, I const* col, V const* val, std::int64_t rows, std::int64_t nnz,
               plan_view& p) {
  if (p.info[0] == 0)
    return;
  rows_plan const plan = plan_of<V>(rows, nnz, p);
  rows_layout<plain<V>> const layout(rows, nnz, p.threads);
  plan_rows(plan, layout, ptr, col, as_plain(val), rows, nnz, p.threads, p.from_memory);
  describe_rows(plan, layout.tiles);
  p.method = plan.text;
}

} // namespace

} // namespace tulle::kernels::TULLE_ISA

// SPDX-License-Identifier: Apache-2.0

// What a plan knows of CSR rows: for each block of them its kind and how its columns are related,
// for each tile whether the columns of each of its rows follow one another.
#pragma once
#include "cpu/spmv/row_relations.hpp"
#include "cpu/spmv/row_tiles.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

constexpr int text_bytes = 192; // of plan_view::method

/// Blocks of tile t, whose first whole row is i, are at(t, i) and those after it: block_rows rows
/// each, the last one fewer. Lies in memory of the plan; all nullptr without one.
struct rows_plan {
  tile_start* starts = nullptr; // of each tile and of the end
  block_choice* blocks = nullptr;
  std::uint64_t (*related)[block_rows / 64] = nullptr;
  std::uint8_t* runs = nullptr; // of each tile
  char* text = nullptr;

  static std::int64_t blocks_of(std::int64_t rows, std::int64_t tiles) {
    return rows / block_rows + tiles;
  }
  static std::size_t bytes(std::int64_t rows, std::int64_t tiles) {
    return static_cast<std::size_t>(blocks_of(rows, tiles)) *
               (sizeof *related + sizeof(block_choice)) +
           static_cast<std::size_t>(tiles + 1) * sizeof *starts + static_cast<std::size_t>(tiles) +
           text_bytes;
  }
  rows_plan() = default;
  rows_plan(void* memory, std::int64_t rows, std::int64_t tiles) {
    std::int64_t const n = blocks_of(rows, tiles);
    starts = static_cast<tile_start*>(memory);
    related = reinterpret_cast<std::uint64_t(*)[block_rows / 64]>(starts + tiles + 1);
    blocks = reinterpret_cast<block_choice*>(related + n);
    runs = reinterpret_cast<std::uint8_t*>(blocks + n);
    text = reinterpret_cast<char*>(runs + tiles);
  }
  static std::int64_t at(std::int64_t tile, std::int64_t i) { return i / block_rows + tile; }
};

/// Whether the columns of each row's entries in [k, end) follow one another; row i has entry k.
template <class I, class O>
bool are_runs(O const* ptr, I const* col, std::int64_t i, std::int64_t k, std::int64_t end) {
  for (; k < end; ++i) {
    std::int64_t const stop = ptr[i + 1] < end ? ptr[i + 1] : end;
    if (k < stop && !is_run(col, k, stop))
      return false;
    k = stop;
  }
  return true;
}

/// Fills the plan.
template <class V, class I, class O>
void plan_rows(rows_plan const& plan, rows_layout<V> const& layout, O const* ptr, I const* col,
               V const* val, std::int64_t rows, std::int64_t nnz, int threads, bool from_memory) {
  bool const far = is_far(ptr, col, rows);
  parallel_each(layout.tiles + 1, 4, threads, [&](std::int64_t tile, int) {
    plan.starts[tile] = start_of(ptr, rows, tile * layout.steps);
  });
  parallel_each(layout.tiles, 4, threads, [&](std::int64_t tile, int) {
    tile_start const from = plan.starts[tile], to = plan.starts[tile + 1];
    std::int64_t const first = from.row + from.cut, last = to.row; // whole rows
    // Tiles of short rows are not read
    plan.runs[tile] = last - first <= layout.steps / wide_from &&
                      are_runs(ptr, col, from.row, from.entry, to.row < rows ? to.entry : nnz);
    for (std::int64_t i = first; i < last; i += block_rows) {
      std::int64_t const b = rows_plan::at(tile, first) + (i - first) / block_rows;
      int const n = static_cast<int>(last - i < block_rows ? last - i : block_rows);
      row_block<V, I, O> const block{ptr + i, n, col, val, nnz, nullptr, nullptr, V{}, V{}, true};
      block_kind const kind = kind_of<V>(block.ptr, n, rows, far);
      relation how = relation_of(block, kind, from_memory, plan.related[b]);
      if (plan.runs[tile] && kind == block_kind::wide)
        how = relation::run;
      plan.blocks[b] = {kind, how};
    }
  });
}

/// "rows: 299 of one length (all shifted), 12 by products"
inline void describe_rows(rows_plan const& plan, std::int64_t tiles) {
  std::int64_t blocks[block_kinds] = {}, same = 0, next = 0, runs = 0;
  for (std::int64_t tile = 0; tile < tiles; ++tile) {
    std::int64_t const first = plan.starts[tile].row + plan.starts[tile].cut;
    runs += plan.runs[tile];
    for (std::int64_t i = first; i < plan.starts[tile + 1].row; i += block_rows) {
      block_choice const& c = plan.blocks[rows_plan::at(tile, first) + (i - first) / block_rows];
      ++blocks[static_cast<int>(c.kind)];
      same += c.how == relation::same;
      next += c.how == relation::next;
    }
  }
  char* to = plan.text;
  char const* before = "rows: ";
  auto const say = [&](std::int64_t n, char const* what) {
    if (n == 0)
      return;
    for (char const* q = before; *q; ++q)
      *to++ = *q;
    char digits[20];
    int d = 0;
    for (; n > 0; n /= 10)
      digits[d++] = static_cast<char>('0' + n % 10);
    while (d > 0)
      *to++ = digits[--d];
    for (char const* q = what; *q; ++q)
      *to++ = *q;
    before = ", ";
  };
  say(blocks[static_cast<int>(block_kind::equal)], " equal");
  say(blocks[static_cast<int>(block_kind::products)], " products first");
  say(blocks[static_cast<int>(block_kind::long_rows)], " long");
  say(blocks[static_cast<int>(block_kind::wide)], " wide");
  say(blocks[static_cast<int>(block_kind::plain)], " plain");
  before = "; ";
  say(next, " shifted");
  before = next > 0 ? ", " : "; ";
  say(same, " with shared columns");
  before = next + same > 0 ? ", " : "; ";
  say(runs, " dense tiles");
  if (to == plan.text)
    for (char const* q = "rows"; *q; ++q)
      *to++ = *q;
  *to = 0;
}

} // namespace
} // namespace tulle::kernels::TULLE_ISA

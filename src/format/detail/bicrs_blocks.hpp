// SPDX-License-Identifier: Apache-2.0

/// Runs of csr to the blocks of cbicrs and vbicrs, and checks of these.
#pragma once
#include "tulle/format/detail/bicrs_base.hpp"

#include "format/detail/bicrs_parts.hpp"
#include "format/detail/check_pointers.hpp"
#include "format/detail/label.hpp"

namespace tulle::detail {

inline void check_vbicrs_height(int height, int lanes) {
  if (height < 0 || height > lanes || (height & (height - 1)) != 0)
    fail(errc::unsupported, "vbicrs: option height is %d, expected 0 or a power of two up to %d",
         height, lanes);
}

/// f(runs) for the runs of each block of a part.
template <class I, class O, class F>
void each_bicrs_block(std::span<bicrs_run<I, O> const> runs, F&& f) {
  for (std::size_t r = 0; r < runs.size();) {
    std::size_t end = r + 1;
    while (end < runs.size() && runs[end].place == runs[r].place)
      ++end;
    f(runs.subspan(r, end - r));
    r = end;
  }
}

/// What a block takes.
struct bicrs_size {
  std::size_t jumps, stored;
};

/// Blocks of b, whose shape, block and part_row are known: size(runs) says what a block takes.
/// Everything but row, col and val is filled; those are allocated.
template <class Base, class Runs, class Size>
void bicrs_layout(char const* format, Base& b, Runs& runs, cpu const& where, Size const& size) {
  using O = typename decltype(b.view())::offset;
  std::size_t const parts = b.part_row.size() - 1;
  b.part_block = array<O>(parts + 1, where.memory);
  b.part_block[0] = 0;
  runs.each_part([&](std::size_t p, auto const& of_part) {
    std::size_t n = 0;
    each_bicrs_block(of_part, [&](auto const&) { ++n; });
    b.part_block[p + 1] = static_cast<O>(n); // at most the entries
  });
  for (std::size_t p = 0; p < parts; ++p)
    b.part_block[p + 1] = static_cast<O>(b.part_block[p + 1] + b.part_block[p]);
  auto const blocks = static_cast<std::size_t>(b.part_block[parts]);
  using I = typename decltype(b.view())::index;
  using V = typename decltype(b.view())::value;
  b.block_row = array<I>(blocks, where.memory);
  b.block_col = array<I>(blocks, where.memory);
  array<bicrs_size> sizes(blocks, where.memory);
  runs.each_part([&](std::size_t p, auto const& of_part) {
    auto at = static_cast<std::size_t>(b.part_block[p]);
    each_bicrs_block(of_part, [&](auto const& block) {
      b.block_row[at] = static_cast<I>(block[0].row / static_cast<I>(b.block));
      b.block_col[at] = block[0].block_col;
      sizes[at++] = size(block);
    });
  });
  b.block_ptr = array<O>(blocks + 1, where.memory);
  b.jump_ptr = array<O>(blocks + 1, where.memory);
  std::size_t stored = 0, jumps = 0;
  b.block_ptr[0] = b.jump_ptr[0] = 0;
  for (std::size_t k = 0; k < blocks; ++k) {
    b.block_ptr[k + 1] = narrow<O>(stored += sizes[k].stored, format);
    b.jump_ptr[k + 1] = narrow<O>(jumps += sizes[k].jumps, format);
  }
  b.row = array<std::int16_t>(jumps, where.memory);
  b.col = array<std::int16_t>(stored, where.memory);
  b.val = array<V>(stored, where.memory);
}

/// Whether the blocks of b are those of runs, each of the same size; then f(block, runs) of each
/// says whether it is the same.
template <class Base, class Runs, class Size, class F>
bool bicrs_same(Base const& b, Runs&& runs, Size const& size, F const& f) {
  bool good = true;
  runs.each_part([&](std::size_t p, auto const& of_part) {
    auto at = static_cast<std::size_t>(b.part_block[p]);
    auto const end = static_cast<std::size_t>(b.part_block[p + 1]);
    bool same = true;
    each_bicrs_block(of_part, [&](auto const& block) {
      if (!same || at == end) {
        same = false;
        return;
      }
      bicrs_size const s = size(block);
      same = b.block_col[at] == block[0].block_col &&
             b.block_row[at] == block[0].row / static_cast<decltype(block[0].row)>(b.block) &&
             std::cmp_equal(s.stored, b.block_ptr[at + 1] - b.block_ptr[at]) &&
             std::cmp_equal(s.jumps, b.jump_ptr[at + 1] - b.jump_ptr[at]) && f(at, block);
      ++at;
    });
    if (!same || at != end)
      __atomic_store_n(&good, false, __ATOMIC_RELAXED);
  });
  return good;
}

/// Arrays that a caller gives have sizes that fit.
template <class V, class I, class O>
void check_bicrs_sizes(char const* format, bicrs_block_arrays<V, I, O> const& a) {
  auto const sized = [&](char const* name, std::size_t is, std::size_t expected) {
    if (is != expected)
      fail(errc::bad_structure, "%s: %s has %zu elements, expected %zu", format, name, is,
           expected);
  };
  std::size_t const blocks = a.block_row.size();
  bool const none = a.part_row.empty() && blocks == 0; // 0 rows may do without pointers
  sized("part_block", a.part_block.size(), a.part_row.size());
  sized("block_col", a.block_col.size(), blocks);
  sized("block_ptr", a.block_ptr.size(), none ? 0 : blocks + 1);
  sized("jump_ptr", a.jump_ptr.size(), none ? 0 : blocks + 1);
  sized("col", a.col.size(), a.val.size());
  narrow<O>(blocks, "number of blocks");
  narrow<O>(a.val.size(), "number of entries with holes");
  narrow<O>(a.row.size(), "number of rows that entries name");
}

/// The invariants that both have; then check(b, rows, columns) of each block b, of those rows and
/// columns, returns its entries.
template <class View, class F>
void check_bicrs_blocks(char const* format, View const& v, F const& check) {
  using I = typename View::index;
  check_bicrs_parts(format, v);
  if (v.block < 1 || v.block > most_bicrs_block || (v.block & (v.block - 1)) != 0)
    fail(errc::bad_structure, "%s: blocks of %d, expected a power of two up to %d", format, v.block,
         most_bicrs_block);
  using O = typename View::offset;
  check_pointers(label(format, "part_block"), v.part_block, v.parts, static_cast<O>(v.blocks));
  check_pointers(label(format, "block_ptr"), v.block_ptr, v.blocks, v.stored);
  check_pointers(label(format, "jump_ptr"), v.jump_ptr, v.blocks, v.jumps);
  I const cols = static_cast<I>(v.cols / v.block + (v.cols % v.block != 0));
  check_indices(label(format, "block_col"), v.block_col, v.blocks, cols);
  int const bits = hilbert_bits(format, v.part_row, v.parts, v.cols, v.block);
  std::size_t entries = 0;
  each_bicrs_part(v, {}, [&](std::size_t p) {
    std::size_t here = 0;
    std::uint64_t before = 0;
    I const height = static_cast<I>(v.part_row[p + 1] - v.part_row[p]);
    auto const first = static_cast<std::size_t>(v.part_block[p]);
    for (std::size_t b = first; b < static_cast<std::size_t>(v.part_block[p + 1]); ++b) {
      if (v.block_row[b] < 0 || v.block_row[b] > (height - 1) / v.block)
        fail(errc::bad_structure, "%s: block_row[%zu] is %lld in a part of %lld rows", format, b,
             static_cast<long long>(v.block_row[b]), static_cast<long long>(height));
      std::uint64_t const place = hilbert(static_cast<std::uint64_t>(v.block_row[b]),
                                          static_cast<std::uint64_t>(v.block_col[b]), bits);
      if (b != first && place <= before)
        fail(errc::bad_structure, "%s: block %zu does not come after the one before it", format, b);
      before = place;
      if (v.block_ptr[b] == v.block_ptr[b + 1])
        fail(errc::bad_structure, "%s: block %zu is empty", format, b);
      auto const most = static_cast<I>(v.block);
      here += check(
          b, static_cast<int>(std::min<I>(most, static_cast<I>(v.part_row[p + 1] - v.top(p, b)))),
          static_cast<int>(std::min<I>(most, static_cast<I>(v.cols - v.left(b)))));
    }
    __atomic_fetch_add(&entries, here, __ATOMIC_RELAXED);
  });
  if (std::cmp_not_equal(entries, v.nnz))
    fail(errc::bad_structure, "%s: %zu entries, but nnz is %lld", format, entries,
         static_cast<long long>(v.nnz));
}

} // namespace tulle::detail

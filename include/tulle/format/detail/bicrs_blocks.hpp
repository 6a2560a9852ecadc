// SPDX-License-Identifier: Apache-2.0

/// What cbicrs and vbicrs share: the blocks of each part, with 16-bit rows and columns in a block.
#pragma once
#include "tulle/format/detail/bicrs_parts.hpp"

#include <string>

namespace tulle {

/// The arrays of cbicrs and vbicrs, as a caller has them; vbicrs alone has a pattern.
template <class V, class I, class O>
struct bicrs_block_arrays {
  std::span<I const> part_row;
  std::span<O const> part_block;
  std::span<I const> block_row, block_col;
  std::span<O const> block_ptr, jump_ptr;
  std::span<std::int16_t const> row, col;
  std::span<V const> val;
  std::span<std::uint64_t const> pattern;
};

namespace detail {

// Twice as much must fit 16 bits with a sign: sec. II of the paper has the same number.
constexpr int most_bicrs_block = 1 << 14;

/// The members that both views have.
template <class V, class I, class O>
struct bicrs_base_view {
  using value = V;
  using index = I;
  using offset = O;

  I rows = 0;
  I cols = 0;
  O nnz = 0;     ///< without holes
  int block = 1; ///< rows and columns of a block
  std::size_t parts = 0, blocks = 0;
  O stored = 0;                      ///< with holes
  O jumps = 0;                       ///< of row
  I const* part_row = nullptr;       ///< parts + 1; may be null when rows == 0
  O const* part_block = nullptr;     ///< parts + 1: blocks of a part; may be null when rows == 0
  I const* block_row = nullptr;      ///< blocks: in blocks from the first row of the part
  I const* block_col = nullptr;      ///< blocks
  O const* block_ptr = nullptr;      ///< blocks + 1: of col and val; may be null when rows == 0
  O const* jump_ptr = nullptr;       ///< blocks + 1: of row; may be null when rows == 0
  std::int16_t const* row = nullptr; ///< jumps
  std::int16_t const* col = nullptr; ///< stored
  V const* val = nullptr;            ///< stored

  /// The row and the column of the matrix where a block begins.
  [[gnu::always_inline]] I top(std::size_t p, std::size_t b) const {
    return static_cast<I>(part_row[p] + block_row[b] * static_cast<I>(block));
  }
  [[gnu::always_inline]] I left(std::size_t b) const {
    return static_cast<I>(block_col[b] * static_cast<I>(block));
  }

protected:
  bicrs_base_view() = default;
  bicrs_base_view(I rows, I cols, O nnz, int block, bicrs_block_arrays<V, I, O> const& a)
      : rows(rows), cols(cols), nnz(nnz), block(block),
        parts(a.part_row.empty() ? 0 : a.part_row.size() - 1), blocks(a.block_row.size()),
        stored(static_cast<O>(a.val.size())), jumps(static_cast<O>(a.row.size())),
        part_row(a.part_row.data()), part_block(a.part_block.data()), block_row(a.block_row.data()),
        block_col(a.block_col.data()), block_ptr(a.block_ptr.data()), jump_ptr(a.jump_ptr.data()),
        row(a.row.data()), col(a.col.data()), val(a.val.data()) {}

  /// f(name, pointer, size) for each.
  template <class F>
  void base_arrays(F&& f) const {
    auto const pointers = [&](auto const* p, std::size_t n) { return p || rows > 0 ? n + 1 : 0; };
    f("part_row", part_row, pointers(part_row, parts));
    f("part_block", part_block, pointers(part_block, parts));
    f("block_row", block_row, blocks);
    f("block_col", block_col, blocks);
    f("block_ptr", block_ptr, pointers(block_ptr, blocks));
    f("jump_ptr", jump_ptr, pointers(jump_ptr, blocks));
    f("row", row, static_cast<std::size_t>(jumps));
    f("col", col, static_cast<std::size_t>(stored));
    f("val", val, static_cast<std::size_t>(stored));
  }
};

/// The members that both owners have.
template <class V, class I, class O>
struct bicrs_base {
  I rows = 0;
  I cols = 0;
  O nnz = 0;
  int block = 1;
  array<I> part_row;
  array<O> part_block;
  array<I> block_row, block_col;
  array<O> block_ptr, jump_ptr;
  array<std::int16_t> row, col;
  array<V> val;

  friend bool operator==(bicrs_base const&, bicrs_base const&) = default;

protected:
  bicrs_block_arrays<V, I, O> base_arrays() const {
    return {part_row, part_block, block_row, block_col, block_ptr, jump_ptr, row, col, val, {}};
  }
};

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
  std::string const name = format;
  check_pointers((name + ": part_block").c_str(), v.part_block, v.parts, static_cast<O>(v.blocks));
  check_pointers((name + ": block_ptr").c_str(), v.block_ptr, v.blocks, v.stored);
  check_pointers((name + ": jump_ptr").c_str(), v.jump_ptr, v.blocks, v.jumps);
  I const cols = static_cast<I>(v.cols / v.block + (v.cols % v.block != 0));
  check_indices((name + ": block_col").c_str(), v.block_col, v.blocks, cols);
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

} // namespace detail
} // namespace tulle

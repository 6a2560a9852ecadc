// SPDX-License-Identifier: Apache-2.0

/// What cbicrs and vbicrs share: the blocks of each part, with 16-bit rows and columns in a block.
#pragma once
#include "tulle/format/csr.hpp"

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
  bicrs_base_view(I rows_, I cols_, O nnz_, int block_, bicrs_block_arrays<V, I, O> const& a)
      : rows(rows_), cols(cols_), nnz(nnz_), block(block_),
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

} // namespace detail
} // namespace tulle

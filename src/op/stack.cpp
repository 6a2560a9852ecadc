// SPDX-License-Identifier: Apache-2.0

// Matrices beside and below one another. Bytes that must move, double with 32-bit indices: 12 read
// and 12 written an entry.
#include "tulle/op/stack.hpp"

#include "op/each_row.hpp"
#include "op/known_pattern.hpp"
#include "reference/places.hpp"

#include <complex>

namespace tulle::detail {
namespace {

constexpr char const* name_of(stack_direction d) {
  constexpr char const* names[] = {"hstack", "vstack", "block_diagonal"};
  return names[static_cast<std::size_t>(d)];
}

/// Where a block begins in the result.
struct corner {
  std::size_t row, col;
};

/// corners[b] of block b, and the shape of the result behind them.
template <class V, class I, class O>
void place_blocks(stack_direction d, std::span<csr_view<V, I, O> const> blocks, corner* corners) {
  char const* const op = name_of(d);
  corner at{0, 0};
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    csr_view<V, I, O> const &a = blocks[b], &first = blocks[0];
    if (d == stack_direction::right && a.rows != first.rows)
      fail(errc::shape_mismatch, "%s: block %zu has %lld rows but the first one has %lld", op, b,
           static_cast<long long>(a.rows), static_cast<long long>(first.rows));
    if (d == stack_direction::down && a.cols != first.cols)
      fail(errc::shape_mismatch, "%s: block %zu has %lld columns but the first one has %lld", op, b,
           static_cast<long long>(a.cols), static_cast<long long>(first.cols));
    corners[b] = at;
    at.row += d == stack_direction::right ? 0 : static_cast<std::size_t>(a.rows);
    at.col += d == stack_direction::down ? 0 : static_cast<std::size_t>(a.cols);
  }
  if (!blocks.empty()) {
    at.row = std::max(at.row, static_cast<std::size_t>(blocks[0].rows));
    at.col = std::max(at.col, static_cast<std::size_t>(blocks[0].cols));
  }
  corners[blocks.size()] = at;
  narrow<I>(at.row, op);
  narrow<I>(at.col, op);
}

} // namespace

template <class V, class I, class O>
csr<V, I, O> stack(where const& w, stack_direction d, std::span<csr_view<V, I, O> const> blocks) {
  char const* const op = name_of(d);
  std::size_t entries = 0;
  for (csr_view<V, I, O> const& a : blocks) {
    check_operand(op, "a block", a, w);
    entries += static_cast<std::size_t>(a.nnz);
  }
  array<corner> corners(blocks.size() + 1, w.memory);
  place_blocks(d, blocks, corners.data());
  corner const shape = corners.back();
  /// f(block, its corner, row in the block) for the blocks that row i of the result passes.
  auto const each_block = [&](std::size_t i, auto const& f) {
    std::size_t b = 0, end = blocks.size();
    if (d != stack_direction::right) { // the last one that does not begin below
      b = static_cast<std::size_t>(
              std::upper_bound(corners.begin(), corners.begin() + blocks.size(), i,
                               [](std::size_t row, corner const& c) { return row < c.row; }) -
              corners.begin()) -
          1;
      end = b + 1;
    }
    for (; b < end; ++b)
      f(blocks[b], corners[b], i - corners[b].row);
  };
  if (w.backend == backend::reference)
    return kernels::reference::by_places<V, I, O>(
        static_cast<I>(shape.row), static_cast<I>(shape.col),
        [&](I i, I j, V& v) {
          bool found = false;
          each_block(static_cast<std::size_t>(i), [&](auto const& a, corner c, std::size_t row) {
            std::size_t const col = static_cast<std::size_t>(j) - c.col; // wraps before c.col
            if (col < static_cast<std::size_t>(a.cols))
              found = found ||
                      kernels::reference::is_entry(a, static_cast<I>(row), static_cast<I>(col), v);
          });
          return found;
        },
        w.memory);
  int const parts = parts_for(entries + shape.row, w.threads);
  auto const before = [&](std::size_t i) { // entries before row i, of all blocks
    std::size_t n = 0;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      auto const rows = static_cast<std::size_t>(blocks[b].rows);
      std::size_t const row = i < corners[b].row ? 0 : std::min(rows, i - corners[b].row);
      n += row == 0 ? 0 : static_cast<std::size_t>(blocks[b].row_ptr[row]);
    }
    return n;
  };
  return canonical(op, w,
                   build_rows<V, I, O>(
                       op, w, shape.row, shape.col,
                       [&](auto const& f) { each_row_by(before, shape.row, parts, f); },
                       [&](std::size_t i) {
                         std::size_t n = 0;
                         each_block(i, [&](auto const& a, corner, std::size_t row) {
                           n += static_cast<std::size_t>(a.row_ptr[row + 1] - a.row_ptr[row]);
                         });
                         return n;
                       },
                       [&](std::size_t i, std::size_t, I* col, V* val) {
                         each_block(i, [&](auto const& a, corner c, std::size_t row) {
                           for (O k = a.row_ptr[row]; k < a.row_ptr[row + 1]; ++k) {
                             *col++ = static_cast<I>(a.col[k] + static_cast<I>(c.col));
                             *val++ = a.val[k];
                           }
                         });
                       }));
}

#define TULLE_STACK(tag, V, I, O)                                                                  \
  template csr<V, I, O> stack(where const&, stack_direction, std::span<csr_view<V, I, O> const>);
TULLE_TYPES(TULLE_STACK)
TULLE_BASIC_TYPES(TULLE_STACK)
#undef TULLE_STACK

} // namespace tulle::detail

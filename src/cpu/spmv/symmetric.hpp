// SPDX-License-Identifier: Apache-2.0

// y = alpha*A*x + beta*y where A is stored as its lower triangle: an entry of row i and column j
// adds to y[i] and to y[j].
//
// Rows are cut into blocks, each computed by one thread. What a block adds to its own rows goes to
// y; what it adds to earlier rows goes to its own window, from the lowest of them to the block's
// first row. Then the windows are added to y in the order of the blocks. Blocks depend on the
// matrix alone: as many, up to 64, as keep the windows below a quarter of the stored entries. Where
// every block reaches far up, that may be one block, and hence one thread.
#pragma once
#include "kernel/simd.hpp"
#include "kernel/spmv.hpp"
#include "kernel/threads.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

constexpr int most_row_blocks = 64;
constexpr std::int64_t least_row_block = 4096; // entries; a guess, not measured
// plan_view::info: [0] blocks, [1 + b] the first unit of block b, and the end, [66 + b] the lowest
// row that it adds to
constexpr int info_first = 1, info_lowest = info_first + most_row_blocks + 1;
static_assert(info_lowest + most_row_blocks <= 160);

/// Units have `height` rows each, and `stored` entries together. first(b, blocks) is the first unit
/// of a block, and lowest(begin, end) the lowest row that units [begin, end) add to. Returns bytes
/// of workspace.
template <class V, class First, class Lowest>
std::size_t prepare_symmetric(std::int64_t height, std::int64_t stored, plan_view& p, First first,
                              Lowest lowest) {
  std::int64_t* const begin = p.info + info_first;
  std::int64_t* const lo = p.info + info_lowest;
  int blocks = most_row_blocks;
  while (blocks > 1 && stored / blocks < least_row_block)
    blocks /= 2;
  for (int b = 0; b <= blocks; ++b)
    begin[b] = first(b, blocks);
  parallel_for(blocks, p.threads, [&](std::int64_t from, std::int64_t end) {
    for (std::int64_t b = from; b < end; ++b) {
      std::int64_t const row = begin[b] * height;
      lo[b] = begin[b] < begin[b + 1] ? lowest(begin[b], begin[b + 1]) : row;
      lo[b] = lo[b] < row ? lo[b] : row;
    }
  });
  for (;;) {
    std::int64_t total = 0;
    for (int b = 0; b < blocks; ++b)
      total += begin[b] * height - lo[b];
    if (total <= stored / 4 || blocks == 1) {
      p.info[0] = blocks;
      p.one_pattern = true;
      return static_cast<std::size_t>(total) * sizeof(V);
    }
    blocks /= 2; // merged in pairs
    for (int b = 0; b < blocks; ++b) {
      lo[b] = lo[2 * b] < lo[2 * b + 1] ? lo[2 * b] : lo[2 * b + 1];
      begin[b] = begin[2 * b];
    }
    begin[blocks] = begin[2 * blocks];
  }
}

/// walk(begin, end, first_row, window, part) computes the units [begin, end): it sets y of their
/// rows, and adds to y[j] for rows from first_row on, to window[j] below, alpha included. No two
/// walks run at a time with the same part of p.threads.
template <class V, class Walk>
void multiply_symmetric(std::int64_t height, std::int64_t rows, V* y, plan_view const& p,
                        Walk walk) {
  // A plan for the same matrix with both triangles stored has no blocks and no workspace: then
  // there is one block.
  std::int64_t const whole[] = {0, (rows + height - 1) / height};
  bool const is_planned = p.info[0] > 0;
  std::int64_t const blocks = is_planned ? p.info[0] : 1;
  std::int64_t const* const first = is_planned ? p.info + info_first : whole;
  std::int64_t const* const lo = is_planned ? p.info + info_lowest : whole;
  V* window[most_row_blocks]; // where row 0 of it would be
  V* free = static_cast<V*>(p.work);
  for (std::int64_t b = 0; b < blocks; ++b) {
    // Computed as an integer, since that address is outside the workspace, which may be empty.
    window[b] = reinterpret_cast<V*>(reinterpret_cast<std::uintptr_t>(free) -
                                     static_cast<std::uintptr_t>(lo[b]) * sizeof(V));
    free += first[b] * height - lo[b];
  }
  parallel_each(blocks, 1, p.threads, [&](std::int64_t b, int part) {
    std::int64_t const row = first[b] * height;
    for (std::int64_t j = lo[b]; j < row; ++j)
      window[b][j] = V{};
    if (first[b] < first[b + 1])
      walk(first[b], first[b + 1], row, window[b], part);
  });
  if (blocks == 1)
    return;                            // the first block has no window
  constexpr std::int64_t strip = 1024; // of y, so that it stays in L1 while all windows are added
  parallel_for((rows + strip - 1) / strip, p.threads, [&](std::int64_t from, std::int64_t last) {
    for (std::int64_t s = from * strip; s < rows && s < last * strip; s += strip)
      for (std::int64_t b = 0; b < blocks; ++b) {
        std::int64_t const row = first[b] * height;
        std::int64_t const end = s + strip < row ? s + strip : row;
        for (std::int64_t j = s > lo[b] ? s : lo[b]; j < end; ++j)
          y[j] = y[j] + window[b][j];
      }
  });
}

} // namespace
} // namespace tulle::kernels::TULLE_ISA

// SPDX-License-Identifier: Apache-2.0

// What bcsr, bcoo and bccoo do with the blocks of one block row, however they store its number:
// sums, by functions that are compiled with bcsr.cpp; the limits of whole loads from x and val;
// holes; and the transpose.
#pragma once
#include "tulle/core/types.def"
#include "tulle/format/bcsr.hpp"

#include "cpu/spmv/scatter.hpp"
#include "kernel/simd.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

constexpr int side = detail::longest_block_side;

/// val, col, x, [k, end), height, ahead, out: see blocks.hpp.
template <class V, class I>
using sum_function = void (*)(V const*, I const*, V const*, std::int64_t, std::int64_t, int,
                              std::int64_t, V*);

/// The last block column from which whole loads stay within x.
HWY_INLINE std::int64_t last_safe_column(std::int64_t cols, int reach, int w) {
  return cols < reach ? -1 : (cols - reach) / w;
}
/// The end of those of blocks [k, end) that may be summed with whole loads.
template <class I>
HWY_INLINE std::int64_t safe_end(I const* col, std::int64_t k, std::int64_t end,
                                 std::int64_t blocks, std::int64_t last_col) {
  end -= end == blocks && k < end;
  while (k < end && col[end - 1] > last_col)
    --end;
  return end;
}
/// Adds the remaining blocks to out: the same sums, on copies that are followed by zeros.
template <class V, class I>
HWY_NOINLINE void add_copied(V const* all, I const* col, V const* from, std::int64_t cols,
                             std::int64_t k, std::int64_t end, int h, int w,
                             sum_function<V, I> sum_of_block, V* out) {
  int const size = h * w;
  for (; k < end; ++k) {
    V val[side * side + side] = {};
    V x[2 * side] = {};
    for (int s = 0; s < size; ++s)
      val[s] = all[k * size + s];
    std::int64_t const left = static_cast<std::int64_t>(col[k]) * w;
    for (int j = 0; j < w && left + j < cols; ++j)
      x[j] = from[left + j];
    I const zero = 0;
    V sum[side] = {};
    sum_of_block(val, &zero, x, 0, 1, h, 0, sum);
    for (int r = 0; r < h; ++r)
      out[r] = out[r] + sum[r];
  }
}

template <class V>
HWY_INLINE bool has_nan(V const* sum, int h) {
  bool nan = false;
  for (int r = 0; r < h; ++r)
    nan |= sum[r] != sum[r];
  return nan;
}
/// The rows of a block row, blocks [k, end), whose sum is NaN, from their entries alone.
template <class V, class I>
HWY_NOINLINE void without_holes(V const* val, I const* col, std::uint64_t const* pattern,
                                V const* x, std::int64_t begin, std::int64_t end, int h, int w,
                                V* sum) {
  for (int r = 0; r < h; ++r) {
    if (sum[r] == sum[r])
      continue;
    V s{};
    for (std::int64_t k = begin; k < end; ++k) {
      std::int64_t const slot = (k * h + r) * w;
      std::uint64_t const bits = detail::bits_at(pattern, static_cast<std::size_t>(slot), w);
      for (int j = 0; j < w; ++j)
        if (bits >> j & 1)
          s = mul_add(val[slot + j], x[static_cast<std::int64_t>(col[k]) * w + j], s);
    }
    sum[r] = s;
  }
}

/// prepare() of a transposed product.
template <class V, class View>
std::size_t prepare_block_scatter(View const& a, plan_view& p) {
  return prepare_scatter_of<V>(a.blocks, static_cast<std::int64_t>(a.blocks) * a.height * a.width,
                               p, [&](std::int64_t begin, std::int64_t end, extent& e) {
                                 for (std::int64_t k = begin; k < end; ++k) {
                                   std::int64_t const left =
                                       static_cast<std::int64_t>(a.block_col[k]) * a.width;
                                   std::int64_t const right = left + a.width - 1;
                                   e.add(left);
                                   e.add(right < a.cols ? right : a.cols - 1);
                                 }
                               });
}

} // namespace

// Compiled once, with bcsr.cpp: the sums of blocks of that shape, and how far they read x; and
// blocks [k, end) of block row i, each transposed, times x, added to out. block_ptr is not read.
#define TULLE_BLOCKS(tag, V, I, O)                                                                 \
  void find_block_sum(int h, int w, sum_function<V, I>& sum, int& reach);                          \
  void scatter_blocks(bcsr_view<V, I, O> const& a, std::int64_t i, std::int64_t k,                 \
                      std::int64_t end, V const* x, V* out);
TULLE_TYPES(TULLE_BLOCKS)
#undef TULLE_BLOCKS

} // namespace tulle::kernels::TULLE_ISA

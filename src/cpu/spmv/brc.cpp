// SPDX-License-Identifier: Apache-2.0

// src/cpu/spmv/brc.cpp:  y = alpha*A*x + beta*y, A in BRC.
//
// A lane is a row: a block's columns are added to the sums of its rows, a few at a time
// (columns.hpp). Blocks of the first level store to y, which completes most rows. Blocks of later
// levels leave their sums, which are added to y in order when all have ended, so the bits depend on
// the matrix alone. Padding is as in ell: a sum that is NaN is computed again. The transpose
// scatters blocks: scatter.hpp. Bytes that must move, double with 32-bit indices: 12 per slot, 12
// per row and 8 per column.
#include "tulle/format/brc.hpp"

#include "cpu/spmv/columns.hpp"
#include "cpu/spmv/scatter.hpp"
#include "kernel/chunks.hpp"
#include "kernel/instantiate.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

/// Sums of later levels: those of level t begin where those of the levels before end.
template <class View>
std::int64_t later_sums(View const& a) {
  std::int64_t n = 0;
  for (std::int64_t t = 1; t < static_cast<std::int64_t>(a.levels); ++t)
    n += a.level_rows[t];
  return n;
}

template <class V>
std::size_t shares_at(std::int64_t sums) {
  return (static_cast<std::size_t>(sums) * sizeof(V) + 63) / 64 * 64;
}

template <class V, class I, class O>
std::size_t prepare(brc_view<V, I, O> const& a, plan_view& p) {
  if (p.transposed)
    return prepare_scatter_of<V>(a.blocks, a.nnz, p,
                                 [&](std::int64_t begin, std::int64_t end, extent& e) {
                                   for (std::int64_t k = begin < end ? a.block_ptr[begin] : 0,
                                                     last = begin < end ? a.block_ptr[end] : 0;
                                        k < last; ++k)
                                     e.add(a.col[k]);
                                 });
  p.method = "blocks";
  p.info[0] = later_sums(a);
  return shares_at<V>(p.info[0]) + static_cast<std::size_t>(p.threads) * sizeof(share);
}

/// The entries of row r of a block, without padding, added in order.
template <class V, class I, class O>
HWY_INLINE V exact_sum(brc_view<V, I, O> const& a, detail::brc_block const& b, std::size_t r,
                       V const* x) {
  std::size_t const left = static_cast<std::size_t>(a.len[b.first + r]) - b.before;
  V sum = 0;
  for (std::size_t k = 0; k < left && k < b.width; ++k) {
    std::size_t const at = b.at + k * b.rows + r;
    sum = mul_add(a.val[at], x[a.col[at]], sum);
  }
  return sum;
}

template <class V, class I, class O>
HWY_NOINLINE void sum_block(brc_view<V, I, O> const& a, detail::brc_block const& b, V const* x,
                            V* sum, std::int64_t ahead) {
  constexpr std::size_t group = 2 * HWY_MAX_BYTES / sizeof(V);
  for (std::size_t r = 0; r < b.rows; ++r)
    sum[r] = 0;
  std::size_t const whole = b.rows / group * group;
  for (std::size_t k = 0; k < b.width;) {
    int columns = 0;
    std::int64_t from[columns_at_once];
    while (k < b.width && columns < columns_at_once)
      from[columns++] = static_cast<std::int64_t>(b.at + k++ * b.rows);
    if (whole != 0)
      add_columns(columns, a.val, a.col, from, x, static_cast<std::int64_t>(whole), sum, ahead);
    for (std::size_t r = whole; r < b.rows; ++r)
      for (int j = 0; j < columns; ++j) {
        std::size_t const at = static_cast<std::size_t>(from[j]) + r;
        sum[r] = mul_add(a.val[at], x[a.col[at]], sum[r]);
      }
  }
  repair(sum, static_cast<std::int64_t>(b.rows),
         [&](std::int64_t r) { return exact_sum(a, b, static_cast<std::size_t>(r), x); });
}

template <class V, class I, class O>
void multiply_blocks(V alpha, brc_view<V, I, O> const& a, V const* x, V beta, V* y,
                     plan_view const& p) {
  bool const overwrite = beta == V{};
  std::int64_t const blocks = a.blocks;
  std::int64_t const parts =
      blocks < p.threads * chunks_per_thread ? blocks : p.threads * chunks_per_thread;
  V* const later = static_cast<V*>(p.work);
  chunk_queue queue(reinterpret_cast<share*>(static_cast<char*>(p.work) + shares_at<V>(p.info[0])),
                    p.threads, parts);
  std::int64_t const begun = a.levels > 0 ? static_cast<std::int64_t>(a.level_rows[0]) : 0;
  std::int64_t const joined = a.levels > 1 ? static_cast<std::int64_t>(a.level_rows[1]) : 0;
  parallel(p.threads, [&](int thread) {
    V sum[detail::most_chunk];
    for (std::int64_t c; (c = queue.take(thread)) >= 0;) {
      auto b = static_cast<std::size_t>(blocks / parts * c + blocks % parts * c / parts);
      auto const end =
          static_cast<std::size_t>(blocks / parts * (c + 1) + blocks % parts * (c + 1) / parts);
      std::size_t t = a.level_of(b);
      std::int64_t at = 0; // of the level's first sum
      for (std::size_t s = 1; s < t; ++s)
        at += a.level_rows[s];
      for (; b < end; ++b) {
        if (b >= static_cast<std::size_t>(a.level_ptr[t + 1])) {
          at += t == 0 ? 0 : static_cast<std::int64_t>(a.level_rows[t]);
          ++t;
        }
        detail::brc_block const block = a.block(t, b);
        sum_block(a, block, x, sum, p.streaming ? rows_ahead : 0);
        I const* const perm = a.perm + block.first;
        if (t == 0)
          for (std::size_t r = 0; r < block.rows; ++r)
            update(y + perm[r], alpha, sum[r], beta, overwrite);
        else
          for (std::size_t r = 0; r < block.rows; ++r)
            later[at + static_cast<std::int64_t>(block.first + r)] = sum[r];
      }
    }
  });
  std::int64_t const empty = static_cast<std::int64_t>(a.rows) - begun;
  if (empty > 0)
    parallel_for(empty, p.threads, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t q = begun + first; q < begun + last; ++q) // rows of no entries
        update(y + a.perm[q], alpha, V{}, beta, overwrite);
    });
  if (joined > 0)
    parallel_each(joined, 64, p.threads, [&](std::int64_t q, int) {
      V& to = y[a.perm[q]];
      std::int64_t at = 0;
      for (std::int64_t t = 1; t < static_cast<std::int64_t>(a.levels) && q < a.level_rows[t];
           ++t) {
        to = mul_add(alpha, later[at + q], to);
        at += a.level_rows[t];
      }
    });
}

template <class V, class I, class O>
void spmv(V alpha, brc_view<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p) {
  if (p.transposed)
    return multiply_scatter(
        alpha, static_cast<std::int64_t>(a.cols), static_cast<std::int64_t>(a.blocks), beta, y, p,
        [&](std::int64_t begin, std::int64_t end, V* out) {
          for (std::int64_t b = begin; b < end; ++b) {
            std::size_t const t = a.level_of(static_cast<std::size_t>(b));
            detail::brc_block const block = a.block(t, static_cast<std::size_t>(b));
            for (std::size_t r = 0; r < block.rows; ++r) {
              std::size_t const left =
                  static_cast<std::size_t>(a.len[block.first + r]) - block.before;
              V const at_row = x[a.perm[block.first + r]];
              for (std::size_t k = 0; k < left && k < block.width; ++k) {
                std::size_t const at = block.at + k * block.rows + r;
                out[a.col[at]] = mul_add(a.val[at], at_row, out[a.col[at]]);
              }
            }
          }
        });
  multiply_blocks(alpha, a, x, beta, y, p);
}

} // namespace

TULLE_INSTANTIATE_SPMV(brc)

} // namespace tulle::kernels::TULLE_ISA

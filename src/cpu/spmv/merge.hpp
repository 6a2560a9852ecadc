// SPDX-License-Identifier: Apache-2.0

// y = alpha*A*x + beta*y, A in CSR, by merge path.
//
// Merrill & Garland, SC 2016, alg. 2: the ends of rows are merged with the entries, and the path of
// that merge is cut into equal shares, possibly within a row. A share finds its beginning by a
// search along its diagonal and then takes step by step: an entry is added, a row end stores the
// sum. The open sum of its last row is its carry-out. Unlike the paper, shares are tiles of a fixed
// number of steps, not one per thread, so the carries, added in order, give the same bits for any
// number of threads.
#pragma once
#include "cpu/spmv/pieces.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

constexpr std::int64_t merge_steps = 8192; // as tile_steps in rows.hpp
// Prefetch distance in val, half of it in col, once per row. Zen 4, two threads, times as long as
// rows.hpp without and with: poisson2d5 1500 1.53, 1.18; lattice 1.59, 1.28; fem 1.67, 1.90.
constexpr int merge_ahead = 4096;

template <class V>
pieces<V> merge_tiles(std::int64_t rows, std::int64_t nnz, int threads) {
  return {(rows + nnz + merge_steps - 1) / merge_steps, threads};
}

/// Rows that end within the first `diagonal` steps of the path.
template <class O>
std::int64_t merge_path(O const* ptr, std::int64_t rows, std::int64_t nnz, std::int64_t diagonal) {
  std::int64_t lo = diagonal > nnz ? diagonal - nnz : 0;
  std::int64_t hi = diagonal < rows ? diagonal : rows;
  while (lo < hi) {
    std::int64_t const mid = (lo + hi) / 2;
    if (static_cast<std::int64_t>(ptr[mid + 1]) <= diagonal - mid - 1)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

template <class V, class I, class O>
void multiply_merge(V alpha, O const* ptr, I const* col, V const* val, std::int64_t rows,
                    std::int64_t nnz, V const* x, V beta, V* y, plan_view const& p) {
  bool const overwrite = beta == V{};
  int const ahead = p.streaming ? merge_ahead : 0;
  auto const tiles = [=](std::int64_t first, std::int64_t last, piece<V>* carry) {
    std::int64_t i = merge_path(ptr, rows, nnz, first * merge_steps);
    std::int64_t k = first * merge_steps - i;
    for (std::int64_t tile = first; tile < last; ++tile) {
      std::int64_t const wanted = (tile + 1) * merge_steps;
      std::int64_t const end = wanted < rows + nnz ? wanted : rows + nnz;
      std::int64_t const end_row = merge_path(ptr, rows, nnz, end);
      for (; i < end_row; ++i) {
        V sum{};
        __builtin_prefetch(reinterpret_cast<char const*>(val + k) + ahead);
        __builtin_prefetch(reinterpret_cast<char const*>(col + k) + ahead / 2);
        for (std::int64_t const row_end = ptr[i + 1]; k < row_end; ++k)
          sum = mul_add(val[k], x[col[k]], sum);
        update(y + i, alpha, sum, beta, overwrite);
      }
      carry[tile].row = k < end - i ? i : -1;
      V sum{};
      for (; k < end - i; ++k)
        sum = mul_add(val[k], x[col[k]], sum);
      carry[tile].sum = sum;
    }
  };
  merge_tiles<V>(rows, nnz, p.threads).run(alpha, y, p.work, tiles);
}

} // namespace
} // namespace tulle::kernels::TULLE_ISA

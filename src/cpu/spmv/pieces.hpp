// SPDX-License-Identifier: Apache-2.0

// Units of work that cut rows: merge.hpp, segments.hpp. A unit stores the rows that end in it, or
// begin, and leaves a piece of one more row. Pieces are added when all units have ended, in their
// order. Units depend on the matrix alone, so the bits do not depend on the threads that run them.
#pragma once
#include "kernel/chunks.hpp"
#include "kernel/simd.hpp"
#include "kernel/spmv.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

template <class V>
struct piece {
  std::int64_t row; // -1: none
  V sum;
};

/// The units of a product. Workspace: a piece for each, a share for each thread.
template <class V>
struct pieces {
  std::int64_t units;
  int threads;

  std::size_t shares_at() const {
    return (static_cast<std::size_t>(units) * sizeof(piece<V>) + 63) / 64 * 64;
  }
  std::size_t bytes() const {
    return shares_at() + static_cast<std::size_t>(threads) * sizeof(share);
  }

  /// Calls f(first unit, unit after the last, pieces) for each chunk of units, on all threads; then
  /// adds the pieces and reports their rows to `done`.
  template <class F>
  void run(V alpha, V* y, void* work, F f, rows_done const* done = nullptr) const {
    auto* const left = static_cast<piece<V>*>(work);
    std::int64_t const chunks =
        units < threads * chunks_per_thread ? units : threads * chunks_per_thread;
    chunk_queue queue(reinterpret_cast<share*>(static_cast<char*>(work) + shares_at()), threads,
                      chunks);
    parallel(threads, [&](int t) {
      for (std::int64_t c; (c = queue.take(t)) >= 0;)
        f(units * c / chunks, units * (c + 1) / chunks, left);
    });
    for (std::int64_t u = 0; u < units; ++u) {
      std::int64_t const row = left[u].row;
      if (row < 0)
        continue;
      y[row] = mul_add(alpha, left[u].sum, y[row]);
      if (done && (u + 1 == units || left[u + 1].row != row))
        (*done)(row, row + 1);
    }
  }
};

} // namespace
} // namespace tulle::kernels::TULLE_ISA

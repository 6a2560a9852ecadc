// SPDX-License-Identifier: Apache-2.0

// Work dealt to threads in chunks: each thread goes through a share of its own in order, then takes
// what others have not begun. Shares keep a thread near the memory it touched first; taking over
// keeps all of them busy where entries cost differently or a core is busy with something else. Who
// runs a chunk must not change the bits.
#pragma once
#include "kernel/threads.hpp"

#include <cstddef>
#include <cstdint>

namespace tulle::kernels::TULLE_ISA {
namespace {

constexpr int chunks_per_thread = 16; // other numbers have not been measured

struct alignas(64) share {
  std::int64_t next;
  std::int64_t end;
};

/// `chunks` chunks for `threads` threads. The shares lie in workspace, `threads` of them.
struct chunk_queue {
  share* shares;
  int threads;

  chunk_queue(share* shares, int threads, std::int64_t chunks) : shares(shares), threads(threads) {
    for (int t = 0; t < threads; ++t)
      shares[t] = {chunks * t / threads, chunks * (t + 1) / threads};
  }

  /// The next chunk for thread t; -1 when none is left.
  std::int64_t take(int t) {
    for (int s = 0; s < threads; ++s) {
      share& from = shares[t + s < threads ? t + s : t + s - threads];
      if (__atomic_load_n(&from.next, __ATOMIC_RELAXED) < from.end) {
        std::int64_t const chunk = __atomic_fetch_add(&from.next, 1, __ATOMIC_RELAXED);
        if (chunk < from.end)
          return chunk;
      }
    }
    return -1;
  }
};

} // namespace
} // namespace tulle::kernels::TULLE_ISA

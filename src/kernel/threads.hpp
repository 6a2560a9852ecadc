// SPDX-License-Identifier: Apache-2.0

// Threads for kernels: core/parallel.hpp without what it shares with other files, which are
// compiled for other instruction sets.
#pragma once
#include <cstdint>

namespace tulle::detail {
void run_parallel(int parts, void* context, void (*body)(void*, int)); // of core/parallel.hpp
}

namespace tulle::kernels::TULLE_ISA {
namespace {

/// f(part) for part in [0, parts), by as many threads; all have ended when it returns.
template <class F>
void parallel(int parts, F const& f) {
  tulle::detail::run_parallel(parts, const_cast<F*>(&f), [](void* context, int part) {
    (*static_cast<F const*>(context))(part);
  });
}

/// f(begin, end) for as many even pieces of [0, n) as there are threads.
template <class F>
void parallel_for(std::int64_t n, int threads, F const& f) {
  int const parts = n < threads ? static_cast<int>(n) : threads;
  parallel(parts, [&f, n, parts](int part) {
    f(n / parts * part + n % parts * part / parts,
      n / parts * (part + 1) + n % parts * (part + 1) / parts);
  });
}

/// f(i, part) for i in [0, n): each part takes the next `piece` of them when it is done with some.
template <class F>
void parallel_each(std::int64_t n, std::int64_t piece, int threads, F const& f) {
  std::int64_t const pieces = (n + piece - 1) / piece;
  std::int64_t taken = 0;
  parallel(pieces < threads ? static_cast<int>(pieces) : threads, [&, n, piece, pieces](int part) {
    for (std::int64_t k; (k = __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED)) < pieces;)
      for (std::int64_t i = k * piece; i < n && i < (k + 1) * piece; ++i)
        f(i, part);
  });
}

} // namespace
} // namespace tulle::kernels::TULLE_ISA

// SPDX-License-Identifier: Apache-2.0

/// Threads for header templates. The loop over threads lives in the library, so that a user's file
/// needs no OpenMP flag.
#pragma once
#include <cstddef>
#include <type_traits>

namespace tulle {

/// What `threads == 0` means: TULLE_THREADS if set, else what OpenMP would use here.
int default_threads() noexcept;

namespace detail {

// body(context, part) for each part in [0, parts), one thread a part where there are enough, the
// caller's own where there is one. The first exception by part number is thrown again after all
// parts have ended.
void run_parallel(int parts, void* context, void (*body)(void*, int));

/// f(part) for part in [0, parts), in parallel.
template <class F>
void parallel(int parts, F&& f) {
  run_parallel(parts, &f, [](void* context, int part) {
    (*static_cast<std::remove_reference_t<F>*>(context))(part);
  });
}

/// f(item, part) for item in [0, n), in parallel: each part takes the next one, so that items may
/// be large and small.
template <class F>
void parallel_each(std::size_t n, int parts, F&& f) {
  std::size_t taken = 0;
  parallel(parts, [&](int part) {
    for (std::size_t item; (item = __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED)) < n;)
      f(item, part);
  });
}

/// How many parts are worth it: one thread for each `grain` items of work, at least one, at most
/// `threads`.
inline int parts_for(std::size_t work, int threads, std::size_t grain = 1 << 15) {
  std::size_t const most = static_cast<std::size_t>(threads > 0 ? threads : default_threads());
  std::size_t const wanted = work / grain + 1;
  return static_cast<int>(wanted < most ? wanted : most);
}

/// First item of part `part` when n items are dealt evenly to `parts`.
constexpr std::size_t split(std::size_t n, int part, int parts) {
  auto const p = static_cast<std::size_t>(part);
  auto const all = static_cast<std::size_t>(parts);
  return n / all * p + n % all * p / all;
}

/// First row of part `part` when the entries counted by ptr[0..n] are dealt evenly.
template <class O>
std::size_t split_by_entries(O const* ptr, std::size_t n, int part, int parts) {
  if (part >= parts)
    return n;
  std::size_t const target = split(static_cast<std::size_t>(ptr[n]), part, parts);
  std::size_t lo = 0;
  std::size_t hi = n;
  while (lo < hi) {
    std::size_t const mid = lo + (hi - lo) / 2;
    if (static_cast<std::size_t>(ptr[mid]) < target)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

} // namespace detail
} // namespace tulle

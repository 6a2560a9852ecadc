// SPDX-License-Identifier: Apache-2.0
#include "tulle/core/parallel.hpp"

#include "bench/measure.hpp"

#include <cstdint>
#include <cstring>

namespace tulle::bench {
namespace {

// Eight independent sums, which the compiler turns into vectors of whatever width the machine has.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
std::uint64_t
sum(std::uint64_t const* p, std::size_t n) {
  std::uint64_t s[64] = {};
  std::size_t i = 0;
  for (; i + 64 <= n; i += 64)
    for (std::size_t j = 0; j < 64; ++j)
      s[j] += p[i + j];
  for (; i < n; ++i)
    s[0] += p[i];
  for (std::size_t j = 1; j < 64; ++j)
    s[0] += s[j];
  return s[0];
}

void stream(std::vector<stretch> const& memory, int threads) {
  std::uint64_t all = 0;
  auto const n = static_cast<std::size_t>(threads);
  tulle::parallel(threads, [&](int part) {
    auto const t = static_cast<std::size_t>(part);
    std::uint64_t here = 0;
    for (stretch const& m : memory) {
      std::size_t const words = m.bytes / 8;
      std::size_t const first = words * t / n / 8 * 8;
      std::size_t const last = t + 1 == n ? words : words * (t + 1) / n / 8 * 8;
      here += sum(static_cast<std::uint64_t const*>(m.data) + first, last - first);
    }
    __atomic_fetch_add(&all, here, __ATOMIC_RELAXED);
  });
  static std::uint64_t volatile sink = 0;
  sink = sink + all;
}

} // namespace

contestant read_bound(std::vector<stretch> const& memory, int threads) {
  contestant bound;
  bound.is_bound = true;
  bound.format = "stream";
  bound.run = [memory, threads] { stream(memory, threads); };
  return bound;
}

} // namespace tulle::bench

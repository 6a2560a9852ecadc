// SPDX-License-Identifier: Apache-2.0

// Dense vectors for solvers: one pass over memory for each step, in blocks. A block is updated and
// then summed while it lies in the first-level cache, in `lanes` interleaved sums; the sums of the
// blocks are added in order. So the bits depend on n alone, never on the number of threads. Sums
// are doubles, of floats too.
#pragma once
#include "tulle/core/parallel.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace tulle::solve {

constexpr std::size_t block = 1024; // 8 KiB a vector; other sizes have not been measured
constexpr std::size_t lanes = 8;
constexpr std::size_t alone = 1 << 15; // elements that one thread goes through without the others

/// a . b over n elements, n at most a block.
template <class T>
double dot(T const* a, T const* b, std::size_t n) {
  double s[lanes] = {};
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (std::size_t l = 0; l < lanes; ++l)
      s[l] += static_cast<double>(a[i + l]) * static_cast<double>(b[i + l]);
  for (std::size_t l = 0; i < n; ++i, ++l)
    s[l] += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

/// a . (d a), d a diagonal.
template <class T>
double weighted_dot(T const* a, T const* d, std::size_t n) {
  double s[lanes] = {};
  std::size_t i = 0;
  auto const term = [&](std::size_t k) {
    auto const v = static_cast<double>(a[k]);
    return v * v * static_cast<double>(d[k]);
  };
  for (; i + lanes <= n; i += lanes)
    for (std::size_t l = 0; l < lanes; ++l)
      s[l] += term(i + l);
  for (std::size_t l = 0; i < n; ++i, ++l)
    s[l] += term(i);
  return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

/// ||r||^2 and r . M^-1 r; the same number where there is no M.
struct norms {
  double rr = 0;
  double rz = 0;
};

/// How n elements are dealt to threads.
class dealt {
public:
  /// `sums` has room for sums_for(n).
  dealt(std::size_t n, int threads, norms* sums)
      // All threads or one: a team that changes its size between loops is started anew by libgomp.
      : n_(n), parts_(n < alone ? 1 : threads), sums_(sums) {}
  static std::size_t sums_for(std::size_t n) { return n / block + 1; }

  /// f(first, count) for each block.
  template <class F>
  void each(F&& f) const {
    run([&](std::size_t, std::size_t first, std::size_t count) { f(first, count); });
  }
  /// The same; what f returns is added up, block by block.
  template <class F>
  norms sum(F&& f) const {
    run([&](std::size_t b, std::size_t first, std::size_t count) { sums_[b] = f(first, count); });
    norms all;
    for (std::size_t b = 0; b * block < n_; ++b) {
      all.rr += sums_[b].rr;
      all.rz += sums_[b].rz;
    }
    return all;
  }

private:
  template <class F>
  void run(F&& f) const {
    std::size_t const blocks = (n_ + block - 1) / block;
    detail::parallel(parts_, [&](int part) {
      std::size_t const end = detail::split(blocks, part + 1, parts_);
      for (std::size_t b = detail::split(blocks, part, parts_); b < end; ++b)
        f(b, b * block, std::min(block, n_ - b * block));
    });
  }

  std::size_t n_;
  int parts_;
  norms* sums_;
};

/// The first element that is NaN or Inf; n where there is none.
template <class T>
std::size_t first_not_finite(T const* v, std::size_t n) {
  constexpr T most = std::numeric_limits<T>::max();
  for (std::size_t first = 0; first < n; first += block) {
    std::size_t const end = std::min(n, first + block);
    unsigned bad = 0;
    for (std::size_t i = first; i < end; ++i)
      bad |= !(v[i] <= most && v[i] >= -most);
    for (std::size_t i = first; bad && i < end; ++i)
      if (!(v[i] <= most && v[i] >= -most))
        return i;
  }
  return n;
}

} // namespace tulle::solve

// SPDX-License-Identifier: Apache-2.0

/// What the benches of matrices that grow share, here and on a device.
#pragma once
#include "tulle/core/where.hpp"
#include "tulle/dynamic/dynamic_csr.hpp"
#include "tulle/op/assemble.hpp"

#include "bench/contest.hpp"
#include "bench/measure.hpp"
#include "bench/options.hpp"
#include "bench/record.hpp"
#include "bench/vectors.hpp"

#include <random>

namespace tulle::bench {

inline constexpr std::size_t rounds = 50;
inline constexpr std::size_t round_part = 500; // of the entries: 0.2 %
inline constexpr int products = 5;
inline constexpr std::size_t singles = 1000; // inserted one by one: King et al., table 4
inline constexpr std::size_t builds = 5;     // in batches; each who takes part once in a round
// A contestant who has taken so long in all is not asked again: rebuilding takes minutes.
inline constexpr double seconds_each = 8;

inline dynamic_options options_of(int threads) {
  dynamic_options o;
  o.where.threads = threads;
  return o;
}

/// The entries of a matrix in random order: the same order every time.
template <class V, class I>
struct arrivals {
  array<I> row, col;
  array<V> val;

  explicit arrivals(csr<V, I, I> const& a)
      : row(a.col.size()), col(a.col.size()), val(a.val.size()) {
    std::size_t const n = a.val.size();
    array<I> rows(n);
    for (std::size_t i = 0; i < static_cast<std::size_t>(a.rows); ++i)
      std::fill(rows.data() + a.row_ptr[i], rows.data() + a.row_ptr[i + 1], static_cast<I>(i));
    array<std::size_t> order(n);
    for (std::size_t k = 0; k < n; ++k)
      order[k] = k;
    std::mt19937_64 random(1);
    for (std::size_t k = n; k > 1; --k)
      std::swap(order[k - 1], order[random() % k]);
    for (std::size_t k = 0; k < n; ++k) {
      row[k] = rows[order[k]];
      col[k] = a.col[order[k]];
      val[k] = a.val[order[k]];
    }
  }
  csr<V, I, I> first(I rows, I cols, std::size_t n, int threads) const {
    return from_triplets<V, I>(rows, cols, {row.data(), n}, {col.data(), n}, {val.data(), n},
                               combine::sum, {.threads = threads});
  }
};

/// `verified`: what came out was looked at, and is right.
inline record record_of(record const& about, contestant const& c, std::vector<double> const& times,
                        bool verified) {
  statistic const t = statistic_of(times);
  record r = about;
  r.backend = c.backend;
  r.cache = "warm";
  r.format = c.format;
  r.path = c.path;
  r.peer = c.peer;
  r.bytes = c.bytes;
  r.peak_bytes = c.peak_bytes;
  r.turns = static_cast<int>(times.size());
  r.seconds = t.median;
  r.fastest = t.least;
  r.spread = t.spread;
  r.verified = verified;
  return r;
}

/// Of rounds: the median does not see what comes every few of them.
inline record record_of_rounds(record const& about, contestant const& c,
                               std::vector<double> const& times, bool verified) {
  double sum = 0;
  for (double const t : times)
    sum += t;
  char text[64];
  std::snprintf(text, sizeof text, "; mean %.3f ms", 1e3 * sum / static_cast<double>(times.size()));
  record r = record_of(about, c, times, verified);
  r.path += text;
  return r;
}

/// y = A x, by whoever; a and x must outlive it.
template <class V, class I>
contest contest_of_products(record const& about, csr<V, I, I> const& a, array<V> const& x) {
  contest c;
  c.about = about;
  c.flops = 2 * static_cast<double>(a.val.size());
  c.vector_bytes = static_cast<double>(x.bytes()) + sizeof(V) * static_cast<double>(a.rows);
  c.bound_bytes = static_cast<double>(a.bytes()) + c.vector_bytes;
  c.verify = [&a, &x](contestant const& who) {
    array<V> y(static_cast<std::size_t>(a.rows));
    who.result(y.data());
    return is_product(a.view(), x.data(), y.data());
  };
  return c;
}

/// The same tables on a device.
template <class V, class I>
std::vector<record> run_growth_on_device(device const& where, std::string const& matrix,
                                         csr<V, I, I> const& source, options const& o,
                                         std::vector<std::string>& remarks);

} // namespace tulle::bench

// SPDX-License-Identifier: Apache-2.0

// A sparse vector x and a dense y, or x alone.
//
// y's cache lines decide: entries far apart take 64 bytes of y each for V bytes of use, beside V +
// I bytes of x, and as many again where y is written. 10^6 doubles at random places among 10^8 are
// 76 MB read, 140 MB with those written back, and mostly waiting: each line is a miss of its own,
// and of the page tables too. So lines are asked for `ahead` entries early, and there are threads.
// No vector instruction shortens that wait, so this file is compiled once, for all instruction
// sets.
//
// Entries are dealt to threads anywhere, since no two have the same place. Sums go by chunks, as
// dot_row.hpp says.
#include "tulle/op/level1.hpp"

#include "op/dot_row.hpp"
#include "op/sparse_operands.hpp"
#include "op/vector_blocks.hpp"
#include "reference/level1.hpp"

#include <algorithm>
#include <cmath>

namespace tulle::detail {
namespace {

// How many entries early. 10^6 entries in 10^8, Zen 4, two threads, best ms of axpy, gather,
// scatter: 8 early 6.0, 5.4, 4.8; 16: 5.6, 5.5, 4.6; 32: 5.2, 4.9, 4.6; 64: 5.3, 4.7, 5.4; 128:
// 5.4, 4.9, 5.0.
constexpr std::size_t ahead = 32;
// A y of so many bytes comes from caches, where asking early costs more than it gives. Every tenth
// place, one thread, us of axpy asking and not: 0.8 MB 11, 7; 8 MB 133, 92; 80 MB 8000, 7900 with
// gather at 6200, 8400.
constexpr std::size_t near_bytes = 1 << 24;
constexpr std::size_t grain = 1 << 14; // entries that a thread is started for
constexpr std::size_t block = 4096;    // elements of y that are scaled before entries are added

template <class V>
bool is_far(std::size_t y_size) {
  return y_size > near_bytes / sizeof(V);
}

// f(k) for each k in [first, last), y's lines under way where it is far.
template <bool writes, class V, class I, class F>
void walk(V const* y, bool far, I const* index, std::size_t first, std::size_t last, F f) {
  std::size_t const asking = far && last - first > ahead ? last - ahead : first;
  std::size_t k = first;
  for (; k < asking; ++k) {
    __builtin_prefetch(y + index[k + ahead], writes);
    f(k);
  }
  for (; k < last; ++k)
    f(k);
}

// f(k) for each entry of x, by threads.
template <bool writes, class V, class I, class F>
void each(V const* y, sparse_vector_view<V, I> x, int threads, F f) {
  auto const n = static_cast<std::size_t>(x.nnz);
  bool const far = is_far<V>(static_cast<std::size_t>(x.size));
  int const parts = parts_for(n, threads, grain);
  parallel(parts, [&](int part) {
    walk<writes>(y, far, x.index, split(n, part, parts), split(n, part + 1, parts), f);
  });
}

// f(first, last) of each chunk of n entries, joined in order.
template <class T, class F, class Join>
T join_chunks(std::size_t n, int threads, F f, Join join) {
  std::size_t const chunk = chunk_of(n);
  std::size_t const chunks = (n + chunk - 1) / chunk;
  T results[most_chunks];
  int const parts = parts_for(n, threads, grain);
  parallel(parts, [&](int part) {
    std::size_t const end = split(chunks, part + 1, parts);
    for (std::size_t c = split(chunks, part, parts); c < end; ++c)
      results[c] = f(c * chunk, std::min(n, (c + 1) * chunk));
  });
  T all = 0;
  for (std::size_t c = 0; c < chunks; ++c)
    all = join(all, results[c]);
  return all;
}
template <class T, class F>
T sum_chunks(std::size_t n, int threads, F f) {
  return join_chunks<T>(n, threads, f, [](T a, T b) { return a + b; });
}

// The sum of term(k), in four sums that do not wait for each other. ask(k) comes before the terms
// of k up to `asking`; whether it does leaves the bits alone.
template <class T, class F, class Ask>
T sum_terms(std::size_t first, std::size_t asking, std::size_t last, F term, Ask ask) {
  T s[4] = {};
  std::size_t k = first;
  for (; k + 4 <= asking; k += 4)
    for (std::size_t l = 0; l < 4; ++l) {
      ask(k + l);
      s[l] += term(k + l);
    }
  for (; k + 4 <= last; k += 4)
    for (std::size_t l = 0; l < 4; ++l)
      s[l] += term(k + l);
  for (std::size_t l = 0; k < last; ++k, ++l)
    s[l] += term(k);
  return (s[0] + s[2]) + (s[1] + s[3]);
}
template <class T, class F>
T sum_terms(std::size_t first, std::size_t last, F term) {
  return sum_terms<T>(first, first, last, term, [](std::size_t) {});
}

template <bool conjugate, class V, class I>
V dot_dense(sparse_vector_view<V, I> x, V const* y, int threads) {
  auto const n = static_cast<std::size_t>(x.nnz);
  std::size_t const asking =
      is_far<V>(static_cast<std::size_t>(x.size)) && n > ahead ? n - ahead : 0;
  return static_cast<V>(sum_chunks<wide_t<V>>(n, threads, [=](std::size_t first, std::size_t last) {
    return sum_terms<wide_t<V>>(
        first, std::min(asking, last), last,
        [=](std::size_t k) { return product<conjugate>(x.val[k], y[x.index[k]]); },
        [=](std::size_t k) { __builtin_prefetch(y + x.index[k + ahead]); });
  }));
}

template <bool conjugate, class V, class I>
V dot_sparse(sparse_vector_view<V, I> x, sparse_vector_view<V, I> y, int threads) {
  row_entries<V, I> const a{x.index, x.val, static_cast<std::size_t>(x.nnz)};
  row_entries<V, I> const b{y.index, y.val, static_cast<std::size_t>(y.nnz)};
  return static_cast<V>(
      sum_chunks<wide_t<V>>(std::min(a.n, b.n), threads, [&](std::size_t first, std::size_t last) {
        return dot_chunk<conjugate>(a, b, first, last);
      }));
}

using kernels::reference::modulus;

template <class V, class I>
real_t<V> largest(sparse_vector_view<V, I> x, int threads) {
  using R = real_t<V>;
  return join_chunks<R>(
      static_cast<std::size_t>(x.nnz), threads,
      [=](std::size_t first, std::size_t last) {
        R most = 0;
        for (std::size_t k = first; k < last; ++k)
          most = greater_or_nan(most, modulus(x.val[k]));
        return most;
      },
      greater_or_nan<R>);
}

// The sum of (scale |x_k|)^2.
template <class V, class I>
double sum_of_squares(sparse_vector_view<V, I> x, double scale, int threads) {
  return sum_chunks<double>(static_cast<std::size_t>(x.nnz), threads,
                            [=](std::size_t first, std::size_t last) {
                              return sum_terms<double>(first, last, [=](std::size_t k) {
                                wide_t<V> const v = wide_t<V>(x.val[k]) * scale;
                                return std::norm(v);
                              });
                            });
}

} // namespace

template <class V, class I>
V level1<V, I>::dot(where const& w, sparse_view x, vector_view<V const> y, dot_options options) {
  check_pair("dot", x, y.data(), y.size(), false);
  if (by_reference("dot", w))
    return kernels::reference::dot(x, y.data(), options.conjugate);
  return options.conjugate ? dot_dense<true>(x, y.data(), w.threads)
                           : dot_dense<false>(x, y.data(), w.threads);
}

template <class V, class I>
V level1<V, I>::dot(where const& w, sparse_view x, sparse_view y, dot_options options) {
  if (x.size != y.size)
    fail(errc::shape_mismatch, "dot: x has size %lld but y has size %lld",
         static_cast<long long>(x.size), static_cast<long long>(y.size));
  check_arrays("dot", "x", x);
  check_arrays("dot", "y", y);
  if (by_reference("dot", w))
    return kernels::reference::dot(x, y, options.conjugate);
  return options.conjugate ? dot_sparse<true>(x, y, w.threads) : dot_sparse<false>(x, y, w.threads);
}

template <class V, class I>
void level1<V, I>::axpy(where const& w, V alpha, sparse_view x, vector_view<V> y) {
  V* const to = y.data();
  check_pair<V, I>("axpy", x, to, y.size(), true);
  if (by_reference("axpy", w))
    return kernels::reference::axpy(alpha, x, to);
  if (alpha == V(0))
    return;
  each<true, V, I>(to, x, w.threads, [=](std::size_t k) { to[x.index[k]] += alpha * x.val[k]; });
}

template <class V, class I>
void level1<V, I>::gather(where const& w, vector_view<V const> y, mutable_view x) {
  V const* const from = y.data();
  check_written("gather", x, from, y.size());
  if (by_reference("gather", w))
    return kernels::reference::gather(from, x);
  each<false, V, I>(from, x, w.threads, [=](std::size_t k) { x.val[k] = from[x.index[k]]; });
}

template <class V, class I>
void level1<V, I>::gather_zero(where const& w, vector_view<V> y, mutable_view x) {
  V* const from = y.data();
  check_written<V, I>("gather_zero", x, from, y.size());
  if (by_reference("gather_zero", w))
    return kernels::reference::gather_zero(from, x);
  each<true, V, I>(from, x, w.threads, [=](std::size_t k) {
    x.val[k] = from[x.index[k]];
    from[x.index[k]] = V(0);
  });
}

template <class V, class I>
void level1<V, I>::scatter(where const& w, sparse_view x, vector_view<V> y) {
  V* const to = y.data();
  check_pair<V, I>("scatter", x, to, y.size(), true);
  if (by_reference("scatter", w))
    return kernels::reference::scatter(x, to);
  each<true, V, I>(to, x, w.threads, [=](std::size_t k) { to[x.index[k]] = x.val[k]; });
}

template <class V, class I>
void level1<V, I>::rotate(where const& w, mutable_view x, vector_view<V> y, real_t<V> c,
                          real_t<V> s) {
  V* const to = y.data();
  check_written<V, I>("rotate", x, to, y.size());
  if (by_reference("rotate", w))
    return kernels::reference::rotate(x, to, c, s);
  each<true, V, I>(to, x, w.threads, [=](std::size_t k) {
    V const a = x.val[k], b = to[x.index[k]];
    x.val[k] = c * a + s * b;
    to[x.index[k]] = c * b - s * a;
  });
}

template <class V, class I>
real_t<V> level1<V, I>::norm1(where const& w, sparse_view x) {
  check_arrays("norm1", "x", x);
  if (by_reference("norm1", w))
    return kernels::reference::norm1(x);
  auto const n = static_cast<std::size_t>(x.nnz);
  double const sum = sum_chunks<double>(n, w.threads, [=](std::size_t first, std::size_t last) {
    return sum_terms<double>(first, last, [=](std::size_t k) { return double(modulus(x.val[k])); });
  });
  return static_cast<real_t<V>>(sum);
}

template <class V, class I>
real_t<V> level1<V, I>::norm2(where const& w, sparse_view x) {
  check_arrays("norm2", "x", x);
  if (by_reference("norm2", w))
    return kernels::reference::norm2(x);
  return static_cast<real_t<V>>(
      norm2_of([&](double scale) { return sum_of_squares(x, scale, w.threads); },
               [&] { return largest(x, w.threads); }));
}

template <class V, class I>
real_t<V> level1<V, I>::norm_inf(where const& w, sparse_view x) {
  check_arrays("norm_inf", "x", x);
  if (by_reference("norm_inf", w))
    return kernels::reference::norm_inf(x);
  return largest(x, w.threads);
}

template <class V, class I>
void level1<V, I>::add(where const& w, V alpha, sparse_view x, V beta, vector_view<V> y) {
  V* const to = y.data();
  check_pair<V, I>("add", x, to, y.size(), true);
  if (by_reference("add", w))
    return kernels::reference::add(alpha, x, beta, to);
  if (beta == V(1))
    return axpy(w, alpha, x, y);
  std::size_t const n = y.size();
  int const parts = parts_for(n, w.threads, grain);
  parallel(parts, [&](int part) {
    I const* const x_end = x.index + x.nnz;
    std::size_t i = split(n, part, parts);
    std::size_t const end = split(n, part + 1, parts);
    std::size_t k =
        static_cast<std::size_t>(std::lower_bound(x.index, x_end, static_cast<I>(i)) - x.index);
    for (; i < end; i += block) {
      std::size_t const stop = std::min(end, i + block);
      if (beta == V(0))
        std::fill(to + i, to + stop, V(0));
      else
        for (std::size_t j = i; j < stop; ++j)
          to[j] = beta * to[j];
      if (alpha == V(0))
        continue;
      for (; k < static_cast<std::size_t>(x.nnz) && static_cast<std::size_t>(x.index[k]) < stop;
           ++k) {
        V& at = to[x.index[k]];
        at = beta == V(0) ? alpha * x.val[k] : alpha * x.val[k] + at;
      }
    }
  });
}

#define TULLE_LEVEL1(V, I) template struct level1<V, I>;
TULLE_VECTOR_TYPES(TULLE_LEVEL1)

} // namespace tulle::detail

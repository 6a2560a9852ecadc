// SPDX-License-Identifier: Apache-2.0

/// Sparse vectors that are made to break loops over them, and dense ones beside them.
#pragma once
#include "tulle/format/sparse_vector.hpp"

#include "support/expect.hpp"

#include <complex>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace tulle::test {

template <class V_, class I_>
struct types {
  using V = V_;
  using I = I_;
};
using vector_types = testing::Types<
    types<float, std::int32_t>, types<double, std::int32_t>, types<float, std::int64_t>,
    types<double, std::int64_t>, types<std::complex<float>, std::int32_t>,
    types<std::complex<double>, std::int32_t>, types<std::complex<float>, std::int64_t>,
    types<std::complex<double>, std::int64_t>>;

template <class V>
inline constexpr bool is_complex = false;
template <class R>
inline constexpr bool is_complex<std::complex<R>> = true;

/// re + i im where V is complex, else re.
template <class V>
V make(double re, double im = 0) {
  if constexpr (is_complex<V>)
    return V(static_cast<typename V::value_type>(re), static_cast<typename V::value_type>(im));
  else
    return static_cast<V>(re);
}

/// Numbers that are always the same.
class draws {
public:
  explicit draws(std::uint64_t seed) : state_(seed * 2654435769u + 1) {}
  std::uint64_t next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return state_ >> 33;
  }
  /// In (-1, 1), of full precision; or an integer up to 4 in size.
  double number(bool integer) {
    return integer ? static_cast<double>(next() % 9) - 4
                   : static_cast<double>(next()) / 1073741824.0 - 1;
  }

private:
  std::uint64_t state_;
};

template <class V>
std::vector<V> dense_of(std::size_t n, std::uint64_t seed, bool integers = false) {
  draws d(seed);
  std::vector<V> y(n);
  for (V& v : y) {
    double const re = d.number(integers);
    v = make<V>(re, d.number(integers));
  }
  return y;
}

/// nnz entries, about `gap` places apart; gap == 1: dense. The last one is at the vector's end.
template <class V, class I>
sparse_vector<V, I> sparse_of(std::size_t nnz, std::size_t gap, std::uint64_t seed,
                              bool integers = false) {
  draws d(seed);
  array<I> index(nnz);
  std::size_t at = 0;
  for (std::size_t k = 0; k < nnz; ++k) {
    at += gap == 1 ? 0 : d.next() % (2 * gap - 1);
    index[k] = static_cast<I>(at++);
  }
  std::vector<V> const val = dense_of<V>(nnz, seed + 1, integers);
  return {static_cast<I>(at), std::move(index), array<V>(val.data(), nnz)};
}
/// The same in a longer vector.
template <class V, class I>
sparse_vector<V, I> widened(sparse_vector<V, I> x, I size) {
  x.size = size;
  return x;
}

template <class V, class I>
struct specimen {
  std::string name;
  sparse_vector<V, I> x;
};

/// All of them; values are integers where asked, so that sums are exact in every order.
template <class V, class I>
std::vector<specimen<V, I>> specimens(bool integers = false) {
  std::vector<specimen<V, I>> all;
  all.push_back({"size 0", {}});
  all.push_back({"no entry", sparse_vector<V, I>(5, {}, {})});
  all.push_back({"size 1", sparse_vector<V, I>(1, {0}, {make<V>(3, 1)})});
  all.push_back({"the first alone", sparse_vector<V, I>(9, {0}, {make<V>(3, 1)})});
  all.push_back({"the last alone", sparse_vector<V, I>(9, {8}, {make<V>(3, 1)})});
  all.push_back({"the ends", sparse_vector<V, I>(70, {0, 69}, {make<V>(3, 1), make<V>(-2, 2)})});
  all.push_back({"zeros", sparse_vector<V, I>(6, {1, 2, 4}, {V(0), make<V>(-0.0), V(0)})});
  // Around how far loops look ahead, a chunk's entries, and the entries that a thread is started
  // for.
  for (std::size_t const n : {3, 4, 5, 31, 32, 33, 4095, 4096, 4097, 16383, 16384, 16385, 120000})
    for (std::size_t const gap : {1, 7}) {
      if (n > 5000 && gap == 1)
        continue;
      all.push_back({std::to_string(n) + " entries, gap " + std::to_string(gap),
                     sparse_of<V, I>(n, gap, n + gap, integers)});
    }
  return all;
}

} // namespace tulle::test

// SPDX-License-Identifier: Apache-2.0

/// What the tests of trsv and trsm share: matrices with a safe diagonal, and dense substitution.
#pragma once
#include "tulle/gen/generate.hpp"
#include "tulle/op/trsm.hpp"

#include "support/zoo.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

namespace tulle::test {

/// n x n with both triangles, rows sorted, about `per_row` entries beside the diagonal, which
/// outweighs them.
template <class V, class I = std::int32_t, class O = I>
csr<V, I, O> safe_matrix(std::size_t n, std::size_t per_row, unsigned seed = 1) {
  std::vector<std::vector<V>> dense(n, std::vector<V>(n, V(0)));
  std::uint64_t state = seed * 7919 + 1;
  auto const next = [&state](std::size_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::size_t>(state >> 33) % below;
  };
  auto const value = [&]() -> V {
    auto const re = static_cast<double>(next(19)) / 8 - 1;
    if constexpr (std::is_floating_point_v<V>)
      return V(re == 0 ? 0.5 : re);
    else
      return {static_cast<typename V::value_type>(re),
              static_cast<typename V::value_type>(static_cast<double>(next(13)) / 8 + 0.125)};
  };
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; n > 1 && k < per_row; ++k)
      if (std::size_t const j = next(n); j != i)
        dense[i][j] = value();
    if (i > 0 && next(2))
      dense[i][i - 1] = value();
    dense[i][i] = value() + V(static_cast<float>(3 * per_row + 4));
  }
  std::vector<O> ptr{0};
  std::vector<I> col;
  std::vector<V> val;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j)
      if (dense[i][j] != V(0)) {
        col.push_back(static_cast<I>(j));
        val.push_back(dense[i][j]);
      }
    ptr.push_back(static_cast<O>(col.size()));
  }
  return {static_cast<I>(n), static_cast<I>(n), array<O>(ptr.data(), ptr.size()),
          array<I>(col.data(), col.size()), array<V>(val.data(), val.size())};
}

/// The same matrix as a user might have it: rows backwards, entries as sums of two.
template <class V, class I, class O>
csr<V, I, O> untidy(csr<V, I, O> const& a, bool twice) {
  std::vector<O> ptr{0};
  std::vector<I> col;
  std::vector<V> val;
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.rows); ++i) {
    for (O k = a.row_ptr[i + 1]; k-- > a.row_ptr[i];) {
      col.push_back(a.col[static_cast<std::size_t>(k)]);
      val.push_back(twice ? a.val[static_cast<std::size_t>(k)] * V(0.25)
                          : a.val[static_cast<std::size_t>(k)]);
    }
    for (O k = a.row_ptr[i]; twice && k < a.row_ptr[i + 1]; ++k) {
      col.push_back(a.col[static_cast<std::size_t>(k)]);
      val.push_back(a.val[static_cast<std::size_t>(k)] * V(0.75));
    }
    ptr.push_back(static_cast<O>(col.size()));
  }
  return {a.rows, a.cols, array<O>(ptr.data(), ptr.size()), array<I>(col.data(), col.size()),
          array<V>(val.data(), val.size())};
}

enum class view_of_triangle { plain, transposed, adjoint, conjugated };
inline constexpr view_of_triangle every_view[] = {
    view_of_triangle::plain, view_of_triangle::transposed, view_of_triangle::adjoint,
    view_of_triangle::conjugated};

/// f(view of a).
template <class A, class F>
void with_view(view_of_triangle v, A const& a, F const& f) {
  switch (v) {
  case view_of_triangle::plain:
    return f(a);
  case view_of_triangle::transposed:
    return f(transposed(a));
  case view_of_triangle::adjoint:
    return f(adjoint(a));
  case view_of_triangle::conjugated:
    return f(conjugated(a));
  }
}

template <class V>
auto widened(V v) {
  if constexpr (std::is_floating_point_v<V>)
    return static_cast<long double>(v);
  else
    return std::complex<long double>(v.real(), v.imag());
}

/// x of op(T) x = alpha b in extended precision, by a dense matrix.
template <class V, class I, class O>
auto dense_solution(csr<V, I, O> const& a, view_of_triangle view, trsv_options o, V alpha,
                    std::vector<V> const& b) {
  using W = decltype(widened(V()));
  auto const n = static_cast<std::size_t>(a.rows);
  std::vector<W> t(n * n, W(0));
  bool const lower = o.triangle == triangle::lower;
  bool const turns = view == view_of_triangle::transposed || view == view_of_triangle::adjoint;
  bool const conjugates = view == view_of_triangle::conjugated || view == view_of_triangle::adjoint;
  for (std::size_t i = 0; i < n; ++i)
    for (auto k = static_cast<std::size_t>(a.row_ptr[i]);
         k < static_cast<std::size_t>(a.row_ptr[i + 1]); ++k) {
      auto const j = static_cast<std::size_t>(a.col[k]);
      if ((lower ? j > i : j < i) || (j == i && o.unit_diagonal))
        continue;
      W v = widened(a.val[k]);
      if constexpr (!std::is_floating_point_v<V>)
        v = conjugates ? std::conj(v) : v;
      t[turns ? j * n + i : i * n + j] += v;
    }
  (void)conjugates;
  std::vector<W> x(n);
  for (std::size_t q = 0; q < n; ++q) {
    std::size_t const i = lower != turns ? q : n - 1 - q;
    W sum = widened(alpha) * widened(b[i]);
    for (std::size_t j = 0; j < n; ++j)
      if (lower != turns ? j < i : j > i)
        sum -= t[i * n + j] * x[j];
    x[i] = o.unit_diagonal ? sum : sum / t[i * n + i];
  }
  return x;
}

template <class V>
std::vector<V> right_side(std::size_t n, unsigned seed = 5) {
  std::vector<double> const re = roughs(n, seed), im = roughs(n, seed + 1);
  std::vector<V> b(n);
  for (std::size_t i = 0; i < n; ++i)
    if constexpr (std::is_floating_point_v<V>)
      b[i] = static_cast<V>(re[i]);
    else
      b[i] = {static_cast<typename V::value_type>(re[i]),
              static_cast<typename V::value_type>(im[i])};
  return b;
}

template <class V>
V not_a_number() {
  return V(std::numeric_limits<decltype(std::abs(V()))>::quiet_NaN());
}

/// Whether x is within rounding of the solution w of a matrix with a safe diagonal.
template <class V, class W>
testing::AssertionResult is_near(std::vector<V> const& x, std::vector<W> const& w) {
  long double largest = 0, error = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    largest = std::max(largest, std::abs(w[i]));
    long double const e = std::abs(widened(x[i]) - w[i]);
    if (!(e <= error))
      error = e, at = i;
  }
  auto const eps = std::numeric_limits<decltype(std::abs(V()))>::epsilon();
  if (error <= 100 * eps * largest)
    return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "x[" << at << "] is off by " << error << ", largest " << largest;
}

inline constexpr trsv_method every_method[] = {trsv_method::automatic, trsv_method::serial,
                                               trsv_method::levels, trsv_method::sync_free};

} // namespace tulle::test

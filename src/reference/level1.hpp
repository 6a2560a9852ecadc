// SPDX-License-Identifier: Apache-2.0

// Sparse vectors, one plain loop an operation. Every other form answers to these.
#pragma once
#include "tulle/op/level1.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tulle::kernels::reference {

template <class V>
V conjugate_if(bool conjugate, V v) {
  if constexpr (!std::is_same_v<V, real_t<V>>)
    return conjugate ? std::conj(v) : v;
  else
    return v;
}

template <class V, class I>
V dot(sparse_vector_view<V, I> x, V const* y, bool conjugate) {
  V sum = 0;
  for (I k = 0; k < x.nnz; ++k)
    sum += conjugate_if(conjugate, x.val[k]) * y[x.index[k]];
  return sum;
}

template <class V, class I>
V dot(sparse_vector_view<V, I> x, sparse_vector_view<V, I> y, bool conjugate) {
  V sum = 0;
  for (I i = 0, j = 0; i < x.nnz && j < y.nnz;) {
    if (x.index[i] == y.index[j])
      sum += conjugate_if(conjugate, x.val[i++]) * y.val[j++];
    else if (x.index[i] < y.index[j])
      ++i;
    else
      ++j;
  }
  return sum;
}

template <class V, class I>
void axpy(V alpha, sparse_vector_view<V, I> x, V* y) {
  if (alpha == V(0))
    return;
  for (I k = 0; k < x.nnz; ++k)
    y[x.index[k]] += alpha * x.val[k];
}

template <class V, class I>
void gather(V const* y, mutable_sparse_vector_view<V, I> x) {
  for (I k = 0; k < x.nnz; ++k)
    x.val[k] = y[x.index[k]];
}

template <class V, class I>
void gather_zero(V* y, mutable_sparse_vector_view<V, I> x) {
  for (I k = 0; k < x.nnz; ++k) {
    x.val[k] = y[x.index[k]];
    y[x.index[k]] = V(0);
  }
}

template <class V, class I>
void scatter(sparse_vector_view<V, I> x, V* y) {
  for (I k = 0; k < x.nnz; ++k)
    y[x.index[k]] = x.val[k];
}

template <class V, class I>
void rotate(mutable_sparse_vector_view<V, I> x, V* y, real_t<V> c, real_t<V> s) {
  for (I k = 0; k < x.nnz; ++k) {
    V const a = x.val[k], b = y[x.index[k]];
    x.val[k] = c * a + s * b;
    y[x.index[k]] = c * b - s * a;
  }
}

/// |v|; NaN where a part of v is, though hypot(NaN, Inf) is Inf.
template <class V>
real_t<V> modulus(V v) {
  if constexpr (std::is_same_v<V, real_t<V>>)
    return std::fabs(v);
  else
    return std::isnan(v.real()) || std::isnan(v.imag())
               ? std::numeric_limits<real_t<V>>::quiet_NaN()
               : std::hypot(v.real(), v.imag());
}

template <class V, class I>
real_t<V> norm1(sparse_vector_view<V, I> x) {
  real_t<V> sum = 0;
  for (I k = 0; k < x.nnz; ++k)
    sum += modulus(x.val[k]);
  return sum;
}

template <class V, class I>
real_t<V> norm2(sparse_vector_view<V, I> x) {
  real_t<V> norm = 0;
  for (I k = 0; k < x.nnz; ++k) {
    real_t<V> const v = modulus(x.val[k]);
    norm = std::isnan(norm) || std::isnan(v) ? norm + v : std::hypot(norm, v);
  }
  return norm;
}

template <class V, class I>
real_t<V> norm_inf(sparse_vector_view<V, I> x) {
  real_t<V> most = 0;
  for (I k = 0; k < x.nnz; ++k) {
    real_t<V> const v = modulus(x.val[k]);
    most = std::isnan(v) || v > most ? v : most; // no v is greater than NaN
  }
  return most;
}

template <class V, class I>
void add(V alpha, sparse_vector_view<V, I> x, V beta, V* y) {
  for (I i = 0; i < x.size && beta != V(1); ++i)
    y[i] = beta == V(0) ? V(0) : beta * y[i];
  for (I k = 0; k < x.nnz && alpha != V(0); ++k)
    y[x.index[k]] = beta == V(0) ? alpha * x.val[k] : alpha * x.val[k] + y[x.index[k]];
}

/// Writes to index and val, which have room for both; returns how many entries there are.
template <class V, class I>
std::size_t add(V alpha, sparse_vector_view<V, I> x, V beta, sparse_vector_view<V, I> y, I* index,
                V* val) {
  std::size_t n = 0;
  for (I i = 0, j = 0; i < x.nnz || j < y.nnz; ++n) {
    bool const of_x = j == y.nnz || (i < x.nnz && x.index[i] <= y.index[j]);
    bool const of_y = i == x.nnz || (j < y.nnz && y.index[j] <= x.index[i]);
    V const a = !of_x || alpha == V(0) ? V(0) : alpha * x.val[i];
    V const b = !of_y || beta == V(0) ? V(0) : beta * y.val[j];
    index[n] = of_x ? x.index[i] : y.index[j];
    val[n] = of_x && of_y ? a + b : of_x ? a : b;
    i += of_x;
    j += of_y;
  }
  return n;
}

} // namespace tulle::kernels::reference

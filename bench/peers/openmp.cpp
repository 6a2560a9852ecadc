// SPDX-License-Identifier: Apache-2.0

// The loop that everyone writes first.
#include "bench/peers/peer.hpp"
#include "bench/peers/result.hpp"

namespace tulle::bench {

template <class V, class I>
std::vector<contestant> contestants(spmv_problem<V, I> const& p) {
  contestant c;
  c.peer = "openmp";
  c.path = "plain loop, rows dealt evenly";
  c.bytes = c.peak_bytes = detail::bytes_of(p.a);
  V* const y = keep_result(c, p);
  c.run = [p, y] {
    csr_view<V, I, I> const a = p.a;
    V const* const x = p.x;
#pragma omp parallel for num_threads(p.threads) schedule(static)
    for (I i = 0; i < a.rows; ++i) {
      V sum = 0;
      for (I k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
        sum += a.val[k] * x[a.col[k]];
      y[i] = sum;
    }
  };
  return {c};
}

// Of rows that add to one y, only one thread can take some.
template <class V, class I>
std::vector<contestant> contestants(spmv_transposed_problem<V, I> const& p) {
  contestant c;
  c.peer = "openmp";
  c.path = "plain loop, 1 thread";
  c.bytes = c.peak_bytes = detail::bytes_of(p.a);
  V* const y = keep_result(c, p);
  c.run = [p, y] {
    csr_view<V, I, I> const a = p.a;
    std::fill_n(y, a.cols, V(0));
    for (I i = 0; i < a.rows; ++i)
      for (I k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
        y[a.col[k]] += a.val[k] * p.x[i];
  };
  return {c};
}

template <class V, class I>
std::vector<contestant> contestants(sddmm_problem<V, I> const& p) {
  contestant c;
  c.peer = "openmp";
  c.path = "plain loop, rows dealt evenly";
  c.bytes = c.peak_bytes = detail::bytes_of(p.a);
  V* const to = keep_result<V>(c, static_cast<std::size_t>(p.a.nnz));
  c.run = [p, to] {
    csr_view<V, I, I> const a = p.a;
    auto const width = static_cast<std::size_t>(p.columns);
#pragma omp parallel for num_threads(p.threads) schedule(static)
    for (I i = 0; i < a.rows; ++i)
      for (I e = a.row_ptr[i]; e < a.row_ptr[i + 1]; ++e) {
        V const* const x = p.x + static_cast<std::size_t>(i) * width;
        V const* const y = p.y + static_cast<std::size_t>(a.col[e]) * width;
        V sum = 0;
#pragma omp simd reduction(+ : sum)
        for (std::size_t k = 0; k < width; ++k)
          sum += x[k] * y[k];
        to[e] = sum;
      }
  };
  return {c};
}

/// body(value of x, value of y) for each of x's places.
template <class V, class I, class Body>
std::function<void()> over_places(level1_problem<V, I> const& p, Body const& body) {
  return [p, body] {
    I const* const index = p.index.data();
    V* const x = p.val.data();
    V* const y = p.y.data();
    std::size_t const n = p.index.size();
#pragma omp parallel for num_threads(p.threads) schedule(static)
    for (std::size_t k = 0; k < n; ++k)
      body(x[k], y[index[k]]);
  };
}

// Of two sparse vectors the sum is no such loop.
template <class V, class I>
std::vector<contestant> contestants(level1_problem<V, I> const& p) {
  contestant c;
  c.peer = "openmp";
  c.path = "plain loop, entries dealt evenly";
  c.bytes = c.peak_bytes = p.index.size_bytes() + p.val.size_bytes();
  switch (p.function) {
  case level1_function::dot: {
    V* const result = keep_result<V>(c, 1);
    c.run = [p, result] {
      V sum = 0;
#pragma omp parallel for num_threads(p.threads) schedule(static) reduction(+ : sum)
      for (std::size_t k = 0; k < p.index.size(); ++k)
        sum += p.val[k] * p.y[static_cast<std::size_t>(p.index[k])];
      *result = sum;
    };
    break;
  }
  case level1_function::axpy:
    c.run = over_places(p, [alpha = p.alpha](V& x, V& y) { y += alpha * x; });
    break;
  case level1_function::gather:
    c.run = over_places(p, [](V& x, V& y) { x = y; });
    break;
  case level1_function::gather_zero:
    c.run = over_places(p, [](V& x, V& y) {
      x = y;
      y = 0;
    });
    break;
  case level1_function::scatter:
    c.run = over_places(p, [](V& x, V& y) { y = x; });
    break;
  case level1_function::rotate:
    c.run = over_places(p, [c = p.c, s = p.s](V& x, V& y) {
      V const old = x;
      x = c * old + s * y;
      y = c * y - s * old;
    });
    break;
  case level1_function::dense_dot: {
    V* const result = keep_result<V>(c, 1);
    c.run = [p, result] {
      V sum = 0;
#pragma omp parallel for num_threads(p.threads) schedule(static) reduction(+ : sum)
      for (std::size_t k = 0; k < p.y.size(); ++k)
        sum += p.dense_x[k] * p.y[k];
      *result = sum;
    };
    break;
  }
  case level1_function::dense_axpy:
    c.run = [p] {
#pragma omp parallel for num_threads(p.threads) schedule(static)
      for (std::size_t k = 0; k < p.y.size(); ++k)
        p.y[k] += p.alpha * p.dense_x[k];
    };
    break;
  case level1_function::add:
    return {};
  }
  return {c};
}

} // namespace tulle::bench

TULLE_PEER

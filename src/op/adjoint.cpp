// SPDX-License-Identifier: Apache-2.0

// A^H x = conj(A^T conj(x)): a conjugated copy of x, the transposed product into conj(y), and y
// conjugated back. A conjugation changes a sign bit, so undoing it after a failure is exact, and
// the sums are rounded as those of the transposed product.
#include "tulle/op/adjoint.hpp"

#include "tulle/core/error.hpp"
#include "tulle/core/parallel.hpp"

#include "op/dense_operands.hpp"

#include <complex>

namespace tulle::detail {
namespace {

/// f(element) for each, in parallel.
template <class V, class F>
void for_each_element(dense_ref const& d, int threads, F const& f) {
  std::size_t const n = d.rows * d.cols;
  int const parts = parts_for(n, threads, 1 << 16);
  parallel(parts, [&](int part) {
    std::size_t const end = split(n, part + 1, parts);
    for (std::size_t k = split(n, part, parts); k < end; ++k) {
      std::size_t const i = k / d.cols, j = k % d.cols;
      f(static_cast<V*>(d.data)[i * d.row_stride + j * d.col_stride], k);
    }
  });
}

/// An output that is conjugated for the while, and back whatever happens.
template <class V>
class conjugated {
public:
  conjugated(dense_ref const& d, int threads) : d_(d), threads_(threads) { flip(); }
  ~conjugated() { flip(); }
  conjugated(conjugated const&) = delete;
  conjugated& operator=(conjugated const&) = delete;

private:
  void flip() {
    for_each_element<V>(d_, threads_, [](V& v, std::size_t) { v = std::conj(v); });
  }
  dense_ref d_;
  int threads_;
};

/// product(conj(alpha), conj(b), conj(beta)) into conj(c), without reading b where alpha is zero.
template <class V, class Product>
void conjugate_product(char const* op, where const& w, V alpha, dense_ref const& b, V beta,
                       dense_ref const& c, Product const& product) {
  std::size_t const n = checked_mul(b.rows, b.cols, op);
  std::size_t const bytes = checked_mul(n, sizeof(V), op);
  if (bytes > w.workspace_limit)
    fail(errc::out_of_memory, "%s: %zu bytes of workspace wanted, the limit is %zu", op, bytes,
         w.workspace_limit);
  array<V> copy(n, w.memory);
  if (alpha != V(0))
    for_each_element<V>(b, w.threads, [&](V& v, std::size_t k) { copy[k] = std::conj(v); });
  where rest = w;
  if (rest.workspace_limit != SIZE_MAX)
    rest.workspace_limit -= bytes;
  conjugated<V> const output(c, w.threads);
  product(rest, std::conj(alpha), copy.data(), std::conj(beta));
}

template <class V>
V value_at(void const* p) {
  return *static_cast<V const*>(p);
}

template <class V>
inline constexpr bool is_complex = !std::is_floating_point_v<V>;

} // namespace

void spmv_adjoint(spmv_plan* plan, where const& w, value_kind kind, void const* alpha,
                  spmv_operand a, void const* x, std::size_t x_size, void const* beta, void* y,
                  std::size_t y_size, spmv_options o) {
  with_value(kind, [&]<class V>(V) {
    if constexpr (is_complex<V>) {
      if (kind_of_type(a.matrix.type) == kind && a.matrix.space == space::host) {
        char const* const op = "spmv (adjoint)";
        dense_view<V const> const in = col_major(static_cast<V const*>(x), x_size, 1);
        dense_view<V> const out = col_major(static_cast<V*>(y), y_size, 1);
        check_dense(op, a.transposed, a.matrix.rows, a.matrix.cols, sizeof(V), in, out);
        return conjugate_product<V>(
            op, w, value_at<V>(alpha), in, value_at<V>(beta), out,
            [&](where const& rest, V conj_alpha, V const* conj_x, V conj_beta) {
              spmv(plan, rest, kind, &conj_alpha, a, conj_x, x_size, &conj_beta, y, y_size, o);
            });
      }
    }
    spmv(plan, w, kind, alpha, a, x, x_size, beta, y, y_size, o);
  });
}

void spmm_adjoint(where const& w, value_kind kind, void const* alpha, spmv_operand a,
                  dense_ref const& b, void const* beta, dense_ref const& c) {
  with_value(kind, [&]<class V>(V) {
    if constexpr (is_complex<V>) {
      if (kind_of_type(a.matrix.type) == kind && a.matrix.space == space::host) {
        char const* const op = "spmm (adjoint)";
        check_dense(op, a.transposed, a.matrix.rows, a.matrix.cols, sizeof(V), b, c);
        return conjugate_product<V>(
            op, w, value_at<V>(alpha), b, value_at<V>(beta), c,
            [&](where const& rest, V conj_alpha, V const* conj_b, V conj_beta) {
              dense_ref const copy(row_major(conj_b, b.rows, b.cols));
              spmm(nullptr, rest, kind, &conj_alpha, a, copy, &conj_beta, c);
            });
      }
    }
    spmm(nullptr, w, kind, alpha, a, b, beta, c);
  });
}

} // namespace tulle::detail

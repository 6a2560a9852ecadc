// SPDX-License-Identifier: Apache-2.0

// A^H x = conj(A^T conj(x)): a conjugated copy of x, the transposed product into conj(y), and y
// conjugated back. A conjugation changes a sign bit, so undoing it after a failure is exact, and
// the sums are rounded as those of the transposed product.
#include "tulle/op/adjoint.hpp"

#include "tulle/core/error.hpp"

#include "backend/tables.hpp"
#include "op/dense_operands.hpp"

#include <complex>

namespace tulle::detail {
namespace {

/// to = conj(from), which may be one, where A is.
template <class V>
void conjugate(where const& w, dense_ref const& from, dense_ref const& to) {
  check(table_of(w.backend).conjugate(place_of(w), kind_of<V>, from, to), "adjoint");
}

/// f() while c is conjugated; whatever happens, it is conjugated back. What fails first is thrown.
template <class V, class F>
void while_conjugated(where const& w, dense_ref const& c, F const& f) {
  conjugate<V>(w, c, c);
  try {
    f();
  } catch (...) {
    table_of(w.backend).conjugate(place_of(w), kind_of<V>, c, c);
    throw;
  }
  conjugate<V>(w, c, c);
}

/// Memory for a copy, where A is. On a device it is of the stream's pool, which gives it back in
/// the stream's order.
template <class V>
class copy_of {
public:
  copy_of(where const& w, dense_ref const& b)
      : is_there_(space_of(w) != space::host), here_(is_there_ ? 0 : b.rows * b.cols, w.memory),
        there_(is_there_ ? b.rows * b.cols * sizeof(V) : 0, of_the_pool(w)) {}
  V* data() { return is_there_ ? static_cast<V*>(there_.data()) : here_.data(); }

private:
  static device of_the_pool(where const& w) {
    device d = w.as_device();
    d.memory = nullptr;
    return d;
  }
  bool is_there_;
  array<V> here_;
  device_block there_;
};

/// product(policy, conj(alpha), conj(b), conj(beta)) into conj(c), without reading b where alpha is
/// zero.
template <class V, class Product>
void conjugate_product(char const* op, where const& w, V alpha, dense_ref const& b, V beta,
                       dense_ref const& c, Product const& product) {
  std::size_t const bytes = checked_mul(checked_mul(b.rows, b.cols, op), sizeof(V), op);
  if (bytes > w.workspace_limit)
    fail(errc::out_of_memory, "%s: %zu bytes of workspace wanted, the limit is %zu", op, bytes,
         w.workspace_limit);
  copy_of<V> memory(w, b);
  dense_ref const copy(row_major(memory.data(), b.rows, b.cols));
  if (alpha != V(0))
    conjugate<V>(w, b, copy);
  where rest = w;
  if (rest.workspace_limit != SIZE_MAX)
    rest.workspace_limit -= bytes;
  while_conjugated<V>(w, c, [&] { product(rest, std::conj(alpha), copy, std::conj(beta)); });
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
      if (kind_of_type(a.matrix.type) == kind) {
        char const* const op = "spmv (adjoint)";
        dense_view<V const> const in = col_major(static_cast<V const*>(x), x_size, 1);
        dense_view<V> const out = col_major(static_cast<V*>(y), y_size, 1);
        check_dense(op, a.transposed, a.matrix.rows, a.matrix.cols, sizeof(V), in, out);
        return conjugate_product<V>(
            op, plan ? where_of(*plan) : w, value_at<V>(alpha), in, value_at<V>(beta), out,
            [&](where const& rest, V conj_alpha, dense_ref const& conj_x, V conj_beta) {
              spmv(plan, rest, kind, &conj_alpha, a, conj_x.data, x_size, &conj_beta, y, y_size, o);
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
      if (kind_of_type(a.matrix.type) == kind) {
        char const* const op = "spmm (adjoint)";
        check_dense(op, a.transposed, a.matrix.rows, a.matrix.cols, sizeof(V), b, c);
        return conjugate_product<V>(
            op, w, value_at<V>(alpha), b, value_at<V>(beta), c,
            [&](where const& rest, V conj_alpha, dense_ref const& conj_b, V conj_beta) {
              spmm(nullptr, rest, kind, &conj_alpha, a, conj_b, &conj_beta, c);
            });
      }
    }
    spmm(nullptr, w, kind, alpha, a, b, beta, c);
  });
}

} // namespace tulle::detail

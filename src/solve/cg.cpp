// SPDX-License-Identifier: Apache-2.0

// A x = b by conjugate gradients, M the diagonal of A or the identity:
//
//     q = A p                                  A, p, q
//     alpha = r.z / p.q                        p, q
//     r = r - alpha q;  r.r, r.z               r, q, r    (M)       z = M^-1 r is never stored
//     x = x + alpha p;  p = z + beta p         x, p, r, x, p  (M)   beta = new r.z / old r.z
//
// On the right what is read and written: bytes of A + 12 vectors an iteration, 14 with M. Updating
// x together with p, one step late, saves reading p once more. Sums depend on n alone (vector.hpp).
//
// The recurrence's r drifts from b - A x. So where it says that all is done, the true residual is
// computed, and if that is too large the iteration starts again from it; x is good when the true
// residual is. Where a new start does not halve the true residual, rounding has the last word.
//
// A complex Hermitian A is a real symmetric one of twice the size, and Re p^H q is the dot product
// of the 2n reals: below this file's door there are real vectors only.
#include "tulle/solve/cg.hpp"

#include "tulle/core/error.hpp"
#include "tulle/core/parallel.hpp"
#include "tulle/op/convert.hpp"

#include "core/format_table.hpp"
#include "op/operands.hpp"
#include "solve/vector.hpp"

#include <chrono>
#include <cmath>
#include <limits>

namespace tulle {
namespace {

using detail::spmv_operand;
using detail::value_kind;
using solve::norms;

// Rows and entries that one thread goes through without the others: a tile of the products.
// Zen 4, two cores, microseconds an iteration with 1 and 2 threads: 494_bus (2,160) 2.1, 2.8;
// 1138_bus (5,192) 4.2, 5.7; Trefethen_2000 (43,906) 18.6, 14.1. Where a core is busy with
// something else, the second thread costs far more.
constexpr std::size_t alone = 8192;
// Elements of vectors likewise. All threads or one, so that each has the same piece of every
// vector.
constexpr std::size_t alone_elements = 1 << 15;
// Below this, squares of residuals within a tolerance would be lost.
constexpr double smallest_square = 1e-250;

using clock = std::chrono::steady_clock;
double seconds_since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}

bool is_complex(value_kind k) {
  return k == value_kind::c32 || k == value_kind::c64;
}

struct problem {
  where const& w;
  value_kind kind;
  void const* factor; // of scaled(a, s)
  spmv_operand a;
  std::size_t n; // reals: two for each complex element
  int threads;
  cg_options const& options;

  std::size_t row(std::size_t i) const { return is_complex(kind) ? i / 2 : i; }
};

void check(value_kind kind, matrix_ref const& m, void const* b, std::size_t b_size, void const* x,
           std::size_t x_size, cg_options const& options) {
  if (detail::kind_of_type(m.type) != kind)
    fail(errc::unsupported, "cg: A is %s but the vectors hold another type", name(m.type));
  if (!is_built(m.format, m.type))
    fail(errc::unsupported, "cg: %s is not built for %s", name(m.format), name(m.type));
  formats::check_present("cg", m);
  if (m.rows != m.cols)
    fail(errc::shape_mismatch, "cg: A is %zu x %zu, not square", m.rows, m.cols);
  if (b_size != m.rows)
    fail(errc::shape_mismatch, "cg: b has %zu entries but A has %zu rows", b_size, m.rows);
  if (x_size != m.cols)
    fail(errc::shape_mismatch, "cg: x has %zu entries but A has %zu columns", x_size, m.cols);
  if (b_size != 0 && b == nullptr)
    fail(errc::bad_structure, "cg: b is null but has %zu entries", b_size);
  if (x_size != 0 && x == nullptr)
    fail(errc::bad_structure, "cg: x is null but has %zu entries", x_size);
  std::size_t const bytes = checked_mul(x_size, detail::bytes_of(kind), "cg: x");
  if (bytes != 0 && detail::overlap(b, bytes, x, bytes))
    fail(errc::bad_structure, "cg: b and x overlap");
  if (formats::overlaps(formats::arrays_of(m), x, static_cast<char const*>(x) + bytes))
    fail(errc::bad_structure, "cg: x overlaps the arrays of A");
  if (!(options.tolerance >= 0 && std::isfinite(options.tolerance)))
    fail(errc::bad_structure, "cg: the tolerance is %g, expected a number that is not negative",
         options.tolerance);
}

void check_limit(std::size_t bytes, where const& w) {
  if (bytes > w.workspace_limit)
    fail(errc::out_of_memory, "cg: %zu bytes of workspace wanted, the limit is %zu", bytes,
         w.workspace_limit);
}

// 1 / a_ii into d, twice for each complex row.
template <class T, class V, class I, class O>
void invert_diagonal(csr_view<V, I, O> a, V factor, T* d, int threads) {
  constexpr std::size_t width = std::is_same_v<V, T> ? 1 : 2;
  auto const n = static_cast<std::size_t>(a.rows);
  int const parts = parts_for(n + static_cast<std::size_t>(a.nnz), threads);
  parallel(parts, [&](int part) {
    std::size_t const end = split(n, part + 1, parts);
    for (std::size_t i = split(n, part, parts); i < end; ++i) {
      V sum{};
      bool stored = false;
      for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
        if (static_cast<std::size_t>(a.col[k]) == i) {
          sum += a.val[k];
          stored = true;
        }
      if (!stored)
        fail(errc::bad_structure,
             "cg: row %zu has no diagonal entry, and jacobi wants a positive one", i);
      std::complex<double> const entry(factor * sum);
      T const inverse = T(1) / static_cast<T>(entry.real());
      if (entry.imag() != 0)
        fail(errc::bad_structure,
             "cg: the diagonal entry of row %zu is %g%+gi, and jacobi wants a real one", i,
             entry.real(), entry.imag());
      if (!(entry.real() > 0 && inverse > 0 && std::isfinite(inverse)))
        fail(errc::bad_structure,
             "cg: the diagonal entry of row %zu is %g, and jacobi wants a positive one", i,
             entry.real());
      for (std::size_t k = 0; k < width; ++k)
        d[i * width + k] = inverse;
    }
  });
}

template <class T>
array<T> inverse_diagonal(problem const& s) {
  matrix_ref m = s.a.matrix;
  any_matrix copy;
  array<T> d(s.n, s.w.memory);
  if (m.format != format::csr) {
    std::size_t const bytes = visit(m.type, [&](auto types) {
      using U = decltype(types);
      return m.nnz * (sizeof(typename U::value) + sizeof(typename U::index)) +
             (m.rows + 1) * sizeof(typename U::offset);
    });
    check_limit(bytes + d.bytes(), s.w);
    copy = convert(m, format::csr, cpu{.threads = s.threads, .memory = s.w.memory});
    m = copy.ref();
  }
  visit(m.type, [&](auto types) {
    using U = decltype(types);
    using V = typename U::value;
    using view = csr_view<V, typename U::index, typename U::offset>;
    if constexpr (std::is_same_v<decltype(std::abs(V())), T>)
      invert_diagonal(*static_cast<view const*>(m.view), *static_cast<V const*>(s.factor), d.data(),
                      s.threads);
  });
  return d;
}

// r = b - q.
template <class T>
void subtract(T const* __restrict b, T const* __restrict q, T* __restrict r, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    r[i] = b[i] - q[i];
}
// y = y + alpha x.
template <class T>
void axpy(T alpha, T const* __restrict x, T* __restrict y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    y[i] += alpha * x[i];
}
// p = M^-1 r + beta p, M^-1 = d, or the identity where d is null.
template <class T>
void turn(T const* __restrict r, T const* __restrict d, T beta, T* __restrict p, std::size_t n) {
  if (d)
    for (std::size_t i = 0; i < n; ++i)
      p[i] = d[i] * r[i] + beta * p[i];
  else
    for (std::size_t i = 0; i < n; ++i)
      p[i] = r[i] + beta * p[i];
}

template <class T>
class iteration {
public:
  iteration(problem const& s, T const* b, T const* guess)
      : s_(s), b_(b), plan_(make_plan(s)), all_(s.n, s.n < alone_elements ? 1 : s.threads) {
    check_finite("b", b);
    check_finite("x", guess);
    if (s.options.jacobi)
      d_ = inverse_diagonal<T>(s);
    for (array<T>* const v : {&x_, &r_, &p_, &q_})
      *v = array<T>(s.n, s.w.memory);
    all_.each([&](std::size_t i, std::size_t k) { std::copy_n(guess + i, k, x_.data() + i); });
  }

  iteration(iteration const&) = delete;
  iteration& operator=(iteration const&) = delete;

  spmv_plan const& plan() const { return plan_; }
  void copy_to(T* x) const {
    all_.each([&](std::size_t i, std::size_t k) { std::copy_n(x_.data() + i, k, x + i); });
  }
  double norm2_of_b() const {
    return all_
        .sum<norms>([&](std::size_t i, std::size_t k) {
          return norms{solve::dot(b_ + i, b_ + i, k), 0};
        })
        .rr;
  }

  // r = b - A x, p = M^-1 r.
  norms start() {
    multiply(x_, q_);
    norms const now = all_.sum<norms>([&](std::size_t i, std::size_t k) {
      subtract(b_ + i, q_.data() + i, r_.data() + i, k);
      std::fill_n(p_.data() + i, k, T(0));
      turn(r_.data() + i, d_at(i), T(0), p_.data() + i, k);
      return norms_of(i, k);
    });
    if (!std::isfinite(now.rr) || !std::isfinite(now.rz))
      blame();
    return now;
  }

  // q = A p; p . q.
  double curvature() {
    multiply(p_, q_);
    return all_
        .sum<norms>([&](std::size_t i, std::size_t k) {
          return norms{solve::dot(p_.data() + i, q_.data() + i, k), 0};
        })
        .rr;
  }
  // r = r - alpha q.
  norms descend(double alpha) {
    return all_.sum<norms>([&](std::size_t i, std::size_t k) {
      axpy(static_cast<T>(-alpha), q_.data() + i, r_.data() + i, k);
      return norms_of(i, k);
    });
  }
  // x = x + alpha p.
  void advance(double alpha) {
    all_.each([&](std::size_t i, std::size_t k) {
      axpy(static_cast<T>(alpha), p_.data() + i, x_.data() + i, k);
    });
  }
  // The same, and then p = M^-1 r + beta p.
  void advance_and_turn(double alpha, double beta) {
    all_.each([&](std::size_t i, std::size_t k) {
      axpy(static_cast<T>(alpha), p_.data() + i, x_.data() + i, k);
      turn(r_.data() + i, d_at(i), static_cast<T>(beta), p_.data() + i, k);
    });
  }

private:
  static std::size_t workspace(problem const& s) {
    std::size_t const vectors = s.options.jacobi ? 5 : 4;
    return checked_mul(s.n, vectors * sizeof(T), "cg: workspace");
  }
  static spmv_plan make_plan(problem const& s) {
    check_limit(workspace(s), s.w);
    where w = s.w;
    w.threads = s.threads;
    w.workspace_limit -= workspace(s);
    return s.a.transposed ? spmv_plan(w, transposed(s.a.matrix)) : spmv_plan(w, s.a.matrix);
  }

  void check_finite(char const* name, T const* v) const {
    norms const bad = all_.sum<norms>([&](std::size_t i, std::size_t k) {
      return norms{solve::first_not_finite(v + i, k) < k ? 1.0 : 0.0, 0};
    });
    if (bad.rr == 0)
      return;
    std::size_t const i = solve::first_not_finite(v, s_.n);
    fail(errc::bad_structure, "cg: %s[%zu] is %g, not finite", name, s_.row(i),
         static_cast<double>(v[i]));
  }
  T const* d_at(std::size_t i) const { return d_.empty() ? nullptr : d_.data() + i; }
  norms norms_of(std::size_t i, std::size_t k) const {
    T const* const r = r_.data() + i;
    double const rr = solve::dot(r, r, k);
    return {rr, d_.empty() ? rr : solve::weighted_dot(r, d_at(i), k)};
  }
  void multiply(array<T> const& in, array<T>& out) {
    constexpr T zero[2] = {};
    std::size_t const rows = s_.a.matrix.rows;
    detail::spmv(&plan_, s_.w, s_.kind, s_.factor, s_.a, in.data(), rows, zero, out.data(), rows);
  }
  // x and b are finite and r is not: a product with zeros shows the rows of A that are not.
  [[noreturn]] void blame() {
    std::fill(p_.begin(), p_.end(), T(0));
    multiply(p_, q_);
    std::size_t const i = solve::first_not_finite(q_.data(), s_.n);
    if (i < s_.n)
      fail(errc::bad_structure, "cg: row %zu of A holds an entry that is not finite", s_.row(i));
    fail(errc::overflow, "cg: b - A x, or the sum of its squares, is too large for its type");
  }

  problem const& s_;
  T const* b_;
  spmv_plan plan_;
  detail::vector_blocks all_;
  array<T> d_;
  array<T> x_, r_, p_, q_;
};

template <class T>
cg_result run(problem const& s, T const* b, T* x) {
  constexpr bool single = std::is_same_v<T, float>;
  iteration<T> at(s, b, x);
  cg_result out;
  out.path = at.plan().path();
  out.tolerance = s.options.tolerance > 0 ? s.options.tolerance : single ? 1e-5 : 1e-8;
  out.vector_bytes = (s.options.jacobi ? 14 : 12) * s.n * sizeof(T);

  double const bb = at.norm2_of_b();
  if (bb == 0 && std::all_of(b, b + s.n, [](T v) { return v == T(0); })) {
    std::fill_n(x, s.n, T(0));
    out.converged = true;
    return out;
  }
  if (!std::isfinite(bb) || bb < smallest_square)
    fail(errc::overflow, "cg: ||b||^2 is %g, outside [%g, %g]: scale b", bb, smallest_square,
         std::numeric_limits<double>::max());

  double const goal = out.tolerance * out.tolerance * bb;
  double const eps = std::numeric_limits<T>::epsilon();
  std::size_t const most =
      s.options.most_iterations != 0 ? s.options.most_iterations : 10 * s.a.matrix.rows;
  norms now = at.start();
  double before = now.rr;
  int runs = 0;
  bool stuck = false;
  out.residual = std::sqrt(now.rr / bb);
  while (now.rr > goal && out.iterations < most && !stuck) {
    auto const start = clock::now();
    // Past the first run a little further, so that the true residual follows; but what lies below
    // the rounding of b says nothing of x.
    double const stop = std::max(runs == 0 ? goal : goal / 16, eps * eps * bb);
    double rz = now.rz;
    for (;;) {
      double const pq = at.curvature();
      ++out.iterations;
      if (pq <= 0)
        fail(errc::bad_structure,
             "cg: the matrix is not positive definite: p^T A p = %g in iteration %zu", pq,
             out.iterations);
      double const alpha = rz / pq;
      now = at.descend(alpha);
      if (!std::isfinite(pq) || !std::isfinite(now.rr) || !std::isfinite(now.rz))
        fail(errc::overflow, "cg: p^T A p = %g and ||r||^2 = %g in iteration %zu", pq, now.rr,
             out.iterations);
      out.residual = std::sqrt(now.rr / bb);
      if (s.options.progress.call)
        s.options.progress.call(s.options.progress.context, out.iterations, out.residual);
      if (now.rr <= stop || out.iterations == most) {
        at.advance(alpha);
        break;
      }
      at.advance_and_turn(alpha, now.rz / rz);
      rz = now.rz;
    }
    out.iteration_seconds += seconds_since(start);
    now = at.start();
    stuck = runs++ != 0 && now.rr > before / 4;
    before = now.rr;
  }
  out.true_residual = std::sqrt(now.rr / bb);
  out.converged = now.rr <= goal;
  at.copy_to(x);
  return out;
}

} // namespace

namespace detail {

cg_result cg(where const& w, value_kind kind, void const* factor, spmv_operand a, void const* b,
             std::size_t b_size, void* x, std::size_t x_size, cg_options const& options) {
  auto const start = clock::now();
  check(kind, a.matrix, b, b_size, x, x_size, options);
  std::size_t const n = is_complex(kind) ? checked_mul(x_size, 2, "cg: x") : x_size;
  int const wanted = threads_of(w.threads);
  int const threads = a.matrix.rows + a.matrix.nnz < alone ? 1 : wanted;
  problem const s{w, kind, factor, a, n, threads, options};
  bool const single = kind == value_kind::f32 || kind == value_kind::c32;
  cg_result out = single ? run(s, static_cast<float const*>(b), static_cast<float*>(x))
                         : run(s, static_cast<double const*>(b), static_cast<double*>(x));
  out.seconds = seconds_since(start);
  return out;
}

} // namespace detail
} // namespace tulle

// SPDX-License-Identifier: Apache-2.0

// The walk of a call: check, plan where no plan is given, run. A format that has no kernel of its
// own, its transpose, and a single column go through spmv, a column after the other: those that do
// lie together are copied to where they do, and back. For conj(A) the product is by a copy of B.
#include "tulle/op/spmm.hpp"

#include "tulle/core/error.hpp"

#include "op/conjugated.hpp"
#include "op/dense_operands.hpp"
#include "op/kernel_plan.hpp"

#include <chrono>
#include <climits>
#include <optional>

namespace tulle {

struct spmm_plan::state : detail::kernel_plan {
  detail::dense_ref b, c;
  detail::dense_ref multiplied;        // b, or the copy of its conjugate, with its memory
  spmm_kernel const* kernel = nullptr; // nullptr: column by column, or through csr
  std::optional<spmv_plan> column;
  std::size_t y_at = 0; // of a column in the workspace; x is at its beginning
};

namespace {

using detail::bytes_of;
using detail::dense_ref;
using detail::kind_of_type;
using detail::spmv_operand;
using detail::value_kind;
using detail::with_value;

char const* name_of(spmv_operand a) {
  return a.conjugated   ? a.transposed ? "spmm (adjoint)" : "spmm (conjugated)"
         : a.transposed ? "spmm (transposed)"
                        : "spmm";
}

void check_operands(spmv_operand a, value_kind kind, dense_ref const& b, dense_ref const& c) {
  matrix_ref const& m = a.matrix;
  char const* const op = name_of(a);
  if (kind_of_type(m.type) != kind)
    fail(errc::unsupported, "%s: A is %s but B and C hold another type", op, name(m.type));
  detail::check_built(op, m);
  formats::check_present(op, m);
  std::size_t const bytes =
      detail::check_dense(op, a.transposed, m.rows, m.cols, bytes_of(kind), b, c);
  auto const* const first = static_cast<char const*>(c.data);
  if (bytes != 0 && formats::overlaps(formats::arrays_of(m), first, first + bytes))
    fail(errc::bad_structure, "%s: C overlaps the arrays of A", op);
}

/// Whether columns must be copied to lie together; a matrix of one row has no strides to mind.
bool is_apart(dense_ref const& d) {
  return d.row_stride != 1 && d.rows > 1;
}

template <class V>
void run_columns(spmm_plan::state& s, value_kind kind, V alpha, spmv_operand a, dense_ref const& b,
                 V beta, dense_ref const& c) {
  auto* const work = static_cast<std::byte*>(s.view.work);
  V* const x_work = reinterpret_cast<V*>(work);
  V* const y_work = reinterpret_cast<V*>(work + s.y_at);
  auto const copy = [&](V* to, std::size_t to_stride, V const* from, std::size_t from_stride,
                        std::size_t n) {
    check(s.there->copy_column(place_of(s.where), kind, to, to_stride, from, from_stride, n),
          "spmm");
  };
  for (std::size_t j = 0; j < c.cols; ++j) {
    V const* x = static_cast<V const*>(b.data) + j * b.col_stride;
    V* const column = static_cast<V*>(c.data) + j * c.col_stride;
    if (is_apart(b)) {
      copy(x_work, 1, x, b.row_stride, b.rows);
      x = x_work;
    }
    V* const y = is_apart(c) ? y_work : column;
    if (is_apart(c) && beta != V(0))
      copy(y, 1, column, c.row_stride, c.rows);
    detail::spmv(&*s.column, s.where, kind, &alpha, a, x, b.rows, &beta, y, c.rows);
    if (is_apart(c))
      copy(column, c.row_stride, y, 1, c.rows);
  }
}

bool is_alike(dense_ref const& a, dense_ref const& b) {
  return a.rows == b.rows && a.cols == b.cols && a.row_stride == b.row_stride &&
         a.col_stride == b.col_stride;
}

void check_plan(spmm_plan::state const& s, spmv_operand a, dense_ref const& b, dense_ref const& c) {
  detail::check_same_shape("spmm", s, a);
  if (s.conjugated != a.conjugated)
    fail(errc::shape_mismatch, "spmm: the plan is for A%s, this is A%s",
         detail::wrapped(s.view.transposed, s.conjugated),
         detail::wrapped(a.transposed, a.conjugated));
  for (auto const& [what, planned, given] : {std::tuple("B", s.b, b), std::tuple("C", s.c, c)})
    if (!is_alike(planned, given))
      fail(errc::shape_mismatch,
           "spmm: the plan is for a %s of %zu columns with strides %zu and %zu, this one has %zu "
           "with %zu and %zu",
           what, planned.cols, planned.row_stride, planned.col_stride, given.cols, given.row_stride,
           given.col_stride);
}

} // namespace

spmm_plan::~spmm_plan() {
  delete state_;
}
spmm_plan::spmm_plan(spmm_plan&& other) noexcept
    : plan(std::move(other)), state_(std::exchange(other.state_, nullptr)) {}
spmm_plan& spmm_plan::operator=(spmm_plan&& other) noexcept {
  plan::operator=(std::move(other));
  std::swap(state_, other.state_);
  return *this;
}

std::size_t spmm_plan::bytes() const noexcept {
  return plan::bytes() + (state_ && state_->column ? state_->column->bytes() : 0);
}

namespace {

/// By which spmm_kernel, or nullptr: a single column and transposes go column by column.
spmm_kernel const* kernel_for(spmm_plan::state const& s, spmv_operand a, dense_ref const& b) {
  bool const by_columns = a.transposed || b.cols <= 1;
  if (by_columns && s.where.backend != backend::reference)
    return nullptr;
  return s.there->spmm(static_cast<int>(a.matrix.format), static_cast<int>(a.matrix.type));
}

} // namespace

spmm_plan::spmm_plan(where const& w, spmv_operand a, dense_ref const& b, dense_ref const& c) {
  auto const start = std::chrono::steady_clock::now();
  matrix_ref const& m = a.matrix;
  detail::check_space("spmm", m, w.backend);
  value_kind const kind = kind_of_type(m.type);
  a.conjugated = a.conjugated && detail::is_complex(kind);
  check_operands(a, kind, b, c);
  std::size_t const each = bytes_of(kind);
  state s;
  s.begin(w, a);
  s.b = b;
  s.c = c;
  s.multiplied = a.conjugated ? detail::copy_at(nullptr, b) : b;
  if (!s.is_host() && b.cols > INT_MAX)
    fail(errc::overflow, "spmm: %zu columns do not fit a 32-bit index", b.cols);
  if (w.backend == backend::cpu) {
    s.view.threads = detail::threads_for((m.nnz + m.rows) * b.cols, w.threads);
    s.view.streaming = detail::passes_cache_by(c, each);
  }
  device_properties const there = detail::describe("spmm", s);
  s.kernel = kernel_for(s, a, b);
  std::size_t bytes = 0;
  if (s.kernel) {
    tulle::check(s.kernel->prepare(m.view, s.multiplied, c, s.view, bytes), "spmm");
    path_ = detail::path_of(s, there);
  } else if (w.backend == backend::reference) {
    path_ = detail::path_through_csr(s);
  } else {
    s.column.emplace(a.transposed ? spmv_plan(w, tulle::transposed(m)) : spmv_plan(w, m));
    s.y_at = is_apart(s.multiplied) ? (b.rows * each + 255) / 256 * 256 : 0;
    bytes = s.y_at + (is_apart(c) ? c.rows * each : 0);
    path_ = "column by column, " + s.column->path();
    if (b.cols > 1)
      detail::tell(event::fallback, "spmm: a %s%s has no kernel and goes column by column",
                   name(m.format), detail::wrapped(a.transposed, a.conjugated));
  }
  std::size_t const copy_from = (bytes + 255) / 256 * 256;
  if (a.conjugated)
    bytes = copy_from + detail::copy_bytes("spmm", b, kind);
  detail::check_workspace("spmm", bytes + (s.column ? s.column->bytes() : 0), w.workspace_limit);
  s.view.work = take_workspace(bytes, w);
  if (a.conjugated)
    s.multiplied.data = static_cast<std::byte*>(s.view.work) + copy_from;
  if (s.kernel && s.kernel->fill)
    tulle::check(s.kernel->fill(m.view, s.multiplied, s.view), "spmm");
  if (!s.is_host())
    s.known.mark = formats::place_of(m);
  else if (!s.column) // which knows for itself
    s.known.pattern = formats::pattern_of(formats::arrays_of(m), s.view.threads);
  state_ = new state(std::move(s));
  seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void spmm_plan::check_operand(spmv_operand a) {
  detail::plan_turn const turn(*this, "spmm");
  state& s = get();
  a.conjugated = a.conjugated && detail::is_complex(kind_of_type(s.type));
  check_operands(a, kind_of_type(s.type), s.b, s.c);
  check_plan(s, a, s.b, s.c);
  detail::check_space("spmm", a.matrix, s.where.backend);
  if (!s.is_host())
    detail::check_place("spmm", s, a.matrix);
  if (s.column)
    a.transposed ? s.column->check(transposed(a.matrix)) : s.column->check(a.matrix);
  else if (s.is_host() &&
           formats::pattern_of(formats::arrays_of(a.matrix), s.view.threads) != s.known.pattern)
    detail::fail_other_pattern("spmm", a.matrix.format);
}

void spmm_plan::rebind_to(spmv_operand a) {
  state const& s = get();
  spmm_plan made(s.where, a, s.b, s.c);
  detail::plan_turn const turn(*this, "spmm");
  std::swap(static_cast<plan&>(*this), static_cast<plan&>(made));
  std::swap(state_, made.state_);
}

namespace detail {
namespace {

/// The product without conjugation, of operands that are in order.
void multiply(spmm_plan::state& s, value_kind kind, void const* alpha, spmv_operand a,
              dense_ref const& b, void const* beta, dense_ref const& c) {
  if (s.kernel)
    return check(s.kernel->run({alpha, a.matrix.view, b, beta, c, &s.view}), "spmm");
  if (s.column)
    return with_value(kind, [&]<class V>(V) {
      run_columns(s, kind, *static_cast<V const*>(alpha), a, b, *static_cast<V const*>(beta), c);
    });
  any_matrix const csr = csr_of(s.where, a.matrix);
  spmm(nullptr, s.where, kind, alpha, {csr.ref(), a.transposed}, b, beta, c);
}

} // namespace

void spmm(spmm_plan* plan, where const& w, value_kind kind, void const* alpha, spmv_operand a,
          dense_ref const& b, void const* beta, dense_ref const& c) {
  a.conjugated = a.conjugated && is_complex(kind);
  check_operands(a, kind, b, c);
  std::optional<plan_turn> turn;
  if (plan) {
    turn.emplace(*plan, "spmm");
    check_plan(plan->get(), a, b, c);
  }
  where const& here = plan ? plan->get().where : w;
  check_space("spmm", a.matrix, here.backend);
  if (c.rows == 0 || c.cols == 0)
    return;
  bool const alpha_is_zero =
      with_value(kind, [&]<class V>(V) { return *static_cast<V const*>(alpha) == V(0); });
  if (alpha_is_zero)
    return check(table_of(here.backend).scale(place_of(here), kind, beta, c), "spmm");
  if (!plan) {
    spmm_plan made(space_of(w) == space::host ? w : with_queue_memory(w), a, b, c);
    return spmm(&made, w, kind, alpha, a, b, beta, c);
  }
  spmm_plan::state& s = plan->get();
  if (!s.is_host())
    check_place("spmm", s, a.matrix);
  if (!a.conjugated)
    return multiply(s, kind, alpha, a, b, beta, c);
  a.conjugated = false;
  multiply_conjugated("spmm", here, kind, alpha, b, s.multiplied, beta, c,
                      [&](void const* conj_alpha, void const* conj_beta) {
                        multiply(s, kind, conj_alpha, a, s.multiplied, conj_beta, c);
                      });
}

} // namespace detail
} // namespace tulle

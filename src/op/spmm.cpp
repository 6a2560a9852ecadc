// SPDX-License-Identifier: Apache-2.0

// The walk of a call: check, plan where no plan is given, run. A format that has no kernel of its
// own, its transpose, and a single column go through spmv, a column after the other: those that do
// not lie together are copied to where they do, and back.
#include "tulle/op/spmm.hpp"

#include "tulle/core/error.hpp"
#include "tulle/core/parallel.hpp"
#include "tulle/op/convert.hpp"

#include "core/cuda_module.hpp"
#include "cuda/spmm/table.hpp"
#include "dispatch/format.hpp"
#include "dispatch/spmm.hpp"
#include "op/dense_operands.hpp"
#include "reference/spmm.hpp"

#include <chrono>
#include <climits>
#include <cstring>
#include <optional>

namespace tulle {

struct spmm_plan::state {
  tulle::where where{};
  format matrix_format{};
  type_tag type{};
  bool transposed = false;
  std::size_t rows = 0, cols = 0, nnz = 0;
  detail::dense_ref b, c;
  spmm_kernel const* kernel = nullptr;
  cuda_spmm_module const* cuda = nullptr; // where it runs there
  cuda_spmm_kernel const* cuda_kernel = nullptr;
  plan_view view;
  std::uint64_t place = 0;         // of the indices on a device
  std::uint64_t pattern = 0;       // of a kernel on the cpu, which runs on any; for check()
  std::optional<spmv_plan> column; // where there is no kernel
  std::size_t y_at = 0;            // of a column in the workspace; x is at its beginning
};

namespace {

using detail::bytes_of;
using detail::dense_ref;
using detail::kind_of_type;
using detail::spmv_operand;
using detail::value_kind;
using detail::with_value;

void check_operands(spmv_operand a, value_kind kind, dense_ref const& b, dense_ref const& c) {
  matrix_ref const& m = a.matrix;
  char const* const op = a.transposed ? "spmm (transposed)" : "spmm";
  if (kind_of_type(m.type) != kind)
    fail(errc::unsupported, "%s: A is %s but B and C hold another type", op, name(m.type));
  if (!is_built(m.format, m.type))
    fail(errc::unsupported, "%s: %s is not built for %s", op, name(m.format), name(m.type));
  dispatch::check_present(op, m);
  std::size_t const bytes =
      detail::check_dense(op, a.transposed, m.rows, m.cols, bytes_of(kind), b, c);
  auto const* const first = static_cast<char const*>(c.data);
  if (bytes != 0 && dispatch::overlaps(dispatch::arrays_of(m), first, first + bytes))
    fail(errc::bad_structure, "%s: C overlaps the arrays of A", op);
}

// A matrix is multiplied where its arrays are.
void check_space(matrix_ref const& m, backend where) {
  bool const on_device = where == backend::cuda || where == backend::opencl;
  if ((m.space == space::device) != on_device)
    fail(errc::unsupported, "spmm: A is in %s memory, the policy is %s; see upload()",
         m.space == space::device ? "device" : "host", name(where));
}

cuda_spmm_module const& loaded_spmm() {
  auto* const entry =
      reinterpret_cast<cuda_spmm_module const* (*)()>(loaded_cuda_entry("tulle_cuda_spmm_module"));
  if (std::strcmp(entry()->version, cuda_module_version) != 0)
    fail(errc::backend, "cuda: not loaded: spmm is of another build");
  return *entry();
}

// C = beta C, what is left of spmm when alpha is zero: along memory.
template <class V>
void scale(V beta, dense_ref const& c, int threads) {
  bool const by_rows = c.row_stride >= c.col_stride;
  std::size_t const lines = by_rows ? c.rows : c.cols, length = by_rows ? c.cols : c.rows;
  std::size_t const line = by_rows ? c.row_stride : c.col_stride;
  std::size_t const step = by_rows ? c.col_stride : c.row_stride;
  int const parts = detail::parts_for(lines * length, threads, 1 << 16);
  detail::parallel(parts, [&](int part) {
    std::size_t const end = detail::split(lines, part + 1, parts);
    for (std::size_t i = detail::split(lines, part, parts); i < end; ++i)
      for (std::size_t j = 0; j < length; ++j) {
        V& v = static_cast<V*>(c.data)[i * line + j * step];
        v = beta == V(0) ? V(0) : beta * v;
      }
  });
}

template <class V>
void copy_column(spmm_plan::state const& s, V* to, std::size_t to_stride, V const* from,
                 std::size_t from_stride, std::size_t n) {
  if (s.cuda)
    return check(s.cuda->copy(s.view.device, s.view.stream, static_cast<int>(s.type), to, to_stride,
                              from, from_stride, n),
                 "spmm");
  int const parts = detail::parts_for(n, s.view.threads, 1 << 16);
  detail::parallel(parts, [&](int part) {
    std::size_t const end = detail::split(n, part + 1, parts);
    for (std::size_t i = detail::split(n, part, parts); i < end; ++i)
      to[i * to_stride] = from[i * from_stride];
  });
}

void run_reference(where const& w, void const* alpha, spmv_operand a, dense_ref const& b,
                   void const* beta, dense_ref const& c) {
  any_matrix csr;
  if (a.matrix.format != format::csr) {
    csr = convert(a.matrix, format::csr, cpu{.threads = 1, .memory = w.memory});
    a.matrix = csr.ref();
  }
  visit(a.matrix.type, [&](auto types) {
    using T = decltype(types);
    using V = typename T::value;
    using view = csr_view<V, typename T::index, typename T::offset>;
    reference_backend::spmm<V>(
        *static_cast<V const*>(alpha), *static_cast<view const*>(a.matrix.view), a.transposed,
        {static_cast<V const*>(b.data), b.rows, b.cols, b.row_stride, b.col_stride},
        *static_cast<V const*>(beta),
        {static_cast<V*>(c.data), c.rows, c.cols, c.row_stride, c.col_stride});
  });
}

/// Whether columns must be copied to lie together; a matrix of one row has no strides to mind.
bool is_apart(dense_ref const& d) {
  return d.row_stride != 1 && d.rows > 1;
}

template <class V>
void run_columns(spmm_plan::state& s, std::byte* work, where const& w, value_kind kind, V alpha,
                 spmv_operand a, dense_ref const& b, V beta, dense_ref const& c) {
  V* const x_work = reinterpret_cast<V*>(work);
  V* const y_work = reinterpret_cast<V*>(work + s.y_at);
  for (std::size_t j = 0; j < c.cols; ++j) {
    V const* x = static_cast<V const*>(b.data) + j * b.col_stride;
    V* const column = static_cast<V*>(c.data) + j * c.col_stride;
    if (is_apart(b)) {
      copy_column(s, x_work, 1, x, b.row_stride, b.rows);
      x = x_work;
    }
    V* const y = is_apart(c) ? y_work : column;
    if (is_apart(c) && beta != V(0))
      copy_column<V>(s, y, 1, column, c.row_stride, c.rows);
    detail::spmv(&*s.column, w, kind, &alpha, a, x, b.rows, &beta, y, c.rows);
    if (is_apart(c))
      copy_column<V>(s, column, c.row_stride, y, 1, c.rows);
  }
}

bool is_alike(dense_ref const& a, dense_ref const& b) {
  return a.rows == b.rows && a.cols == b.cols && a.row_stride == b.row_stride &&
         a.col_stride == b.col_stride;
}

[[noreturn]] void fail_elsewhere(format f) {
  fail(errc::bad_structure,
       "spmm: the plan is for a %s whose indices are elsewhere on the device; see plan.rebind()",
       name(f));
}

void check_plan(spmm_plan::state const& s, spmv_operand a, dense_ref const& b, dense_ref const& c) {
  if (s.matrix_format != a.matrix.format || s.type != a.matrix.type ||
      s.transposed != a.transposed || s.rows != a.matrix.rows || s.cols != a.matrix.cols ||
      s.nnz != a.matrix.nnz)
    fail(errc::shape_mismatch,
         "spmm: the plan is for a %s%s of %zu x %zu with %zu entries, A is a %s%s of %zu x %zu "
         "with %zu",
         name(s.matrix_format), s.transposed ? " transposed" : "", s.rows, s.cols, s.nnz,
         name(a.matrix.format), a.transposed ? " transposed" : "", a.matrix.rows, a.matrix.cols,
         a.matrix.nnz);
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

spmm_plan::spmm_plan(where const& w, spmv_operand a, dense_ref const& b, dense_ref const& c) {
  auto const start = std::chrono::steady_clock::now();
  matrix_ref const& m = a.matrix;
  check_space(m, w.backend);
  check_operands(a, kind_of_type(m.type), b, c);
  std::size_t const each = bytes_of(kind_of_type(m.type));
  state s;
  s.where = w;
  s.matrix_format = m.format;
  s.type = m.type;
  s.transposed = a.transposed;
  s.rows = m.rows;
  s.cols = m.cols;
  s.nnz = m.nnz;
  s.b = b;
  s.c = c;
  std::size_t bytes = 0;
  auto const by_columns = [&] {
    s.column.emplace(a.transposed ? spmv_plan(w, tulle::transposed(m)) : spmv_plan(w, m));
    s.y_at = is_apart(b) ? (b.rows * each + 255) / 256 * 256 : 0;
    bytes = s.y_at + (is_apart(c) ? c.rows * each : 0);
    path_ = "column by column, " + s.column->path();
  };
  if (w.backend == backend::reference) {
    path_ = m.format == format::csr ? "reference csr"
                                    : std::string("reference, ") + name(m.format) + " through csr";
    path_ += a.transposed ? " transposed" : "";
  } else if (w.backend == backend::cpu) {
    isa const set = active_isa();
    s.view.threads = detail::threads_for((m.nnz + m.rows) * b.cols, w.threads);
    s.view.streaming = detail::passes_cache_by(c, each);
    if (!a.transposed && b.cols > 1)
      s.kernel = dispatch::cpu_spmm(set, m.format, m.type);
    if (s.kernel) {
      bytes = s.kernel->prepare(m.view, b, c, s.view);
      path_ = std::string("cpu/") + name(set) + " " + name(m.format) + " " + s.view.method + ", " +
              std::to_string(s.view.threads) + (s.view.threads == 1 ? " thread" : " threads");
    } else {
      by_columns();
    }
  } else if (w.backend == backend::cuda) {
    s.cuda = &loaded_spmm();
    s.view.device = w.device;
    s.view.stream = w.stream;
    if (b.cols > INT_MAX)
      fail(errc::overflow, "spmm: %zu columns do not fit a 32-bit index", b.cols);
    if (!a.transposed && b.cols > 1)
      s.cuda_kernel = s.cuda->kernel(static_cast<int>(m.format), static_cast<int>(m.type));
    if (s.cuda_kernel) {
      cuda_properties device;
      tulle::check(loaded_cuda().describe(w.device, device), "spmm");
      tulle::check(s.cuda_kernel->prepare(m.view, b, c, s.view, bytes), "spmm");
      path_ = std::string("cuda/sm_") + std::to_string(device.major) +
              std::to_string(device.minor) + " " + name(m.format) + " " + s.view.method;
    } else {
      by_columns();
    }
  } else {
    fail(errc::unsupported, "spmm: no %s backend is loaded", name(w.backend));
  }
  std::size_t const wanted = bytes + (s.column ? s.column->bytes() : 0);
  if (wanted > w.workspace_limit)
    fail(errc::out_of_memory, "spmm: %zu bytes of workspace wanted, the limit is %zu", wanted,
         w.workspace_limit);
  if (s.cuda) {
    on_device_ = detail::device_block(bytes, {w.device, w.stream, w.memory});
    s.view.work = on_device_.data();
    s.place = dispatch::place_of(m);
    if (s.cuda_kernel)
      tulle::check(s.cuda_kernel->fill(m.view, b, s.view), "spmm");
  } else {
    workspace_ = array<std::byte>(bytes, w.memory);
    s.view.work = workspace_.data();
  }
  if (w.backend == backend::cpu && !s.column)
    s.pattern = dispatch::pattern_of(dispatch::arrays_of(m), s.view.threads);
  state_ = new state(std::move(s));
  seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void spmm_plan::check_operand(spmv_operand a) {
  detail::plan_turn const turn(*this, "spmm");
  state& s = get();
  check_operands(a, kind_of_type(s.type), s.b, s.c);
  check_plan(s, a, s.b, s.c);
  check_space(a.matrix, s.where.backend);
  if (s.cuda && dispatch::place_of(a.matrix) != s.place)
    fail_elsewhere(a.matrix.format);
  if (s.column)
    a.transposed ? s.column->check(transposed(a.matrix)) : s.column->check(a.matrix);
  else if (s.where.backend == backend::cpu &&
           dispatch::pattern_of(dispatch::arrays_of(a.matrix), s.view.threads) != s.pattern)
    fail(errc::bad_structure,
         "spmm: the plan is for another pattern: this %s has other indices than the one it was "
         "made for; see plan.rebind()",
         name(a.matrix.format));
}

void spmm_plan::rebind_to(spmv_operand a) {
  state const& s = get();
  spmm_plan made(s.where, a, s.b, s.c);
  detail::plan_turn const turn(*this, "spmm");
  std::swap(static_cast<plan&>(*this), static_cast<plan&>(made));
  std::swap(state_, made.state_);
}

namespace detail {

void spmm(spmm_plan* plan, where const& w, value_kind kind, void const* alpha, spmv_operand a,
          dense_ref const& b, void const* beta, dense_ref const& c) {
  check_operands(a, kind, b, c);
  std::optional<plan_turn> turn;
  if (plan) {
    turn.emplace(*plan, "spmm");
    check_plan(plan->get(), a, b, c);
  }
  tulle::backend const where_to = plan ? plan->get().where.backend : w.backend;
  check_space(a.matrix, where_to);
  if (c.rows == 0 || c.cols == 0)
    return;
  if (where_to == backend::reference)
    return run_reference(w, alpha, a, b, beta, c);
  bool const alpha_is_zero =
      with_value(kind, [&]<class V>(V) { return *static_cast<V const*>(alpha) == V(0); });
  if (alpha_is_zero && where_to == backend::cuda)
    return check(loaded_spmm().scale(plan ? plan->get().view.device : w.device,
                                     plan ? plan->get().view.stream : w.stream,
                                     static_cast<int>(a.matrix.type), beta, c),
                 "spmm");
  if (alpha_is_zero)
    return with_value(kind, [&]<class V>(V) {
      scale(*static_cast<V const*>(beta), c, plan ? plan->get().view.threads : w.threads);
    });
  if (!plan) {
    spmm_plan made(w, a, b, c);
    return spmm(&made, w, kind, alpha, a, b, beta, c);
  }
  spmm_plan::state& s = plan->get();
  if (s.cuda && dispatch::place_of(a.matrix) != s.place)
    fail_elsewhere(a.matrix.format);
  spmm_call const call{alpha, a.matrix.view, b, beta, c, &s.view};
  if (s.cuda_kernel)
    return check(s.cuda_kernel->run(call), "spmm");
  if (s.kernel)
    return s.kernel->run(call);
  with_value(kind, [&]<class V>(V) {
    run_columns(s, static_cast<std::byte*>(s.view.work), w, kind, *static_cast<V const*>(alpha), a,
                b, *static_cast<V const*>(beta), c);
  });
}

} // namespace detail
} // namespace tulle

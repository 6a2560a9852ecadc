// SPDX-License-Identifier: Apache-2.0

// The walk of a call: check, plan where no plan is given, run. Nothing below this file fails.
#include "tulle/op/spmv.hpp"

#include "tulle/core/error.hpp"
#include "tulle/core/parallel.hpp"
#include "tulle/op/convert.hpp"

#include "core/cuda_module.hpp"
#include "dispatch/format.hpp"
#include "dispatch/spmv.hpp"
#include "op/known_pattern.hpp"
#include "op/operands.hpp"
#include "reference/spmv.hpp"

#include <algorithm>
#include <chrono>

namespace tulle {

struct spmv_plan::state {
  tulle::where where{};
  spmv_options options{};
  format matrix_format{};
  type_tag type{};
  bool transposed = false;
  std::size_t rows = 0, cols = 0, nnz = 0;
  spmv_kernel const* kernel = nullptr;
  cuda_spmv_kernel const* cuda_kernel = nullptr;
  plan_view view;
  detail::known_pattern known; // of a device: where it lies alone
};

namespace {

using detail::bytes_of;
using detail::kind_of_type;
using detail::overlap;
using detail::spmv_operand;
using detail::value_kind;
using detail::with_value;

void check_built(matrix_ref const& m) {
  if (!is_built(m.format, m.type))
    fail(errc::unsupported, "spmv: %s is not built for %s", name(m.format), name(m.type));
}

void check(spmv_operand a, dispatch::array_list const& arrays, value_kind kind, void const* x,
           std::size_t x_size, void const* y, std::size_t y_size) {
  matrix_ref const& m = a.matrix;
  char const* const op = a.transposed ? "spmv (transposed)" : "spmv";
  std::size_t const in = a.transposed ? m.rows : m.cols;
  std::size_t const out = a.transposed ? m.cols : m.rows;
  if (kind_of_type(m.type) != kind)
    fail(errc::unsupported, "%s: A is %s but the vectors hold another type", op, name(m.type));
  dispatch::check_present(op, m, arrays);
  if (x_size != in)
    fail(errc::shape_mismatch, "%s: x has %zu entries but A has %zu %s", op, x_size, in,
         a.transposed ? "rows" : "columns");
  if (y_size != out)
    fail(errc::shape_mismatch, "%s: y has %zu entries but A has %zu %s", op, y_size, out,
         a.transposed ? "columns" : "rows");
  if (x_size != 0 && x == nullptr)
    fail(errc::bad_structure, "%s: x is null but has %zu entries", op, x_size);
  if (y_size != 0 && y == nullptr)
    fail(errc::bad_structure, "%s: y is null but has %zu entries", op, y_size);
  std::size_t const y_bytes = y_size * bytes_of(kind);
  if (y_size != 0 && x_size != 0 && overlap(x, x_size * bytes_of(kind), y, y_bytes))
    fail(errc::bad_structure, "%s: x and y overlap", op);
  if (dispatch::overlaps(arrays, y, static_cast<char const*>(y) + y_bytes))
    fail(errc::bad_structure, "%s: y overlaps the arrays of A", op);
}

bool passes_cache_by(matrix_ref const& m, int threads) {
  std::size_t const entry = visit(m.type, [](auto types) {
    using T = decltype(types);
    return sizeof(typename T::value) + sizeof(typename T::index);
  });
  return detail::passes_cache_by(m.nnz, entry, threads);
}

void check_method(spmv_operand a, spmv_method wanted) {
  if (wanted == spmv_method::automatic)
    return;
  auto const all = spmv_methods(a.matrix.format);
  if (!a.transposed && std::find(all.begin(), all.end(), wanted) != all.end())
    return;
  std::string known;
  for (spmv_method const m : all)
    known += (known.empty() ? "" : ", ") + std::string(name(m));
  fail(errc::unsupported, "spmv%s: %s%s has no method '%s'; %s has %s",
       a.transposed ? " (transposed)" : "", name(a.matrix.format),
       a.transposed ? " transposed" : "", name(wanted), a.transposed ? "A itself" : "it",
       known.empty() ? "none to choose from" : known.c_str());
}

// y = beta y, what is left of spmv when alpha is zero.
template <class V>
void scale(V beta, V* y, std::size_t n, int threads) {
  int const parts = detail::parts_for(n, threads, 1 << 16);
  detail::parallel(parts, [&](int part) {
    std::size_t const end = detail::split(n, part + 1, parts);
    for (std::size_t i = detail::split(n, part, parts); i < end; ++i)
      y[i] = beta == V(0) ? V(0) : beta * y[i];
  });
}

// A matrix is multiplied where its arrays are.
void check_space(matrix_ref const& m, backend where) {
  bool const on_device = where == backend::cuda || where == backend::opencl;
  if ((m.space == space::device) != on_device)
    fail(errc::unsupported, "spmv: A is in %s memory, the policy is %s; see upload()",
         m.space == space::device ? "device" : "host", name(where));
}

void run_reference(where const& w, void const* alpha, spmv_operand a, void const* x,
                   void const* beta, void* y) {
  any_matrix csr;
  if (a.matrix.format != format::csr) {
    csr = convert(a.matrix, format::csr, cpu{.threads = 1, .memory = w.memory});
    a.matrix = csr.ref();
  }
  visit(a.matrix.type, [&](auto types) {
    using T = decltype(types);
    using V = typename T::value;
    using view = csr_view<V, typename T::index, typename T::offset>;
    reference_backend::spmv(*static_cast<V const*>(alpha), *static_cast<view const*>(a.matrix.view),
                            a.transposed, static_cast<V const*>(x), *static_cast<V const*>(beta),
                            static_cast<V*>(y));
  });
}

// The kernel for a, prepared, on the cpu. Returns the bytes of workspace it needs.
std::size_t prepare(spmv_plan::state& s, where const& w, spmv_operand a, spmv_options o) {
  matrix_ref const& m = a.matrix;
  s.where = w;
  s.options = o;
  s.matrix_format = m.format;
  s.type = m.type;
  s.transposed = a.transposed;
  s.rows = m.rows;
  s.cols = m.cols;
  s.nnz = m.nnz;
  s.view.transposed = a.transposed;
  s.view.wanted = o.method;
  if (w.backend != backend::cpu)
    return 0;
  s.kernel = dispatch::cpu_spmv(active_isa(), m.format, m.type);
  s.view.threads = detail::threads_for(m.nnz + m.rows, w.threads);
  s.view.streaming = passes_cache_by(m, s.view.threads);
  std::size_t const bytes = s.kernel->prepare(m.view, s.view);
  if (bytes > w.workspace_limit)
    fail(errc::out_of_memory, "spmv: %zu bytes of workspace wanted, the limit is %zu", bytes,
         w.workspace_limit);
  return bytes;
}

void check_same_shape(spmv_plan::state const& s, spmv_operand a) {
  if (s.matrix_format != a.matrix.format || s.type != a.matrix.type ||
      s.transposed != a.transposed || s.rows != a.matrix.rows || s.cols != a.matrix.cols ||
      s.nnz != a.matrix.nnz)
    fail(errc::shape_mismatch,
         "spmv: the plan is for a %s%s of %zu x %zu with %zu entries, A is a %s%s of %zu x %zu "
         "with %zu",
         name(s.matrix_format), s.transposed ? " transposed" : "", s.rows, s.cols, s.nnz,
         name(a.matrix.format), a.transposed ? " transposed" : "", a.matrix.rows, a.matrix.cols,
         a.matrix.nnz);
}

[[noreturn]] void fail_other_pattern(format f) {
  fail(errc::bad_structure,
       "spmv: the plan is for another pattern: this %s has other indices than the one it was made "
       "for; see plan.rebind()",
       name(f));
}

[[noreturn]] void fail_elsewhere(format f) {
  fail(errc::bad_structure,
       "spmv: the plan is for a %s whose indices are elsewhere on the device; see plan.rebind()",
       name(f));
}

// Arrays that are not those of the last call: whether the plan holds for them as well.
void recognise_arrays(spmv_plan::state& s, std::size_t workspace, matrix_ref const& m,
                      dispatch::array_list const& arrays, std::uint64_t mark) {
  if (s.view.one_pattern) {
    if (dispatch::pattern_of(arrays, s.view.threads) != s.known.pattern)
      fail_other_pattern(m.format);
  } else {
    // Its workspace is as large as this matrix wants it, and what was found once holds for it: a
    // few numbers of the layout, so that is asked anew.
    plan_view now;
    now.threads = s.view.threads;
    now.transposed = s.view.transposed;
    now.streaming = s.view.streaming;
    now.wanted = s.view.wanted;
    std::size_t const bytes = s.kernel->prepare(m.view, now);
    if (now.one_pattern || bytes > workspace || !std::ranges::equal(now.info, s.view.info))
      fail(errc::bad_structure,
           "spmv: the plan is for another pattern: this %s is laid out otherwise than the one it "
           "was made for; see plan.rebind()",
           name(m.format));
  }
  s.known.mark = mark;
}

} // namespace

spmv_plan::~spmv_plan() {
  delete state_;
}
spmv_plan::spmv_plan(spmv_plan&& other) noexcept
    : plan(std::move(other)), state_(std::exchange(other.state_, nullptr)) {}
spmv_plan& spmv_plan::operator=(spmv_plan&& other) noexcept {
  plan::operator=(std::move(other));
  std::swap(state_, other.state_);
  return *this;
}

std::span<spmv_method const> spmv_methods(format f) noexcept {
  static constexpr spmv_method of_csr[] = {spmv_method::rows, spmv_method::merge,
                                           spmv_method::segments};
  return f == format::csr ? std::span<spmv_method const>(of_csr) : std::span<spmv_method const>();
}

void spmv_plan::make(where const& w, spmv_operand a, spmv_options o) {
  auto const start = std::chrono::steady_clock::now();
  matrix_ref const& m = a.matrix;
  check_built(m);
  check_space(m, w.backend);
  dispatch::check_present("spmv", m);
  check_method(a, o.method);
  auto made = std::make_unique<state>();
  state& s = *made;
  std::size_t bytes = prepare(s, w, a, o);
  std::string const suffix = a.transposed ? " transposed" : "";
  if (w.backend == backend::reference) {
    path_ = m.format == format::csr
                ? "reference csr" + suffix
                : std::string("reference, ") + name(m.format) + " through csr" + suffix;
  } else if (w.backend == backend::cpu) {
    dispatch::array_list const arrays = dispatch::arrays_of(m);
    s.known = {dispatch::pattern_of(arrays, s.view.threads), dispatch::mark_of(arrays, m.serial)};
    workspace_ = array<std::byte>(bytes, w.memory);
    s.view.work = workspace_.data();
    path_ = std::string("cpu/") + name(active_isa()) + " " + name(m.format) + suffix + " " +
            s.view.method + ", " + std::to_string(s.view.threads) +
            (s.view.threads == 1 ? " thread" : " threads");
  } else if (w.backend == backend::cuda) {
    cuda_module const& module = loaded_cuda();
    s.cuda_kernel = module.spmv(static_cast<int>(m.format), static_cast<int>(m.type));
    if (!s.cuda_kernel)
      fail(errc::unsupported, "spmv: cuda has no kernel for %s of %s", name(m.format),
           name(m.type));
    cuda_properties device;
    tulle::check(module.describe(w.device, device), "spmv");
    s.view.device = w.device;
    s.view.multiprocessors = device.multiprocessors;
    s.view.stream = w.stream;
    tulle::check(s.cuda_kernel->prepare(m.view, s.view, bytes), "spmv");
    if (bytes > w.workspace_limit)
      fail(errc::out_of_memory, "spmv: %zu bytes of workspace wanted, the limit is %zu", bytes,
           w.workspace_limit);
    on_device_ = detail::device_block(bytes, {w.device, w.stream, w.memory});
    s.view.work = on_device_.data();
    tulle::check(s.cuda_kernel->fill(m.view, s.view), "spmv");
    s.known.mark = dispatch::place_of(m);
    path_ = std::string("cuda/sm_") + std::to_string(device.major) + std::to_string(device.minor) +
            " " + name(m.format) + suffix + " " + s.view.method;
  } else {
    fail(errc::unsupported, "spmv: no %s backend is loaded", name(w.backend));
  }
  state_ = made.release();
  seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void spmv_plan::check_operand(spmv_operand a) {
  detail::plan_turn const turn(*this, "spmv");
  state& s = get();
  check_built(a.matrix);
  check_same_shape(s, a);
  check_space(a.matrix, s.where.backend);
  dispatch::array_list const arrays = dispatch::arrays_of(a.matrix);
  dispatch::check_present("spmv", a.matrix, arrays);
  if (s.where.backend == backend::cuda && dispatch::place_of(a.matrix) != s.known.mark)
    fail_elsewhere(a.matrix.format);
  if (s.where.backend == backend::cpu &&
      dispatch::pattern_of(arrays, s.view.threads) != s.known.pattern)
    fail_other_pattern(a.matrix.format);
}

void spmv_plan::rebind_to(spmv_operand a) {
  where const w = get().where;
  spmv_options const o = get().options;
  spmv_plan made = a.transposed ? spmv_plan(w, transposed(a.matrix), o) : spmv_plan(w, a.matrix, o);
  detail::plan_turn const turn(*this, "spmv");
  std::swap(static_cast<plan&>(*this), static_cast<plan&>(made));
  std::swap(state_, made.state_);
}

namespace detail {

where const& where_of(spmv_plan const& plan) {
  return plan.get().where;
}

void spmv(spmv_plan* plan, where const& w, value_kind kind, void const* alpha, spmv_operand a,
          void const* x, std::size_t x_size, void const* beta, void* y, std::size_t y_size,
          spmv_options o) {
  matrix_ref const& m = a.matrix;
  check_built(m);
  dispatch::array_list const arrays = dispatch::arrays_of(m);
  check(a, arrays, kind, x, x_size, y, y_size);
  check_method(a, o.method);
  bool const alpha_is_zero =
      with_value(kind, [&]<class V>(V) { return *static_cast<V const*>(alpha) == V(0); });
  auto const run_without_a = [&](where const& here) {
    if (here.backend == backend::cuda)
      return check(
          loaded_cuda().scale(here.device, here.stream, static_cast<int>(m.type), beta, y, y_size),
          "spmv");
    with_value(kind, [&]<class V>(V) {
      scale(*static_cast<V const*>(beta), static_cast<V*>(y), y_size, here.threads);
    });
  };
  if (!plan) {
    check_space(m, w.backend);
    if (w.backend == backend::reference)
      return run_reference(w, alpha, a, x, beta, y);
    if (alpha_is_zero)
      return run_without_a(w);
    if (w.backend != backend::cpu) {
      auto made = a.transposed ? spmv_plan(w, transposed(m), o) : spmv_plan(w, m, o);
      return spmv(&made, w, kind, alpha, a, x, x_size, beta, y, y_size);
    }
    spmv_plan::state s;
    std::size_t const bytes = prepare(s, w, a, o);
    alignas(64) std::byte little[1024]; // small matrices need no allocation
    array<std::byte> work;
    if (bytes > sizeof little)
      work = array<std::byte>(bytes, w.memory);
    s.view.work = bytes > sizeof little ? work.data() : little;
    return s.kernel->run({alpha, m.view, x, beta, y, &s.view});
  }
  plan_turn const turn(*plan, "spmv");
  spmv_plan::state& s = plan->get();
  check_same_shape(s, a);
  check_space(m, s.where.backend);
  if (s.where.backend == backend::reference)
    return run_reference(s.where, alpha, a, x, beta, y);
  if (alpha_is_zero)
    return run_without_a(s.where);
  if (s.where.backend == backend::cuda) {
    // Comparing indices would have to wait for the device.
    if (dispatch::place_of(m) != s.known.mark)
      fail_elsewhere(m.format);
    return check(s.cuda_kernel->run({alpha, m.view, x, beta, y, &s.view, s.view.stream}), "spmv");
  }
  std::uint64_t const mark = dispatch::mark_of(arrays, m.serial);
  if (mark != s.known.mark)
    recognise_arrays(s, plan->bytes(), m, arrays, mark);
  s.kernel->run({alpha, m.view, x, beta, y, &s.view});
}

} // namespace detail
} // namespace tulle

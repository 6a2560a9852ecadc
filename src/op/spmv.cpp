// SPDX-License-Identifier: Apache-2.0

// The walk of a call: check, plan where no plan is given, run. Nothing below this file fails.
#include "tulle/op/spmv.hpp"

#include "tulle/core/error.hpp"
#include "tulle/core/parallel.hpp"
#include "tulle/op/convert.hpp"

#include "core/cuda_module.hpp"
#include "dispatch/format.hpp"
#include "dispatch/spmv.hpp"
#include "op/operands.hpp"
#include "reference/spmv.hpp"

#include <algorithm>
#include <chrono>

namespace tulle {

struct spmv_plan::state {
  backend where{};
  format matrix_format{};
  type_tag type{};
  bool transposed = false;
  std::size_t rows = 0, cols = 0, nnz = 0;
  spmv_kernel const* kernel = nullptr;
  cuda_spmv_kernel const* cuda_kernel = nullptr;
  plan_view view;
  std::uint64_t pattern = 0,
                place = 0; // of the indices, where the view holds for one pattern alone
};

namespace {

using detail::bytes_of;
using detail::kind_of_type;
using detail::overlap;
using detail::spmv_operand;
using detail::value_kind;
using detail::with_value;

void check(spmv_operand a, value_kind kind, void const* x, std::size_t x_size, void const* y,
           std::size_t y_size) {
  matrix_ref const& m = a.matrix;
  char const* const op = a.transposed ? "spmv (transposed)" : "spmv";
  std::size_t const in = a.transposed ? m.rows : m.cols;
  std::size_t const out = a.transposed ? m.cols : m.rows;
  if (kind_of_type(m.type) != kind)
    fail(errc::unsupported, "%s: A is %s but the vectors hold another type", op, name(m.type));
  if (!is_built(m.format, m.type))
    fail(errc::unsupported, "%s: %s is not built for %s", op, name(m.format), name(m.type));
  dispatch::check_present(op, m);
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
  if (dispatch::overlaps(dispatch::arrays_of(m), y, static_cast<char const*>(y) + y_bytes))
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
  auto const all = spmv_methods(a.matrix.format);
  if (wanted == spmv_method::automatic ||
      (!a.transposed && std::find(all.begin(), all.end(), wanted) != all.end()))
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

void scale_on_device(value_kind kind, void const* beta, void* y, std::size_t n, int device,
                     void* stream) {
  cuda_module const& module = loaded_cuda();
  if (kind == value_kind::f32)
    check(module.scale_f32(device, stream, *static_cast<float const*>(beta), static_cast<float*>(y),
                           n),
          "spmv");
  else if (kind != value_kind::f64)
    fail(errc::unsupported, "spmv: cuda has no kernel for complex values");
  else
    check(module.scale_f64(device, stream, *static_cast<double const*>(beta),
                           static_cast<double*>(y), n),
          "spmv");
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
  if (!is_built(m.format, m.type))
    fail(errc::unsupported, "spmv: %s is not built for %s", name(m.format), name(m.type));
  check_space(m, w.backend);
  dispatch::check_present("spmv", m);
  check_method(a, o.method);
  state s;
  s.where = w.backend;
  s.matrix_format = m.format;
  s.type = m.type;
  s.transposed = a.transposed;
  s.rows = m.rows;
  s.cols = m.cols;
  s.nnz = m.nnz;
  s.view.transposed = a.transposed;
  s.view.wanted = o.method;
  std::string const suffix = a.transposed ? " transposed" : "";
  if (w.backend == backend::reference) {
    path_ = m.format == format::csr
                ? "reference csr" + suffix
                : std::string("reference, ") + name(m.format) + " through csr" + suffix;
  } else if (w.backend == backend::cpu) {
    isa const set = active_isa();
    s.kernel = dispatch::cpu_spmv(set, m.format, m.type);
    s.view.threads = w.threads > 0 ? w.threads : default_threads();
    s.view.streaming = passes_cache_by(m, s.view.threads);
    std::size_t const bytes = s.kernel->prepare(m.view, s.view);
    if (bytes > w.workspace_limit)
      fail(errc::out_of_memory, "spmv: %zu bytes of workspace wanted, the limit is %zu", bytes,
           w.workspace_limit);
    if (s.view.one_pattern) {
      dispatch::array_list const arrays = dispatch::arrays_of(m);
      s.pattern = dispatch::pattern_of(arrays, s.view.threads);
      s.place = dispatch::place_of(arrays);
    }
    workspace_ = array<std::byte>(bytes, w.memory);
    s.view.work = workspace_.data();
    path_ = std::string("cpu/") + name(set) + " " + name(m.format) + suffix + " " + s.view.method +
            ", " + std::to_string(s.view.threads) + (s.view.threads == 1 ? " thread" : " threads");
  } else if (w.backend == backend::cuda) {
    cuda_module const& module = loaded_cuda();
    s.cuda_kernel = module.spmv(static_cast<int>(m.format), static_cast<int>(m.type));
    if (!s.cuda_kernel)
      fail(errc::unsupported, "spmv: cuda has no kernel for %s of %s", name(m.format),
           name(m.type));
    cuda_properties device;
    check(module.describe(w.device, device), "spmv");
    s.view.device = w.device;
    s.view.multiprocessors = device.multiprocessors;
    s.view.stream = w.stream;
    std::size_t bytes = 0;
    check(s.cuda_kernel->prepare(m.view, s.view, bytes), "spmv");
    if (bytes > w.workspace_limit)
      fail(errc::out_of_memory, "spmv: %zu bytes of workspace wanted, the limit is %zu", bytes,
           w.workspace_limit);
    on_device_ = detail::device_block(bytes, {w.device, w.stream, w.memory});
    s.view.work = on_device_.data();
    check(s.cuda_kernel->fill(m.view, s.view), "spmv");
    s.place = dispatch::place_of(dispatch::arrays_of(m));
    path_ = std::string("cuda/sm_") + std::to_string(device.major) + std::to_string(device.minor) +
            " " + name(m.format) + suffix + " " + s.view.method;
  } else {
    fail(errc::unsupported, "spmv: no %s backend is loaded", name(w.backend));
  }
  state_ = new state(s);
  seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

namespace detail {

void spmv(spmv_plan* plan, where const& w, value_kind kind, void const* alpha, spmv_operand a,
          void const* x, std::size_t x_size, void const* beta, void* y, std::size_t y_size,
          spmv_options o) {
  check(a, kind, x, x_size, y, y_size);
  check_method(a, o.method);
  if (plan) {
    spmv_plan::state const& s = plan->get();
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
  bool const alpha_is_zero =
      with_value(kind, [&]<class V>(V) { return *static_cast<V const*>(alpha) == V(0); });
  tulle::backend const where_to = plan ? plan->get().where : w.backend;
  check_space(a.matrix, where_to);
  if (where_to == backend::reference)
    return run_reference(w, alpha, a, x, beta, y);
  if (alpha_is_zero && where_to == backend::cuda)
    return scale_on_device(kind, beta, y, y_size, plan ? plan->get().view.device : w.device,
                           plan ? plan->get().view.stream : w.stream);
  if (alpha_is_zero)
    return with_value(kind, [&]<class V>(V) {
      scale(*static_cast<V const*>(beta), static_cast<V*>(y), y_size, w.threads);
    });
  if (!plan) {
    auto made = a.transposed ? spmv_plan(w, transposed(a.matrix), o) : spmv_plan(w, a.matrix, o);
    return spmv(&made, w, kind, alpha, a, x, x_size, beta, y, y_size);
  }
  spmv_plan::state& s = plan->get();
  if (where_to == backend::cuda) {
    // Comparing indices would have to wait for the device.
    if (dispatch::place_of(dispatch::arrays_of(a.matrix)) != s.place)
      fail(errc::bad_structure,
           "spmv: the plan is for a %s whose indices are elsewhere on the device",
           name(a.matrix.format));
    return check(s.cuda_kernel->run({alpha, a.matrix.view, x, beta, y, &s.view, s.view.stream}),
                 "spmv");
  }
  if (s.view.one_pattern) {
    dispatch::array_list const arrays = dispatch::arrays_of(a.matrix);
    std::uint64_t const place = dispatch::place_of(arrays);
    if (place != s.place && dispatch::pattern_of(arrays, s.view.threads) != s.pattern)
      fail(errc::bad_structure,
           "spmv: the plan is for another pattern: this %s has other indices than the one it was "
           "made for",
           name(a.matrix.format));
    s.place = place;
  } else {
    // Its workspace is as large as this matrix wants it, and what was found once holds for it: a
    // few numbers of the layout, so that is asked anew.
    plan_view now;
    now.threads = s.view.threads;
    now.transposed = s.view.transposed;
    now.streaming = s.view.streaming;
    now.wanted = s.view.wanted;
    std::size_t const bytes = s.kernel->prepare(a.matrix.view, now);
    if (now.one_pattern || bytes > plan->bytes() || !std::ranges::equal(now.info, s.view.info))
      fail(errc::bad_structure,
           "spmv: the plan is for another pattern: this %s is laid out otherwise than the one it "
           "was made for",
           name(a.matrix.format));
  }
  s.kernel->run({alpha, a.matrix.view, x, beta, y, &s.view});
}

} // namespace detail
} // namespace tulle

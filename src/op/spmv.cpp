// SPDX-License-Identifier: Apache-2.0

// The walk of a call: check, plan where no plan is given, run. Nothing below this file fails.
#include "tulle/op/spmv.hpp"

#include "tulle/core/error.hpp"

#include "op/kernel_plan.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

namespace tulle {

struct spmv_plan::state : detail::kernel_plan {
  spmv_options options{};
  spmv_kernel const* kernel = nullptr; // nullptr: through csr
};

namespace {

using detail::bytes_of;
using detail::kind_of_type;
using detail::overlap;
using detail::spmv_operand;
using detail::value_kind;
using detail::with_value;

void check(spmv_operand a, formats::array_list const& arrays, value_kind kind, void const* x,
           std::size_t x_size, void const* y, std::size_t y_size) {
  matrix_ref const& m = a.matrix;
  char const* const op = a.transposed ? "spmv (transposed)" : "spmv";
  std::size_t const in = a.transposed ? m.rows : m.cols;
  std::size_t const out = a.transposed ? m.cols : m.rows;
  if (kind_of_type(m.type) != kind)
    fail(errc::unsupported, "%s: A is %s but the vectors hold another type", op, name(m.type));
  formats::check_present(op, m, arrays);
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
  if (formats::overlaps(arrays, y, static_cast<char const*>(y) + y_bytes))
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

// The kernel for a, prepared. Returns the bytes of workspace it needs.
std::size_t prepare(spmv_plan::state& s, where const& w, spmv_operand a, spmv_options o) {
  matrix_ref const& m = a.matrix;
  s.begin(w, a);
  s.options = o;
  s.view.wanted = o.method;
  s.kernel = s.there->spmv(static_cast<int>(m.format), static_cast<int>(m.type));
  if (!s.kernel) {
    if (!s.is_host())
      fail(errc::unsupported, "spmv: %s has no kernel for %s of %s", name(w.backend),
           name(m.format), name(m.type));
    return 0;
  }
  if (w.backend == backend::cpu) {
    s.view.threads = detail::threads_for(m.nnz + m.rows, w.threads);
    s.view.streaming = passes_cache_by(m, s.view.threads);
  }
  std::size_t bytes = 0;
  tulle::check(s.kernel->prepare(m.view, s.view, bytes), "spmv");
  detail::check_workspace("spmv", bytes, w.workspace_limit);
  return bytes;
}

// Arrays that are not those of the last call: whether the plan holds for them as well.
void recognise_arrays(spmv_plan::state& s, std::size_t workspace, matrix_ref const& m,
                      formats::array_list const& arrays, std::uint64_t mark) {
  if (s.view.one_pattern) {
    if (formats::pattern_of(arrays, s.view.threads) != s.known.pattern)
      detail::fail_other_pattern("spmv", m.format);
  } else {
    // Its workspace is as large as this matrix wants it, and what was found once holds for it: a
    // few numbers of the layout, so that is asked anew.
    plan_view now;
    now.threads = s.view.threads;
    now.transposed = s.view.transposed;
    now.streaming = s.view.streaming;
    now.wanted = s.view.wanted;
    std::size_t bytes = 0;
    tulle::check(s.kernel->prepare(m.view, now, bytes), "spmv");
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
  detail::check_built("spmv", m);
  detail::check_space("spmv", m, w.backend);
  formats::check_present("spmv", m);
  check_method(a, o.method);
  auto made = std::make_unique<state>();
  state& s = *made;
  s.begin(w, a);
  device_properties const there = detail::describe("spmv", s);
  std::size_t const bytes = prepare(s, w, a, o);
  if (s.kernel) {
    s.view.work = take_workspace(bytes, w);
    if (s.kernel->fill)
      tulle::check(s.kernel->fill(m.view, s.view), "spmv");
    path_ = detail::path_of(s, there);
  } else {
    path_ = detail::path_through_csr(s);
  }
  formats::array_list const arrays = formats::arrays_of(m);
  if (s.is_host())
    s.known = {formats::pattern_of(arrays, s.view.threads), formats::mark_of(arrays, m.serial)};
  else
    s.known.mark = formats::place_of(m);
  state_ = made.release();
  seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void spmv_plan::check_operand(spmv_operand a) {
  detail::plan_turn const turn(*this, "spmv");
  state& s = get();
  detail::check_built("spmv", a.matrix);
  detail::check_same_shape("spmv", s, a);
  detail::check_space("spmv", a.matrix, s.where.backend);
  formats::array_list const arrays = formats::arrays_of(a.matrix);
  formats::check_present("spmv", a.matrix, arrays);
  if (!s.is_host())
    detail::check_place("spmv", s, a.matrix);
  else if (formats::pattern_of(arrays, s.view.threads) != s.known.pattern)
    detail::fail_other_pattern("spmv", a.matrix.format);
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
  check_built("spmv", m);
  formats::array_list const arrays = formats::arrays_of(m);
  check(a, arrays, kind, x, x_size, y, y_size);
  check_method(a, o.method);
  std::optional<plan_turn> turn;
  if (plan) {
    turn.emplace(*plan, "spmv");
    check_same_shape("spmv", plan->get(), a);
  }
  where const& here = plan ? plan->get().where : w;
  check_space("spmv", m, here.backend);
  bool const alpha_is_zero =
      with_value(kind, [&]<class V>(V) { return *static_cast<V const*>(alpha) == V(0); });
  if (alpha_is_zero) {
    dense_ref column;
    column.data = y;
    column.rows = y_size;
    column.cols = column.row_stride = 1;
    return check(table_of(here.backend).scale(place_of(here), kind, beta, column), "spmv");
  }
  auto const through_csr = [&] {
    any_matrix const csr = csr_of(here, m);
    spmv(nullptr, here, kind, alpha, {csr.ref(), a.transposed}, x, x_size, beta, y, y_size);
  };
  if (!plan) {
    if (space_of(w) != space::host) {
      where const own = with_queue_memory(w);
      auto made = a.transposed ? spmv_plan(own, transposed(m), o) : spmv_plan(own, m, o);
      return spmv(&made, w, kind, alpha, a, x, x_size, beta, y, y_size);
    }
    spmv_plan::state s;
    std::size_t const bytes = prepare(s, w, a, o);
    if (!s.kernel)
      return through_csr();
    alignas(64) std::byte little[1024]; // small matrices need no allocation
    array<std::byte> work;
    if (bytes > sizeof little)
      work = array<std::byte>(bytes, w.memory);
    s.view.work = bytes > sizeof little ? work.data() : little;
    if (s.kernel->fill)
      check(s.kernel->fill(m.view, s.view), "spmv");
    return check(s.kernel->run({alpha, m.view, x, beta, y, &s.view}), "spmv");
  }
  spmv_plan::state& s = plan->get();
  if (!s.is_host()) {
    check_place("spmv", s, m);
  } else if (std::uint64_t const mark = formats::mark_of(arrays, m.serial); mark != s.known.mark) {
    if (s.kernel)
      recognise_arrays(s, plan->bytes(), m, arrays, mark);
  }
  if (!s.kernel)
    return through_csr();
  check(s.kernel->run({alpha, m.view, x, beta, y, &s.view, s.view.stream}), "spmv");
}

} // namespace detail
} // namespace tulle

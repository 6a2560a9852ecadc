// SPDX-License-Identifier: Apache-2.0

// The walk of a call: check, plan where no plan is given, run. Nothing below this file fails.
#include "tulle/op/spmv.hpp"

#include "tulle/core/error.hpp"

#include "op/conjugated.hpp"
#include "op/kernel_plan.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

namespace tulle {

struct spmv_plan::state : detail::kernel_plan {
  spmv_options options{};
  spmv_kernel const* kernel = nullptr; // nullptr: through csr
  detail::value_kind kind{};
  std::size_t workspace = 0; // that the kernel asked for
  void* copy = nullptr;      // memory for one of x, where A is conjugated
  formats::seen_arrays seen; // by a call, on the host, of a plan that has a kernel

  std::size_t in() const { return view.transposed ? rows : cols; }
  std::size_t out() const { return view.transposed ? cols : rows; }
};

namespace {

using detail::bytes_of;
using detail::kind_of_type;
using detail::overlap;
using detail::spmv_operand;
using detail::value_kind;
using detail::with_value;

char const* name_of(spmv_operand const& a) {
  return a.conjugated   ? a.transposed ? "spmv (adjoint)" : "spmv (conjugated)"
         : a.transposed ? "spmv (transposed)"
                        : "spmv";
}

void check_operands(spmv_operand const& a, formats::array_list const& arrays, value_kind kind,
                    void const* x, std::size_t x_size, void const* y, std::size_t y_size) {
  matrix_ref const& m = a.matrix;
  char const* const op = name_of(a);
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

std::size_t entry_bytes(matrix_ref const& m) {
  return visit(m.type, [](auto types) {
    using T = decltype(types);
    return sizeof(typename T::value) + sizeof(typename T::index);
  });
}

void check_method(spmv_operand const& a, spmv_method wanted) {
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
std::size_t prepare(spmv_plan::state& s, where const& w, spmv_operand const& a, spmv_options o) {
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
    s.view.streaming = detail::passes_cache_by(m.nnz, entry_bytes(m), s.view.threads);
    s.view.from_memory = detail::comes_from_memory(m.nnz, entry_bytes(m));
  }
  std::size_t bytes = 0;
  tulle::check(s.kernel->prepare(m.view, s.view, bytes), "spmv");
  detail::check_workspace("spmv", bytes, w.workspace_limit);
  return bytes;
}

// Arrays that are not those of the last call: whether the plan holds for them as well.
void recognise_arrays(spmv_plan::state& s, matrix_ref const& m, formats::array_list const& arrays,
                      std::uint64_t mark) {
  if (s.view.one_pattern) {
    detail::tell_compared("spmv", m.format);
    if (formats::pattern_of(arrays, s.view.threads) != s.known.pattern)
      detail::fail_other_pattern("spmv", m.format);
  } else {
    // Its workspace is as large as this matrix wants it, and what was found once holds for it: a
    // few numbers of the layout, so that is asked anew.
    plan_view now;
    now.threads = s.view.threads;
    now.transposed = s.view.transposed;
    now.streaming = s.view.streaming;
    now.from_memory = s.view.from_memory;
    now.wanted = s.view.wanted;
    std::size_t bytes = 0;
    tulle::check(s.kernel->prepare(m.view, now, bytes), "spmv");
    if (now.one_pattern || bytes > s.workspace || !std::ranges::equal(now.info, s.view.info))
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
  value_kind const kind = kind_of_type(m.type);
  a.conjugated = a.conjugated && detail::is_complex(kind);
  detail::check_built("spmv", m);
  detail::check_space("spmv", m, w.backend);
  formats::check_present("spmv", m);
  check_method(a, o.method);
  auto made = std::make_unique<state>();
  state& s = *made;
  s.begin(w, a);
  device_properties const there = detail::describe("spmv", s);
  s.kind = kind;
  s.workspace = prepare(s, w, a, o);
  std::size_t bytes = s.workspace;
  std::size_t const copy_from = (bytes + 255) / 256 * 256;
  if (a.conjugated) {
    bytes = copy_from + checked_mul(s.in(), bytes_of(kind), "spmv");
    detail::check_workspace("spmv", bytes, w.workspace_limit);
  }
  s.view.work = take_workspace(bytes, w);
  if (a.conjugated)
    s.copy = static_cast<std::byte*>(s.view.work) + copy_from;
  if (s.kernel) {
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
  spmv_plan made(w, a, o);
  detail::plan_turn const turn(*this, "spmv");
  std::swap(static_cast<plan&>(*this), static_cast<plan&>(made));
  std::swap(state_, made.state_);
}

namespace detail {

where const& where_of(spmv_plan const& plan) {
  return plan.get().where;
}

namespace {

struct spmv_operands {
  value_kind kind;
  void const* alpha;
  spmv_operand const& a; // a copy would be read before what was written is there
  void const* x;
  std::size_t x_size;
  void const* beta;
  void* y;
  std::size_t y_size;
};

bool is_zero(value_kind kind, void const* v) {
  return with_value(kind, [&]<class V>(V) { return *static_cast<V const*>(v) == V(0); });
}

outcome run(spmv_plan::state const& s, spmv_operands const& c) {
  return s.kernel->run({c.alpha, c.a.matrix.view, c.x, c.beta, c.y, &s.view, s.view.stream});
}

/// Whether the plan's last call had the same matrix, and all else is in order too: all that most
/// calls look at.
bool is_as_before(spmv_plan::state const& s, spmv_operands const& c) {
  matrix_ref const& m = c.a.matrix;
  if (m.format != s.matrix_format || m.type != s.type || m.space != space::host ||
      c.kind != s.kind || c.a.transposed != s.view.transposed || c.a.conjugated ||
      m.rows != s.rows || m.cols != s.cols || m.nnz != s.nnz || c.x_size != s.in() ||
      c.y_size != s.out() || c.x == nullptr || c.y == nullptr || is_zero(c.kind, c.alpha))
    return false;
  auto const* const x = static_cast<char const*>(c.x);
  auto const* const y = static_cast<char const*>(c.y);
  std::size_t const each = bytes_of(c.kind);
  char const* const y_end = y + c.y_size * each;
  return (y_end <= x || x + c.x_size * each <= y) &&
         s.seen.are(formats::arrays_of(m), m.serial, y, y_end);
}

/// The product without conjugation, of operands that are in order.
void multiply(spmv_plan::state* s, where const& w, spmv_operands const& c, spmv_options o) {
  matrix_ref const& m = c.a.matrix;
  auto const through_csr = [&] {
    any_matrix const csr = csr_of(w, m);
    spmv(nullptr, w, c.kind, c.alpha, {csr.ref(), c.a.transposed}, c.x, c.x_size, c.beta, c.y,
         c.y_size);
  };
  if (s)
    return s->kernel ? check(run(*s, c), "spmv") : through_csr();
  if (space_of(w) != space::host) {
    spmv_plan const made(with_queue_memory(w), c.a, o);
    return check(run(made.get(), c), "spmv");
  }
  spmv_plan::state own;
  own.view.once = true;
  std::size_t const bytes = prepare(own, w, c.a, o);
  if (!own.kernel)
    return through_csr();
  alignas(64) std::byte little[1024]; // small matrices need no allocation
  array<std::byte> work;
  if (bytes > sizeof little)
    work = array<std::byte>(bytes, w.memory);
  own.view.work = bytes > sizeof little ? work.data() : little;
  if (own.kernel->fill)
    check(own.kernel->fill(m.view, own.view), "spmv");
  check(run(own, c), "spmv");
}

/// The product with conj(A) or A^H of complex values.
void multiply_conjugated(spmv_plan::state* s, where const& w, spmv_operands const& c,
                         spmv_options o) {
  char const* const op = name_of(c.a);
  dense_ref const x(col_major(static_cast<char const*>(c.x), c.x_size, 1));
  dense_ref const y(col_major(static_cast<char*>(c.y), c.y_size, 1));
  std::size_t const bytes = copy_bytes(op, x, c.kind);
  where rest = w;
  if (s && !s->copy)
    tell(event::fallback, "%s: the plan has no room for a copy of x; one of %s has", op,
         c.a.transposed ? "adjoint(a)" : "conjugated(a)");
  if (!s || !s->copy) {
    check_workspace(op, bytes, w.workspace_limit);
    if (w.workspace_limit != SIZE_MAX)
      rest.workspace_limit -= bytes;
  }
  copy_memory copy(w, s ? s->copy : nullptr, bytes);
  spmv_operand const plain{c.a.matrix, c.a.transposed};
  detail::multiply_conjugated(
      op, w, c.kind, c.alpha, x, copy_at(copy.data(), x), c.beta, y,
      [&](void const* alpha, void const* beta) {
        multiply(s, rest, {c.kind, alpha, plain, copy.data(), c.x_size, beta, c.y, c.y_size}, o);
      });
}

/// All that a call looks at, and the product. A plan is this call's alone.
void check_and_multiply(spmv_plan::state* s, where const& w, spmv_operands const& c,
                        spmv_options o) {
  matrix_ref const& m = c.a.matrix;
  check_built("spmv", m);
  formats::array_list const arrays = formats::arrays_of(m);
  check_operands(c.a, arrays, c.kind, c.x, c.x_size, c.y, c.y_size);
  check_method(c.a, o.method);
  if (s)
    check_same_shape("spmv", *s, {m, c.a.transposed, s->conjugated});
  check_space("spmv", m, w.backend);
  if (is_zero(c.kind, c.alpha)) {
    dense_ref const y(col_major(static_cast<char*>(c.y), c.y_size, 1));
    return check(table_of(w.backend).scale(place_of(w), c.kind, c.beta, y), "spmv");
  }
  if (s && !s->is_host()) {
    check_place("spmv", *s, m);
  } else if (s && s->kernel) {
    if (std::uint64_t const mark = formats::mark_of(arrays, m.serial); mark != s->known.mark)
      recognise_arrays(*s, m, arrays, mark);
    s->seen.keep(arrays, m.serial);
  }
  c.a.conjugated ? multiply_conjugated(s, w, c, o) : multiply(s, w, c, o);
}

} // namespace

void spmv(spmv_plan* plan, where const& w, value_kind kind, void const* alpha,
          spmv_operand const& a, void const* x, std::size_t x_size, void const* beta, void* y,
          std::size_t y_size, spmv_options o) {
  if (a.conjugated && !is_complex(kind))
    return spmv(plan, w, kind, alpha, {a.matrix, a.transposed}, x, x_size, beta, y, y_size, o);
  spmv_operands const c{kind, alpha, a, x, x_size, beta, y, y_size};
  if (!plan)
    return check_and_multiply(nullptr, w, c, o);
  plan_turn const turn(*plan, "spmv");
  spmv_plan::state& s = plan->get();
  if (is_as_before(s, c)) [[likely]]
    return check(run(s, c), "spmv");
  check_and_multiply(&s, s.where, c, o);
}

} // namespace detail
} // namespace tulle

// SPDX-License-Identifier: Apache-2.0

// The walk of trsv and trsm: check, plan where no plan is given, run. A csr is solved as it is, a
// csc as the transpose of a csr, anything else through a csr made for the call.
#include "reference/trsv.hpp"

#include "tulle/core/error.hpp"
#include "tulle/format/csc.hpp"
#include "tulle/op/trsm.hpp"

#include "backend/cpu_csr.hpp"
#include "op/dense_operands.hpp"
#include "op/kernel_plan.hpp"
#include "op/triangle_plan.hpp"

#include <chrono>
#include <complex>
#include <optional>

namespace tulle {

struct trsv_plan::state : detail::kernel_plan {
  trsv_options options;
  triangle_lines lines;
  triangle_schedule schedule;
  triangle_kernel const* kernel = nullptr; // nullptr: the reference
  std::int64_t levels = 0;
  std::size_t columns = 1;
  int block = 1;
  void* y = nullptr;
  std::uint64_t* flags = nullptr;
  std::uint32_t* epoch = nullptr;
};

namespace {

using detail::dense_ref;
using detail::spmv_operand;
using detail::value_kind;

void check_matrix(char const* op, spmv_operand const& a, where const& w) {
  matrix_ref const& m = a.matrix;
  if (w.backend != backend::cpu && w.backend != backend::reference)
    fail(errc::unsupported, "%s: %s has no triangular solves", op, name(w.backend));
  detail::check_built(op, m);
  detail::check_space(op, m, w.backend);
  formats::check_present(op, m);
  if (m.rows != m.cols)
    fail(errc::shape_mismatch, "%s: A is %zu x %zu, a triangle needs a square matrix", op, m.rows,
         m.cols);
}

void check_operands(char const* op, spmv_operand const& a, value_kind kind, dense_ref const& b,
                    dense_ref const& x) {
  matrix_ref const& m = a.matrix;
  char const* const of_b = x.cols == 1 && *op && op[3] == 'v' ? "b" : "B";
  char const* const of_x = *of_b == 'b' ? "x" : "X";
  if (detail::kind_of_type(m.type) != kind)
    fail(errc::unsupported, "%s: A is %s but %s and %s hold another type", op, name(m.type), of_b,
         of_x);
  if (b.rows != m.rows)
    fail(errc::shape_mismatch, "%s: %s has %zu %s but A has %zu rows", op, of_b, b.rows,
         *of_b == 'b' ? "entries" : "rows", m.rows);
  if (x.rows != m.rows)
    fail(errc::shape_mismatch, "%s: %s has %zu %s but A has %zu rows", op, of_x, x.rows,
         *of_b == 'b' ? "entries" : "rows", m.rows);
  if (b.cols != x.cols)
    fail(errc::shape_mismatch, "%s: B has %zu columns but X has %zu", op, b.cols, x.cols);
  std::size_t const each = detail::bytes_of(kind);
  std::size_t const b_bytes = detail::extent(op, of_b, b, each);
  std::size_t const x_bytes = detail::extent(op, of_x, x, each);
  if (b_bytes != 0 && !b.data)
    fail(errc::bad_structure, "%s: %s is null but has %zu rows", op, of_b, b.rows);
  if (x_bytes != 0 && !x.data)
    fail(errc::bad_structure, "%s: %s is null but has %zu rows", op, of_x, x.rows);
  if (detail::shares_places(x))
    fail(errc::bad_structure, "%s: X has strides %zu and %zu, so that places of it are shared", op,
         x.row_stride, x.col_stride);
  bool const one = b.data == x.data && b.row_stride == x.row_stride && b.col_stride == x.col_stride;
  if (!one && detail::meet(b, b_bytes, x, x_bytes, each))
    fail(errc::bad_structure, "%s: %s and %s overlap and are not the same", op, of_b, of_x);
  auto const* const first = static_cast<char const*>(x.data);
  if (x_bytes != 0 && formats::overlaps(formats::arrays_of(m), first, first + x_bytes))
    fail(errc::bad_structure, "%s: %s overlaps the arrays of A", op, of_x);
}

/// f(csr view, whether its transpose is meant) for an operand in any format. `made` keeps a csr
/// that is made for the call.
template <class F>
void with_csr(where const& w, spmv_operand const& a, any_matrix& made, F const& f) {
  visit(a.matrix.type, [&](auto types) {
    using T = decltype(types);
    using V = typename T::value;
    using I = typename T::index;
    using O = typename T::offset;
    using view = csr_view<V, I, O>;
    if (a.matrix.format == format::csr)
      return f(*static_cast<view const*>(a.matrix.view), false);
    if (a.matrix.format == format::csc) {
      auto const& c = *static_cast<csc_view<V, I, O> const*>(a.matrix.view);
      view mirrored(unchecked, c.cols, c.rows, c.nnz, c.col_ptr, c.row, c.val);
      mirrored.serial = c.serial;
      return f(mirrored, true);
    }
    made = detail::csr_of(w, a.matrix);
    return f(made.get_if<csr<V, I, O>>()->view(), false);
  });
}

/// The triangle of a csr that an operand stands for; `mirrored`: by its transpose.
template <class V, class I, class O>
detail::triangle_pattern<I, O> pattern_of(csr_view<V, I, O> const& a, bool mirrored,
                                          bool transposed, trsv_options const& o) {
  bool const lower = o.triangle == triangle::lower;
  return {a.rows, a.row_ptr, a.col, lower != mirrored, transposed != mirrored, o.unit_diagonal};
}

std::size_t padded(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

std::string path_of(trsv_plan::state const& s, char const* op) {
  std::string text = std::string("cpu/") + name(active_isa()) + " " + name(s.matrix_format);
  if (s.matrix_format != format::csr && s.matrix_format != format::csc)
    text += " through csr";
  text += detail::wrapped(s.view.transposed, false);
  text += std::string(" ") + op + " ";
  if (s.schedule.walk == triangle_schedule::sync_free)
    text += "sync_free";
  else if (s.levels != 0)
    text += "levels: " + std::to_string(s.levels) + (s.levels == 1 ? " level" : " levels");
  else
    text += s.schedule.parts > 1 ? "serial, by columns" : "serial";
  return text + ", " + std::to_string(s.schedule.parts) +
         (s.schedule.parts == 1 ? " thread" : " threads");
}

/// The plan's arrays, in memory that take(bytes) gives.
template <class I, class O, class Take>
void make_lines(char const* op, detail::triangle_pattern<I, O> const& t, where const& w,
                std::size_t each, bool once, trsv_plan::state& s, Take const& take) {
  trsv_method method = s.options.method;
  auto const n = static_cast<std::size_t>(t.rows);
  bool const automatic = method == trsv_method::automatic;
  // Blocks of columns are dealt where each thread gets one. Smaller blocks for fewer columns share
  // lines of the cache: 8 columns of poisson3d7:60 take two threads 3.5 ms so and one thread 1.7.
  std::size_t const work_of_columns =
      (static_cast<std::size_t>(t.row_ptr ? t.row_ptr[t.rows] : 0) + n) * s.columns;
  auto const most = static_cast<std::size_t>(detail::threads_for(work_of_columns, w.threads));
  bool const in_order = automatic || method == trsv_method::serial;
  std::size_t const blocks =
      (s.columns + static_cast<std::size_t>(s.block) - 1) / static_cast<std::size_t>(s.block);
  bool const by_columns = in_order && most > 1 && blocks >= (automatic ? most : 2);
  if (automatic && (once || by_columns))
    method = trsv_method::serial;
  bool const with_levels = method == trsv_method::levels || method == trsv_method::automatic;
  auto survey = detail::survey_triangle(op, t, with_levels, w.memory);
  int const threads =
      method == trsv_method::serial
          ? 1
          : detail::threads_for((survey.entries + n) * static_cast<std::size_t>(s.block),
                                w.threads);
  array<O> entries;
  double const scale = detail::cost_of_block(s.block);
  auto const work = [&](std::int64_t level) {
    auto const l = static_cast<std::size_t>(level);
    return scale * (detail::ns_per_row *
                        static_cast<double>(survey.level_ptr[l + 1] - survey.level_ptr[l]) +
                    detail::ns_per_entry * static_cast<double>(entries[l]));
  };
  std::int64_t stages = 0;
  int parts_of_levels = 1;
  if (with_levels) {
    entries = detail::entries_of_levels(survey, w.memory);
    double alone = 0, together = 0;
    bool any_dealt = false;
    detail::for_each_stage(survey, threads, work, [&](I first, I last, double ns, bool dealt) {
      alone += ns;
      together += dealt ? ns / threads + detail::ns_per_level +
                              detail::ns_per_row_elsewhere * static_cast<double>(last - first)
                        : ns;
      any_dealt |= dealt;
    });
    double const mean = n == 0 ? 0 : static_cast<double>(survey.entries) / static_cast<double>(n);
    double const loose = scale * (detail::ns_per_row + detail::ns_per_entry_in_order * mean);
    double const one_after_another =
        static_cast<double>(n - survey.chained) * loose +
        static_cast<double>(survey.chained) * std::max(loose, detail::ns_per_chained_row);
    bool const pays = together < 0.75 * std::min(alone, one_after_another);
    if (any_dealt && (pays || !automatic))
      parts_of_levels = threads;
    if (automatic)
      method = pays || alone < 0.9 * one_after_another ? trsv_method::levels : trsv_method::serial;
    detail::for_each_stage(survey, parts_of_levels, work, [&](I, I, double, bool) { ++stages; });
  }
  bool const by_levels = method == trsv_method::levels;
  s.levels = by_levels ? survey.levels : 0;
  s.schedule.walk = by_levels                          ? triangle_schedule::levels
                    : method == trsv_method::sync_free ? triangle_schedule::sync_free
                                                       : triangle_schedule::serial;
  s.schedule.parts = by_levels                          ? parts_of_levels
                     : method == trsv_method::sync_free ? threads
                     : by_columns                       ? static_cast<int>(std::min(most, blocks))
                                                        : 1;
  s.schedule.stages = by_levels ? stages : 0;
  s.schedule.chunk = detail::lines_per_chunk;
  s.lines.rows = static_cast<std::int64_t>(n);
  s.lines.unit = t.unit;
  s.lines.step = t.transposed || !survey.sorted ? 0 : t.lower ? 1 : -1;
  bool const listed = s.lines.step == 0;
  std::size_t const stored = survey.entries + (listed && !t.unit ? survey.diagonal : 0);
  auto const parts = static_cast<std::size_t>(s.schedule.parts);
  auto const flags =
      static_cast<std::size_t>(triangle_flags(s.schedule, static_cast<std::int64_t>(n)));
  detail::triangle_layout at{};
  std::size_t bytes = 0;
  auto const place = [&](std::size_t& where_it_is, std::size_t count, std::size_t size) {
    where_it_is = bytes;
    bytes += padded(checked_mul(count, size, op));
  };
  place(at.row, by_levels || t.descends() ? n : 0, sizeof(I));
  place(at.ptr, n + 1, sizeof(O));
  place(at.col, stored, sizeof(I));
  place(at.from, listed ? stored : n, sizeof(O));
  place(at.bounds, by_levels ? static_cast<std::size_t>(stages) * parts + 1 : 0,
        sizeof(std::int64_t));
  place(at.flags, flags, sizeof(std::uint64_t));
  place(at.epoch, 1, sizeof(std::uint32_t));
  place(at.y, checked_mul(n, static_cast<std::size_t>(s.block) * (by_columns ? parts : 1), op),
        each);
  std::byte* const memory = take(bytes);
  detail::fill_lines(t, survey, by_levels, memory, at, s.lines, w.memory);
  if (by_levels) {
    auto* bounds = reinterpret_cast<std::int64_t*>(memory + at.bounds);
    s.schedule.bounds = bounds;
    auto const* const ptr = static_cast<O const*>(s.lines.ptr);
    *bounds = 0;
    detail::for_each_stage(survey, parts_of_levels, work, [&](I first, I last, double, bool dealt) {
      // By entries and rows, as work is.
      auto const before = [&](std::int64_t p) {
        return detail::ns_per_row * static_cast<double>(p) +
               detail::ns_per_entry * static_cast<double>(ptr[p]);
      };
      std::int64_t line = first;
      for (std::size_t part = 1; part <= parts; ++part) {
        double const target = before(first) + (before(last) - before(first)) *
                                                  static_cast<double>(part) /
                                                  static_cast<double>(parts);
        std::int64_t high = last;
        if (!dealt || part == parts)
          line = last;
        while (line < high) {
          std::int64_t const middle = line + (high - line) / 2;
          if (before(middle) < target)
            line = middle + 1;
          else
            high = middle;
        }
        *++bounds = line;
      }
    });
  }
  s.flags = reinterpret_cast<std::uint64_t*>(memory + at.flags);
  std::fill_n(s.flags, flags, std::uint64_t(0));
  s.epoch = reinterpret_cast<std::uint32_t*>(memory + at.epoch);
  *s.epoch = 0;
  s.y = memory + at.y;
}

/// Solves by what is planned. False: a diagonal entry is zero, and x is as it was.
bool run(trsv_plan::state const& s, void const* val, bool conjugated, void const* alpha,
         dense_ref const& b, dense_ref const& x) {
  triangle_call c;
  c.lines = &s.lines;
  c.schedule = &s.schedule;
  c.alpha = alpha;
  c.val = val;
  c.conjugated = conjugated;
  c.b = b.data;
  c.b_row = static_cast<std::int64_t>(b.row_stride);
  c.b_col = static_cast<std::int64_t>(b.col_stride);
  c.x = x.data;
  c.x_row = static_cast<std::int64_t>(x.row_stride);
  c.x_col = static_cast<std::int64_t>(x.col_stride);
  c.columns = static_cast<std::int64_t>(x.cols);
  c.streaming = detail::passes_cache_by(x, detail::bytes_of(detail::kind_of_type(s.type)));
  c.block = std::min(s.block, block_of_columns(c.columns));
  // Lines that are rows, with nothing to be found on the diagonal, are solved where they go.
  bool const in_place = s.lines.unit && !s.lines.row && c.columns == 1 && x.row_stride == 1;
  c.y = in_place ? x.data : s.y;
  c.flags = s.flags;
  c.epoch = s.epoch;
  return s.kernel->solve(c);
}

} // namespace

trsv_plan::~trsv_plan() {
  delete state_;
}
trsv_plan::trsv_plan(trsv_plan&& other) noexcept
    : plan(std::move(other)), state_(std::exchange(other.state_, nullptr)) {}
trsv_plan& trsv_plan::operator=(trsv_plan&& other) noexcept {
  plan::operator=(std::move(other));
  std::swap(state_, other.state_);
  return *this;
}

std::int64_t trsv_plan::levels() const {
  return get().levels;
}

void trsv_plan::make(char const* op, where const& w, spmv_operand const& a, std::size_t columns,
                     trsv_options o) {
  auto const start = std::chrono::steady_clock::now();
  check_matrix(op, a, w);
  detail::typed_memory(op, [&] {
    detail::limited const space(op, w);
    where here = w;
    here.memory = space.counted().memory;
    state s;
    s.begin(w, a);
    s.options = o;
    s.columns = columns;
    s.block = block_of_columns(static_cast<std::int64_t>(columns));
    any_matrix made;
    where for_csr = w;
    for_csr.memory = here.memory;
    with_csr(for_csr, a, made,
             [&]<class V, class I, class O>(csr_view<V, I, O> const& from, bool mirrored) {
               auto const t = pattern_of(from, mirrored, a.transposed, o);
               if (w.backend == backend::reference) {
                 detail::survey_triangle(op, t, false, here.memory);
                 path_ = std::string("reference ") + name(a.matrix.format) +
                         detail::wrapped(a.transposed, false) + " " + op;
               } else {
                 s.kernel = &formats::cpu_trsv(active_isa(), a.matrix.type);
                 make_lines(op, t, here, sizeof(V), false, s, [&](std::size_t bytes) {
                   return static_cast<std::byte*>(take_workspace(bytes, here));
                 });
                 path_ = path_of(s, op);
               }
               s.known = detail::know(from, w.threads);
             });
    state_ = new state(std::move(s));
  });
  seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

namespace {

void check_plan(char const* op, trsv_plan::state const& s, spmv_operand const& a) {
  detail::check_same_shape(op, s, a);
}

} // namespace

void trsv_plan::check_operand(spmv_operand const& a) {
  detail::plan_turn const turn(*this, "trsv");
  state const& s = get();
  check_matrix("trsv", a, s.where);
  check_plan("trsv", s, a);
  any_matrix made;
  with_csr(s.where, a, made, [&](auto const& from, bool) {
    detail::check_pattern("trsv", "A", from, s.known, s.where.threads);
  });
}

void trsv_plan::rebind_to(spmv_operand const& a) {
  state const& s = get();
  trsv_plan made;
  made.make("trsv", s.where, a, s.columns, s.options);
  detail::plan_turn const turn(*this, "trsv");
  std::swap(static_cast<plan&>(*this), static_cast<plan&>(made));
  std::swap(state_, made.state_);
}

namespace detail {
namespace {

template <class V, class I, class O>
[[noreturn]] void fail_singular(char const* op, csr_view<V, I, O> const& a) {
  std::int64_t const i = kernels::reference::singular_row(a);
  fail(errc::bad_structure, "%s: the diagonal entry of row %lld is zero", op,
       static_cast<long long>(i));
}

template <class V>
dense_view<V> as_dense(dense_ref const& d) {
  return {static_cast<V*>(d.data), d.rows, d.cols, d.row_stride, d.col_stride};
}

template <class V, class I, class O>
void solve_by_reference(char const* op, V alpha, csr_view<V, I, O> const& a,
                        triangle_pattern<I, O> const& t, bool conjugated, dense_ref const& b,
                        dense_ref const& x) {
  if (!t.unit && kernels::reference::singular_row(a) >= 0)
    fail_singular(op, a);
  auto const value = [conjugated](V v) {
    if constexpr (std::is_floating_point_v<V>)
      return v;
    else
      return conjugated ? std::conj(v) : v;
  };
  kernels::reference::trsv(alpha, a, t.lower, t.transposed, t.unit, value,
                           dense_view<V const>(as_dense<V>(b)), as_dense<V>(x));
}

} // namespace

void solve_triangle(char const* op, trsv_plan* plan, where const& w, value_kind kind,
                    void const* alpha, spmv_operand const& a, dense_ref const& b,
                    dense_ref const& x, trsv_options o) {
  std::optional<plan_turn> turn;
  if (plan)
    turn.emplace(*plan, op);
  where const& here = plan ? plan->get().where : w;
  check_matrix(op, a, here);
  check_operands(op, a, kind, b, x);
  if (plan)
    check_plan(op, plan->get(), a);
  if (x.rows == 0 || x.cols == 0)
    return;
  bool const alpha_is_zero =
      with_value(kind, [&]<class V>(V) { return *static_cast<V const*>(alpha) == V(0); });
  if (alpha_is_zero)
    return tulle::check(table_of(here.backend).scale(place_of(here), kind, alpha, x), op);
  typed_memory(op, [&] {
    limited const space(op, here);
    where counted = here;
    counted.memory = space.counted().memory;
    any_matrix made;
    with_csr(counted, a, made,
             [&]<class V, class I, class O>(csr_view<V, I, O> const& from, bool mirrored) {
               bool const conjugated = a.conjugated && !std::is_floating_point_v<V>;
               trsv_options const& options = plan ? plan->get().options : o;
               auto const t = pattern_of(from, mirrored, a.transposed, options);
               if (plan)
                 recognise(op, "A", from, plan->get().known, here.threads);
               if (here.backend == backend::reference) {
                 if (!plan && !t.unit)
                   survey_triangle(op, t, false, counted.memory);
                 return solve_by_reference(op, *static_cast<V const*>(alpha), from, t, conjugated,
                                           b, x);
               }
               trsv_plan::state once;
               array<std::byte> memory;
               if (!plan) {
                 once.begin(here, a);
                 once.options = o;
                 once.columns = x.cols;
                 once.block = block_of_columns(static_cast<std::int64_t>(x.cols));
                 once.kernel = &formats::cpu_trsv(active_isa(), a.matrix.type);
                 make_lines(op, t, counted, sizeof(V), true, once, [&](std::size_t bytes) {
                   memory = array<std::byte>(bytes, counted.memory);
                   return memory.data();
                 });
               }
               if (!run(plan ? plan->get() : once, from.val, conjugated, alpha, b, x))
                 fail_singular(op, from);
             });
  });
}

} // namespace detail
} // namespace tulle

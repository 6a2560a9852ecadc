// SPDX-License-Identifier: Apache-2.0

// The walk of C = A B: check, sort what is not canonical, survey and count, allocate C, fill it.
#include "tulle/op/spgemm.hpp"

#include "tulle/core/limited.hpp"
#include "tulle/op/convert.hpp"

#include "core/format_table.hpp"
#include "op/spgemm_esc.hpp"
#include "op/spgemm_operands.hpp"
#include "op/spgemm_plan.hpp"
#include "reference/spgemm.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace tulle {
namespace {

using detail::check_product;
using detail::counted;
using detail::make_stages;
using detail::product_operands;

/// C by global_esc, which has done with the stages when it knows C's size.
template <class V, class I, class O>
csr<V, I, O> by_global_esc(product_operands<V, I, O> const& from, spgemm_options const& o,
                           where const& w, std::string* path) {
  csr<V, I, O> c;
  {
    auto const s =
        make_stages(from.a, from.b, o, w, from.room(detail::least_esc_bytes(from.a, from.b)));
    c = counted(from.a, from.b, *s, w);
    if (path)
      *path = s->summary();
  }
  detail::fill_by_global_esc(from.a, from.b, c.row_ptr.data(), c.col.data(), c.val.data(), w,
                             from.room());
  return c;
}

} // namespace

namespace detail {

template <class V, class I, class O>
csr<V, I, O> spgemm(where const& w, csr_view<V, I, O> a, csr_view<V, I, O> b, spgemm_options o,
                    std::size_t taken) {
  stoppable const here;
  return typed_memory("spgemm", [&] {
    check_product(a, b, w);
    product_operands<V, I, O> const from(a, b, which_canonical(a, b, w), w, taken);
    if (w.backend == backend::reference)
      return kernels::reference::spgemm(from.a, from.b, w.memory);
    if (o.method == spgemm_method::global_esc)
      return by_global_esc(from, o, w, nullptr);
    auto const s = make_stages(from.a, from.b, o, w, from.keeping_room());
    csr<V, I, O> c = counted(from.a, from.b, *s, w);
    s->fill(&from.a, &from.b, c.row_ptr.data(), c.col.data(), c.val.data(), false);
    return c;
  });
}

} // namespace detail

namespace {

/// A plan of host matrices.
template <class V, class I, class O>
class host_product final : public spgemm_plan::state {
  using view = csr_view<V, I, O>;

public:
  host_product(tulle::where const& w, view const& a, view const& b, spgemm_options o)
      : state(w, o) {
    check_product(a, b, w);
    are_ = detail::which_canonical(a, b, w);
    a_ = detail::know(a, w.threads);
    b_ = detail::know(b, w.threads);
    product_operands<V, I, O> const from(a, b, are_, w);
    std::string const rows = std::string("cpu/") + name(active_isa()) + " csr, rows: ";
    csr<V, I, O> c;
    if (w.backend == backend::reference) {
      c = kernels::reference::spgemm(from.a, from.b, w.memory);
      path = "reference csr";
    } else if (o.method == spgemm_method::global_esc) {
      c = by_global_esc(from, o, w, &path);
      path = rows + path + ", counted so and filled by one sort";
    } else {
      stages_ = make_stages(from.a, from.b, o, w, from.keeping_room());
      c = counted(from.a, from.b, *stages_, w);
      stages_->fill(&from.a, &from.b, c.row_ptr.data(), c.col.data(), c.val.data(), false);
      path = rows + stages_->summary();
    }
    if (!are_.a || !are_.b)
      path += are_.a ? ", B sorted first" : are_.b ? ", A sorted first" : ", A and B sorted first";
    here = any_matrix(std::move(c));
    result_ = const_cast<csr<V, I, O>*>(here.get_if<csr<V, I, O>>());
  }

  std::size_t bytes() const noexcept override { return stages_ ? stages_->bytes() : 0; }

  void check(matrix_ref const& a, matrix_ref const& b) override {
    auto const &of_a = a.as<view>(), &of_b = b.as<view>();
    check_shape(of_a, of_b);
    detail::check_pattern("spgemm", "A", of_a, a_, where.threads);
    detail::check_pattern("spgemm", "B", of_b, b_, where.threads);
  }

  void run(matrix_ref const& a, matrix_ref const& b) override {
    auto const &of_a = a.as<view>(), &of_b = b.as<view>();
    check_shape(of_a, of_b);
    detail::recognise("spgemm", "A", of_a, a_, where.threads);
    detail::recognise("spgemm", "B", of_b, b_, where.threads);
    product_operands<V, I, O> const from(of_a, of_b, are_, where, bytes());
    csr<V, I, O>& c = *result_;
    if (stages_)
      return stages_->fill(&from.a, &from.b, c.row_ptr.data(), c.col.data(), c.val.data(), true);
    if (where.backend == backend::reference) {
      csr<V, I, O> const again = kernels::reference::spgemm(from.a, from.b, where.memory);
      std::copy(again.val.begin(), again.val.end(), c.val.begin());
      return;
    }
    // By global_esc, which may run out of memory; the pattern stays as it is.
    detail::spgemm_room room = from.room();
    array<V> val(c.val.size(), where.memory);
    room.limit -= std::min(room.limit, val.bytes());
    room.taken += val.bytes();
    detail::fill_by_global_esc(from.a, from.b, c.row_ptr.data(), c.col.data(), val.data(), where,
                               room);
    std::copy(val.begin(), val.end(), c.val.begin());
  }

private:
  void check_shape(view const& a, view const& b) const {
    check_product(a, b, where);
    if (a.rows != result_->rows || b.cols != result_->cols)
      fail(errc::shape_mismatch,
           "spgemm: the plan is for a product of %lld x %lld, A B is %lld x %lld",
           static_cast<long long>(result_->rows), static_cast<long long>(result_->cols),
           static_cast<long long>(a.rows), static_cast<long long>(b.cols));
  }

  detail::canonical_operands are_;
  detail::known_pattern a_, b_;
  std::unique_ptr<detail::spgemm_stages> stages_;
  csr<V, I, O>* result_ = nullptr; // in `here`
};

} // namespace

void detail::check_product_operand(char const* which, matrix_ref const& m, where const& w) {
  if (!is_built(m.format, m.type))
    fail(errc::unsupported, "spgemm: %s: %s is not built for %s", which, name(m.format),
         name(m.type));
  if (m.space != space_of(w))
    fail(errc::unsupported, "spgemm: %s is in %s memory, the policy is %s; see upload()", which,
         name(m.space), name(w.backend));
  formats::check_present("spgemm", m);
}

void detail::check_product_operands(matrix_ref const& a, matrix_ref const& b, where const& w) {
  check_product_operand("A", a, w);
  check_product_operand("B", b, w);
  if (a.type != b.type)
    fail(errc::unsupported, "spgemm: A is of %s and B of %s", name(a.type), name(b.type));
}

void detail::check_planned(matrix_ref const& a, matrix_ref const& b) {
  if (a.format != format::csr || b.format != format::csr)
    fail(errc::unsupported, "spgemm: a plan is for csr, A is a %s and B a %s; see convert()",
         name(a.format), name(b.format));
}

void spgemm_plan::drop_state::operator()(state* s) const noexcept {
  delete s;
}
spgemm_plan::~spgemm_plan() = default;
spgemm_plan::spgemm_plan(spgemm_plan&&) noexcept = default;
spgemm_plan& spgemm_plan::operator=(spgemm_plan&&) noexcept = default;

spgemm_plan::state& spgemm_plan::get() const {
  if (!state_)
    fail(errc::bad_structure, "spgemm: the plan was moved from");
  return *state_;
}

void spgemm_plan::make(where const& w, matrix_ref const& a, matrix_ref const& b, spgemm_options o) {
  auto const start = std::chrono::steady_clock::now();
  detail::typed_memory("spgemm", [&] {
    detail::check_product_operands(a, b, w);
    detail::check_planned(a, b);
    std::unique_ptr<state> made;
    if (space_of(w) != space::host)
      made = detail::product_on_device(w, a, b, o);
    else
      visit(a.type, [&](auto types) {
        using T = decltype(types);
        using view = csr_view<typename T::value, typename T::index, typename T::offset>;
        made = std::make_unique<
            host_product<typename T::value, typename T::index, typename T::offset>>(
            w, a.as<view>(), b.as<view>(), o);
      });
    path_ = made->path;
    state_.reset(made.release());
  });
  seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::size_t spgemm_plan::bytes() const noexcept {
  return state_ ? state_->bytes() : 0;
}

void spgemm_plan::check_operands(matrix_ref const& a, matrix_ref const& b) {
  detail::plan_turn const turn(*this, "spgemm");
  state& s = get();
  detail::check_product_operands(a, b, s.where);
  detail::check_planned(a, b);
  s.check(a, b);
}

void spgemm_plan::rebind_to(matrix_ref const& a, matrix_ref const& b) {
  detail::plan_turn const turn(*this, "spgemm");
  state const& s = get();
  make(s.where, a, b, s.options);
}

void spgemm_plan::run_with(matrix_ref const& a, matrix_ref const& b) {
  detail::plan_turn const turn(*this, "spgemm");
  state& s = get();
  detail::typed_memory("spgemm", [&] {
    detail::check_product_operands(a, b, s.where);
    detail::check_planned(a, b);
    s.run(a, b);
  });
}

any_matrix const& spgemm_plan::result_here() const {
  state const& s = get();
  if (s.here.empty())
    fail(errc::unsupported,
         "spgemm: the plan's result is in %s memory; see result<device_matrix>()",
         name(space_of(s.where)));
  return s.here;
}

device_matrix const& spgemm_plan::result_there() const {
  state const& s = get();
  if (!s.here.empty())
    fail(errc::unsupported, "spgemm: the plan's result is in host memory, not on a device");
  return s.there;
}

void spgemm_plan::fail_type(char const* wanted) const {
  fail(errc::unsupported, "spgemm: a csr of %s was asked for, the plan's result is of %s", wanted,
       name(result_here().type()));
}

any_matrix spgemm(where const& w, any_matrix const& a, any_matrix const& b, spgemm_options o) {
  if (a.type() != b.type())
    fail(errc::unsupported, "spgemm: A is of %s and B of %s", name(a.type()), name(b.type()));
  detail::limited space("spgemm", w);
  any_matrix of_a, of_b;
  for (auto const& [from, to] : {std::pair(&a, &of_a), std::pair(&b, &of_b)})
    if (from->format() != format::csr) {
      detail::tell_converted(from->format());
      *to = convert(*from, format::csr, space.counted());
    }
  return visit(a.type(), [&](auto types) -> any_matrix {
    using T = decltype(types);
    using owner = csr<typename T::value, typename T::index, typename T::offset>;
    return detail::spgemm(w, (of_a.empty() ? a : of_a).template get_if<owner>()->view(),
                          (of_b.empty() ? b : of_b).template get_if<owner>()->view(), o,
                          space.taken());
  });
}

#define TULLE_SPGEMM(tag, V, I, O)                                                                 \
  template csr<V, I, O> detail::spgemm(where const&, csr_view<V, I, O>, csr_view<V, I, O>,         \
                                       spgemm_options, std::size_t);
TULLE_TYPES(TULLE_SPGEMM)
TULLE_BASIC_TYPES(TULLE_SPGEMM)
#undef TULLE_SPGEMM

} // namespace tulle

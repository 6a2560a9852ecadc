// SPDX-License-Identifier: Apache-2.0

// The walk of C = A B: check, sort what is not canonical, survey and count, allocate C, fill it.
#include "tulle/op/spgemm.hpp"

#include "tulle/op/convert.hpp"

#include "op/spgemm_esc.hpp"
#include "op/spgemm_operands.hpp"
#include "reference/spgemm.hpp"

#include <chrono>

namespace tulle {
namespace {

using detail::check_product;
using detail::counted;
using detail::make_stages;
using detail::product_operands;
using detail::spgemm_stages;

template <class V, class I, class O>
void fill(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b, spgemm_stages& s, csr<V, I, O>& c,
          where const& w, std::size_t limit, bool values_only) {
  if (s.task().wanted == spgemm_method::global_esc)
    detail::fill_by_global_esc(a, b, c, w, limit - s.bytes());
  else
    s.fill(&a, &b, c.row_ptr.data(), c.col.data(), c.val.data(), values_only);
}

} // namespace

namespace detail {

template <class V, class I, class O>
csr<V, I, O> spgemm(where const& w, csr_view<V, I, O> a, csr_view<V, I, O> b, spgemm_options o) {
  stoppable const here;
  check_product(a, b, w);
  product_operands<V, I, O> const from(a, b, detail::which_canonical(a, b, w), w);
  if (w.backend == backend::reference)
    return reference_backend::spgemm(from.a, from.b, w.memory);
  auto const s = make_stages(from.a, from.b, o, w, from.limit);
  csr<V, I, O> c = counted(from.a, from.b, *s, w);
  fill(from.a, from.b, *s, c, w, from.limit, false);
  return c;
}

} // namespace detail

template <class V, class I, class O>
spgemm_plan<V, I, O>::spgemm_plan(where const& w, csr_view<V, I, O> a, csr_view<V, I, O> b,
                                  spgemm_options o)
    : where_(w), options_(o) {
  auto const start = std::chrono::steady_clock::now();
  check_product(a, b, w);
  auto const are = detail::which_canonical(a, b, w);
  a_canonical_ = are.a;
  b_canonical_ = are.b;
  a_ = detail::know(a, w.threads);
  b_ = detail::know(b, w.threads);
  product_operands<V, I, O> const from(a, b, are, w);
  if (w.backend == backend::reference) {
    result_ = reference_backend::spgemm(from.a, from.b, w.memory);
    path_ = "reference csr";
  } else {
    stages_.reset(make_stages(from.a, from.b, o, w, from.limit).release());
    result_ = counted(from.a, from.b, *stages_, w);
    fill(from.a, from.b, *stages_, result_, w, from.limit, false);
    path_ = std::string("cpu/") + name(active_isa()) + " csr, rows: " + stages_->summary();
    if (o.method == spgemm_method::global_esc)
      path_ += ", counted so and filled by one sort";
  }
  if (!a_canonical_ || !b_canonical_)
    path_ += a_canonical_   ? ", B sorted first"
             : b_canonical_ ? ", A sorted first"
                            : ", A and B sorted first";
  seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <class V, class I, class O>
std::size_t spgemm_plan<V, I, O>::bytes() const noexcept {
  return stages_ ? stages_->bytes() : 0;
}

template <class V, class I, class O>
void spgemm_plan<V, I, O>::check_shape(csr_view<V, I, O> const& a,
                                       csr_view<V, I, O> const& b) const {
  check_product(a, b, where_);
  if (a.rows != result_.rows || b.cols != result_.cols)
    fail(errc::shape_mismatch,
         "spgemm: the plan is for a product of %lld x %lld, A B is %lld x %lld",
         static_cast<long long>(result_.rows), static_cast<long long>(result_.cols),
         static_cast<long long>(a.rows), static_cast<long long>(b.cols));
}

template <class V, class I, class O>
void spgemm_plan<V, I, O>::check(csr_view<V, I, O> a, csr_view<V, I, O> b) {
  detail::plan_turn const turn(*this, "spgemm");
  check_shape(a, b);
  detail::check_pattern("spgemm", "A", a, a_, where_.threads);
  detail::check_pattern("spgemm", "B", b, b_, where_.threads);
}

template <class V, class I, class O>
csr<V, I, O> const& spgemm_plan<V, I, O>::run(csr_view<V, I, O> a, csr_view<V, I, O> b) {
  detail::plan_turn const turn(*this, "spgemm");
  check_shape(a, b);
  detail::recognise("spgemm", "A", a, a_, where_.threads);
  detail::recognise("spgemm", "B", b, b_, where_.threads);
  product_operands<V, I, O> const from(a, b, {a_canonical_, b_canonical_}, where_);
  if (!stages_) {
    result_ = reference_backend::spgemm(from.a, from.b, where_.memory);
  } else if (options_.method == spgemm_method::global_esc) { // which may run out of memory
    csr<V, I, O> next = result_;
    fill(from.a, from.b, *stages_, next, where_, from.limit, true);
    result_ = std::move(next);
  } else {
    fill(from.a, from.b, *stages_, result_, where_, from.limit, true);
  }
  return result_;
}

any_matrix spgemm(where const& w, any_matrix const& a, any_matrix const& b, spgemm_options o) {
  if (a.type() != b.type())
    fail(errc::unsupported, "spgemm: A is of %s and B of %s", name(a.type()), name(b.type()));
  if (a.format() != format::csr)
    return spgemm(w, convert(a, format::csr, w.as_cpu()), b, o);
  if (b.format() != format::csr)
    return spgemm(w, a, convert(b, format::csr, w.as_cpu()), o);
  return visit(a.type(), [&](auto types) -> any_matrix {
    using T = decltype(types);
    using owner = csr<typename T::value, typename T::index, typename T::offset>;
    return detail::spgemm(w, a.get_if<owner>()->view(), b.get_if<owner>()->view(), o);
  });
}

#define TULLE_SPGEMM(tag, V, I, O)                                                                 \
  template csr<V, I, O> detail::spgemm(where const&, csr_view<V, I, O>, csr_view<V, I, O>,         \
                                       spgemm_options);                                            \
  template class spgemm_plan<V, I, O>;
TULLE_TYPES(TULLE_SPGEMM)
TULLE_BASIC_TYPES(TULLE_SPGEMM)
#undef TULLE_SPGEMM

} // namespace tulle

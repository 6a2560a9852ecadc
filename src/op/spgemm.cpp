// SPDX-License-Identifier: Apache-2.0

// The walk of C = A B: check, sort what is not canonical, survey and count, allocate C, fill it.
#include "tulle/op/spgemm.hpp"

#include "tulle/core/limited.hpp"
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
      return reference_backend::spgemm(from.a, from.b, w.memory);
    if (o.method == spgemm_method::global_esc)
      return by_global_esc(from, o, w, nullptr);
    auto const s = make_stages(from.a, from.b, o, w, from.room());
    csr<V, I, O> c = counted(from.a, from.b, *s, w);
    s->fill(&from.a, &from.b, c.row_ptr.data(), c.col.data(), c.val.data(), false);
    return c;
  });
}

} // namespace detail

template <class V, class I, class O>
spgemm_plan<V, I, O>::spgemm_plan(where const& w, csr_view<V, I, O> a, csr_view<V, I, O> b,
                                  spgemm_options o)
    : where_(w), options_(o) {
  detail::typed_memory("spgemm", [&] { make(a, b); });
}

template <class V, class I, class O>
void spgemm_plan<V, I, O>::make(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b) {
  where const& w = where_;
  auto const start = std::chrono::steady_clock::now();
  check_product(a, b, w);
  auto const are = detail::which_canonical(a, b, w);
  a_canonical_ = are.a;
  b_canonical_ = are.b;
  a_ = detail::know(a, w.threads);
  b_ = detail::know(b, w.threads);
  product_operands<V, I, O> const from(a, b, are, w);
  std::string const rows = std::string("cpu/") + name(active_isa()) + " csr, rows: ";
  if (w.backend == backend::reference) {
    result_ = reference_backend::spgemm(from.a, from.b, w.memory);
    path_ = "reference csr";
  } else if (options_.method == spgemm_method::global_esc) {
    result_ = by_global_esc(from, options_, w, &path_);
    path_ = rows + path_ + ", counted so and filled by one sort";
  } else {
    stages_.reset(make_stages(from.a, from.b, options_, w, from.room()).release());
    result_ = counted(from.a, from.b, *stages_, w);
    stages_->fill(&from.a, &from.b, result_.row_ptr.data(), result_.col.data(), result_.val.data(),
                  false);
    path_ = rows + stages_->summary();
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
  product_operands<V, I, O> const from(a, b, {a_canonical_, b_canonical_}, where_, bytes());
  if (stages_) {
    stages_->fill(&from.a, &from.b, result_.row_ptr.data(), result_.col.data(), result_.val.data(),
                  true);
  } else if (where_.backend == backend::reference) {
    result_ = reference_backend::spgemm(from.a, from.b, where_.memory);
  } else { // by global_esc, which may run out of memory; the pattern stays as it is
    detail::spgemm_room room = from.room();
    array<V> val(result_.val.size(), where_.memory);
    room.limit -= std::min(room.limit, val.bytes());
    room.taken += val.bytes();
    detail::fill_by_global_esc(from.a, from.b, result_.row_ptr.data(), result_.col.data(),
                               val.data(), where_, room);
    result_.val.swap(val);
  }
  return result_;
}

any_matrix spgemm(where const& w, any_matrix const& a, any_matrix const& b, spgemm_options o) {
  if (a.type() != b.type())
    fail(errc::unsupported, "spgemm: A is of %s and B of %s", name(a.type()), name(b.type()));
  detail::limited space("spgemm", w);
  any_matrix of_a, of_b;
  for (auto const& [from, to] : {std::pair(&a, &of_a), std::pair(&b, &of_b)})
    if (from->format() != format::csr)
      *to = convert(*from, format::csr, space.counted());
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
                                       spgemm_options, std::size_t);                               \
  template class spgemm_plan<V, I, O>;
TULLE_TYPES(TULLE_SPGEMM)
TULLE_BASIC_TYPES(TULLE_SPGEMM)
#undef TULLE_SPGEMM

} // namespace tulle

// SPDX-License-Identifier: Apache-2.0

// A^T: a stable sort of the entries by column. Bytes that must move, double with 32-bit indices: 12
// read and 12 written an entry; a plan moves 8 + 4 and 8. The sort deals entries to columns at once
// where neighbours go to near columns, and through blocks of columns where each write would miss
// the cache: detail/counting_sort.hpp.
#include "tulle/op/transpose.hpp"

#include "tulle/core/limited.hpp"
#include "tulle/format/csc.hpp"
#include "tulle/op/convert.hpp"

#include "format/detail/counting_sort.hpp"
#include "op/known_pattern.hpp"
#include "reference/transpose.hpp"

#include <chrono>
#include <complex>

namespace tulle {
namespace {

using detail::check_operand;
using detail::limited;
using detail::parts_for;
using detail::sort_lines;

template <class V>
constexpr bool is_complex = !std::is_floating_point_v<V>;

template <class V>
V conjugated(V v, bool conjugate) {
  if constexpr (is_complex<V>)
    return conjugate ? std::conj(v) : v;
  else
    return v;
}

template <class V, class I, class O>
csr<V, I, O> room_for(csr_view<V, I, O> const& a, where const& w) {
  auto const n = static_cast<std::size_t>(a.nnz);
  return {unchecked, a.cols, a.rows, {}, array<I>(n, w.memory), array<V>(n, w.memory)};
}

template <class V, class I, class O>
void conjugate_all(csr<V, I, O>& t) {
  for (V& v : t.val)
    v = conjugated(v, true);
}

/// The entries of A in lines of A^T: columns and `from`, or what value(k) says of entry k. Each
/// thread takes a counter for each line, so that a limit may leave room for fewer of them.
template <class V, class I, class O, class T, class Value, class To>
array<O> sort_entries(where const& w, csr_view<V, I, O> const& a, T const* from, Value value,
                      I* col, To* to) {
  auto const lines = static_cast<std::size_t>(a.cols);
  std::size_t const counters = lines * sizeof(O);
  limited const space("transpose", w.as_cpu(), counters + sizeof(O));
  cpu counted = space.counted();
  if (w.workspace_limit != SIZE_MAX)
    counted.threads = static_cast<int>(std::clamp<std::size_t>(
        w.workspace_limit / (counters + 64), 1,
        static_cast<std::size_t>(parts_for(static_cast<std::size_t>(a.nnz), w.threads))));
  return sort_lines(a.row_ptr, a.col, from, value, static_cast<std::size_t>(a.rows), lines, col, to,
                    counted);
}

} // namespace

namespace detail {

template <class V, class I, class O>
csr<V, I, O> transpose(where const& w, csr_view<V, I, O> a, transpose_options o) {
  stoppable const here;
  check_operand("transpose", "A", a, w);
  return typed_memory("transpose", [&] {
    if (w.backend == backend::reference) {
      auto t = kernels::reference::transpose(a, w.memory);
      if (o.conjugate)
        conjugate_all(t);
      return t;
    }
    csr<V, I, O> t = room_for(a, w);
    bool const conjugate = is_complex<V> && o.conjugate;
    t.row_ptr = sort_entries(
        w, a, a.val, [conjugate, val = a.val](O k) { return conjugated(val[k], conjugate); },
        t.col.data(), t.val.data());
    return t;
  });
}

} // namespace detail

template <class V, class I, class O>
transpose_plan<V, I, O>::transpose_plan(where const& w, csr_view<V, I, O> a, transpose_options o)
    : where_(w), options_(o) {
  detail::typed_memory("transpose", [&] { make(a); });
}

template <class V, class I, class O>
void transpose_plan<V, I, O>::make(csr_view<V, I, O> const& a) {
  where const& w = where_;
  auto const start = std::chrono::steady_clock::now();
  check_operand("transpose", "A", a, w);
  auto const n = static_cast<std::size_t>(a.nnz);
  if (w.backend == backend::reference) {
    path_ = "reference csr";
    result_ = detail::transpose(w, a, options_);
  } else {
    if (n > w.workspace_limit / sizeof(O))
      fail(errc::out_of_memory, "transpose: %zu bytes of workspace wanted, the limit is %zu",
           n * sizeof(O), w.workspace_limit);
    workspace_ = array<std::byte>(n * sizeof(O), w.memory);
    result_ = room_for(a, w);
    auto* const from = reinterpret_cast<O*>(workspace_.data());
    where rest = w;
    rest.workspace_limit -= w.workspace_limit == SIZE_MAX ? 0 : workspace_.bytes();
    result_.row_ptr = sort_entries(
        rest, a, a.col, [](O k) { return k; }, result_.col.data(), from);
    path_ = "cpu csr by permutation";
  }
  a_ = detail::know(a, w.threads);
  if (w.backend == backend::cpu)
    run(a);
  seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <class V, class I, class O>
void transpose_plan<V, I, O>::check_shape(csr_view<V, I, O> const& a) const {
  check_operand("transpose", "A", a, where_);
  if (a.rows != result_.cols || a.cols != result_.rows ||
      static_cast<std::size_t>(a.nnz) != result_.val.size())
    fail(errc::shape_mismatch,
         "transpose: the plan is for %lld x %lld with %zu entries, A is %lld x %lld with %lld",
         static_cast<long long>(result_.cols), static_cast<long long>(result_.rows),
         result_.val.size(), static_cast<long long>(a.rows), static_cast<long long>(a.cols),
         static_cast<long long>(a.nnz));
}

template <class V, class I, class O>
void transpose_plan<V, I, O>::check(csr_view<V, I, O> a) {
  detail::plan_turn const turn(*this, "transpose");
  check_shape(a);
  detail::check_pattern("transpose", "A", a, a_, where_.threads);
}

template <class V, class I, class O>
csr<V, I, O> const& transpose_plan<V, I, O>::run(csr_view<V, I, O> a) {
  detail::plan_turn const turn(*this, "transpose");
  check_shape(a);
  detail::recognise("transpose", "A", a, a_, where_.threads);
  if (where_.backend == backend::reference) {
    result_ = detail::transpose(where_, a, options_);
    return result_;
  }
  auto const n = static_cast<std::size_t>(a.nnz);
  auto const* const from = reinterpret_cast<O const*>(workspace_.data());
  bool const conjugate = is_complex<V> && options_.conjugate;
  int const parts = detail::parts_for(n, where_.threads);
  detail::parallel(parts, [&](int part) {
    // Reads of one line follow one another as rows do, so they come from the cache where rows are
    // near; elsewhere each is a miss, and asking early hides it.
    constexpr std::size_t ahead = 32;
    std::size_t const end = detail::split(n, part + 1, parts);
    std::size_t k = detail::split(n, part, parts);
    for (; k + ahead < end; ++k) {
      __builtin_prefetch(a.val + from[k + ahead]);
      result_.val[k] = conjugated(a.val[from[k]], conjugate);
    }
    for (; k < end; ++k)
      result_.val[k] = conjugated(a.val[from[k]], conjugate);
  });
  return result_;
}

any_matrix transpose(where const& w, any_matrix const& a, transpose_options o) {
  detail::limited const space("transpose", w);
  any_matrix csr_of_a;
  if (a.format() != format::csr) {
    detail::tell_converted(a.format());
    csr_of_a = convert(a, format::csr, space.counted());
  }
  return visit(a.type(), [&](auto types) -> any_matrix {
    using T = decltype(types);
    using owner = csr<typename T::value, typename T::index, typename T::offset>;
    any_matrix const& from = csr_of_a.empty() ? a : csr_of_a;
    return detail::transpose(space.rest(w), from.get_if<owner>()->view(), o);
  });
}

#define TULLE_TRANSPOSE(tag, V, I, O)                                                              \
  template csr<V, I, O> detail::transpose(where const&, csr_view<V, I, O>, transpose_options);     \
  template class transpose_plan<V, I, O>;
TULLE_TYPES(TULLE_TRANSPOSE)
TULLE_BASIC_TYPES(TULLE_TRANSPOSE)
#undef TULLE_TRANSPOSE

} // namespace tulle

// SPDX-License-Identifier: Apache-2.0

// Triangles and other kinds of entries. Bytes that must move, double with 32-bit indices: 4 an
// entry to choose, a byte of what was chosen twice, 12 read and 12 written for an entry that stays.
#include "tulle/op/select.hpp"

#include "tulle/op/convert.hpp"

#include "reference/select.hpp"

#include <complex>

namespace tulle::detail {
namespace {

/// f(predicate) for a kind, whose predicate is then known when compiling.
template <class I, class V, class F>
auto with_kind(select_kind kind, std::int64_t k, F&& f) {
  auto const above = [](I i, I j) {
    return static_cast<std::int64_t>(j) - static_cast<std::int64_t>(i);
  };
  switch (kind) {
  case select_kind::lower:
    return f([=](I i, I j, V) { return above(i, j) <= k; });
  case select_kind::upper:
    return f([=](I i, I j, V) { return above(i, j) >= k; });
  case select_kind::diagonal:
    return f([=](I i, I j, V) { return above(i, j) == k; });
  case select_kind::off_diagonal:
    return f([=](I i, I j, V) { return above(i, j) != k; });
  case select_kind::nonzero:
    break;
  }
  return f([](I, I, V v) { return v != V(0); });
}

} // namespace

template <class V, class I, class O>
csr<V, I, O> select(char const* op, where const& w, csr_view<V, I, O> a, select_kind kind,
                    select_options o) {
  if (w.backend == backend::reference) {
    check_host_operand(op, a, w);
    canonical_operand<V, I, O> const from(op, a, w);
    return kernels::reference::select(from.view, kind, o.k, w.memory);
  }
  return with_kind<I, V>(kind, o.k, [&](auto const& f) { return select_if(op, w, a, f); });
}

any_matrix select(char const* op, where const& w, any_matrix const& a, select_kind kind,
                  select_options o) {
  if (a.format() != format::csr)
    return select(op, w, convert(a, format::csr, w.as_cpu()), kind, o);
  return visit(a.type(), [&](auto types) -> any_matrix {
    using T = decltype(types);
    using owner = csr<typename T::value, typename T::index, typename T::offset>;
    return select(op, w, a.get_if<owner>()->view(), kind, o);
  });
}

#define TULLE_SELECT(tag, V, I, O)                                                                 \
  template csr<V, I, O> select(char const*, where const&, csr_view<V, I, O>, select_kind,          \
                               select_options);
TULLE_TYPES(TULLE_SELECT)
TULLE_BASIC_TYPES(TULLE_SELECT)
#undef TULLE_SELECT

} // namespace tulle::detail

// SPDX-License-Identifier: Apache-2.0

/// Some entries of a matrix, as csr: a triangle, a kind, or those that a predicate accepts.
///
///     auto l = tulle::tril(a);                              // on and below the diagonal
///     auto u = tulle::triu(a, 1);                           // above it
///     auto e = tulle::select(a, tulle::select_kind::off_diagonal);
///     auto s = tulle::select(a, [](auto i, auto j, auto v) { return i != j && v > 1e-8; });
///
/// The result has A's shape, its rows ascend, and duplicates have become their sum: a predicate
/// sees each place once, with its whole value. Diagonal k has the places (i, i + k). Stored zeros
/// are entries; the kind `nonzero` drops them. An operand of another format goes through csr. The
/// first argument may be a policy. The result is the same for every number of threads.
///
/// A predicate is f(i, j, v), called once for each entry, by several threads at once.
///
/// Workspace: one byte per entry, and a copy of an operand whose rows are unsorted or have
/// duplicates. workspace_limit bounds both.
#pragma once
#include "tulle/op/detail/canonical_operand.hpp"
#include "tulle/op/detail/hub.hpp"

#include <concepts>
#include <cstdint>

namespace tulle {

/// Entries by their place against diagonal k, or by their value.
enum class select_kind : std::uint8_t {
  lower,        ///< on diagonal k and below
  upper,        ///< on diagonal k and above
  diagonal,     ///< on diagonal k
  off_diagonal, ///< not on diagonal k
  nonzero,      ///< whose value is not 0; NaN is not
};

struct select_options {
  std::int64_t k = 0; ///< which diagonal
};

namespace detail {

template <class V, class I, class O, class F>
csr<V, I, O> select_if(char const* op, where const& w, csr_view<V, I, O> a, F const& f) {
  check_host_operand(op, a, w);
  canonical_operand<V, I, O> const from(op, a, w);
  a = from.view;
  auto const rows = static_cast<std::size_t>(a.rows);
  auto const entries = static_cast<std::size_t>(a.nnz);
  check_workspace(op, from.bytes + entries, w);
  csr<V, I, O> c(unchecked, a.rows, a.cols, array<O>(rows + 1, O(0), w.memory), {}, {});
  if (entries == 0)
    return c;
  array<std::uint8_t> kept(entries, w.memory);
  int const parts = w.backend == backend::reference ? 1 : parts_for(entries + rows, w.threads);
  auto const first_row = [&](int part) { return split_by_entries(a.row_ptr, rows, part, parts); };
  parallel(parts, [&](int part) {
    std::size_t const end = first_row(part + 1);
    for (std::size_t i = first_row(part); i < end; ++i) {
      std::size_t n = 0;
      for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k) {
        kept[static_cast<std::size_t>(k)] =
            static_cast<bool>(f(static_cast<I>(i), I(a.col[k]), V(a.val[k])));
        n += kept[static_cast<std::size_t>(k)];
      }
      c.row_ptr[i + 1] = static_cast<O>(n);
    }
  });
  for (std::size_t i = 0; i < rows; ++i)
    c.row_ptr[i + 1] = static_cast<O>(c.row_ptr[i + 1] + c.row_ptr[i]);
  auto const n = static_cast<std::size_t>(c.row_ptr[rows]);
  c.col = array<I>(n, w.memory);
  c.val = array<V>(n, w.memory);
  parallel(parts, [&](int part) {
    std::size_t const begin = first_row(part), end = first_row(part + 1);
    auto to = static_cast<std::size_t>(c.row_ptr[begin]);
    for (O k = a.row_ptr[begin]; k < a.row_ptr[end]; ++k)
      if (kept[static_cast<std::size_t>(k)]) {
        c.col[to] = a.col[k];
        c.val[to++] = a.val[k];
      }
  });
  return c;
}

/// src/op/select.cpp.
template <class V, class I, class O>
csr<V, I, O> select(char const* op, where const& w, csr_view<V, I, O> a, select_kind kind,
                    select_options o);
any_matrix select(char const* op, where const& w, any_matrix const& a, select_kind kind,
                  select_options o);

template <class F, class A>
concept predicate_of = std::predicate < F const&,
        typename view_type<A>::index,
typename view_type<A>::index, value_t < A >> ;

} // namespace detail

/// The entries for which f(i, j, v) is true.
template <detail::hub_operand A, detail::predicate_of<A> F>
auto select(where const& w, A const& a, F const& f) {
  return detail::select_if("select", w, detail::hub_of(a, w.as_cpu()).view, f);
}
template <detail::hub_operand A, detail::predicate_of<A> F>
auto select(A const& a, F const& f) {
  return select(where{}, a, f);
}

/// The entries of a kind.
template <detail::hub_operand A>
auto select(where const& w, A const& a, select_kind kind, select_options o = {}) {
  return detail::select("select", w, detail::hub_of(a, w.as_cpu()).view, kind, o);
}
template <detail::hub_operand A>
auto select(A const& a, select_kind kind, select_options o = {}) {
  return select(where{}, a, kind, o);
}

/// The lower triangle: the entries on diagonal k and below.
template <detail::hub_operand A>
auto tril(where const& w, A const& a, std::int64_t k = 0) {
  return detail::select("tril", w, detail::hub_of(a, w.as_cpu()).view, select_kind::lower, {k});
}
template <detail::hub_operand A>
auto tril(A const& a, std::int64_t k = 0) {
  return tril(where{}, a, k);
}

/// The upper triangle: the entries on diagonal k and above.
template <detail::hub_operand A>
auto triu(where const& w, A const& a, std::int64_t k = 0) {
  return detail::select("triu", w, detail::hub_of(a, w.as_cpu()).view, select_kind::upper, {k});
}
template <detail::hub_operand A>
auto triu(A const& a, std::int64_t k = 0) {
  return triu(where{}, a, k);
}

/// For matrices whose type is known only at run time; a csr comes out.
inline any_matrix select(where const& w, any_matrix const& a, select_kind kind,
                         select_options o = {}) {
  return detail::select("select", w, a, kind, o);
}
inline any_matrix select(any_matrix const& a, select_kind kind, select_options o = {}) {
  return detail::select("select", where{}, a, kind, o);
}
inline any_matrix tril(where const& w, any_matrix const& a, std::int64_t k = 0) {
  return detail::select("tril", w, a, select_kind::lower, {k});
}
inline any_matrix tril(any_matrix const& a, std::int64_t k = 0) {
  return tril(where{}, a, k);
}
inline any_matrix triu(where const& w, any_matrix const& a, std::int64_t k = 0) {
  return detail::select("triu", w, a, select_kind::upper, {k});
}
inline any_matrix triu(any_matrix const& a, std::int64_t k = 0) {
  return triu(where{}, a, k);
}

} // namespace tulle

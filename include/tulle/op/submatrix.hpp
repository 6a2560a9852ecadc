// SPDX-License-Identifier: Apache-2.0

/// Rows and columns of a matrix, as csr: a block, a choice, a permutation.
///
///     auto b = tulle::submatrix(a, {0, 10}, {5, 20});                // rows 0-9, columns 5-19
///     auto c = tulle::submatrix(a, rows, cols);                      // C(i, j) = A(rows[i],
///     cols[j]) auto d = tulle::submatrix(a, rows, tulle::all_indices); auto p = tulle::permute(a,
///     rows, cols);                        // the same, of permutations
///
/// A list may be in any order and name a row or column more than once. permute() refuses lists that
/// are no permutations. The result is canonical. An operand of another format goes through csr. The
/// first argument may be a policy. The result is the same for every number of threads. There is no
/// device kernel: a policy that names a device is errc::unsupported.
///
/// Workspace: an index per column and per chosen column for a list of columns, and a copy of a
/// result whose rows had to be sorted. workspace_limit bounds both.
///
/// Errors     an index or a range outside A: bad_structure naming it; a list of permute() of
/// another
///            length than A has rows or columns: shape_mismatch.
#pragma once
#include "tulle/op/detail/canonical_operand.hpp"
#include "tulle/op/detail/hub.hpp"

#include <span>

namespace tulle {

/// Every row, or every column.
struct all_indices_t {};
inline constexpr all_indices_t all_indices{};

namespace detail {

/// Which rows or columns: {first, last}, a list, or all.
template <class I>
struct index_set {
  enum class kind : std::uint8_t { all, range, list };
  kind what = kind::all;
  std::int64_t first = 0, last = 0; ///< of a range: [first, last)
  std::span<I const> list;

  index_set(all_indices_t) {}
  index_set(std::int64_t first_, std::int64_t last_)
      : what(kind::range), first(first_), last(last_) {}
  template <class List>
  requires std::convertible_to<List const&, std::span<I const>> index_set(List const& list_)
      : what(kind::list), list(list_) {}
};

template <class A>
using index_set_of = index_set<typename view_type<A>::index>;

/// src/op/submatrix.cpp. is_permutation: each set must have every index once.
template <class V, class I, class O>
csr<V, I, O> submatrix(char const* op, where const& w, csr_view<V, I, O> a, index_set<I> rows,
                       index_set<I> cols, bool is_permutation);

} // namespace detail

/// C(i, j) = A(rows[i], cols[j]).
template <detail::hub_operand A>
auto submatrix(where const& w, A const& a, detail::index_set_of<A> rows,
               detail::index_set_of<A> cols) {
  detail::limited const space("submatrix", w);
  auto const of_a = detail::built_hub_of(a, space.counted());
  return detail::submatrix("submatrix", space.rest(w), of_a.view, rows, cols, false);
}
template <detail::hub_operand A>
auto submatrix(A const& a, detail::index_set_of<A> rows, detail::index_set_of<A> cols) {
  return submatrix(where{}, a, rows, cols);
}

/// The same, of lists that name every row and column once; all_indices leaves them as they are.
template <detail::hub_operand A>
auto permute(where const& w, A const& a, detail::index_set_of<A> rows,
             detail::index_set_of<A> cols) {
  detail::limited const space("permute", w);
  auto const of_a = detail::built_hub_of(a, space.counted());
  return detail::submatrix("permute", space.rest(w), of_a.view, rows, cols, true);
}
template <detail::hub_operand A>
auto permute(A const& a, detail::index_set_of<A> rows, detail::index_set_of<A> cols) {
  return permute(where{}, a, rows, cols);
}

} // namespace tulle

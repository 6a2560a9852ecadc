// SPDX-License-Identifier: Apache-2.0

// Rows and columns of a matrix. Bytes that must move, double with 32-bit indices: 4 an entry of the
// chosen rows to count, 12 read and 12 written for an entry of the result.
#include "tulle/op/submatrix.hpp"

#include "op/each_row.hpp"
#include "reference/places.hpp"

#include <complex>

namespace tulle::detail {
namespace {

/// An index set of one matrix, after its checks.
template <class I>
struct chosen {
  index_set<I> set;
  std::size_t size;

  I operator[](std::size_t k) const {
    return set.what == index_set<I>::kind::list
               ? set.list[k]
               : static_cast<I>(set.first + static_cast<std::int64_t>(k));
  }
  bool is_list() const { return set.what == index_set<I>::kind::list; }
  /// Whether entries in the order of A's are in the order of the result's.
  bool ascends() const {
    for (std::size_t k = 1; k < size && is_list(); ++k)
      if (set.list[k] < set.list[k - 1])
        return false;
    return true;
  }
};

template <class I>
chosen<I> check_set(char const* op, char const* what, index_set<I> set, I n) {
  using kind = typename index_set<I>::kind;
  if (set.what == kind::all)
    return {{0, static_cast<std::int64_t>(n)}, static_cast<std::size_t>(n)};
  if (set.what == kind::range) {
    if (set.first < 0 || set.last < set.first || set.last > static_cast<std::int64_t>(n))
      fail(errc::bad_structure, "%s: %s [%lld, %lld) are not within [0, %lld)", op, what,
           static_cast<long long>(set.first), static_cast<long long>(set.last),
           static_cast<long long>(n));
    return {set, static_cast<std::size_t>(set.last - set.first)};
  }
  for (std::size_t k = 0; k < set.list.size(); ++k)
    if (set.list[k] < 0 || set.list[k] >= n)
      fail(errc::bad_structure, "%s: %s[%zu] is %lld, outside [0, %lld)", op, what, k,
           static_cast<long long>(set.list[k]), static_cast<long long>(n));
  narrow<I>(set.list.size(), op);
  return {set, set.list.size()};
}

template <class I>
void check_permutation(char const* op, char const* what, chosen<I> const& c, I n, where const& w) {
  if (c.size != static_cast<std::size_t>(n))
    fail(errc::shape_mismatch, "%s: %s has %zu entries but A has %lld %s", op, what, c.size,
         static_cast<long long>(n), what);
  if (!c.is_list())
    return;
  check_workspace(op, c.size, w);
  array<std::uint8_t> met(c.size, std::uint8_t(0), w.memory);
  for (std::size_t k = 0; k < c.size; ++k) {
    if (met[c[k]])
      fail(errc::bad_structure, "%s: %s[%zu] is %lld, which comes before it", op, what, k,
           static_cast<long long>(c[k]));
    met[c[k]] = 1;
  }
}

/// For each column of A the columns of the result: place[start[j]] up to place[start[j + 1]].
template <class I>
struct column_places {
  array<I> start, place;

  column_places(chosen<I> const& cols, std::size_t n, where const& w)
      : start(n + 1, I(0), w.memory), place(cols.size, w.memory) {
    for (std::size_t k = 0; k < cols.size; ++k)
      ++start[static_cast<std::size_t>(cols[k])]; // ends first, then starts
    for (std::size_t j = 0; j < n; ++j)
      start[j + 1] = static_cast<I>(start[j + 1] + start[j]);
    for (std::size_t k = cols.size; k-- > 0;)
      place[--start[static_cast<std::size_t>(cols[k])]] = static_cast<I>(k);
  }
};

/// The result, where row i has what take(j, f) says of each entry's column j: f(column) for each of
/// its columns in C.
template <class V, class I, class O, class Take>
csr<V, I, O> taken(char const* op, where const& w, csr_view<V, I, O> const& a,
                   chosen<I> const& rows, std::size_t cols, Take const& take) {
  int const parts = parts_of_rows(a, w);
  // Rows of a range are dealt by their entries; of a list by their number, which is known.
  auto const work = [&](std::size_t i) {
    return rows.is_list()
               ? i
               : static_cast<std::size_t>(a.row_ptr[rows.set.first + static_cast<std::int64_t>(i)] -
                                          a.row_ptr[rows.set.first]);
  };
  return build_rows<V, I, O>(
      op, w, rows.size, cols, [&](auto const& f) { each_row_by(work, rows.size, parts, f); },
      [&](std::size_t i) {
        I const row = rows[i];
        std::size_t n = 0;
        for (O k = a.row_ptr[row]; k < a.row_ptr[row + 1]; ++k)
          take(a.col[k], [&](I) { ++n; });
        return n;
      },
      [&](std::size_t i, std::size_t, I* col, V* val) {
        I const row = rows[i];
        for (O k = a.row_ptr[row]; k < a.row_ptr[row + 1]; ++k)
          take(a.col[k], [&](I j) {
            *col++ = j;
            *val++ = a.val[k];
          });
      });
}

} // namespace

template <class V, class I, class O>
csr<V, I, O> submatrix(char const* op, where const& w, csr_view<V, I, O> a, index_set<I> rows,
                       index_set<I> cols, bool is_permutation) {
  check_host_operand(op, a, w);
  chosen<I> const of_rows = check_set(op, "rows", rows, a.rows);
  chosen<I> const of_cols = check_set(op, is_permutation ? "columns" : "cols", cols, a.cols);
  if (is_permutation) {
    check_permutation(op, "rows", of_rows, a.rows, w);
    check_permutation(op, "columns", of_cols, a.cols, w);
  }
  if (w.backend == backend::reference)
    return kernels::reference::by_places<V, I, O>(
        static_cast<I>(of_rows.size), static_cast<I>(of_cols.size),
        [&](I i, I j, V& v) {
          return kernels::reference::is_entry(a, of_rows[static_cast<std::size_t>(i)],
                                              of_cols[static_cast<std::size_t>(j)], v);
        },
        w.memory);
  if (!of_cols.is_list()) {
    auto const first = static_cast<std::size_t>(of_cols.set.first);
    auto const take = [first, width = of_cols.size](I j, auto const& f) {
      std::size_t const to = static_cast<std::size_t>(j) - first; // wraps below first
      if (to < width)
        f(static_cast<I>(to));
    };
    return canonical(op, w, taken(op, w, a, of_rows, of_cols.size, take));
  }
  auto const n = static_cast<std::size_t>(a.cols);
  std::size_t const bytes = checked_mul(n + 1 + of_cols.size, sizeof(I), op);
  check_workspace(op, bytes, w);
  column_places<I> const places(of_cols, n, w);
  auto const take = [&](I j, auto const& f) {
    for (I k = places.start[j]; k < places.start[j + 1]; ++k)
      f(places.place[k]);
  };
  where rest = w;
  rest.workspace_limit -= w.workspace_limit == SIZE_MAX ? 0 : bytes;
  return canonical(op, rest, taken(op, w, a, of_rows, of_cols.size, take));
}

#define TULLE_SUBMATRIX(tag, V, I, O)                                                              \
  template csr<V, I, O> submatrix(char const*, where const&, csr_view<V, I, O>, index_set<I>,      \
                                  index_set<I>, bool);
TULLE_TYPES(TULLE_SUBMATRIX)
TULLE_BASIC_TYPES(TULLE_SUBMATRIX)
#undef TULLE_SUBMATRIX

} // namespace tulle::detail

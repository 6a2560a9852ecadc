// SPDX-License-Identifier: Apache-2.0

// src/cpu/spmm/csr_pool.cpp:  C = alpha*A*B + beta*C, A in segments of a pool: csr_pool, and
// dynamic matrices, by rows.hpp. A segment is a piece of its row, and the sum continues from one to
// the next; the pending entries of a compact matrix are a piece too. Bytes beyond those of csr: 4
// per row, and the room between rows; 16 per pending entry.
#include "tulle/format/csr_pool.hpp"

#include "cpu/groups.hpp"
#include "cpu/spmm/rows.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

template <class V, class I>
struct pool_rows {
  static constexpr int most_pieces = most_segments;
  std::int64_t rows, entries;
  dynamic_view<V, I> const& a;

  std::int64_t row(std::int64_t k) const {
    return a.order ? static_cast<std::int64_t>(a.order[k]) : k;
  }
  std::int64_t size(std::int64_t i) const { return a.size(static_cast<I>(i)); }
  piece<V, I> at(std::int64_t place, std::int64_t count, bool is_apart) const {
    dynamic_page<V, I> const page = a.pages[place >> a.shift];
    std::int64_t const offset = place & ((std::int64_t{1} << a.shift) - 1);
    if (is_apart) { // lists are made before they are computed
      __builtin_prefetch(page.val + offset);
      __builtin_prefetch(page.val + offset + 64 / sizeof(V));
      __builtin_prefetch(page.col + offset);
    }
    return {page.val + offset, page.col + offset, count, nullptr};
  }
  int cut(std::int64_t i, std::int64_t from, std::int64_t to, piece<V, I>* list) const {
    if (from == to) { // its place may be past the last page
      *list = {};
      return 1;
    }
    if (a.length[i] >= 0) { // in one segment
      *list = at(a.begin[0][i] + from, to - from, a.scattered);
      return 1;
    }
    std::int64_t before = 0; // entries of segments so far
    int n = 0;
    for (int s = 0; from < to; ++s) {
      std::int64_t const place = a.begin[s][i];
      std::int64_t const end = before + a.end[s][i] - place;
      if (from < end) {
        std::int64_t const stop = to < end ? to : end;
        list[n++] = at(place + from - before, stop - from, s > 0 || a.scattered);
        from = stop;
      }
      before = end;
    }
    return n;
  }
  void deal(std::int64_t chunks, std::int64_t* first) const {
    deal_groups(a, chunks, first, long_row);
    for (std::int64_t u = 0; u <= chunks; ++u)
      first[u] = first[u] * group_rows < rows ? first[u] * group_rows : rows;
  }
};

/// Rows of a compact matrix, with their pending entries.
template <class V, class I>
struct pending_rows {
  static constexpr int most_pieces = 2;
  std::int64_t rows, entries;
  dynamic_view<V, I> const& a;
  // The pending entries of the row that was looked up last: most rows come in order.
  std::int64_t group = -1, last = 0;
  I at = 0, end = 0;

  std::int64_t row(std::int64_t k) const { return k; }
  std::int64_t in_row(std::int64_t i) const { return a.row_ptr[i + 1] - a.row_ptr[i]; }
  std::int64_t size(std::int64_t i) { return in_row(i) + find(i); }
  /// Sets `at` to the first pending entry of a row; returns how many there are.
  std::int64_t find(std::int64_t i) {
    if (group != i / group_rows || i < last) {
      group = i / group_rows;
      at = a.pending_from(static_cast<I>(i));
      end = a.pending_ptr[group + 1];
    }
    last = i;
    while (at < end && a.pending_row[at] < i)
      ++at;
    I behind = at;
    while (behind < end && a.pending_row[behind] == i)
      ++behind;
    return behind - at;
  }
  int cut(std::int64_t i, std::int64_t from, std::int64_t to, piece<V, I>* list) {
    std::int64_t const there = in_row(i), stop = to < there ? to : there;
    int n = 0;
    if (from < stop || to <= there) {
      std::int64_t const place = a.row_ptr[i] + from;
      list[n++] = {a.pages->val + place, a.pages->col + place, stop - from, nullptr};
    }
    if (to > there) {
      find(i);
      std::int64_t const first = at + (from < there ? 0 : from - there);
      list[n++] = {a.pending_val + first, a.pending_col + first, at + to - there - first, nullptr};
    }
    return n;
  }
  void deal(std::int64_t chunks, std::int64_t* first) const {
    deal_rows(a.row_ptr, rows, chunks, first);
  }
};

template <class V, class I>
std::size_t prepare(dynamic_view<V, I> const& a, detail::dense_ref const& b,
                    detail::dense_ref const&, plan_view& p) {
  return prepare_rows<V>(a.rows, a.entries, b, p);
}

template <class V, class I>
void spmm(V alpha, dynamic_view<V, I> const& a, detail::dense_ref const& b, V beta,
          detail::dense_ref const& c, plan_view const& p) {
  if (a.pending_ptr)
    multiply<V, I>(alpha, pending_rows<V, I>{a.rows, a.entries, a}, b, beta, c, p);
  else
    multiply<V, I>(alpha, pool_rows<V, I>{a.rows, a.entries, a}, b, beta, c, p);
}

template <class V, class I>
std::size_t prepare(csr_pool_view<V, I, I> const& a, detail::dense_ref const& b,
                    detail::dense_ref const& c, plan_view& p) {
  auto const pool = a.page();
  return prepare(a.as_dynamic(pool), b, c, p);
}
template <class V, class I>
void spmm(V alpha, csr_pool_view<V, I, I> const& a, detail::dense_ref const& b, V beta,
          detail::dense_ref const& c, plan_view const& p) {
  auto const pool = a.page();
  spmm(alpha, a.as_dynamic(pool), b, beta, c, p);
}

template <class V, class I, class O>
using dynamic_csr_view = dynamic_view<V, I, O>; // src/dynamic/spmm.cpp has the table of these

} // namespace

TULLE_INSTANTIATE_SPMM(csr_pool)
TULLE_INSTANTIATE_SPMM(dynamic_csr)

} // namespace tulle::kernels::TULLE_ISA

// SPDX-License-Identifier: Apache-2.0

// Rows dealt to threads by their entries, and results that are built row by row: each row is
// counted, then filled. No row waits for another, so the result is the same for every number of
// threads.
#pragma once
#include "tulle/core/limited.hpp"
#include "tulle/core/parallel.hpp"
#include "tulle/op/detail/canonical_operand.hpp"

namespace tulle::detail {
namespace { // templates that the library would otherwise export

/// f(i) for each of `rows` rows, dealt in order to `parts` by work(i), which is what comes before
/// row i and does not descend; work(rows) is all.
template <class Work, class F>
void each_row_by(Work const& work, std::size_t rows, int parts, F const& f) {
  auto const first_row = [&](int part) {
    if (part >= parts)
      return rows;
    std::size_t const target = split(work(rows), part, parts);
    std::size_t lo = 0;
    for (std::size_t hi = rows; lo < hi;) {
      std::size_t const mid = lo + (hi - lo) / 2;
      if (work(mid) < target)
        lo = mid + 1;
      else
        hi = mid;
    }
    return lo;
  };
  if (rows == 0) // there may be no pointers
    return;
  parallel(parts, [&](int part) {
    std::size_t const end = first_row(part + 1);
    for (std::size_t i = first_row(part); i < end; ++i)
      f(i);
  });
}

/// The same where row i has the entries from ptr[i] to ptr[i + 1].
template <class O, class F>
void each_row(O const* ptr, std::size_t rows, int parts, F const& f) {
  each_row_by([ptr](std::size_t i) { return static_cast<std::size_t>(ptr[i]); }, rows, parts, f);
}

/// Parts for the entries and rows of a; the reference has one.
template <class V, class I, class O>
int parts_of_rows(csr_view<V, I, O> const& a, where const& w) {
  return w.backend == backend::reference
             ? 1
             : parts_for(static_cast<std::size_t>(a.nnz) + static_cast<std::size_t>(a.rows),
                         w.threads);
}

/// A csr with the pattern of a, whose values are not set.
template <class V, class I, class O>
csr<V, I, O> same_pattern(csr_view<V, I, O> const& a, where const& w) {
  auto const n = static_cast<std::size_t>(a.nnz);
  csr<V, I, O> c(unchecked, a.rows, a.cols,
                 array<O>(static_cast<std::size_t>(a.rows) + 1, O(0), w.memory),
                 array<I>(a.col, n, w.memory), array<V>(n, w.memory));
  if (a.rows > 0)
    std::copy_n(a.row_ptr, c.row_ptr.size(), c.row_ptr.data());
  return c;
}

/// A csr of count(i) entries in row i, which fill(i, count, col, val) writes. each(f) calls f(i)
/// for all rows. errc::overflow where the entries do not fit O.
template <class V, class I, class O, class Each, class Count, class Fill>
csr<V, I, O> build_rows(char const* op, where const& w, std::size_t rows, std::size_t cols,
                        Each const& each, Count const& count, Fill const& fill) {
  I const height = narrow<I>(rows, op), width = narrow<I>(cols, op);
  csr<V, I, O> c(unchecked, height, width, array<O>(rows + 1, O(0), w.memory), {}, {});
  each([&](std::size_t i) { c.row_ptr[i + 1] = static_cast<O>(count(i)); });
  std::size_t entries = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    entries += static_cast<std::size_t>(c.row_ptr[i + 1]);
    c.row_ptr[i + 1] = static_cast<O>(entries);
  }
  narrow<O>(entries, op);
  c.col = array<I>(entries, w.memory);
  c.val = array<V>(entries, w.memory);
  each([&](std::size_t i) {
    auto const n = static_cast<std::size_t>(c.row_ptr[i + 1] - c.row_ptr[i]);
    fill(i, n, c.col.data() + c.row_ptr[i], c.val.data() + c.row_ptr[i]);
  });
  return c;
}

/// c, or its canonical form where that is something else.
template <class V, class I, class O>
csr<V, I, O> canonical(char const* op, where const& w, csr<V, I, O> c) {
  canonical_operand<V, I, O> sorted(op, c.view(), w);
  return sorted.bytes == 0 ? std::move(c) : std::move(sorted.copy);
}

} // namespace
} // namespace tulle::detail

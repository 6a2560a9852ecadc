// SPDX-License-Identifier: Apache-2.0

// Rows dealt to threads by their entries, and results that are built row by row: each row is
// counted, then filled. No row waits for another, so the result is the same for every number of
// threads.
#pragma once
#include "tulle/core/limited.hpp"
#include "tulle/core/parallel.hpp"
#include "tulle/format/csr.hpp"

namespace tulle::detail {

/// f(i) for each of `rows` rows; row i is given with the entries from ptr[i] to ptr[i + 1].
template <class O, class F>
void each_row(O const* ptr, std::size_t rows, int parts, F const& f) {
  if (rows == 0) // ptr may be null
    return;
  parallel(parts, [&](int part) {
    std::size_t const end = split_by_entries(ptr, rows, part + 1, parts);
    for (std::size_t i = split_by_entries(ptr, rows, part, parts); i < end; ++i)
      f(i);
  });
}

/// Parts for the entries and rows of a; the reference has one.
template <class V, class I, class O>
int parts_of_rows(csr_view<V, I, O> const& a, where const& w) {
  return w.backend == backend::reference
             ? 1
             : parts_for(static_cast<std::size_t>(a.nnz) + static_cast<std::size_t>(a.rows),
                         w.threads);
}

/// f(i) for each row of c in `parts` even shares.
template <class F>
void each_row_evenly(std::size_t rows, int parts, F const& f) {
  parallel(parts, [&](int part) {
    std::size_t const end = split(rows, part + 1, parts);
    for (std::size_t i = split(rows, part, parts); i < end; ++i)
      f(i);
  });
}

/// A csr of count(i) entries in row i, which fill(i, col, val) writes. each(f) calls f(i) for all
/// rows. errc::overflow where the entries do not fit O.
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
  each([&](std::size_t i) { fill(i, c.col.data() + c.row_ptr[i], c.val.data() + c.row_ptr[i]); });
  return c;
}

} // namespace tulle::detail

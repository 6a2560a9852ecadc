// SPDX-License-Identifier: Apache-2.0

// C = A B by expanding the products of many rows, sorting them all by row and column, and adding
// up what falls together. King et al., dynamic CSR, sec. 3.2, and what libraries for GPUs began
// with: a baseline. Rows are taken in blocks whose products fit the workspace.
#pragma once
#include "tulle/format/csr.hpp"
#include "tulle/primitive/radix_sort.hpp"

#include "reference/spgemm.hpp"

namespace tulle::detail {

// Products of a block where memory does not say less.
constexpr std::size_t esc_block = std::size_t(1) << 22;

/// C has room for its entries.
template <class V, class I, class O>
void fill_by_global_esc(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b, csr<V, I, O>& c,
                        where const& w, std::size_t limit) {
  auto const rows = static_cast<std::size_t>(a.rows);
  auto const products = [&](std::size_t i) {
    std::size_t n = 0;
    for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
      n += static_cast<std::size_t>(b.row_ptr[a.col[k] + 1] - b.row_ptr[a.col[k]]);
    return n;
  };
  // Triplets, and what the sort takes: an entry each, twice where a bucket is large.
  std::size_t const each = 2 * sizeof(I) + sizeof(V) + 2 * (16 + sizeof(V));
  std::size_t const room = std::min(limit / 2 / each, esc_block);
  std::size_t most = 0;
  auto const block_from = [&](std::size_t first, std::size_t& n) {
    std::size_t i = first;
    for (n = 0; i < rows; ++i) {
      std::size_t const more = products(i);
      if (i > first && n + more > room)
        break;
      n += more;
    }
    return i;
  };
  for (std::size_t i = 0, n = 0; i < rows;) {
    i = block_from(i, n);
    most = std::max(most, n);
  }
  if (most > limit / each)
    fail(errc::out_of_memory,
         "spgemm: %zu bytes of workspace wanted by method global_esc, the limit leaves %zu",
         most * each, limit);
  array<I> row(most, w.memory), col(most, w.memory);
  array<V> val(most, w.memory);
  auto const expand = [&](std::size_t first, std::size_t last) {
    std::size_t at = 0;
    for (std::size_t i = first; i < last; ++i)
      reference_backend::products_of_row(a, b, static_cast<I>(i), [&](std::size_t j, V term) {
        row[at] = static_cast<I>(i - first);
        col[at] = static_cast<I>(j);
        val[at++] = term;
      });
  };
  std::size_t at = 0;
  for (std::size_t first = 0, last, n = 0; first < rows; first = last) {
    last = block_from(first, n);
    expand(first, last);
    primitive::radix_sort(row.data(), col.data(), val.data(), n, static_cast<I>(last - first),
                          b.cols, w.as_cpu());
    std::size_t p = 0;
    for (std::size_t i = first; i < last; ++i) {
      for (std::size_t const begin = p; p < n && row[p] == static_cast<I>(i - first); ++p) {
        bool const is_new = p == begin || col[p] != col[p - 1];
        at += is_new;
        c.col[at - 1] = col[p];
        c.val[at - 1] = is_new ? val[p] : c.val[at - 1] + val[p];
      }
      c.row_ptr[i + 1] = static_cast<O>(at);
    }
  }
}

} // namespace tulle::detail

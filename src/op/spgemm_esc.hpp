// SPDX-License-Identifier: Apache-2.0

// C = A B by expanding the products of many rows, sorting them all by row and column, and adding
// up what falls together. King et al., dynamic CSR, sec. 3.2, and what libraries for GPUs began
// with: a baseline. Rows are taken in blocks whose products fit the workspace.
#pragma once
#include "tulle/format/csr.hpp"
#include "tulle/op/detail/radix_sort.hpp"

#include "op/spgemm_stages.hpp"
#include "reference/spgemm.hpp"

namespace tulle::detail {

// Products of a block where memory does not say less.
constexpr std::size_t esc_block = std::size_t(1) << 22;

template <class V, class I, class O>
std::size_t products_of(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b, std::size_t i) {
  std::size_t n = 0;
  for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
    n += static_cast<std::size_t>(b.row_ptr[a.col[k] + 1] - b.row_ptr[a.col[k]]);
  return n;
}

/// Never less than a block of n products takes on one thread: triplets, the entries that the sort
/// makes of them and room for as many, and its counters.
template <class V, class I>
std::size_t esc_bytes(std::size_t n) {
  using namespace primitive::detail;
  __extension__ using wide = unsigned __int128;
  using key = std::conditional_t<sizeof(I) == 8, wide, std::uint64_t>;
  std::size_t const each = 2 * sizeof(I) + sizeof(V) + 2 * sizeof(radix_entry<key, V>);
  std::size_t const counters = 3 * (2 * (n / bucket_entries) + 2) + (n > bucket_limit ? digits : 0);
  return n == 0 ? 0 : n * each + 64 * sizeof(radix_entry<key, V>) + counters * sizeof(std::size_t);
}

/// The least that fill_by_global_esc needs: a row is not taken apart.
template <class V, class I, class O>
std::size_t least_esc_bytes(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b) {
  std::size_t most = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.rows); ++i)
    most = std::max(most, products_of(a, b, i));
  return esc_bytes<V, I>(most);
}

/// Columns, values and row_ptr of C go where there is room for them.
template <class V, class I, class O>
void fill_by_global_esc(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b, O* row_ptr,
                        I* c_col, V* c_val, where const& w, spgemm_room const& space) {
  auto const rows = static_cast<std::size_t>(a.rows);
  if (std::size_t const least = least_esc_bytes(a, b); least > space.limit)
    fail(errc::out_of_memory,
         "spgemm: %zu bytes of workspace wanted at least by method global_esc, the limit is %zu",
         space.taken + least, space.taken + space.limit);
  std::size_t room = esc_block; // products of a block
  while (room > 0 && esc_bytes<V, I>(room) > space.limit)
    room -= room / 64 + 1;
  cpu where = w.as_cpu();
  if (space.limit != SIZE_MAX) // of more threads each takes room for a bucket
    where.threads = 1;
  std::size_t most = 0;
  auto const block_from = [&](std::size_t first, std::size_t& n) {
    std::size_t i = first;
    for (n = 0; i < rows; ++i) {
      std::size_t const more = products_of(a, b, i);
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
  array<I> row(most, w.memory), col(most, w.memory);
  array<V> val(most, w.memory);
  auto const expand = [&](std::size_t first, std::size_t last) {
    std::size_t at = 0;
    for (std::size_t i = first; i < last; ++i)
      kernels::reference::products_of_row(a, b, static_cast<I>(i), [&](std::size_t j, V term) {
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
                          b.cols, where);
    std::size_t p = 0;
    for (std::size_t i = first; i < last; ++i) {
      for (std::size_t const begin = p; p < n && row[p] == static_cast<I>(i - first); ++p) {
        bool const is_new = p == begin || col[p] != col[p - 1];
        at += is_new;
        c_col[at - 1] = col[p];
        c_val[at - 1] = is_new ? val[p] : c_val[at - 1] + val[p];
      }
      row_ptr[i + 1] = static_cast<O>(at);
    }
  }
}

} // namespace tulle::detail

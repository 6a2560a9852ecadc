// SPDX-License-Identifier: Apache-2.0

// src/cpu/spmv/dynamic_csr.cpp:  y = alpha*A*x + beta*y, A in segments of a pool.
//
// Rows by the loops of rows.hpp, one segment after the other: a row is one sum in the order of its
// entries. Chunks of groups of rows, and pieces of long rows, are what threads are dealt. Bytes
// beyond those of csr: 4 a row, and the room between rows, which comes along in whole cache lines.
#include "tulle/dynamic/dynamic_view.hpp"

#include "cpu/spmv/rows.hpp"
#include "kernel/dynamic.hpp"

namespace tulle::simd::TULLE_ISA {
namespace {

// Rows ahead whose first entries are asked for where rows do not follow one another in memory.
constexpr std::int64_t rows_ahead = 8;

/// Entries [first, last) of row i, which may go through several segments.
template <bool streaming, class V, class I>
HWY_NOINLINE V fragments(dynamic_view<V, I> const& a, V const* x, std::int64_t i,
                         std::int64_t first, std::int64_t last) {
  std::int64_t const mask = (std::int64_t{1} << a.shift) - 1;
  V sum{};
  std::int64_t at = 0; // entries before the segment
  for (int s = 0; first < last; ++s) {
    std::int64_t const place = a.begin[s][i];
    std::int64_t const end = at + a.end[s][i] - place;
    if (first < end) {
      std::int64_t const stop = last < end ? last : end;
      dynamic_page<V, I> const page = a.pages[place >> a.shift];
      std::int64_t const offset = (place & mask) - at;
      sum = sum + dot<streaming>(page.val, page.col, x, offset + first, offset + stop);
      first = stop;
    }
    at = end;
  }
  return sum;
}

template <bool streaming, class V, class I>
void rows_of_groups(V alpha, dynamic_view<V, I> const& a, V const* x, V beta, V* y,
                    std::int64_t first, std::int64_t last) {
  std::int64_t const mask = (std::int64_t{1} << a.shift) - 1;
  bool const overwrite = beta == V{};
  std::int64_t const stop = last * group_rows < a.rows ? last * group_rows : a.rows;
  I const* const length = a.length;
  I const* const begin = a.begin[0];
  for (std::int64_t i = first * group_rows; i < stop; ++i) {
    std::int64_t const n = length[i];
    V sum{};
    if (a.scattered && i + rows_ahead < stop) {
      std::int64_t const place = begin[i + rows_ahead];
      dynamic_page<V, I> const page = a.pages[place >> a.shift];
      __builtin_prefetch(page.val + (place & mask));
      __builtin_prefetch(page.val + (place & mask) + 64 / sizeof(V));
      __builtin_prefetch(page.col + (place & mask));
    }
    if (n < 0) {
      if (~n >= long_row)
        continue;
      sum = fragments<streaming>(a, x, i, 0, ~n);
    } else {
      std::int64_t const place = begin[i];
      dynamic_page<V, I> const page = a.pages[place >> a.shift];
      std::int64_t k = place & mask;
      if (n < vector_among_short) {
        for (std::int64_t const end = k + n; k < end; ++k)
          sum = mul_add(page.val[k], x[page.col[k]], sum);
      } else {
        if (n >= long_row)
          continue;
        sum = dot<streaming>(page.val, page.col, x, k, k + n);
      }
    }
    update(y + i, alpha, sum, beta, overwrite);
  }
}

template <bool streaming, class V, class I>
void product(dynamic_call const& c) {
  auto const& a = *static_cast<dynamic_view<V, I> const*>(c.a);
  auto const* const x = static_cast<V const*>(c.x);
  auto* const y = static_cast<V*>(c.y);
  auto* const sums = static_cast<V*>(c.sums);
  V const alpha = *static_cast<V const*>(c.alpha);
  V const beta = *static_cast<V const*>(c.beta);
  chunk_queue queue(static_cast<share*>(c.shares), c.threads, c.chunks + c.pieces);
#pragma omp parallel num_threads(c.threads)
  {
    int const t = omp_get_thread_num();
    for (std::int64_t u; (u = queue.take(t)) >= 0;) {
      if (u < c.chunks) {
        rows_of_groups<streaming>(alpha, a, x, beta, y, c.first_group[u], c.first_group[u + 1]);
        continue;
      }
      dynamic_piece const p = c.piece[u - c.chunks];
      std::int64_t const n = a.length[p.row] < 0 ? ~a.length[p.row] : a.length[p.row];
      std::int64_t const end = p.first + piece_entries;
      sums[u - c.chunks] = fragments<streaming>(a, x, p.row, p.first, end < n ? end : n);
    }
  }
  for (std::int64_t p = 0; p < c.pieces;) {
    std::int64_t const row = c.piece[p].row;
    V sum = sums[p];
    for (++p; p < c.pieces && c.piece[p].row == row; ++p)
      sum = sum + sums[p];
    update(y + row, alpha, sum, beta, beta == V{});
  }
}

} // namespace

#define TULLE_DYNAMIC_CELL(tag, V, I, O)                                                           \
  extern dynamic_kernel dynamic_csr_##tag;                                                         \
  void dynamic_csr_##tag(dynamic_call const& c) {                                                  \
    c.streaming ? product<true, V, I>(c) : product<false, V, I>(c);                                \
  }
TULLE_TYPES(TULLE_DYNAMIC_CELL)
#undef TULLE_DYNAMIC_CELL

} // namespace tulle::simd::TULLE_ISA

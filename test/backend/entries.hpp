// SPDX-License-Identifier: Apache-2.0

// The entries of each format that the device has, as a loop: each(view, f) calls f(row, column,
// value) for each.
#pragma once
#include "tulle/format/coo.hpp"
#include "tulle/format/csc.hpp"
#include "tulle/format/csr.hpp"
#include "tulle/format/ell.hpp"
#include "tulle/format/sell.hpp"

namespace tulle::test_device {

template <class V, class I, class O, class F>
void each(csr_view<V, I, O> const& a, F f) {
  for (I i = 0; i < a.rows; ++i)
    for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
      f(i, a.col[k], a.val[k]);
}

template <class V, class I, class O, class F>
void each(csc_view<V, I, O> const& a, F f) {
  for (I j = 0; j < a.cols; ++j)
    for (O k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k)
      f(a.row[k], j, a.val[k]);
}

template <class V, class I, class O, class F>
void each(coo_view<V, I, O> const& a, F f) {
  for (O k = 0; k < a.nnz; ++k)
    f(a.row[k], a.col[k], a.val[k]);
}

template <class V, class I, class O, class F>
void each(ell_view<V, I, O> const& a, F f) {
  for (I i = 0; i < a.rows; ++i)
    for (I k = 0; k < a.row_len[i]; ++k) {
      std::size_t const at = static_cast<std::size_t>(k) * a.stride + static_cast<std::size_t>(i);
      f(i, a.col[at], a.val[at]);
    }
}

template <class V, class I, class O, class F>
void each(sell_view<V, I, O> const& a, F f) {
  for (std::size_t c = 0; c < a.chunks(); ++c)
    for (int lane = 0; lane < a.rows_of(c); ++lane) {
      I const i = a.row_at(c * static_cast<std::size_t>(a.chunk) + static_cast<std::size_t>(lane));
      a.entries_of(c, lane, [&](std::size_t at, I j) {
        f(i, j, a.val[at]);
        if (a.symmetric && i != j)
          f(j, i, a.val[at]);
      });
    }
  for (I r = 0; r < a.longs; ++r)
    for (O k = a.long_ptr[r]; k < a.long_ptr[r + 1]; ++k)
      f(a.long_row[r], a.long_col[k], a.long_val[k]);
}

} // namespace tulle::test_device

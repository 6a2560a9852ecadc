// SPDX-License-Identifier: Apache-2.0

// The first entries of each row, padded: all of an ell, and a part of a hyb.
#pragma once
#include "tulle/format/ell.hpp"

#include "cuda/convert/convert.cuh"

namespace tulle::simt {
namespace {

/// The length of the longest row of a. Waits for it.
template <class V, class I, class O>
std::size_t longest_row(device_csr<V, I, O> const& a, void* stream) {
  return fold<greatest>(
      static_cast<std::size_t>(a.rows), stream,
      [row_ptr = a.row_ptr] __device__(std::size_t i) { return row_ptr[i + 1] - row_ptr[i]; });
}

/// As detail::first_entries; nnz is left 0. A thread a row: writes are side by side, and a row is
/// read from the caches.
template <class V, class I, class O>
ell_view<V, I, O, space::device> first_entries(device_csr<V, I, O> const& a, I width,
                                               result const& to) {
  auto const n = static_cast<std::size_t>(a.rows);
  std::size_t const stride = detail::ell_stride(n);
  std::size_t const stored = checked_mul(static_cast<std::size_t>(width), stride, "ell");
  I* const row_len = to.take<I>(n);
  I* const col = to.take<I>(stored);
  V* const val = to.take<V>(stored);
  each(stride, to.stream(), [=] __device__(std::size_t i) {
    O const first = i < n ? a.row_ptr[i] : O(0);
    O const all = i < n ? a.row_ptr[i + 1] - first : O(0);
    I const length = all < width ? static_cast<I>(all) : width;
    if (i < n)
      row_len[i] = length;
    I last = 0;
    for (I s = 0; s < width; ++s) {
      std::size_t const at = static_cast<std::size_t>(s) * stride + i;
      if (s < length)
        last = a.col[first + s];
      col[at] = last;
      val[at] = s < length ? a.val[first + s] : V(0);
    }
  });
  return {unchecked, a.rows, a.cols, O(0), width, stride, row_len, col, val};
}

} // namespace
} // namespace tulle::simt

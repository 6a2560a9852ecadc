// SPDX-License-Identifier: Apache-2.0

// The places of a row's entries in the formats whose rows are sorted by length: jds, jds_csr,
// jds_ell.
#pragma once
#include "tulle/format/jds.hpp"
#include "tulle/format/jds_csr.hpp"
#include "tulle/format/jds_ell.hpp"

#include "cuda/primitive/search.cuh"

namespace tulle::kernels::cuda {

/// Row r of a section without padding: diagonal k contains it if it has more than r rows.
template <class I, class O>
struct jagged_row {
  using offset = O;
  O const* diag;
  I width;
  O r;

  /// Whether there is a slot k, and its place.
  __device__ bool slot(I k, O& at) const {
    if (k >= width)
      return false;
    O const first = __ldg(diag + k);
    at = first + r;
    return at < __ldg(diag + k + 1);
  }
};

/// Row r of a section of n rows, padded to `width`.
template <class I, class O>
struct padded_row {
  using offset = O;
  O first, n;
  I width;

  __device__ bool slot(I k, O& at) const {
    at = first + static_cast<O>(k) * n;
    return k < width;
  }
};

/// The section of a place, which is in section s or a later one.
template <class I>
__device__ I section_from(I const* place_ptr, I s, I place) {
  while (place >= place_ptr[s + 1])
    ++s;
  return s;
}

/// The row at a place after the long rows. Sections are searched from s on.
template <class V, class I, class O>
__device__ jagged_row<I, O> row_at(jds_view<V, I, O, space::cuda> const& a, I, I place) {
  return {a.diag_ptr, a.width, static_cast<O>(place - a.longs)};
}
template <class V, class I, class O>
__device__ jagged_row<I, O> row_at(jds_csr_view<V, I, O, space::cuda> const& a, I s, I place) {
  s = section_from(a.place_ptr, s, place);
  O const first = a.section_ptr[s];
  return {a.diag_ptr + first, static_cast<I>(a.section_ptr[s + 1] - first),
          static_cast<O>(place - a.place_ptr[s])};
}
template <class V, class I, class O>
__device__ padded_row<I, O> row_at(jds_ell_view<V, I, O, space::cuda> const& a, I s, I place) {
  s = section_from(a.place_ptr, s, place);
  O const first = a.section_ptr[s];
  O const n = a.place_ptr[s + 1] - a.place_ptr[s];
  return {static_cast<O>(first + place - a.place_ptr[s]), n,
          static_cast<I>((a.section_ptr[s + 1] - first) / n)};
}

/// The section of a place, by binary search.
template <class V, class I, class O>
__device__ I find_section(jds_view<V, I, O, space::cuda> const&, I) {
  return 0;
}
template <class View, class I>
__device__ I find_section(View const& a, I place) {
  return upper_bound(a.place_ptr, static_cast<I>(a.parts + 1), place) - 1;
}

} // namespace tulle::kernels::cuda

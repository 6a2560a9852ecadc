// SPDX-License-Identifier: Apache-2.0

// Rows of a csr by length, the longest first: the first step of jds, jds_csr, jds_ell and brc.
#pragma once
#include "cuda/convert/convert.cuh"
#include "cuda/primitive/search.cuh"
#include "cuda/sort_by_key.cuh"
#include "format/detail/lanes.hpp"
#include "format/detail/rows_by_length.hpp"

namespace tulle::kernels::cuda {
namespace {

/// As detail::rows_by_length; perm is memory of the result.
template <class I, class O>
struct sorted_rows {
  detail::length_order<O> lengths;
  I* perm;
};

/// Waits for the stream.
template <class V, class I, class O>
sorted_rows<I, O> sort_rows(device_csr<V, I, O> const& a, int split, result const& to) {
  auto const n = static_cast<std::size_t>(a.rows);
  auto const longest = static_cast<std::size_t>(longest_row(a.rows, a.row_ptr, to.stream()));
  I* const perm = to.take<I>(n);
  sorted_rows<I, O> r{{n, longest, 0, 0, array<O>(longest + 2, O(0))}, perm};
  if (n == 0)
    return r;
  scratch<I> const keys(n, to.stream()), sorted(n, to.stream());
  scratch<O> const places(n, to.stream()), ptr(longest + 2, to.stream());
  I* const key = keys.get();
  O* const order = places.get();
  each(n, to.stream(), [=, row_ptr = a.row_ptr] __device__(std::size_t i) {
    key[i] = static_cast<I>(longest) - static_cast<I>(row_ptr[i + 1] - row_ptr[i]);
  });
  auto const all = static_cast<I>(longest + 1);
  order_by(all, static_cast<O>(n), static_cast<I const*>(key), sorted.get(), order, to.stream());
  line_pointers(all, static_cast<O>(n), static_cast<I const*>(sorted.get()), ptr.get(),
                to.stream());
  auto const longer_than = fetch(ptr.get(), longest + 2, to.stream());
  std::copy(longer_than.begin(), longer_than.end(), r.lengths.longer_than.data());
  std::size_t const longs =
      r.lengths.longer(detail::most_length(split, n, static_cast<std::size_t>(a.nnz)));
  for (std::size_t p = 0; p < longs; ++p)
    r.lengths.rest += r.lengths.length_by_order(p);
  r.lengths.longs = longs;
  each(n, to.stream(), [=] __device__(std::size_t p) { perm[p] = static_cast<I>(order[p]); });
  if (longs != 0) {
    sort_keys(static_cast<I const*>(perm), sorted.get(), longs, a.rows, to.stream());
    TULLE_CUDA(cudaMemcpyAsync, perm, sorted.get(), longs * sizeof(I), cudaMemcpyDeviceToDevice,
               static_cast<cudaStream_t>(to.stream()));
  }
  return r;
}

/// Copies an array of the host to one of the result. Waits for the stream.
template <class T>
T* put(array<T> const& from, result const& to) {
  T* const at = to.take<T>(from.size());
  auto const stream = static_cast<cudaStream_t>(to.stream());
  if (from.empty())
    return at;
  TULLE_CUDA(cudaMemcpyAsync, at, from.data(), from.bytes(), cudaMemcpyHostToDevice, stream);
  TULLE_CUDA(cudaStreamSynchronize, stream);
  return at;
}

/// The length of the row at each place, for the result.
template <class V, class I, class O>
I* lengths_at(device_csr<V, I, O> const& a, I const* perm, result const& to) {
  auto const n = static_cast<std::size_t>(a.rows);
  I* const len = to.take<I>(n);
  each(n, to.stream(), [=, row_ptr = a.row_ptr] __device__(std::size_t p) {
    len[p] = static_cast<I>(row_ptr[perm[p] + 1] - row_ptr[perm[p]]);
  });
  return len;
}

} // namespace
} // namespace tulle::kernels::cuda

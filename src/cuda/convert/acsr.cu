// SPDX-License-Identifier: Apache-2.0

// csr to acsr: a copy of its arrays, and rows in the order of their bins.
#include "tulle/format/acsr.hpp"

#include "cuda/convert/convert.cuh"
#include "cuda/sort_by_key.cuh"

namespace tulle::kernels::cuda {
namespace {

/// As detail::bin_of; std::bit_width of 64 bits miscomputes on a device.
__device__ int bin_there(unsigned long long length) {
  return length <= 2 ? 0 : 63 - __clzll(static_cast<long long>(length - 1));
}

template <class V, class I, class O>
acsr_view<V, I, O, space::cuda> from_csr(device_csr<V, I, O> const& a, acsr_options o,
                                         result const& to) {
  canonical<V, I, O> const c(a, to.stream());
  auto const n = static_cast<std::size_t>(a.rows);
  auto const rows = to.copy(c.view);
  if (n == 0)
    return {unchecked, rows, I(0), to.zeros<I>(1), nullptr, o.streams};
  auto const bins =
      static_cast<I>(detail::bin_of(longest_row(c.view.rows, c.view.row_ptr, to.stream())) + 1);
  scratch<I> const key(n, to.stream()), sorted(n, to.stream());
  scratch<O> const order(n, to.stream()), ptr(static_cast<std::size_t>(bins) + 1, to.stream());
  each(n, to.stream(), [row_ptr = rows.row_ptr, key = key.get()] __device__(std::size_t i) {
    key[i] = bin_there(static_cast<unsigned long long>(row_ptr[i + 1] - row_ptr[i]));
  });
  order_by(bins, static_cast<O>(n), static_cast<I const*>(key.get()), sorted.get(), order.get(),
           to.stream());
  line_pointers(bins, static_cast<O>(n), static_cast<I const*>(sorted.get()), ptr.get(),
                to.stream());
  I* const bin_ptr = to.take<I>(static_cast<std::size_t>(bins) + 1);
  I* const bin_row = to.take<I>(n);
  each(n, to.stream(), [=, order = order.get()] __device__(std::size_t q) {
    bin_row[q] = static_cast<I>(order[q]);
  });
  each(static_cast<std::size_t>(bins) + 1, to.stream(),
       [=, ptr = ptr.get()] __device__(std::size_t b) { bin_ptr[b] = static_cast<I>(ptr[b]); });
  return {unchecked, rows, bins, bin_ptr, bin_row, o.streams};
}

} // namespace

TULLE_INSTANTIATE_CUDA_CONVERT(acsr)

} // namespace tulle::kernels::cuda

// SPDX-License-Identifier: Apache-2.0

// csr to csr_adaptive: a copy of its arrays, and blocks of rows, one thread per stretch that is cut
// independently.
#include "tulle/format/csr_adaptive.hpp"

#include "cuda/convert/convert.cuh"
#include "format/detail/row_blocks.hpp"

namespace tulle::kernels::cuda {
namespace {

/// As detail::each_row_block, for the rows of stretch s.
template <class O, class F>
__device__ void each_block(O const* row_ptr, std::size_t rows, std::size_t s, int entries, F f) {
  std::size_t i = s * detail::block_stretch;
  std::size_t const end = rows - i < detail::block_stretch ? rows : i + detail::block_stretch;
  while (i < end) {
    std::size_t const next = detail::block_end(row_ptr, i, end, entries);
    f(i, next == i + 1 ? detail::blocks_of_row<O>(row_ptr[i + 1] - row_ptr[i], entries) : O(1));
    i = next;
  }
}

template <class V, class I, class O>
csr_adaptive_view<V, I, O, space::cuda> from_csr(device_csr<V, I, O> const& a,
                                                 csr_adaptive_options o, result const& to) {
  detail::check_block_entries(o.entries);
  canonical<V, I, O> const c(a, to.stream());
  auto const rows = to.copy(c.view);
  auto const n = static_cast<std::size_t>(a.rows);
  std::size_t const stretches = ceil_div(n, detail::block_stretch);
  scratch<O> const counts(stretches + 1, to.stream());
  O* const first = counts.get();
  each(stretches, to.stream(), [=, row_ptr = rows.row_ptr] __device__(std::size_t s) {
    O count = 0;
    each_block(row_ptr, n, s, o.entries, [&](std::size_t, O k) { count += k; });
    first[s] = count;
  });
  to_pointers(first, stretches, to.stream());
  std::size_t const blocks = last_of(first, stretches, to.stream());
  narrow<I>(blocks, "number of blocks");
  I* const row_block = to.take<I>(blocks + 1);
  each(stretches + 1, to.stream(),
       [=, row_ptr = rows.row_ptr, last = a.rows] __device__(std::size_t s) {
         O at = first[s];
         if (s == stretches)
           row_block[at] = last;
         else
           each_block(row_ptr, n, s, o.entries, [&](std::size_t i, O k) {
             for (O j = 0; j < k; ++j)
               row_block[at++] = static_cast<I>(i);
           });
       });
  return {unchecked, rows, o.entries, static_cast<I>(blocks), row_block};
}

} // namespace

TULLE_INSTANTIATE_CUDA_CONVERT(csr_adaptive)

} // namespace tulle::kernels::cuda

// SPDX-License-Identifier: Apache-2.0

// csr to bcoo: blocks as bcsr, whose pointers become one row per block.
#include "tulle/format/bcoo.hpp"

#include "cuda/convert/blocks.cuh"
#include "cuda/sort_by_key.cuh"

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
bcoo_view<V, I, O, space::cuda> from_csr(device_csr<V, I, O> const& a, bcoo_options const& o,
                                         result const& to) {
  bcsr_options const shape = detail::checked_bcsr_options({o.rows, o.cols, o.limit, false}, "bcoo");
  canonical<V, I, O> const c(a, to.stream());
  I* block_row = nullptr;
  auto const b = blocks_of(
      c.view, shape, to, "bcoo", [&](O const* ptr, std::size_t n, std::size_t blocks) -> O const* {
        block_row = to.take<I>(blocks);
        if (blocks != 0)
          expand_rows(static_cast<I>(n), static_cast<O>(blocks), ptr, block_row, to.stream());
        return nullptr;
      });
  return {unchecked, a.rows,    a.cols,      b.nnz, b.height, b.width,
          b.blocks,  block_row, b.block_col, b.val, b.pattern};
}

} // namespace

TULLE_INSTANTIATE_CUDA_CONVERT(bcoo)

} // namespace tulle::kernels::cuda

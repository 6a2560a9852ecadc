// SPDX-License-Identifier: Apache-2.0

// csr to cbicrs: runs along the curve (bicrs_runs.cuh), each a jump; then one thread per entry.
#include "tulle/format/cbicrs.hpp"

#include "cuda/convert/bicrs_blocks.cuh"

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
cbicrs_view<V, I, O, space::cuda> from_csr(device_csr<V, I, O> const& a, cbicrs_options const& o,
                                           result const& to) {
  detail::check_bicrs_options("cbicrs", o.block, 1, detail::most_bicrs_block, o.part);
  canonical<V, I, O> const c(a, to.stream());
  device_csr<V, I, O> const from = c.view;
  auto const runs = find_runs("cbicrs", from, o.block, o.part, to);
  auto const blocks = find_blocks(runs, o.block, to);
  auto const n = static_cast<std::size_t>(from.nnz);
  O* const block_ptr = to.take<O>(blocks.count + 1);
  O* const jump_ptr = to.take<O>(blocks.count + 1);
  auto* const row = to.take<std::int16_t>(runs.count);
  auto* const col = to.take<std::int16_t>(n);
  V* const val = to.take<V>(n);
  auto const* const run = runs.run();
  auto const side = static_cast<I>(o.block);
  each(blocks.count + 1, to.stream(),
       [=, first = blocks.first(), at = runs.at()] __device__(std::size_t b) {
         block_ptr[b] = at[first[b]];
         jump_ptr[b] = first[b];
       });
  auto const begins_block = [of_run = blocks.of_run()] __device__(std::size_t r) {
    return of_run[r] != of_run[r + 1];
  };
  each(runs.count, to.stream(), [=] __device__(std::size_t r) {
    row[r] = static_cast<std::int16_t>(
        run[r].row - (begins_block(r) ? run[r].row / side * side : run[r - 1].row));
  });
  runs.each_entry([=] __device__(std::size_t r, std::size_t k, bool begins, std::size_t at) {
    I before = 0; // plus what a jump adds
    if (!begins)
      before = from.col[k - 1];
    else if (begins_block(r))
      before = run[r].block_col * side;
    else
      before = from.col[run[r - 1].begin + run[r - 1].count - 1] - side;
    col[at] = static_cast<std::int16_t>(from.col[k] - before);
    val[at] = from.val[k];
  });
  return {unchecked,
          a.rows,
          a.cols,
          o.block,
          {{runs.parts.row, runs.parts.count + 1},
           {blocks.part_block, runs.parts.count + 1},
           {blocks.row, blocks.count},
           {blocks.col, blocks.count},
           {block_ptr, blocks.count + 1},
           {jump_ptr, blocks.count + 1},
           {row, runs.count},
           {col, n},
           {val, n},
           {}}};
}

} // namespace

TULLE_INSTANTIATE_CUDA_CONVERT(cbicrs)

} // namespace tulle::kernels::cuda

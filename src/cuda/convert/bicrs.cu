// SPDX-License-Identifier: Apache-2.0

// csr to bicrs: runs along the curve (bicrs_runs.cuh), then one thread per entry.
#include "tulle/format/bicrs.hpp"

#include "cuda/convert/bicrs_runs.cuh"

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
bicrs_view<V, I, O, space::cuda> from_csr(device_csr<V, I, O> const& a, bicrs_options const& o,
                                          result const& to) {
  detail::check_bicrs_options("bicrs", o.block, 0, bicrs_options::most_block, o.part);
  canonical<V, I, O> const c(a, to.stream());
  device_csr<V, I, O> const from = c.view;
  auto const runs = find_runs("bicrs", from, o.block, o.part, to);
  auto const n = static_cast<std::size_t>(from.nnz);
  auto const* const run = runs.run();
  auto const* const part = runs.part();
  scratch<O> const jumps(runs.count + 1, to.stream());
  O* const jump = jumps.get();
  auto const begins_part = [=] __device__(std::size_t r) {
    return r == 0 || part[r] != part[r - 1];
  };
  each(runs.count, to.stream(),
       [=] __device__(std::size_t r) { jump[r] = begins_part(r) || run[r].row != run[r - 1].row; });
  to_pointers(jump, runs.count, to.stream());
  std::size_t const all = last_of(jump, runs.count, to.stream());
  O* const part_ptr = to.take<O>(runs.parts.count + 1);
  O* const part_jump = to.take<O>(runs.parts.count + 1);
  I* const row = to.take<I>(all);
  I* const col = to.take<I>(n);
  V* const val = to.take<V>(n);
  each(runs.parts.count + 1, to.stream(),
       [=, count = runs.count, first = runs.parts.row] __device__(std::size_t p) {
         part_ptr[p] = p == 0 ? O(0) : from.row_ptr[first[p]];
         part_jump[p] = jump[lower_bound(part, count, static_cast<std::int64_t>(p))];
       });
  each(runs.count, to.stream(), [=] __device__(std::size_t r) {
    if (jump[r + 1] != jump[r])
      row[jump[r]] = run[r].row - (begins_part(r) ? I(0) : run[r - 1].row);
  });
  runs.each_entry([=] __device__(std::size_t r, std::size_t k, bool begins, std::size_t at) {
    using U = std::make_unsigned_t<I>;
    U before = 0; // plus what a jump adds
    if (!begins)
      before = static_cast<U>(from.col[k - 1]);
    else if (!begins_part(r))
      before = static_cast<U>(static_cast<U>(from.col[run[r - 1].begin + run[r - 1].count - 1]) -
                              (jump[r + 1] != jump[r] ? static_cast<U>(from.cols) : U(0)));
    col[at] = static_cast<I>(static_cast<U>(static_cast<U>(from.col[k]) - before));
    val[at] = from.val[k];
  });
  std::size_t const pointers = runs.parts.count + 1;
  return {unchecked,
          a.rows,
          a.cols,
          o.block,
          {{runs.parts.row, pointers},
           {part_ptr, pointers},
           {part_jump, pointers},
           {row, all},
           {col, n},
           {val, n}}};
}

} // namespace

TULLE_INSTANTIATE_CUDA_CONVERT(bicrs)

} // namespace tulle::kernels::cuda

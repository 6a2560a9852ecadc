// SPDX-License-Identifier: Apache-2.0

// csr to brc: rows sorted by length; levels on the host, from how many rows are longer than each;
// then one thread per row of a block.
#include "tulle/format/brc.hpp"

#include "cuda/convert/sorted_rows.cuh"
#include "format/detail/brc_levels.hpp"

namespace tulle::kernels::cuda {
namespace {

struct block_place {
  std::size_t level, first, rows;
};
/// Where blocks are.
template <class I>
struct levels_of {
  I const *rows, *ptr;
  I levels;
  std::size_t chunk;

  __device__ block_place find(std::size_t b) const {
    I const t = upper_bound(ptr, static_cast<I>(levels + 1), static_cast<I>(b)) - 1;
    std::size_t const first = (b - static_cast<std::size_t>(ptr[t])) * chunk;
    std::size_t const left = static_cast<std::size_t>(rows[t]) - first;
    return {static_cast<std::size_t>(t), first, left < chunk ? left : chunk};
  }
};

template <class V, class I, class O>
brc_view<V, I, O, space::cuda> from_csr(device_csr<V, I, O> const& a, brc_options o,
                                        result const& to) {
  detail::check_brc_options(o);
  canonical<V, I, O> const c(a, to.stream());
  auto const order = sort_rows(c.view, 0, to);
  auto const n = static_cast<std::size_t>(a.rows);
  auto const wide = static_cast<std::size_t>(o.width);
  auto const chunk = static_cast<std::size_t>(o.chunk);
  std::size_t const levels = ceil_div(order.lengths.longest, wide);
  array<I> level_rows(levels), level_ptr(levels + 1);
  std::size_t const blocks =
      detail::brc_levels([&](std::size_t k) { return order.lengths.longer(k); }, levels, o,
                         level_rows.data(), level_ptr.data());
  I const* const rows_there = put(level_rows, to);
  I const* const ptr_there = put(level_ptr, to);
  I const* const perm = order.perm;
  I* const len = lengths_at(c.view, perm, to);
  levels_of<I> const at{rows_there, ptr_there, static_cast<I>(levels), chunk};
  scratch<unsigned long long> const slots(blocks + 1, to.stream());
  each(blocks, to.stream(), [=, to = slots.get()] __device__(std::size_t b) {
    block_place const p = at.find(b);
    std::size_t const goes_on = static_cast<std::size_t>(len[p.first]) - p.level * wide;
    to[b] = p.rows * (goes_on < wide ? goes_on : wide);
  });
  to_pointers(slots.get(), blocks, to.stream());
  std::size_t const stored = last_of(slots.get(), blocks, to.stream());
  detail::check_brc_size(c.view, blocks, stored, o.limit);
  O* const block_ptr = to.take<O>(blocks + 1);
  each(blocks + 1, to.stream(), [=, from = slots.get()] __device__(std::size_t b) {
    block_ptr[b] = static_cast<O>(from[b]);
  });
  I* const col = to.take<I>(stored);
  V* const val = to.take<V>(stored);
  each(blocks * chunk, to.stream(), [=, from = c.view] __device__(std::size_t number) {
    std::size_t const b = number / chunk, r = number % chunk;
    block_place const p = at.find(b);
    if (r >= p.rows)
      return;
    std::size_t const width = static_cast<std::size_t>(block_ptr[b + 1] - block_ptr[b]) / p.rows;
    auto const begin = static_cast<std::size_t>(from.row_ptr[perm[p.first + r]]);
    std::size_t const end = begin + static_cast<std::size_t>(len[p.first + r]);
    for (std::size_t k = 0; k < width; ++k) {
      std::size_t const slot = static_cast<std::size_t>(block_ptr[b]) + k * p.rows + r;
      std::size_t const entry = begin + p.level * wide + k;
      col[slot] = from.col[entry < end ? entry : end - 1];
      val[slot] = entry < end ? from.val[entry] : V(0);
    }
  });
  return {unchecked,
          a.rows,
          a.cols,
          c.view.nnz,
          o.chunk,
          o.width,
          {{perm, n},
           {len, n},
           {rows_there, levels},
           {ptr_there, levels + 1},
           {block_ptr, blocks + 1},
           {col, stored},
           {val, stored}}};
}

} // namespace

TULLE_INSTANTIATE_CUDA_CONVERT(brc)

} // namespace tulle::kernels::cuda

// SPDX-License-Identifier: Apache-2.0

// The blocks of cbicrs and vbicrs: runs of one part and place.
#pragma once
#include "cuda/convert/bicrs_runs.cuh"
#include "format/detail/bicrs_blocks.hpp"

namespace tulle::kernels::cuda {
namespace {

template <class I, class O>
struct device_blocks {
  std::size_t count;
  O* part_block; // memory of the result, as the next two
  I *row, *col;
  std::unique_ptr<scratch<O>> before; // runs + 1: blocks that begin before a run
  std::unique_ptr<scratch<O>> begin;  // count + 1: runs

  O const* of_run() const { return before->get(); }
  O const* first() const { return begin->get(); }
};

/// Waits for the stream.
template <class V, class I, class O>
device_blocks<I, O> find_blocks(device_runs<V, I, O> const& runs, int block, result const& to) {
  std::size_t const n = runs.count;
  auto const* const run = runs.run();
  auto const* const part = runs.part();
  device_blocks<I, O> made{};
  made.before = std::make_unique<scratch<O>>(n + 1, to.stream());
  O* const before = made.before->get();
  each(n, to.stream(), [=] __device__(std::size_t r) {
    before[r] = r == 0 || part[r] != part[r - 1] || run[r].place != run[r - 1].place;
  });
  to_pointers(before, n, to.stream());
  made.count = last_of(before, n, to.stream());
  made.begin = std::make_unique<scratch<O>>(made.count + 1, to.stream());
  made.part_block = to.take<O>(runs.parts.count + 1);
  made.row = to.take<I>(made.count);
  made.col = to.take<I>(made.count);
  each(n + 1, to.stream(),
       [=, begin = made.begin->get(), row = made.row, col = made.col] __device__(std::size_t r) {
         O const b = before[r];
         if (r < n && before[r + 1] == b)
           return;
         begin[b] = static_cast<O>(r);
         if (r == n)
           return;
         row[b] = run[r].row / static_cast<I>(block);
         col[b] = run[r].block_col;
       });
  each(runs.parts.count + 1, to.stream(),
       [=, part_block = made.part_block] __device__(std::size_t p) {
         part_block[p] = before[lower_bound(part, n, static_cast<std::int64_t>(p))];
       });
  return made;
}

} // namespace
} // namespace tulle::kernels::cuda

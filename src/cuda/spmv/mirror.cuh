// SPDX-License-Identifier: Apache-2.0

// For a matrix with one stored triangle: the places of the entries of the other triangle, line by
// line; they are the entries of the line's column. A row gathers both, so nothing is added to
// another row's y and the order of additions is fixed.
#pragma once
#include "cuda/instantiate.cuh"
#include "cuda/sort_by_key.cuh"
#include "cuda/workspace.cuh"

namespace tulle::kernels::cuda {
namespace {

/// The line of the mirror image of an entry in `line` and column col.
template <class I, class O>
__global__ void mirrored_kernel(O stored, I lines, I const* line, I const* col, I* key) {
  std::size_t const k = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  if (k < static_cast<std::size_t>(stored))
    key[k] = col[k] == line[k] ? lines : col[k];
}

/// Arrays in the plan's workspace. Entries without a mirror image come after the last line.
template <class I, class O>
struct mirror {
  O* ptr;   // lines + 2
  I* other; // stored: the line of each entry
  O* place; // stored

  mirror(carver& work, I lines, O stored)
      : ptr(work.take<O>(static_cast<std::size_t>(lines) + 2)),
        other(work.take<I>(static_cast<std::size_t>(stored))),
        place(work.take<O>(static_cast<std::size_t>(stored))) {}
  /// key: the line of each entry's mirror image; `lines` for entries on the diagonal and for
  /// padding.
  void fill_by(I lines, O stored, I const* key, I const* line, void* stream) const {
    sort_by_key(static_cast<I>(lines + 1), stored, key, line, ptr, other, place, stream);
  }
  /// The same for compressed lines, as in csr.
  void fill(I lines, O stored, O const* line_ptr, I const* col, void* stream) const {
    constexpr int threads = 256;
    auto const n = static_cast<std::size_t>(stored);
    scratch<I> const line(n, stream), key(n, stream);
    expand_rows(lines, stored, line_ptr, line.get(), stream);
    launch(mirrored_kernel<I, O>, ceil_div(n, std::size_t{threads}), threads, stream, stored, lines,
           static_cast<I const*>(line.get()), col, key.get());
    fill_by(lines, stored, key.get(), line.get(), stream);
  }
};

} // namespace
} // namespace tulle::kernels::cuda

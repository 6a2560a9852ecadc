// SPDX-License-Identifier: Apache-2.0

// Strips of rows that are too long for one warp are cut into pieces, whose sums are kept in the
// workspace; the warp that ends last adds them, in an order that the matrix alone decides.
#pragma once
#include "cuda/instantiate.cuh"
#include "cuda/primitive/arrive.cuh"
#include "cuda/primitive/warp.cuh"
#include "cuda/workspace.cuh"

#include <vector>

namespace tulle::kernels::cuda {
namespace {

/// A piece of a strip that is cut.
struct piece {
  std::int64_t strip;
  std::int64_t first; // piece of the strip, in the list
  std::int64_t count; // pieces of it
};

template <class V>
struct cut_strips {
  std::int64_t pieces;
  piece const* list;
  V* sums;        // height of each piece
  unsigned* come; // pieces of the strip done, at its first
};

/// The pieces of strips of more than `longest` slots. Waits for their pointers.
template <class O>
std::vector<piece> pieces_of(O const* strip_ptr, std::size_t strips, std::int64_t longest,
                             std::int64_t piece_slots, void* stream) {
  std::vector<piece> list;
  if (strips == 0)
    return list;
  std::vector<O> const ptr = fetch(strip_ptr, strips + 1, stream);
  for (std::size_t s = 0; s + 1 < ptr.size(); ++s) {
    auto const length = static_cast<std::int64_t>(ptr[s + 1] - ptr[s]);
    if (length <= longest)
      continue;
    auto const first = static_cast<std::int64_t>(list.size());
    std::int64_t const count = ceil_div(length, piece_slots);
    list.insert(list.end(), static_cast<std::size_t>(count),
                {static_cast<std::int64_t>(s), first, count});
  }
  return list;
}

template <class V>
std::size_t pieces_bytes(std::size_t pieces, int height) {
  return pieces * (sizeof(piece) + static_cast<std::size_t>(height) * sizeof(V) + sizeof(unsigned));
}
template <class V>
cut_strips<V> cut_at(void* work, std::int64_t pieces, int height) {
  auto const n = static_cast<std::size_t>(pieces);
  auto* const list = static_cast<piece*>(work);
  auto* const sums = reinterpret_cast<V*>(list + n);
  return {pieces, list, sums,
          reinterpret_cast<unsigned*>(sums + n * static_cast<unsigned>(height))};
}
/// Waits for it.
template <class V>
void fill_pieces(std::vector<piece> const& list, void* work, int height, void* on) {
  auto const stream = static_cast<cudaStream_t>(on);
  TULLE_CUDA(cudaMemcpyAsync, work, list.data(), list.size() * sizeof(piece),
             cudaMemcpyHostToDevice, stream);
  TULLE_CUDA(cudaMemsetAsync, cut_at<V>(work, static_cast<std::int64_t>(list.size()), height).come,
             0, list.size() * sizeof(unsigned), stream);
  TULLE_CUDA(cudaStreamSynchronize, stream);
}

/// Whether this piece is the last of its strip to end. Called by a whole warp that has stored its
/// sums; it then reads those of others by left_by_others().
template <class V>
__device__ bool is_last_piece(cut_strips<V> const& cut, piece const& p, int lane) {
  bool is_last = false;
  __syncwarp();
  if (lane == 0)
    is_last = arrive(cut.come + p.first) == static_cast<unsigned>(p.count - 1);
  if (!__shfl_sync(whole_warp, is_last, 0))
    return false;
  if (lane == 0)
    cut.come[p.first] = 0; // for the next product
  return true;
}

} // namespace
} // namespace tulle::kernels::cuda

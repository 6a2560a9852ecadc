// SPDX-License-Identifier: Apache-2.0

// Dense blocks of a csr on the device: chooses a shape, and makes a bcsr.
#pragma once
#include "tulle/format/bcsr.hpp"

#include "cuda/convert/convert.cuh"
#include "cuda/convert/symmetric.cuh"
#include "format/detail/bcsr_build.hpp"
#include "format/detail/blocks.hpp"
#include "format/detail/check_room.hpp"

#include <functional>
#include <limits>
#include <type_traits>

namespace tulle::kernels::cuda {
namespace {

constexpr int sides = detail::longest_block_side;

/// The shape that detail::choose_block_shape chooses, from counts of all shapes. Waits for the
/// counts.
template <class V, class I, class O>
detail::block_shape choose_shape(device_csr<V, I, O> const& a, bcsr_options const& o,
                                 void* stream) {
  std::vector<unsigned long long> counts;
  if ((o.rows == 0 || o.cols == 0) && a.nnz != 0) {
    auto const n = static_cast<std::size_t>(a.rows);
    auto const nnz = static_cast<std::size_t>(a.nnz);
    std::size_t const places = detail::block_sample(n, nnz, 1).places;
    constexpr std::size_t each_place = detail::block_sample::rows_each;
    scratch<unsigned long long> const found(2 * sides * sides, stream);
    unsigned long long* const to = found.get();
    TULLE_CUDA(cudaMemsetAsync, to, 0, 2 * sides * sides * sizeof(*to),
               static_cast<cudaStream_t>(stream));
    each(sides * sides * places * each_place, stream, [=] __device__(std::size_t k) {
      int const shape = static_cast<int>(k / (places * each_place));
      int const height = shape / sides + 1, width = shape % sides + 1;
      detail::block_sample const sample(n, nnz, height);
      std::size_t const place = k / each_place % places;
      std::size_t const i = sample.first(place) + k % each_place;
      if (i >= sample.last(place))
        return;
      detail::block_counts mine;
      mine.add(a, height, width, i);
      atomicAdd(to + 2 * shape, static_cast<unsigned long long>(mine.blocks));
      atomicAdd(to + 2 * shape + 1, static_cast<unsigned long long>(mine.entries));
    });
    counts = fetch(to, 2 * sides * sides, stream);
  }
  return detail::choose_block_shape(a, o.rows, o.cols, o.symmetric, [&](int height, int width) {
    auto const shape = static_cast<std::size_t>((height - 1) * sides + width - 1);
    return detail::block_counts{counts[2 * shape], counts[2 * shape + 1]};
  });
}

constexpr int row_lanes = sides; // of a block row
constexpr int rows_of_warp = 32 / row_lanes;

/// Calls f(here, block column, first, last) for the blocks of block row i in order, in each of its
/// eight lanes; the entries of the lane's row in the block are [first, last). A warp has four block
/// rows and calls f in all lanes; `here` is set where the block row has a block left.
template <class V, class I, class O, class F>
__device__ void each_block(device_csr<V, I, O> const& a, int height, int width, std::size_t i,
                           int lane, F f) {
  constexpr I none = std::numeric_limits<I>::max();
  std::size_t const row = i * static_cast<std::size_t>(height) + static_cast<std::size_t>(lane);
  bool const has_row = lane < height && row < static_cast<std::size_t>(a.rows);
  O k = has_row ? a.row_ptr[row] : O(0);
  O const end = has_row ? a.row_ptr[row + 1] : O(0);
  for (;;) {
    I const mine = k < end ? a.col[k] : none;
    I next = mine;
    for (int d = row_lanes / 2; d > 0; d /= 2) {
      I const other = __shfl_xor_sync(whole_warp, next, d);
      next = other < next ? other : next;
    }
    bool const here = next != none;
    if (!__any_sync(whole_warp, here))
      return;
    I const j = next / width;
    O last = k;
    while (here && last < end && a.col[last] - j * width < width)
      ++last;
    f(here, j, k, last);
    k = last;
  }
}

/// keep(pointers, block rows, blocks) returns block_ptr once all is known. It is no template
/// parameter: functions with device lambdas may not have lambdas as parameters of theirs.
template <class O>
using keep_pointers = std::function<O const*(O const*, std::size_t, std::size_t)>;

/// The blocks of a canonical matrix, of which kept.view is stored. name: of the format.
template <class V, class I, class O>
bcsr_view<V, I, O, space::cuda> blocks_of(device_csr<V, I, O> const& a, bcsr_options const& o,
                                          result const& to, char const* name,
                                          std::type_identity_t<keep_pointers<O>> const& keep) {
  void* const stream = to.stream();
  detail::block_shape const shape = choose_shape(a, o, stream);
  int const h = shape.height;
  int const w = shape.width;
  stored_part<V, I, O> const kept(a, o.symmetric, stream, h);
  device_csr<V, I, O> const from = kept.view;
  auto const entries = static_cast<std::size_t>(from.nnz);
  if (h == 1 && w == 1) // csr's arrays
    return {unchecked,
            a.rows,
            a.cols,
            a.nnz,
            h,
            w,
            from.nnz,
            keep(from.row_ptr, static_cast<std::size_t>(a.rows), entries),
            to.copy(from.col, entries),
            to.copy(from.val, entries),
            nullptr,
            o.symmetric};
  auto const size = static_cast<std::size_t>(h * w);
  std::size_t const all = ceil_div(static_cast<std::size_t>(a.rows), static_cast<std::size_t>(h));
  scratch<O> const pointers(all + 1, stream);
  std::size_t const warps = ceil_div(all, std::size_t{rows_of_warp});
  each_warp(warps, stream, [=, ptr = pointers.get()] __device__(std::size_t k, int lane) {
    std::size_t const i = k * rows_of_warp + static_cast<std::size_t>(lane / row_lanes);
    O n = 0;
    each_block(from, h, w, i, lane % row_lanes, [&](bool here, I, O, O) { n += here; });
    if (lane % row_lanes == 0 && i < all)
      ptr[i] = n;
  });
  to_pointers(pointers.get(), all, stream);
  std::size_t const blocks = last_of(pointers.get(), all, stream);
  bool const holes = blocks * size != entries;
  std::size_t const words = holes ? (blocks * size + 63) / 64 : 0;
  double const bytes = detail::bcsr_bytes<V, I, O>(all, blocks, size, words);
  bcsr_options const least = {o.rows ? o.rows : 1, o.cols ? o.cols : 1, o.limit, o.symmetric};
  if (bytes > double(detail::bytes_of(from)) && (h != least.rows || w != least.cols))
    return blocks_of(a, least, to, name, keep); // the chosen shape was wrong
  detail::check_room(name, bytes, detail::bytes_of(a), o.limit);
  std::size_t const slots = checked_mul(blocks, size, "bcsr: slots");
  O const* const ptr = pointers.get();
  O const* const block_ptr = keep(ptr, all, blocks);
  I* const block_col = to.take<I>(blocks);
  V* const val = holes ? to.zeros<V>(slots) : to.take<V>(slots);
  auto* const pattern = to.zeros<unsigned long long>(words);
  each_warp(blocks == 0 ? 0 : warps, stream, [=] __device__(std::size_t k, int lane) {
    std::size_t const i = k * rows_of_warp + static_cast<std::size_t>(lane / row_lanes);
    int const row = lane % row_lanes;
    auto at = static_cast<std::size_t>(i < all ? ptr[i] : O(0));
    each_block(from, h, w, i, row, [&](bool here, I j, O first, O last) {
      unsigned long long bits = 0;
      for (O e = first; e < last; ++e) {
        int const slot = row * w + static_cast<int>(from.col[e] - j * w);
        val[at * size + static_cast<std::size_t>(slot)] = from.val[e];
        bits |= 1ull << slot;
      }
      if (holes)
        for (int d = row_lanes / 2; d > 0; d /= 2)
          bits |= __shfl_xor_sync(whole_warp, bits, d);
      if (!here)
        return;
      if (row == 0)
        block_col[at] = j;
      if (row == 0 && holes) {
        unsigned const shift = at * size % 64;
        unsigned long long* const word = pattern + at * size / 64;
        atomicOr(word, bits << shift);
        if (shift + size > 64)
          atomicOr(word + 1, bits >> (64 - shift));
      }
      ++at;
    });
  });
  return {unchecked,
          a.rows,
          a.cols,
          a.nnz,
          h,
          w,
          static_cast<O>(blocks),
          block_ptr,
          block_col,
          val,
          reinterpret_cast<std::uint64_t const*>(pattern),
          o.symmetric};
}
/// The same as a bcsr.
template <class V, class I, class O>
bcsr_view<V, I, O, space::cuda> blocks_of(device_csr<V, I, O> const& a, bcsr_options const& o,
                                          result const& to) {
  return blocks_of(a, o, to, "bcsr", [&](O const* ptr, std::size_t n, std::size_t) {
    return ptr ? to.copy(ptr, n + 1) : to.zeros<O>(1);
  });
}

} // namespace
} // namespace tulle::kernels::cuda

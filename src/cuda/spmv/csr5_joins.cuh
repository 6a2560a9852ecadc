// SPDX-License-Identifier: Apache-2.0

// Rows of csr5 that warps and blocks share, and the entries after the last whole tile.
#pragma once
#include "tulle/format/csr5.hpp"

#include "cuda/instantiate.cuh"
#include "cuda/primitive/arrive.cuh"
#include "cuda/primitive/warp.cuh"

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
using view = csr5_view<V, I, O, space::cuda>;

constexpr int warps = 8; // of a block; even, so that a block begins with a tile whatever omega
constexpr int threads = 32 * warps;
static_assert(warps % 2 == 0 && warps <= 16);

/// What a warp leaves to its block: the sum of the row that its entries begin in, which may have
/// begun in warps before, and of the row that is open at its end.
template <class V, class I>
struct warp_end {
  V head, tail;
  I first;     // row of the first entry
  I next;      // row of the first entry after the warp's
  bool single; // all entries are of one row: `head` alone
  bool open;   // row `next` has entries here
};

/// What blocks leave to one another. The first block of a shared row leaves its sum in `tail`, the
/// others in `head`; arrivals are counted at the first.
template <class V>
struct block_ends {
  V* head;
  V* tail;
  unsigned* come;
};

template <class V>
block_ends<V> ends_at(void* work, std::size_t blocks) {
  auto* const v = static_cast<V*>(work);
  return {v, v + blocks, reinterpret_cast<unsigned*>(v + 2 * blocks)};
}

/// Constants of all tiles of a product.
struct tiles_shape {
  int omega_bits; // omega is 2 to that
  int sigma;
  int y_bits, before; // bits of y_offset, and all bits before the flags
  int room;           // sums per warp in shared memory
  bool is_filled;     // y holds beta*y already, and beta is 0 or 1
  std::int64_t lanes; // of all whole tiles
  std::int64_t blocks;
};

template <class I>
__device__ I row_of(std::make_unsigned_t<I> pointer) {
  return static_cast<I>(pointer & ~detail::csr5_mark<I>);
}

/// Joins rows that blocks share. Lanes with `is_member` have a piece of such a row from block b.
/// Called by all lanes of one warp.
template <class V, class I, class O>
__device__ void join(bool is_member, I row, V piece, std::int64_t b, V alpha,
                     view<V, I, O> const& a, V beta, V* y, tiles_shape const& s,
                     block_ends<V> const& ends) {
  std::int64_t from = 0, to = 0;
  bool is_last = false;
  if (is_member) {
    std::int64_t const rest = s.lanes * s.sigma;
    auto const block_of = [&](std::int64_t k) {
      return k >= rest ? s.blocks : k / (std::int64_t{threads} * s.sigma);
    };
    from = block_of(a.row_ptr[row]);
    to = block_of(a.row_ptr[row + 1] - 1);
    (from == b ? ends.tail : ends.head)[b] = piece;
    is_last = arrive(ends.come + from) == static_cast<unsigned>(to - from);
  }
  for (unsigned left = __ballot_sync(whole_warp, is_last); left != 0; left &= left - 1) {
    int const source = __ffs(static_cast<int>(left)) - 1;
    std::int64_t const begin = __shfl_sync(whole_warp, from, source);
    std::int64_t const end = __shfl_sync(whole_warp, to, source);
    int const lane = threadIdx.x % 32;
    V sum = 0;
#pragma unroll 4
    for (std::int64_t p = begin + lane; p <= end; p += 32)
      sum += left_by_others((p == begin ? ends.tail : ends.head) + p);
    sum = reduce<32>(sum);
    if (lane == source) {
      update(y + row, alpha, sum, beta);
      ends.come[begin] = 0; // for the next product
    }
  }
}

/// The entries after the last whole tile, computed as in csr, and the rows after them.
template <class V, class I, class O>
__device__ void multiply_rest(V alpha, view<V, I, O> const& a, V const* x, V beta, V* y,
                              tiles_shape const& s, block_ends<V> const& ends, V* products) {
  constexpr int width = 4; // lanes per row
  std::int64_t const begin = s.lanes * s.sigma;
  for (std::int64_t k = begin + threadIdx.x; k < a.nnz; k += threads)
    products[k - begin] = a.val[k] * x[a.col[k]];
  __syncthreads();
  I const first = begin == 0 ? 0 : row_of<I>(a.tile_ptr[s.lanes >> s.omega_bits]);
  bool const is_inside = begin != 0 && a.row_ptr[first] < begin;
  int const at = threadIdx.x / width;
  V head = 0;
  for (std::int64_t i = first; i < a.rows; i += threads / width) {
    if (s.is_filled && a.row_ptr[i] == a.nnz)
      break;
    V sum = 0;
    bool const is_row = i + at < a.rows;
    if (is_row) {
      std::int64_t const k = a.row_ptr[i + at];
      int const end = static_cast<int>(a.row_ptr[i + at + 1] - begin);
      for (int q = static_cast<int>((k < begin ? begin : k) - begin) + threadIdx.x % width; q < end;
           q += width)
        sum += products[q];
    }
    sum = reduce<width>(sum);
    if (i == first && threadIdx.x == 0)
      head = sum;
    if (is_row && threadIdx.x % width == 0 && !(is_inside && i + at == first))
      update(y + i + at, alpha, sum, beta);
  }
  if (threadIdx.x < 32)
    join(threadIdx.x == 0 && is_inside, first, head, s.blocks, alpha, a, beta, y, s, ends);
}

/// Joins rows that a block's warps share, or that it shares with other blocks. By the first warp:
/// lane w adds up the row that warp w begins in, unless it began in a warp before; lane 16 + w the
/// row that warp w leaves open.
template <class V, class I, class O>
__device__ void join_warps(warp_end<V, I> const* of_warp, std::int64_t b, V alpha,
                           view<V, I, O> const& a, V beta, V* y, tiles_shape const& s,
                           block_ends<V> const& ends) {
  int const lane = threadIdx.x;
  std::int64_t const left = s.lanes - b * threads;
  int const n = left < threads ? static_cast<int>((left + 31) / 32) : warps;
  int w = lane % 16;
  bool is_mine = false, is_closed = false;
  I row = 0;
  V sum = 0;
  if (w < n) {
    warp_end<V, I> const& e = of_warp[w];
    if (lane < 16) {
      is_mine = w == 0 || !of_warp[w - 1].open;
      is_closed = !e.single || !e.open;
      row = e.first;
      sum = e.head;
    } else {
      is_mine = !e.single && e.open;
      row = e.next;
      sum = e.tail;
    }
  }
  if (is_mine)
    while (!is_closed && ++w < n) {
      sum += of_warp[w].head;
      is_closed = !of_warp[w].single || !of_warp[w].open;
    }
  bool const is_inside =
      lane == 0 && static_cast<std::int64_t>(a.row_ptr[row]) < b * threads * s.sigma;
  if (is_mine && is_closed && !is_inside)
    update(y + row, alpha, sum, beta);
  bool const is_member = is_mine && (is_inside || !is_closed);
  if (__any_sync(whole_warp, is_member))
    join(is_member, row, sum, b, alpha, a, beta, y, s, ends);
}

} // namespace
} // namespace tulle::kernels::cuda

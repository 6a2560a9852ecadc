// SPDX-License-Identifier: Apache-2.0

// y = alpha A x + beta y, A in scoo.
//
// Dang & Schmidt use one block per slice, with the sums of its rows in shared memory and atomics on
// them. Here a warp has a slice: it takes 32 entries at a time, and lanes whose entries are in the
// same row take turns. That is rare since columns ascend: entries of the same column are in
// different rows.
//
// Slices so long that others would wait for them are cut, and their pieces are joined in order.
// Bytes that must move, double with 32-bit indices: 14 per entry, 8 per row and 8 per column.
#include "tulle/format/scoo.hpp"

#include "cuda/spmv/strip_pieces.cuh"

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
using view = scoo_view<V, I, O, space::cuda>;

constexpr int windows = 4; // of 32 entries whose loads are in flight together
constexpr int most_warps = 8;
constexpr std::size_t sums_bytes = 32768; // of a block, at most: slices of 4096 doubles fit
/// Entries of a piece, which should be more than its sums.
constexpr std::int64_t piece_entries(int height) {
  return height > 512 ? 2 * height : 1024;
}

template <class V, class I, class O>
__global__ void __launch_bounds__(32 * most_warps)
    slices_kernel(V alpha, view<V, I, O> a, V const* __restrict__ x, V beta, V* __restrict__ y,
                  std::int64_t slices, cut_strips<V> cut) {
  extern __shared__ double raw[];
  wait_for_launch_before();
  int const lane = threadIdx.x % 32;
  int const height = a.height;
  V* const sums = reinterpret_cast<V*>(raw) + threadIdx.x / 32 * height;
  std::int64_t const at = blockIdx.x * std::int64_t{blockDim.x / 32} + threadIdx.x / 32;
  bool const is_piece = at < cut.pieces;
  std::int64_t slice = at - cut.pieces;
  piece p{};
  if (is_piece) {
    p = cut.list[at];
    slice = p.strip;
  }
  if (slice >= slices)
    return;
  std::int64_t begin = a.slice_ptr[slice];
  std::int64_t end = a.slice_ptr[slice + 1];
  std::int64_t const most = piece_entries(height);
  if (is_piece) {
    begin += (at - p.first) * most;
    end = end < begin + most ? end : begin + most;
  } else if (end - begin > 2 * most) {
    return;
  }

  for (int r = lane; r < height; r += 32)
    sums[r] = 0;
  __syncwarp();
  for (std::int64_t k = begin + lane; k - lane < end; k += 32 * windows) {
    int row[windows];
    I col[windows];
    V v[windows];
#pragma unroll
    for (int j = 0; j < windows; ++j) {
      bool const is_there = k + 32 * j < end;
      row[j] = is_there ? static_cast<int>(__ldcs(a.row + k + 32 * j)) : -1 - lane;
      col[j] = is_there ? __ldcs(a.col + k + 32 * j) : I(0);
      v[j] = is_there ? __ldcs(a.val + k + 32 * j) : V(0);
    }
#pragma unroll
    for (int j = 0; j < windows; ++j)
      if (row[j] >= 0)
        v[j] *= __ldg(x + col[j]);
#pragma unroll
    for (int j = 0; j < windows; ++j) {
      unsigned const same = __match_any_sync(whole_warp, row[j]);
      int const turn = __popc(same & ((1u << lane) - 1)); // lanes before with the same row
      for (int now = 0; __any_sync(whole_warp, turn >= now); ++now) {
        if (turn == now && row[j] >= 0)
          sums[row[j]] += v[j];
        __syncwarp();
      }
    }
  }

  auto const store = [&](int r, V sum) {
    std::int64_t const i = slice * height + r;
    if (i < a.rows)
      update(y + i, alpha, sum, beta);
  };
  for (int r = lane; r < height; r += 32)
    if (is_piece)
      cut.sums[at * height + r] = sums[r];
    else
      store(r, sums[r]);
  if (!is_piece || !is_last_piece(cut, p, lane))
    return;
  for (int r = lane; r < height; r += 32) {
    V sum = 0;
    V const* const from = cut.sums + p.first * height + r;
#pragma unroll 4
    for (std::int64_t k = 0; k < p.count; ++k)
      sum += left_by_others(from + k * height);
    store(r, sum);
  }
}

template <class V, class I, class O>
std::vector<piece> pieces_in(view<V, I, O> const& a, plan_view const& p) {
  std::int64_t const most = piece_entries(a.height);
  return pieces_of(a.slice_ptr, a.nnz == 0 ? 0 : a.slices(), 2 * most, most, p.stream);
}

template <class V, class I, class O>
std::size_t prepare(view<V, I, O> const& a, plan_view& p) {
  if (p.transposed)
    refuse("scoo", "transposed products have no kernel; those of csr and csc do");
  p.method = "slices";
  std::size_t const pieces = pieces_in(a, p).size();
  p.info[0] = static_cast<std::int64_t>(pieces);
  return pieces_bytes<V>(pieces, a.height);
}

template <class V, class I, class O>
void fill(view<V, I, O> const& a, plan_view const& p) {
  if (p.info[0] != 0)
    fill_pieces<V>(pieces_in(a, p), p.work, a.height, p.stream);
}

template <class V, class I, class O>
void spmv(V alpha, view<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p,
          void* stream) {
  std::size_t const bytes = static_cast<std::size_t>(a.height) * sizeof(V);
  std::size_t const warps =
      bytes * most_warps <= sums_bytes ? std::size_t{most_warps} : sums_bytes / bytes;
  auto const slices = static_cast<std::int64_t>(a.slices());
  launch_early_shared(slices_kernel<V, I, O>,
                      ceil_div(static_cast<std::size_t>(slices + p.info[0]), warps),
                      static_cast<int>(32 * warps), warps * bytes, stream, alpha, a, x, beta, y,
                      slices, cut_at<V>(p.work, p.info[0], a.height));
}

} // namespace

TULLE_INSTANTIATE_CUDA_SPMV(scoo)

} // namespace tulle::kernels::cuda

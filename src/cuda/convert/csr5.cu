// SPDX-License-Identifier: Apache-2.0

// csr to csr5: the rows at which tiles begin are found by search; then one warp per tile marks
// where rows begin in it and transposes its columns and values through shared memory, so that they
// are read and written once, in order. Meanwhile a second stream checks whether the matrix is
// canonical; if not, the tiles of its canonical form are made, or it fails. A dense matrix of 2048
// rows on an H200, double: 76 us with the check first, 57 us with both at once.
#include "tulle/format/csr5.hpp"

#include "cuda/convert/convert.cuh"
#include "cuda/primitive/search.cuh"
#include "format/detail/csr5_tiles.hpp"

namespace tulle::kernels::cuda {
namespace {

constexpr int tile_warps = 8; // of a block

template <class V, class I, class O>
struct tiles_made {
  device_csr<V, I, O> a;
  int omega, sigma;
  detail::csr5_bits bits;
  std::size_t tiles, whole;
  detail::csr5_pointer<I>* tile_ptr;
  std::uint32_t* tile_desc;
  O* segments; // rows with entries, of whole tiles that have empty rows
  I* col;
  V* val;

  __device__ int entries() const { return omega * sigma; }
  /// The row of the first entry, whether its mark is set already or not.
  __device__ I row_of(std::size_t t) const {
    return static_cast<I>(tile_ptr[t] & ~detail::csr5_mark<I>);
  }
  /// The distance of lanes in shared memory: odd, so that they are in different banks.
  __host__ __device__ int pitch() const { return sigma | 1; }
  __host__ std::size_t shared_bytes() const {
    return tile_warps * (detail::csr5_most_lanes * sizeof(std::uint32_t) +
                         static_cast<std::size_t>(omega) * static_cast<std::size_t>(pitch()) *
                             (sizeof(V) > sizeof(I) ? sizeof(V) : sizeof(I)));
  }
};

/// The words of a whole tile, from the flags of steps that begin a row.
__device__ void write_words(std::uint32_t const* flags, int omega, int sigma,
                            detail::csr5_bits const& bits, std::uint32_t* words, int lane) {
  std::uint32_t const f[2] = {lane < omega ? flags[lane] : 0,
                              lane + 32 < omega ? flags[lane + 32] : 0};
  std::uint64_t const heads = __ballot_sync(whole_warp, f[0] != 0) |
                              static_cast<std::uint64_t>(__ballot_sync(whole_warp, f[1] != 0))
                                  << 32;
  std::uint32_t before = 0; // rows begun in the lanes of the first half
  for (int half = 0; half < 2; ++half) {
    auto const mine = static_cast<std::uint32_t>(__popc(f[half]));
    std::uint32_t const up_to = inclusive_scan(mine) + before;
    int const i = lane + 32 * half;
    if (i < omega) {
      std::uint64_t const rest = i < 63 ? heads >> (i + 1) : 0;
      auto const gap = static_cast<std::uint32_t>(
          rest != 0 ? __ffsll(static_cast<long long>(rest)) - 1 : omega - 1 - i);
      words[i] = (up_to - mine) << (32 - bits.y) | f[half] << (32 - bits.y - bits.seg - sigma);
      if (f[half] != 0)
        words[i] += gap << (32 - bits.y - bits.seg);
    }
    before = __shfl_sync(whole_warp, up_to, 31);
  }
}

/// Puts a tile of columns or values from csr's order in csr5's.
template <class T>
__device__ void turn_tile(T const* from, T* to, T* room, unsigned omega, unsigned sigma,
                          unsigned pitch, unsigned lane) {
  unsigned const n = omega * sigma;
#pragma unroll 4
  for (unsigned k = lane; k < n; k += 32)
    room[k / sigma * pitch + k % sigma] = from[k];
  __syncwarp();
  int const bits = 31 - __clz(static_cast<int>(omega));
#pragma unroll 4
  for (unsigned k = lane; k < n; k += 32)
    to[k] = room[(k & (omega - 1)) * pitch + (k >> bits)];
  __syncwarp();
}

template <class V, class I, class O>
__global__ void tiles_kernel(tiles_made<V, I, O> b) {
  extern __shared__ double shared[];
  int const lane = threadIdx.x % 32;
  int const warp = threadIdx.x / 32;
  std::size_t const t = blockIdx.x * std::size_t{tile_warps} + static_cast<std::size_t>(warp);
  if (t >= b.tiles)
    return;
  auto* const flags = reinterpret_cast<std::uint32_t*>(shared) + warp * detail::csr5_most_lanes;
  std::size_t const begin = t * static_cast<std::size_t>(b.entries());
  O const end =
      t < b.whole ? static_cast<O>(begin + static_cast<std::size_t>(b.entries())) : b.a.nnz;
  I const first = b.row_of(t);
  I const next = b.row_of(t + 1);
  auto const sigma = static_cast<unsigned>(b.sigma);
  for (int i = lane; i < detail::csr5_most_lanes; i += 32)
    flags[i] = i == 0 ? 1u << (sigma - 1) : 0; // the row that the tile begins in
  __syncwarp();
  bool empty = false;
  for (I i = first + 1 + lane; i <= next && i < b.a.rows; i += 32) {
    O const k = b.a.row_ptr[i];
    std::size_t const entry = static_cast<std::size_t>(k) - begin;
    if (b.a.row_ptr[i + 1] == k) {
      empty = true;
    } else if (entry < static_cast<std::size_t>(b.entries())) { // within this tile, whatever k is
      auto const e = static_cast<unsigned>(entry);
      atomicOr(flags + e / sigma, 1u << (sigma - 1 - e % sigma));
    }
  }
  empty = __any_sync(whole_warp, empty);
  if (lane == 0)
    b.tile_ptr[t] = static_cast<detail::csr5_pointer<I>>(first) |
                    (empty ? detail::csr5_mark<I> : detail::csr5_pointer<I>(0));
  if (t >= b.whole) {
    for (auto k = begin + static_cast<std::size_t>(lane); k < static_cast<std::size_t>(end);
         k += 32) {
      b.col[k] = b.a.col[k];
      b.val[k] = b.a.val[k];
    }
    return;
  }
  int const segments = reduce<32>(__popc(flags[lane]) + __popc(flags[lane + 32]));
  if (lane == 0)
    b.segments[t] = static_cast<O>(empty ? segments : 0);
  write_words(flags, b.omega, b.sigma, b.bits, b.tile_desc + t * static_cast<std::size_t>(b.omega),
              lane);
  auto const pitch = static_cast<unsigned>(b.pitch());
  char* const room = reinterpret_cast<char*>(shared) +
                     tile_warps * detail::csr5_most_lanes * sizeof(std::uint32_t) +
                     static_cast<std::size_t>(warp) * static_cast<std::size_t>(b.omega) * pitch *
                         (sizeof(V) > sizeof(I) ? sizeof(V) : sizeof(I));
  auto const omega = static_cast<unsigned>(b.omega);
  turn_tile(b.a.val + begin, b.val + begin, reinterpret_cast<V*>(room), omega, sigma, pitch,
            static_cast<unsigned>(lane));
  turn_tile(b.a.col + begin, b.col + begin, reinterpret_cast<I*>(room), omega, sigma, pitch,
            static_cast<unsigned>(lane));
}

/// Everything but the places of empty rows. row_ptr may hold anything.
template <class V, class I, class O>
tiles_made<V, I, O> make_tiles(device_csr<V, I, O> const& a, csr5_options const& asked,
                               result const& to) {
  auto const n = static_cast<std::size_t>(a.nnz);
  csr5_options const o = detail::csr5_layout<V>(asked, static_cast<std::size_t>(a.rows), n);
  auto const entries = static_cast<std::size_t>(o.omega) * static_cast<std::size_t>(o.sigma);
  std::size_t const whole = n / entries;
  std::size_t const tiles = whole + (n % entries != 0);
  tiles_made<V, I, O> made{a,       o.omega, o.sigma, {o.omega, o.sigma},
                           tiles,   whole,   nullptr, nullptr,
                           nullptr, nullptr, nullptr};
  if (n == 0)
    return made;
  made.tile_ptr = to.take<detail::csr5_pointer<I>>(tiles + 1);
  made.tile_desc = to.take<std::uint32_t>(whole * static_cast<std::size_t>(o.omega));
  made.segments = to.take<O>(whole > 0 ? whole + 1 : 0);
  made.col = to.take<I>(n);
  made.val = to.take<V>(n);
  each(tiles + 1, to.stream(), [=, tile_ptr = made.tile_ptr] __device__(std::size_t t) {
    O const rows_before = upper_bound(a.row_ptr, static_cast<O>(a.rows) + 1,
                                      static_cast<O>(t < tiles ? t * entries : 0));
    tile_ptr[t] = static_cast<detail::csr5_pointer<I>>(t == tiles         ? a.rows
                                                       : rows_before == 0 ? 0
                                                                          : rows_before - 1);
  });
  launch_shared(tiles_kernel<V, I, O>, ceil_div(tiles, std::size_t{tile_warps}), 32 * tile_warps,
                made.shared_bytes(), to.stream(), made);
  return made;
}

template <class V, class I, class O>
csr5_view<V, I, O, space::cuda> from_csr(device_csr<V, I, O> const& a, csr5_options const& o,
                                         result const& to) {
  csr_look const look(a, to.stream());
  tiles_made<V, I, O> made = make_tiles(a, o, to);
  canonical<V, I, O> const c(look);
  // The stream has been waited for, so these tiles are not written any more.
  if (c.view.col != a.col) {
    to.begin_anew();
    made = make_tiles(c.view, o, to);
  }
  std::size_t const whole = made.whole;
  auto const entries = static_cast<std::size_t>(made.omega) * static_cast<std::size_t>(made.sigma);
  O* const offset_ptr = made.segments;
  csr5_view<V, I, O, space::cuda> b(unchecked, a.rows, a.cols, c.view.nnz, made.omega, made.sigma,
                                    to.row_ptr(c.view), made.tile_ptr, made.tile_desc, offset_ptr,
                                    O(0), nullptr, made.col, made.val);
  if (whole == 0)
    return b;
  if (!c.has_empty_rows) { // saves a scan and a wait
    TULLE_CUDA(cudaMemsetAsync, offset_ptr, 0, (whole + 1) * sizeof(O),
               static_cast<cudaStream_t>(to.stream()));
    return b;
  }
  to_pointers(offset_ptr, whole, to.stream());
  std::size_t const offsets = last_of(offset_ptr, whole, to.stream());
  I* const offset = to.take<I>(offsets);
  b.offsets = static_cast<O>(offsets);
  b.empty_offset = offset;
  if (offsets != 0)
    each_warp(whole, to.stream(), [=] __device__(std::size_t t, int lane) {
      if (offset_ptr[t] == offset_ptr[t + 1])
        return;
      I const first = made.row_of(t);
      I const next = made.row_of(t + 1);
      auto const end = static_cast<O>((t + 1) * entries);
      I* out = offset + offset_ptr[t];
      for (I base = first; base <= next && base < made.a.rows; base += 32) {
        I const i = base + lane;
        bool const here = i <= next && i < made.a.rows && made.a.row_ptr[i] < end &&
                          made.a.row_ptr[i] != made.a.row_ptr[i + 1];
        unsigned const all = __ballot_sync(whole_warp, here);
        if (here)
          out[__popc(all & ((1u << lane) - 1))] = i - first;
        out += __popc(all);
      }
    });
  return b;
}

} // namespace

TULLE_INSTANTIATE_CUDA_CONVERT(csr5)

} // namespace tulle::kernels::cuda

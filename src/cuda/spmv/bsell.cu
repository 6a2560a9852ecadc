// SPDX-License-Identifier: Apache-2.0

// y = alpha A x + beta y, A in bsell. A warp has a slice of 16 block rows, two lanes each: a lane
// takes two blocks at a time, whose values are stored in pairs, lane next to lane, and keeps the
// sums of its block row. Other slices and shapes have one thread per row.
//
// Holes and padding are multiplied like entries; a row whose sum is NaN is computed again from the
// entries alone. The matrix alone decides the order of additions.
//
// Bytes that must move, double with 3 x 3 blocks: 74 per block, where csr has 108.
#include "tulle/format/bsell.hpp"

#include "cuda/instantiate.cuh"
#include "cuda/primitive/warp.cuh"

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
using view = bsell_view<V, I, O, space::cuda>;

constexpr int rows_of_warp = 16; // block rows: two lanes each
// Threads per block, and resident blocks per multiprocessor. Times the bound of csr on an H200, fem
// 500000 in double, slices sorted in windows of 1024: 64, 14 1.31; 128, 6 1.33; 128, 7 1.33; 128, 8
// 1.25; 128, 10 1.05; 256, 3 1.33; 256, 4 1.25. Values bypassing the first-level cache 1.31, with
// prefetches of 256 bytes to the second 1.27. Slices from the longest to the shortest 1.43, with
// all rows sorted and columns in full 1.40.
constexpr int threads = 128;
constexpr int resident = 7;

template <class V, class I, class O>
struct product {
  view<V, I, O> a;
  V alpha, beta;
  V const* x;
  V* y;
};

template <class V>
struct pair_of;
template <>
struct pair_of<double> {
  using type = double2;
};
template <>
struct pair_of<float> {
  using type = float2;
};

/// The sum of row s of the block row at place r of its slice, from its entries alone; by one
/// thread.
template <class V, class I, class O>
__device__ __noinline__ V exact_row(product<V, I, O> const& c, std::size_t slice, std::size_t r,
                                    int s) {
  view<V, I, O> const& a = c.a;
  detail::bsell_places const at = a.places_of(slice);
  I const n = a.len[slice * at.chunk + r];
  V sum = 0;
  for (std::size_t k = 0; k < static_cast<std::size_t>(n); ++k) {
    std::size_t const block = at.block(k, r);
    I const column = a.col_at(slice, block);
    for (int j = 0; j < a.width; ++j) {
      std::size_t const e = static_cast<std::size_t>(s * a.width + j);
      std::size_t const bit = block * at.size + e;
      if (!a.pattern || (a.pattern[bit / 64] >> bit % 64 & 1))
        sum = fma(a.val[at.value(k, r, e)], c.x[std::int64_t{column} * a.width + j], sum);
    }
  }
  return sum;
}

/// sums[row] += block * x for a block of side x side, `value` by `value`.
template <int side, class V, class F>
__device__ void multiply_block(V (&sums)[side], V const (&x)[side], F value) {
#pragma unroll
  for (int e = 0; e < side * side; ++e)
    sums[e / side] = fma(value(e), x[e % side], sums[e / side]);
}

/// Slices of 16 block rows of square blocks. is_short: columns are 16 bits past a base.
template <int side, bool is_short, class V, class I, class O>
__global__ void __launch_bounds__(threads, resident)
    slices_kernel(__grid_constant__ product<V, I, O> const c) {
  using pair = typename pair_of<V>::type;
  constexpr int size = side * side;
  wait_for_launch_before();
  view<V, I, O> const& a = c.a;
  std::size_t const slice = (blockIdx.x * std::size_t{threads} + threadIdx.x) / 32;
  if (slice >= a.slices())
    return;
  int const lane = threadIdx.x % 32;
  O const begin = a.slice_ptr[slice];
  O const steps = (a.slice_ptr[slice + 1] - begin) / rows_of_warp;
  V const* const x = c.x + (is_short ? std::int64_t{a.base[slice]} * side : 0);
  V sums[side] = {};
  auto const load_x = [&](V(&to)[side], I column) {
    V const* const from = x + std::int64_t{column} * side;
#pragma unroll
    for (int j = 0; j < side; ++j)
      to[j] = __ldg(from + j);
  };
  struct columns {
    std::conditional_t<is_short, std::uint16_t, I> first, second;
  };
  auto const load_columns = [&](O block) -> columns {
    if constexpr (is_short) {
      auto const both = __ldcs(reinterpret_cast<ushort2 const*>(a.short_col + block));
      return {both.x, both.y};
    } else {
      return {__ldcs(a.col + block), __ldcs(a.col + block + 1)};
    }
  };

  O const fours = steps / 4;
  auto const* values =
      reinterpret_cast<pair const*>(a.val + static_cast<std::int64_t>(begin) * size) + lane;
  O block = begin + 2 * lane;
  columns col = fours > 0 ? load_columns(block) : columns{0, 0};
  for (O q = 0; q < fours; ++q) {
    pair v[size];
#pragma unroll
    for (int e = 0; e < size; ++e)
      v[e] = __ldcs(values + e * 32);
    V x0[side], x1[side];
    load_x(x0, col.first);
    load_x(x1, col.second);
    values += size * 32;
    block += 4 * rows_of_warp;
    if (q + 1 < fours)
      col = load_columns(block);
    auto const at = [&](int slot) { return slot % 2 ? v[slot / 2].y : v[slot / 2].x; };
    multiply_block(sums, x0, at);
    multiply_block(sums, x1, [&](int e) { return at(size + e); });
  }
  // Two blocks remain, or none. A lane whose row is shorter has padding there, and skips it.
  std::size_t const place = slice * rows_of_warp + static_cast<std::size_t>(lane % rows_of_warp);
  I const length = place < a.block_rows() ? a.len[place] : I(0);
  if (static_cast<O>(length) > 4 * fours + lane / rows_of_warp) {
    O const at = begin + 4 * rows_of_warp * fours;
    V const* const from = a.val + static_cast<std::int64_t>(at) * size + lane;
    V v[size];
#pragma unroll
    for (int e = 0; e < size; ++e)
      v[e] = __ldcs(from + e * 32);
    V x0[side];
    load_x(x0, is_short ? static_cast<I>(a.short_col[at + lane]) : a.col[at + lane]);
    multiply_block(sums, x0, [&](int e) { return v[e]; });
  }
#pragma unroll
  for (int s = 0; s < side; ++s)
    sums[s] += __shfl_down_sync(whole_warp, sums[s], rows_of_warp);
  if (lane >= rows_of_warp || place >= a.block_rows())
    return;
  std::int64_t const top = std::int64_t{a.row_at(place)} * side;
#pragma unroll
  for (int s = 0; s < side; ++s)
    if (top + s < a.rows) {
      V const sum =
          sums[s] == sums[s] ? sums[s] : exact_row(c, slice, static_cast<std::size_t>(lane), s);
      update(c.y + top + s, c.alpha, sum, c.beta);
    }
}

/// One thread per row: the rows of a slice by row within the block, then by block row.
template <class V, class I, class O>
__global__ void __launch_bounds__(threads) rows_kernel(__grid_constant__ product<V, I, O> const c) {
  view<V, I, O> const& a = c.a;
  std::size_t const t = blockIdx.x * std::size_t{threads} + threadIdx.x;
  auto const rows = static_cast<std::size_t>(a.chunk * a.height);
  std::size_t const slice = t / rows;
  std::size_t const r = t % rows % static_cast<std::size_t>(a.chunk);
  int const s = static_cast<int>(t % rows / static_cast<std::size_t>(a.chunk));
  std::size_t const place = slice * static_cast<std::size_t>(a.chunk) + r;
  if (place >= a.block_rows())
    return;
  std::int64_t const row = std::int64_t{a.row_at(place)} * a.height + s;
  if (row < a.rows)
    update(c.y + row, c.alpha, exact_row(c, slice, r, s), c.beta);
}

template <class V, class I, class O>
bool is_sliced(view<V, I, O> const& a) {
  return a.chunk == rows_of_warp && a.height == a.width && a.height >= 2 && a.height <= 4 &&
         a.cols % a.width == 0 && reinterpret_cast<std::uintptr_t>(a.val) % 16 == 0 &&
         reinterpret_cast<std::uintptr_t>(a.short_col) % 4 == 0;
}

template <class V, class I, class O>
std::size_t prepare(view<V, I, O> const& a, plan_view& p) {
  if (p.transposed)
    refuse("bsell", "transposed products have no kernel; those of csr and csc do");
  p.method = is_sliced(a) ? "slices" : "rows";
  return 0;
}

template <class V, class I, class O>
void fill(view<V, I, O> const&, plan_view&) {}

template <class V, class I, class O>
void spmv(V alpha, view<V, I, O> const& a, V const* x, V beta, V* y, plan_view const&,
          void* stream) {
  product<V, I, O> const c{a, alpha, beta, x, y};
  if (!is_sliced(a))
    return launch(
        rows_kernel<V, I, O>,
        ceil_div(a.slices() * static_cast<std::size_t>(a.chunk * a.height), std::size_t{threads}),
        threads, stream, c);
  auto const go = [&]<int side>(std::integral_constant<int, side>) {
    launch_early(a.short_col ? slices_kernel<side, true, V, I, O>
                             : slices_kernel<side, false, V, I, O>,
                 ceil_div(a.slices(), std::size_t{threads / 32}), threads, stream, c);
  };
  switch (a.height) {
  case 2:
    return go(std::integral_constant<int, 2>());
  case 3:
    return go(std::integral_constant<int, 3>());
  default:
    return go(std::integral_constant<int, 4>());
  }
}

} // namespace

TULLE_INSTANTIATE_CUDA_SPMV(bsell)

} // namespace tulle::kernels::cuda

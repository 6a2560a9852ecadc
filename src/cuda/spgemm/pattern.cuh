// SPDX-License-Identifier: Apache-2.0

// The arguments of the kernels of C = A B.
#pragma once
#include "cuda/convert/canonical.cuh"
#include "cuda/each.cuh"
#include "cuda/spgemm/product.hpp"

namespace tulle::kernels::cuda {

// The register merge was not tried for rows with more products or entries, except for small rows of
// up to 256: a few of those among windows hold up the others. poisson3Da, memory kept, ms: .57,
// then .72.
inline constexpr int tiny_terms = 8; // entries of A's row
inline constexpr int tiny_products = 64;
inline constexpr int small_terms = 16, small_products = 128;
// Rows are windows if they are at most narrow_window wide, or at most wide_window with at most
// columns_a_product columns per product. fem of 100000 rows: 4.1 ms; 18.6 without the latter, and
// without groups and runs of rows.
inline constexpr int narrow_window = 4096, wide_window = 16384, columns_a_product = 8;
/// Half of wide_window where sums take twice the shared memory.
template <class V>
constexpr int wide_window_of = sizeof(V) <= 8 ? wide_window : wide_window / 2;
// Window rows with at least so many entries of A's row, products, and products per entry are heavy.
// Matrices as in heavy.cu, from 32 and 1024 on: .33 .50 .86 1.76; from 96 and 4096 on: .35 .55 .81
// 1.59.
inline constexpr int heavy_terms = 64, heavy_products = 2048, heavy_length = 16;
inline constexpr int heap_terms = 32; // entries of A's row
// Products of the three bins of short rows. Longer rows use tiles, or a sort of all products if
// there are at least columns_scattered columns per product: a tile has 64 products then.
inline constexpr unsigned columns_scattered = 32;
inline constexpr int short_s = 256, short_m = 1024, short_l = 4096;
// In the last two of these bins, rows are long if their rows of B have so many entries on average;
// see sorted.cu.
inline constexpr unsigned long_terms = 40, longest_terms = 64;
// Products of a row in Liu's bins 1 to 32 and 33 to 36; the last bin has the other rows.
inline constexpr int most_by_heap = 32, most_by_esc = 512;

/// Offsets in kernels are unsigned: loops step up to 160 past the last entry, and there may be 2^31
/// - 1 entries.
template <class O>
using unsigned_t = std::make_unsigned_t<O>;

/// Rows and columns of a csr; O is unsigned.
template <class I, class O>
struct pattern {
  O const* ptr;
  I const* col;
  I rows, cols;
};
/// The same with values.
template <class V, class I, class O>
struct operand : pattern<I, O> {
  V const* val;
};
template <class V, class I, class O>
operand<V, I, unsigned_t<O>> operand_of(device_csr<V, I, O> const& a) {
  return {{reinterpret_cast<unsigned_t<O> const*>(a.row_ptr), a.col, a.rows, a.cols}, a.val};
}

/// Sums of other semirings begin with their first product.
template <class S>
constexpr bool is_usual = S::kind == semiring_kind::plus_times;

inline std::size_t rows_in(product_state const& p, row_bin b) {
  return p.all.rows[static_cast<int>(b)];
}
/// The rows of a bin that is listed.
template <class I>
I const* listed(product_state const& p, row_bin b) {
  auto const* list = static_cast<I const*>(p.list);
  for (int k = static_cast<int>(row_bin::small); k < static_cast<int>(b); ++k)
    list += p.all.rows[k];
  return list;
}

/// The columns that C's row may have.
template <class I>
struct extent {
  I low, high;
  __device__ int words() const { // of one bit per column, a multiple of 32 for the lanes
    return static_cast<int>((high - low) / 1024 + 1) * 32;
  }
};
/// The columns of the products of entries [begin, end) of A, by so many lanes; each lane counts its
/// products.
template <int lanes = 32, class I, class O>
__device__ extent<I> columns_of(O begin, O end, pattern<I, O> const& a, pattern<I, O> const& b,
                                int lane, O& products) {
  extent<I> e = {b.cols, 0};
#pragma unroll 4
  for (O k = begin + lane; k < end; k += lanes) {
    I const j = a.col[k];
    O const from = b.ptr[j], to = b.ptr[j + 1];
    products += to - from;
    if (from < to) {
      e.low = min(e.low, b.col[from]);
      e.high = max(e.high, b.col[to - 1]);
    }
  }
#pragma unroll
  for (int d = lanes / 2; d > 0; d /= 2) {
    e.low = min(e.low, __shfl_xor_sync(whole_warp, e.low, d));
    e.high = max(e.high, __shfl_xor_sync(whole_warp, e.high, d));
  }
  return e;
}
template <int lanes = 32, class I, class O>
__device__ extent<I> columns_of(O begin, O end, pattern<I, O> const& a, pattern<I, O> const& b,
                                int lane) {
  O products = 0;
  return columns_of<lanes>(begin, end, a, b, lane, products);
}
/// The number of products of entries [begin, end) of A.
template <int lanes = 32, class I, class O>
__device__ O products_of(O begin, O end, pattern<I, O> const& a, pattern<I, O> const& b, int lane) {
  O n = 0; // fits: A's row names each row of B once
#pragma unroll 4
  for (O k = begin + lane; k < end; k += lanes) {
    I const j = a.col[k];
    n += b.ptr[j + 1] - b.ptr[j];
  }
  return reduce<lanes>(n);
}

/// Consecutive window rows of A with the same columns.
template <class I>
struct window_group {
  I row, rows;
};

} // namespace tulle::kernels::cuda

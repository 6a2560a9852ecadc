// SPDX-License-Identifier: Apache-2.0

// Rows of C whose columns lie close together, as those of meshes and stencils do: a warp a row. A
// byte a column is set where there is a product; of those bytes come the columns. Values are added
// one row of B after the other, its entries by the lanes, each at the rank of its column among C's,
// which a bitmap in shared memory tells. Consecutive rows of A with the same columns share all of
// that but the sums.
//
// A hash table and a sort took 6.9 times as long on an H200, atomic adds in shared memory 1.2 times.
#pragma once
#include "cuda/spgemm/pattern.cuh"

namespace tulle::simt {
namespace {

constexpr int window_threads = 128; // of counting; a warp a group
constexpr int most_group_rows = 3;
// Bitmaps are kept from counting to filling where all of them take no more than this; else flags
// are set again.
constexpr std::size_t bitmap_bytes = std::size_t{24} << 20;

/// The first column of the rows of B that A's row names; all lanes get it.
template <class I, class O>
__device__ I first_column(O begin, O end, pattern<I, O> const& a, pattern<I, O> const& b,
                          int lane) {
  I low = b.cols;
  for (O k = begin + lane; k < end; k += 32) {
    I const j = a.col[k];
    O const from = b.ptr[j];
    if (from < b.ptr[j + 1])
      low = min(low, b.col[from]);
  }
#pragma unroll
  for (int d = 16; d > 0; d /= 2)
    low = min(low, __shfl_xor_sync(whole_warp, low, d));
  return low;
}

/// flag[j - low] = 1 for each column j of C's row; flags are in shared memory, one warp's.
template <class I, class O>
__device__ void set_flags(O begin, O end, pattern<I, O> const& a, pattern<I, O> const& b, I low,
                          std::uint8_t* flag, int lane) {
  for (O chunk = begin; chunk < end; chunk += 32) {
    O from = 0, to = 0;
    if (chunk + lane < end) {
      I const j = a.col[chunk + lane];
      from = b.ptr[j];
      to = b.ptr[j + 1];
    }
    int const rows = static_cast<int>(end - chunk < 32 ? end - chunk : 32);
    for (int q = 0; q < rows; q += 4) { // four rows of B in flight, 64 entries of each
      O at[4], stop[4];
      I col[8];
#pragma unroll
      for (int u = 0; u < 4; ++u) { // beyond `rows` lanes hold empty ones
        at[u] = __shfl_sync(whole_warp, from, q + u) + lane;
        stop[u] = __shfl_sync(whole_warp, to, q + u);
        col[2 * u] = at[u] < stop[u] ? b.col[at[u]] : I(-1);
        col[2 * u + 1] = at[u] + 32 < stop[u] ? b.col[at[u] + 32] : I(-1);
      }
#pragma unroll
      for (int u = 0; u < 8; ++u)
        if (col[u] >= 0)
          flag[col[u] - low] = 1;
#pragma unroll
      for (int u = 0; u < 4; ++u)
        for (O k = at[u] + 64; k < stop[u]; k += 32)
          flag[b.col[k] - low] = 1;
    }
  }
}

/// Counts C's rows, or, where there is C, writes their columns; width is that of the widest window,
/// a multiple of 128. Bitmaps of width / 32 words each are kept, or used, where there are any.
template <bool writes, class I, class O>
__global__ void __launch_bounds__(window_threads)
    window_kernel(pattern<I, O> a, pattern<I, O> b, window_group<I> const* groups,
                  std::size_t group_count, int width, bool has_bitmaps, unsigned* bitmaps,
                  O* counts, window_found* found, I* c_col) {
  extern __shared__ std::uint8_t window_flags[];
  int const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  std::size_t const g = blockIdx.x * std::size_t{window_threads / 32} + warp;
  if (g >= group_count)
    return;
  std::uint8_t* const flag = window_flags + warp * width;
  auto* const four_flags = reinterpret_cast<unsigned*>(flag);
  window_group<I> const group = groups[g];
  O const begin = a.ptr[group.row], end = a.ptr[group.row + 1];
  I const low = first_column(begin, end, a, b, lane);
  unsigned* const bitmap = bitmaps + g * static_cast<std::size_t>(width / 32);
  if (!writes || !has_bitmaps) {
    for (int k = lane; k < width / 4; k += 32)
      four_flags[k] = 0;
    __syncwarp();
    set_flags(begin, end, a, b, low, flag, lane);
    __syncwarp();
  }
  if constexpr (writes) {
    O const at = counts[group.row], stride = counts[group.row + 1] - at;
    O n = 0;
    unsigned word = 0;
    for (int k = 0; k < width / 32; ++k) {
      unsigned set = 0;
      if (has_bitmaps) { // a word a lane, 32 words at once
        if (k % 32 == 0)
          word = k + lane < width / 32 ? bitmap[k + lane] : 0;
        set = __shfl_sync(whole_warp, word, k % 32);
      } else {
        set = __ballot_sync(whole_warp, flag[k * 32 + lane] != 0);
      }
      if (set >> lane & 1) {
        O const place = at + n + __popc(set & ((1u << lane) - 1));
        for (int r = 0; r < static_cast<int>(group.rows); ++r)
          c_col[place + r * stride] = low + k * 32 + lane;
      }
      n += __popc(set);
    }
  } else {
    int n = 0;
    for (int k = lane; k < width / 4; k += 32)
      n += __popc(four_flags[k]);
    n = reduce<32>(n);
    if (lane < static_cast<int>(group.rows))
      counts[group.row + lane] = n;
    if (lane == 0) {
      int const which = n <= window_entries[0] ? 0 : n <= window_entries[1] ? 1 : 2;
      found->is_there[which] = 1; // by whoever; adding would queue all of them at one address
      if (found->most[which] < static_cast<unsigned long long>(n))
        atomicMax(&found->most[which], static_cast<unsigned long long>(n));
    }
    if (has_bitmaps) {
      unsigned word = 0;
      for (int k = 0; k < width / 32; ++k) {
        unsigned const set = __ballot_sync(whole_warp, flag[k * 32 + lane] != 0);
        word = lane == k % 32 ? set : word;
        if (k % 32 == 31 || k + 1 == width / 32)
          if (k / 32 * 32 + lane <= k)
            bitmap[k / 32 * 32 + lane] = word;
      }
    }
  }
}

/// C's values, where its columns are there, for groups whose rows have more than `above` and at
/// most `most` entries.
template <int rows, class V, class I, class O>
__global__ void __launch_bounds__(32, 14)
    window_fill_kernel(pattern<I, O> a, V const* a_val, pattern<I, O> b, V const* b_val,
                       window_group<I> const* groups, int width, int above, int most,
                       O const* c_ptr, I const* c_col, V* c_val) {
  extern __shared__ double window_sums[];
  V* const sum = reinterpret_cast<V*>(window_sums); // `most` for each row of the group
  auto* const bitmap = reinterpret_cast<unsigned*>(sum + rows * most);
  auto* const rank = reinterpret_cast<int*>(bitmap + width / 32);
  int const lane = threadIdx.x;
  window_group<I> const group = groups[blockIdx.x];
  O const at = c_ptr[group.row];
  int const n = static_cast<int>(c_ptr[group.row + 1] - at);
  if (n <= above || n > most)
    return;
  I const low = c_col[at];
  int const words = static_cast<int>(c_col[at + n - 1] - low) / 32 + 1;
  for (int k = lane; k < words; k += 32)
    bitmap[k] = 0;
  for (int k = lane; k < rows * most; k += 32)
    sum[k] = nothing<V>();
  __syncwarp();
  for (int k = lane; k < n; k += 32) {
    int const j = static_cast<int>(c_col[at + k] - low);
    atomicOr(bitmap + j / 32, 1u << j % 32);
  }
  __syncwarp();
  for (int k = 0, before = 0; k < words; k += 32) {
    int const set = k + lane < words ? __popc(bitmap[k + lane]) : 0;
    int const up_to = inclusive_scan(set);
    if (k + lane < words)
      rank[k + lane] = before + up_to - set;
    before += __shfl_sync(whole_warp, up_to, 31);
  }
  __syncwarp();
  auto const place = [&](I column) {
    int const j = static_cast<int>(column - low);
    return rank[j / 32] + __popc(bitmap[j / 32] & ((1u << j % 32) - 1));
  };
  O const begin = a.ptr[group.row], terms = a.ptr[group.row + 1] - begin;
  int const group_rows = static_cast<int>(group.rows);
  for (O chunk = 0; chunk < terms; chunk += 32) {
    O from = 0, to = 0;
    V factors[rows];
#pragma unroll
    for (int r = 0; r < rows; ++r)
      factors[r] = V(0);
    if (chunk + lane < terms) {
      I const j = a.col[begin + chunk + lane];
      from = b.ptr[j];
      to = b.ptr[j + 1];
#pragma unroll
      for (int r = 0; r < rows; ++r)
        if (r < group_rows)
          factors[r] = a_val[begin + r * terms + chunk + lane];
    }
    int const left = static_cast<int>(terms - chunk < 32 ? terms - chunk : 32);
    for (int q = 0; q < left; q += 4) {
      O first[4], stop[4];
      int where[8];
      V x[8];
#pragma unroll
      for (int u = 0; u < 4; ++u) {
        first[u] = __shfl_sync(whole_warp, from, q + u) + lane;
        stop[u] = __shfl_sync(whole_warp, to, q + u);
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          bool const is_there = first[u] + 32 * h < stop[u];
          where[2 * u + h] = is_there ? static_cast<int>(b.col[first[u] + 32 * h] - low) : -1;
          x[2 * u + h] = is_there ? b_val[first[u] + 32 * h] : V(0);
        }
      }
#pragma unroll
      for (int u = 0; u < 8; ++u)
        if (where[u] >= 0)
          where[u] = place(where[u] + low);
#pragma unroll
      for (int u = 0; u < 4; ++u) {
        V factor[rows];
#pragma unroll
        for (int r = 0; r < rows; ++r)
          factor[r] = __shfl_sync(whole_warp, factors[r], q + u);
#pragma unroll
        for (int h = 0; h < 2; ++h)
          if (where[2 * u + h] >= 0) {
#pragma unroll
            for (int r = 0; r < rows; ++r) {
              V* const s = sum + r * most + where[2 * u + h];
              *s = *s + factor[r] * x[2 * u + h];
            }
          }
        for (O k = first[u] + 64; k < stop[u]; k += 32) {
          int const to_place = place(b.col[k]);
#pragma unroll
          for (int r = 0; r < rows; ++r) {
            V* const s = sum + r * most + to_place;
            *s = *s + factor[r] * b_val[k];
          }
        }
        __syncwarp();
      }
    }
  }
#pragma unroll
  for (int r = 0; r < rows; ++r)
    if (r < group_rows)
      for (int k = lane; k < n; k += 32)
        c_val[at + r * n + k] = sum[r * most + k];
}

inline int window_width(cuda_product const& p) {
  return static_cast<int>(ceil_div(p.all.widest, 128ull) * 128);
}

template <bool writes, class I, class O>
void run_windows(cuda_product const& p, pattern<I, O> const& a, pattern<I, O> const& b,
                 unsigned* bitmaps, O* counts, window_found* found, I* c_col) {
  int const width = window_width(p);
  auto const n = static_cast<std::size_t>(p.group_count);
  launch_shared(window_kernel<writes, I, O>, ceil_div(n, std::size_t{window_threads / 32}),
                window_threads, static_cast<std::size_t>(width) * (window_threads / 32), p.stream,
                a, b, static_cast<window_group<I> const*>(p.groups), n, width, bitmaps != nullptr,
                bitmaps, counts, found, c_col);
}

template <class V, class I, class O>
void fill_windows(cuda_product const& p, device_csr<V, I, O> const& a, device_csr<V, I, O> const& b,
                  O const* c_ptr, I const* c_col, V* c_val) {
  int const width = window_width(p);
  auto const run = [&](auto rows, int which) {
    int const most = static_cast<int>(p.windows.most[which]);
    launch_shared(window_fill_kernel<rows(), V, I, O>, static_cast<std::size_t>(p.group_count), 32,
                  rows() * static_cast<std::size_t>(ceil_div(most, 2) * 2) * sizeof(V) +
                      static_cast<std::size_t>(width / 32) * 8,
                  p.stream, pattern_of(a), a.val, pattern_of(b), b.val,
                  static_cast<window_group<I> const*>(p.groups), width,
                  which == 0 ? 0 : window_entries[which - 1], ceil_div(most, 2) * 2, c_ptr, c_col,
                  c_val);
  };
  for (int which = 0; which < window_classes; ++which)
    if (p.windows.is_there[which] != 0) {
      if (p.group_rows == 1)
        run(std::integral_constant<int, 1>(), which);
      else
        run(std::integral_constant<int, most_group_rows>(), which);
    }
}

} // namespace
} // namespace tulle::simt

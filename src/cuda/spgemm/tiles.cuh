// SPDX-License-Identifier: Apache-2.0

// Rows of C with many products: their columns are cut into tiles of 2048, and a warp computes one
// tile of a row in a dense accumulator, one row of B after the other, its entries in parallel. So
// many warps share a long row, and products are still added in the order of A's row. The first
// entry of each row of B in each tile is found once.
//
// On an H200, rmat of 2^17 rows, tiles of 1024 columns took 3 % longer and of 4096 40 %. Eight
// tiles per warp, with sums at the rank of their column, took 26 ms instead of 17: rows of B are
// then in 13 instead of 67 million pieces, but a step of 32 entries takes twice the instructions.
//
// Columns are computed in bands of as many tiles as there is memory for; mostly there is one band.
// If there are more, and tiled rows name few rows of B, the entries of only those are searched.
#pragma once
#include "cuda/spgemm/pattern.cuh"

namespace tulle::kernels::cuda {
namespace {

constexpr int tile_shift = 11, tile_columns = 1 << tile_shift;
constexpr int tile_words = tile_columns / 32;
constexpr int tile_pieces = 4; // pieces of rows of B in flight
constexpr int count_threads = 512;
constexpr std::int64_t most_tiles = 768; // of a band: one bit per column in shared memory
// Most bytes of tile_ptr and of offset.
constexpr std::size_t tile_ptr_bytes = std::size_t{40} << 20;
constexpr std::size_t offset_bytes = std::size_t{12} << 20;

/// ptr[t * rows + j]: the first entry of row j, or of the j-th named row, in tile t of the band
/// that begins with column `first`, or later.
template <class I, class O>
void find_tiles(product_state const& p, pattern<I, O> const& b, long long first) {
  auto const rows = static_cast<std::size_t>(p.tile_rows);
  bool const are_named = p.named_rows != nullptr;
  each(rows * static_cast<std::size_t>(p.tiles + 1), p.stream,
       [=, named = static_cast<I const*>(p.named_rows),
        ptr = static_cast<O*>(p.tile_ptr)] __device__(std::size_t k) {
         std::size_t const t = k / rows,
                           j = are_named ? static_cast<std::size_t>(named[k % rows]) : k % rows;
         long long const least = first + (static_cast<long long>(t) << tile_shift);
         O low = b.ptr[j], high = b.ptr[j + 1];
         while (low < high) {
           O const middle = low + (high - low) / 2;
           if (static_cast<long long>(b.col[middle]) < least)
             low = middle + 1;
           else
             high = middle;
         }
         ptr[k] = low;
       });
}

/// The bits of row i of C in the tiles of a band; neighbouring columns are in different words,
/// since in one word they would wait for each other. By one block.
template <class I, class O>
__device__ void set_tile_bits(pattern<I, O> const& a, pattern<I, O> const& b, I i, long long first,
                              int tiles, O const* tile_ptr, unsigned* bits) {
  int const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int k = threadIdx.x; k < tiles * tile_words; k += count_threads)
    bits[k] = 0;
  __syncthreads();
  O const* const stop =
      tile_ptr + static_cast<std::size_t>(tiles) * static_cast<std::size_t>(b.rows);
  O const end = a.ptr[i + 1];
  for (O k = a.ptr[i] + warp; k < end; k += count_threads / 32) {
    I const j = a.col[k];
    O const from = tile_ptr[j];
    int const n = static_cast<int>(stop[j] - from); // the band has no more
    I const* const col = b.col + from;
#pragma unroll 4
    for (int q = lane; q < n; q += 32) {
      int const c = static_cast<int>(static_cast<long long>(col[q]) - first);
      int const word = (c >> tile_shift) * tile_words + c % tile_words;
      unsigned const bit = 1u << (c / tile_words & 31);
      if ((bits[word] & bit) == 0)
        atomicOr(bits + word, bit);
    }
  }
  __syncthreads();
}

/// offset[h * (tiles + 1) + t]: entries of the h-th tiled row before tile t of the band, including
/// those of the bands before, which `before` counts. counts gets all entries of a row so far. One
/// block per row.
template <class I, class O>
__global__ void __launch_bounds__(count_threads)
    tile_count_kernel(pattern<I, O> a, pattern<I, O> b, I const* list, long long first, int tiles,
                      O const* tile_ptr, O* offset, O* before, bool has_counts, O* counts) {
  extern __shared__ unsigned tile_bits[]; // tile_words per tile, then one number per tile
  int* const of_tile = reinterpret_cast<int*>(tile_bits + tiles * tile_words);
  int const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  std::size_t const h = blockIdx.x;
  I const i = list[h];
  set_tile_bits(a, b, i, first, tiles, tile_ptr, tile_bits);
  for (int t = warp; t < tiles; t += count_threads / 32) {
    int n = 0;
    for (int k = lane; k < tile_words; k += 32)
      n += __popc(tile_bits[t * tile_words + k]);
    n = reduce<32>(n);
    if (lane == 0)
      of_tile[t] = n;
  }
  __syncthreads();
  if (warp != 0)
    return;
  O* const to = offset + h * static_cast<std::size_t>(tiles + 1);
  O sum = before[h];
  for (int t = 0; t < tiles; t += 32) {
    int const n = t + lane < tiles ? of_tile[t + lane] : 0;
    int const up_to = inclusive_scan(n);
    if (t + lane < tiles)
      to[t + lane] = sum + up_to - n;
    sum += __shfl_sync(whole_warp, up_to, 31);
  }
  __syncwarp();
  if (lane == 0) {
    to[tiles] = sum;
    before[h] = sum;
    if (has_counts)
      counts[i] = sum;
  }
}

/// The same offsets from C's columns, once those are known: one thread each.
template <class I, class O>
void find_offsets(I const* list, std::size_t rows, long long first, std::int64_t tiles,
                  O const* c_ptr, I const* c_col, O* offset, void* stream) {
  auto const each_row = static_cast<std::size_t>(tiles + 1);
  each(rows * each_row, stream, [=] __device__(std::size_t k) {
    std::size_t const t = k % each_row;
    I const i = list[k / each_row];
    long long const least = first + (static_cast<long long>(t) << tile_shift);
    O const begin = c_ptr[i];
    O low = begin, high = c_ptr[i + 1];
    while (low < high) {
      O const middle = low + (high - low) / 2;
      if (static_cast<long long>(c_col[middle]) < least)
        low = middle + 1;
      else
        high = middle;
    }
    offset[k] = low - begin;
  });
}

/// The entries of a row of B in a tile.
template <class V, class O>
struct tile_piece {
  O from, to;
  V factor;
};

/// Adds the entries of a row of B from the 33rd on.
template <class V, class I, class O>
__device__ __forceinline__ void add_long_piece(tile_piece<V, O> const& piece, int length,
                                               pattern<I, O> const& b, V const* b_val, I low,
                                               V* sum) {
  int const lane = threadIdx.x;
  for (int k = 32; k < length; k += 32 * tile_pieces) {
    int more[tile_pieces];
    V y[tile_pieces];
#pragma unroll
    for (int v = 0; v < tile_pieces; ++v) {
      bool const is_there = k + 32 * v + lane < length;
      more[v] = is_there ? static_cast<int>((b.col + piece.from)[k + 32 * v + lane] - low) : -1;
      y[v] = is_there ? (b_val + piece.from)[k + 32 * v + lane] : V(0);
    }
#pragma unroll
    for (int v = 0; v < tile_pieces; ++v)
      if (more[v] >= 0)
        sum[more[v]] = sum[more[v]] + piece.factor * y[v];
  }
}

/// Adds pieces of rows of B to a tile that begins with column `low`. Of the last tile_pieces, some
/// may be empty.
template <class V, class I, class O>
__device__ __forceinline__ void add_pieces(tile_piece<V, O> const* piece, int pieces,
                                           pattern<I, O> const& b, V const* b_val, I low, V* sum) {
  int const lane = threadIdx.x;
  for (int p = 0; p < pieces; p += tile_pieces) {
    tile_piece<V, O> now[tile_pieces];
    int length[tile_pieces], c[tile_pieces];
    V x[tile_pieces];
#pragma unroll
    for (int u = 0; u < tile_pieces; ++u) {
      now[u] = piece[p + u];
      length[u] = static_cast<int>(now[u].to - now[u].from);
      c[u] = lane < length[u] ? static_cast<int>((b.col + now[u].from)[lane] - low) : -1;
      x[u] = lane < length[u] ? (b_val + now[u].from)[lane] : V(0);
    }
#pragma unroll
    for (int u = 0; u < tile_pieces; ++u) {
      if (c[u] >= 0)
        sum[c[u]] = sum[c[u]] + now[u].factor * x[u];
      add_long_piece(now[u], length[u], b, b_val, low, sum);
      __syncwarp();
    }
  }
}

/// The products of a row of A, its entries [begin, end), in a tile. from, to: the begin and end of
/// rows of B in it. piece: room for 32.
template <class V, class I, class O>
__device__ __forceinline__ void add_row(pattern<I, O> const& a, V const* a_val, O begin, O end,
                                        O const* from, O const* to, pattern<I, O> const& b,
                                        V const* b_val, I low, tile_piece<V, O>* piece, V* sum) {
  int const lane = threadIdx.x;
  unsigned const below = (1u << lane) - 1;
  // The data of the next 32 rows of B are loaded while the last 32 are added.
  tile_piece<V, O> next = {0, 0, V(0)};
  I row_after = -1;
  if (begin + lane < end) {
    I const j = a.col[begin + lane];
    next = {from[j], to[j], a_val[begin + lane]};
  }
  if (begin + 32 + lane < end)
    row_after = a.col[begin + 32 + lane];
  for (O chunk = begin; chunk < end; chunk += 32) {
    // Rows that have entries in the tile come first.
    unsigned const filled = __ballot_sync(whole_warp, next.to > next.from);
    int const pieces = __popc(filled);
    piece[next.to > next.from ? __popc(filled & below) : pieces + __popc(~filled & below)] = next;
    __syncwarp();
    next = {0, 0, V(0)};
    if (row_after >= 0)
      next = {from[row_after], to[row_after], a_val[chunk + 32 + lane]};
    row_after = chunk + 64 + lane < end ? a.col[chunk + 64 + lane] : I(-1);
    add_pieces(piece, pieces, b, b_val, low, sum); // 32 is a multiple of tile_pieces
  }
}

/// Takes the values of n known columns from a tile and clears it.
template <class V, class I>
__device__ __forceinline__ void take_values(I const* col, int n, I low, V* sum, V* val) {
  for (int q = threadIdx.x; q < n; q += 32) {
    int const column = static_cast<int>(col[q] - low);
    val[q] = sum[column];
    sum[column] = nothing<V>();
  }
  __syncwarp();
}

/// Sets the bits of columns that have a product of the row.
template <class I, class O>
__device__ __forceinline__ void set_product_bits(pattern<I, O> const& a, O begin, O end,
                                                 O const* from, O const* to, pattern<I, O> const& b,
                                                 I low, unsigned* bits) {
  int const lane = threadIdx.x;
  for (int k = lane; k < tile_words; k += 32)
    bits[k] = 0;
  __syncwarp();
  for (O k = begin; k < end; ++k) {
    I const j = a.col[k];
    for (O q = from[j] + lane; q < to[j]; q += 32) {
      auto const column = static_cast<unsigned>(b.col[q] - low);
      atomicOr(bits + column / 32, 1u << column % 32);
    }
  }
  __syncwarp();
}

/// Takes columns and values from a tile and clears it: sums that are not nothing() if is_plain,
/// otherwise those whose bit is set.
template <class V, class I, class O>
__device__ __forceinline__ void take_entries(bool is_plain, unsigned const* bits, I low, V* sum,
                                             O at, I* c_col, V* c_val) {
  int const lane = threadIdx.x;
  unsigned const below = (1u << lane) - 1;
#pragma unroll 8
  for (int k = 0; k < tile_words; ++k) {
    V const y = sum[k * 32 + lane];
    bool const is_entry = is_plain ? !is_nothing(y) : (bits[k] >> lane & 1) != 0;
    unsigned const set = __ballot_sync(whole_warp, is_entry);
    if (is_entry) {
      O const place = at + __popc(set & below);
      c_val[place] = y;
      c_col[place] = low + k * 32 + lane;
      sum[k * 32 + lane] = nothing<V>();
    }
    at += __popc(set);
  }
  __syncwarp();
}

/// Fills tiles of rows in the order of tickets, values alone or with columns. Columns of products
/// are those whose sum is not -0, if these are as many as were counted; otherwise some sum is -0,
/// and the columns are found again.
template <class V, class I, class O>
__global__ void __launch_bounds__(32, 13)
    tile_fill_kernel(pattern<I, O> a, V const* a_val, pattern<I, O> b, V const* b_val,
                     I const* list, std::size_t rows, long long first, int tiles, O const* tile_ptr,
                     O const* offset, O const* c_ptr, I* c_col, V* c_val, bool with_columns,
                     unsigned long long* ticket) {
  __shared__ V sum[tile_columns];
  __shared__ tile_piece<V, O> piece[32];
  static_assert(sizeof piece >= tile_words * sizeof(unsigned) && 32 % tile_pieces == 0);
  auto* const bits = reinterpret_cast<unsigned*>(piece); // overlaid once the pieces are used
  int const lane = threadIdx.x;
  auto const rows_b = static_cast<std::size_t>(b.rows);
  unsigned long long const jobs = rows * static_cast<unsigned long long>(tiles);
  auto const take = [&] { return lane == 0 ? atomicAdd(ticket, 1ull) : 0ull; };
  for (int k = lane; k < tile_columns; k += 32)
    sum[k] = nothing<V>();
  __syncwarp();
  unsigned long long next_job = take();
  while (true) {
    unsigned long long const job = __shfl_sync(whole_warp, next_job, 0);
    if (job >= jobs)
      return;
    next_job = take();
    std::size_t const t = job / rows, h = job % rows;
    O const* const places = offset + h * static_cast<std::size_t>(tiles + 1) + t;
    int const n = static_cast<int>(places[1] - places[0]);
    if (n == 0)
      continue;
    I const i = list[h];
    auto const low = static_cast<I>(first + (static_cast<long long>(t) << tile_shift));
    O const at = c_ptr[i] + places[0];
    O const begin = a.ptr[i], end = a.ptr[i + 1];
    O const* const from = tile_ptr + t * rows_b;
    O const* const to = from + rows_b;
    add_row(a, a_val, begin, end, from, to, b, b_val, low, piece, sum);
    if (!with_columns) {
      take_values(static_cast<I const*>(c_col + at), n, low, sum, c_val + at);
      continue;
    }
    int found = 0;
#pragma unroll 8
    for (int k = lane; k < tile_columns; k += 32)
      found += !is_nothing(sum[k]);
    bool const is_plain = reduce<32>(found) == n;
    if (!is_plain)
      set_product_bits(a, begin, end, from, to, b, low, bits);
    take_entries(is_plain, bits, low, sum, at, c_col, c_val);
  }
}

/// Plans bands for so many rows of B, within the rest of the limit; `spent` bytes are used
/// elsewhere.
template <class I, class O>
void plan_tiles(product_state& p, pattern<I, O> const& b, std::int64_t rows,
                std::size_t spent = 0) {
  p.tile_rows = rows;
  std::int64_t const all = (static_cast<std::int64_t>(b.cols) + tile_columns - 1) / tile_columns;
  std::size_t const limit = scratch_limit::rest();
  auto const fit = [&](std::size_t bytes, std::size_t rows) {
    return static_cast<std::int64_t>(std::min(bytes, limit / 3) / (rows * sizeof(O))) - 1;
  };
  p.tiles = std::min({all, most_tiles, fit(tile_ptr_bytes - spent, static_cast<std::size_t>(rows)),
                      fit(offset_bytes, rows_in(p, row_bin::tiled))});
  p.tiles = std::max<std::int64_t>(p.tiles, 1);
  p.bands = (all + p.tiles - 1) / p.tiles;
}

/// A with columns, and B with rows, numbered among the named rows, if those are few: the kernels
/// use them to index tile_ptr only.
template <class I, class O>
pattern<I, O> by_name(product_state const& p, pattern<I, O> a) {
  if (p.named_terms)
    a.col = static_cast<I const*>(p.named_terms);
  return a;
}
template <class I, class O>
pattern<I, O> among_named(product_state const& p, pattern<I, O> b) {
  b.rows = static_cast<I>(p.tile_rows);
  return b;
}

inline void forget_bands(product_state const& p, std::size_t bytes) {
  TULLE_CUDA(cudaMemsetAsync, p.before, 0, rows_in(p, row_bin::tiled) * bytes,
             static_cast<cudaStream_t>(p.stream));
}
/// Calls f(first column) for each band, after tile_ptr is computed for it.
template <class I, class O, class F>
void each_band(product_state const& p, pattern<I, O> const& b, bool is_known, F&& f) {
  for (std::int64_t band = 0; band < p.bands; ++band) {
    long long const first = band * p.tiles << tile_shift;
    if (p.bands > 1 || !is_known)
      find_tiles(p, b, first);
    f(first);
  }
}

/// Finds the offsets of C's rows in the tiles of a band, by counting; counts may be nullptr.
template <class I, class O>
void count_band(product_state const& p, pattern<I, O> const& a, pattern<I, O> const& b,
                long long first, O* counts) {
  launch_shared(tile_count_kernel<I, O>, rows_in(p, row_bin::tiled), count_threads,
                static_cast<std::size_t>(p.tiles) * (tile_words + 1) * sizeof(unsigned), p.stream,
                by_name(p, a), among_named(p, b), listed<I>(p, row_bin::tiled), first,
                static_cast<int>(p.tiles), static_cast<O const*>(p.tile_ptr),
                static_cast<O*>(p.offset), static_cast<O*>(p.before), counts != nullptr, counts);
}

template <class I, class O>
void count_tiles(product_state const& p, pattern<I, O> const& a, pattern<I, O> const& b,
                 O* counts) {
  if (rows_in(p, row_bin::tiled) == 0)
    return;
  forget_bands(p, sizeof(O));
  each_band(p, b, false, [&](long long first) { count_band(p, a, b, first, counts); });
}

/// With one band, tile_ptr and offset are those that counting left.
template <class V, class I, class O>
void fill_tiles(product_state const& p, operand<V, I, O> const& a, operand<V, I, O> const& b,
                O const* c_ptr, I* c_col, V* c_val, bool with_columns) {
  std::size_t const rows = rows_in(p, row_bin::tiled);
  if (rows == 0)
    return;
  int resident = 0;
  TULLE_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor, &resident, tile_fill_kernel<V, I, O>,
             32, 0);
  std::size_t const jobs = rows * static_cast<std::size_t>(p.tiles);
  pattern<I, O> const of_a = by_name<I, O>(p, a), of_b = among_named<I, O>(p, b);
  forget_bands(p, sizeof(O));
  each_band(p, b, true, [&](long long first) {
    if (p.bands > 1 && with_columns)
      count_band(p, a, b, first, static_cast<O*>(nullptr));
    if (p.bands > 1 && !with_columns)
      find_offsets(listed<I>(p, row_bin::tiled), rows, first, p.tiles, c_ptr,
                   static_cast<I const*>(c_col), static_cast<O*>(p.offset), p.stream);
    TULLE_CUDA(cudaMemsetAsync, p.ticket, 0, sizeof *p.ticket, static_cast<cudaStream_t>(p.stream));
    launch(tile_fill_kernel<V, I, O>,
           std::min(jobs, static_cast<std::size_t>(p.multiprocessors * resident)), 32, p.stream,
           of_a, a.val, of_b, b.val, listed<I>(p, row_bin::tiled), rows, first,
           static_cast<int>(p.tiles), static_cast<O const*>(p.tile_ptr),
           static_cast<O const*>(p.offset), c_ptr, c_col, c_val, with_columns, p.ticket);
  });
}

} // namespace
} // namespace tulle::kernels::cuda

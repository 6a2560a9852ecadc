// SPDX-License-Identifier: Apache-2.0

// Rows of C whose columns lie close together, as those of meshes and stencils do. One bit per
// column is set where there is a product; the columns are read from the bits. Values are added one
// row of B after the other, its entries in parallel, each at the rank of its column in C's row,
// found by a bitmap in shared memory.
//
// Consecutive rows of A with the same columns share all of this except the sums; consecutive rows
// of B with the same columns are added while a sum is in a register. Matrices of small blocks have
// both.
//
// On an H200 a hash table and a sort took 6.9 times as long, atomic adds in shared memory 1.2
// times.
#pragma once
#include "cuda/primitive/search.cuh"
#include "cuda/spgemm/pattern.cuh"

namespace tulle::kernels::cuda {
namespace {

constexpr int window_threads = 128; // for counting; one warp per group
// For filling a group; 32: fem of 100000 rows 2.0 ms instead of 1.3.
constexpr int fill_threads = 64;
constexpr int most_group_rows = 3;

/// Whether the row of B in this lane has the columns of the one in the lane before.
template <class I>
__device__ bool follows(I j, int lane, bool has_runs, std::uint8_t const* same) {
  I const before = __shfl_up_sync(whole_warp, j, 1);
  return has_runs && lane > 0 && j >= 0 && before + 1 == j && same[j] != 0;
}

/// Sets the bit of each column j of C's row: j - low is bit / words of word % words, so that
/// neighbouring columns, which mostly come together, are in different words.
template <class I, class O>
__device__ void set_bits(O begin, O end, pattern<I, O> const& a, pattern<I, O> const& b,
                         bool has_runs, std::uint8_t const* same, I low, int words, unsigned* bits,
                         int lane) {
  auto const set = [&](I column) {
    auto const j = static_cast<unsigned>(column - low);
    unsigned const bit = 1u << j / static_cast<unsigned>(words);
    unsigned* const word = bits + j % static_cast<unsigned>(words);
    if ((*word & bit) == 0)
      atomicOr(word, bit);
  };
  for (O chunk = begin; chunk < end; chunk += 32) {
    I const j = chunk + lane < end ? a.col[chunk + lane] : I(-1);
    O const from = j >= 0 ? b.ptr[j] : O(0);
    int const length = j >= 0 ? static_cast<int>(b.ptr[j + 1] - from) : 0; // the window has no more
    bool const is_known = follows(j, lane, has_runs, same);
    unsigned left = __ballot_sync(whole_warp, length > 0 && !is_known);
    while (left != 0) { // four rows of B in flight, 64 entries of each
      I const* at[4];
      int n[4];
      I col[8];
#pragma unroll
      for (int u = 0; u < 4; ++u) {
        int const q = left != 0 ? __ffs(static_cast<int>(left)) - 1 : 0;
        at[u] = b.col + __shfl_sync(whole_warp, from, q);
        n[u] = left != 0 ? __shfl_sync(whole_warp, length, q) : 0;
        left &= left - 1;
        col[2 * u] = lane < n[u] ? at[u][lane] : I(-1);
        col[2 * u + 1] = lane + 32 < n[u] ? at[u][lane + 32] : I(-1);
      }
#pragma unroll
      for (int u = 0; u < 8; ++u)
        if (col[u] >= 0)
          set(col[u]);
#pragma unroll
      for (int u = 0; u < 4; ++u)
        for (int k = lane + 64; k < n[u]; k += 32)
          set(at[u][k]);
    }
  }
}

/// Records that a row has n entries; called by one thread.
__device__ inline void note(window_found* found, int n) {
  int const which = window_class(n);
  found->is_there[which] = 1; // all write the same value; additions would serialize at one address
  if (found->most[which] < static_cast<unsigned long long>(n))
    atomicMax(&found->most[which], static_cast<unsigned long long>(n));
}

/// Counts C's rows, or writes their columns once C is allocated.
template <bool writes, class I, class O>
__global__ void __launch_bounds__(window_threads)
    window_kernel(pattern<I, O> a, pattern<I, O> b, bool has_runs, std::uint8_t const* same,
                  window_group<I> const* groups, std::size_t group_count, int most_words, O* counts,
                  window_found* found, I* c_col) {
  extern __shared__ unsigned window_bits[];
  int const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  std::size_t const g = blockIdx.x * std::size_t{window_threads / 32} + warp;
  if (g >= group_count)
    return;
  unsigned* const bits = window_bits + warp * most_words;
  window_group<I> const group = groups[g];
  O const begin = a.ptr[group.row], end = a.ptr[group.row + 1];
  extent<I> const e = columns_of(begin, end, a, b, lane);
  int const words = e.words();
  for (int k = lane; k < words; k += 32)
    bits[k] = 0;
  __syncwarp();
  set_bits(begin, end, a, b, has_runs, same, e.low, words, bits, lane);
  __syncwarp();
  if constexpr (writes) {
    O at = counts[group.row];
    O const n = counts[group.row + 1] - at;
    for (int bit = 0; bit < 32; ++bit)
      for (int k = lane; k < words; k += 32) {
        bool const is_set = (bits[k] >> bit & 1) != 0;
        unsigned const set = __ballot_sync(whole_warp, is_set);
        if (is_set)
          for (int r = 0; r < static_cast<int>(group.rows); ++r)
            c_col[at + r * n + __popc(set & ((1u << lane) - 1))] = e.low + bit * words + k;
        at += __popc(set);
      }
  } else {
    int n = 0;
    for (int k = lane; k < words; k += 32)
      n += __popc(bits[k]);
    n = reduce<32>(n);
    if (lane < static_cast<int>(group.rows))
      counts[group.row + lane] = n;
    if (lane == 0)
      note(found, n);
  }
}

/// The initial value of the sums of other semirings: a signalling NaN. No product has these bits,
/// since arithmetic gives quiet NaN.
__device__ inline void set_untouched(double& x) {
  x = __longlong_as_double(0x7ff0000000000001ll);
}
__device__ inline void set_untouched(float& x) {
  x = __int_as_float(0x7f800001);
}
__device__ inline bool is_untouched_part(double x) {
  return __double_as_longlong(x) == 0x7ff0000000000001ll;
}
__device__ inline bool is_untouched_part(float x) {
  return __float_as_int(x) == 0x7f800001;
}
template <class V>
__device__ bool is_untouched(V v) {
  return all_parts(v, [](auto part) { return is_untouched_part(part); });
}

/// The rank of a column among a row's n columns: by one bit each, and the number of columns before
/// each word.
template <class I>
struct by_rank {
  I low;
  unsigned* bitmap;
  std::uint16_t* rank;

  static std::size_t bytes(int words, int) {
    return static_cast<std::size_t>(words) * (sizeof(unsigned) + sizeof(std::uint16_t));
  }
  __device__ by_rank(void* at, int most_words, I const* col, int n)
      : low(col[0]), bitmap(static_cast<unsigned*>(at)),
        rank(reinterpret_cast<std::uint16_t*>(bitmap + most_words)) {
    int const t = threadIdx.x, lane = t % 32;
    int const words = static_cast<int>(col[n - 1] - low) / 32 + 1;
    for (int k = t; k < words; k += fill_threads)
      bitmap[k] = 0;
    __syncthreads();
    for (int k = t; k < n; k += fill_threads * 8) { // eight loads in flight
      I column[8];
#pragma unroll
      for (int u = 0; u < 8; ++u)
        column[u] = k + fill_threads * u < n ? col[k + fill_threads * u] : I(-1);
#pragma unroll
      for (int u = 0; u < 8; ++u)
        if (column[u] >= 0) {
          auto const j = static_cast<unsigned>(column[u] - low);
          atomicOr(bitmap + j / 32, 1u << j % 32);
        }
    }
    __syncthreads();
    if (t < 32)
      for (int k = 0, before = 0; k < words; k += 32) {
        int const set = k + lane < words ? __popc(bitmap[k + lane]) : 0;
        int const up_to = inclusive_scan(set);
        if (k + lane < words)
          rank[k + lane] = static_cast<std::uint16_t>(before + up_to - set);
        before += __shfl_sync(whole_warp, up_to, 31);
      }
  }
  __device__ int operator()(I column) const {
    auto const j = static_cast<unsigned>(column - low);
    return rank[j / 32] + __popc(bitmap[j / 32] & ((1u << j % 32) - 1));
  }
};
/// The same by a search, if columns are too far apart for a bitmap.
template <class I>
struct by_search {
  I* columns;
  int n;

  static std::size_t bytes(int, int most) { return static_cast<std::size_t>(most) * sizeof(I); }
  __device__ by_search(void* at, int, I const* col, int n) : columns(static_cast<I*>(at)), n(n) {
    for (int k = threadIdx.x; k < n; k += fill_threads)
      columns[k] = col[k];
  }
  __device__ int operator()(I column) const {
    return lower_bound(static_cast<I const*>(columns), n, column);
  }
};

/// The lanes at which runs of up to `deep` rows of B begin, each lane having one row or none.
template <int deep, class I>
__device__ __forceinline__ unsigned runs_begin(bool is_term, I j, int in_chunk, bool has_runs,
                                               std::uint8_t const* same) {
  if (deep == 1)
    return in_chunk == 32 ? whole_warp : (1u << in_chunk) - 1;
  int const lane = threadIdx.x % 32;
  bool const is_next = follows(j, lane, has_runs, same);
  unsigned const begins = __ballot_sync(whole_warp, is_term && !is_next);
  int const since = __clz(static_cast<int>(begins << (31 - lane))); // begins has bit 0
  return __ballot_sync(whole_warp, is_term && since % deep == 0);
}

/// The sums of a window in shared memory, and what is added to them.
template <int rows, class Place, class V, class I, class O>
struct window_sums {
  V* sum; // `most` for each row
  int most;
  V const* factor; // of 32 entries of each row of A
  Place const& place;
  I const* col; // of B
  V const* val;
};

/// Adds runs of rows of B, `ahead` of them in flight. `from` and `entries`: of the row of B in this
/// lane; left: lanes at which runs begin.
template <int rows, int deep, int ahead, class S, class Place, class V, class I, class O>
__device__ __forceinline__ void add_runs(window_sums<rows, Place, V, I, O> const& w, O from,
                                         int entries, int in_chunk, unsigned left) {
  int const t = threadIdx.x;
  while (left != 0) {
    O first[ahead];
    int lead[ahead], depth[ahead], length[ahead], where[ahead];
    I column[ahead];
    V x[ahead][deep];
#pragma unroll
    for (int u = 0; u < ahead; ++u) {
      bool const is_run = left != 0;
      lead[u] = is_run ? __ffs(static_cast<int>(left)) - 1 : 0;
      left &= left - 1;
      int const next = left != 0 ? __ffs(static_cast<int>(left)) - 1 : in_chunk;
      depth[u] = !is_run ? 0 : deep == 1 ? 1 : next - lead[u];
      first[u] = __shfl_sync(whole_warp, from, lead[u]);
      length[u] = __shfl_sync(whole_warp, entries, lead[u]);
      bool const is_there = is_run && t < length[u];
      column[u] = is_there ? (w.col + first[u])[t] : I(-1);
#pragma unroll
      for (int h = 0; h < deep; ++h)
        x[u][h] = is_there && h < depth[u] ? (w.val + first[u])[t + h * length[u]] : V(0);
    }
#pragma unroll
    for (int u = 0; u < ahead; ++u)
      where[u] = column[u] >= 0 ? w.place(column[u]) : -1;
#pragma unroll
    for (int u = 0; u < ahead; ++u) {
      if (depth[u] == 0)
        break;
      V const* const f = w.factor + lead[u] * rows;
      auto const add = [&](int to_place, auto&& value) {
#pragma unroll
        for (int r = 0; r < rows; ++r) {
          V y = w.sum[r * w.most + to_place];
#pragma unroll
          for (int h = 0; h < deep; ++h)
            if (h < depth[u]) {
              V const product = S().multiply(f[h * rows + r], value(h));
              y = is_usual<S> || !is_untouched(y) ? S().add(y, product) : product;
            }
          w.sum[r * w.most + to_place] = y;
        }
      };
      if (where[u] >= 0)
        add(where[u], [&](int h) { return x[u][h]; });
      for (int q = t + fill_threads; q < length[u]; q += fill_threads)
        add(w.place((w.col + first[u])[q]),
            [&](int h) { return (w.val + first[u])[q + h * length[u]]; });
      __syncthreads();
    }
  }
}

/// C's values, once its columns are known, for groups whose rows have more than `above` and at most
/// `most` entries: `rows` rows of a group at once, runs of up to `deep` rows of B, `ahead` runs in
/// flight. Further rows of a group are computed by other blocks, `split` blocks per group.
template <int rows, int deep, int ahead, class S, class Place, class Groups, class V, class I,
          class O>
__global__ void __launch_bounds__(fill_threads, 8)
    window_fill_kernel(pattern<I, O> a, V const* a_val, pattern<I, O> b, V const* b_val,
                       bool has_runs, std::uint8_t const* same, Groups groups, int split,
                       int most_words, int above, int most, O const* c_ptr, I const* c_col,
                       V* c_val) {
  extern __shared__ double2 window_memory[];
  V* const sum = reinterpret_cast<V*>(window_memory); // `most` for each row
  V* const factor = sum + rows * most;                // of 32 entries of each row of A
  int const t = threadIdx.x, lane = t % 32;
  window_group<I> const group = groups[blockIdx.x / static_cast<unsigned>(split)];
  int const part = static_cast<int>(blockIdx.x % static_cast<unsigned>(split)) * rows;
  I const row = group.row + part;
  int const rows_here = min(rows, static_cast<int>(group.rows) - part);
  if (rows_here <= 0)
    return;
  O const at = c_ptr[row];
  int const n = static_cast<int>(c_ptr[row + 1] - at);
  if (n <= above || n > most)
    return;
#pragma unroll
  for (int r = 0; r < rows; ++r)
    for (int k = t; k < n; k += fill_threads)
      if constexpr (is_usual<S>)
        sum[r * most + k] = nothing<V>();
      else
        set_untouched(sum[r * most + k]);
  Place const place(factor + 32 * rows, most_words, c_col + at, n);
  window_sums<rows, Place, V, I, O> const sums{sum, most, factor, place, b.col, b_val};
  O const begin = a.ptr[row], terms = a.ptr[row + 1] - begin;
  for (O chunk = 0; chunk < terms; chunk += 32) {
    bool const is_term = chunk + lane < terms;
    I const j = is_term ? a.col[begin + chunk + lane] : I(-1);
    O const from = is_term ? b.ptr[j] : O(0);
    int const entries = is_term ? static_cast<int>(b.ptr[j + 1] - from) : 0;
    __syncthreads(); // the previous factors are not needed any more
#pragma unroll
    for (int r = 0; r < rows; ++r)
      if (t < 32)
        factor[lane * rows + r] =
            is_term && r < rows_here ? a_val[begin + r * terms + chunk + lane] : V(0);
    __syncthreads();
    int const in_chunk = static_cast<int>(terms - chunk < 32 ? terms - chunk : 32);
    unsigned const left = runs_begin<deep>(is_term, j, in_chunk, has_runs, same);
    add_runs<rows, deep, ahead, S>(sums, from, entries, in_chunk, left);
  }
#pragma unroll
  for (int r = 0; r < rows; ++r)
    if (r < rows_here)
      for (int k = t; k < n; k += fill_threads)
        c_val[at + static_cast<O>(r) * n + k] = sum[r * most + k];
}

/// Words of the widest window.
inline int window_words(product_state const& p) {
  return static_cast<int>(ceil_div(p.all.widest, 1024ull) * 32);
}

template <bool writes, class I, class O>
void run_windows(product_state const& p, pattern<I, O> const& a, pattern<I, O> const& b, O* counts,
                 window_found* found, I* c_col) {
  auto const n = static_cast<std::size_t>(p.group_count);
  launch_shared(
      window_kernel<writes, I, O>, ceil_div(n, std::size_t{window_threads / 32}), window_threads,
      static_cast<std::size_t>(window_words(p)) * (window_threads / 32) * sizeof(unsigned),
      p.stream, a, b, p.has_runs, p.same, static_cast<window_group<I> const*>(p.groups), n,
      window_words(p), counts, found, c_col);
}

/// Fills rows of a class of `found`, `rows` of a group at once.
template <int rows, int deep, int ahead, class S, class Place, class Groups, class V, class I,
          class O>
void fill_class(product_state const& p, Groups groups, std::size_t group_count, int split,
                window_found const& found, int which, operand<V, I, O> const& a,
                operand<V, I, O> const& b, O const* c_ptr, I const* c_col, V* c_val) {
  int const most = ceil_div(static_cast<int>(found.most[which]), 2) * 2;
  launch_shared(window_fill_kernel<rows, deep, ahead, S, Place, Groups, V, I, O>,
                group_count * static_cast<std::size_t>(split), fill_threads,
                static_cast<std::size_t>(rows * (most + 32)) * sizeof(V) +
                    Place::bytes(window_words(p), most),
                p.stream, a, a.val, b, b.val, p.has_runs, p.same, groups, split, window_words(p),
                which == 0 ? 0 : window_entries[which - 1], most, c_ptr, c_col, c_val);
}

/// Sums of other semirings are compiled for one row at a time only.
template <class S = plus_times, class V, class I, class O>
void fill_windows(product_state const& p, operand<V, I, O> const& a, operand<V, I, O> const& b,
                  O const* c_ptr, I const* c_col, V* c_val) {
  auto const* const groups = static_cast<window_group<I> const*>(p.groups);
  auto const count = static_cast<std::size_t>(p.group_count);
  for (int which = 0; which < window_classes; ++which) {
    if (p.windows.is_there[which] == 0)
      continue;
    bool const is_last = which + 1 == window_classes; // sums of several rows do not fit
    if (!is_usual<S> || is_last || (p.group_rows == 1 && !p.has_runs))
      fill_class<1, 1, 4, S, by_rank<I>>(p, groups, count, p.group_rows, p.windows, which, a, b,
                                         c_ptr, c_col, c_val);
    else if constexpr (is_usual<S>)
      fill_class<most_group_rows, 3, 3, S, by_rank<I>>(p, groups, count, 1, p.windows, which, a, b,
                                                       c_ptr, c_col, c_val);
  }
}

} // namespace
} // namespace tulle::kernels::cuda

// SPDX-License-Identifier: Apache-2.0

// C = alpha A B + beta C over compressed rows, and over the overflow entries of dynamic rows.
//
// A group of lanes has a row. The group consists of teams, whose sums are added at the end; a team
// has one lane per 16-byte vector of a tile of B's columns, and the number of teams depends on the
// entries of the row. Long rows are cut into parts, each computed by a group like a row; sums of
// parts are added in a second launch, in order. If lengths differ, rows are ordered by the power of
// two of their length, long ones first: the groups of a warp then have similar work, long rows have
// one warp each, and rows of one power of two stay in order. A B that is not row-major is packed.
//
// Bytes that must move, double with 32-bit indices and w columns: 12 per entry, 4 per row, 8 w per
// row of B and of C; 4 more per row if rows are ordered. Where rows of B are used often, the
// second-level cache binds: 8 w per entry.
#pragma once
#include "tulle/view/dense.hpp"

#include "cuda/each.cuh"
#include "cuda/primitive/warp.cuh"
#include "cuda/sort_by_key.cuh"
#include "cuda/spmv/rows.cuh"
#include "cuda/workspace.cuh"

#include <algorithm>

namespace tulle::kernels::cuda {
namespace {

constexpr int dense_threads = 256;
constexpr int join_threads = 1024;
constexpr int in_flight = 4;       // entries per team whose rows of B are in flight
constexpr int part_of_team = 64;   // entries of a part for each team of a warp
constexpr std::int64_t alike = 4;  // rows up to this times the average need no order
constexpr unsigned wide_bits = 6;  // rows with 2^5 entries or more have a warp, if lengths differ
constexpr unsigned cut_bits = 127; // rows that are cut come first

template <class V, int n>
struct alignas(n * sizeof(V)) together {
  V at[n];
};
template <class V>
constexpr int in_vector = 16 / sizeof(V);

/// The kernels' view of B and C.
template <class V>
struct dense_pair {
  V const* b;
  std::size_t b_stride;
  V* c;
  std::size_t c_row, c_col;
  int columns;
  bool c_in_vectors;
  V alpha, beta;
};

template <class I, class O>
struct row_part {
  I row;
  O from; // entry of the matrix
};
template <class I>
struct cut_row {
  I row;
  int first, count; // parts
};

/// The order of rows, and the rows that are cut.
template <class V, class I, class O>
struct dense_work {
  I const* order; // nullptr: unchanged
  row_part<I, O> const* part;
  cut_row<I> const* cut;
  V* sum; // of parts, then of overflow entries of cut rows, columns side by side
  int parts, cuts;
  std::size_t wide; // groups of a whole warp: parts of cut rows, and long rows
  V* packed;
};

enum : int { // of info
  is_ordered,
  part_entries, // of a part; rows of twice as many are cut
  count_of_parts,
  count_of_cuts,
  count_of_wide, // rows that have a warp and are not cut
  teams_of_row,
  is_packed
};

template <class V, class I, class O>
dense_work<V, I, O> work_of(I rows, detail::dense_ref const& b, plan_view const& p, carver& work) {
  auto const parts = static_cast<std::size_t>(p.info[count_of_parts]);
  auto const cuts = static_cast<std::size_t>(p.info[count_of_cuts]);
  dense_work<V, I, O> w;
  w.order = p.info[is_ordered] ? work.take<I>(static_cast<std::size_t>(rows)) : nullptr;
  w.part = work.take<row_part<I, O>>(parts);
  w.cut = work.take<cut_row<I>>(cuts);
  w.sum = work.take<V>((parts + cuts) * b.cols);
  w.packed = p.info[is_packed] ? work.take<V>(b.rows * b.cols) : nullptr;
  w.parts = static_cast<int>(parts);
  w.cuts = static_cast<int>(cuts);
  w.wide = p.info[is_ordered] ? parts + static_cast<std::size_t>(p.info[count_of_wide]) : 0;
  return w;
}

/// Lanes of a team for a tile of columns of so many vectors.
inline int lanes_for(int vectors) {
  int lanes = 1;
  while (lanes < 32 && lanes < vectors)
    lanes *= 2;
  return lanes;
}

template <class O>
__host__ __device__ std::size_t parts_of(O entries, O part) {
  return entries < 2 * part ? 0 : static_cast<std::size_t>(ceil_div(entries, part));
}
template <class O>
__device__ unsigned bits_of(O entries, O part) {
  return entries >= 2 * part ? cut_bits
                             : static_cast<unsigned>(64 - __clzll(static_cast<long long>(entries)));
}

/// Examines the rows; waits for the stream. Returns the bytes of workspace.
template <class V, class I, class O>
std::size_t prepare_dense(I rows, O nnz, O const* row_ptr, detail::dense_ref const& b,
                          plan_view& p) {
  std::int64_t const average = rows == 0 ? 0 : static_cast<std::int64_t>(nnz / rows);
  std::int64_t const most = nnz == 0 ? 0 : longest_row(rows, row_ptr, p.stream);
  int const teams = 32 / lanes_for(static_cast<int>(ceil_div<std::size_t>(b.cols, in_vector<V>)));
  auto const part = static_cast<O>(part_of_team * teams);
  p.info[part_entries] = part;
  p.info[is_ordered] = most >= 2 * part || most > alike * average + in_flight;
  p.info[teams_of_row] = width_for(average / in_flight);
  p.info[is_packed] = b.col_stride != 1 && b.cols > 1;
  if (p.info[is_ordered]) {
    auto const count = [&](auto const& f) {
      return static_cast<std::int64_t>(fold<sum>(static_cast<std::size_t>(rows), p.stream, f));
    };
    p.info[count_of_parts] = count([row_ptr, part] __device__(std::size_t i) {
      return parts_of(row_ptr[i + 1] - row_ptr[i], part);
    });
    p.info[count_of_cuts] = count([row_ptr, part] __device__(std::size_t i) {
      return bits_of(row_ptr[i + 1] - row_ptr[i], part) == cut_bits;
    });
    p.info[count_of_wide] = count([row_ptr, part] __device__(std::size_t i) {
      unsigned const bits = bits_of(row_ptr[i + 1] - row_ptr[i], part);
      return bits >= wide_bits && bits < cut_bits;
    });
    if (p.info[count_of_parts] > 2147483647)
      refuse("spmm", "more parts of long rows than 32 bits count");
  }
  p.method = p.info[is_packed]
                 ? (p.info[is_ordered] ? "rows by length, B packed" : "rows, B packed")
             : p.info[is_ordered] ? "rows by length"
                                  : "rows";
  carver work;
  work_of<V, I, O>(rows, b, p, work);
  return work.used();
}

template <class V, class I, class O>
void fill_dense(I rows, O const* row_ptr, detail::dense_ref const& b, plan_view const& p) {
  if (!p.info[is_ordered])
    return;
  carver work(p.work);
  auto const w = work_of<V, I, O>(rows, b, p, work);
  auto const n = static_cast<std::size_t>(rows);
  auto const entries = static_cast<O>(p.info[part_entries]);
  scratch<unsigned> const bits(n, p.stream);
  each(n, p.stream, [row_ptr, entries, bits = bits.get()] __device__(std::size_t i) {
    bits[i] = bits_of(row_ptr[i + 1] - row_ptr[i], entries);
  });
  auto* const order = const_cast<I*>(w.order);
  order_by_count(n, bits.get(), order, p.stream);
  counter const taken(p.stream);
  each(static_cast<std::size_t>(w.cuts), p.stream,
       [row_ptr, order, entries, part = const_cast<row_part<I, O>*>(w.part),
        cut = const_cast<cut_row<I>*>(w.cut), taken = taken.get()] __device__(std::size_t r) {
         I const i = order[r];
         O const end = row_ptr[i + 1];
         auto const count = parts_of(end - row_ptr[i], entries);
         auto const first = atomicAdd(taken, static_cast<unsigned long long>(count));
         cut[r] = {i, static_cast<int>(first), static_cast<int>(count)};
         O from = row_ptr[i];
         for (std::size_t q = 0; q < count; ++q, from += entries)
           part[first + q] = {i, from};
       });
}

/// Overflow entries of a row: a dynamic matrix has some in the row's slack, which the product
/// takes as if they followed the row, and some in further segments.
template <class O>
struct entries_more {
  O begin, count; // in slack
  O left;         // in further segments
};
template <class O>
struct entry_range {
  O begin, count;
};
struct no_overflow {
  static constexpr bool is_there = false;
  template <class O>
  __device__ entries_more<O> slack(std::size_t, O, O) const {
    return {};
  }
  template <class O>
  __device__ entry_range<O> segment(std::size_t, int, O) const {
    return {};
  }
};

/// Sums of a lane: `vectors` vectors of `width` columns.
template <int vectors, int width, class V>
struct lane_sums {
  using vector = together<V, width>;
  V const* b[vectors]; // the lane's columns of the first row; other columns if it has none
  vector sum[vectors] = {};

  __device__ lane_sums(dense_pair<V> const& d, int const (&column)[vectors]) {
#pragma unroll
    for (int n = 0; n < vectors; ++n)
      b[n] = d.b + (column[n] < d.columns ? column[n] : 0);
  }
  /// Adds the next `in_flight` entries of a team, place(0), place(1) and so on; only the first
  /// `left` exist, and the last of these is read for the others.
  template <class I, class O, class Place>
  __device__ void add(lines<V, I, O> const& a, std::size_t stride, int left, Place const& place) {
    std::size_t row[in_flight];
    V val[in_flight];
#pragma unroll
    for (int u = 0; u < in_flight; ++u) {
      auto const k = place(u < left ? u : left - 1);
      row[u] = static_cast<std::size_t>(a.col[k]) * stride;
      val[u] = a.val[k];
    }
    vector x[in_flight][vectors];
#pragma unroll
    for (int u = 0; u < in_flight; ++u)
#pragma unroll
      for (int n = 0; n < vectors; ++n)
        x[u][n] = *reinterpret_cast<vector const*>(b[n] + row[u]);
#pragma unroll
    for (int u = 0; u < in_flight; ++u)
      if (u < left) {
#pragma unroll
        for (int n = 0; n < vectors; ++n)
#pragma unroll
          for (int q = 0; q < width; ++q)
            sum[n].at[q] = fma(val[u], x[u][n].at[q], sum[n].at[q]);
      }
  }
  /// Adds every teams-th of n entries from the team-th on.
  template <class I, class O, class Place>
  __device__ void add_all(lines<V, I, O> const& a, std::size_t stride, std::uint32_t n,
                          std::uint32_t team, std::uint32_t teams, Place const& place) {
    std::uint32_t e = team;
    for (; e + (in_flight - 1) * teams < n; e += in_flight * teams)
      add(a, stride, in_flight, [&](int u) { return place(e + u * teams); });
    if (e < n)
      add(a, stride, static_cast<int>((n - e - 1) / teams + 1),
          [&](int u) { return place(e + u * teams); });
  }
  /// Adds the sums of the teams of a group, `lanes` lanes apart.
  __device__ void join(int lanes, int group) {
    for (int apart = lanes; apart < group; apart *= 2)
#pragma unroll
      for (int n = 0; n < vectors; ++n)
#pragma unroll
        for (int q = 0; q < width; ++q)
          sum[n].at[q] += shuffle_xor(sum[n].at[q], apart);
  }
};

/// One group per row or part: teams of `lanes` lanes, a whole warp of them for the first groups and
/// `teams` for the others.
template <int vectors, int width, class V, class I, class O, class Overflow>
__global__ void __launch_bounds__(dense_threads, vectors == 1 ? 6 : 4)
    dense_rows_kernel(lines<V, I, O> a, Overflow overflow, dense_work<V, I, O> w, dense_pair<V> d,
                      O part, unsigned wide_blocks, int lanes, int teams) {
  using vector = together<V, width>;
  wait_for_launch_before();
  bool const is_wide = blockIdx.x < wide_blocks;
  if (is_wide)
    teams = 32 / lanes;
  int const group = lanes * teams;
  std::size_t const t =
      (is_wide ? 0 : w.wide) +
      ((blockIdx.x - (is_wide ? 0 : wide_blocks)) * std::size_t{dense_threads} + threadIdx.x) /
          group;
  int const lane = static_cast<int>(threadIdx.x) % lanes;
  int const team = static_cast<int>(threadIdx.x) % group / lanes;
  auto const parts = static_cast<std::size_t>(w.parts), cuts = static_cast<std::size_t>(w.cuts);
  std::size_t const sums = parts + (Overflow::is_there ? cuts : 0);
  bool const is_part = t < parts, has_sum = t < sums;
  std::size_t const at = t - sums + cuts;
  bool const is_there = is_wide ? t < w.wide : at < static_cast<std::size_t>(a.rows);
  int column[vectors];
#pragma unroll
  for (int n = 0; n < vectors; ++n)
    column[n] = ((static_cast<int>(blockIdx.y) * vectors + n) * lanes + lane) * width;
  lane_sums<vectors, width, V> s(d, column);
  std::size_t row = 0;
  if (is_there) {
    O from, to;
    if (is_part) {
      row_part<I, O> const p = w.part[t];
      row = static_cast<std::size_t>(p.row);
      from = p.from;
      O const end = a.row_ptr[row + 1];
      to = end - from < part ? end : from + part;
    } else {
      row = has_sum   ? static_cast<std::size_t>(w.cut[t - parts].row)
            : w.order ? static_cast<std::size_t>(w.order[at])
                      : at;
      from = a.row_ptr[row];
      to = a.row_ptr[row + 1];
    }
    entries_more<O> more{};
    if (Overflow::is_there && !is_part)
      more = overflow.slack(row, from, to);
    O n = has_sum && !is_part ? O(0) : to - from, turn = more.begin - n; // places from entry n on
    auto all = static_cast<std::uint32_t>(n + more.count);
    for (int level = 1;; ++level) {
      s.add_all(a, d.b_stride, all, team, teams, [&](std::uint32_t e) {
        return (Overflow::is_there && static_cast<O>(e) >= n ? turn : from) + static_cast<O>(e);
      });
      if (!Overflow::is_there || more.left <= 0)
        break;
      entry_range<O> const next = overflow.segment(row, level, more.left);
      from = next.begin;
      n = next.count;
      all = static_cast<std::uint32_t>(n);
      more.left -= n;
    }
  }
  s.join(lanes, group);
  if (!is_there || team != 0)
    return;
#pragma unroll
  for (int n = 0; n < vectors; ++n) {
    if (column[n] >= d.columns)
      continue;
    vector const sum = s.sum[n];
    if (has_sum) {
      *reinterpret_cast<vector*>(w.sum + t * static_cast<std::size_t>(d.columns) + column[n]) = sum;
      continue;
    }
    V* const c = d.c + row * d.c_row + static_cast<std::size_t>(column[n]) * d.c_col;
    if (d.c_in_vectors) {
      vector out = {};
      if (d.beta != V(0))
        out = *reinterpret_cast<vector const*>(c);
#pragma unroll
      for (int q = 0; q < width; ++q)
        update(&out.at[q], d.alpha, sum.at[q], d.beta);
      *reinterpret_cast<vector*>(c) = out;
    } else {
#pragma unroll
      for (int q = 0; q < width; ++q)
        update(c + static_cast<std::size_t>(q) * d.c_col, d.alpha, sum.at[q], d.beta);
    }
  }
}

/// Rows that are cut: one block each. The threads of a column have consecutive parts, whose sums
/// are added in order.
template <class V, class I, class O>
__global__ void __launch_bounds__(join_threads)
    join_dense_kernel(dense_work<V, I, O> w, dense_pair<V> d, bool has_overflow) {
  __shared__ V sums[join_threads];
  wait_for_launch_before();
  cut_row<I> const r = w.cut[blockIdx.x];
  auto const row = static_cast<std::size_t>(r.row);
  auto const columns = static_cast<std::size_t>(d.columns);
  int const wide = min(d.columns, join_threads), runs = join_threads / wide;
  int const run = static_cast<int>(threadIdx.x) / wide;
  int const first = static_cast<int>(static_cast<std::int64_t>(r.count) * run / runs);
  int const last = static_cast<int>(static_cast<std::int64_t>(r.count) * (run + 1) / runs);
  for (std::size_t j0 = 0; j0 < columns; j0 += wide) {
    std::size_t const j = j0 + threadIdx.x % wide;
    V sum = 0;
    if (run < runs && j < columns) {
      V const* const part = w.sum + static_cast<std::size_t>(r.first) * columns + j;
#pragma unroll 8
      for (int q = first; q < last; ++q)
        sum += part[static_cast<std::size_t>(q) * columns];
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (run == 0 && j < columns) {
      for (int other = 1; other < runs; ++other)
        sum += sums[other * wide + threadIdx.x];
      if (has_overflow)
        sum += w.sum[(static_cast<std::size_t>(w.parts) + blockIdx.x) * columns + j];
      update(d.c + row * d.c_row + j * d.c_col, d.alpha, sum, d.beta);
    }
    __syncthreads();
  }
}

/// Copies a matrix of any strides to the row-major `to`: 32 rows and columns at a time, through
/// shared memory, so that accesses are contiguous also if b is column-major.
template <class V>
__global__ void pack_kernel(V const* b, std::size_t rows, std::size_t cols, std::size_t row_stride,
                            std::size_t col_stride, V* to) {
  __shared__ V tile[32][33];
  wait_for_launch_before();
  std::size_t const row0 = blockIdx.x * std::size_t{32}, col0 = blockIdx.y * std::size_t{32};
  int const x = threadIdx.x % 32, y = threadIdx.x / 32;
  for (int j = y; j < 32; j += dense_threads / 32)
    if (row0 + x < rows && col0 + j < cols)
      tile[j][x] = b[(row0 + x) * row_stride + (col0 + j) * col_stride];
  __syncthreads();
  for (int i = y; i < 32; i += dense_threads / 32)
    if (row0 + i < rows && col0 + x < cols)
      to[(row0 + i) * cols + col0 + x] = tile[x][i];
}

/// How columns are assigned to lanes.
template <class V>
struct dense_tiles {
  dense_pair<V> d;
  bool is_vector, has_two; // vectors of 16 bytes; two of them per lane
  int lanes;
  std::size_t count;
};

/// launch() of a grid of two dimensions.
template <class... P, class... A>
void launch_tiles(void (*kernel)(P...), std::size_t blocks, std::size_t tiles, int threads,
                  void* stream, A const&... a) {
  if (blocks == 0 || tiles == 0)
    return;
  if (blocks > most_blocks || tiles > 65535)
    check(cudaErrorInvalidConfiguration, "launch: more blocks than a grid holds");
  kernel<<<dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(tiles)), threads, 0,
           static_cast<cudaStream_t>(stream)>>>(a...);
  check(cudaGetLastError(), "launch");
}

template <class V, class I, class O, class Overflow>
dense_tiles<V> multiply_dense(V alpha, lines<V, I, O> const& a, Overflow const& overflow,
                              detail::dense_ref const& b, V beta, detail::dense_ref const& c,
                              plan_view const& p, void* stream) {
  check_aligned(a.val, static_cast<V const*>(b.data), static_cast<V const*>(c.data));
  carver work(p.work);
  auto w = work_of<V, I, O>(a.rows, b, p, work);
  if (Overflow::is_there)
    w.wide += static_cast<std::size_t>(w.cuts);
  auto const columns = static_cast<int>(b.cols);
  if (w.packed)
    launch_tiles(pack_kernel<V>, ceil_div<std::size_t>(b.rows, 32),
                 ceil_div<std::size_t>(b.cols, 32), dense_threads, stream,
                 static_cast<V const*>(b.data), b.rows, b.cols, b.row_stride, b.col_stride,
                 w.packed);
  constexpr int width = in_vector<V>;
  auto const in_vectors = [&](void const* q, std::size_t stride) {
    return reinterpret_cast<std::uintptr_t>(q) % 16 == 0 && stride % width == 0 &&
           columns % width == 0;
  };
  dense_pair<V> const d{w.packed ? w.packed : static_cast<V const*>(b.data),
                        w.packed ? b.cols : b.row_stride,
                        static_cast<V*>(c.data),
                        c.row_stride,
                        c.col_stride,
                        columns,
                        c.col_stride == 1 && in_vectors(c.data, c.row_stride),
                        alpha,
                        beta};
  bool const is_vector = in_vectors(d.b, d.b_stride);
  int const wanted = ceil_div(columns, is_vector ? width : 1);
  bool const has_two = wanted > 32;
  int const lanes = lanes_for(wanted);
  int const teams = std::min(32 / lanes, static_cast<int>(p.info[teams_of_row]));
  std::size_t const groups = static_cast<std::size_t>(w.parts) + static_cast<std::size_t>(a.rows) -
                             (Overflow::is_there ? 0 : static_cast<std::size_t>(w.cuts));
  std::size_t const wide_blocks = ceil_div<std::size_t>(w.wide * 32, dense_threads);
  std::size_t const blocks =
      wide_blocks + ceil_div<std::size_t>((groups - w.wide) * lanes * teams, dense_threads);
  auto* const kernel = is_vector ? has_two ? dense_rows_kernel<2, width, V, I, O, Overflow>
                                           : dense_rows_kernel<1, width, V, I, O, Overflow>
                                 : dense_rows_kernel<1, 1, V, I, O, Overflow>;
  int const each = lanes * (is_vector ? width * (has_two ? 2 : 1) : 1);
  auto const tiles = static_cast<std::size_t>(ceil_div(columns, each));
  launch_tiles(kernel, blocks, tiles, dense_threads, stream, a, overflow, w, d,
               static_cast<O>(p.info[part_entries]), static_cast<unsigned>(wide_blocks), lanes,
               teams);
  launch_tiles(join_dense_kernel<V, I, O>, static_cast<std::size_t>(w.cuts), 1, join_threads,
               stream, w, d, Overflow::is_there);
  return {d, is_vector, has_two, lanes, tiles};
}

} // namespace
} // namespace tulle::kernels::cuda

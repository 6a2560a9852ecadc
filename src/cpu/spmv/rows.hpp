// SPDX-License-Identifier: Apache-2.0

// y = alpha*A*x + beta*y where the entries of each y are contiguous: csr, and the transpose of csc.
//
// The path through rows and entries (Merrill & Garland, SC 2016) is cut into tiles of a fixed
// number of steps; a step is an entry or a row end. Threads are dealt tiles; a row that a tile's
// end cuts is summed in pieces, and the pieces are added in order. Where tiles end depends on the
// matrix alone, so the bits do not depend on the number of threads, one row of any length is shared
// by all of them, and a million empty rows are shared like other work.
#pragma once
#include "tulle/core/types.def"

#include "kernel/chunks.hpp"
#include "kernel/simd.hpp"
#include "kernel/spmv.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

// 2048 and 32768: within 3 % of 8192 on twelve generated matrices, two threads of Zen 4.
constexpr std::int64_t tile_steps = 8192;
// Tiles per call of plan_view::done: their y is in L2. With one, pending entries of dynamic_csr
// take twice as long on fem 50000.
constexpr std::int64_t tiles_told = 4;
// Prefetch distance in val, half of it in col. No prefetch where entries come from the caches: fem
// 1000 took 1.12 times as long with prefetches at distance 0, 1.09 with a branch around them in the
// loop over a row. ms on lattice with 512, 1024, 2048, 4096: .98, .92, .90, .84; on fem 1.30, 1.35,
// 1.33, 1.22; elsewhere alike.
constexpr int prefetch_bytes = 4096;
// Rows of at least this many entries are summed by vectors. 8: 1.4 times as long on random rows of
// 8 on average; 24: as 16; 32: 1.3 times as long on a grid of 27.
constexpr int vector_from = 16;
// The same for a row among shorter ones: changing to vectors for one row and back costs a branch
// misprediction. ms on random rows of 10 on average, and rmat 20: 16: 16.7, 26.7; 32: 15.4, 24.3;
// 48: as 32.
constexpr int vector_among_short = 32;
// In a row of this many entries that are this many bytes of x apart, each entry needs its own cache
// line, and the gather instruction keeps more misses in flight than single loads: lp 7.3 ms instead
// of 10.8. Shorter rows with such gaps, as in power laws, find most of x in the cache: with gather
// rmat 20 takes 1.2 times as long.
constexpr std::int64_t far_entries = 1024;
constexpr std::int64_t far_bytes = 1024;

inline std::int64_t ahead_of(plan_view const& p) {
  return p.streaming ? prefetch_bytes : 0;
}

/// A long row times x, by vectors.
template <bool streaming, bool far, class V, class I>
HWY_INLINE V long_dot(V const* val, I const* col, V const* x, std::int64_t k, std::int64_t end) {
  hn::ScalableTag<V> const d;
  constexpr int lanes = HWY_MAX_BYTES / sizeof(V);
  auto const gathered = [&](I const* index) HWY_ATTR {
    if constexpr (far)
      return gather(d, x, index);
    else
      return gather_loads(d, x, index);
  };
  auto s = hn::Zero(d);
  auto t = hn::Zero(d);
  for (; k + 2 * lanes <= end; k += 2 * lanes) {
    if constexpr (streaming) {
      for (int line = 0; line < 2 * HWY_MAX_BYTES; line += 64)
        __builtin_prefetch(reinterpret_cast<char const*>(val + k) + prefetch_bytes + line);
      __builtin_prefetch(reinterpret_cast<char const*>(col + k) + prefetch_bytes / 2);
    }
    s = hn::MulAdd(hn::LoadU(d, val + k), gathered(col + k), s);
    t = hn::MulAdd(hn::LoadU(d, val + k + lanes), gathered(col + k + lanes), t);
  }
  if (k + lanes <= end) {
    s = hn::MulAdd(hn::LoadU(d, val + k), gathered(col + k), s);
    k += lanes;
  }
  V tail = 0;
  for (; k < end; ++k)
    tail = mul_add(val[k], x[col[k]], tail);
  return sum_of(d, hn::Add(s, t)) + tail;
}

/// The entries [k, end) of one row times x, or of a piece of one. Not inlined: with the vector
/// loops in the same function, the loop over short rows took 1.1 to 1.6 times as long.
template <bool streaming, class V, class I>
HWY_NOINLINE V dot(V const* val, I const* col, V const* x, std::int64_t k, std::int64_t end) {
  if constexpr (!is_pair<V>) {
    if (end - k >= vector_from) {
      bool const far = end - k >= far_entries && static_cast<std::int64_t>(col[end - 1] - col[k]) *
                                                         static_cast<std::int64_t>(sizeof(V)) >
                                                     far_bytes * (end - k);
      if (prefers_gather || far)
        return long_dot<streaming, true>(val, col, x, k, end);
      return long_dot<streaming, false>(val, col, x, k, end);
    }
  }
  V sum{};
  for (; k < end; ++k)
    sum = mul_add(val[k], x[col[k]], sum);
  return sum;
}

template <class V, class I>
HWY_INLINE V dot(V const* val, I const* col, V const* x, std::int64_t k, std::int64_t end,
                 std::int64_t ahead) {
  if constexpr (!is_pair<V>)
    if (ahead != 0)
      return dot<true>(val, col, x, k, end);
  return dot<false>(val, col, x, k, end);
}

// Runs of short rows of one length (meshes, lattices, stencils) are computed four rows at a time
// with the length known to the compiler: no loop, no branch, one reduction for four rows. ns per
// entry in L2 on Zen 4, rows of four: 0.31, by dot() 0.49.
constexpr int longest_short = vector_from - 1; // 8: 1.1 to 1.4 times as long on rows of 9 and 11
// After a row at which no run began, the next one is looked for so many rows later, doubled each
// time until a run begins. 32 each time: 5 % more on random rows; 32 at first: 1.3 times as long on
// poisson3d7, whose runs end every hundred rows.
constexpr int look_after = 2;
template <class V>
inline constexpr bool has_quads = !is_pair<V> && HWY_MAX_BYTES >= 4 * sizeof(V);

/// The sums of four rows of `length` entries each, as a vector; row r begins at val[r] and col[r].
template <int length, class V, class I>
HWY_INLINE auto quad(V const* const (&val)[4], I const* const (&col)[4], V const* x) {
  hn::FixedTag<V, 4> const d;
  constexpr int whole = length / 4 * 4;
  V tail[4] = {};
  for (int r = 0; r < 4; ++r)
    for (int j = whole; j < length; ++j)
      tail[r] = mul_add(val[r][j], x[col[r][j]], tail[r]);
  typedef V lanes __attribute__((vector_size(4 * sizeof(V))));
  auto const tails = hn::Vec<decltype(d)>{
      reinterpret_cast<decltype(hn::Zero(d).raw)>(lanes{tail[0], tail[1], tail[2], tail[3]})};
  if constexpr (whole == 0) {
    return tails;
  } else {
    auto const row = [&](int r) HWY_ATTR {
      auto s = hn::Mul(hn::LoadU(d, val[r]), gather_loads(d, x, col[r]));
      for (int j = 4; j < whole; j += 4)
        s = hn::MulAdd(hn::LoadU(d, val[r] + j), gather_loads(d, x, col[r] + j), s);
      return s;
    };
    auto const a = row(0);
    auto const b = row(1);
    auto const e = row(2);
    auto const f = row(3);
    auto const ab = hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
    auto const ef = hn::Add(hn::InterleaveLower(d, e, f), hn::InterleaveUpper(d, e, f));
    return hn::Add(hn::Add(hn::ConcatLowerLower(d, ef, ab), hn::ConcatUpperUpper(d, ef, ab)),
                   tails);
  }
}

/// The same where rows begin `stride` entries apart.
template <int length, class V, class I>
HWY_INLINE auto quad(V const* val, I const* col, V const* x, std::int64_t stride = length) {
  return quad<length>({val, val + stride, val + 2 * stride, val + 3 * stride},
                      {col, col + stride, col + 2 * stride, col + 3 * stride}, x);
}

/// Rows i, i + 4, ... while four in a row have `length` entries, up to row `stop`. Returns the
/// first row left.
template <int length, class V, class I, class O>
HWY_NOINLINE std::int64_t run_of(O const* ptr, I const* col, V const* val, V const* x, V alpha,
                                 V beta, V* y, bool overwrite, std::int64_t i, std::int64_t rows,
                                 std::int64_t end, std::int64_t ahead) {
  hn::FixedTag<V, 4> const d;
  std::int64_t k = ptr[i];
  while (i + 4 <= rows && k + 4 * length + i + 3 < end &&
         static_cast<std::int64_t>(ptr[i + 1]) - k == length &&
         static_cast<std::int64_t>(ptr[i + 2]) - k == 2 * length &&
         static_cast<std::int64_t>(ptr[i + 3]) - k == 3 * length &&
         static_cast<std::int64_t>(ptr[i + 4]) - k == 4 * length) {
    if (ahead != 0) {
      for (std::size_t line = 0; line < 4 * length * sizeof(V); line += 64)
        __builtin_prefetch(reinterpret_cast<char const*>(val + k) + ahead + line);
      for (std::size_t line = 0; line < 4 * length * sizeof(I); line += 64)
        __builtin_prefetch(reinterpret_cast<char const*>(col + k) + ahead / 2 + line);
    }
    auto const sum = quad<length>(val + k, col + k, x);
    auto const a = hn::Set(d, alpha);
    hn::StoreU(overwrite ? hn::Mul(a, sum)
                         : hn::MulAdd(a, sum, hn::Mul(hn::Set(d, beta), hn::LoadU(d, y + i))),
               d, y + i);
    i += 4;
    k += 4 * length;
  }
  return i;
}

/// The run that begins at row i, if one does. Returns the first row left: i itself where none does.
template <class V, class I, class O>
std::int64_t short_run(O const* ptr, I const* col, V const* val, V const* x, V alpha, V beta, V* y,
                       bool overwrite, std::int64_t i, std::int64_t rows, std::int64_t end,
                       std::int64_t ahead) {
  std::int64_t const length = ptr[i + 1] - ptr[i];
  if (i + 4 > rows)
    return i;
  // One branch for both tests: where lengths vary, each alone would be mispredicted half of the
  // time.
  bool const may_begin = static_cast<int>(length <= longest_short) &
                         static_cast<int>(ptr[i + 4] - ptr[i] == 4 * length);
  if (!may_begin)
    return i;
  if constexpr (has_quads<V>)
    switch (length) {
#define TULLE_RUN(n)                                                                               \
  case n:                                                                                          \
    return run_of<n>(ptr, col, val, x, alpha, beta, y, overwrite, i, rows, end, ahead);
      TULLE_RUN(1)
      TULLE_RUN(2)
      TULLE_RUN(3)
      TULLE_RUN(4)
      TULLE_RUN(5)
      TULLE_RUN(6)
      TULLE_RUN(7)
      TULLE_RUN(8)
      TULLE_RUN(9)
      TULLE_RUN(10)
      TULLE_RUN(11)
      TULLE_RUN(12)
      TULLE_RUN(13)
      TULLE_RUN(14)
      TULLE_RUN(15)
#undef TULLE_RUN
    }
  return i;
}
static_assert(longest_short == 15);

/// Rows from i to `stop` of fewer than vector_among_short entries, one by one, while they end
/// before step `end` of the path. Returns the first row left. Tried and dropped: four rows at a
/// time by masked vectors, which has no mispredictions but fewer entries in flight: random rows of
/// 8 took 0.9 of the time where x has 16 KB and 2.2 where it has 4 MB, a Delaunay mesh 0.64, most
/// others 0.9 to 1.1; gathering x for a thousand entries first, 0.8 to 1.3; prefetching x 96
/// entries ahead: rmat 18 and 20 1.04 and 1.05, random rows of 8 1.01, circuit 0.97.
template <class V, class I, class O>
HWY_NOINLINE std::int64_t short_rows(O const* ptr, I const* col, V const* val, V const* x, V alpha,
                                     V beta, V* y, bool overwrite, std::int64_t i,
                                     std::int64_t stop, std::int64_t end) {
  std::int64_t k = ptr[i];
  for (; i < stop; ++i) {
    std::int64_t const row_end = ptr[i + 1];
    if (row_end + i >= end || row_end - k >= vector_among_short)
      break;
    V sum{};
    for (; k < row_end; ++k)
      sum = mul_add(val[k], x[col[k]], sum);
    update(y + i, alpha, sum, beta, overwrite);
  }
  return i;
}

/// The number of rows that end before step `at` of the path.
template <class O>
std::int64_t rows_before(O const* ptr, std::int64_t rows, std::int64_t at) {
  std::int64_t lo = 0;
  std::int64_t hi = rows;
  while (lo < hi) { // row i ends at step ptr[i + 1] + i
    std::int64_t const mid = (lo + hi) / 2;
    if (static_cast<std::int64_t>(ptr[mid + 1]) + mid < at)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

/// What a chunk of tiles leaves when all have ended.
template <class V>
struct chunk_end {
  bool fresh;       // begun by a thread that did not run the chunk before it: a seam
  std::int64_t row; // open at the chunk's end, where that is a seam; -1: none
  V sum;            // of that row so far
};

/// How tiles are dealt, and the layout of the workspace: one piece per tile, one end per chunk, one
/// share per thread.
template <class V>
struct rows_layout {
  std::int64_t tiles;
  std::int64_t chunks;
  std::size_t ends_at;
  std::size_t shares_at;
  std::size_t bytes;

  rows_layout(std::int64_t rows, std::int64_t nnz, int threads)
      : tiles((rows + nnz + tile_steps - 1) / tile_steps),
        chunks(tiles < threads * chunks_per_thread ? tiles : threads * chunks_per_thread) {
    auto const after = [](std::size_t n) { return (n + 63) / 64 * 64; };
    ends_at = after(static_cast<std::size_t>(tiles) * sizeof(V));
    shares_at = ends_at + after(static_cast<std::size_t>(chunks) * sizeof(chunk_end<V>));
    bytes = tiles > 1 ? shares_at + static_cast<std::size_t>(threads) * sizeof(share) : 0;
  }
  std::int64_t first_tile(std::int64_t chunk) const { return tiles * chunk / chunks; }
};

template <class V>
std::size_t rows_workspace(std::int64_t rows, std::int64_t nnz, int threads) {
  return rows_layout<plain<V>>(rows, nnz, threads).bytes;
}

/// Whole rows from `first` on, whose entries begin at `begin`, while they end before step `end` of
/// the path. Sets `first` and `begin` to the first row that is not done.
template <class V, class I, class O>
HWY_NOINLINE void whole_rows(V alpha, O const* ptr, I const* col, V const* val, std::int64_t rows,
                             V const* x, V beta, V* y, bool overwrite, std::int64_t end,
                             std::int64_t ahead, std::int64_t& first, std::int64_t& begin) {
  std::int64_t i = first;
  std::int64_t k = begin;
  std::int64_t look_at = has_quads<V> ? i : rows; // the next row at which a run may begin
  std::int64_t skip = look_after;
  while (i < rows) {
    std::int64_t const row_end = ptr[i + 1];
    if (row_end + i >= end)
      break;
    if (row_end - k >= vector_from) {
      update(y + i, alpha, dot(val, col, x, k, row_end, ahead), beta, overwrite);
      k = row_end;
      ++i;
      continue;
    }
    if (i >= look_at) {
      std::int64_t const next =
          short_run(ptr, col, val, x, alpha, beta, y, overwrite, i, rows, end, ahead);
      skip = next == i ? 2 * skip : look_after;
      look_at = next + skip;
      i = next;
    }
    i = short_rows(ptr, col, val, x, alpha, beta, y, overwrite, i, look_at < rows ? look_at : rows,
                   end);
    k = ptr[i];
  }
  first = i;
  begin = k;
}

/// Whether row i is open before a step of the path that k entries lie before.
template <class O>
HWY_INLINE bool is_cut(O const* ptr, std::int64_t rows, std::int64_t i, std::int64_t k) {
  return i < rows && k > static_cast<std::int64_t>(ptr[i]);
}

/// Rows that chunks of different threads share, pieces in order: the same additions as if one
/// thread had gone through. head: of each tile, the piece of a row that was open when it began.
template <class V, class O>
void join_seams(rows_layout<V> const& layout, V const* head, chunk_end<V> const* ends, V alpha,
                O const* ptr, std::int64_t rows, V beta, V* y, bool overwrite, plan_view const& p) {
  V sum{};
  for (std::int64_t chunk = 0; chunk < layout.chunks;) {
    std::int64_t next = chunk + 1; // the next seam: one thread ran all chunks before it
    while (next < layout.chunks && !ends[next].fresh)
      ++next;
    std::int64_t tile = layout.first_tile(chunk);
    std::int64_t const last = layout.first_tile(next);
    std::int64_t const i = rows_before(ptr, rows, tile * tile_steps);
    if (is_cut(ptr, rows, i, tile * tile_steps - i)) {
      std::int64_t const row_end = static_cast<std::int64_t>(ptr[i + 1]) + i; // a step of the path
      for (; tile < last && row_end >= (tile + 1) * tile_steps; ++tile)
        sum = sum + head[tile];
      if (tile < last) {
        update(y + i, alpha, sum + head[tile], beta, overwrite);
        if (p.done)
          (*p.done)(i, i + 1);
      }
    }
    if (ends[next - 1].row >= 0)
      sum = ends[next - 1].sum;
    chunk = next;
  }
}

template <class V, class I, class O>
void rows_loop(V alpha, O const* ptr, I const* col, V const* val, std::int64_t rows,
               std::int64_t nnz, V const* x, V beta, V* y, plan_view const& p) {
  rows_layout<V> const layout(rows, nnz, p.threads);
  std::int64_t const ahead = ahead_of(p);
  bool const overwrite = beta == V{};
  if (layout.tiles <= 1) {
    std::int64_t i = 0;
    std::int64_t k = 0;
    whole_rows(alpha, ptr, col, val, rows, x, beta, y, overwrite, tile_steps, ahead, i, k);
    if (p.done)
      (*p.done)(0, rows);
    return;
  }
  char* const work = static_cast<char*>(p.work);
  V* const head = reinterpret_cast<V*>(work); // piece of a row that was open when the tile began
  auto* const ends = reinterpret_cast<chunk_end<V>*>(work + layout.ends_at);
  chunk_queue queue(reinterpret_cast<share*>(work + layout.shares_at), p.threads, layout.chunks);
  parallel(p.threads, [&](int t) {
    std::int64_t i = 0;
    std::int64_t k = 0;
    bool foreign = false; // another thread began the open row
    bool is_open = false; // this thread began it, and `sum` is its sum so far
    V sum{};
    std::int64_t told = 0; // rows before it are done, or done by another thread
    auto const tell = [&] {
      if (p.done && told < i) {
        (*p.done)(told, i);
        told = i;
      }
    };
    std::int64_t previous = -2;
    for (std::int64_t chunk; (chunk = queue.take(t)) >= 0; previous = chunk) {
      std::int64_t const first = layout.first_tile(chunk);
      std::int64_t const last = layout.first_tile(chunk + 1);
      ends[chunk].fresh = chunk != previous + 1;
      if (ends[chunk].fresh) {
        if (previous >= 0) {
          ends[previous].row = is_open ? i : -1;
          ends[previous].sum = sum;
        }
        i = rows_before(ptr, rows, first * tile_steps);
        k = first * tile_steps - i;
        foreign = is_cut(ptr, rows, i, k);
        is_open = false;
        told = i + foreign;
      }
      for (std::int64_t tile = first; tile < last; ++tile) {
        std::int64_t const end = (tile + 1) * tile_steps; // of the path
        // The row that was open, up to its end or the tile's end.
        if (foreign || is_open) {
          std::int64_t const row_end = ptr[i + 1];
          bool const done = row_end + i < end;
          std::int64_t const stop = done ? row_end : end - i;
          V const piece = dot(val, col, x, k, stop, ahead);
          k = stop;
          if (foreign)
            head[tile] = piece;
          else
            sum = sum + piece;
          if (!done)
            continue;
          if (!foreign)
            update(y + i, alpha, sum, beta, overwrite);
          foreign = is_open = false;
          ++i;
        }
        whole_rows(alpha, ptr, col, val, rows, x, beta, y, overwrite, end, ahead, i, k);
        // The row that this tile's end cuts.
        if (i < rows && k < end - i) {
          sum = dot(val, col, x, k, end - i, ahead);
          k = end - i;
          is_open = true;
        }
        if ((tile + 1) % tiles_told == 0)
          tell();
      }
      tell();
    }
    if (previous >= 0) {
      ends[previous].row = is_open ? i : -1;
      ends[previous].sum = sum;
    }
  });

  join_seams(layout, head, ends, alpha, ptr, rows, beta, y, overwrite, p);
}

template <class V, class I, class O>
void product_by_rows(V alpha, O const* ptr, I const* col, V const* val, std::int64_t rows,
                     std::int64_t nnz, V const* x, V beta, V* y, plan_view const& p) {
  if (rows == 0)
    return;
  rows_loop(*as_plain(&alpha), ptr, col, as_plain(val), rows, nnz, as_plain(x), *as_plain(&beta),
            as_plain(y), p);
}

} // namespace

// product_by_rows() and short_run() as compiled with csr.cpp, once, for other formats with rows of
// this kind.
#define TULLE_ROWS(tag, V, I, O)                                                                   \
  void multiply_rows(V alpha, O const* ptr, I const* col, V const* val, std::int64_t rows,         \
                     std::int64_t nnz, V const* x, V beta, V* y, plan_view const& p);
TULLE_TYPES(TULLE_ROWS)
TULLE_BASIC_TYPES(TULLE_ROWS)
#undef TULLE_ROWS
#define TULLE_RUNS(tag, V, I, O)                                                                   \
  std::int64_t multiply_run(O const* ptr, I const* col, V const* val, V const* x, V alpha, V beta, \
                            V* y, bool overwrite, std::int64_t i, std::int64_t rows,               \
                            std::int64_t ahead);
TULLE_TYPES(TULLE_RUNS)
#undef TULLE_RUNS

} // namespace tulle::kernels::TULLE_ISA

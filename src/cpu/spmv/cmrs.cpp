// SPDX-License-Identifier: Apache-2.0

// src/cpu/spmv/cmrs.cpp:  y = alpha*A*x + beta*y, A in CMRS.
//
// Koza et al., 2014, alg. 1, with a thread for a warp and `lanes` sums a row for its 32: slots add
// to the sums of their rows in turn, so that neighbours of one row do not wait for one another, and
// the sums are added up at the strip's end. How long rows are is never asked. Padded strips take
// sums modulo what their layout allows (sec. 6.7); padding is multiplied, and where that shows, as
// NaN, the strip is taken again without it.
//
// The path through slots and rows is cut into tiles as in rows.hpp. A strip belongs to the tile
// that it begins in; one so long that threads would wait for it is cut where tiles end, and its
// pieces are added in order. Both depend on the matrix alone. Bytes that must move, double with
// 32-bit indices: 12 a slot, 8 + 4 / height a row and 8 a column, 2 flops a slot.
#include "tulle/format/cmrs.hpp"

#include "cpu/spmv/scatter.hpp"
#include "kernel/chunks.hpp"
#include "kernel/instantiate.hpp"

namespace tulle::simd::TULLE_ISA {
namespace {

constexpr std::int64_t tile_steps = 8192;           // slots and rows; as in rows.hpp
constexpr std::int64_t long_strip = 4 * tile_steps; // slots from which a strip is cut; a guess
constexpr int prefetch_bytes = 4096;                // ahead in val, half of it in col; as there
constexpr int most_rows = 64;                       // of a strip
constexpr int group = 8;                            // slots a turn of the loop

/// A column word: the column, and the row in its strip.
template <class I>
struct column_word {
  using U = hwy::MakeUnsigned<I>;
  U word;
  HWY_INLINE std::size_t row(U mask) const { return word & mask; }
  template <bool padded>
  HWY_INLINE std::size_t column(int bits) const { // without the sign, which marks padding
    return padded ? (word << 1) >> (bits + 1) : word >> bits;
  }
};

template <class V, class I>
struct strip_reader {
  I const* col;
  V const* val;
  V const* x;
  int bits;
  int height;

  /// Adds slot k to sum `lane` of its row. Sums of a lane lie together: the row alone is the index.
  template <bool padded>
  HWY_INLINE void add(V* sums, std::int64_t k, int lane) const {
    column_word<I> const w{static_cast<hwy::MakeUnsigned<I>>(col[k])};
    V* const s = sums + lane * most_rows + w.row(static_cast<hwy::MakeUnsigned<I>>(height - 1));
    *s = mul_add(val[k], x[w.template column<padded>(bits)], *s);
  }

  /// Adds slots [k, end), to lanes in turn.
  template <int lanes, bool padded, bool streaming>
  HWY_INLINE void add_all(V* HWY_RESTRICT sums, std::int64_t k, std::int64_t end) const {
    for (; k + group <= end; k += group) {
      if constexpr (streaming) {
        for (std::size_t line = 0; line < group * sizeof(V); line += 64)
          __builtin_prefetch(reinterpret_cast<char const*>(val + k) + prefetch_bytes + line);
        __builtin_prefetch(reinterpret_cast<char const*>(col + k) + prefetch_bytes / 2);
      }
      HWY_UNROLL(group)
      for (int i = 0; i < group; ++i)
        add<padded>(sums, k + i, i % lanes);
    }
    for (int lane = 0; k < end; ++k, ++lane)
      add<padded>(sums, k, lane % lanes);
  }

  /// The same with padding left out, where a product with it has shown.
  template <int lanes>
  HWY_NOINLINE void add_exact(V* sums, std::int64_t k, std::int64_t end) const {
    for (int lane = 0; k < end; ++k, ++lane)
      if (col[k] >= 0)
        add<true>(sums, k, lane % lanes);
  }

  /// The sums of rows, and zeros where they were.
  template <int lanes>
  HWY_INLINE void reduce(V* HWY_RESTRICT sums, V* HWY_RESTRICT out) const {
    for (int r = 0; r < height; ++r) {
      V* const s = sums + r;
      if constexpr (lanes == 4)
        out[r] = (s[0] + s[2 * most_rows]) + (s[most_rows] + s[3 * most_rows]);
      else if constexpr (lanes == 2)
        out[r] = s[0] + s[most_rows];
      else
        out[r] = s[0];
      for (int i = 0; i < lanes; ++i)
        s[i * most_rows] = V{};
    }
  }

  /// out[0..height) = rows of the slots [k, end). `sums` are zero before and after.
  template <int lanes, bool padded, bool streaming>
  HWY_INLINE void multiply(V* sums, std::int64_t k, std::int64_t end, V* out) const {
    add_all<lanes, padded, streaming>(sums, k, end);
    reduce<lanes>(sums, out);
    if constexpr (padded) {
      bool shows = false;
      for (int r = 0; r < height; ++r)
        shows |= out[r] != out[r];
      if (shows) {
        add_exact<lanes>(sums, k, end);
        reduce<lanes>(sums, out);
      }
    }
  }
};

/// Where things lie in the workspace: two pieces of a long strip a tile, the strip that it leaves
/// open, a share a thread.
struct strips_layout {
  std::int64_t tiles;
  std::int64_t chunks;
  std::size_t open_at;
  std::size_t shares_at;
  std::size_t bytes;

  strips_layout(std::int64_t steps, std::size_t piece_bytes, int threads)
      : tiles((steps + tile_steps - 1) / tile_steps),
        chunks(tiles < threads * chunks_per_thread ? tiles : threads * chunks_per_thread) {
    auto const n = static_cast<std::size_t>(tiles);
    open_at = (2 * n * piece_bytes + 63) / 64 * 64;
    shares_at = open_at + (n * sizeof(std::int64_t) + 63) / 64 * 64;
    bytes = shares_at + static_cast<std::size_t>(threads) * sizeof(share);
  }
  std::int64_t first_tile(std::int64_t chunk) const { return tiles * chunk / chunks; }
};

template <class V, class I, class O>
strips_layout layout_for(cmrs_view<V, I, O> const& a, int threads) {
  std::int64_t const h = a.layout.height;
  std::int64_t const strips = (static_cast<std::int64_t>(a.rows) + h - 1) / h;
  return {static_cast<std::int64_t>(a.stored) + strips * h, static_cast<std::size_t>(h) * sizeof(V),
          threads};
}

template <int lanes, bool padded, bool streaming, class V, class I, class O>
void multiply_strips(V alpha, cmrs_view<V, I, O> const& a, V const* x, V beta, V* y,
                     plan_view const& p) {
  int const height = a.layout.height;
  std::int64_t const h = height;
  std::int64_t const rows = a.rows;
  std::int64_t const strips = (rows + h - 1) / h;
  strips_layout const layout = layout_for(a, p.threads);
  strip_reader<V, I> const reader{a.col, a.val, x, __builtin_ctz(static_cast<unsigned>(height)),
                                  height};
  O const* const ptr = a.strip_ptr;
  bool const overwrite = beta == V{};
  char* const work = static_cast<char*>(p.work);
  V* const heads = reinterpret_cast<V*>(work); // of the strip that was open when the tile began
  V* const tails = heads + layout.tiles * h;   // of the one that it leaves open
  auto* const open = reinterpret_cast<std::int64_t*>(work + layout.open_at); // -1: none
  chunk_queue queue(reinterpret_cast<share*>(work + layout.shares_at), p.threads, layout.chunks);
  auto const store = [=](std::int64_t s, V const* sums) {
    std::int64_t const first = s * h;
    std::int64_t const n = rows - first < h ? rows - first : h;
    for (std::int64_t r = 0; r < n; ++r)
      update(y + first + r, alpha, sums[r], beta, overwrite);
  };

#pragma omp parallel num_threads(p.threads)
  {
    int const t = omp_get_thread_num();
    alignas(64) V sums[most_rows * lanes] = {};
    alignas(64) V out[most_rows];
    for (std::int64_t chunk; (chunk = queue.take(t)) >= 0;) {
      std::int64_t const first = layout.first_tile(chunk);
      std::int64_t const last = layout.first_tile(chunk + 1);
      // The first strip that begins in the chunk: at step ptr[s] + s * h of the path.
      std::int64_t s = 0;
      for (std::int64_t hi = strips; s < hi;) {
        std::int64_t const mid = (s + hi) / 2;
        if (static_cast<std::int64_t>(ptr[mid]) + mid * h < first * tile_steps)
          s = mid + 1;
        else
          hi = mid;
      }
      for (std::int64_t tile = first; tile < last; ++tile) {
        std::int64_t const begin_step = tile * tile_steps;
        std::int64_t const end_step = begin_step + tile_steps;
        open[tile] = -1;
        if (s > 0) { // a long strip that began before
          std::int64_t const stop = ptr[s];
          std::int64_t const begin = begin_step - (s - 1) * h;
          std::int64_t const end = end_step - (s - 1) * h;
          if (stop - static_cast<std::int64_t>(ptr[s - 1]) >= long_strip && begin < stop)
            reader.template multiply<lanes, padded, streaming>(sums, begin, stop < end ? stop : end,
                                                               heads + tile * h);
        }
        for (; s < strips; ++s) {
          std::int64_t const begin = ptr[s];
          std::int64_t const stop = ptr[s + 1];
          if (begin + s * h >= end_step)
            break;
          std::int64_t const end = end_step - s * h;
          if (stop - begin >= long_strip && end < stop) {
            reader.template multiply<lanes, padded, streaming>(sums, begin, end, tails + tile * h);
            open[tile] = s;
            continue; // the next one begins beyond this tile
          }
          reader.template multiply<lanes, padded, streaming>(sums, begin, stop, out);
          store(s, out);
        }
      }
    }
  }

  for (std::int64_t tile = 0; tile < layout.tiles; ++tile) {
    std::int64_t const s = open[tile];
    if (s < 0)
      continue;
    V* const sums = tails + tile * h;
    std::int64_t const stop = ptr[s + 1];
    for (std::int64_t next = tile + 1; next * tile_steps - s * h < stop; ++next)
      for (std::int64_t r = 0; r < h; ++r)
        sums[r] = sums[r] + heads[next * h + r];
    store(s, sums);
  }
}

template <class V, class I, class O>
std::size_t prepare(cmrs_view<V, I, O> const& a, plan_view& p) {
  int const bits = __builtin_ctz(static_cast<unsigned>(a.layout.height));
  if (p.transposed)
    return prepare_scatter_of<V>(
        a.stored, a.stored, p, [&](std::int64_t begin, std::int64_t end, extent& e) {
          for (std::int64_t k = begin; k < end; ++k) // padding has a neighbour's column
            e.add(static_cast<std::int64_t>(
                column_word<I>{static_cast<hwy::MakeUnsigned<I>>(a.col[k])}.template column<true>(
                    bits)));
        });
  p.method = a.layout.warp ? "padded strips" : a.layout.sorted ? "sorted strips" : "strips";
  return layout_for(a, p.threads).bytes;
}

/// The transpose: slots [begin, end) to out, each scaled by x of its row.
template <class V, class I, class O>
void scatter_strips(cmrs_view<V, I, O> const& a, V const* x, std::int64_t begin, std::int64_t end,
                    V* out) {
  std::int64_t const h = a.layout.height;
  int const bits = __builtin_ctz(static_cast<unsigned>(h));
  std::int64_t s = 0; // the strip that holds slot `begin`: the last that does not begin behind it
  for (std::int64_t hi = (static_cast<std::int64_t>(a.rows) + h - 1) / h; hi - s > 1;) {
    std::int64_t const mid = (s + hi) / 2;
    if (static_cast<std::int64_t>(a.strip_ptr[mid]) <= begin)
      s = mid;
    else
      hi = mid;
  }
  for (std::int64_t k = begin; k < end; ++s) {
    std::int64_t const strip_end = a.strip_ptr[s + 1];
    V const* const xs = x + s * h;
    for (std::int64_t const stop = strip_end < end ? strip_end : end; k < stop; ++k) {
      I const w = a.col[k];
      if (w >= 0)
        out[w >> bits] = mul_add(a.val[k], xs[w & static_cast<I>(h - 1)], out[w >> bits]);
    }
  }
}

template <bool padded, int lanes, class V, class I, class O>
void multiply_with(V alpha, cmrs_view<V, I, O> const& a, V const* x, V beta, V* y,
                   plan_view const& p) {
  if (p.streaming)
    multiply_strips<lanes, padded, true>(alpha, a, x, beta, y, p);
  else
    multiply_strips<lanes, padded, false>(alpha, a, x, beta, y, p);
}

template <class V, class I, class O>
void spmv(V alpha, cmrs_view<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p) {
  if (p.transposed)
    return multiply_scatter(alpha, static_cast<std::int64_t>(a.cols), a.stored, beta, y, p,
                            [&](std::int64_t begin, std::int64_t end, V* out) {
                              if (begin < end)
                                scatter_strips(a, x, begin, end, out);
                            });
  if (a.layout.warp == 0)
    return multiply_with<false, 4>(alpha, a, x, beta, y, p);
  if (a.layout.modulo == 1)
    return multiply_with<true, 1>(alpha, a, x, beta, y, p);
  if (a.layout.modulo == 2)
    return multiply_with<true, 2>(alpha, a, x, beta, y, p);
  return multiply_with<true, 4>(alpha, a, x, beta, y, p);
}

} // namespace

TULLE_INSTANTIATE_SPMV(cmrs)

} // namespace tulle::simd::TULLE_ISA

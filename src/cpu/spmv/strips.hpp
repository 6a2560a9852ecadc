// SPDX-License-Identifier: Apache-2.0

// y = alpha*A*x + beta*y where the entries of a few rows, a strip, are in any order: cmrs, scoo. A
// reader has one sum for each row of its strip, or several.
//
// The path through slots and rows is cut into tiles as in rows.hpp. A strip belongs to the tile
// that it begins in. A strip so long that threads would wait for it is cut where tiles end, and its
// pieces are added in order. Both depend on the matrix alone.
#pragma once
#include "kernel/chunks.hpp"
#include "kernel/simd.hpp"
#include "kernel/spmv.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

constexpr std::int64_t strip_steps = 8192;           // slots and rows of a tile; as in rows.hpp
constexpr std::int64_t long_strip = 4 * strip_steps; // slots from which a strip is cut; a guess

/// Strips of `height` rows each, strip s being slots [ptr[s], ptr[s + 1]).
template <class O>
struct strips_of {
  O const* ptr;
  std::int64_t rows;
  std::int64_t height;
  std::int64_t slots;
  std::int64_t count() const { return (rows + height - 1) / height; }
};

/// Layout of the workspace: two pieces of long strips per tile, the strip that it leaves open, one
/// share per thread.
struct strips_layout {
  std::int64_t tiles;
  std::int64_t chunks;
  std::size_t open_at;
  std::size_t shares_at;
  std::size_t bytes;

  template <class O>
  strips_layout(strips_of<O> const& a, std::size_t value_bytes, int threads)
      : tiles((a.slots + a.count() * a.height + strip_steps - 1) / strip_steps),
        chunks(tiles < threads * chunks_per_thread ? tiles : threads * chunks_per_thread) {
    auto const n = static_cast<std::size_t>(tiles);
    open_at = (2 * n * static_cast<std::size_t>(a.height) * value_bytes + 63) / 64 * 64;
    shares_at = open_at + (n * sizeof(std::int64_t) + 63) / 64 * 64;
    bytes = shares_at + static_cast<std::size_t>(threads) * sizeof(share);
  }
  std::int64_t first_tile(std::int64_t chunk) const { return tiles * chunk / chunks; }
};

/// Reader::multiply(sums, k, end, out): out[0..height) = rows of slots [k, end). `sums` has
/// reader.sums() values, of which there are at most Reader::most_sums, which are zero before and
/// after; out has room for Reader::most_rows.
template <class Reader, class V, class O>
void multiply_strips(V alpha, strips_of<O> const& a, Reader const& reader, V beta, V* y,
                     plan_view const& p) {
  std::int64_t const h = a.height;
  std::int64_t const rows = a.rows;
  std::int64_t const strips = a.count();
  strips_layout const layout(a, sizeof(V), p.threads);
  O const* const ptr = a.ptr;
  bool const overwrite = beta == V{};
  char* const work = static_cast<char*>(p.work);
  // Pieces of the strip that was open when the tile began
  V* const heads = reinterpret_cast<V*>(work);
  V* const tails = heads + layout.tiles * h; // pieces of the strip that it leaves open
  auto* const open = reinterpret_cast<std::int64_t*>(work + layout.open_at); // -1: none
  chunk_queue queue(reinterpret_cast<share*>(work + layout.shares_at), p.threads, layout.chunks);
  auto const store = [=](std::int64_t s, V const* sums) {
    std::int64_t const first = s * h;
    std::int64_t const n = rows - first < h ? rows - first : h;
    for (std::int64_t r = 0; r < n; ++r)
      update(y + first + r, alpha, sums[r], beta, overwrite);
  };

  parallel(p.threads, [&](int t) {
    alignas(64) V sums[Reader::most_sums];
    alignas(64) V out[Reader::most_rows];
    for (std::int64_t k = 0; k < reader.sums(); ++k)
      sums[k] = V{};
    for (std::int64_t chunk; (chunk = queue.take(t)) >= 0;) {
      std::int64_t const first = layout.first_tile(chunk);
      std::int64_t const last = layout.first_tile(chunk + 1);
      // The first strip that begins in the chunk: at step ptr[s] + s * h of the path.
      std::int64_t s = 0;
      for (std::int64_t hi = strips; s < hi;) {
        std::int64_t const mid = (s + hi) / 2;
        if (static_cast<std::int64_t>(ptr[mid]) + mid * h < first * strip_steps)
          s = mid + 1;
        else
          hi = mid;
      }
      for (std::int64_t tile = first; tile < last; ++tile) {
        std::int64_t const begin_step = tile * strip_steps;
        std::int64_t const end_step = begin_step + strip_steps;
        open[tile] = -1;
        if (s > 0) { // a long strip that began before
          std::int64_t const stop = ptr[s];
          std::int64_t const begin = begin_step - (s - 1) * h;
          std::int64_t const end = end_step - (s - 1) * h;
          if (stop - static_cast<std::int64_t>(ptr[s - 1]) >= long_strip && begin < stop)
            reader.multiply(sums, begin, stop < end ? stop : end, heads + tile * h);
        }
        for (; s < strips; ++s) {
          std::int64_t const begin = ptr[s];
          std::int64_t const stop = ptr[s + 1];
          if (begin + s * h >= end_step)
            break;
          std::int64_t const end = end_step - s * h;
          if (stop - begin >= long_strip && end < stop) {
            reader.multiply(sums, begin, end, tails + tile * h);
            open[tile] = s;
            continue; // the next one begins beyond this tile
          }
          reader.multiply(sums, begin, stop, out);
          store(s, out);
        }
      }
    }
  });

  for (std::int64_t tile = 0; tile < layout.tiles; ++tile) {
    std::int64_t const s = open[tile];
    if (s < 0)
      continue;
    V* const sums = tails + tile * h;
    std::int64_t const stop = ptr[s + 1];
    for (std::int64_t next = tile + 1; next * strip_steps - s * h < stop; ++next)
      for (std::int64_t r = 0; r < h; ++r)
        sums[r] = sums[r] + heads[next * h + r];
    store(s, sums);
  }
}

/// The strip that holds slot k: the last one that begins at or before it.
template <class O>
std::int64_t strip_of(strips_of<O> const& a, std::int64_t k) {
  std::int64_t s = 0;
  for (std::int64_t hi = a.count(); hi - s > 1;) {
    std::int64_t const mid = (s + hi) / 2;
    if (static_cast<std::int64_t>(a.ptr[mid]) <= k)
      s = mid;
    else
      hi = mid;
  }
  return s;
}

} // namespace
} // namespace tulle::kernels::TULLE_ISA

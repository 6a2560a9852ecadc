// SPDX-License-Identifier: Apache-2.0

/// The tiles of csr5: their sizes, their descriptors and their transposition.
#pragma once
#include "tulle/format/csr5.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tulle::detail {

constexpr int csr5_most_lanes = 64;
constexpr int csr5_most_entries = 1024; // of a tile that fits: 64 lanes of 16 steps

/// Bits of a descriptor word before bit_flag: those of y_offset, then those of seg_offset.
struct csr5_bits {
  int y, seg;
  csr5_bits(int omega, int sigma)
      : y(static_cast<int>(std::bit_width(static_cast<unsigned>(omega * sigma - 1)))),
        seg(static_cast<int>(std::bit_width(static_cast<unsigned>(omega - 1)))) {}
};

/// The most steps whose flags fit a word beside the two offsets.
inline int csr5_most_steps(int omega) {
  int sigma = 1;
  for (; sigma < 32; ++sigma) {
    csr5_bits const next(omega, sigma + 1);
    if (next.y + next.seg + sigma + 1 > 32)
      break;
  }
  return sigma;
}

inline void check_csr5_shape(errc code, int omega, int sigma) {
  if (omega < 2 || omega > csr5_most_lanes || !std::has_single_bit(static_cast<unsigned>(omega)))
    fail(code, "csr5: omega is %d, expected 2, 4, 8, 16, 32 or 64", omega);
  int const most = csr5_most_steps(omega);
  if (sigma < 1 || sigma > most)
    fail(code, "csr5: sigma is %d, expected 1 to %d where omega is %d", sigma, most, omega);
}

/// Thesis, sec. 6.3.2: r up to r entries a row, as many as there are up to s, s up to t, then u.
/// There it is 16 on every CPU, which is r = s = u.
constexpr double csr5_r = 16, csr5_s = 16, csr5_t = 256, csr5_u = 16;
/// u where omega is 32, for a GPU: H200, shares of the bound with 4, 8, 12, 16: dense 2048 .97,
/// .79, .73, .47; lp .46, .42, .39, .40.
constexpr double csr5_u_of_warps = 4;

/// Both options as they will be; errc::unsupported for what cannot be.
template <class V>
csr5_options csr5_layout(csr5_options o, std::size_t rows, std::size_t nnz) {
  if (o.omega == 0)
    o.omega = 32 / static_cast<int>(sizeof(V)); // a vector of 256 bits
  if (o.sigma == 0) {
    double const length = rows == 0 ? 0 : static_cast<double>(nnz) / static_cast<double>(rows);
    double const wanted = length <= csr5_r   ? csr5_r
                          : length <= csr5_s ? length
                          : length <= csr5_t ? csr5_s
                          : o.omega == 32    ? csr5_u_of_warps
                                             : csr5_u;
    check_csr5_shape(errc::unsupported, o.omega, 1);
    o.sigma = std::min(static_cast<int>(wanted), csr5_most_steps(o.omega));
  }
  check_csr5_shape(errc::unsupported, o.omega, o.sigma);
  return o;
}

/// What tile_ptr and tile_desc say of one tile, worked out from row_ptr alone. For the tiles in
/// order: each goes on from the row that the one before ended in.
template <class I, class O>
struct csr5_describer {
  O const* row_ptr;
  std::size_t rows, nnz;
  int omega, sigma;
  std::size_t next = 0;     // the row of the first entry after the tile; rows where there is none
  std::size_t first = 0;    // that of its first entry
  bool has_empty = false;   // a row in [first, next) is
  std::size_t segments = 0; // rows with entries in the tile
  std::uint32_t words[csr5_most_lanes] = {};

  csr5_describer(O const* row_ptr, std::size_t rows, std::size_t nnz, int omega, int sigma,
                 std::size_t tile)
      : row_ptr(row_ptr), rows(rows), nnz(nnz), omega(omega), sigma(sigma) {
    O const at = static_cast<O>(tile * entries());
    if (nnz > 0)
      next =
          static_cast<std::size_t>(std::upper_bound(row_ptr, row_ptr + rows + 1, at) - row_ptr) - 1;
  }
  std::size_t entries() const {
    return static_cast<std::size_t>(omega) * static_cast<std::size_t>(sigma);
  }

  /// f(row, entry of the tile) for each row that has entries in the tile, the first included.
  template <class F>
  void rows_of(std::size_t tile, F&& f) {
    std::size_t const begin = tile * entries();
    std::size_t const end = std::min(begin + entries(), nnz);
    first = next;
    has_empty = false;
    f(first, std::size_t(0));
    std::size_t i = first + 1;
    for (; i < rows && static_cast<std::size_t>(row_ptr[i]) < end; ++i)
      if (row_ptr[i] == row_ptr[i + 1])
        has_empty = true;
      else
        f(i, static_cast<std::size_t>(row_ptr[i]) - begin);
    if (static_cast<std::size_t>(row_ptr[i]) > end) {
      next = i - 1; // goes on behind the tile
      return;
    }
    for (next = i; next < rows && row_ptr[next] == row_ptr[next + 1]; ++next)
      has_empty = true;
  }

  void describe(std::size_t tile) {
    std::uint32_t flags[csr5_most_lanes] = {};
    segments = 0;
    auto const steps = static_cast<unsigned>(sigma);
    rows_of(tile, [&](std::size_t, std::size_t entry) {
      auto const k = static_cast<unsigned>(entry);
      flags[k / steps] |= std::uint32_t(1) << (steps - 1 - k % steps);
      ++segments;
    });
    if ((tile + 1) * entries() > nnz)
      return; // no whole tile: no words
    csr5_bits const bits(omega, sigma);
    std::uint32_t begun = 0;
    int head = 0; // the last lane in which a row begins
    for (int i = 0; i < omega; ++i) {
      words[i] = begun << (32 - bits.y) | flags[i] << (32 - bits.y - bits.seg - sigma);
      begun += static_cast<std::uint32_t>(std::popcount(flags[i]));
      if (flags[i] != 0)
        head = i;
      else
        words[head] += std::uint32_t(1) << (32 - bits.y - bits.seg);
    }
  }
};

template <class I>
using csr5_pointer = std::make_unsigned_t<I>;
template <class I>
constexpr csr5_pointer<I> csr5_mark = csr5_pointer<I>(1) << (8 * sizeof(I) - 1);

/// One tile from csr's order to csr5's, or back.
template <bool back, class T>
void turn_tile(T const* in, T* out, std::size_t lanes, std::size_t steps) {
  auto const turn = [in, out](std::size_t width, std::size_t height) {
    for (std::size_t j = 0; j < height; ++j)
      for (std::size_t i = 0; i < width; ++i)
        if constexpr (back)
          out[i * height + j] = in[j * width + i];
        else
          out[j * width + i] = in[i * height + j];
  };
  // The usual sizes known to the compiler.
  if (lanes == 4 && steps == 16)
    turn(4, 16);
  else if (lanes == 8 && steps == 16)
    turn(8, 16);
  else
    turn(lanes, steps);
}

/// Tiles from csr's order to csr5's, or back; `to` and `from` may be the same array. What is no
/// whole tile is copied.
template <bool back, class T>
void turn_tiles(T const* from, T* to, std::size_t entries, int omega, int sigma, cpu const& where) {
  auto const lanes = static_cast<std::size_t>(omega);
  auto const steps = static_cast<std::size_t>(sigma);
  std::size_t const n = lanes * steps;
  std::size_t const whole = entries / n;
  int const parts = parts_for(entries, where.threads);
  parallel(parts, [&](int part) {
    T tile[csr5_most_entries];
    std::size_t const end = split(whole, part + 1, parts);
    for (std::size_t t = split(whole, part, parts); t < end; ++t) {
      turn_tile<back>(from + t * n, from == to ? tile : to + t * n, lanes, steps);
      if (from == to)
        std::copy_n(tile, n, to + t * n);
    }
  });
  if (from != to)
    std::copy(from + whole * n, from + entries, to + whole * n);
}

} // namespace tulle::detail

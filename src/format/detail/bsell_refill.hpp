// SPDX-License-Identifier: Apache-2.0

/// New values in a bsell whose blocks have no holes: whole block rows, and slices line by line.
#pragma once
#include "tulle/format/bsell.hpp"

#include "format/detail/blocks.hpp"
#include "format/detail/copy.hpp"

namespace tulle::detail {

/// Where the entries of the block row at a place begin in an array of the csr.
template <class V, class I, class O, class T>
T const* first_entry(bsell_view<V, I, O> const& b, std::size_t p, csr_view<V, I, O> const& a,
                     T const* array) {
  return array +
         a.row_ptr[static_cast<std::size_t>(b.row_at(p)) * static_cast<std::size_t>(b.height)];
}

/// Whether a has the columns of the blocks at a place, which have no holes: the rows of a block row
/// are alike.
template <class V, class I, class O>
bool is_whole_place(bsell_view<V, I, O> const& b, std::size_t p, csr_view<V, I, O> const& a) {
  std::size_t const s = p / static_cast<std::size_t>(b.chunk);
  std::size_t const r = p % static_cast<std::size_t>(b.chunk);
  bsell_places const at = b.places_of(s);
  std::size_t const top =
      static_cast<std::size_t>(b.row_at(p)) * static_cast<std::size_t>(b.height);
  auto const blocks = static_cast<std::size_t>(b.len[p]);
  auto const n = static_cast<O>(blocks * static_cast<std::size_t>(b.width));
  if (!are_rows_alike(a, top, b.height, n))
    return false;
  I const* const from = first_entry(b, p, a, a.col);
  return known_side(b.width, [&](auto w) {
    I other = 0; // no branch an entry
    auto const compare = [&](auto const* col, I base) {
      auto const block = [&](std::size_t k, std::size_t place) {
        I const left = static_cast<I>((base + static_cast<I>(col[place])) * w);
        for (int e = 0; e < w; ++e)
          other |=
              static_cast<I>(from[k * static_cast<std::size_t>(w) + static_cast<std::size_t>(e)] ^
                             static_cast<I>(left + e));
      };
      std::size_t k = 0;
      for (; k + 4 <= std::min(blocks, at.fours); k += 4) {
        std::size_t const place = at.block(k, r);
        block(k, place);
        block(k + 1, place + 1);
        block(k + 2, place + 2 * at.chunk);
        block(k + 3, place + 2 * at.chunk + 1);
      }
      for (; k < blocks; ++k)
        block(k, at.block(k, r));
    };
    if (b.short_col)
      compare(b.short_col, b.base[s]);
    else
      compare(b.col, I(0));
    return other == 0;
  });
}

/// The values of blocks [k, end) at a place; such blocks have no holes.
template <class V, class I, class O>
void fill_whole_place(bsell_view<V, I, O> const& b, std::size_t p, std::size_t r,
                      bsell_places const& at, csr_view<V, I, O> const& a, std::size_t k, V* val) {
  auto const blocks = static_cast<std::size_t>(b.len[p]);
  V const* const from = first_entry(b, p, a, a.val);
  known_side(b.width, [&](auto w) {
    known_side(b.height, [&](auto h) {
      for (std::size_t j = k; j < blocks; ++j) {
        V* const to = val + at.first(j, r);
        std::size_t const row = blocks * static_cast<std::size_t>(w);
        V const* const block = from + j * static_cast<std::size_t>(w);
        for (int i = 0; i < h; ++i)
          for (int e = 0; e < w; ++e)
            to[at.slot(j, static_cast<std::size_t>(i * w + e))] =
                block[static_cast<std::size_t>(i) * row + static_cast<std::size_t>(e)];
      }
    });
  });
}

/// Blocks [0, fours) of C rows of H x W blocks to a slice, line by line: pairs of blocks, one
/// behind the other, are H W pairs of values. line[r * H + i] is row i of the blocks of row r;
/// those of `next`, the slice behind it, are asked for.
template <int H, int W, int C, class V>
void put_fours(V const* const* line, V const* const* next, std::size_t fours, bool past, V* to) {
  constexpr int size = H * W;
  for (std::size_t k = 0; k < fours; k += 4) {
    std::size_t const at = k * W;
    for (int l = 0; l < H * C; ++l)
      ask_for(next[l] + at, 4 * W);
#pragma GCC unroll 16
    for (int e = 0; e < 2 * size; e += 2)
#pragma GCC unroll 2
      for (int half = 0; half < 2; ++half)
#pragma GCC unroll 4
        for (int r = 0; r < C; ++r, to += 2) {
          auto const value = [&](int n) {
            return line[r * H + n % size / W] + at + (2 * half + n / size) * W + n % size % W;
          };
          long long one, other;
          std::memcpy(&one, value(e), sizeof one);
          std::memcpy(&other, value(e + 1), sizeof other);
          put(two_words{one, other}, to, past);
        }
  }
}

/// What put_fours() can do of a slice, and how many blocks of each row it did.
template <class H, class W, class V, class I, class O>
std::size_t fill_fours(H, W, bsell_view<V, I, O> const& b, std::size_t first,
                       bsell_places const& at, csr_view<V, I, O> const& a, V* val, bool past) {
  constexpr std::size_t chunk = 4; // the usual one
  if constexpr (sizeof(V) == sizeof(long long) && !std::is_same_v<H, int> &&
                !std::is_same_v<W, int>) {
    if (at.chunk != chunk || first + chunk > b.block_rows())
      return 0;
    constexpr std::size_t h = H::value;
    V const* line[h * chunk];
    V const* next[h * chunk];
    std::size_t fours = at.fours;
    for (std::size_t r = 0; r < chunk; ++r) {
      std::size_t const p = first + r;
      std::size_t const then = std::min(p + chunk, b.block_rows() - 1);
      fours = std::min(fours, static_cast<std::size_t>(b.len[p]) / 4 * 4);
      for (std::size_t i = 0; i < h; ++i) {
        line[r * h + i] =
            first_entry(b, p, a, a.val) + i * W::value * static_cast<std::size_t>(b.len[p]);
        next[r * h + i] =
            first_entry(b, then, a, a.val) + i * W::value * static_cast<std::size_t>(b.len[then]);
      }
    }
    put_fours<h, W::value, chunk>(line, next, fours, past, val + at.begin * h * W::value);
    return fours;
  }
  return 0;
}

/// The values of slice s, whose blocks have no holes.
template <class V, class I, class O>
void fill_whole_slice(bsell_view<V, I, O> const& b, std::size_t s, csr_view<V, I, O> const& a,
                      V* val, bool past) {
  bsell_places const at = b.places_of(s);
  std::size_t const first = s * at.chunk;
  std::size_t const fours = known_side(b.height, [&](auto h) {
    return known_side(b.width,
                      [&](auto w) { return fill_fours(h, w, b, first, at, a, val, past); });
  });
  for (std::size_t r = 0; r < at.chunk && first + r < b.block_rows(); ++r)
    fill_whole_place(b, first + r, r, at, a, fours, val);
}

} // namespace tulle::detail

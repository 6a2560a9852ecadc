// SPDX-License-Identifier: Apache-2.0

/// Small dense blocks in a csr: where they lie, which shape suits, and one bit per slot for holes.
#pragma once
#include "tulle/format/csr.hpp"
#include "tulle/format/detail/block_bits.hpp"

#include "format/detail/copy.hpp"
#include "format/detail/counting_sort.hpp"

#include <bit>
#include <type_traits>

namespace tulle::detail {

/// Sets the n bits that begin at bit `at` to `bits`, all 0 before. `alone` where no other thread
/// has bits in the words.
inline void put_bits(std::uint64_t* words, std::size_t at, int n, std::uint64_t bits, bool alone) {
  auto const put = [=](std::uint64_t* word, std::uint64_t b) {
    if (alone)
      *word |= b;
    else
      __atomic_fetch_or(word, b, __ATOMIC_RELAXED);
  };
  int const shift = static_cast<int>(at % 64);
  put(words + at / 64, bits << shift);
  if (shift + n > 64)
    put(words + at / 64 + 1, bits >> (64 - shift));
}

/// First block row of part `part` when the entries of a are dealt evenly.
template <class V, class I, class O>
std::size_t split_block_rows(csr_view<V, I, O> const& a, int height, int part, int parts) {
  auto const n = static_cast<std::size_t>(a.rows);
  auto const h = static_cast<std::size_t>(height);
  return part >= parts ? (n + h - 1) / h : split_by_entries(a.row_ptr, n, part, parts) / h;
}

/// The blocks of block row i in order, at most `most`: f(block column, n, first, last), the entries
/// of the block's row s < n being [first[s], last[s]).
template <class V, class I, class O, space S, class F>
constexpr void each_block(csr_view<V, I, O, S> const& a, int height, int width, std::size_t i,
                          std::size_t most, F&& f) {
  std::size_t const top = i * static_cast<std::size_t>(height);
  int const n =
      static_cast<int>(std::min(static_cast<std::size_t>(a.rows) - top, std::size_t(height)));
  O first[longest_block_side] = {}, last[longest_block_side] = {}, end[longest_block_side] = {};
  I next = a.cols; // the least column left; a.cols: none
  for (int s = 0; s < n; ++s) {
    first[s] = a.row_ptr[top + static_cast<std::size_t>(s)];
    end[s] = a.row_ptr[top + static_cast<std::size_t>(s) + 1];
    if (first[s] < end[s])
      next = std::min(next, a.col[first[s]]);
  }
  for (; next < a.cols && most != 0; --most) {
    I const j = static_cast<I>(next / width);
    I const left = static_cast<I>(j * width);
    next = a.cols;
    for (int s = 0; s < n; ++s) {
      O k = first[s];
      if (end[s] - k >= width && a.col[k + width - 1] - left < width)
        k = static_cast<O>(k + width); // a whole row of the block, since columns ascend
      else
        while (k < end[s] && a.col[k] - left < width)
          ++k;
      last[s] = k;
      if (k < end[s])
        next = std::min(next, a.col[k]);
    }
    f(j, n, first, last);
    for (int s = 0; s < n; ++s)
      first[s] = last[s];
  }
}

/// The entries of block row i of a bcsr that the pattern names, row by row: f(row, column, slot, n)
/// for n entries in n slots that follow each other. Stops where f returns false, and returns that.
template <class View, class F>
bool each_run(View const& a, std::size_t i, F&& f) {
  int const w = a.width;
  std::size_t const top = i * static_cast<std::size_t>(a.height);
  std::size_t const size = static_cast<std::size_t>(a.height * w);
  std::size_t const n =
      std::min(static_cast<std::size_t>(a.rows) - top, static_cast<std::size_t>(a.height));
  auto const begin = static_cast<std::size_t>(a.block_ptr[i]);
  auto const end = static_cast<std::size_t>(a.block_ptr[i + 1]);
  for (std::size_t s = 0; s < n; ++s)
    for (std::size_t b = begin; b < end; ++b) {
      std::size_t slot = b * size + s * static_cast<std::size_t>(w);
      auto const left = static_cast<std::size_t>(a.block_col[b]) * static_cast<std::size_t>(w);
      if (!a.pattern) {
        if (!f(top + s, left, slot, w))
          return false;
        continue;
      }
      std::uint64_t bits = bits_at(a.pattern, slot, w);
      for (std::size_t j = left; bits != 0;) {
        int const skip = std::countr_zero(bits);
        int const run = std::countr_one(bits >> skip);
        j += static_cast<std::size_t>(skip);
        slot += static_cast<std::size_t>(skip);
        if (!f(top + s, j, slot, run))
          return false;
        j += static_cast<std::size_t>(run);
        slot += static_cast<std::size_t>(run);
        bits >>= skip + run; // at most width
      }
    }
  return true;
}

inline void check_block_shape(char const* name, int height, int width) {
  if (height < 1 || height > longest_block_side || width < 1 || width > longest_block_side)
    fail(errc::bad_structure, "%s: blocks of %d x %d; both must be from 1 to 8", name, height,
         width);
}

/// Slots, as bits, that lie outside the matrix: of the last block row, and of the last block
/// column.
template <class View>
std::pair<std::uint64_t, std::uint64_t> block_edges(View const& a) {
  std::uint64_t below = 0;
  std::uint64_t beyond = 0;
  for (int s = 0; s < a.height * a.width; ++s) {
    if (a.rows % a.height != 0 && s / a.width >= static_cast<int>(a.rows % a.height))
      below |= std::uint64_t(1) << s;
    if (a.cols % a.width != 0 && s % a.width >= static_cast<int>(a.cols % a.width))
      beyond |= std::uint64_t(1) << s;
  }
  return {below, beyond};
}

/// Whether a block of n x n values, those that are stored as bits, equals its transpose.
template <class V>
bool is_symmetric_block(V const* val, std::uint64_t bits, int n) {
  for (int r = 1; r < n; ++r)
    for (int j = 0; j < r; ++j)
      if ((bits >> (r * n + j) & 1) != (bits >> (j * n + r) & 1) ||
          !same(val + r * n + j, val + j * n + r, 1))
        return false;
  return true;
}

/// f(entry of a, its column by the pattern, slot, n) for each run of block row i of b; false where
/// f says so, or a row of a has fewer entries than the pattern, or more.
template <class View, class Csr, class F>
bool each_run_of(View const& b, std::size_t i, Csr const& a, F&& f) {
  std::size_t const top = i * static_cast<std::size_t>(b.height);
  std::size_t row = top;
  auto k = a.row_ptr[top];
  return each_run(b, i,
                  [&](std::size_t r, std::size_t j, std::size_t slot, int run) {
                    for (; row < r; ++row)
                      if (k != a.row_ptr[row + 1])
                        return false;
                    if (a.row_ptr[row + 1] - k < run || !f(k, j, slot, run))
                      return false;
                    k = static_cast<decltype(k)>(k + run);
                    return true;
                  }) &&
         k == a.row_ptr[row + 1] &&
         k == a.row_ptr[std::min(static_cast<std::size_t>(b.rows),
                                 top + static_cast<std::size_t>(b.height))];
}

/// Whether a has the columns of block row i of b.
template <class View, class V, class I, class O>
bool is_block_row(View const& b, std::size_t i, csr_view<V, I, O> const& a) {
  return each_run_of(b, i, a, [&](O k, std::size_t j, std::size_t, int run) {
    bool good = true;
    for (int e = 0; e < run; ++e)
      good &= a.col[k + e] == static_cast<I>(j) + static_cast<I>(e);
    return good;
  });
}

/// The values of a in block row i of b, whose columns it has.
template <class View, class V, class I, class O>
void fill_block_row(View const& b, std::size_t i, csr_view<V, I, O> const& a, V* val) {
  each_run_of(b, i, a, [&](O k, std::size_t, std::size_t slot, int run) {
    for (int e = 0; e < run; ++e) // a few: less than a call of memmove costs
      val[slot + static_cast<std::size_t>(e)] = a.val[k + e];
    return true;
  });
}

/// f(n), with the usual sides of blocks known to the compiler.
template <class F>
auto known_side(int n, F&& f) {
  switch (n) {
  case 2:
    return f(std::integral_constant<int, 2>());
  case 3:
    return f(std::integral_constant<int, 3>());
  case 4:
    return f(std::integral_constant<int, 4>());
  default:
    return f(n);
  }
}

/// Whether the rows of a block row that begins with row `top` have n entries each, in the same
/// columns. The last may have less rows than height: then it has no blocks that are whole.
template <class V, class I, class O>
bool are_rows_alike(csr_view<V, I, O> const& a, std::size_t top, int height, O n) {
  std::size_t const end =
      std::min(static_cast<std::size_t>(a.rows), top + static_cast<std::size_t>(height));
  for (std::size_t r = top; r < end; ++r)
    if (a.row_ptr[r + 1] - a.row_ptr[r] != n ||
        (r != top &&
         !same(a.col + a.row_ptr[r], a.col + a.row_ptr[top], static_cast<std::size_t>(n))))
      return false;
  return true;
}

/// is_block_row() where b has no holes: the rows of a block row are alike.
template <class View, class V, class I, class O>
bool is_whole_block_row(View const& b, std::size_t i, csr_view<V, I, O> const& a) {
  std::size_t const top = i * static_cast<std::size_t>(b.height);
  O const blocks = static_cast<O>(b.block_ptr[i + 1] - b.block_ptr[i]);
  auto const n = static_cast<O>(blocks * static_cast<O>(b.width));
  I const* const first = a.col + a.row_ptr[top];
  if (!are_rows_alike(a, top, b.height, n))
    return false;
  return known_side(b.width, [&, block_col = b.block_col + b.block_ptr[i]](auto w) {
    I other = 0; // no branch per entry
    for (O k = 0; k < blocks; ++k)
      for (int e = 0; e < w; ++e)
        other |= static_cast<I>(first[k * w + e] ^ static_cast<I>(block_col[k] * w + e));
    return other == 0;
  });
}

/// Its values; past the caches where `past`, and then after_stores() is the caller's.
template <class View, class V, class I, class O>
void fill_whole_block_row(View const& b, std::size_t i, csr_view<V, I, O> const& a, V* val,
                          bool past) {
  V const* const from = a.val + a.row_ptr[i * static_cast<std::size_t>(b.height)];
  O const blocks = static_cast<O>(b.block_ptr[i + 1] - b.block_ptr[i]);
  V* const to =
      val + static_cast<std::size_t>(b.block_ptr[i]) * static_cast<std::size_t>(b.height * b.width);
  auto const values = static_cast<std::size_t>(blocks * b.height * b.width);
  ask_for(from + values, values); // the next block row: rows side by side are no stream
  known_side(b.width, [&](auto w) {
    known_side(b.height, [&](auto h) {
      auto const put = [&](O first, O last, V* at) {
        for (O k = first; k < last; ++k)
          for (int r = 0; r < h; ++r) // rows of blocks * w values, one after the other
            for (int e = 0; e < w; ++e)
              *at++ = from[(r * blocks + k) * w + e];
      };
      if (!past)
        return put(0, blocks, to);
      constexpr O at_once = 32; // blocks, whose values stay in the first cache
      V some[at_once * longest_block_side * longest_block_side];
      for (O k = 0; k < blocks; k += at_once) {
        O const end = std::min<O>(blocks, k + at_once);
        put(k, end, some);
        copy_past_caches(some, static_cast<std::size_t>((end - k) * h * w), to + k * h * w);
      }
    });
  });
}

struct block_shape {
  int height, width;
};

/// A sample of block rows: [first(place), last(place)) at each place.
struct block_sample {
  static constexpr std::size_t rows_each = 24, most_blocks = 32; // of a block row
  std::size_t rows, places, height;

  constexpr block_sample(std::size_t rows, std::size_t nnz, int height)
      : rows(rows), places(std::clamp<std::size_t>(nnz / 32768, 2, 16)),
        height(static_cast<std::size_t>(height)) {}
  constexpr std::size_t first(std::size_t place) const { // in the middle of its part
    return (rows / places * place + rows / places / 2) / height;
  }
  constexpr std::size_t last(std::size_t place) const {
    return std::min(first(place) + rows_each / height, (rows + height - 1) / height);
  }
};

/// What a sample found in blocks of one shape.
struct block_counts {
  std::size_t blocks = 0, entries = 0;

  /// Adds block row i.
  template <class V, class I, class O, space S>
  constexpr void add(csr_view<V, I, O, S> const& a, int height, int width, std::size_t i) {
    each_block(a, height, width, i, block_sample::most_blocks,
               [&](I, int rows, O const* from, O const* to) {
                 ++blocks;
                 for (int s = 0; s < rows; ++s)
                   entries += static_cast<std::size_t>(to[s] - from[s]);
               });
  }
  /// Slots per entry; where the sample is empty, as if it had entries alone.
  double fill(int height, int width) const {
    auto const size = static_cast<std::size_t>(height * width);
    return entries == 0 ? static_cast<double>(size)
                        : static_cast<double>(blocks * size) / static_cast<double>(entries);
  }
};

template <class V, class I, class O>
block_counts sampled_blocks(csr_view<V, I, O> const& a, int height, int width) {
  block_sample const sample(static_cast<std::size_t>(a.rows), static_cast<std::size_t>(a.nnz),
                            height);
  block_counts counts;
  for (std::size_t place = 0; place < sample.places; ++place)
    for (std::size_t i = sample.first(place); i < sample.last(place); ++i)
      counts.add(a, height, width, i);
  return counts;
}

/// The shape of fewest bytes per entry by a sample, among those that leave the given sides as they
/// are, or among squares; 0 is not given. sampled(height, width) are its counts. How: see the head
/// of bcsr.hpp.
template <class View, class Sampled>
block_shape choose_block_shape(View const& a, int height, int width, bool square,
                               Sampled const& sampled) {
  using V = typename View::value;
  using I = typename View::index;
  using O = typename View::offset;
  block_shape best = {height ? height : 1, width ? width : 1};
  if ((height != 0 && width != 0) || a.nnz == 0)
    return best;
  auto const sampled_fill = [&](int h, int w) { return sampled(h, w).fill(h, w); };
  auto const bytes = [&](int h, int w, double fill) {
    return fill * (sizeof(V) + static_cast<double>(sizeof(I)) / (h * w)) +
           static_cast<double>(sizeof(O)) * static_cast<double>(a.rows) / h /
               static_cast<double>(a.nnz);
  };
  // A block has at least the slots that its rows and its columns have as blocks of their own, which
  // rules most shapes out.
  double tall[longest_block_side], wide[longest_block_side];
  for (int side = 1; side <= longest_block_side; ++side) {
    tall[side - 1] = sampled_fill(side, 1);
    wide[side - 1] = sampled_fill(1, side);
  }
  double least = 0.95 * bytes(best.height, best.width, sampled_fill(best.height, best.width));
  for (int h = 1; h <= longest_block_side; ++h)
    for (int w = 1; w <= longest_block_side; ++w) {
      if ((height != 0 && h != height) || (width != 0 && w != width) || (square && h != w) ||
          std::max(tall[h - 1], wide[w - 1]) * sizeof(V) >= least)
        continue;
      double const b = bytes(h, w, sampled_fill(h, w));
      if (b < least) {
        least = b;
        best = {h, w};
      }
    }
  return best;
}
template <class V, class I, class O>
block_shape choose_block_shape(csr_view<V, I, O> const& a, int height, int width,
                               bool square = false) {
  return choose_block_shape(a, height, width, square,
                            [&](int h, int w) { return sampled_blocks(a, h, w); });
}

} // namespace tulle::detail

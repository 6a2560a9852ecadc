// SPDX-License-Identifier: Apache-2.0

/// BCSR, blocked csr: dense blocks of height x width, one column index a block. Blocks begin at
/// multiples of height and width; what a block covers and the matrix does not store is a hole.
///
///     1 . 2 .      height 2       block_ptr   0                 2                 4
///     . 3 . .      width 2        block_col   0        1        0        1
///     . . . 4                     val         1 0 0 3  2 0 0 0  0 0 5 6  0 4 7 0
///     5 6 7 .                     pattern     27673    a bit a slot: 1001 1000 0011 0110
///
/// A matrix that equals its transpose may be stored `symmetric`, in square blocks: those on the
/// diagonal, which are whole, and those below it, each of which stands for two.
///
/// Good for   matrices from several unknowns a node (fem, cfd): little more than values move.
/// Bad for    scattered entries: holes cost as much as entries; then 1 x 1, which is csr.
/// Space      (V * height * width + I) * blocks + O * (rows / height + 1); where there are holes, a
/// bit for each slot, which a product reads only to explain a NaN.
/// From       Im & Yelick, SPARSITY, ICCS 2001; Liu, thesis 2015, sec. 5.4.4.
///
/// A height or width of 0 is chosen, as in SPARSITY, by the fill that a sample shows: block rows at
/// 2 to 16 places spread over the matrix, 24 rows at each, at most 32 blocks of a block row. From
/// slots an entry follow the bytes an entry that a product moves; of all shapes up to 8 x 8 the
/// one of least bytes is taken, if they are a twentieth less than those of 1 x 1. Where the sample
/// misled and all blocks take more than csr, it is 1 x 1 after all.
///
/// Invariants (validate() checks all of them)
///   1 <= height, width <= 8
///   block_ptr[0] == 0, non-decreasing, last == blocks == block_col.size()
///   0 <= block_col[b] * width < cols; block columns ascend within a block row
///   val: row by row within a block, height * width * blocks; 0 in holes
///   pattern: bit s is slot s of val, word by word from the lowest, nnz of them set; empty where
///   there is no hole; no slot outside the matrix is set, no bit beyond the last slot
///   symmetric: rows == cols, height == width, no block above the diagonal; those on it equal their
///   transpose; bits below it count twice
#pragma once
#include "tulle/format/csr.hpp"
#include "tulle/format/detail/blocks.hpp"
#include "tulle/format/detail/symmetric.hpp"

#include <bit>

namespace tulle {

template <class V, class I = std::int32_t, class O = I, space S = space::host>
struct bcsr_view {
  using value = V;
  using index = I;
  using offset = O;

  I rows = 0;
  I cols = 0;
  O nnz = 0; ///< entries, without holes, with those that are not kept twice
  int height = 1;
  int width = 1;
  bool symmetric = false; ///< blocks below the diagonal stand for those above it
  O blocks = 0;
  O const* block_ptr = nullptr;           ///< one for each block row, and one
  I const* block_col = nullptr;           ///< blocks; in units of width
  V const* val = nullptr;                 ///< blocks * height * width
  std::uint64_t const* pattern = nullptr; ///< a bit a slot; null: no holes

  bcsr_view() = default;
  bcsr_view(unchecked_t, I rows, I cols, O nnz, int height, int width, O blocks, O const* block_ptr,
            I const* block_col, V const* val, std::uint64_t const* pattern, bool symmetric = false)
      : rows(rows), cols(cols), nnz(nnz), height(height), width(width), symmetric(symmetric),
        blocks(blocks), block_ptr(block_ptr), block_col(block_col), val(val), pattern(pattern) {}
  /// Borrows the caller's arrays after checking every invariant, once: O(rows + slots).
  bcsr_view(I rows, I cols, int height, int width, std::span<O const> block_ptr,
            std::span<I const> block_col, std::span<V const> val,
            std::span<std::uint64_t const> pattern = {},
            bool symmetric = false) requires(S == space::host);

  std::size_t block_rows() const {
    return (static_cast<std::size_t>(rows) + static_cast<std::size_t>(height) - 1) /
           static_cast<std::size_t>(height);
  }
  std::size_t slots() const {
    return static_cast<std::size_t>(blocks) * static_cast<std::size_t>(height * width);
  }

  /// f(name, pointer, size) for each array.
  template <class F>
  void arrays(F&& f) const {
    f("block_ptr", block_ptr, block_ptr || rows > 0 ? block_rows() + 1 : 0);
    f("block_col", block_col, static_cast<std::size_t>(blocks));
    f("val", val, slots());
    f("pattern", pattern, pattern ? (slots() + 63) / 64 : 0);
  }

  void validate() const { bcsr_view(*this).check(false); }
  csr<V, I, O> to_csr(cpu const& where = {}) const;

private:
  void check(bool count); ///< every invariant; where `count`, nnz is set instead of checked
};

struct bcsr_options {
  int rows = 0;           ///< of a block, 1 to 8; 0: chosen
  int cols = 0;           ///< of a block, 1 to 8; 0: chosen
  double limit = 8;       ///< times the bytes of csr; more is refused
  bool symmetric = false; ///< one of each two blocks that mirror each other, else refused

  template <class F>
  void fields(F&& f) {
    f("rows", rows);
    f("cols", cols);
    f("limit", limit);
    f("symmetric", symmetric);
  }
  static constexpr char const* variants[] = {
      "rows=2:cols=2",         "rows=3:cols=3",         "rows=4:cols=4",
      "rows=8:cols=8",         "rows=5:cols=3",         "rows=7:cols=1",
      "symmetric=true",        "symmetric=true:rows=1", "symmetric=true:rows=2",
      "symmetric=true:rows=3", "symmetric=true:rows=5", "symmetric=true:rows=8"};
  static constexpr char const* drawn = "rows=2:cols=2";
};

template <class V, class I = std::int32_t, class O = I>
struct bcsr {
  using options = bcsr_options;

  I rows = 0;
  I cols = 0;
  O nnz = 0;
  int height = 1;
  int width = 1;
  bool symmetric = false;
  array<O> block_ptr;
  array<I> block_col;
  array<V> val;
  array<std::uint64_t> pattern;

  bcsr() = default;
  /// Takes arrays over after checking every invariant.
  bcsr(I rows, I cols, int height, int width, array<O> block_ptr, array<I> block_col, array<V> val,
       array<std::uint64_t> pattern = {}, bool symmetric = false);
  bcsr(unchecked_t, I rows, I cols, O nnz, int height, int width, array<O> block_ptr,
       array<I> block_col, array<V> val, array<std::uint64_t> pattern, bool symmetric = false)
      : rows(rows), cols(cols), nnz(nnz), height(height), width(width), symmetric(symmetric),
        block_ptr(std::move(block_ptr)), block_col(std::move(block_col)), val(std::move(val)),
        pattern(std::move(pattern)) {}

  static bcsr from_csr(csr_view<V, I, O> a, bcsr_options = {}, cpu const& where = {});
  csr<V, I, O> to_csr(cpu const& where = {}) const { return view().to_csr(where); }
  void refill(csr_view<V, I, O> a, cpu const& where = {});
  bcsr_view<V, I, O> view() const {
    return {unchecked,
            rows,
            cols,
            nnz,
            height,
            width,
            static_cast<O>(block_col.size()),
            block_ptr.data(),
            block_col.data(),
            val.data(),
            pattern.data(),
            symmetric};
  }
  void validate() const;
  std::size_t bytes() const { return detail::bytes_of(view()); }
  friend bool operator==(bcsr const&, bcsr const&) = default;

private:
  bcsr_view<V, I, O> checked() const {
    return {rows, cols, height, width, block_ptr, block_col, val, pattern, symmetric};
  }
};

template <class V, class I, class O, space S>
bcsr_view<V, I, O, S>::bcsr_view(I rows, I cols, int height, int width,
                                 std::span<O const> block_ptr, std::span<I const> block_col,
                                 std::span<V const> val, std::span<std::uint64_t const> pattern,
                                 bool symmetric) requires(S == space::host)
    : rows(rows), cols(cols), height(height), width(width), symmetric(symmetric),
      block_ptr(block_ptr.data()), block_col(block_col.data()), val(val.data()),
      pattern(pattern.empty() ? nullptr : pattern.data()) {
  detail::check_shape("bcsr", rows, cols);
  detail::check_block_shape(height, width);
  if (block_ptr.size() != block_rows() + 1 && !(rows == 0 && block_ptr.empty()))
    fail(errc::bad_structure, "bcsr: %zu pointers for %zu block rows, expected one more",
         block_ptr.size(), block_rows());
  blocks = narrow<O>(block_col.size(), "number of blocks");
  if (val.size() != slots())
    fail(errc::bad_structure, "bcsr: %zu values for %zu blocks of %d x %d", val.size(),
         block_col.size(), height, width);
  if (!pattern.empty() && pattern.size() != (slots() + 63) / 64)
    fail(errc::bad_structure, "bcsr: %zu words of pattern for %zu slots, expected %zu or none",
         pattern.size(), slots(), (slots() + 63) / 64);
  detail::check_present("bcsr: pattern", pattern.data(), pattern.size());
  check(true);
}

template <class V, class I, class O, space S>
void bcsr_view<V, I, O, S>::check(bool count) {
  detail::check_shape("bcsr", rows, cols);
  detail::check_block_shape(height, width);
  if (symmetric && (rows != cols || height != width))
    fail(errc::bad_structure, "bcsr: symmetric, but %lld x %lld in blocks of %d x %d",
         static_cast<long long>(rows), static_cast<long long>(cols), height, width);
  auto const size = static_cast<std::size_t>(height * width);
  std::size_t const n = block_rows();
  detail::check_pointers("bcsr: block_ptr", block_ptr, n, blocks);
  I const block_cols = static_cast<I>(cols / width + (cols % width != 0));
  detail::check_indices("bcsr: block_col", block_col, static_cast<std::size_t>(blocks), block_cols);
  detail::check_present("bcsr: val", val, slots());
  if (pattern && slots() % 64 != 0 && pattern[slots() / 64] >> slots() % 64 != 0)
    fail(errc::bad_structure, "bcsr: pattern has bits beyond the last of %zu slots", slots());

  // Slots of the last block row and block column that lie outside the matrix.
  std::uint64_t const whole = size == 64 ? ~std::uint64_t(0) : (std::uint64_t(1) << size) - 1;
  auto const [below, beyond] = detail::block_edges(*this);
  std::size_t entries = 0;
  int const parts = detail::parts_for(slots(), 0, 1 << 18);
  detail::parallel(parts, [&](int part) {
    std::size_t mine = 0;
    std::size_t const end = n == 0 ? 0 : detail::split_by_entries(block_ptr, n, part + 1, parts);
    for (std::size_t i = n == 0 ? 0 : detail::split_by_entries(block_ptr, n, part, parts); i < end;
         ++i)
      for (O b = block_ptr[i]; b < block_ptr[i + 1]; ++b) {
        auto const k = static_cast<std::size_t>(b);
        if (b != block_ptr[i] && block_col[k - 1] >= block_col[k])
          fail(errc::bad_structure, "bcsr: block_col[%zu] is %lld after %lld in block row %zu", k,
               static_cast<long long>(block_col[k]), static_cast<long long>(block_col[k - 1]), i);
        std::uint64_t const bits =
            pattern ? detail::bits_at(pattern, k * size, static_cast<int>(size)) : whole;
        std::uint64_t const outside =
            (i + 1 == n ? below : 0) | (block_col[k] == block_cols - 1 ? beyond : 0);
        if (bits & outside)
          fail(errc::bad_structure,
               "bcsr: block %zu stores slot %d, outside the %lld x %lld matrix", k,
               std::countr_zero(bits & outside), static_cast<long long>(rows),
               static_cast<long long>(cols));
        for (std::uint64_t holes = whole & ~bits; holes != 0; holes &= holes - 1) {
          auto const s = k * size + static_cast<std::size_t>(std::countr_zero(holes));
          if (!(val[s] == V{}))
            fail(errc::bad_structure, "bcsr: val[%zu] is a hole and not 0", s);
        }
        bool const on = static_cast<std::size_t>(block_col[k]) == i; // the diagonal
        if (symmetric && static_cast<std::size_t>(block_col[k]) > i)
          fail(errc::bad_structure, "bcsr: block_col[%zu] is %lld, above the diagonal of %zu", k,
               static_cast<long long>(block_col[k]), i);
        if (symmetric && on && !detail::is_symmetric_block(val + k * size, bits, height))
          fail(errc::bad_structure, "bcsr: block %zu, on the diagonal, is not symmetric", k);
        mine += static_cast<std::size_t>(std::popcount(bits)) * (symmetric && !on ? 2 : 1);
      }
    __atomic_fetch_add(&entries, mine, __ATOMIC_RELAXED);
  });
  if (count)
    nnz = narrow<O>(entries, "number of entries");
  if (nnz < 0 || entries != static_cast<std::size_t>(nnz))
    fail(errc::bad_structure, "bcsr: the pattern has %zu entries, expected nnz, %lld", entries,
         static_cast<long long>(nnz));
}

template <class V, class I, class O, space S>
csr<V, I, O> bcsr_view<V, I, O, S>::to_csr(cpu const& where) const {
  auto const n = static_cast<std::size_t>(rows);
  csr<V, I, O> c(unchecked, rows, cols, array<O>(n + 1, where.memory), {}, {});
  c.row_ptr[0] = 0;
  if (n == 0)
    return c;
  std::size_t const all = block_rows();
  int const parts = detail::parts_for(slots() + n, where.threads);
  auto const each_part = [&](auto&& f) {
    detail::parallel(parts, [&](int part) {
      std::size_t const end = detail::split(all, part + 1, parts);
      for (std::size_t i = detail::split(all, part, parts); i < end; ++i)
        f(i);
    });
  };
  each_part([&](std::size_t i) {
    std::size_t const top = i * static_cast<std::size_t>(height);
    std::fill(&c.row_ptr[top] + 1,
              &c.row_ptr[std::min(n, top + static_cast<std::size_t>(height))] + 1, O(0));
    detail::each_run(*this, i, [&](std::size_t row, std::size_t, std::size_t, int run) {
      c.row_ptr[row + 1] = static_cast<O>(c.row_ptr[row + 1] + run);
      return true;
    });
  });
  for (std::size_t i = 0; i < n; ++i)
    c.row_ptr[i + 1] = static_cast<O>(c.row_ptr[i + 1] + c.row_ptr[i]);
  c.col = array<I>(static_cast<std::size_t>(c.row_ptr[n]), where.memory);
  c.val = array<V>(c.col.size(), where.memory);
  each_part([&](std::size_t i) {
    std::size_t row = n; // none yet
    std::size_t k = 0;
    detail::each_run(*this, i, [&](std::size_t r, std::size_t j, std::size_t slot, int run) {
      if (r != row) {
        row = r;
        k = static_cast<std::size_t>(c.row_ptr[r]);
      }
      for (int e = 0; e < run; ++e, ++k, ++j, ++slot) {
        c.col[k] = static_cast<I>(j);
        c.val[k] = val[slot];
      }
      return true;
    });
  });
  if (!symmetric)
    return c;
  c = detail::lower_triangle(c.view(), where); // of blocks on the diagonal too
  return detail::mirrored(c.view(), where);
}

template <class V, class I, class O>
bcsr<V, I, O>::bcsr(I rows, I cols, int height, int width, array<O> block_ptr, array<I> block_col,
                    array<V> val, array<std::uint64_t> pattern, bool symmetric)
    : bcsr(unchecked, rows, cols, 0, height, width, std::move(block_ptr), std::move(block_col),
           std::move(val), std::move(pattern), symmetric) {
  nnz = checked().nnz;
}

template <class V, class I, class O>
void bcsr<V, I, O>::validate() const {
  if (O const found = checked().nnz; found != nnz)
    fail(errc::bad_structure, "bcsr: the pattern has %lld entries, expected nnz, %lld",
         static_cast<long long>(found), static_cast<long long>(nnz));
}

namespace detail {

/// Options that can be, as they will be; errc::unsupported for others.
inline bcsr_options checked_bcsr_options(bcsr_options o) {
  int constexpr most = longest_block_side;
  if (o.rows < 0 || o.rows > most)
    fail(errc::unsupported, "bcsr: option rows is %d, expected 1 to 8, or 0 to choose", o.rows);
  if (o.cols < 0 || o.cols > most)
    fail(errc::unsupported, "bcsr: option cols is %d, expected 1 to 8, or 0 to choose", o.cols);
  if (o.symmetric && o.rows != o.cols) {
    if (o.rows != 0 && o.cols != 0)
      fail(errc::unsupported, "bcsr: blocks of %d x %d, but those of symmetric storage are square",
           o.rows, o.cols);
    o.rows = o.cols = std::max(o.rows, o.cols);
  }
  return o;
}

/// The bytes of so many blocks of `size` slots and words of pattern.
template <class V, class I, class O>
double bcsr_bytes(std::size_t block_rows, std::size_t blocks, std::size_t size, std::size_t words) {
  return double((block_rows + 1) * sizeof(O)) + double(blocks) * double(sizeof(I)) +
         double(blocks) * double(size) * double(sizeof(V)) + 8 * double(words);
}

} // namespace detail

template <class V, class I, class O>
bcsr<V, I, O> bcsr<V, I, O>::from_csr(csr_view<V, I, O> a, bcsr_options o, cpu const& where) {
  o = detail::checked_bcsr_options(o);
  detail::canonical<V, I, O> const c(a, where);
  if (o.symmetric)
    detail::check_symmetric("bcsr", c.view, where);
  detail::block_shape const shape = detail::choose_block_shape(c.view, o.rows, o.cols, o.symmetric);
  int const h = shape.height;
  int const w = shape.width;
  detail::stored_part const kept(c.view, o.symmetric, where, h);
  csr_view<V, I, O> const& from = kept.view;
  if (h == 1 && w == 1) { // csr's arrays
    csr<V, I, O> copy = from.to_csr(where);
    return {unchecked,
            a.rows,
            a.cols,
            c.view.nnz,
            h,
            w,
            std::move(copy.row_ptr),
            std::move(copy.col),
            std::move(copy.val),
            {},
            o.symmetric};
  }
  auto const size = static_cast<std::size_t>(h * w);
  auto const entries = static_cast<std::size_t>(from.nnz);
  std::size_t const all =
      (static_cast<std::size_t>(from.rows) + static_cast<std::size_t>(h) - 1) / std::size_t(h);

  // Pointers first, since they say how much room the rest takes: they are never more than csr's.
  bcsr b(unchecked, a.rows, a.cols, c.view.nnz, h, w, array<O>(all + 1, where.memory), {}, {}, {},
         o.symmetric);
  b.block_ptr[0] = 0;
  int const parts = detail::parts_for(entries + all, where.threads);
  if (from.rows != 0)
    detail::parallel(parts, [&](int part) {
      std::size_t const end = detail::split_block_rows(from, h, part + 1, parts);
      for (std::size_t i = detail::split_block_rows(from, h, part, parts); i < end; ++i) {
        O n = 0;
        detail::each_block(from, h, w, i, SIZE_MAX, [&](I, int, O const*, O const*) { ++n; });
        b.block_ptr[i + 1] = n;
      }
    });
  for (std::size_t i = 0; i < all; ++i)
    b.block_ptr[i + 1] = static_cast<O>(b.block_ptr[i + 1] + b.block_ptr[i]);
  auto const blocks = static_cast<std::size_t>(b.block_ptr[all]);
  bool const holes = blocks * size != entries;
  std::size_t const words = holes ? (blocks * size + 63) / 64 : 0;
  double const bytes = detail::bcsr_bytes<V, I, O>(all, blocks, size, words);
  bcsr_options const least = {o.rows ? o.rows : 1, o.cols ? o.cols : 1, o.limit, o.symmetric};
  if (bytes > double(detail::bytes_of(from)) && (h != least.rows || w != least.cols))
    return from_csr(c.view, least, where); // chosen, and wrong
  detail::check_room("bcsr", bytes, detail::bytes_of(c.view), o.limit);
  b.block_col = array<I>(blocks, where.memory);
  b.val = array<V>(checked_mul(blocks, size, "bcsr: slots"), where.memory);
  b.pattern = array<std::uint64_t>(words, std::uint64_t(0), where.memory);
  if (blocks == 0)
    return b;

  detail::parallel(parts, [&](int part) {
    std::size_t const begin = detail::split_block_rows(from, h, part, parts);
    std::size_t const end = detail::split_block_rows(from, h, part + 1, parts);
    if (begin >= end)
      return;
    auto at = static_cast<std::size_t>(b.block_ptr[begin]);
    std::uint64_t const row_bits = (std::uint64_t(1) << w) - 1;
    // Words that hold bits of the parts before and after.
    std::size_t const first_word = at * size / 64;
    std::size_t const last_word = static_cast<std::size_t>(b.block_ptr[end]) * size / 64;
    for (std::size_t i = begin; i < end; ++i)
      detail::each_block(from, h, w, i, SIZE_MAX, [&](I j, int n, O const* first, O const* last) {
        V* const block = b.val.data() + at * size;
        I const left = static_cast<I>(j * w);
        std::uint64_t bits = 0;
        b.block_col[at] = j;
        if (holes)
          std::fill_n(block, size, V{});
        for (int s = 0; s < n; ++s) {
          if (last[s] - first[s] == w) {
            for (int e = 0; e < w; ++e)
              block[s * w + e] = from.val[first[s] + e];
            bits |= row_bits << (s * w);
            continue;
          }
          for (O k = first[s]; k < last[s]; ++k) {
            int const slot = s * w + static_cast<int>(from.col[k] - left);
            block[slot] = from.val[k];
            bits |= std::uint64_t(1) << slot;
          }
        }
        if (holes)
          detail::put_bits(b.pattern.data(), at * size, h * w, bits,
                           at * size / 64 != first_word && (at * size + size) / 64 < last_word);
        ++at;
      });
  });
  return b;
}

template <class V, class I, class O>
void bcsr<V, I, O>::refill(csr_view<V, I, O> a, cpu const& where) {
  // What is stored, as a matrix of its own.
  auto const refill_part = [&](csr_view<V, I, O> const& part, O entries) {
    if (height == 1 && width == 1) // the arrays of csr
      return detail::refill_rows("bcsr", rows, cols, entries, part, block_ptr.data(),
                                 block_col.data(), val.data(), where);
    bcsr_view<V, I, O> const to = view();
    bool const past = val.bytes() >= detail::past_caches_from;
    auto const each_part = [&](csr_view<V, I, O> const& c, auto&& f) {
      int const parts = detail::parts_for(val.size() + to.block_rows(), where.threads);
      detail::parallel(parts, [&](int part) {
        std::size_t const end = detail::split_block_rows(c, height, part + 1, parts);
        for (std::size_t i = detail::split_block_rows(c, height, part, parts); i < end; ++i)
          f(i);
        detail::after_stores();
      });
    };
    detail::refill_if(
        "bcsr", rows, cols, entries, part, where,
        [&](csr_view<V, I, O> const& c) {
          bool good = true;
          if (entries != 0)
            each_part(c, [&](std::size_t i) {
              if (!(pattern.empty() ? detail::is_whole_block_row(to, i, c)
                                    : detail::is_block_row(to, i, c)))
                __atomic_store_n(&good, false, __ATOMIC_RELAXED);
            });
          return good;
        },
        [&](csr_view<V, I, O> const& c) {
          if (entries != 0)
            each_part(c, [&](std::size_t i) {
              if (pattern.empty())
                detail::fill_whole_block_row(to, i, c, val.data(), past);
              else
                detail::fill_block_row(to, i, c, val.data());
            });
        });
  };
  if (!symmetric)
    return refill_part(a, nnz);
  detail::canonical<V, I, O> const c(a, where);
  if (c.view.rows != rows || c.view.cols != cols || c.view.nnz != nnz)
    detail::refill_mismatch("bcsr");
  detail::check_symmetric("bcsr", c.view, where, true);
  detail::stored_part const kept(c.view, true, where, height);
  refill_part(kept.view, kept.view.nnz);
}

} // namespace tulle

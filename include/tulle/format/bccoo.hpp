// SPDX-License-Identifier: Apache-2.0

/// BCCOO, blocked compressed coo: the blocks of bcoo, and a bit each instead of their block rows,
/// set where the block row goes on and clear at its last block. For each 64 of them there is how
/// many block rows have ended before, so that a product may begin anywhere.
///
///     1 . 2 .      height 2       flag        5        a bit a block: 10 10
///     . 3 . .      width 2        before      0
///     . . . 4                     block_col   0        1        0        1
///     5 6 7 .                     val         1 0 0 3  2 0 0 0  0 0 5 6  0 4 7 0
///                                 pattern     27673    a bit a slot: 1001 1000 0011 0110
///
/// Where block rows are empty, block_row names those that are not, once each.
///
/// Good for   matrices from several unknowns a node: even less than bcsr moves.
/// Bad for    scattered entries, as bcsr; then 1 x 1, with 4 bytes less a row than csr.
/// Space      (V * height * width + I) * blocks + (8 + I) / 64 * blocks; with empty block rows, I
/// for each of the others; where there are holes, a bit for each slot, which a product reads only
/// to explain a NaN.
/// From       Liu, thesis 2015, sec. 5.4.5; Yan, Li, Zhang & Zhou, PPoPP 2014. Unlike theirs,
/// columns are not kept as differences, and the sums of a block row are joined in order.
///
/// A height or width of 0 is chosen as bcsr chooses it.
///
/// Invariants (validate() checks all of them)
///   1 <= height, width <= 8
///   flag: bit b is block b, word by word from the lowest; that of the last block is clear, and so
///   are those beyond it
///   before[w]: clear bits in words before w
///   block_row: where some block row is empty, those that are not, ascending; else empty
///   0 <= block_col[b] * width < cols; block columns ascend within a block row
///   val: row by row within a block, height * width * blocks; 0 in holes
///   pattern: bit s is slot s of val, word by word from the lowest, nnz of them set; empty where
///   there is no hole; no slot outside the matrix is set, no bit beyond the last slot
#pragma once
#include "tulle/format/bcsr.hpp"

namespace tulle {

/// The arrays, as a caller has them.
template <class V, class I>
struct bccoo_arrays {
  std::span<std::uint64_t const> flag;
  std::span<I const> before, block_row, block_col;
  std::span<V const> val;
  std::span<std::uint64_t const> pattern;
};

template <class V, class I = std::int32_t, class O = I, space S = space::host>
struct bccoo_view {
  using value = V;
  using index = I;
  using offset = O;

  I rows = 0;
  I cols = 0;
  O nnz = 0; ///< entries, without holes
  int height = 1;
  int width = 1;
  O blocks = 0;
  I filled = 0;                           ///< block rows that have blocks
  std::uint64_t const* flag = nullptr;    ///< a bit a block
  I const* before = nullptr;              ///< one for each word of flag
  I const* block_row = nullptr;           ///< filled, where some are empty; else not looked at
  I const* block_col = nullptr;           ///< blocks; in units of width
  V const* val = nullptr;                 ///< blocks * height * width
  std::uint64_t const* pattern = nullptr; ///< a bit a slot; null: no holes
  std::uint64_t serial = 0;               ///< of the owner's pattern; 0: borrowed arrays

  bccoo_view() = default;
  bccoo_view(unchecked_t, I rows, I cols, O nnz, int height, int width, I filled,
             bccoo_arrays<V, I> const& a)
      : rows(rows), cols(cols), nnz(nnz), height(height), width(width),
        blocks(static_cast<O>(a.block_col.size())), filled(filled), flag(a.flag.data()),
        before(a.before.data()), block_row(a.block_row.data()), block_col(a.block_col.data()),
        val(a.val.data()), pattern(a.pattern.empty() ? nullptr : a.pattern.data()) {}
  /// Borrows the caller's arrays after checking every invariant, once: O(slots).
  bccoo_view(I rows, I cols, int height, int width,
             bccoo_arrays<V, I> const& a) requires(S == space::host);

  std::size_t block_rows() const {
    return detail::pieces(static_cast<std::size_t>(rows), static_cast<std::size_t>(height));
  }
  std::size_t slots() const {
    return static_cast<std::size_t>(blocks) * detail::block_size(height, width);
  }
  std::size_t words() const { return (static_cast<std::size_t>(blocks) + 63) / 64; }
  bool has_empty() const { return static_cast<std::size_t>(filled) != block_rows(); }
  /// The n-th block row that has blocks.
  std::size_t block_row_at(std::size_t n) const {
    return has_empty() ? static_cast<std::size_t>(block_row[n]) : n;
  }

  /// f(name, pointer, size) for each array.
  template <class F>
  void arrays(F&& f) const {
    f("flag", flag, words());
    f("before", before, words());
    f("block_row", block_row, has_empty() ? static_cast<std::size_t>(filled) : 0);
    f("block_col", block_col, static_cast<std::size_t>(blocks));
    f("val", val, slots());
    f("pattern", pattern, pattern ? (slots() + 63) / 64 : 0);
  }

  void validate() const { bccoo_view(*this).check(false); }
  csr<V, I, O> to_csr(cpu const& where = {}) const;
  /// The same blocks as bcsr, of which these are the pointers. Inlined: kernels may not leave it to
  /// the linker.
  [[gnu::always_inline]] bcsr_view<V, I, O> as_bcsr(O const* block_ptr) const {
    return {unchecked, rows, cols, nnz, height, width, blocks, block_ptr, block_col, val, pattern};
  }

private:
  void check(bool count); ///< every invariant; where `count`, nnz is set instead of checked
};

struct bccoo_options {
  int rows = 0;     ///< of a block, 1 to 8; 0: chosen
  int cols = 0;     ///< of a block, 1 to 8; 0: chosen
  double limit = 8; ///< times the bytes of csr; more is refused

  template <class F>
  void fields(F&& f) {
    f("rows", rows);
    f("cols", cols);
    f("limit", limit);
  }
  static constexpr char const* variants[] = {"rows=2:cols=2", "rows=3:cols=3", "rows=8:cols=8",
                                             "rows=5:cols=3"};
  static constexpr char const* drawn = "rows=2:cols=2";
};

template <class V, class I = std::int32_t, class O = I>
struct bccoo {
  using options = bccoo_options;

  I rows = 0;
  I cols = 0;
  O nnz = 0;
  int height = 1;
  int width = 1;
  I filled = 0;
  array<std::uint64_t> flag;
  array<I> before, block_row, block_col;
  array<V> val;
  array<std::uint64_t> pattern;
  detail::serial_number serial; ///< of the pattern

  bccoo() = default;
  static bccoo from_csr(csr_view<V, I, O> a, bccoo_options = {}, cpu const& where = {});
  csr<V, I, O> to_csr(cpu const& where = {}) const {
    return detail::checked(*this, where).to_csr(where);
  }
  /// New values on the same pattern; errc::bad_structure if the pattern differs.
  void refill(csr_view<V, I, O> a, cpu const& where = {});
  bccoo_view<V, I, O> view() const& {
    return detail::numbered(
        bccoo_view<V, I, O>{unchecked, rows, cols, nnz, height, width, filled, arrays()}, serial);
  }
  void view() const&& = delete; // it would dangle
  void validate() const;
  std::size_t bytes() const { return detail::bytes_of(view()); }
  /// f(arrays...), all of them in the order of the view's.
  template <class M, class F>
  static void members(M& m, F&& f) {
    f(m.flag, m.before, m.block_row, m.block_col, m.val, m.pattern);
  }
  friend bool operator==(bccoo const&, bccoo const&) = default;

private:
  bccoo_arrays<V, I> arrays() const { return {flag, before, block_row, block_col, val, pattern}; }
};

namespace detail {

/// f(n, begin, end) for the blocks of each n-th block row that has some and ends in words
/// [first, last).
template <class View, class F>
void each_flagged_row(View const& a, std::size_t first, std::size_t last, F&& f) {
  if (first == last)
    return;
  auto n = static_cast<std::size_t>(a.before[first]);
  std::size_t begin = first * 64; // of the first block row, which may begin in a word before
  while (begin > 0 && a.flag[(begin - 1) / 64] >> (begin - 1) % 64 & 1)
    --begin;
  for (std::size_t w = first; w < last; ++w) {
    std::uint64_t ends = ~a.flag[w];
    if (std::size_t const left = static_cast<std::size_t>(a.blocks) - w * 64; left < 64)
      ends &= (std::uint64_t(1) << left) - 1;
    for (; ends != 0; ends &= ends - 1) {
      std::size_t const end = w * 64 + static_cast<std::size_t>(std::countr_zero(ends)) + 1;
      f(n++, begin, end);
      begin = end;
    }
  }
}

/// Where each block row begins.
template <class V, class I, class O>
array<O> block_pointers(bccoo_view<V, I, O> const& a, cpu const& where) {
  std::size_t const n = a.block_rows();
  auto const filled = static_cast<std::size_t>(a.filled);
  array<O> ptr(n + 1, where.memory);
  // Without blocks there are no flags to fill the rest by, whatever `filled` says after a move.
  std::fill_n(ptr.data(), (filled == 0 || a.blocks == 0 ? n : a.block_row_at(0)) + 1, O(0));
  int const parts = parts_for(static_cast<std::size_t>(a.blocks), where.threads);
  parallel(parts, [&](int part) {
    each_flagged_row(a, split(a.words(), part, parts), split(a.words(), part + 1, parts),
                     [&](std::size_t k, std::size_t, std::size_t end) {
                       std::size_t const next = k + 1 < filled ? a.block_row_at(k + 1) : n;
                       std::fill(ptr.begin() + a.block_row_at(k) + 1, ptr.begin() + next + 1,
                                 static_cast<O>(end));
                     });
  });
  return ptr;
}

} // namespace detail

template <class V, class I, class O, space S>
bccoo_view<V, I, O, S>::bccoo_view(I rows, I cols, int height, int width,
                                   bccoo_arrays<V, I> const& a) requires(S == space::host)
    : bccoo_view(unchecked, rows, cols, O(0), height, width, I(0), a) {
  detail::check_shape("bccoo", rows, cols);
  detail::check_block_shape("bccoo", height, width);
  blocks = detail::check_block_sizes<O>("bccoo", a.block_col, a.val, a.pattern, height, width);
  auto const sized = [](char const* name, std::size_t is, std::size_t expected) {
    if (is != expected)
      fail(errc::bad_structure, "bccoo: %s has %zu elements, expected %zu", name, is, expected);
  };
  sized("flag", a.flag.size(), words());
  sized("before", a.before.size(), words());
  detail::check_present("bccoo: flag", flag, words());
  std::size_t set = 0;
  for (std::uint64_t const word : a.flag)
    set += static_cast<std::size_t>(std::popcount(word));
  std::size_t const n = a.block_col.size();
  filled = static_cast<I>(std::min(n - std::min(set, n), block_rows()));
  sized("block_row", a.block_row.size(), has_empty() ? static_cast<std::size_t>(filled) : 0);
  check(true);
}

template <class V, class I, class O, space S>
void bccoo_view<V, I, O, S>::check(bool count) {
  detail::block_checker const good("bccoo", *this);
  if (char const* const missing = detail::missing_array(*this))
    fail(errc::bad_structure, "bccoo: %s is null, but the matrix needs it", missing);
  auto const n = static_cast<std::size_t>(blocks);
  if (n != 0 && flag[words() - 1] >> (n - 1) % 64 != 0)
    fail(errc::bad_structure, "bccoo: flag is set for the last of %zu blocks, or beyond", n);
  std::size_t ended = 0;
  for (std::size_t w = 0; w < words(); ++w) {
    if (std::cmp_not_equal(before[w], ended))
      fail(errc::bad_structure, "bccoo: before[%zu] is %lld, but %zu block rows ended before", w,
           static_cast<long long>(before[w]), ended);
    std::size_t const bits = std::min<std::size_t>(64, n - w * 64);
    ended += bits - static_cast<std::size_t>(std::popcount(flag[w]));
  }
  if (std::cmp_not_equal(ended, filled) || ended > block_rows())
    fail(errc::bad_structure, "bccoo: flag ends %zu block rows, expected %lld of %zu", ended,
         static_cast<long long>(filled), block_rows());
  if (has_empty()) {
    detail::check_indices("bccoo: block_row", block_row, ended, static_cast<I>(block_rows()));
    for (std::size_t k = 1; k < ended; ++k)
      if (block_row[k] <= block_row[k - 1])
        fail(errc::bad_structure, "bccoo: block_row[%zu] is %lld after %lld", k,
             static_cast<long long>(block_row[k]), static_cast<long long>(block_row[k - 1]));
  }
  int const parts = detail::parts_for(slots(), 0, 1 << 18);
  std::size_t const entries = good.count(parts, [&](int part) {
    std::size_t mine = 0;
    detail::each_flagged_row(*this, detail::split(words(), part, parts),
                             detail::split(words(), part + 1, parts),
                             [&](std::size_t k, std::size_t begin, std::size_t end) {
                               mine += good.entries(block_row_at(k), begin, end);
                             });
    return mine;
  });
  if (count)
    nnz = narrow<O>(entries, "number of entries");
  good.check_nnz(entries);
}

template <class V, class I, class O, space S>
csr<V, I, O> bccoo_view<V, I, O, S>::to_csr(cpu const& where) const {
  array<O> const ptr = detail::block_pointers(*this, where);
  return as_bcsr(ptr.data()).to_csr(where);
}

template <class V, class I, class O>
void bccoo<V, I, O>::validate() const {
  if (bccoo_view<V, I, O> const found(rows, cols, height, width, arrays());
      found.nnz != nnz || found.filled != filled)
    fail(errc::bad_structure,
         "bccoo: the pattern has %lld entries in %lld block rows, expected nnz, %lld, in %lld",
         static_cast<long long>(found.nnz), static_cast<long long>(found.filled),
         static_cast<long long>(nnz), static_cast<long long>(filled));
}

template <class V, class I, class O>
bccoo<V, I, O> bccoo<V, I, O>::from_csr(csr_view<V, I, O> a, bccoo_options o, cpu const& where) {
  bcsr<V, I, O> b = detail::blocks_from_csr(a, {o.rows, o.cols, o.limit, false}, where, "bccoo");
  bccoo c;
  c.rows = b.rows;
  c.cols = b.cols;
  c.nnz = b.nnz;
  c.height = b.height;
  c.width = b.width;
  std::size_t const n = b.view().block_rows();
  std::size_t const blocks = b.block_col.size();
  std::size_t const words = (blocks + 63) / 64;
  c.flag = array<std::uint64_t>(words, ~std::uint64_t(0), where.memory);
  c.before = array<I>(words, where.memory);
  for (std::size_t i = 0; i < n; ++i)
    c.filled = static_cast<I>(c.filled + (b.block_ptr[i] != b.block_ptr[i + 1]));
  if (std::cmp_not_equal(c.filled, n))
    c.block_row = array<I>(static_cast<std::size_t>(c.filled), where.memory);
  I ended = 0;
  std::size_t word = 0; // the next of before
  for (std::size_t i = 0; i < n && blocks != 0; ++i) {
    auto const end = static_cast<std::size_t>(b.block_ptr[i + 1]);
    if (b.block_ptr[i] == b.block_ptr[i + 1])
      continue;
    for (; word * 64 < end; ++word)
      c.before[word] = ended;
    c.flag[(end - 1) / 64] &= ~(std::uint64_t(1) << (end - 1) % 64);
    if (!c.block_row.empty())
      c.block_row[static_cast<std::size_t>(ended)] = static_cast<I>(i);
    ++ended;
  }
  if (blocks % 64 != 0)
    c.flag[words - 1] &= (std::uint64_t(1) << blocks % 64) - 1;
  c.block_col.swap(b.block_col);
  c.val.swap(b.val);
  c.pattern.swap(b.pattern);
  return c;
}

template <class V, class I, class O>
void bccoo<V, I, O>::refill(csr_view<V, I, O> a, cpu const& where) {
  detail::check_arrays("bccoo", *this);
  array<O> const ptr = detail::block_pointers(view(), where);
  detail::refill_blocks("bccoo", view().as_bcsr(ptr.data()), val.data(), nnz, a, where);
}

} // namespace tulle

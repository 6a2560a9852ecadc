// SPDX-License-Identifier: Apache-2.0
#include "tulle/format/bccoo.hpp"

#include "tulle/core/limited.hpp"

#include "format/detail/bcsr_build.hpp"
#include "format/detail/block_check.hpp"
#include "format/instantiate.hpp"

#include <algorithm>
#include <bit>

namespace tulle {

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
  int const parts = parts_for(slots(), 0, 1 << 18);
  std::size_t const entries = good.count(parts, [&](int part) {
    std::size_t mine = 0;
    detail::each_flagged_row(*this, split(words(), part, parts), split(words(), part + 1, parts),
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
csr<V, I, O> bccoo_view<V, I, O, S>::to_csr(cpu const& policy) const {
  detail::limited const space("bccoo", policy);
  cpu const& where = space.counted();
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
bccoo<V, I, O> bccoo<V, I, O>::from_csr(csr_view<V, I, O> a, bccoo_options o, cpu const& policy) {
  detail::limited const space("bccoo", policy);
  cpu const& where = space.counted();
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
void bccoo<V, I, O>::refill(csr_view<V, I, O> a, cpu const& policy) {
  detail::limited const space("bccoo", policy);
  cpu const& where = space.counted();
  detail::check_arrays("bccoo", *this);
  array<O> const ptr = detail::block_pointers(view(), where);
  detail::refill_blocks("bccoo", view().as_bcsr(ptr.data()), val.data(), nnz, a, where);
}

} // namespace tulle

TULLE_INSTANTIATE_FORMAT(bccoo, every)

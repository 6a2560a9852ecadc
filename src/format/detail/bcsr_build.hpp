// SPDX-License-Identifier: Apache-2.0

/// Blocks from the rows of csr, and new values for them: for bcsr, and for formats that store the
/// same blocks and order their rows in other ways.
#pragma once
#include "tulle/format/bcsr.hpp"

#include "format/detail/blocks.hpp"
#include "format/detail/canonical.hpp"
#include "format/detail/check_room.hpp"
#include "format/detail/copy.hpp"
#include "format/detail/refill.hpp"
#include "format/detail/symmetric.hpp"

namespace tulle::detail {

/// Options that can be, as they will be; errc::unsupported for others.
inline bcsr_options checked_bcsr_options(bcsr_options o, char const* name = "bcsr") {
  int constexpr most = longest_block_side;
  if (o.rows < 0 || o.rows > most)
    fail(errc::unsupported, "%s: option rows is %d, expected 1 to 8, or 0 to choose", name, o.rows);
  if (o.cols < 0 || o.cols > most)
    fail(errc::unsupported, "%s: option cols is %d, expected 1 to 8, or 0 to choose", name, o.cols);
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

/// bcsr::from_csr, for the format of that name.
template <class V, class I, class O>
bcsr<V, I, O> blocks_from_csr(csr_view<V, I, O> a, bcsr_options o, cpu const& where,
                              char const* name = "bcsr") {
  o = checked_bcsr_options(o, name);
  canonical<V, I, O> const c(a, where);
  if (o.symmetric)
    check_symmetric(name, c.view, where);
  block_shape const shape = choose_block_shape(c.view, o.rows, o.cols, o.symmetric);
  int const h = shape.height;
  int const w = shape.width;
  stored_part const kept(c.view, o.symmetric, where, h);
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
  bcsr<V, I, O> b(unchecked, a.rows, a.cols, c.view.nnz, h, w, array<O>(all + 1, where.memory), {},
                  {}, {}, o.symmetric);
  b.block_ptr[0] = 0;
  int const parts = parts_for(entries + all, where.threads);
  if (from.rows != 0)
    parallel(parts, [&](int part) {
      std::size_t const end = split_block_rows(from, h, part + 1, parts);
      for (std::size_t i = split_block_rows(from, h, part, parts); i < end; ++i) {
        O n = 0;
        each_block(from, h, w, i, SIZE_MAX, [&](I, int, O const*, O const*) { ++n; });
        b.block_ptr[i + 1] = n;
      }
    });
  for (std::size_t i = 0; i < all; ++i)
    b.block_ptr[i + 1] = static_cast<O>(b.block_ptr[i + 1] + b.block_ptr[i]);
  auto const blocks = static_cast<std::size_t>(b.block_ptr[all]);
  bool const holes = blocks * size != entries;
  std::size_t const words = holes ? (blocks * size + 63) / 64 : 0;
  double const bytes = bcsr_bytes<V, I, O>(all, blocks, size, words);
  bcsr_options const least = {o.rows ? o.rows : 1, o.cols ? o.cols : 1, o.limit, o.symmetric};
  if (bytes > double(bytes_of(from)) && (h != least.rows || w != least.cols))
    return blocks_from_csr(c.view, least, where, name); // chosen, and wrong
  check_room(name, bytes, bytes_of(c.view), o.limit);
  b.block_col = array<I>(blocks, where.memory);
  b.val = array<V>(checked_mul(blocks, size, "bcsr: slots"), where.memory);
  b.pattern = array<std::uint64_t>(words, std::uint64_t(0), where.memory);
  if (blocks == 0)
    return b;

  parallel(parts, [&](int part) {
    std::size_t const begin = split_block_rows(from, h, part, parts);
    std::size_t const end = split_block_rows(from, h, part + 1, parts);
    if (begin >= end)
      return;
    auto at = static_cast<std::size_t>(b.block_ptr[begin]);
    std::uint64_t const row_bits = (std::uint64_t(1) << w) - 1;
    // Words that hold bits of the parts before and after.
    std::size_t const first_word = at * size / 64;
    std::size_t const last_word = static_cast<std::size_t>(b.block_ptr[end]) * size / 64;
    for (std::size_t i = begin; i < end; ++i)
      each_block(from, h, w, i, SIZE_MAX, [&](I j, int n, O const* first, O const* last) {
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
          put_bits(b.pattern.data(), at * size, h * w, bits,
                   at * size / 64 != first_word && (at * size + size) / 64 < last_word);
        ++at;
      });
  });
  return b;
}

/// New values for blocks whose own are `val`, from the entries of a, all that they store; of the
/// format of that name.
template <class V, class I, class O>
void refill_blocks(char const* name, bcsr_view<V, I, O> const& to, V* val, O entries,
                   csr_view<V, I, O> const& a, cpu const& where) {
  if (to.height == 1 && to.width == 1) // the arrays of csr
    return refill_rows(name, to.rows, to.cols, entries, a, to.block_ptr, to.block_col, val, where);
  bool const past = to.slots() * sizeof(V) >= past_caches_from;
  auto const each_part = [&](csr_view<V, I, O> const& c, auto&& f) {
    int const parts = parts_for(to.slots() + to.block_rows(), where.threads);
    parallel(parts, [&](int part) {
      std::size_t const end = split_block_rows(c, to.height, part + 1, parts);
      for (std::size_t i = split_block_rows(c, to.height, part, parts); i < end; ++i)
        f(i);
      after_stores();
    });
  };
  refill_if(
      name, to.rows, to.cols, entries, a, where,
      [&](csr_view<V, I, O> const& c) {
        bool good = true;
        if (entries != 0)
          each_part(c, [&](std::size_t i) {
            if (!(to.pattern ? is_block_row(to, i, c) : is_whole_block_row(to, i, c)))
              __atomic_store_n(&good, false, __ATOMIC_RELAXED);
          });
        return good;
      },
      [&](csr_view<V, I, O> const& c) {
        if (entries != 0)
          each_part(c, [&](std::size_t i) {
            if (to.pattern)
              fill_block_row(to, i, c, val);
            else
              fill_whole_block_row(to, i, c, val, past);
          });
      });
}

} // namespace tulle::detail

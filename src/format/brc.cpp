// SPDX-License-Identifier: Apache-2.0
#include "tulle/format/brc.hpp"

#include "tulle/core/limited.hpp"

#include "format/detail/brc_levels.hpp"
#include "format/detail/ell_build.hpp"
#include "format/detail/jds_check.hpp"
#include "format/detail/rows_by_length.hpp"
#include "format/instantiate.hpp"

#include <algorithm>

namespace tulle {

namespace detail {

/// f(block) for each, in parallel.
template <class View, class F>
void each_brc_block(View const& v, cpu const& where, F&& f) {
  auto const blocks = static_cast<std::size_t>(v.blocks);
  if (blocks == 0)
    return;
  int const parts = parts_for(static_cast<std::size_t>(v.stored), where.threads);
  parallel(parts, [&](int part) {
    // By slots: the widest blocks come first.
    std::size_t b = split_by_entries(v.block_ptr, blocks, part, parts);
    std::size_t const end = split_by_entries(v.block_ptr, blocks, part + 1, parts);
    for (std::size_t t = b < end ? v.level_of(b) : 0; b < end; ++b) {
      t += std::cmp_greater_equal(b, v.level_ptr[t + 1]);
      f(v.block(t, b));
    }
  });
}

/// f(row, entry of the row, slot) for each entry of a block.
template <class View, class F>
void each_brc_entry(View const& v, brc_block const& b, F&& f) {
  for (std::size_t r = 0; r < b.rows; ++r) {
    auto const row = static_cast<std::size_t>(v.perm[b.first + r]);
    std::size_t const left = static_cast<std::size_t>(v.len[b.first + r]) - b.before;
    std::size_t const n = left < b.width ? left : b.width;
    for (std::size_t k = 0; k < n; ++k)
      f(row, b.before + k, b.at + k * b.rows + r);
  }
}

} // namespace detail

template <class V, class I, class O, space S>
brc_view<V, I, O, S>::brc_view(I rows, I cols, int chunk, int width,
                               brc_arrays<V, I, O> const& a) requires(S == space::host)
    : brc_view(unchecked, rows, cols, O(0), chunk, width, a) {
  detail::check_shape("brc", rows, cols);
  auto const sized = [&](char const* name, std::size_t is, std::size_t expected) {
    if (is != expected)
      fail(errc::bad_structure, "brc: %s has %zu elements, expected %zu", name, is, expected);
  };
  sized("perm", a.perm.size(), static_cast<std::size_t>(rows));
  sized("len", a.len.size(), static_cast<std::size_t>(rows));
  sized("col", a.col.size(), a.val.size());
  if (levels > 0 || !a.level_ptr.empty())
    sized("level_ptr", a.level_ptr.size(), a.level_rows.size() + 1);
  narrow<O>(a.val.size(), "number of entries with padding");
  nnz = narrow<O>(detail::count_entries("brc", len, a.len.size(), cols), "number of entries");
  validate();
}

template <class V, class I, class O, space S>
void brc_view<V, I, O, S>::validate() const {
  detail::check_shape("brc", rows, cols);
  if (chunk < 1 || chunk > detail::most_chunk || width < 1)
    fail(errc::bad_structure, "brc: blocks of %d rows by %d, expected 1 to %d and 1 or more", chunk,
         width, detail::most_chunk);
  if (levels < 0 || blocks < 0 || stored < 0)
    fail(errc::bad_structure, "brc: %lld levels, %lld blocks, %lld slots",
         static_cast<long long>(levels), static_cast<long long>(blocks),
         static_cast<long long>(stored));
  if (char const* const missing = detail::missing_array(*this))
    fail(errc::bad_structure, "brc: %s is null, but the matrix needs it", missing);
  auto const n = static_cast<std::size_t>(rows);
  detail::check_perm("brc", perm, rows);
  std::size_t const entries = detail::count_entries("brc", len, n, cols);
  if (std::cmp_not_equal(entries, nnz))
    fail(errc::bad_structure, "brc: len counts %zu entries, but nnz is %lld", entries,
         static_cast<long long>(nnz));
  for (std::size_t p = 1; p < n; ++p)
    if (len[p] > len[p - 1])
      fail(errc::bad_structure, "brc: len[%zu] is %lld after %lld, expected descending", p,
           static_cast<long long>(len[p]), static_cast<long long>(len[p - 1]));
  detail::check_pointers("brc: level_ptr", level_ptr, static_cast<std::size_t>(levels), blocks);
  detail::check_pointers("brc: block_ptr", block_ptr, static_cast<std::size_t>(blocks), stored);
  detail::check_indices("brc: col", col, static_cast<std::size_t>(stored), cols);
  auto const wide = static_cast<std::size_t>(width);
  std::size_t const longest = n == 0 ? 0 : static_cast<std::size_t>(len[0]);
  if (std::cmp_not_equal(levels, (longest + wide - 1) / wide))
    fail(errc::bad_structure, "brc: %lld levels of %d for a row of %zu entries",
         static_cast<long long>(levels), width, longest);
  for (std::size_t t = 0; t < static_cast<std::size_t>(levels); ++t) {
    auto const here = static_cast<std::size_t>(
        std::partition_point(len, len + n,
                             [&](I l) { return static_cast<std::size_t>(l) > t * wide; }) -
        len);
    auto const in_chunks =
        (here + static_cast<std::size_t>(chunk) - 1) / static_cast<std::size_t>(chunk);
    if (std::cmp_not_equal(level_rows[t], here) ||
        std::cmp_not_equal(level_ptr[t + 1] - level_ptr[t], in_chunks))
      fail(errc::bad_structure, "brc: level %zu has %lld rows in %lld blocks, expected %zu, %zu", t,
           static_cast<long long>(level_rows[t]),
           static_cast<long long>(level_ptr[t + 1] - level_ptr[t]), here, in_chunks);
    for (auto b = static_cast<std::size_t>(level_ptr[t]);
         b < static_cast<std::size_t>(level_ptr[t + 1]); ++b) {
      detail::brc_block const block = this->block(t, b);
      std::size_t const goes_on = static_cast<std::size_t>(len[block.first]) - block.before;
      std::size_t const slots = static_cast<std::size_t>(block_ptr[b + 1] - block_ptr[b]);
      if (slots != block.rows * std::min(wide, goes_on))
        fail(errc::bad_structure, "brc: block %zu has %zu slots, expected %zu rows of %zu", b,
             slots, block.rows, std::min(wide, goes_on));
      for (std::size_t r = 0; r < block.rows; ++r)
        for (std::size_t k = 0; k < block.width; ++k) {
          std::size_t const at = block.at + k * block.rows + r;
          if (block.before + k >= static_cast<std::size_t>(len[block.first + r])) {
            if (!(val[at] == V{}))
              fail(errc::bad_structure, "brc: val[%zu] is padding and not 0", at);
            continue;
          }
          if (block.before + k == 0)
            continue;
          std::size_t last = at - block.rows;
          if (k == 0) { // in the level before, whose blocks of it are as wide as can be
            detail::brc_block const before =
                this->block(t - 1, static_cast<std::size_t>(level_ptr[t - 1]) +
                                       block.first / static_cast<std::size_t>(chunk));
            last = before.at + (wide - 1) * before.rows + r;
          }
          if (col[at] <= col[last])
            fail(errc::bad_structure, "brc: col[%zu] is %lld after %lld in row %lld", at,
                 static_cast<long long>(col[at]), static_cast<long long>(col[last]),
                 static_cast<long long>(perm[block.first + r]));
        }
    }
  }
}

template <class V, class I, class O, space S>
csr<V, I, O> brc_view<V, I, O, S>::to_csr(cpu const& policy) const {
  detail::limited const space("brc", policy);
  cpu const& where = space.counted();
  auto const n = static_cast<std::size_t>(rows);
  auto const entries = static_cast<std::size_t>(nnz);
  array<I> length(n, where.memory); // of each row
  for (std::size_t p = 0; p < n; ++p)
    length[static_cast<std::size_t>(perm[p])] = len[p];
  csr<V, I, O> c(unchecked, rows, cols,
                 detail::pointers_of<O>(
                     n, [&](std::size_t i) { return length[i]; }, where),
                 array<I>(entries, where.memory), array<V>(entries, where.memory));
  detail::each_brc_block(*this, where, [&](detail::brc_block const& b) {
    detail::each_brc_entry(*this, b, [&](std::size_t i, std::size_t k, std::size_t at) {
      c.col[static_cast<std::size_t>(c.row_ptr[i]) + k] = col[at];
      c.val[static_cast<std::size_t>(c.row_ptr[i]) + k] = val[at];
    });
  });
  return c;
}

template <class V, class I, class O>
void brc<V, I, O>::validate() const {
  if (brc_view<V, I, O>(rows, cols, chunk, width, arrays()).nnz != nnz)
    view().validate(); // throws, since nnz is wrong
}

template <class V, class I, class O>
brc<V, I, O> brc<V, I, O>::from_csr(csr_view<V, I, O> a, brc_options o, cpu const& policy) {
  detail::limited const space("brc", policy);
  cpu const& where = space.counted();
  detail::check_brc_options(o);
  detail::canonical<V, I, O> const c(a, where);
  detail::rows_by_length<V, I, O> order(c.view, 0, where);
  auto const wide = static_cast<std::size_t>(o.width);
  std::size_t const levels = (order.longest + wide - 1) / wide;
  brc m;
  m.rows = a.rows;
  m.cols = a.cols;
  m.nnz = c.view.nnz;
  m.chunk = o.chunk;
  m.width = o.width;
  m.level_rows = array<I>(levels, where.memory);
  m.level_ptr = array<I>(levels + 1, where.memory);
  std::size_t const blocks = detail::brc_levels([&](std::size_t k) { return order.longer(k); },
                                                levels, o, m.level_rows.data(), m.level_ptr.data());
  m.block_ptr = array<O>(blocks + 1, where.memory);
  m.len = array<I>(order.rows, where.memory);
  int const parts = parts_for(order.rows, where.threads);
  parallel(parts, [&](int part) {
    for (std::size_t p = split(order.rows, part, parts), end = split(order.rows, part + 1, parts);
         p < end; ++p)
      m.len[p] = static_cast<I>(order.length_at(p));
  });
  std::size_t stored = 0;
  for (std::size_t t = 0, b = 0; t < levels; ++t)
    for (std::size_t p = 0, n = static_cast<std::size_t>(m.level_rows[t]); p < n;
         p += static_cast<std::size_t>(o.chunk)) {
      m.block_ptr[b++] = static_cast<O>(stored);
      stored += std::min(n - p, static_cast<std::size_t>(o.chunk)) *
                std::min(wide, static_cast<std::size_t>(m.len[p]) - t * wide);
    }
  detail::check_brc_size(c.view, blocks, stored, o.limit);
  m.block_ptr[blocks] = static_cast<O>(stored);
  m.perm = std::move(order.perm);
  m.col = array<I>(stored, where.memory);
  m.val = array<V>(stored, where.memory);
  auto const v = m.view();
  detail::each_brc_block(v, where, [&](detail::brc_block const& b) {
    for (std::size_t r = 0; r < b.rows; ++r) {
      auto const from = static_cast<std::size_t>(c.view.row_ptr[v.perm[b.first + r]]);
      auto const end = from + static_cast<std::size_t>(v.len[b.first + r]);
      for (std::size_t k = 0; k < b.width; ++k) {
        std::size_t const at = b.at + k * b.rows + r;
        std::size_t const entry = from + b.before + k;
        m.col[at] = c.view.col[std::min(entry, end - 1)]; // padding: the row's last again
        m.val[at] = entry < end ? c.view.val[entry] : V{};
      }
    }
  });
  return m;
}

template <class V, class I, class O>
void brc<V, I, O>::refill(csr_view<V, I, O> a, cpu const& policy) {
  detail::limited const space("brc", policy);
  cpu const& where = space.counted();
  detail::check_arrays("brc", *this);
  auto const v = view();
  detail::refill_if(
      "brc", rows, cols, nnz, a, where,
      [&](csr_view<V, I, O> const& c) {
        for (std::size_t p = 0; p < static_cast<std::size_t>(rows); ++p)
          if (std::cmp_not_equal(c.row_ptr[v.perm[p] + 1] - c.row_ptr[v.perm[p]], v.len[p]))
            return false;
        I other = 0;
        detail::each_brc_block(v, where, [&](detail::brc_block const& b) {
          I here = 0; // no branch per entry
          detail::each_brc_entry(v, b, [&](std::size_t i, std::size_t k, std::size_t at) {
            here |= static_cast<I>(v.col[at] ^ c.col[static_cast<std::size_t>(c.row_ptr[i]) + k]);
          });
          if (here != 0)
            __atomic_store_n(&other, here, __ATOMIC_RELAXED);
        });
        return other == 0;
      },
      [&, to = val.data()](csr_view<V, I, O> const& c) {
        detail::each_brc_block(v, where, [&](detail::brc_block const& b) {
          detail::each_brc_entry(v, b, [&](std::size_t i, std::size_t k, std::size_t at) {
            to[at] = c.val[static_cast<std::size_t>(c.row_ptr[i]) + k];
          });
        });
      });
}

} // namespace tulle

TULLE_INSTANTIATE_FORMAT(brc, every)

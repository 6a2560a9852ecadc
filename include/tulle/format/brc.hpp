// SPDX-License-Identifier: Apache-2.0

/// BRC, blocked rows and columns: rows by length, the longest first, `chunk` of them at a time;
/// their entries in blocks of up to `width` each, column by column and padded to the first row.
/// First the blocks with the first entries of all rows, then those with the next ones of rows that
/// go on.
///
///     1 . 2 .      chunk = 2     perm         3 0       1 2
///     . 3 . .      width = 2     len          3 2       1 1
///     . . . 4                    level_rows   4               1
///     5 6 7 .                    level_ptr    0               2   3
///                                block_ptr    0         4     6   7
///                                col          0 0 1 2   1 3   2
///                                val          5 1 6 2   3 4   7
///
/// Good for   rows of any lengths, a lane a row: blocks are alike, and a long row has many.
/// Bad for    rows whose neighbours matter: sorting takes them apart, and x is read in no order.
/// Space      (V + I) * stored + 2 I * rows + O * blocks; a level pads no more than one chunk by
/// `width`, so that stored is at most nnz + chunk * (longest row + width).
/// From       Liu, thesis 2015, sec. 5.4.6; Ashari, Sedaghati, Eisenlohr & Sadayappan, ICS 2014.
/// Unlike theirs, the parts of a row are joined in order and width is the same everywhere.
///
/// Invariants (validate() checks all of them)
///   perm names each row once; len has their entries and does not increase
///   level t has the places with len > t * width, level_rows[t] of them, in blocks of `chunk`
///   level_ptr[0] == 0: level t has the blocks from level_ptr[t] on
///   a block is as wide as its first row goes on, up to width; block_ptr[0] == 0
///   slot k of row r of a block of n rows is col[block_ptr[b] + k * n + r], and val
///   columns ascend within a row; padding has val 0 and a column that exists
#pragma once
#include "tulle/format/detail/jds_check.hpp"

namespace tulle {

/// The arrays, as a caller has them.
template <class V, class I, class O>
struct brc_arrays {
  std::span<I const> perm, len, level_rows, level_ptr;
  std::span<O const> block_ptr;
  std::span<I const> col;
  std::span<V const> val;
};

namespace detail {

struct brc_block {
  std::size_t first, rows; ///< places
  std::size_t width;
  std::size_t at;     ///< where its slots begin
  std::size_t before; ///< entries that its rows have in blocks before
};

} // namespace detail

template <class V, class I = std::int32_t, class O = I, space S = space::host>
struct brc_view {
  using value = V;
  using index = I;
  using offset = O;

  I rows = 0;
  I cols = 0;
  O nnz = 0; ///< without padding
  int chunk = 1;
  int width = 1;
  I levels = 0;
  I blocks = 0;
  O stored = 0;                  ///< with padding
  I const* perm = nullptr;       ///< rows: the row at each place
  I const* len = nullptr;        ///< rows: at each place
  I const* level_rows = nullptr; ///< levels
  I const* level_ptr = nullptr;  ///< levels + 1; may be null when there are none
  O const* block_ptr = nullptr;  ///< blocks + 1; may be null when there are none
  I const* col = nullptr;        ///< stored
  V const* val = nullptr;        ///< stored
  std::uint64_t serial = 0;      ///< of the owner's pattern; 0: borrowed arrays

  brc_view() = default;
  brc_view(unchecked_t, I rows, I cols, O nnz, int chunk, int width, brc_arrays<V, I, O> const& a)
      : rows(rows), cols(cols), nnz(nnz), chunk(chunk), width(width),
        levels(narrow<I>(a.level_rows.size(), "number of levels")),
        blocks(detail::lines_of<I>(a.block_ptr)), stored(static_cast<O>(a.val.size())),
        perm(a.perm.data()), len(a.len.data()), level_rows(a.level_rows.data()),
        level_ptr(detail::pointers_in(a.level_ptr)), block_ptr(detail::pointers_in(a.block_ptr)),
        col(a.col.data()), val(a.val.data()) {}
  /// Borrows the caller's arrays after checking every invariant, once: O(rows + stored).
  brc_view(I rows, I cols, int chunk, int width,
           brc_arrays<V, I, O> const& a) requires(S == space::host);

  /// f(name, pointer, size) for each array.
  template <class F>
  void arrays(F&& f) const {
    f("perm", perm, static_cast<std::size_t>(rows));
    f("len", len, static_cast<std::size_t>(rows));
    f("level_rows", level_rows, static_cast<std::size_t>(levels));
    f("level_ptr", level_ptr, level_ptr || levels > 0 ? static_cast<std::size_t>(levels) + 1 : 0);
    f("block_ptr", block_ptr, block_ptr || blocks > 0 ? static_cast<std::size_t>(blocks) + 1 : 0);
    f("col", col, static_cast<std::size_t>(stored));
    f("val", val, static_cast<std::size_t>(stored));
  }

  /// Block b of level t. Inlined: kernels may not leave it to the linker.
  [[gnu::always_inline]] detail::brc_block block(std::size_t t, std::size_t b) const {
    std::size_t const first =
        (b - static_cast<std::size_t>(level_ptr[t])) * static_cast<std::size_t>(chunk);
    std::size_t const left = static_cast<std::size_t>(level_rows[t]) - first;
    std::size_t const n =
        left < static_cast<std::size_t>(chunk) ? left : static_cast<std::size_t>(chunk);
    return {first, n, static_cast<std::size_t>(block_ptr[b + 1] - block_ptr[b]) / n,
            static_cast<std::size_t>(block_ptr[b]), t * static_cast<std::size_t>(width)};
  }
  /// The level of block b.
  [[gnu::always_inline]] std::size_t level_of(std::size_t b) const {
    std::size_t lo = 0;
    for (auto hi = static_cast<std::size_t>(levels); hi - lo > 1;) {
      std::size_t const mid = (lo + hi) / 2;
      if (static_cast<std::size_t>(level_ptr[mid]) <= b)
        lo = mid;
      else
        hi = mid;
    }
    return lo;
  }

  void validate() const;
  csr<V, I, O> to_csr(cpu const& where = {}) const;
};

struct brc_options {
  int chunk = 32;   ///< rows of a block
  int width = 128;  ///< entries of a row in a block, at most
  double limit = 8; ///< times the bytes of csr, above which a matrix is refused

  template <class F>
  void fields(F&& f) {
    f("chunk", chunk);
    f("width", width);
    f("limit", limit);
  }
  static constexpr char const* drawn = "chunk=2:width=2";
  static constexpr char const* variants[] = {"chunk=1:width=1", "chunk=7:width=3",
                                             "chunk=64:width=1000"};
};

template <class V, class I = std::int32_t, class O = I>
struct brc {
  using options = brc_options;

  I rows = 0;
  I cols = 0;
  O nnz = 0;
  int chunk = 1;
  int width = 1;
  array<I> perm, len, level_rows, level_ptr;
  array<O> block_ptr;
  array<I> col;
  array<V> val;
  detail::serial_number serial; ///< of the pattern

  brc() = default;
  static brc from_csr(csr_view<V, I, O> a, brc_options = {}, cpu const& where = {});
  csr<V, I, O> to_csr(cpu const& where = {}) const {
    return detail::checked(*this, where).to_csr(where);
  }
  /// New values on the same pattern; errc::bad_structure if the pattern differs.
  void refill(csr_view<V, I, O> a, cpu const& where = {});
  brc_view<V, I, O> view() const& {
    return detail::numbered(brc_view<V, I, O>{unchecked, rows, cols, nnz, chunk, width, arrays()},
                            serial);
  }
  void view() const&& = delete; // it would dangle
  void validate() const;
  std::size_t bytes() const { return detail::bytes_of(view()); }
  /// f(arrays...), all of them in the order of the view's.
  template <class M, class F>
  static void members(M& m, F&& f) {
    f(m.perm, m.len, m.level_rows, m.level_ptr, m.block_ptr, m.col, m.val);
  }
  friend bool operator==(brc const&, brc const&) = default;

private:
  brc_arrays<V, I, O> arrays() const {
    return {perm, len, level_rows, level_ptr, block_ptr, col, val};
  }
};

namespace detail {

constexpr int most_chunk = 1024; // rows of a block, whose sums a kernel keeps

inline void check_brc_options(brc_options const& o) {
  if (o.chunk < 1 || o.chunk > most_chunk)
    fail(errc::unsupported, "brc: option chunk is %d, expected 1 to %d", o.chunk, most_chunk);
  if (o.width < 1)
    fail(errc::unsupported, "brc: option width is %d, expected 1 or more", o.width);
  check_limit("brc", o.limit);
}

/// Before col and val are allocated: they are neither too many nor too large.
template <class V, class I, class O, space S>
void check_brc_size(csr_view<V, I, O, S> const& a, std::size_t blocks, std::size_t stored,
                    double limit) {
  check_room("brc",
             static_cast<double>(stored) * (sizeof(V) + sizeof(I)) +
                 2. * static_cast<double>(a.rows) * sizeof(I) +
                 static_cast<double>(blocks) * sizeof(O),
             bytes_of(a), limit);
  narrow<O>(stored, "number of entries with padding");
}

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

/// The levels of rows whose lengths longer(k) counts: how many have more than k entries. Returns
/// their blocks; both arrays have room.
template <class I, class Longer>
std::size_t brc_levels(Longer const& longer, std::size_t levels, brc_options const& o,
                       I* level_rows, I* level_ptr) {
  auto const chunk = static_cast<std::size_t>(o.chunk);
  std::size_t blocks = 0;
  for (std::size_t t = 0; t < levels; ++t) {
    std::size_t const n = longer(t * static_cast<std::size_t>(o.width));
    level_rows[t] = static_cast<I>(n);
    level_ptr[t] = static_cast<I>(blocks);
    blocks += (n + chunk - 1) / chunk;
  }
  level_ptr[levels] = narrow<I>(blocks, "number of blocks");
  return blocks;
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
csr<V, I, O> brc_view<V, I, O, S>::to_csr(cpu const& where) const {
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
    view().validate(); // says so
}

template <class V, class I, class O>
brc<V, I, O> brc<V, I, O>::from_csr(csr_view<V, I, O> a, brc_options o, cpu const& where) {
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
  int const parts = detail::parts_for(order.rows, where.threads);
  detail::parallel(parts, [&](int part) {
    for (std::size_t p = detail::split(order.rows, part, parts),
                     end = detail::split(order.rows, part + 1, parts);
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
void brc<V, I, O>::refill(csr_view<V, I, O> a, cpu const& where) {
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
          I here = 0; // no branch an entry
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

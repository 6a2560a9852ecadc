// SPDX-License-Identifier: Apache-2.0

/// DIA, diagonals: the value of every place of each full diagonal, and no column index at all. Rows
/// go in blocks, and a block holds its stretch of each diagonal that meets it; entries of sparser
/// diagonals are strays, kept as short rows.
///
///     1 . 2 .      block = 2   diagonal    -3 -2 0 2
///     . 3 . .                  block_ptr   0         2             5
///     . . . 4                  val         1 3 2 0   0 5 0 6 0 0
///     5 6 7 .                  mask        3 1       2 2 0
///                  strays      stray_row   2 3       stray_ptr   0 1 2
///                              stray_col   3 2       stray_val   4 7
///
/// A matrix that equals its transpose may be stored `symmetric`: of the diagonals those on and
/// below the main one, the others being the same numbers again; strays are few, and all kept.
/// Where coefficients repeat, stretches may be `shared`: val has each of them once, in the order in
/// which they first come, and shared says for every stretch which one it is.
///
/// Good for   stencils, lattices, bands: a third fewer bytes than csr, and x is read in order. Of
/// constant coefficients, shared: hardly more than x and y.
/// Bad for    anything whose entries do not lie on few diagonals: those are slow csr with holes.
/// Space      V * stored + stored / 8 + O * (rows / block + 1) + I * diagonals, stored counting the
/// holes; (V + I) a stray and I + O a row that has any. Shared: V * block a stretch that differs,
/// and O + block / 8 for every stretch.
/// From       Liu, thesis 2015, sec. 5.2.1. There a diagonal is one array; here `block` rows of all
/// diagonals lie together, so that a product is one stream, and a diagonal ends with the matrix.
///
/// Invariants (validate() checks all of them)
///   block is a power of two up to 1024; diagonal ascends, each that of a place in the matrix
///   block_ptr[0] == 0, and grows by the number of diagonals that meet the rows of each block
///   val has block slots for each of those, mask a bit a slot: whether it is stored
///   shared is empty, or has for each of those the number of its stretch of val, which is at most
///   one more than all before it; val has no others
///   a slot that is not stored holds 0; one outside the matrix is not stored
///   stray_row ascends; stray_ptr[0] == 0 and ascends; stray_col ascends within a row, each in the
///   matrix and on none of the diagonals
///   symmetric: rows == cols, no diagonal is above 0, nor a stray on one as far above as one of
///   them is below; each stray has a twin of the same bits; shared is empty
#pragma once
#include "tulle/format/csr.hpp"
#include "tulle/format/detail/dia_convert.hpp"
#include "tulle/format/detail/dia_share.hpp"

#include <atomic>
#include <bit>

namespace tulle {

template <class V, class I = std::int32_t, class O = I, space S = space::host>
struct dia_view {
  using value = V;
  using index = I;
  using offset = O;

  I rows = 0;
  I cols = 0;
  O nnz = 0;                          ///< without holes, with strays and what is not kept twice
  std::int32_t block = 32;            ///< rows
  bool symmetric = false;             ///< diagonals below the main one stand for those above it
  I diagonals = 0;                    ///< how many
  I stray_rows = 0;                   ///< rows that have strays
  O strays = 0;                       ///< how many
  std::size_t stored = 0;             ///< slots of val, holes among them
  std::size_t stretches = 0;          ///< of all blocks: block_ptr's last
  I const* diagonal = nullptr;        ///< diagonals: column less row
  O const* block_ptr = nullptr;       ///< blocks() + 1: first stretch; may be null when rows == 0
  V const* val = nullptr;             ///< stored
  std::uint8_t const* mask = nullptr; ///< mask_bytes() for each stretch
  O const* shared = nullptr;          ///< stretches, or none: which one of val it is
  I const* stray_row = nullptr;       ///< stray_rows
  O const* stray_ptr = nullptr;       ///< stray_rows + 1, or none
  I const* stray_col = nullptr;       ///< strays
  V const* stray_val = nullptr;       ///< strays
  std::uint64_t serial = 0;           ///< of the owner's pattern; 0: borrowed arrays

  dia_view() = default;
  /// Borrows the caller's arrays after checking every invariant, once: O(stored + strays).
  dia_view(I rows, I cols, std::int32_t block, std::span<I const> diagonal,
           std::span<O const> block_ptr, std::span<V const> val, std::span<std::uint8_t const> mask,
           std::span<I const> stray_row, std::span<O const> stray_ptr, std::span<I const> stray_col,
           std::span<V const> stray_val, bool symmetric = false,
           std::span<O const> shared = {}) requires(S == space::host);
  dia_view(unchecked_t, I rows, I cols, O nnz, std::int32_t block, std::span<I const> diagonal,
           O const* block_ptr, std::span<V const> val, std::uint8_t const* mask,
           std::span<I const> stray_row, O const* stray_ptr, std::span<I const> stray_col,
           V const* stray_val, bool symmetric = false, std::span<O const> shared = {})
      : rows(rows), cols(cols), nnz(nnz), block(block), symmetric(symmetric),
        diagonals(static_cast<I>(diagonal.size())), stray_rows(static_cast<I>(stray_row.size())),
        strays(static_cast<O>(stray_col.size())), stored(val.size()),
        stretches(!shared.empty() ? shared.size()
                  : block > 0     ? stored / static_cast<std::size_t>(block)
                                  : 0),
        diagonal(diagonal.data()), block_ptr(block_ptr), val(val.data()), mask(mask),
        shared(shared.empty() ? nullptr : shared.data()), stray_row(stray_row.data()),
        stray_ptr(stray_ptr), stray_col(stray_col.data()), stray_val(stray_val) {}

  std::size_t blocks() const {
    return detail::pieces(static_cast<std::size_t>(rows), static_cast<std::size_t>(block));
  }
  /// Of a stretch: a block's rows of one diagonal.
  std::size_t mask_bytes() const { return (static_cast<std::size_t>(block) + 7) / 8; }
  /// The slots of one, `block` of them.
  V const* values(std::size_t stretch) const {
    return val + (shared ? static_cast<std::size_t>(shared[stretch]) : stretch) *
                     static_cast<std::size_t>(block);
  }

  /// f(name, pointer, size) for each array.
  template <class F>
  void arrays(F&& f) const {
    f("diagonal", diagonal, static_cast<std::size_t>(diagonals));
    f("block_ptr", block_ptr, block_ptr || rows > 0 ? blocks() + 1 : 0);
    f("val", val, stored);
    f("mask", mask, stretches * mask_bytes());
    f(detail::array_name("shared", true), shared, shared ? stretches : 0);
    f("stray_row", stray_row, static_cast<std::size_t>(stray_rows));
    f("stray_ptr", stray_ptr, stray_rows > 0 ? static_cast<std::size_t>(stray_rows) + 1 : 0);
    f("stray_col", stray_col, static_cast<std::size_t>(strays));
    f("stray_val", stray_val, static_cast<std::size_t>(strays));
  }

  void validate() const { dia_view(*this).check(false); }
  csr<V, I, O> to_csr(cpu const& where = {}) const;

private:
  void check(bool count); ///< every invariant; where `count`, nnz is set instead of checked
};

struct dia_options {
  int block = 32; ///< rows whose diagonals lie together: a power of two up to 1024
  /// The share of its slots that a diagonal must store, else its entries are strays. Two random
  /// diagonals beside three full ones on Zen 4, ms as diagonals and as strays: .1 stored 2.5, 3.4;
  /// .3 stored 2.2, 4.4; .5 stored 2.3, 6.2. Lower than .3 saves time, but takes more bytes than
  /// csr.
  double fill = .3;
  double limit = 8;       ///< the most bytes, in those of csr
  bool symmetric = false; ///< one of each two entries that mirror each other, else refused
  bool shared = false;    ///< stretches of the same values once; not where symmetric

  template <class F>
  void fields(F&& f) {
    f("block", block);
    f("fill", fill);
    f("limit", limit);
    f("symmetric", symmetric);
    f("shared", shared);
  }
  static constexpr char const* variants[] = {"block=8",
                                             "block=16:fill=0.2",
                                             "block=1:fill=0",
                                             "block=64:fill=0",
                                             "block=256:fill=1",
                                             "symmetric=true",
                                             "symmetric=true:block=64:fill=0",
                                             "symmetric=true:block=8:fill=1",
                                             "symmetric=true:block=2:fill=0",
                                             "shared=true",
                                             "shared=true:block=64:fill=0",
                                             "shared=true:block=2"};
  static constexpr char const* drawn = "block=2"; ///< in the picture above
};

template <class V, class I = std::int32_t, class O = I>
struct dia {
  using options = dia_options;

  I rows = 0;
  I cols = 0;
  O nnz = 0;
  std::int32_t block = 32;
  bool symmetric = false;
  array<I> diagonal;
  array<O> block_ptr;
  array<V> val;
  array<std::uint8_t> mask;
  array<O> shared;
  array<I> stray_row;
  array<O> stray_ptr;
  array<I> stray_col;
  array<V> stray_val;
  detail::serial_number serial; ///< of the pattern

  dia() = default;
  /// Takes arrays over after checking every invariant.
  dia(I rows, I cols, std::int32_t block, array<I> diagonal, array<O> block_ptr, array<V> val,
      array<std::uint8_t> mask, array<I> stray_row, array<O> stray_ptr, array<I> stray_col,
      array<V> stray_val, bool symmetric = false, array<O> shared = {});

  static dia from_csr(csr_view<V, I, O> a, dia_options o = {}, cpu const& where = {});
  csr<V, I, O> to_csr(cpu const& where = {}) const {
    return detail::checked(*this, where).to_csr(where);
  }
  void refill(csr_view<V, I, O> a, cpu const& where = {});
  dia_view<V, I, O> view() const& {
    return detail::numbered(dia_view<V, I, O>{unchecked, rows, cols, nnz, block, diagonal,
                                              block_ptr.data(), val, mask.data(), stray_row,
                                              stray_ptr.data(), stray_col, stray_val.data(),
                                              symmetric, shared},
                            serial);
  }
  void view() const&& = delete; // it would dangle
  void validate() const;
  std::size_t bytes() const { return detail::bytes_of(view()); }
  /// f(arrays...), all of them in the order of the view's.
  template <class M, class F>
  static void members(M& m, F&& f) {
    f(m.diagonal, m.block_ptr, m.val, m.mask, m.shared, m.stray_row, m.stray_ptr, m.stray_col,
      m.stray_val);
  }
  friend bool operator==(dia const&, dia const&) = default;

private:
  dia_view<V, I, O> checked() const {
    return {rows,      cols,      block,     diagonal,  block_ptr, val,   mask,
            stray_row, stray_ptr, stray_col, stray_val, symmetric, shared};
  }
};

template <class V, class I, class O, space S>
dia_view<V, I, O, S>::dia_view(I rows, I cols, std::int32_t block, std::span<I const> diagonal,
                               std::span<O const> block_ptr, std::span<V const> val,
                               std::span<std::uint8_t const> mask, std::span<I const> stray_row,
                               std::span<O const> stray_ptr, std::span<I const> stray_col,
                               std::span<V const> stray_val, bool symmetric,
                               std::span<O const> shared) requires(S == space::host)
    : dia_view(unchecked, rows, cols, 0, block, diagonal, block_ptr.data(), val, mask.data(),
               stray_row, stray_ptr.data(), stray_col, stray_val.data(), symmetric, shared) {
  detail::check_shape("dia", rows, cols);
  if (!detail::is_dia_block(block))
    fail(errc::bad_structure, "dia: block is %d, expected a power of two up to %d", block,
         detail::most_dia_block);
  if (block_ptr.size() != blocks() + 1 && !(rows == 0 && block_ptr.empty()))
    fail(errc::bad_structure, "dia: %zu pointers for %zu blocks, expected one more",
         block_ptr.size(), blocks());
  if (val.size() % static_cast<std::size_t>(block) != 0 || mask.size() != stretches * mask_bytes())
    fail(errc::bad_structure, "dia: %zu values and %zu bytes of mask, for blocks of %d rows",
         val.size(), mask.size(), block);
  if (stray_row.size() + !stray_row.empty() != stray_ptr.size() ||
      stray_col.size() != stray_val.size())
    fail(errc::bad_structure,
         "dia: %zu rows with strays, %zu pointers, %zu columns, %zu values of them",
         stray_row.size(), stray_ptr.size(), stray_col.size(), stray_val.size());
  narrow<I>(diagonal.size(), "number of diagonals");
  narrow<I>(stray_row.size(), "number of rows with strays");
  narrow<O>(stray_col.size(), "number of strays");
  detail::check_present("dia: mask", mask.data(), mask.size());
  check(true);
}

template <class V, class I, class O, space S>
void dia_view<V, I, O, S>::check(bool count) {
  using detail::check_present;
  detail::check_shape("dia", rows, cols);
  if (!detail::is_dia_block(block))
    fail(errc::bad_structure, "dia: block is %d, expected a power of two up to %d", block,
         detail::most_dia_block);
  if (diagonals < 0 || stray_rows < 0 || strays < 0)
    fail(errc::bad_structure,
         "dia: %lld diagonals, %lld rows with %lld strays; none may be negative",
         static_cast<long long>(diagonals), static_cast<long long>(stray_rows),
         static_cast<long long>(strays));
  if (symmetric && rows != cols)
    fail(errc::bad_structure, "dia: symmetric, but there are %lld rows and %lld columns",
         static_cast<long long>(rows), static_cast<long long>(cols));
  detail::dia_grid const g{rows, cols, block};
  auto const n = static_cast<std::size_t>(diagonals);
  check_present("dia: diagonal", diagonal, n);
  for (std::size_t d = 0; d < n; ++d) {
    if (diagonal[d] <= -g.rows || diagonal[d] >= g.cols || rows == 0)
      fail(errc::bad_structure, "dia: diagonal[%zu] is %lld, outside (%lld, %lld)", d,
           static_cast<long long>(diagonal[d]), -static_cast<long long>(rows),
           static_cast<long long>(cols));
    if (d > 0 && diagonal[d] <= diagonal[d - 1])
      fail(errc::bad_structure, "dia: diagonal does not ascend from %lld to %lld at %zu",
           static_cast<long long>(diagonal[d - 1]), static_cast<long long>(diagonal[d]), d);
    if (symmetric && diagonal[d] > 0)
      fail(errc::bad_structure, "dia: diagonal[%zu] is %lld, above the main one of a symmetric dia",
           d, static_cast<long long>(diagonal[d]));
  }
  if (block_ptr == nullptr && rows != 0)
    fail(errc::bad_structure, "dia: block_ptr is null, but there are %zu blocks", g.blocks());
  if (block_ptr && block_ptr[0] != 0)
    fail(errc::bad_structure, "dia: block_ptr[0] is %lld, expected 0",
         static_cast<long long>(block_ptr[0]));
  if (symmetric && shared)
    fail(errc::bad_structure, "dia: symmetric and shared, expected one of them at most");
  std::size_t met = 0; // stretches
  for (std::size_t b = 0; b < g.blocks(); ++b) {
    met += detail::dia_range(g, diagonal, n, b).count;
    if (!std::in_range<O>(met) || block_ptr[b + 1] != static_cast<O>(met))
      fail(errc::bad_structure, "dia: block_ptr[%zu] is %lld, but the diagonals make it %zu", b + 1,
           static_cast<long long>(block_ptr[b + 1]), met);
  }
  std::size_t kept = shared ? 0 : met; // stretches of val
  if (stretches != met && (shared || stored == met * static_cast<std::size_t>(block)))
    fail(errc::bad_structure, "dia: %zu stretches, but the diagonals have %zu", stretches, met);
  for (std::size_t s = 0; shared && s < met; ++s) {
    if (shared[s] < 0 || static_cast<std::size_t>(shared[s]) > kept)
      fail(errc::bad_structure, "dia: shared[%zu] is %lld, expected 0 to %zu", s,
           static_cast<long long>(shared[s]), kept);
    kept += static_cast<std::size_t>(shared[s]) == kept;
  }
  if (stored != kept * static_cast<std::size_t>(block))
    fail(errc::bad_structure, "dia: %zu values, but the diagonals have %zu slots", stored,
         kept * static_cast<std::size_t>(block));
  check_present("dia: val", val, stored);
  check_present("dia: mask", mask, stretches * mask_bytes());
  // Slots: those outside the matrix are holes, and holes are zero.
  int const parts = detail::parts_for(met * static_cast<std::size_t>(block), 0, 1 << 18);
  std::size_t found = static_cast<std::size_t>(strays);
  detail::parallel(parts, [&](int part) {
    std::size_t entries = 0;
    std::size_t const end = detail::split(g.blocks(), part + 1, parts);
    for (std::size_t b = detail::split(g.blocks(), part, parts); b < end; ++b) {
      detail::dia_range const here(g, diagonal, n, b);
      for (std::size_t d = 0; d < here.count; ++d) {
        auto const stretch = static_cast<std::size_t>(block_ptr[b]) + d;
        std::int64_t const o = diagonal[here.first + d];
        for (std::size_t i = 0; i < 8 * mask_bytes(); ++i) {
          bool const is_stored = mask[stretch * mask_bytes() + i / 8] >> i % 8 & 1;
          std::int64_t const row = g.first_row(b) + static_cast<std::int64_t>(i);
          entries += is_stored + (is_stored && symmetric && o != 0);
          if (is_stored && (i >= static_cast<std::size_t>(block) || row >= g.rows || row + o < 0 ||
                            o >= g.cols - row))
            fail(errc::bad_structure,
                 "dia: mask stores a value of diagonal %lld at row %lld, outside the matrix",
                 static_cast<long long>(o), static_cast<long long>(row));
          if (!is_stored && i < static_cast<std::size_t>(block) && !(values(stretch)[i] == V{}))
            fail(errc::bad_structure,
                 "dia: val has something in a hole, diagonal %lld at row %lld; expected 0",
                 static_cast<long long>(o), static_cast<long long>(row));
        }
      }
    }
    std::atomic_ref(found).fetch_add(entries, std::memory_order_relaxed);
  });
  if (count)
    nnz = narrow<O>(found, "number of entries");
  if (nnz < 0 || found != static_cast<std::size_t>(nnz))
    fail(errc::bad_structure, "dia: %zu entries are stored, but nnz is %lld", found,
         static_cast<long long>(nnz));
  detail::check_dia_strays(*this);
}

template <class V, class I, class O, space S>
csr<V, I, O> dia_view<V, I, O, S>::to_csr(cpu const& where) const {
  auto const n = static_cast<std::size_t>(rows);
  detail::dia_grid const g{rows, cols, block};
  csr<V, I, O> c(unchecked, rows, cols, array<O>(n + 1, where.memory), {}, {});
  int const parts =
      detail::parts_for(stretches * static_cast<std::size_t>(block) + n, where.threads);
  array<O> before(static_cast<std::size_t>(parts) + 1, where.memory); // entries of parts before
  auto const first_block = [&](int part) { return detail::split(g.blocks(), part, parts); };
  auto const first_stray = [&](std::size_t b) {
    return static_cast<std::size_t>(
        std::lower_bound(stray_row, stray_row + stray_rows, g.first_row(b)) - stray_row);
  };
  auto const is_stored = [&](std::size_t stretch, std::size_t i) {
    return mask[stretch * mask_bytes() + i / 8] >> i % 8 & 1;
  };

  // How many entries each part has; where rows begin is known when they are written.
  c.row_ptr[0] = before[0] = 0;
  detail::parallel(parts, [&](int part) {
    std::size_t const b = first_block(part);
    std::size_t const end = first_block(part + 1);
    std::size_t count = 0;
    if (b != end)
      for (std::size_t m = static_cast<std::size_t>(block_ptr[b]) * mask_bytes();
           m < static_cast<std::size_t>(block_ptr[end]) * mask_bytes(); ++m)
        count += static_cast<std::size_t>(std::popcount(mask[m]));
    if (strays != 0)
      count += static_cast<std::size_t>(stray_ptr[first_stray(end)] - stray_ptr[first_stray(b)]);
    before[static_cast<std::size_t>(part) + 1] = static_cast<O>(count);
  });
  for (std::size_t p = 0; p < static_cast<std::size_t>(parts); ++p)
    before[p + 1] = static_cast<O>(before[p] + before[p + 1]);
  c.col = array<I>(static_cast<std::size_t>(before.back()), where.memory);
  c.val = array<V>(c.col.size(), where.memory);

  detail::parallel(parts, [&](int part) {
    std::size_t s = first_stray(first_block(part));
    auto at = static_cast<std::size_t>(before[static_cast<std::size_t>(part)]);
    for (std::size_t b = first_block(part); b < first_block(part + 1); ++b) {
      detail::dia_range const here(g, diagonal, static_cast<std::size_t>(diagonals), b);
      auto const first = static_cast<std::size_t>(block_ptr[b]);
      for (std::int64_t row = g.first_row(b); row <= g.last_row(b); ++row) {
        auto const i = static_cast<std::size_t>(row - g.first_row(b));
        O k = 0; // strays of the row that are left
        O end = 0;
        if (s < static_cast<std::size_t>(stray_rows) && stray_row[s] == row) {
          k = stray_ptr[s];
          end = stray_ptr[++s];
        }
        auto const strays_before = [&](std::int64_t column) {
          for (; k < end && stray_col[k] < column; ++k, ++at) {
            c.col[at] = stray_col[k];
            c.val[at] = stray_val[k];
          }
        };
        for (std::size_t d = 0; d < here.count; ++d)
          if (is_stored(first + d, i)) {
            auto const column = static_cast<I>(row + diagonal[here.first + d]);
            strays_before(column);
            c.col[at] = column;
            c.val[at++] = values(first + d)[i];
          }
        strays_before(g.cols);
        c.row_ptr[static_cast<std::size_t>(row) + 1] = static_cast<O>(at);
      }
    }
  });
  if (!symmetric)
    return c;
  c = detail::lower_triangle(c.view(), where); // without half of the strays
  return detail::mirrored(c.view(), where);
}

template <class V, class I, class O>
dia<V, I, O>::dia(I rows, I cols, std::int32_t block, array<I> diagonal, array<O> block_ptr,
                  array<V> val, array<std::uint8_t> mask, array<I> stray_row, array<O> stray_ptr,
                  array<I> stray_col, array<V> stray_val, bool symmetric, array<O> shared)
    : rows(rows), cols(cols), block(block), symmetric(symmetric), diagonal(std::move(diagonal)),
      block_ptr(std::move(block_ptr)), val(std::move(val)), mask(std::move(mask)),
      shared(std::move(shared)), stray_row(std::move(stray_row)), stray_ptr(std::move(stray_ptr)),
      stray_col(std::move(stray_col)), stray_val(std::move(stray_val)) {
  nnz = checked().nnz;
}

template <class V, class I, class O>
void dia<V, I, O>::validate() const {
  if (O const found = checked().nnz; found != nnz)
    fail(errc::bad_structure, "dia: %lld entries are stored, but nnz is %lld",
         static_cast<long long>(found), static_cast<long long>(nnz));
}

namespace detail {

inline void check_dia_options(dia_options const& o) {
  if (!is_dia_block(o.block))
    fail(errc::unsupported, "dia: option block is %d, expected a power of two up to %d", o.block,
         most_dia_block);
  if (!(o.fill >= 0 && o.fill <= 1))
    fail(errc::unsupported, "dia: option fill is %g, expected a share between 0 and 1", o.fill);
  if (!(o.limit >= 0))
    fail(errc::unsupported, "dia: option limit is %g, expected a number from 0 up", o.limit);
  if (o.symmetric && o.shared)
    fail(errc::unsupported, "dia: options symmetric and shared are both set, expected one at most");
}

/// The bytes of a dia that has so many diagonals, stretches of them and strays.
template <class V, class I, class O>
double dia_bytes(dia_grid const& g, std::size_t diagonals, double stretches, std::size_t strays) {
  auto const block = static_cast<std::size_t>(g.block);
  return stretches * static_cast<double>(block * sizeof(V) + (block + 7) / 8) +
         static_cast<double>((g.blocks() + 1) * sizeof(O) + diagonals * sizeof(I) +
                             strays * (sizeof(V) + sizeof(I)) +
                             std::min(strays, static_cast<std::size_t>(g.rows)) *
                                 (sizeof(I) + sizeof(O)));
}

} // namespace detail

template <class V, class I, class O>
dia<V, I, O> dia<V, I, O>::from_csr(csr_view<V, I, O> a, dia_options o, cpu const& where) {
  detail::check_dia_options(o);
  detail::canonical<V, I, O> const c(a, where);
  if (o.symmetric)
    detail::check_symmetric("dia", c.view, where);
  detail::dia_grid const g{a.rows, a.cols, o.block};
  auto const n = static_cast<std::size_t>(a.rows);
  auto const block = static_cast<std::size_t>(o.block);
  detail::dia_choice<I> chosen(c.view, g, o.fill, o.symmetric, where);
  std::size_t const strays = static_cast<std::size_t>(c.view.nnz) - chosen.entries;

  double stretches = 0;
  for (I const d : chosen.diagonal)
    stretches += static_cast<double>(g.end_block(d) - g.first_block(d));
  detail::check_room("dia",
                     detail::dia_bytes<V, I, O>(g, chosen.diagonal.size(), stretches, strays),
                     detail::bytes_of(c.view), o.limit);

  dia m;
  m.rows = a.rows;
  m.cols = a.cols;
  m.nnz = c.view.nnz;
  m.block = o.block;
  m.symmetric = o.symmetric;
  m.diagonal = std::move(chosen.diagonal);
  m.block_ptr = array<O>(g.blocks() + 1, where.memory);
  std::size_t sum = 0;
  m.block_ptr[0] = 0;
  for (std::size_t b = 0; b < g.blocks(); ++b) {
    sum += detail::dia_range(g, m.diagonal.data(), m.diagonal.size(), b).count;
    m.block_ptr[b + 1] = narrow<O>(sum, "number of stretches of diagonals");
  }
  m.val = array<V>(checked_mul(sum, block, "dia"), where.memory);
  m.mask = array<std::uint8_t>(sum * ((block + 7) / 8), where.memory);

  int const parts =
      detail::parts_for(m.val.size() + static_cast<std::size_t>(c.view.nnz) + n, where.threads);
  array<detail::dia_strays> at(static_cast<std::size_t>(parts) + 1, {}, where.memory);
  auto const part_of = [&](int part) { return detail::dia_part(g, c.view.row_ptr, part, parts); };
  if (strays != 0) {
    detail::parallel(parts, [&](int part) {
      detail::dia_strays mine;
      auto const nothing = [](std::size_t, std::size_t) {};
      detail::dia_runs(
          c.view, g, m.diagonal, part_of(part), part_of(part + 1), [&](detail::dia_run const& r) {
            std::size_t const others = detail::dia_sort(r, c.view.col, m, nothing, nothing);
            mine.row += others != 0 ? r.rows : 0;
            mine.entry += others * r.rows;
          });
      at[static_cast<std::size_t>(part) + 1] = mine;
    });
    for (std::size_t p = 0; p < static_cast<std::size_t>(parts); ++p) {
      at[p + 1].row += at[p].row;
      at[p + 1].entry += at[p].entry;
    }
    m.stray_row = array<I>(at.back().row, where.memory);
    m.stray_ptr = array<O>(at.back().row + 1, where.memory);
    m.stray_col = array<I>(strays, where.memory);
    m.stray_val = array<V>(strays, where.memory);
    m.stray_ptr[at.back().row] = static_cast<O>(strays);
  }
  detail::parallel(parts, [&](int part) {
    detail::dia_fill(c.view, g, m, at[static_cast<std::size_t>(part)], part_of(part),
                     part_of(part + 1));
  });
  if (o.shared)
    detail::dia_share(m, where);
  return m;
}

} // namespace tulle

#include "tulle/format/detail/dia_refill.hpp"

// SPDX-License-Identifier: Apache-2.0

/// CSR5: the entries of CSR in tiles of omega lanes by sigma steps, each stored step by step, with
/// one descriptor word per lane that marks where rows begin.
///
///     1 . 2 .      row_ptr            0 2 3 4 7
///     . 3 . .      tile_ptr           0 3 4
///     . . . 4      tile_desc          0x0a000000 0x4c000000
///     5 6 7 .      empty_offset_ptr   0 0
///                  empty_offset
///     omega = 2    col                0 3  2 0  1 1   2
///     sigma = 3    val                1 4  2 5  3 6   7
///
///     The tile's lanes are 1 2 3 and 4 5 6; the last entry is no whole tile and stays as in csr.
///     A word from its top:            y_offset 3 bits, seg_offset 1, bit_flag 3, the first step
///     highest. Here:                  000 0 101 and 010 0 110.
///
/// Good for   rows of very different lengths: every tile is the same amount of work; conversion in
/// place.
/// Bad for    matrices whose rows are all alike, where sell, dia or bcsr need less.
/// Space      (V + I) * nnz + O * (rows + 1) + 4 * nnz / sigma, and a few words per tile.
/// From       Liu, thesis 2015, ch. 6 and sec. 8.5; Liu & Vinter, ICS 2015.
///
/// Invariants (validate() checks all of them), with tiles = nnz / (omega * sigma), rounded up, of
/// which the last may lack entries, and lane i of a tile holding its entries [i, i + 1) * sigma
///   omega is 2, 4, 8, ... 64; what a lane needs to say fits 32 bits, which bounds sigma
///   row_ptr[0] == 0, non-decreasing, last == nnz
///   tile_ptr[t]: the row of the tile's first entry, the highest bit set where a row in
///   [it, tile_ptr[t + 1]) is empty; last == rows; nothing where nnz == 0
///   tile_desc, one word per lane of a whole tile: y_offset, the rows begun in lanes before (the
///   row that the tile begins in counts as begun in lane 0); seg_offset, how many lanes follow in
///   which no row begins, 0 in a lane of that kind; bit_flag, which steps begin a row
///   empty_offset: for whole tiles with an empty row, each row that has entries, less tile_ptr
///   0 <= col[p] < cols, ascending within a row, no duplicates
#pragma once
#include "tulle/format/csr.hpp"

namespace tulle {

template <class V, class I = std::int32_t, class O = I, space S = space::host>
struct csr5_view {
  using value = V;
  using index = I;
  using offset = O;
  using tile_pointer = std::make_unsigned_t<I>;

  I rows = 0;
  I cols = 0;
  O nnz = 0;
  int omega = 4;                            ///< lanes of a tile
  int sigma = 16;                           ///< steps of a tile
  O offsets = 0;                            ///< how many empty_offset holds
  O const* row_ptr = nullptr;               ///< rows + 1; may be null when rows == 0
  tile_pointer const* tile_ptr = nullptr;   ///< tiles + 1, 0 where there are none
  std::uint32_t const* tile_desc = nullptr; ///< omega for each whole tile
  O const* empty_offset_ptr = nullptr;      ///< whole tiles + 1, 0 where there are none
  I const* empty_offset = nullptr;          ///< offsets
  I const* col = nullptr;                   ///< nnz
  V const* val = nullptr;                   ///< nnz
  std::uint64_t serial = 0;                 ///< of the owner's pattern; 0: borrowed arrays

  csr5_view() = default;
  csr5_view(unchecked_t, I rows_, I cols_, O nnz_, int omega_, int sigma_, O const* row_ptr_,
            tile_pointer const* tile_ptr_, std::uint32_t const* tile_desc_,
            O const* empty_offset_ptr_, O offsets_, I const* empty_offset_, I const* col_,
            V const* val_)
      : rows(rows_), cols(cols_), nnz(nnz_), omega(omega_), sigma(sigma_), offsets(offsets_),
        row_ptr(row_ptr_), tile_ptr(tile_ptr_), tile_desc(tile_desc_),
        empty_offset_ptr(empty_offset_ptr_), empty_offset(empty_offset_), col(col_), val(val_) {}
  /// Borrows the caller's arrays after checking every invariant, once: O(rows + nnz).
  csr5_view(I rows, I cols, int omega, int sigma, std::span<O const> row_ptr,
            std::span<tile_pointer const> tile_ptr, std::span<std::uint32_t const> tile_desc,
            std::span<O const> empty_offset_ptr, std::span<I const> empty_offset,
            std::span<I const> col, std::span<V const> val) requires(S == space::host);

  std::size_t tile_entries() const {
    return static_cast<std::size_t>(omega) * static_cast<std::size_t>(sigma);
  }
  [[gnu::always_inline]] std::size_t tiles() const {
    return detail::pieces(static_cast<std::size_t>(nnz), tile_entries());
  }
  [[gnu::always_inline]] std::size_t whole_tiles() const {
    return tiles() - (tiles() * tile_entries() != static_cast<std::size_t>(nnz));
  }
  /// Where entry k of csr is stored.
  std::size_t position(std::size_t k) const {
    std::size_t const n = tile_entries();
    if (k / n == whole_tiles())
      return k;
    auto const steps = static_cast<std::size_t>(sigma);
    return k / n * n + k % n % steps * static_cast<std::size_t>(omega) + k % n / steps;
  }

  /// f(name, pointer, size) for each array.
  template <class F>
  void arrays(F&& f) const {
    std::size_t const whole = whole_tiles();
    f("row_ptr", row_ptr, row_ptr || rows > 0 ? static_cast<std::size_t>(rows) + 1 : 0);
    f("tile_ptr", tile_ptr, nnz > 0 ? tiles() + 1 : 0);
    f("tile_desc", tile_desc, whole * static_cast<std::size_t>(omega));
    f("empty_offset_ptr", empty_offset_ptr, whole > 0 ? whole + 1 : 0);
    f("empty_offset", empty_offset, static_cast<std::size_t>(offsets));
    f("col", col, static_cast<std::size_t>(nnz));
    f("val", val, static_cast<std::size_t>(nnz));
  }

  /// Throws errc::bad_structure naming the first broken invariant.
  void validate() const;
  csr<V, I, O> to_csr(cpu const& where = {}) const;
};

struct csr5_options {
  int omega = 0; ///< lanes: 2, 4, 8, 16, 32 or 64; 0: by the value type
  int sigma = 0; ///< steps; 0: by the average row length

  static constexpr char const* variants[] = {"omega=4:sigma=4",  "omega=2:sigma=3",
                                             "omega=8:sigma=21", "omega=16:sigma=1",
                                             "omega=64:sigma=7", "omega=4:sigma=23"};
  static constexpr char const* on_device = "omega=32"; ///< one warp per tile
  static constexpr char const* drawn = "omega=2:sigma=3";

  template <class F>
  void fields(F&& f) {
    f("omega", omega);
    f("sigma", sigma);
  }
};

template <class V, class I = std::int32_t, class O = I>
struct csr5 {
  using options = csr5_options;
  using tile_pointer = typename csr5_view<V, I, O>::tile_pointer;

  I rows = 0;
  I cols = 0;
  int omega = 4;
  int sigma = 16;
  array<O> row_ptr;
  array<tile_pointer> tile_ptr;
  array<std::uint32_t> tile_desc;
  array<O> empty_offset_ptr;
  array<I> empty_offset;
  array<I> col;
  array<V> val;
  detail::serial_number serial; ///< of the pattern

  csr5() = default;
  /// Takes arrays over after checking every invariant.
  csr5(I rows, I cols, int omega, int sigma, array<O> row_ptr, array<tile_pointer> tile_ptr,
       array<std::uint32_t> tile_desc, array<O> empty_offset_ptr, array<I> empty_offset,
       array<I> col, array<V> val);
  csr5(unchecked_t, I rows_, I cols_, int omega_, int sigma_, array<O> row_ptr_,
       array<tile_pointer> tile_ptr_, array<std::uint32_t> tile_desc_, array<O> empty_offset_ptr_,
       array<I> empty_offset_, array<I> col_, array<V> val_)
      : rows(rows_), cols(cols_), omega(omega_), sigma(sigma_), row_ptr(std::move(row_ptr_)),
        tile_ptr(std::move(tile_ptr_)), tile_desc(std::move(tile_desc_)),
        empty_offset_ptr(std::move(empty_offset_ptr_)), empty_offset(std::move(empty_offset_)),
        col(std::move(col_)), val(std::move(val_)) {}

  static csr5 from_csr(csr_view<V, I, O> a, csr5_options o = {}, cpu const& where = {});
  /// Takes over the arrays of a and reorders them in place; a is left 0 x 0. If a is not canonical,
  /// a sorted copy is used.
  static csr5 from_csr(csr<V, I, O>&& a, csr5_options o = {}, cpu const& where = {});
  csr<V, I, O> to_csr(cpu const& where = {}) const& {
    return detail::checked(*this, where).to_csr(where);
  }
  /// Returns the arrays as csr, reordered in place; this matrix is left 0 x 0.
  csr<V, I, O> to_csr(cpu const& where = {}) &&;
  void refill(csr_view<V, I, O> a, cpu const& where = {});

  /// The value at (i, j); errc::bad_structure where nothing is stored. O(log row length).
  V at(I i, I j) const { return val[find(i, j)]; }
  /// Changes the value at (i, j); errc::bad_structure where nothing is stored.
  void set(I i, I j, V v) { val[find(i, j)] = v; }

  csr5_view<V, I, O> view() const& {
    return detail::numbered(csr5_view<V, I, O>{unchecked, rows, cols, static_cast<O>(col.size()),
                                               omega, sigma, row_ptr.data(), tile_ptr.data(),
                                               tile_desc.data(), empty_offset_ptr.data(),
                                               static_cast<O>(empty_offset.size()),
                                               empty_offset.data(), col.data(), val.data()},
                            serial);
  }
  void view() const&& = delete; // it would dangle
  void validate() const {
    csr5_view<V, I, O>(rows, cols, omega, sigma, row_ptr, tile_ptr, tile_desc, empty_offset_ptr,
                       empty_offset, col, val);
  }
  std::size_t bytes() const { return detail::bytes_of(view()); }
  /// f(arrays...), all of them in the order of the view's.
  template <class M, class F>
  static void members(M& m, F&& f) {
    f(m.row_ptr, m.tile_ptr, m.tile_desc, m.empty_offset_ptr, m.empty_offset, m.col, m.val);
  }
  friend bool operator==(csr5 const&, csr5 const&) = default;

private:
  std::size_t find(I i, I j) const; // the position of (i, j) in col and val
};

} // namespace tulle

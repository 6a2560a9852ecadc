// SPDX-License-Identifier: Apache-2.0

/// DIA, diagonals: the values of each nearly full diagonal, without column indices. Rows are
/// grouped in blocks, and a block stores its part, a stretch, of each diagonal that crosses it.
/// Entries of sparser diagonals are strays, stored as short rows.
///
///     1 . 2 .      block = 2   diagonal    -3 -2 0 2
///     . 3 . .                  block_ptr   0         2             5
///     . . . 4                  val         1 3 2 0   0 5 0 6 0 0
///     5 6 7 .                  mask        3 1       2 2 0
///                  strays      stray_row   2 3       stray_ptr   0 1 2
///                              stray_col   3 2       stray_val   4 7
///
/// A matrix that equals its transpose may be stored `symmetric`: only the diagonals on and below
/// the main one; strays are all kept. If coefficients repeat, stretches may be `shared`: val has
/// each distinct stretch once, in the order of first use, and shared names the one of each stretch.
///
/// Good for   stencils, lattices, bands: a third fewer bytes than csr, and x is read in order. With
/// constant coefficients, shared reads hardly more than x and y.
/// Bad for    entries that do not lie on few diagonals: it becomes a slow csr with holes.
/// Space      V * stored + stored / 8 + O * (rows / block + 1) + I * diagonals, stored counting the
/// holes; V + I per stray and I + O per row that has any. Shared: V * block per distinct stretch,
/// and O + block / 8 per stretch.
/// From       Liu, thesis 2015, sec. 5.2.1. There a diagonal is one array; here `block` rows of all
/// diagonals lie together, so that a product is one stream, and a diagonal ends with the matrix.
///
/// Invariants (validate() checks all of them)
///   block is a power of two up to 1024; diagonal ascends, each that of a place in the matrix
///   block_ptr[0] == 0, and grows by the number of diagonals that meet the rows of each block
///   val has block slots for each of those, mask one bit per slot: whether it is stored
///   shared is empty, or has for each of those the number of its stretch of val, which is at most
///   one more than all before it; val has no others
///   a slot that is not stored holds 0; one outside the matrix is not stored
///   stray_row ascends; stray_ptr[0] == 0 and ascends; stray_col ascends within a row, each in the
///   matrix and on none of the diagonals
///   symmetric: rows == cols, no diagonal is above 0, nor a stray on one as far above as one of
///   them is below; each stray has a twin of the same bits; shared is empty
#pragma once
#include "tulle/format/csr.hpp"

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
  dia_view(unchecked_t, I rows_, I cols_, O nnz_, std::int32_t block_, std::span<I const> diagonal_,
           O const* block_ptr_, std::span<V const> val_, std::uint8_t const* mask_,
           std::span<I const> stray_row_, O const* stray_ptr_, std::span<I const> stray_col_,
           V const* stray_val_, bool symmetric_ = false, std::span<O const> shared_ = {})
      : rows(rows_), cols(cols_), nnz(nnz_), block(block_), symmetric(symmetric_),
        diagonals(static_cast<I>(diagonal_.size())), stray_rows(static_cast<I>(stray_row_.size())),
        strays(static_cast<O>(stray_col_.size())), stored(val_.size()),
        stretches(!shared_.empty() ? shared_.size()
                  : block_ > 0     ? stored / static_cast<std::size_t>(block_)
                                   : 0),
        diagonal(diagonal_.data()), block_ptr(block_ptr_), val(val_.data()), mask(mask_),
        shared(shared_.empty() ? nullptr : shared_.data()), stray_row(stray_row_.data()),
        stray_ptr(stray_ptr_), stray_col(stray_col_.data()), stray_val(stray_val_) {}

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
  /// diagonals next to three full ones on Zen 4, ms as diagonals and as strays: .1 stored 2.5, 3.4;
  /// .3 stored 2.2, 4.4; .5 stored 2.3, 6.2. Lower than .3 saves time, but takes more bytes than
  /// csr.
  double fill = .3;
  double limit = 8;       ///< times the bytes of csr that it may take
  bool symmetric = false; ///< store one of two mirrored entries; refused if not symmetric
  bool shared = false;    ///< store equal stretches once; not with symmetric

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

} // namespace tulle

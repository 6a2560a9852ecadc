// SPDX-License-Identifier: Apache-2.0

/// CMRS, compressed multi-row storage: strips of `height` rows, an entry's row within its strip in
/// the low bits of its column word, so that a strip's entries can be sorted by column. Here height
/// 2.
///
///     1 . 2 .      strip_ptr   0       3         7
///     . 3 . .      col         0 3 4   1 3 5 6      (column * 2 + row in strip)
///     . . . 4      val         1 3 2   5 6 7 4
///     5 6 7 .
///
/// Good for   rows of few entries and uneven lengths: no branch per row, whatever the lengths are.
/// Bad for    long rows: each entry adds to a sum in memory, where csr keeps it in a register.
/// Space      (V + I) * stored + O * (strips + 1);  stored == nnz unless padded.
/// From       Koza et al., SIAM J. Sci. Comput. 36(2), 2014, sec. 3, 4 and 6.7.
///
/// Invariants (validate() checks all of them)
///   height a power of two up to 64; column words of cols columns fit an I
///   strip_ptr[0] == 0, non-decreasing, last == stored
///   col[k] >> bits < cols, where height == 2^bits; the strip has row col[k] & (height - 1)
///   a strip ascends by column word where sorted, else by row, then column: no duplicates
///   padded: a strip is whole warps of `warp` slots; in a warp rows ascend, with at most `modulo`
///   entries each; padding follows, val 0 and the sign bit of col set; columns of a row ascend
#pragma once
#include "tulle/format/csr.hpp"

namespace tulle {

/// How strips are laid out.
struct cmrs_layout {
  int height = 1;              ///< rows of a strip
  bool sorted = false;         ///< a strip's entries by column, not by row
  int warp = 0;                ///< slots of a warp; 0 where strips are not padded
  int modulo = 0;              ///< most entries of one row in a warp, where padded
  constexpr int bits() const { // of a row in a strip
    int n = 0;
    while (1 << n < height)
      ++n;
    return n;
  }
  friend bool operator==(cmrs_layout const&, cmrs_layout const&) = default;
};

template <class V, class I = std::int32_t, class O = I, space S = space::host>
struct cmrs_view {
  using value = V;
  using index = I;
  using offset = O;

  I rows = 0;
  I cols = 0;
  O nnz = 0;    ///< entries, without padding
  O stored = 0; ///< with padding
  cmrs_layout layout;
  O const* strip_ptr = nullptr; ///< strips + 1; may be null when rows == 0
  I const* col = nullptr;       ///< stored: column * height + row in strip
  V const* val = nullptr;       ///< stored
  std::uint64_t serial = 0;     ///< of the owner's pattern; 0: borrowed arrays

  cmrs_view() = default;
  cmrs_view(unchecked_t, I rows_, I cols_, O nnz_, O stored_, cmrs_layout layout_,
            O const* strip_ptr_, I const* col_, V const* val_)
      : rows(rows_), cols(cols_), nnz(nnz_), stored(stored_), layout(layout_),
        strip_ptr(strip_ptr_), col(col_), val(val_) {}
  /// Borrows the caller's arrays after checking every invariant, once: O(rows + stored).
  cmrs_view(I rows, I cols, cmrs_layout layout, std::span<O const> strip_ptr,
            std::span<I const> col, std::span<V const> val) requires(S == space::host);

  /// Strips of `height` rows, the last one perhaps of fewer.
  std::size_t strips() const {
    return detail::pieces(static_cast<std::size_t>(rows), static_cast<std::size_t>(layout.height));
  }

  /// f(name, pointer, size) for each array.
  template <class F>
  void arrays(F&& f) const {
    f("strip_ptr", strip_ptr, strip_ptr || rows > 0 ? strips() + 1 : 0);
    f("col", col, static_cast<std::size_t>(stored));
    f("val", val, static_cast<std::size_t>(stored));
  }

  /// Throws errc::bad_structure naming the first broken invariant; errc::overflow where column
  /// words do not fit an I.
  void validate() const;
  csr<V, I, O> to_csr(cpu const& where = {}) const;
};

// ns per entry, one thread, strips of 8, 16, 32 and 64 rows: lattice .98, .89, .86, .92; fem .71,
// .69, .73, .71; circuit 2.5, 2.3, 2.0, 2.0; rmat 18 2.1, 2.1, 1.9, 1.6. Strips of 16 sorted and
// not: lattice .89, .89; fem .69, .82; circuit 2.27, 2.30; rmat 18 2.08, 2.18.
struct cmrs_options {
  int height = 32;     ///< rows of a strip: a power of two up to 64
  bool sorted = true;  ///< a strip's entries by column; padded strips have an order of their own
  bool padded = false; ///< strips of whole warps, with few entries of one row in each
  int warp = 8;        ///< slots of a warp: a power of two up to 64
  int modulo = 4;      ///< most entries of one row in a warp: a power of two up to warp
  double limit = 8;    ///< padded: bytes, in multiples of those of csr

  template <class F>
  void fields(F&& f) {
    f("height", height);
    f("sorted", sorted);
    f("padded", padded);
    f("warp", warp);
    f("modulo", modulo);
    f("limit", limit);
  }
  static constexpr char const* variants[] = {"height=1",
                                             "height=2:sorted=false",
                                             "height=64",
                                             "height=16:sorted=false",
                                             "height=16:padded=true:warp=32:modulo=8",
                                             "height=4:padded=true:warp=2:modulo=1"};
  static constexpr char const* drawn = "height=2";
};

template <class V, class I = std::int32_t, class O = I>
struct cmrs {
  using options = cmrs_options;

  I rows = 0;
  I cols = 0;
  O nnz = 0;
  cmrs_layout layout;
  array<O> strip_ptr;
  array<I> col;
  array<V> val;
  detail::serial_number serial; ///< of the pattern

  cmrs() = default;
  /// Takes arrays over after checking every invariant.
  cmrs(I rows, I cols, cmrs_layout layout, array<O> strip_ptr, array<I> col, array<V> val);
  cmrs(unchecked_t, I rows_, I cols_, O nnz_, cmrs_layout layout_, array<O> strip_ptr_,
       array<I> col_, array<V> val_)
      : rows(rows_), cols(cols_), nnz(nnz_), layout(layout_), strip_ptr(std::move(strip_ptr_)),
        col(std::move(col_)), val(std::move(val_)) {}

  static cmrs from_csr(csr_view<V, I, O> a, cmrs_options = {}, cpu const& where = {});
  /// Converts in the arrays of a, which is left 0 x 0. More memory is needed for strip_ptr and, per
  /// sorting thread, for two strips. A padded layout needs its own arrays.
  static cmrs from_csr(csr<V, I, O>&& a, cmrs_options = {}, cpu const& where = {});
  csr<V, I, O> to_csr(cpu const& where = {}) const {
    return detail::checked(*this, where).to_csr(where);
  }
  /// New values on the same pattern; errc::bad_structure if the pattern differs.
  void refill(csr_view<V, I, O> a, cpu const& where = {});
  cmrs_view<V, I, O> view() const& {
    return detail::numbered(cmrs_view<V, I, O>{unchecked, rows, cols, nnz,
                                               static_cast<O>(col.size()), layout, strip_ptr.data(),
                                               col.data(), val.data()},
                            serial);
  }
  void view() const&& = delete; // it would dangle
  void validate() const;
  std::size_t bytes() const { return detail::bytes_of(view()); }
  /// f(arrays...), all of them in the order of the view's.
  template <class M, class F>
  static void members(M& m, F&& f) {
    f(m.strip_ptr, m.col, m.val);
  }
  friend bool operator==(cmrs const&, cmrs const&) = default;
};

} // namespace tulle

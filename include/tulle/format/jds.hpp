// SPDX-License-Identifier: Apache-2.0

/// JDS, jagged diagonals: rows sorted by length, the longest first; the first entries of all rows,
/// then the second entries of the rows that have one, and so on, without padding.
///
///     1 . 2 .      perm       3 0 1 2
///     . 3 . .      diag_ptr   0         4     6   7
///     . . . 4      col        0 0 1 3   1 2   2
///     5 6 7 .      val        5 1 3 4   6 2   7
///
/// Rows much longer than most are kept apart: they come first in perm, and
/// their entries are coo_row, coo_col, coo_val.
///
/// Good for   rows of very different lengths, one lane per row; vectors as long as the number of
/// rows.
/// Bad for    neighbouring rows with similar columns: sorting separates them, and x is read in no
/// order.
/// Space      (V + I) * nnz + I * rows + O * (longest row + 1), I more for an entry in coo.
/// From       Kirk & Hwu, Programming Massively Parallel Processors, sec. 10.5; Saad, SIAM J. Sci.
/// Stat. Comput. 10(6), 1989.
///
/// Invariants (validate() checks all of them)
///   perm names each row once; the first `longs` of them, ascending, are those in coo
///   diag_ptr[0] == 0, last == col.size() == val.size(); no diagonal is empty or longer than the
///   one before it, and the first is at most rows - longs
///   entry r of diagonal k belongs to row perm[longs + r]; columns ascend within a row
///   coo_row and coo_col ascend together; 0 <= column < cols everywhere
#pragma once
#include "tulle/format/detail/jds_base.hpp"

namespace tulle {

template <class V, class I = std::int32_t, class O = I, space S = space::host>
struct jds_view : detail::jds_base_view<V, I, O> {
  using base = detail::jds_base_view<V, I, O>;

  I width = 0;                 ///< diagonals: the entries of the longest row
  O const* diag_ptr = nullptr; ///< width + 1; may be null when rows == 0
  std::uint64_t serial = 0;    ///< of the owner's pattern; 0: borrowed arrays

  jds_view() = default;
  jds_view(unchecked_t, I rows_, I cols_, O nnz_, I longs_, jds_arrays<V, I, O> const& a)
      : base(rows_, cols_, nnz_, longs_, a), width(detail::lines_of<I>(a.diag_ptr)),
        diag_ptr(detail::pointers_in(a.diag_ptr)) {}
  /// Borrows the caller's arrays after checking every invariant, once: O(rows + nnz).
  jds_view(I rows, I cols, I longs, jds_arrays<V, I, O> const& a) requires(S == space::host);

  /// f(name, pointer, size) for each array.
  template <class F>
  void arrays(F&& f) const {
    this->base_arrays(f, [&] {
      f("diag_ptr", diag_ptr, diag_ptr || sections() > 0 ? static_cast<std::size_t>(width) + 1 : 0);
    });
  }

  /// One section of all rows that are not kept apart.
  std::size_t sections() const { return this->rows > this->longs; }
  std::size_t section_of(std::size_t) const { return 0; }
  detail::jagged_section<O> section(std::size_t) const {
    return {static_cast<std::size_t>(this->longs),
            static_cast<std::size_t>(this->rows - this->longs), static_cast<std::size_t>(width),
            diag_ptr};
  }

  void validate() const;
  csr<V, I, O> to_csr(cpu const& where = {}) const;
};

// ms of a product, double, avx2 on Zen 4, one thread, the machine not quiet, split of 0, 8, 32,
// 256: rmat 17 16 1.8, 2.6, 2.5, 1.9; circuit 200000 1.3, 1.2, 1.2, 1.2.
struct jds_options {
  int split = 256; ///< rows of more than 64 entries and this times the average are coo; 0: none

  template <class F>
  void fields(F&& f) {
    f("split", split);
  }
  static constexpr char const* on_device = "split=8"; // one thread per row: no row may be long
  static constexpr char const* variants[] = {"split=0", "split=1", "split=3"};
};

template <class V, class I = std::int32_t, class O = I>
struct jds : detail::jds_base<V, I, O> {
  using base = detail::jds_base<V, I, O>;
  using options = jds_options;

  array<O> diag_ptr;
  detail::serial_number serial; ///< of the pattern

  jds() = default;
  static jds from_csr(csr_view<V, I, O> a, jds_options = {}, cpu const& where = {});
  csr<V, I, O> to_csr(cpu const& where = {}) const {
    return detail::checked(*this, where).to_csr(where);
  }
  /// New values on the same pattern; errc::bad_structure if the pattern differs.
  void refill(csr_view<V, I, O> a, cpu const& where = {});
  jds_view<V, I, O> view() const& {
    return detail::numbered(
        jds_view<V, I, O>{unchecked, this->rows, this->cols, this->nnz, this->longs, arrays()},
        serial);
  }
  void view() const&& = delete; // it would dangle
  void validate() const;
  std::size_t bytes() const { return detail::bytes_of(view()); }
  /// f(arrays...), all of them in the order of the view's.
  template <class M, class F>
  static void members(M& m, F&& f) {
    f(m.perm, m.diag_ptr, m.col, m.val, m.coo_row, m.coo_col, m.coo_val);
  }
  friend bool operator==(jds const&, jds const&) = default;

private:
  jds(detail::rows_by_length<V, I, O>& order, std::size_t stored, cpu const& where)
      : base(order, stored, where) {}
  jds_arrays<V, I, O> arrays() const {
    jds_arrays<V, I, O> a = this->base_arrays();
    a.diag_ptr = diag_ptr;
    return a;
  }
};

} // namespace tulle

// SPDX-License-Identifier: Apache-2.0

/// JDS-CSR, jagged diagonals in sections: rows sorted by length, the longest first, cut into
/// sections; in each section the first entries of its rows, then the second entries of the rows
/// that have one, and so on, without padding.
///
///     1 . 2 .      section = 2     perm          3 0                1 2
///     . 3 . .                      place_ptr     0                  2    4
///     . . . 4                      section_ptr   0                  3    4
///     5 6 7 .                      diag_ptr      0     2     4      5    7
///                                  col           0 0   1 2   2      1 3
///                                  val           5 1   6 2   7      3 4
///
/// A section has `section` rows, or all rows of one length if those are more. Rows much longer than
/// most are kept apart: they come first in perm, and their entries are coo_row, coo_col, coo_val.
///
/// Good for   rows of very different lengths, one lane per row; the entries of a section are close
/// together.
/// Bad for    neighbouring rows with similar columns: sorting separates them, and x is read in no
/// order.
/// Space      (V + I) * nnz + I * rows + O * (nnz / section + longest row) at most, I more for an
/// entry in coo.
/// From       Kirk & Hwu, Programming Massively Parallel Processors, sec. 10.5.
///
/// Invariants (validate() checks all of them)
///   perm names each row once; the first `longs` of them, ascending, are those in coo
///   place_ptr ascends from longs to rows: section s has the rows perm[place_ptr[s]] and on
///   section_ptr and diag_ptr begin with 0 and do not decrease: section s has the diagonals from
///   section_ptr[s] on, and diagonal d the entries from diag_ptr[d] on
///   in a section no diagonal is empty or longer than the one before it
///   entry r of a diagonal belongs to row r of its section; columns ascend within a row
///   coo_row and coo_col ascend together; 0 <= column < cols everywhere
#pragma once
#include "tulle/format/detail/jds_base.hpp"

namespace tulle {

template <class V, class I = std::int32_t, class O = I, space S = space::host>
struct jds_csr_view : detail::jds_base_view<V, I, O> {
  using base = detail::jds_base_view<V, I, O>;

  I parts = 0;                    ///< sections
  O diags = 0;                    ///< diagonals of all sections
  I const* place_ptr = nullptr;   ///< parts + 1; may be null when rows == 0
  O const* section_ptr = nullptr; ///< parts + 1; may be null when rows == 0
  O const* diag_ptr = nullptr;    ///< diags + 1; may be null when rows == 0
  std::uint64_t serial = 0;       ///< of the owner's pattern; 0: borrowed arrays

  jds_csr_view() = default;
  jds_csr_view(unchecked_t, I rows_, I cols_, O nnz_, I longs_, jds_arrays<V, I, O> const& a)
      : base(rows_, cols_, nnz_, longs_, a), parts(detail::lines_of<I>(a.place_ptr)),
        diags(detail::lines_of<O>(a.diag_ptr)), place_ptr(detail::pointers_in(a.place_ptr)),
        section_ptr(detail::pointers_in(a.section_ptr)), diag_ptr(detail::pointers_in(a.diag_ptr)) {
  }
  /// Borrows the caller's arrays after checking every invariant, once: O(rows + nnz).
  jds_csr_view(I rows, I cols, I longs, jds_arrays<V, I, O> const& a) requires(S == space::host);

  /// f(name, pointer, size) for each array.
  template <class F>
  void arrays(F&& f) const {
    this->base_arrays(f, [&] {
      std::size_t const n = place_ptr || parts > 0 ? sections() + 1 : 0;
      f("place_ptr", place_ptr, n);
      f("section_ptr", section_ptr, n);
      f("diag_ptr", diag_ptr, diag_ptr || parts > 0 ? static_cast<std::size_t>(diags) + 1 : 0);
    });
  }

  std::size_t sections() const { return static_cast<std::size_t>(parts); }
  /// The section that has a place.
  std::size_t section_of(std::size_t place) const;
  detail::jagged_section<O> section(std::size_t s) const {
    return {static_cast<std::size_t>(place_ptr[s]),
            static_cast<std::size_t>(place_ptr[s + 1] - place_ptr[s]),
            static_cast<std::size_t>(section_ptr[s + 1] - section_ptr[s]),
            diag_ptr + section_ptr[s]};
  }

  void validate() const;
  csr<V, I, O> to_csr(cpu const& where = {}) const;
};

// ms of a product, double, avx2 on Zen 4, one thread, the machine not quiet, sections of 16, 64,
// 256, 2048 without split: rmat 17 16 2.6, 2.1, 2.2, 2.2; fem 60000, circuit 200000, poisson2d5
// 1000 and lattice 500000 alike.
struct jds_csr_options {
  int section = 64; ///< rows of a section, more where they are of one length
  int split = 256;  ///< rows of more than 64 entries and this times the average are coo; 0: none

  template <class F>
  void fields(F&& f) {
    f("section", section);
    f("split", split);
  }
  static constexpr char const* drawn = "section=2";
  static constexpr char const* on_device = "split=8"; // one thread per row: no row may be long
  static constexpr char const* variants[] = {"section=1:split=0", "section=7:split=1",
                                             "section=4096"};
};

template <class V, class I = std::int32_t, class O = I>
struct jds_csr : detail::jds_base<V, I, O> {
  using base = detail::jds_base<V, I, O>;
  using options = jds_csr_options;

  array<I> place_ptr;
  array<O> section_ptr, diag_ptr;
  detail::serial_number serial; ///< of the pattern

  jds_csr() = default;
  static jds_csr from_csr(csr_view<V, I, O> a, jds_csr_options = {}, cpu const& where = {});
  csr<V, I, O> to_csr(cpu const& where = {}) const {
    return detail::checked(*this, where).to_csr(where);
  }
  /// New values on the same pattern; errc::bad_structure if the pattern differs.
  void refill(csr_view<V, I, O> a, cpu const& where = {});
  jds_csr_view<V, I, O> view() const& {
    return detail::numbered(
        jds_csr_view<V, I, O>{unchecked, this->rows, this->cols, this->nnz, this->longs, arrays()},
        serial);
  }
  void view() const&& = delete; // it would dangle
  void validate() const;
  std::size_t bytes() const { return detail::bytes_of(view()); }
  /// f(arrays...), all of them in the order of the view's.
  template <class M, class F>
  static void members(M& m, F&& f) {
    f(m.perm, m.place_ptr, m.section_ptr, m.diag_ptr, m.col, m.val, m.coo_row, m.coo_col,
      m.coo_val);
  }
  friend bool operator==(jds_csr const&, jds_csr const&) = default;

private:
  jds_csr(detail::rows_by_length<V, I, O>& order, std::size_t stored, cpu const& where)
      : base(order, stored, where) {}
  jds_arrays<V, I, O> arrays() const {
    jds_arrays<V, I, O> a = this->base_arrays();
    a.place_ptr = place_ptr;
    a.section_ptr = section_ptr;
    a.diag_ptr = diag_ptr;
    return a;
  }
};

} // namespace tulle

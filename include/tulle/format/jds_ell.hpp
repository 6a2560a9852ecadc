// SPDX-License-Identifier: Apache-2.0

/// JDS-ELL, ell in sections: rows sorted by length, the longest first, cut into sections; in each
/// section the first entries of its rows, then the second ones, and so on, padded to its longest
/// row.
///
///     1 . 2 .      section = 2     perm          3 0               1 2
///     . 3 . .                      len           3 2               1 1
///     . . . 4                      place_ptr     0                 2     4
///     5 6 7 .                      section_ptr   0                 6     8
///                                  col           0 0   1 2   2 2   1 3
///                                  val           5 1   6 2   7 0   3 4
///
/// A section has `section` rows, or all rows of one length if those are more, which need no
/// padding. Padding has the value 0 and the last column of its row, as in ell. Rows much longer
/// than most are kept apart: they come first in perm, and their entries are coo_row, coo_col,
/// coo_val.
///
/// Good for   rows of a few lengths: like ell, with almost no padding.
/// Bad for    neighbouring rows with similar columns: sorting separates them, and x is read in no
/// order.
/// Space      (V + I) * stored + 2 I * rows, stored at most nnz + section * longest row; I more for
/// an entry in coo.
/// From       Kirk & Hwu, Programming Massively Parallel Processors, sec. 10.5.
///
/// Invariants (validate() checks all of them)
///   perm names each row once; the first `longs` of them, ascending, are those in coo
///   len[p] is the entries of row perm[p]; together nnz
///   place_ptr ascends from longs to rows: section s has the rows perm[place_ptr[s]] and on
///   section_ptr[0] == 0, non-decreasing, last == col.size() == val.size(); a section's slots are
///   a multiple of its rows
///   slot k of row r of a section of n rows is col[section_ptr[s] + k * n + r], and val
///   columns ascend within a row; padding has val 0
///   coo_row and coo_col ascend together; 0 <= column < cols everywhere
#pragma once
#include "tulle/format/detail/jds_base.hpp"

namespace tulle {

template <class V, class I = std::int32_t, class O = I, space S = space::host>
struct jds_ell_view : detail::jds_base_view<V, I, O> {
  using base = detail::jds_base_view<V, I, O>;

  I parts = 0;                    ///< sections
  I const* len = nullptr;         ///< rows: at each place
  I const* place_ptr = nullptr;   ///< parts + 1; may be null when rows == 0
  O const* section_ptr = nullptr; ///< parts + 1; may be null when rows == 0
  std::uint64_t serial = 0;       ///< of the owner's pattern; 0: borrowed arrays

  jds_ell_view() = default;
  jds_ell_view(unchecked_t, I rows_, I cols_, O nnz_, I longs_, jds_arrays<V, I, O> const& a)
      : base(rows_, cols_, nnz_, longs_, a), parts(detail::lines_of<I>(a.place_ptr)),
        len(a.len.data()), place_ptr(detail::pointers_in(a.place_ptr)),
        section_ptr(detail::pointers_in(a.section_ptr)) {}
  /// Borrows the caller's arrays after checking every invariant, once: O(rows + stored).
  jds_ell_view(I rows, I cols, I longs, jds_arrays<V, I, O> const& a) requires(S == space::host);

  /// f(name, pointer, size) for each array.
  template <class F>
  void arrays(F&& f) const {
    this->base_arrays(f, [&] {
      std::size_t const n = place_ptr || parts > 0 ? sections() + 1 : 0;
      f("len", len, static_cast<std::size_t>(this->rows));
      f("place_ptr", place_ptr, n);
      f("section_ptr", section_ptr, n);
    });
  }

  std::size_t sections() const { return static_cast<std::size_t>(parts); }
  /// The section that has a place.
  std::size_t section_of(std::size_t place) const;
  detail::padded_section<I> section(std::size_t s) const {
    auto const first = static_cast<std::size_t>(place_ptr[s]);
    std::size_t const n = static_cast<std::size_t>(place_ptr[s + 1]) - first;
    return {first, n, static_cast<std::size_t>(section_ptr[s + 1] - section_ptr[s]) / n,
            static_cast<std::size_t>(section_ptr[s]), len + first};
  }

  void validate() const;
  csr<V, I, O> to_csr(cpu const& where = {}) const;
};

// ms of a product, double, avx2 on Zen 4, one thread, the machine not quiet, split of 0, 8, 32, 256
// with sections of 64: rmat 17 16 3.4, 2.9, 2.9, 2.2; circuit 200000 35, 1.2, 1.2, 1.3. Sections of
// 16, 32, 64 with split 256: rmat 2.5, 2.4, 2.2; circuit 1.3 each.
struct jds_ell_options {
  int section = 64; ///< rows of a section, more where they are of one length
  int split = 256;  ///< rows of more than 64 entries and this times the average are coo; 0: none
  double limit = 8; ///< times the bytes of csr, above which a matrix is refused

  template <class F>
  void fields(F&& f) {
    f("section", section);
    f("split", split);
    f("limit", limit);
  }
  static constexpr char const* drawn = "section=2";
  static constexpr char const* on_device = "split=8"; // one thread per row: no row may be long
  static constexpr char const* variants[] = {"section=1:split=0", "section=7:split=1",
                                             "section=4096"};
};

template <class V, class I = std::int32_t, class O = I>
struct jds_ell : detail::jds_base<V, I, O> {
  using base = detail::jds_base<V, I, O>;
  using options = jds_ell_options;

  array<I> len, place_ptr;
  array<O> section_ptr;
  detail::serial_number serial; ///< of the pattern

  jds_ell() = default;
  static jds_ell from_csr(csr_view<V, I, O> a, jds_ell_options = {}, cpu const& where = {});
  csr<V, I, O> to_csr(cpu const& where = {}) const {
    return detail::checked(*this, where).to_csr(where);
  }
  /// New values on the same pattern; errc::bad_structure if the pattern differs.
  void refill(csr_view<V, I, O> a, cpu const& where = {});
  jds_ell_view<V, I, O> view() const& {
    return detail::numbered(
        jds_ell_view<V, I, O>{unchecked, this->rows, this->cols, this->nnz, this->longs, arrays()},
        serial);
  }
  void view() const&& = delete; // it would dangle
  void validate() const;
  std::size_t bytes() const { return detail::bytes_of(view()); }
  /// f(arrays...), all of them in the order of the view's.
  template <class M, class F>
  static void members(M& m, F&& f) {
    f(m.perm, m.len, m.place_ptr, m.section_ptr, m.col, m.val, m.coo_row, m.coo_col, m.coo_val);
  }
  friend bool operator==(jds_ell const&, jds_ell const&) = default;

private:
  jds_ell(detail::rows_by_length<V, I, O>& order, std::size_t stored, cpu const& where)
      : base(order, stored, where) {}
  jds_arrays<V, I, O> arrays() const {
    jds_arrays<V, I, O> a = this->base_arrays();
    a.len = len;
    a.place_ptr = place_ptr;
    a.section_ptr = section_ptr;
    return a;
  }
};

} // namespace tulle

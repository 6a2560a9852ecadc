// SPDX-License-Identifier: Apache-2.0

/// What jds, jds_csr and jds_ell share: rows sorted by length, the longest first, in sections that
/// are stored entry by entry. Rows much longer than most may be kept apart, as coo.
#pragma once
#include "tulle/format/csr.hpp"

namespace tulle {

/// The arrays of the family, as a caller has them: jds has no sections, jds_ell no diagonals, and
/// jds_ell alone has len.
template <class V, class I, class O>
struct jds_arrays {
  std::span<I const> perm, len, place_ptr;
  std::span<O const> section_ptr, diag_ptr;
  std::span<I const> col;
  std::span<V const> val;
  std::span<I const> coo_row, coo_col;
  std::span<V const> coo_val;
};

namespace detail {

/// An array of pointers to lines, or null: where it is empty there is nothing to read.
template <class T>
T const* pointers_in(std::span<T const> ptr) {
  return ptr.empty() ? nullptr : ptr.data();
}
/// The lines that an array of pointers to them has.
template <class I, class T>
I lines_of(std::span<T const> ptr) {
  return ptr.empty() ? I(0) : narrow<I>(ptr.size() - 1, "number of lines");
}

/// A section without padding: diagonal k holds entry k of the rows that have one, which come first.
template <class O>
struct jagged_section {
  std::size_t first, rows; ///< places
  std::size_t width;       ///< diagonals: the entries of its first row
  O const* diag;           ///< width + 1: where each begins

  std::size_t start(std::size_t k) const { return static_cast<std::size_t>(diag[k]); }
  /// Rows at step k.
  std::size_t count(std::size_t k) const { return static_cast<std::size_t>(diag[k + 1] - diag[k]); }
  bool has(std::size_t, std::size_t) const { return true; } // what is stored is an entry
  /// Entries of row r of the section. Inlined: kernels may not leave it to the linker.
  [[gnu::always_inline]] std::size_t length(std::size_t r) const {
    std::size_t lo = 0;
    for (std::size_t hi = width; lo < hi;) {
      std::size_t const mid = (lo + hi) / 2;
      if (count(mid) > r)
        lo = mid + 1;
      else
        hi = mid;
    }
    return lo;
  }
};

/// A section whose rows are padded to its longest.
template <class I>
struct padded_section {
  std::size_t first, rows;
  std::size_t width;
  std::size_t at; ///< where its slots begin
  I const* len;   ///< of its rows

  std::size_t start(std::size_t k) const { return at + k * rows; }
  std::size_t count(std::size_t) const { return rows; }
  bool has(std::size_t r, std::size_t k) const { return k < length(r); }
  std::size_t length(std::size_t r) const { return static_cast<std::size_t>(len[r]); }
};

/// The members that all views of the family have.
template <class V, class I, class O>
struct jds_base_view {
  using value = V;
  using index = I;
  using offset = O;

  I rows = 0;
  I cols = 0;
  O nnz = 0;                  ///< without padding, with those in coo
  I longs = 0;                ///< rows that are kept apart
  O stored = 0;               ///< in sections, with padding
  O rest = 0;                 ///< in coo
  I const* perm = nullptr;    ///< rows: the row at each place; first those that are kept apart
  I const* col = nullptr;     ///< stored
  V const* val = nullptr;     ///< stored
  I const* coo_row = nullptr; ///< rest
  I const* coo_col = nullptr; ///< rest
  V const* coo_val = nullptr; ///< rest

protected:
  jds_base_view() = default;
  jds_base_view(I rows_, I cols_, O nnz_, I longs_, jds_arrays<V, I, O> const& a)
      : rows(rows_), cols(cols_), nnz(nnz_), longs(longs_), stored(static_cast<O>(a.val.size())),
        rest(static_cast<O>(a.coo_val.size())), perm(a.perm.data()), col(a.col.data()),
        val(a.val.data()), coo_row(a.coo_row.data()), coo_col(a.coo_col.data()),
        coo_val(a.coo_val.data()) {}

  /// f(name, pointer, size) for each, the format's own by `others` in between.
  template <class F, class G>
  void base_arrays(F&& f, G&& others) const {
    f("perm", perm, static_cast<std::size_t>(rows));
    others();
    f("col", col, static_cast<std::size_t>(stored));
    f("val", val, static_cast<std::size_t>(stored));
    f("coo_row", coo_row, static_cast<std::size_t>(rest));
    f("coo_col", coo_col, static_cast<std::size_t>(rest));
    f("coo_val", coo_val, static_cast<std::size_t>(rest));
  }
};

template <class V, class I, class O>
struct rows_by_length;

/// The members that all owners of the family have.
template <class V, class I, class O>
struct jds_base {
  I rows = 0;
  I cols = 0;
  O nnz = 0;
  I longs = 0;
  array<I> perm, col;
  array<V> val;
  array<I> coo_row, coo_col;
  array<V> coo_val;

  friend bool operator==(jds_base const&, jds_base const&) = default;

protected:
  jds_base() = default;
  /// With room for `stored` slots and for what is kept apart, perm taken over.
  jds_base(rows_by_length<V, I, O>& order, std::size_t stored, cpu const& where);

  jds_arrays<V, I, O> base_arrays() const {
    return {perm, {}, {}, {}, {}, col, val, coo_row, coo_col, coo_val};
  }
};

} // namespace detail
} // namespace tulle

// SPDX-License-Identifier: Apache-2.0

/// SCSR, symmetric CSR: of a matrix that equals its transpose the entries on and below the
/// diagonal, row by row; each of the others stands for two.
///
///     1 . 2 .      row_ptr   0   1   2     4     6
///     . 3 . 6      col       0   1   0 2   1 3
///     2 . 4 .      val       1   3   2 4   6 5
///     . 6 . 5
///
/// Good for   symmetric matrices whose entries lie near the diagonal: half the bytes of csr.
/// Bad for    those whose entries lie anywhere: every thread adds to y all over.
/// Space      (V + I) * stored + O * (rows + 1), stored about half of nnz.
/// From       Lee, Vuduc, Demmel & Yelick, ICPP 2004: one triangle, two updates an entry. Unlike
/// theirs, the order of additions does not depend on the number of threads.
///
/// Invariants (validate() checks all of them)
///   rows == cols; row_ptr[0] == 0, non-decreasing, last == stored
///   0 <= col[k] <= row of k, ascending within a row
#pragma once
#include "tulle/format/csr.hpp"
#include "tulle/format/detail/symmetric.hpp"

namespace tulle {

template <class V, class I = std::int32_t, class O = I, space S = space::host>
struct scsr_view {
  using value = V;
  using index = I;
  using offset = O;

  I rows = 0;
  I cols = 0;
  O nnz = 0;                  ///< of the whole matrix
  O stored = 0;               ///< of the lower triangle
  O const* row_ptr = nullptr; ///< rows + 1; may be null when rows == 0
  I const* col = nullptr;     ///< stored
  V const* val = nullptr;     ///< stored
  std::uint64_t serial = 0;   ///< of the owner's pattern; 0: borrowed arrays

  scsr_view() = default;
  scsr_view(unchecked_t, I n, O nnz, O stored, O const* row_ptr, I const* col, V const* val)
      : rows(n), cols(n), nnz(nnz), stored(stored), row_ptr(row_ptr), col(col), val(val) {}
  /// Borrows the caller's arrays, of n rows and columns, after checking every invariant, once:
  /// O(n + stored).
  scsr_view(I n, std::span<O const> row_ptr, std::span<I const> col,
            std::span<V const> val) requires(S == space::host);

  /// f(name, pointer, size) for each array.
  template <class F>
  void arrays(F&& f) const {
    f("row_ptr", row_ptr, row_ptr || rows > 0 ? static_cast<std::size_t>(rows) + 1 : 0);
    f("col", col, static_cast<std::size_t>(stored));
    f("val", val, static_cast<std::size_t>(stored));
  }

  void validate() const;
  csr<V, I, O> to_csr(cpu const& where = {}) const { return detail::mirrored(lower(), where); }
  /// What is stored, as a matrix of its own.
  csr_view<V, I, O, S> lower() const { return {unchecked, rows, cols, stored, row_ptr, col, val}; }
};

struct scsr_options {
  static constexpr bool needs_symmetric = true; ///< from_csr refuses what is not
};

template <class V, class I = std::int32_t, class O = I>
struct scsr {
  using options = scsr_options;

  I rows = 0;
  I cols = 0;
  O nnz = 0;
  array<O> row_ptr;
  array<I> col;
  array<V> val;
  detail::serial_number serial; ///< of the pattern

  scsr() = default;
  /// Takes arrays of n rows and columns over after checking every invariant.
  scsr(I n, array<O> row_ptr, array<I> col, array<V> val)
      : rows(n), cols(n), row_ptr(std::move(row_ptr)), col(std::move(col)), val(std::move(val)) {
    nnz = checked().nnz;
  }

  static scsr from_csr(csr_view<V, I, O> a, scsr_options = {}, cpu const& where = {});
  csr<V, I, O> to_csr(cpu const& where = {}) const {
    return detail::checked(*this, where).to_csr(where);
  }
  /// New values on the same pattern, symmetric as well.
  void refill(csr_view<V, I, O> a, cpu const& where = {});
  scsr_view<V, I, O> view() const& {
    return detail::numbered(scsr_view<V, I, O>{unchecked, rows, nnz, static_cast<O>(col.size()),
                                               row_ptr.data(), col.data(), val.data()},
                            serial);
  }
  void view() const&& = delete; // it would dangle
  void validate() const;
  std::size_t bytes() const { return detail::bytes_of(view()); }
  /// f(arrays...), all of them in the order of the view's.
  template <class M, class F>
  static void members(M& m, F&& f) {
    f(m.row_ptr, m.col, m.val);
  }
  friend bool operator==(scsr const&, scsr const&) = default;

private:
  scsr_view<V, I, O> checked() const { return {rows, row_ptr, col, val}; }
};

namespace detail {

/// Entries of the whole matrix, from canonical rows of its lower triangle.
template <class I, class O>
std::size_t mirrored_size(O const* row_ptr, I const* col, std::size_t n) {
  std::size_t on = 0; // the diagonal
  for (std::size_t i = 0; i < n; ++i)
    on += row_ptr[i] != row_ptr[i + 1] && col[row_ptr[i + 1] - 1] == static_cast<I>(i);
  return n == 0 ? 0 : 2 * static_cast<std::size_t>(row_ptr[n]) - on;
}

} // namespace detail

template <class V, class I, class O, space S>
scsr_view<V, I, O, S>::scsr_view(I n, std::span<O const> row_ptr, std::span<I const> col,
                                 std::span<V const> val) requires(S == space::host)
    : rows(n), cols(n), row_ptr(row_ptr.data()), col(col.data()), val(val.data()) {
  detail::check_shape("scsr", rows, cols);
  stored = detail::check_sizes<O>("scsr", row_ptr.size(), rows, col.size(), val.size());
  nnz = stored; // until the pointers are known to be good
  detail::check_pointers("scsr: row_ptr", this->row_ptr, static_cast<std::size_t>(n), stored);
  nnz = narrow<O>(detail::mirrored_size(this->row_ptr, this->col, static_cast<std::size_t>(n)),
                  "number of entries");
  validate();
}

template <class V, class I, class O, space S>
void scsr_view<V, I, O, S>::validate() const {
  detail::check_shape("scsr", rows, cols);
  if (rows != cols)
    fail(errc::bad_structure, "scsr: %lld rows and %lld columns, expected as many",
         static_cast<long long>(rows), static_cast<long long>(cols));
  auto const n = static_cast<std::size_t>(rows);
  detail::check_pointers("scsr: row_ptr", row_ptr, n, stored);
  detail::check_indices("scsr: col", col, static_cast<std::size_t>(stored), cols);
  detail::check_present("scsr: val", val, static_cast<std::size_t>(stored));
  for (std::size_t i = 0; i < n; ++i)
    for (O k = row_ptr[i]; k < row_ptr[i + 1]; ++k) {
      if (k > row_ptr[i] && col[k] <= col[k - 1])
        fail(errc::bad_structure, "scsr: col does not ascend from %lld to %lld at %lld",
             static_cast<long long>(col[k - 1]), static_cast<long long>(col[k]),
             static_cast<long long>(k));
      if (col[k] > static_cast<I>(i))
        fail(errc::bad_structure, "scsr: col[%lld] is %lld, above the diagonal of row %zu",
             static_cast<long long>(k), static_cast<long long>(col[k]), i);
    }
  if (std::size_t const found = detail::mirrored_size(row_ptr, col, n);
      nnz < 0 || found != static_cast<std::size_t>(nnz))
    fail(errc::bad_structure, "scsr: %zu entries are stored, but nnz is %lld", found,
         static_cast<long long>(nnz));
}

template <class V, class I, class O>
void scsr<V, I, O>::validate() const {
  if (rows != cols)
    fail(errc::bad_structure, "scsr: %lld rows and %lld columns, expected as many",
         static_cast<long long>(rows), static_cast<long long>(cols));
  if (O const found = checked().nnz; found != nnz)
    fail(errc::bad_structure, "scsr: %lld entries are stored, but nnz is %lld",
         static_cast<long long>(found), static_cast<long long>(nnz));
}

template <class V, class I, class O>
scsr<V, I, O> scsr<V, I, O>::from_csr(csr_view<V, I, O> a, scsr_options, cpu const& where) {
  detail::canonical<V, I, O> const c(a, where);
  detail::check_symmetric("scsr", c.view, where);
  csr<V, I, O> l = detail::lower_triangle(c.view, where);
  scsr m;
  m.rows = m.cols = a.rows;
  m.nnz = c.view.nnz;
  m.row_ptr = std::move(l.row_ptr);
  m.col = std::move(l.col);
  m.val = std::move(l.val);
  return m;
}

template <class V, class I, class O>
void scsr<V, I, O>::refill(csr_view<V, I, O> a, cpu const& where) {
  detail::check_arrays("scsr", *this);
  detail::refill_if(
      "scsr", rows, cols, nnz, a, where,
      [&](csr_view<V, I, O> const& c) {
        return detail::mirrors(c, row_ptr.data(), col.data(), where);
      },
      [&](csr_view<V, I, O> const& c) {
        auto const n = static_cast<std::size_t>(rows);
        int const parts = detail::parts_for(static_cast<std::size_t>(nnz), where.threads);
        if (nnz != 0)
          detail::parallel(parts, [&](int part) {
            std::size_t const end = detail::split_by_entries(row_ptr.data(), n, part + 1, parts);
            for (std::size_t i = detail::split_by_entries(row_ptr.data(), n, part, parts); i < end;
                 ++i)
              std::copy_n(c.val + c.row_ptr[i], row_ptr[i + 1] - row_ptr[i],
                          val.data() + row_ptr[i]);
          });
      },
      [&](csr_view<V, I, O> const& c) {
        if (c.rows == rows && c.cols == cols && c.nnz == nnz)
          detail::check_symmetric("scsr", c, where, true);
      });
}

} // namespace tulle

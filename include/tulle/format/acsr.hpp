// SPDX-License-Identifier: Apache-2.0

/// ACSR, adaptive CSR: csr, and lists of its rows in bins by length: rows of up to 2 entries, of up
/// to 4, of up to 8, and so on.
///
///     1 . 2 .      row_ptr   0     2   3   4       7
///     . 3 . .      col       0 2   1   3   0 1 2
///     . . . 4      val       1 2   3   4   5 6 7
///     5 6 7 .      bin_ptr   0       3   4
///                  bin_row   0 1 2   3
///
/// Good for   rows of very different lengths: each gets a kernel for its length, and the csr arrays
/// stay as they are.
/// Bad for    rows of one length: the list of rows is read and gains nothing.
/// Space      (V + I) * nnz + (O + I) * rows, and a few words.
/// From       Liu, thesis 2015, sec. 5.4.7; Ashari et al., SC 2014. Unlike theirs, rows of any
/// length are shared out by the lengths of their bin: no launches from the device.
///
/// Invariants (validate() checks all of them)
///   row_ptr, col and val are a csr
///   bin_ptr[0] == 0, non-decreasing, last == rows; at most 63 bins
///   bin_row ascends within a bin; bin b > 0 has the rows of more than 2^b and up to 2^(b + 1)
///   entries, the first bin all shorter ones
#pragma once
#include "tulle/format/csr.hpp"

#include <bit>

namespace tulle {

template <class V, class I = std::int32_t, class O = I, space S = space::host>
struct acsr_view {
  using value = V;
  using index = I;
  using offset = O;

  I rows = 0;
  I cols = 0;
  O nnz = 0;
  I bins = 0;
  bool streams = false;       ///< on a GPU, bins in streams of their own
  O const* row_ptr = nullptr; ///< rows + 1; may be null when rows == 0
  I const* bin_ptr = nullptr; ///< bins + 1; may be null when rows == 0
  I const* bin_row = nullptr; ///< rows
  I const* col = nullptr;     ///< nnz
  V const* val = nullptr;     ///< nnz
  std::uint64_t serial = 0;   ///< of the owner's pattern; 0: borrowed arrays

  acsr_view() = default;
  acsr_view(unchecked_t, csr_view<V, I, O, S> const& a, I bins_, I const* bin_ptr_,
            I const* bin_row_, bool streams_ = false)
      : rows(a.rows), cols(a.cols), nnz(a.nnz), bins(bins_), streams(streams_), row_ptr(a.row_ptr),
        bin_ptr(bin_ptr_), bin_row(bin_row_), col(a.col), val(a.val) {}
  /// Borrows the caller's arrays after checking every invariant, once: O(rows + nnz).
  acsr_view(csr_view<V, I, O> const& a, std::span<I const> bin_ptr,
            std::span<I const> bin_row) requires(S == space::host);

  /// f(name, pointer, size) for each array.
  template <class F>
  void arrays(F&& f) const {
    f("row_ptr", row_ptr, row_ptr || rows > 0 ? static_cast<std::size_t>(rows) + 1 : 0);
    f("bin_ptr", bin_ptr, bin_ptr || bins > 0 ? static_cast<std::size_t>(bins) + 1 : 0);
    f("bin_row", bin_row, static_cast<std::size_t>(rows));
    f("col", col, static_cast<std::size_t>(nnz));
    f("val", val, static_cast<std::size_t>(nnz));
  }

  void validate() const;
  csr<V, I, O> to_csr(cpu const& where = {}) const { return as_csr().to_csr(where); }
  /// The same without bins.
  csr_view<V, I, O, S> as_csr() const { return {unchecked, rows, cols, nnz, row_ptr, col, val}; }
};

struct acsr_options {
  bool streams = false; ///< on a GPU, bins in streams of their own, not in one launch

  template <class F>
  void fields(F&& f) {
    f("streams", streams);
  }
  static constexpr char const* variants[] = {"streams=true"};
};

template <class V, class I = std::int32_t, class O = I>
struct acsr {
  using options = acsr_options;

  I rows = 0;
  I cols = 0;
  bool streams = false;
  array<O> row_ptr;
  array<I> bin_ptr;
  array<I> bin_row;
  array<I> col;
  array<V> val;
  detail::serial_number serial; ///< of the pattern

  acsr() = default;
  static acsr from_csr(csr_view<V, I, O> a, acsr_options = {}, cpu const& where = {});
  csr<V, I, O> to_csr(cpu const& where = {}) const {
    return detail::checked(*this, where).to_csr(where);
  }
  /// New values on the same pattern; errc::bad_structure if the pattern differs.
  void refill(csr_view<V, I, O> a, cpu const& where = {});
  acsr_view<V, I, O> view() const& {
    return detail::numbered(
        acsr_view<V, I, O>{unchecked, as_csr(),
                           static_cast<I>(bin_ptr.empty() ? 0 : bin_ptr.size() - 1), bin_ptr.data(),
                           bin_row.data(), streams},
        serial);
  }
  void view() const&& = delete; // it would dangle
  void validate() const {
    acsr_view<V, I, O>(csr_view<V, I, O>(rows, cols, row_ptr, col, val), bin_ptr, bin_row);
  }
  std::size_t bytes() const { return detail::bytes_of(view()); }
  /// f(arrays...), all of them in the order of the view's.
  template <class M, class F>
  static void members(M& m, F&& f) {
    f(m.row_ptr, m.bin_ptr, m.bin_row, m.col, m.val);
  }
  friend bool operator==(acsr const&, acsr const&) = default;

private:
  csr_view<V, I, O> as_csr() const {
    return {unchecked,      rows,       cols,      static_cast<O>(val.size()),
            row_ptr.data(), col.data(), val.data()};
  }
};

namespace detail {

constexpr int most_bins = 63; // a length is less than 2^63

/// The bin of a row of that many entries.
constexpr std::size_t bin_of(std::uint64_t length) {
  return length <= 2 ? 0 : static_cast<std::size_t>(std::bit_width(length - 1)) - 1;
}

/// The entries that a row of bin b has at most. Inlined: kernels may not leave it to the linker.
[[gnu::always_inline]] constexpr std::int64_t most_in_bin(int b) {
  return b >= 62 ? INT64_MAX : std::int64_t(2) << b;
}

} // namespace detail

} // namespace tulle

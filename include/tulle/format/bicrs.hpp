// SPDX-License-Identifier: Apache-2.0

/// BICRS, bi-directional incremental csr: entries along a curve, each column stored as the distance
/// from the previous one. If the row changes too, the distance is increased by the number of
/// columns, and the next element of `row` is the distance between the rows.
///
///     1 . 2 .      block = 2     part_row    0               4
///     . 3 . .                    part_ptr    0               7
///     . . . 4                    part_jump   0               6
///     5 6 7 .                    row         3   -3 1  -1  2 1
///                                col         0 1  3 5   5  5 3
///                                val         5 6  1 3   2  4 7
///
/// Rows are divided into parts. The first entry of a part has its own row, counted from the first
/// of the part, and column instead of distances. In a part, entries lie in blocks of `block` rows
/// and columns along the Hilbert curve, row by row in a block; block 0 means one block.
///
/// Good for   understanding cbicrs and vbicrs; matrices whose rows are mostly empty.
/// Bad for    speed: each column depends on the previous one, and takes as many bytes as in csr.
/// Space      (V + I) * nnz + I * jumps + (I + 2 O) * (parts + 1); jumps: at most one per row
/// and block.
/// From       Yzelman & Bisseling, ECMI 2010; Yzelman, vectorised BICRS, sec. I-B to II.
///
/// Invariants (validate() checks all of them)
///   part_row ascends from 0 to rows; part_ptr and part_jump begin with 0, do not decrease, and end
///   at nnz and jumps
///   block is a power of two, or 0; entries of a part ascend by place of the block, row and column
///   columns are sums modulo 2^bits of an index: below cols, or below twice that where the row
///   changes; rows lie in the part
#pragma once
#include "tulle/format/csr.hpp"

#include <type_traits>

namespace tulle {

/// The arrays of bicrs, as the caller provides them.
template <class V, class I, class O>
struct bicrs_arrays {
  std::span<I const> part_row;
  std::span<O const> part_ptr, part_jump;
  std::span<I const> row, col;
  std::span<V const> val;
};

template <class V, class I = std::int32_t, class O = I, space S = space::host>
struct bicrs_view {
  using value = V;
  using index = I;
  using offset = O;

  I rows = 0;
  I cols = 0;
  O nnz = 0;
  int block = 0; ///< rows and columns of a block; 0: one block
  std::size_t parts = 0;
  O jumps = 0;
  I const* part_row = nullptr;  ///< parts + 1; may be null when rows == 0, as may the next two
  O const* part_ptr = nullptr;  ///< parts + 1: entries
  O const* part_jump = nullptr; ///< parts + 1: of row
  I const* row = nullptr;       ///< jumps
  I const* col = nullptr;       ///< nnz
  V const* val = nullptr;       ///< nnz
  std::uint64_t serial = 0;     ///< of the owner's pattern; 0: borrowed arrays

  bicrs_view() = default;
  bicrs_view(unchecked_t, I rows_, I cols_, int block_, bicrs_arrays<V, I, O> const& a)
      : rows(rows_), cols(cols_), nnz(static_cast<O>(a.val.size())), block(block_),
        parts(a.part_row.empty() ? 0 : a.part_row.size() - 1), jumps(static_cast<O>(a.row.size())),
        part_row(a.part_row.data()), part_ptr(a.part_ptr.data()), part_jump(a.part_jump.data()),
        row(a.row.data()), col(a.col.data()), val(a.val.data()) {}
  /// Borrows the caller's arrays after checking every invariant, once: O(rows + nnz).
  bicrs_view(I rows, I cols, int block, bicrs_arrays<V, I, O> const& a) requires(S == space::host);

  /// f(name, pointer, size) for each array.
  template <class F>
  void arrays(F&& f) const {
    std::size_t const n = part_row || rows > 0 ? parts + 1 : 0;
    f("part_row", part_row, n);
    f("part_ptr", part_ptr, n);
    f("part_jump", part_jump, n);
    f("row", row, static_cast<std::size_t>(jumps));
    f("col", col, static_cast<std::size_t>(nnz));
    f("val", val, static_cast<std::size_t>(nnz));
  }

  /// f(row, column, place) for each entry of a part, in order. Inlined: kernels may not leave it to
  /// the linker.
  template <class F>
  [[gnu::always_inline]] void each_entry(std::size_t p, F&& f) const {
    using U = std::make_unsigned_t<I>;
    auto k = static_cast<std::size_t>(part_ptr[p]);
    auto const end = static_cast<std::size_t>(part_ptr[p + 1]);
    I const* jump = row + part_jump[p];
    if (k == end)
      return;
    I i = static_cast<I>(part_row[p] + *jump++);
    U j = static_cast<U>(col[k]);
    for (;;) {
      f(i, static_cast<I>(j), k);
      if (++k == end)
        return;
      j = static_cast<U>(j + static_cast<U>(col[k]));
      if (j >= static_cast<U>(cols)) {
        j = static_cast<U>(j - static_cast<U>(cols));
        i = static_cast<I>(i + *jump++);
      }
    }
  }

  void validate() const;
  csr<V, I, O> to_csr(cpu const& where = {}) const;
};

struct bicrs_options {
  int block = 0;      ///< a power of two; 0: one block
  int part = 1 << 16; ///< entries and rows of a part

  template <class F>
  void fields(F&& f) {
    f("block", block);
    f("part", part);
  }
  static constexpr int most_block = 1 << 30;
  static constexpr char const* drawn = "block=2";
  static constexpr char const* variants[] = {"block=4:part=100"};
};

template <class V, class I = std::int32_t, class O = I>
struct bicrs {
  using options = bicrs_options;

  I rows = 0;
  I cols = 0;
  int block = 0;
  array<I> part_row;
  array<O> part_ptr, part_jump;
  array<I> row, col;
  array<V> val;
  detail::serial_number serial; ///< of the pattern

  static bicrs from_csr(csr_view<V, I, O> a, bicrs_options = {}, cpu const& where = {});
  csr<V, I, O> to_csr(cpu const& where = {}) const {
    return detail::checked(*this, where).to_csr(where);
  }
  /// New values on the same pattern; errc::bad_structure if the pattern differs.
  void refill(csr_view<V, I, O> a, cpu const& where = {});
  bicrs_view<V, I, O> view() const& {
    return detail::numbered(bicrs_view<V, I, O>{unchecked, rows, cols, block, arrays()}, serial);
  }
  void view() const&& = delete; // it would dangle
  void validate() const { bicrs_view<V, I, O>(rows, cols, block, arrays()); }
  std::size_t bytes() const { return detail::bytes_of(view()); }
  /// f(arrays...), all of them in the order of the view's.
  template <class M, class F>
  static void members(M& m, F&& f) {
    f(m.part_row, m.part_ptr, m.part_jump, m.row, m.col, m.val);
  }
  friend bool operator==(bicrs const&, bicrs const&) = default;

private:
  bicrs_arrays<V, I, O> arrays() const { return {part_row, part_ptr, part_jump, row, col, val}; }
};

} // namespace tulle

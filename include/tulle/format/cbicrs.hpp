// SPDX-License-Identifier: Apache-2.0

/// CBICRS, compressed bicrs: blocks of `block` rows and columns along the Hilbert curve, each a
/// bicrs of its own in 16 bits.
///
///     1 . 2 .      block = 2     part_row     0                  4
///     . 3 . .                    part_block   0                  4
///     . . . 4                    block_row    1    0    0    1
///     5 6 7 .                    block_col    0    0    1    1
///                                block_ptr    0    2    4    5    7
///                                jump_ptr     0    1    3    4    6
///                                row          1    0 1  0    0 1
///                                col          0 1  0 3  0    1 1
///                                val          5 6  1 3  2    4 7
///
/// Within a block entries go row by row. A column is the distance from the previous one, increased
/// by `block` if the row changes; the next element of `row` is then the distance between the rows.
/// The first entry of a block has its own row and column instead. Rows are divided into parts, each
/// with its own blocks.
///
/// Good for   rows of many entries near each other: fem, bands. A column is 2 bytes, not 4.
/// Bad for    scattered entries, few of which share a row of a block; a very long row, which one
/// thread multiplies alone.
/// Space      (V + 2) * nnz + 2 * jumps + 2 (I + O) * blocks + (I + O) * parts; a jump is a row of
/// a block that has entries.
/// From       Yzelman & Roose, IEEE Trans. Parallel Distrib. Syst. 25(1), 2014; Yzelman, vectorised
/// BICRS, sec. II. Unlike there, blocks are named by row and column, not by a bicrs of blocks, and
/// the number of parts follows from the matrix, not from the number of threads.
///
/// Invariants (validate() checks all of them)
///   block is a power of two up to 16384
///   part_row ascends from 0 to rows; part_block begins with 0, does not decrease, ends at blocks
///   blocks of a part ascend along the curve and lie in the part; none is empty
///   block_ptr and jump_ptr begin with 0, ascend, and end at nnz and jumps
///   rows ascend within a block and columns within a row; all lie in the block and in the matrix
#pragma once
#include "tulle/format/detail/bicrs_base.hpp"

namespace tulle {

template <class V, class I = std::int32_t, class O = I, space S = space::host>
struct cbicrs_view : detail::bicrs_base_view<V, I, O> {
  using base = detail::bicrs_base_view<V, I, O>;
  std::uint64_t serial = 0; ///< of the owner's pattern; 0: borrowed arrays

  cbicrs_view() = default;
  cbicrs_view(unchecked_t, I rows_, I cols_, int block_, bicrs_block_arrays<V, I, O> const& a)
      : base(rows_, cols_, static_cast<O>(a.val.size()), block_, a) {}
  /// Borrows the caller's arrays after checking every invariant, once: O(rows + nnz).
  cbicrs_view(I rows, I cols, int block,
              bicrs_block_arrays<V, I, O> const& a) requires(S == space::host);

  /// f(name, pointer, size) for each array.
  template <class F>
  void arrays(F&& f) const {
    this->base_arrays(f);
  }

  /// f(row, column, place) for each entry of a part, in order. Inlined: kernels may not leave it to
  /// the linker.
  template <class F>
  [[gnu::always_inline]] void each_entry(std::size_t p, F&& f) const {
    for (O b = this->part_block[p]; b < this->part_block[p + 1]; ++b) {
      auto const at = static_cast<std::size_t>(b);
      auto k = static_cast<std::size_t>(this->block_ptr[at]);
      auto const end = static_cast<std::size_t>(this->block_ptr[at + 1]);
      std::int16_t const* jump = this->row + this->jump_ptr[at];
      I i = static_cast<I>(this->top(p, at) + *jump++);
      I const left = this->left(at);
      int j = this->col[k];
      for (;;) {
        f(i, static_cast<I>(left + j), k);
        if (++k == end)
          break;
        j += this->col[k];
        if (j >= this->block) {
          j -= this->block;
          i = static_cast<I>(i + *jump++);
        }
      }
    }
  }

  void validate() const;
  csr<V, I, O> to_csr(cpu const& where = {}) const;
};

struct cbicrs_options {
  int block = detail::most_bicrs_block; ///< a power of two
  int part = 1 << 16;                   ///< entries and rows of a part

  template <class F>
  void fields(F&& f) {
    f("block", block);
    f("part", part);
  }
  static constexpr char const* drawn = "block=2";
  static constexpr char const* variants[] = {"block=4:part=100", "block=64"};
};

template <class V, class I = std::int32_t, class O = I>
struct cbicrs : detail::bicrs_base<V, I, O> {
  using base = detail::bicrs_base<V, I, O>;
  using options = cbicrs_options;
  detail::serial_number serial; ///< of the pattern

  static cbicrs from_csr(csr_view<V, I, O> a, cbicrs_options = {}, cpu const& where = {});
  csr<V, I, O> to_csr(cpu const& where = {}) const {
    return detail::checked(*this, where).to_csr(where);
  }
  /// New values on the same pattern; errc::bad_structure if the pattern differs.
  void refill(csr_view<V, I, O> a, cpu const& where = {});
  cbicrs_view<V, I, O> view() const& {
    return detail::numbered(
        cbicrs_view<V, I, O>{unchecked, this->rows, this->cols, this->block, this->base_arrays()},
        serial);
  }
  void view() const&& = delete; // it would dangle
  void validate() const;
  std::size_t bytes() const { return detail::bytes_of(view()); }
  /// f(arrays...), all of them in the order of the view's.
  template <class M, class F>
  static void members(M& m, F&& f) {
    f(m.part_row, m.part_block, m.block_row, m.block_col, m.block_ptr, m.jump_ptr, m.row, m.col,
      m.val);
  }
  friend bool operator==(cbicrs const&, cbicrs const&) = default;
};

} // namespace tulle

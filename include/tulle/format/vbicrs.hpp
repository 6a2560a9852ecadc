// SPDX-License-Identifier: Apache-2.0

/// VBICRS, vectorised cbicrs: in each block of cbicrs, vectors of `height` rows by as many entries
/// of each as fill 64 bytes of values. Nonempty rows are taken `height` at a time, as a group; a
/// vector has the next entries of each row of the group, and holes where a row has no more.
///
///     1 . 2 .      block = 2    part_row     0                                  4
///     . 3 . .      height = 4   part_block   0                                  4
///     . . . 4                   block_row    1        0        0        1
///     5 6 7 .                   block_col    0        0        1        1
///                               block_ptr    0        8        16       24      32
///                               jump_ptr     0        4        8        12      16
///                               row          1 0 0 0  0 1 0 0  0 0 0 0  0 1 0 0
///     col          0 0 0 0 1 0 0 0  0 1 0 0 0 0 0 0  0 0 0 0 0 0 0 0  1 -1 0 0 0 0 0 0
///     val          5 0 0 0 6 0 0 0  1 3 0 0 0 0 0 0  2 0 0 0 0 0 0 0  4 7 0 0 0 0 0 0
///     pattern      50397969    one bit per slot: 10001000 11000000 10000000 11000000
///
/// The slots of a vector go entry by entry, `height` rows each. The first element of `col` is the
/// distance from the first one of the previous vector, increased by `block` if a group begins. The
/// others are distances from the vector's first entry, 0 in holes. `row` has `height` numbers per
/// group: first the distance from the first row of the previous group, then distances from that
/// row, 0 where a block has no more rows.
///
/// Good for   rows of many entries near each other and of similar lengths: fem, bands, stencils.
/// Bad for    scattered entries and short rows within a block: holes cost as much as entries.
/// Space      (V + 2) * stored + 2 * jumps + 2 (I + O) * blocks + (I + O) * parts; where there are
/// holes, a bit for each slot, which a product reads only to explain a NaN.
/// From       Yzelman, Generalised vectorisation for sparse matrix-vector multiplication, sec. III.
/// There `row` has as many numbers as a vector has slots, for several groups at once.
///
/// Height 0 chooses the one with the fewest holes (sec. V-B), the largest of several. The height of
/// a whole vector, 8 doubles or 16 floats, is sell in blocks.
///
/// Invariants (validate() checks all of them)
///   block is a power of two up to 16384, height one up to 64 / sizeof(V)
///   part_row ascends from 0 to rows; part_block begins with 0, does not decrease, ends at blocks
///   blocks of a part ascend along the curve and lie in the part; none is empty
///   block_ptr and jump_ptr begin with 0, ascend, and end at stored and jumps: whole vectors, whole
///   groups
///   rows ascend within a block and have entries; columns ascend within a row; all lie in the block
///   and in the matrix; a vector has an entry, and those of a row come first in its group
///   val is 0 in holes; pattern: bit s is slot s, nnz of them set; empty where there is no hole
#pragma once
#include "tulle/format/detail/bicrs_base.hpp"
#include "tulle/format/detail/block_bits.hpp"

namespace tulle {

template <class V, class I = std::int32_t, class O = I, space S = space::host>
struct vbicrs_view : detail::bicrs_base_view<V, I, O> {
  using base = detail::bicrs_base_view<V, I, O>;
  static constexpr int lanes = static_cast<int>(64 / sizeof(V)); ///< slots of a vector

  int height = lanes;                     ///< rows of a vector
  std::uint64_t const* pattern = nullptr; ///< one bit per slot; null: no holes
  std::uint64_t serial = 0;               ///< of the owner's pattern; 0: borrowed arrays

  vbicrs_view() = default;
  vbicrs_view(unchecked_t, I rows_, I cols_, O nnz_, int block_, int height_,
              bicrs_block_arrays<V, I, O> const& a)
      : base(rows_, cols_, nnz_, block_, a), height(height_),
        pattern(a.pattern.empty() ? nullptr : a.pattern.data()) {}
  /// Borrows the caller's arrays after checking every invariant, once: O(rows + slots).
  vbicrs_view(I rows, I cols, O nnz, int block, int height,
              bicrs_block_arrays<V, I, O> const& a) requires(S == space::host);

  /// f(name, pointer, size) for each array.
  template <class F>
  void arrays(F&& f) const {
    this->base_arrays(f);
    f("pattern", pattern, pattern ? (static_cast<std::size_t>(this->stored) + 63) / 64 : 0);
  }

  /// A bit for each slot of the vector that begins at slot `at`.
  [[gnu::always_inline]] std::uint64_t bits(std::size_t at) const {
    return pattern ? detail::bits_at(pattern, at, lanes) : (std::uint64_t(1) << lanes) - 1;
  }

  /// f(row, column, place) for each entry of a part, in order. Inlined: kernels may not leave it to
  /// the linker.
  template <class F>
  [[gnu::always_inline]] void each_entry(std::size_t p, F&& f) const {
    for (O b = this->part_block[p]; b < this->part_block[p + 1]; ++b) {
      auto const at = static_cast<std::size_t>(b);
      auto const first = static_cast<std::size_t>(this->block_ptr[at]);
      auto const end = static_cast<std::size_t>(this->block_ptr[at + 1]);
      std::int16_t const* group = this->row + this->jump_ptr[at];
      I i = static_cast<I>(this->top(p, at) + *group);
      I const left = this->left(at);
      int j = 0;
      for (std::size_t k = first; k < end; k += lanes) {
        j += this->col[k];
        if (j >= this->block) {
          j -= this->block;
          group += height;
          i = static_cast<I>(i + *group);
        }
        for (std::uint64_t left_bits = bits(k); left_bits != 0; left_bits &= left_bits - 1) {
          int const s = __builtin_ctzll(left_bits);
          int const r = s % height;
          f(static_cast<I>(i + (r == 0 ? 0 : group[r])),
            static_cast<I>(left + j + (s == 0 ? 0 : this->col[k + static_cast<std::size_t>(s)])),
            k + static_cast<std::size_t>(s));
        }
      }
    }
  }

  void validate() const;
  csr<V, I, O> to_csr(cpu const& where = {}) const;

private:
  std::size_t check_block(std::size_t b, int rows_here, int cols_here) const;
};

struct vbicrs_options {
  int height = 0;                       ///< rows of a vector: 1, 2, 4, ...; 0: chosen
  int block = detail::most_bicrs_block; ///< a power of two
  int part = 1 << 16;                   ///< entries and rows of a part
  double limit = 8;                     ///< times the bytes of csr; more is refused

  template <class F>
  void fields(F&& f) {
    f("height", height);
    f("block", block);
    f("part", part);
    f("limit", limit);
  }
  static constexpr char const* drawn = "block=2:height=4";
  static constexpr char const* variants[] = {
      "height=1:limit=99", "height=2:block=4:part=100:limit=99", "height=4:block=64:limit=99"};
};

template <class V, class I = std::int32_t, class O = I>
struct vbicrs : detail::bicrs_base<V, I, O> {
  using base = detail::bicrs_base<V, I, O>;
  using options = vbicrs_options;
  static constexpr int lanes = vbicrs_view<V, I, O>::lanes;

  int height = lanes;
  array<std::uint64_t> pattern;
  detail::serial_number serial; ///< of the pattern

  static vbicrs from_csr(csr_view<V, I, O> a, vbicrs_options = {}, cpu const& where = {});
  csr<V, I, O> to_csr(cpu const& where = {}) const {
    return detail::checked(*this, where).to_csr(where);
  }
  /// New values on the same pattern; errc::bad_structure if the pattern differs.
  void refill(csr_view<V, I, O> a, cpu const& where = {});
  vbicrs_view<V, I, O> view() const& {
    return detail::numbered(vbicrs_view<V, I, O>{unchecked, this->rows, this->cols, this->nnz,
                                                 this->block, height, arrays()},
                            serial);
  }
  void view() const&& = delete; // it would dangle
  void validate() const {
    vbicrs_view<V, I, O>(this->rows, this->cols, this->nnz, this->block, height, arrays());
  }
  std::size_t bytes() const { return detail::bytes_of(view()); }
  /// f(arrays...), all of them in the order of the view's.
  template <class M, class F>
  static void members(M& m, F&& f) {
    f(m.part_row, m.part_block, m.block_row, m.block_col, m.block_ptr, m.jump_ptr, m.row, m.col,
      m.val, m.pattern);
  }
  friend bool operator==(vbicrs const&, vbicrs const&) = default;

private:
  bicrs_block_arrays<V, I, O> arrays() const {
    bicrs_block_arrays<V, I, O> a = this->base_arrays();
    a.pattern = pattern;
    return a;
  }
};

} // namespace tulle

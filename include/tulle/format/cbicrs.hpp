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
/// Within a block entries go row by row. A column is the distance from the one before, larger by
/// `block` where the row changes, and then the next of `row` says by how much it does; row and
/// column of the first entry are themselves. Rows come in parts, each with blocks of its own.
///
/// Good for   rows of many entries near each other: fem, bands. A column is 2 bytes, not 4.
/// Bad for    entries all over: few of a row fall in one block; a very long row, which one thread
/// has to itself.
/// Space      (V + 2) * nnz + 2 * jumps + 2 (I + O) * blocks + (I + O) * parts; a jump is a row of
/// a block that has entries.
/// From       Yzelman & Roose, IEEE Trans. Parallel Distrib. Syst. 25(1), 2014; Yzelman, vectorised
/// BICRS, sec. II. Unlike there, blocks are named by row and column, not by a bicrs of blocks, and
/// there are as many parts as the matrix wants, not as there are threads.
///
/// Invariants (validate() checks all of them)
///   block is a power of two up to 16384
///   part_row ascends from 0 to rows; part_block begins with 0, does not decrease, ends at blocks
///   blocks of a part ascend along the curve and lie in the part; none is empty
///   block_ptr and jump_ptr begin with 0, ascend, and end at nnz and jumps
///   rows ascend within a block and columns within a row; all lie in the block and in the matrix
#pragma once
#include "tulle/format/detail/bicrs_blocks.hpp"

namespace tulle {

template <class V, class I = std::int32_t, class O = I, space S = space::host>
struct cbicrs_view : detail::bicrs_base_view<V, I, O> {
  using base = detail::bicrs_base_view<V, I, O>;
  std::uint64_t serial = 0; ///< of the owner's pattern; 0: borrowed arrays

  cbicrs_view() = default;
  cbicrs_view(unchecked_t, I rows, I cols, int block, bicrs_block_arrays<V, I, O> const& a)
      : base(rows, cols, static_cast<O>(a.val.size()), block, a) {}
  /// Borrows the caller's arrays after checking every invariant, once: O(rows + nnz).
  cbicrs_view(I rows, I cols, int block,
              bicrs_block_arrays<V, I, O> const& a) requires(S == space::host)
      : cbicrs_view(unchecked, rows, cols, block, a) {
    detail::check_bicrs_sizes("cbicrs", a);
    validate();
  }

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
  csr<V, I, O> to_csr(cpu const& where = {}) const { return detail::bicrs_to_csr(*this, where); }
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
  void validate() const {
    if (cbicrs_view<V, I, O>(this->rows, this->cols, this->block, this->base_arrays()).nnz !=
        this->nnz)
      fail(errc::bad_structure, "cbicrs: %zu entries, but nnz is %lld", this->val.size(),
           static_cast<long long>(this->nnz));
  }
  std::size_t bytes() const { return detail::bytes_of(view()); }
  /// f(arrays...), all of them in the order of the view's.
  template <class M, class F>
  static void members(M& m, F&& f) {
    f(m.part_row, m.part_block, m.block_row, m.block_col, m.block_ptr, m.jump_ptr, m.row, m.col,
      m.val);
  }
  friend bool operator==(cbicrs const&, cbicrs const&) = default;
};

namespace detail {

/// Rows and columns of a block whose runs are known; or, where `compare`, whether they are there.
template <bool compare, class V, class I, class O>
bool encode_cbicrs(csr_view<V, I, O> const& a, int block, std::span<bicrs_run<I, O> const> runs,
                   std::int16_t* row, std::int16_t* col) {
  bool same = true;
  I i = static_cast<I>(runs[0].row / static_cast<I>(block) * static_cast<I>(block));
  I j = static_cast<I>(runs[0].block_col * static_cast<I>(block)); // where the block begins
  for (std::size_t r = 0; r < runs.size(); ++r) {
    bicrs_run<I, O> const& run = runs[r];
    put_or_compare<compare>(row++, run.row - i, same);
    i = run.row;
    for (I e = 0; e < run.count; ++e) {
      I const to = a.col[run.begin + static_cast<O>(e)];
      put_or_compare<compare>(col++, distance(j, to) + (r > 0 && e == 0 ? block : 0), same);
      j = to;
    }
  }
  return same;
}

/// Every run of a cbicrs is a jump.
struct cbicrs_size {
  template <class Runs>
  bicrs_size operator()(Runs const& runs) const {
    bicrs_size s = {runs.size(), 0};
    for (auto const& run : runs)
      s.stored += static_cast<std::size_t>(run.count);
    return s;
  }
};

} // namespace detail

template <class V, class I, class O, space S>
void cbicrs_view<V, I, O, S>::validate() const {
  detail::check_bicrs_blocks("cbicrs", *this, [&](std::size_t b, int height, int width) {
    auto k = static_cast<std::size_t>(this->block_ptr[b]);
    auto const end = static_cast<std::size_t>(this->block_ptr[b + 1]);
    auto jump = static_cast<std::size_t>(this->jump_ptr[b]);
    auto const last_jump = static_cast<std::size_t>(this->jump_ptr[b + 1]);
    std::size_t const entries = end - k;
    int i = -1, j = 0;
    for (bool first = true; k < end; ++k, first = false) {
      int const was = j;
      j += this->col[k];
      bool const jumps_here = first || j >= this->block;
      if (jumps_here) {
        if (jump == last_jump)
          fail(errc::bad_structure, "cbicrs: block %zu has too few rows for col[%zu]", b, k);
        int const to = this->row[jump++];
        i = first ? to : i + to;
        if (i < 0 || i >= height || (to <= 0 && !first))
          fail(errc::bad_structure, "cbicrs: row[%zu] is %d, to row %d of %d in block %zu",
               jump - 1, to, i, height, b);
        j -= first ? 0 : this->block;
      }
      if (j < 0 || j >= width || (!jumps_here && j <= was))
        fail(errc::bad_structure, "cbicrs: col[%zu] is %d, to column %d of %d in block %zu", k,
             this->col[k], j, width, b);
    }
    if (jump != last_jump)
      fail(errc::bad_structure, "cbicrs: block %zu has %zu rows that no entry is in", b,
           last_jump - jump);
    return entries;
  });
}

template <class V, class I, class O>
cbicrs<V, I, O> cbicrs<V, I, O>::from_csr(csr_view<V, I, O> a, cbicrs_options o, cpu const& where) {
  detail::check_bicrs_options("cbicrs", o.block, 1, detail::most_bicrs_block, o.part);
  detail::canonical<V, I, O> const c(a, where);
  cbicrs b;
  b.rows = a.rows;
  b.cols = a.cols;
  b.nnz = c.view.nnz;
  b.block = o.block;
  b.part_row = detail::greedy_parts(c.view, o.part, where);
  detail::bicrs_runs<V, I, O> runs("cbicrs", c.view, o.block, b.part_row.data(),
                                   b.part_row.size() - 1, where);
  detail::bicrs_layout("cbicrs", b, runs, where, detail::cbicrs_size());
  runs.each_part([&](std::size_t p, auto const& of_part) {
    auto at = static_cast<std::size_t>(b.part_block[p]);
    detail::each_bicrs_block(of_part, [&](auto const& block) {
      detail::encode_cbicrs<false>(c.view, b.block, block, b.row.data() + b.jump_ptr[at],
                                   b.col.data() + b.block_ptr[at]);
      V* to = b.val.data() + b.block_ptr[at++];
      for (auto const& run : block)
        to = std::copy_n(c.view.val + run.begin, run.count, to);
    });
  });
  return b;
}

template <class V, class I, class O>
void cbicrs<V, I, O>::refill(csr_view<V, I, O> a, cpu const& where) {
  detail::check_arrays("cbicrs", *this);
  auto const runs_of = [&](csr_view<V, I, O> const& c) {
    return detail::bicrs_runs<V, I, O>("cbicrs", c, this->block, this->part_row.data(),
                                       view().parts, where);
  };
  detail::refill_if(
      "cbicrs", this->rows, this->cols, this->nnz, a, where,
      [&](csr_view<V, I, O> const& c) {
        return detail::bicrs_same(
            *this, runs_of(c), detail::cbicrs_size(), [&](std::size_t b, auto const& block) {
              return detail::encode_cbicrs<true>(c, this->block, block,
                                                 this->row.data() + this->jump_ptr[b],
                                                 this->col.data() + this->block_ptr[b]);
            });
      },
      [&](csr_view<V, I, O> const& c) {
        runs_of(c).each_part([&](std::size_t p, auto const& runs) {
          if (runs.empty())
            return;
          V* to = this->val.data() + this->block_ptr[static_cast<std::size_t>(this->part_block[p])];
          for (auto const& run : runs)
            to = std::copy_n(c.val + run.begin, run.count, to);
        });
      });
}

} // namespace tulle

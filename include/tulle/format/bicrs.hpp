// SPDX-License-Identifier: Apache-2.0

/// BICRS, bi-directional incremental csr: entries along a curve, a column as its distance from the
/// one before; where the row changes as well, that distance is larger by the number of columns, and
/// the next of `row` says by how much it does.
///
///     1 . 2 .      block = 2     part_row    0               4
///     . 3 . .                    part_ptr    0               7
///     . . . 4                    part_jump   0               6
///     5 6 7 .                    row         3   -3 1  -1  2 1
///                                col         0 1  3 5   5  5 3
///                                val         5 6  1 3   2  4 7
///
/// Rows come in parts, which begin anew: row and column of the first entry are themselves, rows
/// being counted from the first of the part. In a part entries lie in blocks of so many rows and
/// columns along the Hilbert curve, row by row in a block; with a block of 0 there is one block.
///
/// Good for   reading how cbicrs and vbicrs work; few rows with entries among many without.
/// Bad for    speed: each column waits for the one before, and it is as large as in csr.
/// Space      (V + I) * nnz + I * jumps + (I + 2 O) * (parts + 1); jumps: at most one a row and
/// block.
/// From       Yzelman & Bisseling, ECMI 2010; Yzelman, vectorised BICRS, sec. I-B to II.
///
/// Invariants (validate() checks all of them)
///   part_row ascends from 0 to rows; part_ptr and part_jump begin with 0, do not decrease, and end
///   at nnz and jumps
///   block is a power of two, or 0; entries of a part ascend by place of the block, row and column
///   columns are sums modulo 2^bits of an index: below cols, or below twice that where the row
///   changes; rows lie in the part
#pragma once
#include "tulle/format/detail/bicrs_parts.hpp"

namespace tulle {

/// The arrays of bicrs, as a caller has them.
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
  bicrs_view(unchecked_t, I rows, I cols, int block, bicrs_arrays<V, I, O> const& a)
      : rows(rows), cols(cols), nnz(static_cast<O>(a.val.size())), block(block),
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
  csr<V, I, O> to_csr(cpu const& where = {}) const { return detail::bicrs_to_csr(*this, where); }
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

namespace detail {

/// Rows, columns and values of a part whose runs are known, to b from its pointers on; or, where
/// `compare`, whether rows and columns are there already.
template <bool compare, class V, class I, class O>
bool encode_bicrs(csr_view<V, I, O> const& a, std::span<bicrs_run<I, O> const> runs, I* row, I* col,
                  V* val) {
  using U = std::make_unsigned_t<I>;
  bool same = true;
  I i = 0;
  U j = 0;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    bicrs_run<I, O> const& run = runs[r];
    if (r == 0 || run.row != i) {
      put_or_compare<compare>(row++, run.row - i, same);
      i = run.row;
      j = static_cast<U>(j - (r == 0 ? U(0) : static_cast<U>(a.cols)));
    }
    for (I e = 0; e < run.count; ++e) {
      U const to = static_cast<U>(a.col[run.begin + static_cast<O>(e)]);
      put_or_compare<compare>(col++, static_cast<I>(static_cast<U>(to - j)), same);
      j = to;
    }
    if constexpr (!compare)
      val = std::copy_n(a.val + run.begin, run.count, val);
  }
  return same;
}

} // namespace detail

template <class V, class I, class O, space S>
bicrs_view<V, I, O, S>::bicrs_view(I rows, I cols, int block,
                                   bicrs_arrays<V, I, O> const& a) requires(S == space::host)
    : bicrs_view(unchecked, rows, cols, block, a) {
  auto const sized = [](char const* name, std::size_t is, std::size_t expected) {
    if (is != expected)
      fail(errc::bad_structure, "bicrs: %s has %zu elements, expected %zu", name, is, expected);
  };
  sized("part_ptr", a.part_ptr.size(), a.part_row.size());
  sized("part_jump", a.part_jump.size(), a.part_row.size());
  sized("col", a.col.size(), a.val.size());
  narrow<O>(a.val.size(), "number of entries");
  narrow<O>(a.row.size(), "number of rows that entries name");
  validate();
}

template <class V, class I, class O, space S>
void bicrs_view<V, I, O, S>::validate() const {
  detail::check_bicrs_parts("bicrs", *this);
  if (block < 0 || block > bicrs_options::most_block || (block & (block - 1)) != 0)
    fail(errc::bad_structure, "bicrs: blocks of %d, expected a power of two or 0", block);
  detail::check_pointers("bicrs: part_ptr", part_ptr, parts, nnz);
  detail::check_pointers("bicrs: part_jump", part_jump, parts, jumps);
  int const bits = detail::hilbert_bits("bicrs", part_row, parts, cols, block);
  using U = std::make_unsigned_t<I>;
  detail::each_bicrs_part(*this, {}, [&](std::size_t p) {
    I const height = static_cast<I>(part_row[p + 1] - part_row[p]);
    O jump = part_jump[p];
    U j = 0;
    I i = 0;
    std::uint64_t before = 0; // place
    for (O k = part_ptr[p]; k < part_ptr[p + 1]; ++k) {
      bool const first = k == part_ptr[p];
      U const was = j;
      I const from = i;
      j = static_cast<U>(j + static_cast<U>(col[k]));
      bool const jumps_here = first || j >= static_cast<U>(cols);
      if (jumps_here && !first)
        j = static_cast<U>(j - static_cast<U>(cols));
      if (j >= static_cast<U>(cols))
        fail(errc::bad_structure, "bicrs: col[%lld] leads outside of %lld columns",
             static_cast<long long>(k), static_cast<long long>(cols));
      if (jumps_here) {
        if (jump == part_jump[p + 1])
          fail(errc::bad_structure, "bicrs: part %zu has %lld rows, col[%lld] wants one more", p,
               static_cast<long long>(jump - part_jump[p]), static_cast<long long>(k));
        I const to = row[jump++];
        if (to < -i || to >= height - i || (to == 0 && !first))
          fail(errc::bad_structure, "bicrs: row[%lld] is %lld at row %lld of a part of %lld",
               static_cast<long long>(jump - 1), static_cast<long long>(to),
               static_cast<long long>(i), static_cast<long long>(height));
        i = static_cast<I>(i + to);
      }
      std::uint64_t const place =
          block == 0 ? 0
                     : detail::hilbert(static_cast<std::uint64_t>(i) / std::uint64_t(block),
                                       static_cast<std::uint64_t>(j) / std::uint64_t(block), bits);
      if (!first && (place < before || (place == before && (i < from || (i == from && j <= was)))))
        fail(errc::bad_structure, "bicrs: entry %lld, row %lld and column %lld, comes too late",
             static_cast<long long>(k), static_cast<long long>(part_row[p] + i),
             static_cast<long long>(j));
      before = place;
    }
    if (jump != part_jump[p + 1])
      fail(errc::bad_structure, "bicrs: part %zu has %lld rows that no entry is in", p,
           static_cast<long long>(part_jump[p + 1] - jump));
  });
}

template <class V, class I, class O>
bicrs<V, I, O> bicrs<V, I, O>::from_csr(csr_view<V, I, O> a, bicrs_options o, cpu const& where) {
  detail::check_bicrs_options("bicrs", o.block, 0, bicrs_options::most_block, o.part);
  detail::canonical<V, I, O> const c(a, where);
  bicrs b;
  b.rows = a.rows;
  b.cols = a.cols;
  b.block = o.block;
  b.part_row = detail::greedy_parts(c.view, o.part, where);
  std::size_t const parts = b.part_row.size() - 1;
  auto const entries = static_cast<std::size_t>(c.view.nnz);
  b.part_ptr = array<O>(parts + 1, where.memory);
  b.part_jump = array<O>(parts + 1, where.memory);
  b.part_ptr[0] = b.part_jump[0] = 0;
  detail::bicrs_runs<V, I, O> runs("bicrs", c.view, o.block, b.part_row.data(), parts, where);
  runs.each_part([&](std::size_t p, auto const& of_part) {
    O jumps = 0;
    for (std::size_t r = 0; r < of_part.size(); ++r)
      jumps = static_cast<O>(jumps + (r == 0 || of_part[r].row != of_part[r - 1].row));
    b.part_jump[p + 1] = jumps;
  });
  for (std::size_t p = 0; p < parts; ++p) {
    b.part_ptr[p + 1] = c.view.row_ptr[b.part_row[p + 1]];
    b.part_jump[p + 1] = static_cast<O>(b.part_jump[p + 1] + b.part_jump[p]); // at most nnz
  }
  b.row = array<I>(static_cast<std::size_t>(b.part_jump[parts]), where.memory);
  b.col = array<I>(entries, where.memory);
  b.val = array<V>(entries, where.memory);
  runs.each_part([&](std::size_t p, auto const& of_part) {
    detail::encode_bicrs<false>(c.view, of_part, b.row.data() + b.part_jump[p],
                                b.col.data() + b.part_ptr[p], b.val.data() + b.part_ptr[p]);
  });
  return b;
}

template <class V, class I, class O>
void bicrs<V, I, O>::refill(csr_view<V, I, O> a, cpu const& where) {
  detail::check_arrays("bicrs", *this);
  auto const parts = view().parts;
  auto const runs_of = [&](csr_view<V, I, O> const& c) {
    return detail::bicrs_runs<V, I, O>("bicrs", c, block, part_row.data(), parts, where);
  };
  detail::refill_if(
      "bicrs", rows, cols, view().nnz, a, where,
      [&](csr_view<V, I, O> const& c) {
        bool good = true;
        for (std::size_t p = 0; p < parts; ++p)
          good = good && c.row_ptr[part_row[p]] == part_ptr[p];
        if (good)
          runs_of(c).each_part([&](std::size_t p, auto const& runs) {
            std::size_t jumps = 0;
            for (std::size_t r = 0; r < runs.size(); ++r)
              jumps += r == 0 || runs[r].row != runs[r - 1].row;
            if (jumps != static_cast<std::size_t>(part_jump[p + 1] - part_jump[p]) ||
                !detail::encode_bicrs<true>(c, runs, row.data() + part_jump[p],
                                            col.data() + part_ptr[p], static_cast<V*>(nullptr)))
              __atomic_store_n(&good, false, __ATOMIC_RELAXED);
          });
        return good;
      },
      [&](csr_view<V, I, O> const& c) {
        runs_of(c).each_part([&](std::size_t p, auto const& runs) {
          V* to = val.data() + part_ptr[p];
          for (auto const& run : runs)
            to = std::copy_n(c.val + run.begin, run.count, to);
        });
      });
}

} // namespace tulle

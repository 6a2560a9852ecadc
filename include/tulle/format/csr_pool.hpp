// SPDX-License-Identifier: Apache-2.0

/// CSR in a pool: a row is a few segments of one pool, filled one after the other, with room after
/// the last. The rows of a dynamic_csr whose pool is one chunk, between two batches.
///
///     1 . 2 .      segments = 2    length     -3 1 1 -4
///     . 3 . .                      in_group   7
///     . . . 4                      begin      0 1 2 3     5   7 8 9
///     5 6 7 .                      end        1 2 3 5     7   8 9 11
///                                  col        0 1 3 0 1   2 - - - 2 -
///                                  val        1 3 4 5 6   2 0 0 0 7 0
///
/// Good for   measuring what room and segments cost, with the kernel of dynamic_csr; only that one
/// inserts.
/// Bad for    fixed patterns: room and tables take bytes that csr does not need.
/// Space      (V + I) * places + (2 O * segments + I) * rows + O * rows / 256; places are nnz and
/// for each row factor * length + plus.
/// From       King et al., Efficient SpMM using Dynamic-CSR on GPUs, sec. 3.1. Unlike the paper,
/// slack depends on the length of a row.
///
/// -3 is ~2: two entries, of which some are beyond the first segment. `begin` and `end` are the
/// first segments of all rows, then the second ones; - is room.
///
/// Invariants (validate() checks all of them)
///   1 <= segments <= 8; segments lie within the pool, and none overlaps another
///   a row has no more entries than room; its length is inverted if its first segment has less
///   0 <= col[p] < cols where a row has an entry, ascending within it; room is not looked at
///   in_group has the entries of 256 rows each; together nnz
#pragma once
#include "tulle/dynamic/dynamic_view.hpp"
#include "tulle/format/csr.hpp"

namespace tulle {

template <class V, class I = std::int32_t, class O = I, space S = space::host>
struct csr_pool_view {
  using value = V;
  using index = I;
  using offset = O;

  I rows = 0;
  I cols = 0;
  O nnz = 0;
  O places = 0;                ///< of the pool
  int segments = 1;            ///< of a row
  I const* length = nullptr;   ///< rows
  O const* in_group = nullptr; ///< groups()
  O const* begin = nullptr;    ///< segments * rows
  O const* end = nullptr;      ///< segments * rows
  I const* col = nullptr;      ///< places
  V const* val = nullptr;      ///< places
  std::uint64_t serial = 0;    ///< of the owner's pattern; 0: borrowed arrays

  csr_pool_view() = default;
  csr_pool_view(unchecked_t, I rows_, I cols_, O nnz_, O places_, int segments_, I const* length_,
                O const* in_group_, O const* begin_, O const* end_, I const* col_, V const* val_)
      : rows(rows_), cols(cols_), nnz(nnz_), places(places_), segments(segments_), length(length_),
        in_group(in_group_), begin(begin_), end(end_), col(col_), val(val_) {}
  /// Borrows the caller's arrays after checking every invariant, once: O(rows + places).
  csr_pool_view(I rows, I cols, int segments, std::span<I const> length,
                std::span<O const> in_group, std::span<O const> begin, std::span<O const> end,
                std::span<I const> col, std::span<V const> val) requires(S == space::host);

  std::size_t groups() const {
    return (static_cast<std::size_t>(rows) + group_rows - 1) / group_rows;
  }

  /// f(name, pointer, size) for each array.
  template <class F>
  void arrays(F&& f) const {
    auto const table = static_cast<std::size_t>(segments) * static_cast<std::size_t>(rows);
    f("length", length, static_cast<std::size_t>(rows));
    f("in_group", in_group, groups());
    f("begin", begin, table);
    f("end", end, table);
    f("col", col, static_cast<std::size_t>(places));
    f("val", val, static_cast<std::size_t>(places));
  }

  /// The pool, for as_dynamic().
  [[gnu::always_inline]] dynamic_page<V, I> page() const {
    return {const_cast<I*>(col), const_cast<V*>(val)};
  }
  /// As dynamic matrices look at theirs; nobody writes through it. The page must outlive it.
  [[gnu::always_inline]] dynamic_view<V, I, O> as_dynamic(dynamic_page<V, I> const& page) const {
    dynamic_view<V, I, O> a{};
    a.rows = rows;
    a.cols = cols;
    a.entries = nnz;
    a.shift = 62; // one page
    a.length = length;
    a.in_group = in_group;
    for (int s = 0; s < segments; ++s) {
      a.begin[s] = begin + static_cast<std::size_t>(s) * static_cast<std::size_t>(rows);
      a.end[s] = end + static_cast<std::size_t>(s) * static_cast<std::size_t>(rows);
    }
    a.pages = &page;
    return a;
  }

  void validate() const;
  csr<V, I, O> to_csr(cpu const& where = {}) const;
};

/// Room as dynamic_options has it by default.
struct csr_pool_options {
  int segments = 1; ///< that a row is cut into, at most 8
  double factor = .12;
  int plus = 1;

  template <class F>
  void fields(F&& f) {
    f("segments", segments);
    f("factor", factor);
    f("plus", plus);
  }
  static constexpr char const* drawn = "segments=2";
  static constexpr char const* variants[] = {"segments=2", "segments=8:plus=0", "factor=0:plus=0"};
};

template <class V, class I = std::int32_t, class O = I>
struct csr_pool {
  using options = csr_pool_options;

  I rows = 0;
  I cols = 0;
  O nnz = 0;
  int segments = 1;
  array<I> length;
  array<O> in_group;
  array<O> begin;
  array<O> end;
  array<I> col;
  array<V> val;
  detail::serial_number serial; ///< of the pattern

  csr_pool() = default;
  static csr_pool from_csr(csr_view<V, I, O> a, csr_pool_options = {}, cpu const& where = {});
  csr<V, I, O> to_csr(cpu const& where = {}) const {
    return detail::checked(*this, where).to_csr(where);
  }
  /// New values on the same pattern; errc::bad_structure if the pattern differs.
  void refill(csr_view<V, I, O> a, cpu const& where = {});
  csr_pool_view<V, I, O> view() const& {
    return detail::numbered(csr_pool_view<V, I, O>{unchecked, rows, cols, nnz,
                                                   static_cast<O>(val.size()), segments,
                                                   length.data(), in_group.data(), begin.data(),
                                                   end.data(), col.data(), val.data()},
                            serial);
  }
  void view() const&& = delete; // it would dangle
  void validate() const;
  std::size_t bytes() const { return detail::bytes_of(view()); }
  /// f(arrays...), all of them in the order of the view's.
  template <class M, class F>
  static void members(M& m, F&& f) {
    f(m.length, m.in_group, m.begin, m.end, m.col, m.val);
  }
  friend bool operator==(csr_pool const&, csr_pool const&) = default;
};

} // namespace tulle

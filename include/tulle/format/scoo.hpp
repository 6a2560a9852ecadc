// SPDX-License-Identifier: Apache-2.0

/// SCOO, sliced coo: slices of `height` rows, the entries of each by column, with their row within
/// the slice.
///
///     1 . 2 .      height = 2     slice_ptr   0       3         7
///     . 3 . .                     row         0 1 0   1 1 1 0
///     . . . 4                     col         0 1 2   0 1 2 3
///     5 6 7 .                     val         1 3 2   5 6 7 4
///
/// Good for   rows that share columns far apart: a slice reads x in order, and each column once.
/// Bad for    long rows: each entry adds to a sum in memory, where csr keeps it in a register.
/// Space      (V + I + 2) * nnz + O * (slices + 1).
/// From       Liu, thesis 2015, sec. 5.4.2; Dang & Schmidt, J. Supercomputing 63, 2013. Unlike
/// theirs, all slices have the same height, rows take 16 bits, and no sum is taken by atomics.
///
/// Invariants (validate() checks all of them)
///   1 <= height <= 4096
///   slice_ptr[0] == 0, non-decreasing, last == nnz
///   row[k] is below height, and in the last slice below what is left of rows; 0 <= col[k] < cols
///   a slice ascends by column, then by row: no duplicates
#pragma once
#include "tulle/format/detail/strips.hpp"

namespace tulle {

template <class V, class I = std::int32_t, class O = I, space S = space::host>
struct scoo_view {
  using value = V;
  using index = I;
  using offset = O;

  I rows = 0;
  I cols = 0;
  O nnz = 0;
  int height = 1;                     ///< rows of a slice
  O const* slice_ptr = nullptr;       ///< slices + 1; may be null when rows == 0
  std::uint16_t const* row = nullptr; ///< nnz: within the slice
  I const* col = nullptr;             ///< nnz
  V const* val = nullptr;             ///< nnz
  std::uint64_t serial = 0;           ///< of the owner's pattern; 0: borrowed arrays

  scoo_view() = default;
  scoo_view(unchecked_t, I rows, I cols, O nnz, int height, O const* slice_ptr,
            std::uint16_t const* row, I const* col, V const* val)
      : rows(rows), cols(cols), nnz(nnz), height(height), slice_ptr(slice_ptr), row(row), col(col),
        val(val) {}
  /// Borrows the caller's arrays after checking every invariant, once: O(rows + nnz).
  scoo_view(I rows, I cols, int height, std::span<O const> slice_ptr,
            std::span<std::uint16_t const> row, std::span<I const> col,
            std::span<V const> val) requires(S == space::host);

  std::size_t slices() const {
    return detail::pieces(static_cast<std::size_t>(rows), static_cast<std::size_t>(height));
  }

  /// f(name, pointer, size) for each array.
  template <class F>
  void arrays(F&& f) const {
    f("slice_ptr", slice_ptr, slice_ptr || rows > 0 ? slices() + 1 : 0);
    f("row", row, static_cast<std::size_t>(nnz));
    f("col", col, static_cast<std::size_t>(nnz));
    f("val", val, static_cast<std::size_t>(nnz));
  }

  void validate() const;
  csr<V, I, O> to_csr(cpu const& where = {}) const;
};

// ms of a product, two threads of Zen 4, slices of 32, 64, 128, 256, 512 and 4096 rows: poisson2d5
// 2000 11.5, 11.8, 12.9, 14.5, 15.4, 13.4; fem 60000 1.89, 1.81, 1.73, 1.69, 2.20, 3.63; lattice
// 500000 1.11, 1.14, 1.23, 1.35, 1.39, 1.32; rmat 18 2.95, 2.86, 2.82, 2.77, 2.82, 4.13.
struct scoo_options {
  int rows = 128; ///< of a slice, 1 to 4096

  template <class F>
  void fields(F&& f) {
    f("rows", rows);
  }
  static constexpr char const* variants[] = {"rows=1", "rows=3", "rows=4096"};
  static constexpr char const* drawn = "rows=2";
  static constexpr char const* on_cuda = "rows=64";
};

template <class V, class I = std::int32_t, class O = I>
struct scoo {
  using options = scoo_options;

  I rows = 0;
  I cols = 0;
  int height = 1;
  array<O> slice_ptr;
  array<std::uint16_t> row;
  array<I> col;
  array<V> val;
  detail::serial_number serial; ///< of the pattern

  scoo() = default;
  static scoo from_csr(csr_view<V, I, O> a, scoo_options = {}, cpu const& where = {});
  csr<V, I, O> to_csr(cpu const& where = {}) const {
    return detail::checked(*this, where).to_csr(where);
  }
  /// New values on the same pattern; errc::bad_structure if the pattern differs.
  void refill(csr_view<V, I, O> a, cpu const& where = {});
  scoo_view<V, I, O> view() const& {
    return detail::numbered(scoo_view<V, I, O>{unchecked, rows, cols, static_cast<O>(val.size()),
                                               height, slice_ptr.data(), row.data(), col.data(),
                                               val.data()},
                            serial);
  }
  void view() const&& = delete; // it would dangle
  void validate() const { scoo_view<V, I, O>(rows, cols, height, slice_ptr, row, col, val); }
  std::size_t bytes() const { return detail::bytes_of(view()); }
  /// f(arrays...), all of them in the order of the view's.
  template <class M, class F>
  static void members(M& m, F&& f) {
    f(m.slice_ptr, m.row, m.col, m.val);
  }
  friend bool operator==(scoo const&, scoo const&) = default;
};

namespace detail {

constexpr int most_slice_rows = 4096; // whose sums fit a first-level cache, and shared memory

/// f(s) for each slice, in parallel.
template <class View, class F>
void each_slice(View const& a, cpu const& where, F&& f) {
  if (a.nnz == 0)
    return;
  int const parts = parts_for(static_cast<std::size_t>(a.nnz), where.threads);
  parallel(parts, [&](int part) {
    std::size_t const end = split_by_entries(a.slice_ptr, a.slices(), part + 1, parts);
    for (std::size_t s = split_by_entries(a.slice_ptr, a.slices(), part, parts); s < end; ++s)
      f(s);
  });
}

/// f(k, position in csr) for each entry of slice s, in the order stored; row_ptr is that of csr.
/// Returns whether its rows are as long as there; where not, positions lead outside of them.
template <class View, class O, class F>
bool walk_slice(View const& a, std::size_t s, O const* row_ptr, F&& f) {
  auto const h = static_cast<std::size_t>(a.height);
  std::size_t const rows = std::min(h, static_cast<std::size_t>(a.rows) - s * h);
  O next[most_slice_rows];
  std::copy_n(row_ptr + s * h, rows, next);
  for (O k = a.slice_ptr[s]; k < a.slice_ptr[s + 1]; ++k)
    f(k, next[a.row[k]]++);
  return same(next, row_ptr + s * h + 1, rows);
}

inline void check_slice_rows(scoo_options const& o) {
  if (o.rows < 1 || o.rows > most_slice_rows)
    fail(errc::unsupported, "scoo: option rows is %d, expected 1 to %d", o.rows, most_slice_rows);
}

} // namespace detail

template <class V, class I, class O, space S>
scoo_view<V, I, O, S>::scoo_view(I rows, I cols, int height, std::span<O const> slice_ptr,
                                 std::span<std::uint16_t const> row, std::span<I const> col,
                                 std::span<V const> val) requires(S == space::host)
    : rows(rows), cols(cols), nnz(narrow<O>(val.size(), "number of entries")), height(height),
      slice_ptr(slice_ptr.data()), row(row.data()), col(col.data()), val(val.data()) {
  detail::check_shape("scoo", rows, cols);
  if (height >= 1 && slice_ptr.size() != slices() + 1 && !(rows == 0 && slice_ptr.empty()))
    fail(errc::bad_structure, "scoo: %zu pointers for %zu slices, expected one more",
         slice_ptr.size(), slices());
  if (row.size() != val.size() || col.size() != val.size())
    fail(errc::bad_structure, "scoo: %zu rows, %zu columns, %zu values", row.size(), col.size(),
         val.size());
  validate();
}

template <class V, class I, class O, space S>
void scoo_view<V, I, O, S>::validate() const {
  detail::check_shape("scoo", rows, cols);
  if (height < 1 || height > detail::most_slice_rows)
    fail(errc::bad_structure, "scoo: slices of %d rows, expected 1 to %d", height,
         detail::most_slice_rows);
  auto const n = static_cast<std::size_t>(nnz);
  detail::check_pointers("scoo: slice_ptr", slice_ptr, slices(), nnz);
  detail::check_present("scoo: row", row, n);
  detail::check_indices("scoo: col", col, n, cols);
  detail::check_present("scoo: val", val, n);
  detail::each_slice(*this, {}, [&](std::size_t s) {
    auto const h = static_cast<std::size_t>(height);
    std::size_t const here = std::min(h, static_cast<std::size_t>(rows) - s * h);
    for (O k = slice_ptr[s]; k < slice_ptr[s + 1]; ++k) {
      if (row[k] >= here)
        fail(errc::bad_structure, "scoo: row[%lld] is %d, but slice %zu has %zu rows",
             static_cast<long long>(k), row[k], s, here);
      if (k != slice_ptr[s] &&
          (col[k] < col[k - 1] || (col[k] == col[k - 1] && row[k] <= row[k - 1])))
        fail(errc::bad_structure, "scoo: row %d, column %lld of slice %zu is out of order at %lld",
             row[k], static_cast<long long>(col[k]), s, static_cast<long long>(k));
    }
  });
}

template <class V, class I, class O, space S>
csr<V, I, O> scoo_view<V, I, O, S>::to_csr(cpu const& where) const {
  auto const n = static_cast<std::size_t>(rows);
  auto const entries = static_cast<std::size_t>(nnz);
  csr<V, I, O> c(unchecked, rows, cols, array<O>(n + 1, O(0), where.memory),
                 array<I>(entries, where.memory), array<V>(entries, where.memory));
  detail::each_slice(*this, where, [&](std::size_t s) {
    O* const length = c.row_ptr.data() + s * static_cast<std::size_t>(height) + 1;
    for (O k = slice_ptr[s]; k < slice_ptr[s + 1]; ++k)
      ++length[row[k]];
  });
  for (std::size_t i = 0; i < n; ++i)
    c.row_ptr[i + 1] = static_cast<O>(c.row_ptr[i + 1] + c.row_ptr[i]);
  detail::each_slice(*this, where, [&](std::size_t s) {
    detail::walk_slice(*this, s, c.row_ptr.data(), [&](O k, O to) {
      c.col[to] = col[k];
      c.val[to] = val[k];
    });
  });
  return c;
}

template <class V, class I, class O>
scoo<V, I, O> scoo<V, I, O>::from_csr(csr_view<V, I, O> a, scoo_options o, cpu const& where) {
  detail::check_slice_rows(o);
  detail::canonical<V, I, O> const canon(a, where);
  csr_view<V, I, O> const& c = canon.view;
  auto const n = static_cast<std::size_t>(c.rows);
  auto const entries = static_cast<std::size_t>(c.nnz);
  auto const h = static_cast<std::size_t>(o.rows);
  scoo b;
  b.rows = c.rows;
  b.cols = c.cols;
  b.height = o.rows;
  std::size_t const slices = b.view().slices();
  b.slice_ptr = array<O>(slices + 1, where.memory);
  b.slice_ptr[0] = 0;
  std::size_t longest = 0;
  for (std::size_t s = 0; s < slices; ++s) {
    b.slice_ptr[s + 1] = c.row_ptr[std::min(n, (s + 1) * h)];
    longest = std::max(longest, static_cast<std::size_t>(b.slice_ptr[s + 1] - b.slice_ptr[s]));
  }
  b.row = array<std::uint16_t>(entries, where.memory);
  b.col = array<I>(entries, where.memory);
  b.val = array<V>(entries, where.memory);
  if (entries == 0)
    return b;
  struct entry {
    V val;
    I col;
    std::uint16_t row;
  };
  int const parts = detail::parts_for(entries, where.threads);
  array<entry> scratch(checked_mul(2 * longest, static_cast<std::size_t>(parts), "scoo"),
                       where.memory);
  detail::parallel(parts, [&](int part) {
    entry* const mine = scratch.data() + 2 * longest * static_cast<std::size_t>(part);
    std::size_t const end = detail::split_by_entries(b.slice_ptr.data(), slices, part + 1, parts);
    for (std::size_t s = detail::split_by_entries(b.slice_ptr.data(), slices, part, parts); s < end;
         ++s) {
      entry* to = mine;
      I most = 0;
      for (std::size_t i = s * h; i < std::min(n, (s + 1) * h); ++i)
        for (O k = c.row_ptr[i]; k < c.row_ptr[i + 1]; ++k) {
          *to++ = {c.val[k], c.col[k], static_cast<std::uint16_t>(i - s * h)};
          most = std::max(most, c.col[k]);
        }
      entry const* from =
          detail::sort_by_column<O>(mine, mine + longest, static_cast<std::size_t>(to - mine), I(0),
                                    most, [](entry const& e) { return e.col; });
      for (O k = b.slice_ptr[s]; k < b.slice_ptr[s + 1]; ++k, ++from) {
        b.row[k] = from->row;
        b.col[k] = from->col;
        b.val[k] = from->val;
      }
    }
  });
  return b;
}

template <class V, class I, class O>
void scoo<V, I, O>::refill(csr_view<V, I, O> a, cpu const& where) {
  detail::check_arrays("scoo", *this);
  scoo_view<V, I, O> const b = view();
  detail::refill_if(
      "scoo", rows, cols, b.nnz, a, where,
      [&](csr_view<V, I, O> const& c) {
        bool good = true;
        detail::each_slice(b, where, [&](std::size_t s) {
          I other = 0; // no branch an entry
          auto const compare = [&, last = static_cast<O>(b.nnz - 1)](O k, O from) {
            other |= static_cast<I>(c.col[std::min(from, last)] ^ b.col[k]);
          };
          if (!detail::walk_slice(b, s, c.row_ptr, compare) || other != 0)
            __atomic_store_n(&good, false, __ATOMIC_RELAXED);
        });
        return good;
      },
      [&](csr_view<V, I, O> const& c) {
        detail::each_slice(b, where, [&](std::size_t s) {
          detail::walk_slice(b, s, c.row_ptr,
                             [to = val.data(), &c](O k, O from) { to[k] = c.val[from]; });
        });
      });
}

} // namespace tulle

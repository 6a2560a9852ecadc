// SPDX-License-Identifier: Apache-2.0

/// CSR, compressed sparse rows: the entries row by row, and where each row begins. The hub of all
/// conversions.
///
///     1 . 2 .      row_ptr   0     2   3   4       7
///     . 3 . .      col       0 2   1   3   0 1 2
///     . . . 4      val       1 2   3   4   5 6 7
///     5 6 7 .
///
/// Good for   everything, a little; every library speaks it.
/// Bad for    short rows on wide SIMD; 4 bytes of index for 8 of value are a third of the traffic.
/// Space      (V + I) * nnz + O * (rows + 1).
/// From       Liu, thesis 2015, sec. 5.2.4; Kirk & Hwu, Programming Massively Parallel Processors,
/// sec. 10.1.
///
/// Invariants (validate() checks all of them)
///   row_ptr[0] == 0, non-decreasing, last == nnz
///   0 <= col[k] < cols; any order within a row, duplicates mean their sum
#pragma once
#include "tulle/core/array.hpp"
#include "tulle/core/parallel.hpp"
#include "tulle/core/serial.hpp"
#include "tulle/core/space.hpp"
#include "tulle/core/where.hpp"
#include "tulle/format/detail/arrays.hpp"
#include "tulle/format/detail/lent.hpp"

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <span>

namespace tulle {

/// Says that arrays are known to be valid, so that a view is made of them without looking.
struct unchecked_t {};
inline constexpr unchecked_t unchecked{};

template <class V, class I, class O>
struct csr;

template <class V, class I = std::int32_t, class O = I, space S = space::host>
struct csr_view {
  using value = V;
  using index = I;
  using offset = O;

  I rows = 0;
  I cols = 0;
  O nnz = 0;
  O const* row_ptr = nullptr; ///< rows + 1; may be null when rows == 0
  I const* col = nullptr;     ///< nnz
  V const* val = nullptr;     ///< nnz
  std::uint64_t serial = 0;   ///< of the owner's pattern; 0: borrowed arrays

  csr_view() = default;
  csr_view(unchecked_t, I rows, I cols, O nnz, O const* row_ptr, I const* col, V const* val)
      : rows(rows), cols(cols), nnz(nnz), row_ptr(row_ptr), col(col), val(val) {}
  /// Borrows the caller's arrays after checking every invariant, once: O(rows + nnz). An array is a
  /// container, a span, a C array or a pointer (row_ptr then says how many entries there are), and
  /// its integers may be of another type as wide: csr_from() copies others. A temporary is refused.
  template <std::integral R, std::integral C>
  csr_view(R row_count, C col_count, detail::lent<O> pointers, detail::lent<I> indices,
           detail::lent<V> values) requires(S == space::host)
      : rows(narrow<I>(row_count, "csr: the number of rows")),
        cols(narrow<I>(col_count, "csr: the number of columns")),
        nnz(detail::lent_entries<O>("csr", rows, cols, rows, pointers, indices, values)),
        row_ptr(pointers.data()), col(indices.data()), val(values.data()) {
    validate();
  }
  /// The same of so many entries, for pointers.
  template <std::integral R, std::integral C, std::integral N>
  csr_view(R row_count, C col_count, N entries, detail::lent<O> pointers, detail::lent<I> indices,
           detail::lent<V> values) requires(S == space::host)
      : csr_view(row_count, col_count, pointers, indices.of(entries), values.of(entries)) {}
  /// What an owner's view() is.
  csr_view(csr<V, I, O> const& a) requires(S == space::host);
  csr_view(csr<V, I, O> const&& a) requires(S == space::host) = delete;

  /// f(name, pointer, size) for each array.
  template <class F>
  void arrays(F&& f) const {
    f("row_ptr", row_ptr, row_ptr || rows > 0 ? static_cast<std::size_t>(rows) + 1 : 0);
    f("col", col, static_cast<std::size_t>(nnz));
    f("val", val, static_cast<std::size_t>(nnz));
  }

  /// Throws errc::bad_structure naming the first broken invariant.
  void validate(cpu const& where = {}) const;
  /// Rows sorted, no duplicates.
  bool is_canonical(cpu const& where = {}) const;
  /// The same matrix with rows sorted and duplicates summed in the order they were stored.
  csr<V, I, O> to_csr(cpu const& where = {}) const;
};

/// Of the caller's arrays, in the built types that they are or that are as wide.
template <class R, class C, detail::lends_array P, detail::lends_array J, detail::lends_array W>
csr_view(R, C, P const&, J const&, W const&)
    -> csr_view<detail::lent_element<W>, detail::lent_index<J>, detail::lent_index<P>>;
template <class R, class C, class N, detail::lends_array P, detail::lends_array J,
          detail::lends_array W>
csr_view(R, C, N, P const&, J const&, W const&)
    -> csr_view<detail::lent_element<W>, detail::lent_index<J>, detail::lent_index<P>>;

struct csr_options {};

template <class V, class I = std::int32_t, class O = I>
struct csr {
  using options = csr_options;

  I rows = 0;
  I cols = 0;
  array<O> row_ptr;
  array<I> col;
  array<V> val;
  detail::serial_number serial; ///< of the pattern

  csr() = default;
  /// Takes arrays over after checking every invariant.
  csr(I rows, I cols, array<O> row_ptr, array<I> col, array<V> val);
  csr(unchecked_t, I rows, I cols, array<O> row_ptr, array<I> col, array<V> val)
      : rows(rows), cols(cols), row_ptr(std::move(row_ptr)), col(std::move(col)),
        val(std::move(val)) {}

  static csr from_csr(csr_view<V, I, O> a, csr_options = {}, cpu const& where = {});
  csr to_csr(cpu const& where = {}) const { return detail::checked(*this, where).to_csr(where); }
  /// New values on the same pattern; errc::bad_structure if the pattern differs.
  void refill(csr_view<V, I, O> a, cpu const& where = {});
  csr_view<V, I, O> view() const& {
    return detail::numbered(csr_view<V, I, O>{unchecked, rows, cols, static_cast<O>(col.size()),
                                              row_ptr.data(), col.data(), val.data()},
                            serial);
  }
  void view() const&& = delete; // it would dangle
  void validate(cpu const& where = {}) const;
  std::size_t bytes() const { return detail::bytes_of(view()); }
  /// f(arrays...), all of them in the order of the view's.
  template <class M, class F>
  static void members(M& m, F&& f) {
    f(m.row_ptr, m.col, m.val);
  }
  friend bool operator==(csr const&, csr const&) = default;
};

namespace detail {

/// A view of the canonical form of a: of a itself where that is canonical, of a sorted copy where
/// it is not. Conversions start here, so that a format sees canonical rows only.
template <class V, class I, class O>
struct canonical {
  csr<V, I, O> copy;
  csr_view<V, I, O> view;

  canonical(csr_view<V, I, O> a, cpu const& where) : view(a) {
    a.validate(where);
    if (!a.is_canonical(where)) {
      copy = a.to_csr(where);
      view = copy.view();
    }
  }
};

template <class I>
void check_shape(char const* name, I rows, I cols) {
  if (rows < 0 || cols < 0)
    fail(errc::bad_structure, "%s: %lld rows and %lld columns; neither may be negative", name,
         static_cast<long long>(rows), static_cast<long long>(cols));
}

/// Positions where a sequence goes down; `strictly`: where it does not go up. In stretches whose
/// count fits a T, so that a vector counts in each of its lanes.
template <bool strictly = false, class T>
std::size_t descents(T const* p, std::size_t n) {
  std::size_t sum = 0;
  for (std::size_t k = 1; k < n;) {
    std::size_t const end = std::min(n, k + 4096);
    T here = 0;
    for (; k < end; ++k)
      here = static_cast<T>(here + (strictly ? p[k] <= p[k - 1] : p[k] < p[k - 1]));
    sum += static_cast<std::size_t>(here);
  }
  return sum;
}

/// The first of entries [begin, end), whose indices ascend, from index i on. Most lines of a band
/// lie on one side of i.
template <class I, class O>
O first_from(I const* index, O begin, O end, I i) {
  if (begin == end || index[end - 1] < i)
    return end;
  if (index[begin] >= i)
    return begin;
  return static_cast<O>(std::lower_bound(index + begin, index + end, i) - index);
}

/// ptr[0..n] starts at 0, does not decrease, ends at nnz.
template <class O>
void check_pointers(char const* name, O const* ptr, std::size_t n, O nnz) {
  if (ptr == nullptr) {
    if (n != 0 || nnz != 0)
      fail(errc::bad_structure, "%s is null, but it has %zu lines and %lld entries", name, n,
           static_cast<long long>(nnz));
    return;
  }
  if (ptr[0] != 0)
    fail(errc::bad_structure, "%s[0] is %lld, expected 0", name, static_cast<long long>(ptr[0]));
  if (descents(ptr, n + 1) != 0)
    for (std::size_t i = 0; i < n; ++i)
      if (ptr[i + 1] < ptr[i])
        fail(errc::bad_structure, "%s decreases from %lld to %lld at %zu", name,
             static_cast<long long>(ptr[i]), static_cast<long long>(ptr[i + 1]), i + 1);
  if (ptr[n] != nnz)
    fail(errc::bad_structure, "%s ends at %lld but there are %lld entries", name,
         static_cast<long long>(ptr[n]), static_cast<long long>(nnz));
}

/// An array of n elements is there.
inline void check_present(char const* name, void const* p, std::size_t n) {
  if (p == nullptr && n != 0)
    fail(errc::bad_structure, "%s is null, but there are %zu entries", name, n);
}

/// 0 <= index[k] < limit.
template <class I>
void check_indices(char const* name, I const* index, std::size_t n, I limit, int threads = 0) {
  check_present(name, index, n);
  int const parts = parts_for(n, threads, 1 << 18);
  parallel(parts, [&](int part) {
    std::size_t const end = split(n, part + 1, parts);
    I outside = 0; // no branch an index: it goes by vectors
    for (std::size_t k = split(n, part, parts); k < end; ++k)
      outside = static_cast<I>(outside | (index[k] < 0) | (index[k] >= limit));
    if (outside != 0)
      for (std::size_t k = split(n, part, parts); k < end; ++k)
        if (index[k] < 0 || index[k] >= limit)
          fail(errc::bad_structure, "%s[%zu] is %lld, outside [0, %lld)", name, k,
               static_cast<long long>(index[k]), static_cast<long long>(limit));
  });
}

/// No index, all of them checked, is there twice. Memory follows n, however large the limit is.
template <class I>
void check_distinct(char const* name, I const* index, std::size_t n, I limit) {
  auto const twice = [name](I i) {
    fail(errc::bad_structure, "%s %lld twice", name, static_cast<long long>(i));
  };
  if (static_cast<std::size_t>(limit) / 64 <= n) {
    array<std::uint8_t> seen(static_cast<std::size_t>(limit), std::uint8_t(0));
    for (std::size_t k = 0; k < n; ++k)
      if (seen[static_cast<std::size_t>(index[k])]++)
        twice(index[k]);
    return;
  }
  array<I> sorted(index, n);
  std::sort(sorted.begin(), sorted.end());
  if (I const* const at = std::adjacent_find(sorted.begin(), sorted.end()); at != sorted.end())
    twice(*at);
}

/// Arrays that belong together have sizes that fit; returns nnz as an O.
template <class O, class I>
O check_sizes(char const* name, std::size_t pointers, I rows, std::size_t indices,
              std::size_t values) {
  if (pointers != static_cast<std::size_t>(rows) + 1 && !(rows == 0 && pointers == 0))
    fail(errc::bad_structure, "%s: %zu pointers for %lld rows or columns, expected one more", name,
         pointers, static_cast<long long>(rows));
  if (indices != values)
    fail(errc::bad_structure, "%s: %zu indices but %zu values", name, indices, values);
  return narrow<O>(values, "number of entries");
}

[[noreturn]] inline void refill_mismatch(char const* name) {
  fail(errc::bad_structure, "%s: refill with another pattern; build a new matrix instead", name);
}

/// New values for a format of that shape: fill(c) where is(c) says that c, the canonical form of a,
/// has its pattern. is() may be given any columns, but never row_ptr that lead outside of them.
/// refuse(c) may throw something better than a mismatch.
template <class V, class I, class O, class Is, class Fill,
          class Refuse = void (*)(csr_view<V, I, O> const&)>
void refill_if(
    char const* name, I rows, I cols, O nnz, csr_view<V, I, O> const& a, cpu const& where,
    Is const& is, Fill const& fill, Refuse const& refuse = [](csr_view<V, I, O> const&) {}) {
  auto const fits = [&](csr_view<V, I, O> const& c) {
    return c.rows == rows && c.cols == cols && c.nnz == nnz && is(c);
  };
  // What equals a canonical pattern is canonical: that is a pass over the columns, where to ask
  // whether they are in range and ascend takes two more.
  check_shape("csr", a.rows, a.cols);
  check_pointers("csr: row_ptr", a.row_ptr, static_cast<std::size_t>(a.rows), a.nnz);
  check_present("csr: col", a.col, static_cast<std::size_t>(a.nnz));
  check_present("csr: val", a.val, static_cast<std::size_t>(a.nnz));
  if (fits(a))
    return fill(a);
  canonical<V, I, O> const c(a, where);
  if (!fits(c.view)) {
    refuse(c.view);
    refill_mismatch(name);
  }
  fill(c.view);
}

/// to[0, n) = from[0, n) by all threads, past the caches where that is much.
template <class V>
void copy_values(V const* from, std::size_t n, V* to, cpu const& where) {
  int const parts = parts_for(n, where.threads);
  bool const past = n * sizeof(V) >= past_caches_from;
  if (n != 0)
    parallel(parts, [&](int part) {
      std::size_t const k = split(n, part, parts);
      std::size_t const count = split(n, part + 1, parts) - k;
      if (!past) {
        std::copy_n(from + k, count, to + k);
        return;
      }
      copy_past_caches(from + k, count, to + k);
      after_stores();
    });
}

/// The same where the pattern is row_ptr and col and the values go to val.
template <class V, class I, class O>
void refill_rows(char const* name, I rows, I cols, O nnz, csr_view<V, I, O> const& a,
                 O const* row_ptr, I const* col, V* val, cpu const& where) {
  auto const n = static_cast<std::size_t>(nnz);
  int const parts = parts_for(n, where.threads);
  refill_if(
      name, rows, cols, nnz, a, where,
      [&](csr_view<V, I, O> const& c) {
        bool good = c.rows == 0 || same(c.row_ptr, row_ptr, static_cast<std::size_t>(c.rows) + 1);
        if (good)
          parallel(parts, [&](int part) {
            std::size_t const k = split(n, part, parts);
            if (!same(c.col + k, col + k, split(n, part + 1, parts) - k))
              __atomic_store_n(&good, false, __ATOMIC_RELAXED);
          });
        return good;
      },
      [&](csr_view<V, I, O> const& c) { copy_values(c.val, n, val, where); });
}

/// Sorts each row of a by (column, position) in scratch of its own length, and adds up equal
/// columns in place of the row. c has room for all entries: row i stays where it was in a, and
/// c.row_ptr says how many are left.
template <class V, class I, class O>
void sort_rows(csr_view<V, I, O> const& a, csr<V, I, O>& c, cpu const& where) {
  auto const n = static_cast<std::size_t>(a.rows);
  auto const* const row_ptr = a.row_ptr;
  auto const* const col = a.col;
  auto const* const val = a.val;
  int const parts = parts_for(static_cast<std::size_t>(a.nnz) + n, where.threads);
  O longest = 0;
  for (std::size_t i = 0; i < n; ++i)
    longest = std::max<O>(longest, row_ptr[i + 1] - row_ptr[i]);
  array<O> order(static_cast<std::size_t>(longest) * static_cast<std::size_t>(parts), where.memory);
  c.row_ptr[0] = 0;
  parallel(parts, [&](int part) {
    O* const scratch =
        order.data() + static_cast<std::size_t>(part) * static_cast<std::size_t>(longest);
    std::size_t const end = split_by_entries(row_ptr, n, part + 1, parts);
    for (std::size_t i = split_by_entries(row_ptr, n, part, parts); i < end; ++i) {
      O const first = row_ptr[i];
      O const length = row_ptr[i + 1] - first;
      for (O k = 0; k < length; ++k)
        scratch[k] = static_cast<O>(first + k);
      std::sort(scratch, scratch + length,
                [&](O p, O q) { return col[p] != col[q] ? col[p] < col[q] : p < q; });
      O at = first;
      for (O k = 0; k < length; ++k) {
        I const j = col[scratch[k]];
        V const v = val[scratch[k]];
        if (at != first && c.col[at - 1] == j) {
          c.val[at - 1] += v;
        } else {
          c.col[at] = j;
          c.val[at] = v;
          ++at;
        }
      }
      c.row_ptr[i + 1] = static_cast<O>(at - first);
    }
  });
  for (std::size_t i = 0; i < n; ++i)
    c.row_ptr[i + 1] = static_cast<O>(c.row_ptr[i + 1] + c.row_ptr[i]);
}

} // namespace detail

template <class V, class I, class O, space S>
csr_view<V, I, O, S>::csr_view(csr<V, I, O> const& a) requires(S == space::host)
    : csr_view(a.view()) {}

template <class V, class I, class O, space S>
void csr_view<V, I, O, S>::validate(cpu const& where) const {
  detail::check_shape("csr", rows, cols);
  detail::check_pointers("csr: row_ptr", row_ptr, static_cast<std::size_t>(rows), nnz);
  detail::check_indices("csr: col", col, static_cast<std::size_t>(nnz), cols, where.threads);
  detail::check_present("csr: val", val, static_cast<std::size_t>(nnz));
}

template <class V, class I, class O, space S>
bool csr_view<V, I, O, S>::is_canonical(cpu const& where) const {
  if (nnz == 0)
    return true;
  int const parts = detail::parts_for(static_cast<std::size_t>(nnz), where.threads, 1 << 18);
  auto const n = static_cast<std::size_t>(rows);
  // Columns may go down, or stay, from one row to the next alone: as often in all as there.
  std::size_t inside = 0;
  detail::parallel(parts, [&](int part) {
    std::size_t const first = detail::split_by_entries(row_ptr, n, part, parts);
    std::size_t const last = detail::split_by_entries(row_ptr, n, part + 1, parts);
    auto const begin = static_cast<std::size_t>(row_ptr[first]);
    auto const end = static_cast<std::size_t>(row_ptr[last]);
    std::size_t down = detail::descents<true>(col + begin, end - begin);
    for (std::size_t i = first; i < last; ++i) {
      auto const k = static_cast<std::size_t>(row_ptr[i]);
      if (k > begin && k < end && row_ptr[i] != row_ptr[i + 1])
        down -= col[k] <= col[k - 1];
    }
    __atomic_fetch_add(&inside, down, __ATOMIC_RELAXED);
  });
  return inside == 0;
}

template <class V, class I, class O, space S>
csr<V, I, O> csr_view<V, I, O, S>::to_csr(cpu const& where) const {
  auto const n = static_cast<std::size_t>(rows);
  auto const entries = static_cast<std::size_t>(nnz);
  csr<V, I, O> c(unchecked, rows, cols, array<O>(n + 1, where.memory),
                 array<I>(entries, where.memory), array<V>(entries, where.memory));
  int const parts = detail::parts_for(entries + n, where.threads);
  if (is_canonical(where)) {
    if (row_ptr)
      std::copy_n(row_ptr, n + 1, c.row_ptr.data());
    else
      c.row_ptr[0] = 0;
    detail::parallel(parts, [&](int part) {
      std::size_t const k = detail::split(entries, part, parts);
      std::size_t const count = detail::split(entries, part + 1, parts) - k;
      std::copy_n(col + k, count, c.col.data() + k);
      std::copy_n(val + k, count, c.val.data() + k);
    });
    return c;
  }

  detail::sort_rows(*this, c, where);
  auto const kept = static_cast<std::size_t>(c.row_ptr[n]);
  if (kept == entries)
    return c;
  array<I> new_col(kept, where.memory);
  array<V> new_val(kept, where.memory);
  detail::parallel(parts, [&](int part) {
    std::size_t const end = detail::split_by_entries(row_ptr, n, part + 1, parts);
    for (std::size_t i = detail::split_by_entries(row_ptr, n, part, parts); i < end; ++i) {
      O const length = c.row_ptr[i + 1] - c.row_ptr[i];
      std::copy_n(c.col.data() + row_ptr[i], length, new_col.data() + c.row_ptr[i]);
      std::copy_n(c.val.data() + row_ptr[i], length, new_val.data() + c.row_ptr[i]);
    }
  });
  c.col.swap(new_col);
  c.val.swap(new_val);
  return c;
}

template <class V, class I, class O>
csr<V, I, O>::csr(I rows, I cols, array<O> row_ptr, array<I> col, array<V> val)
    : csr(unchecked, rows, cols, std::move(row_ptr), std::move(col), std::move(val)) {
  validate();
}

template <class V, class I, class O>
void csr<V, I, O>::validate(cpu const& where) const {
  detail::check_shape("csr", rows, cols);
  detail::check_sizes<O>("csr", row_ptr.size(), rows, col.size(), val.size());
  view().validate(where);
}

template <class V, class I, class O>
csr<V, I, O> csr<V, I, O>::from_csr(csr_view<V, I, O> a, csr_options, cpu const& where) {
  a.validate(where);
  return a.to_csr(where);
}

template <class V, class I, class O>
void csr<V, I, O>::refill(csr_view<V, I, O> a, cpu const& where) {
  detail::check_arrays("csr", *this);
  detail::refill_rows("csr", rows, cols, view().nnz, a, row_ptr.data(), col.data(), val.data(),
                      where);
}

} // namespace tulle

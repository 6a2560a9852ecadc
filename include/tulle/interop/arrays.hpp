// SPDX-License-Identifier: Apache-2.0

/// Copies matrices from arrays that a view cannot borrow: other integers, indices from 1, values to
/// be converted, or temporaries.
///
///     auto a = tulle::csr_from(rows, cols, row_ptr, col, val, {.base = 1}); // as Fortran counts
///     auto b = tulle::csr_from<float>(rows, cols, row_ptr, col, val);       // of double values
///     auto c = tulle::csr_from<double, std::int64_t>(rows, cols, row_ptr, col, val);
///
/// An array is a container, a span, a C array or a pointer; only col and val may be pointers where
/// nothing else tells their size, since row_ptr says it. Every number is checked as it is copied:
/// errc::bad_structure and errc::overflow name the entry as the caller counts it.
#pragma once
#include "tulle/format/coo.hpp"
#include "tulle/format/csc.hpp"
#include "tulle/format/csr.hpp"

#include <limits>

namespace tulle {

struct from_options {
  int base = 0; ///< what the first row and column are called, and the first entry in row_ptr
};

namespace detail {

template <class V, class W>
using value_or = std::conditional_t<std::is_void_v<V>, lent_element<W>, V>;

/// to[k] = from[k] - base, in [0, last].
template <class To, class From, class Last>
void copy_from_base(char const* name, From const* from, std::size_t n, int base, Last last, To* to,
                    cpu const& where) {
  static_assert(is_number<From>, "indices are integers");
  auto const top = static_cast<std::uint64_t>(last);
  int const parts = parts_for(n, where.threads, 1 << 18);
  parallel(parts, [&](int part) {
    std::size_t const end = split(n, part + 1, parts);
    for (std::size_t k = split(n, part, parts); k < end; ++k) {
      From const v = from[k];
      bool good = std::cmp_greater_equal(v, base);
      // No overflow: v >= base, and the difference fits 64 unsigned bits.
      std::uint64_t const at = static_cast<std::uint64_t>(v) - static_cast<std::uint64_t>(base);
      good = good && at <= top;
      if (!good) {
        auto const most = static_cast<long long>(last) + base;
        if constexpr (std::is_signed_v<From>)
          fail(errc::bad_structure, "%s[%zu] is %lld, expected %d to %lld", name, k,
               static_cast<long long>(v), base, most);
        else
          fail(errc::bad_structure, "%s[%zu] is %llu, expected %d to %lld", name, k,
               static_cast<unsigned long long>(v), base, most);
      }
      to[k] = static_cast<To>(at);
    }
  });
}

template <class V, class From>
array<V> copy_of_values(From const* from, std::size_t n, cpu const& where) {
  array<V> to(n, where.memory);
  int const parts = parts_for(n, where.threads, 1 << 18);
  parallel(parts, [&](int part) {
    std::size_t const end = split(n, part + 1, parts);
    for (std::size_t k = split(n, part, parts); k < end; ++k)
      to[k] = static_cast<V>(from[k]);
  });
  return to;
}

/// Any array as it is given: its element's pointer and size.
template <class A>
lent<lent_element<A>> as_lent(A const& a) {
  return lent<lent_element<A>>(a);
}

/// What csr and csc have in common: pointers of the lines, then indices below `width`.
template <class V, class I, class O>
struct lines_from {
  array<O> ptr;
  array<I> index;
  array<V> val;

  template <class P, class J, class W>
  lines_from(char const* ptr_name, char const* index_name, I lines, I width, lent<P> from_ptr,
             lent<J> from_index, lent<W> from_val, int base, cpu const& where) {
    auto const n = static_cast<std::size_t>(lines);
    from_ptr = from_ptr.or_size(n + 1);
    if (from_ptr.size() != n + 1)
      fail(errc::bad_structure, "%s: %zu pointers for %zu lines, expected one more", ptr_name,
           from_ptr.size(), n);
    if (!from_ptr.data())
      fail(errc::bad_structure, "%s is null", ptr_name);
    ptr = array<O>(n + 1, where.memory);
    O const most = std::numeric_limits<O>::max();
    // What does not fit O is refused here, what is larger than the number of entries below.
    copy_from_base(ptr_name, from_ptr.data(), n + 1, base, most - (base > 0 ? base : 0), ptr.data(),
                   where);
    auto const told = [&](std::size_t i) { return static_cast<long long>(ptr[i]) + base; };
    if (ptr[0] != 0)
      fail(errc::bad_structure, "%s[0] is %lld, expected %d", ptr_name, told(0), base);
    for (std::size_t i = 0; i < n; ++i)
      if (ptr[i + 1] < ptr[i])
        fail(errc::bad_structure, "%s decreases from %lld to %lld at %zu", ptr_name, told(i),
             told(i + 1), i + 1);
    auto const entries = static_cast<std::size_t>(ptr[n]);
    from_index = from_index.or_size(entries);
    from_val = from_val.or_size(entries);
    if (from_index.size() != entries || from_val.size() != entries)
      fail(errc::bad_structure,
           "%s[%zu] leaves %zu entries, but there are %zu indices and %zu "
           "values",
           ptr_name, n, entries, from_index.size(), from_val.size());
    check_present(index_name, from_index.data(), entries);
    check_present("val", from_val.data(), entries);
    index = array<I>(entries, where.memory);
    if (width == 0 && entries != 0)
      fail(errc::bad_structure, "%s has %zu entries, but nowhere to point", index_name, entries);
    if (entries != 0)
      copy_from_base(index_name, from_index.data(), entries, base, width - 1, index.data(), where);
    val = copy_of_values<V>(from_val.data(), entries, where);
  }
};

} // namespace detail

/// The csr of row pointers, columns and values; V is what val holds where it is not named.
template <class V = void, class I = std::int32_t, class O = I, std::integral R, std::integral C,
          detail::lends_array P, detail::lends_array J, detail::lends_array W>
auto csr_from(R rows, C cols, P const& row_ptr, J const& col, W const& val, from_options o = {},
              cpu const& where = {}) {
  using value = detail::value_or<V, W>;
  I const m = narrow<I>(rows, "csr_from: the number of rows");
  I const n = narrow<I>(cols, "csr_from: the number of columns");
  detail::check_shape("csr_from", m, n);
  detail::lines_from<value, I, O> all("csr_from: row_ptr", "csr_from: col", m, n,
                                      detail::as_lent(row_ptr), detail::as_lent(col),
                                      detail::as_lent(val), o.base, where);
  return csr<value, I, O>(unchecked, m, n, std::move(all.ptr), std::move(all.index),
                          std::move(all.val));
}

/// The csc of column pointers, rows and values.
template <class V = void, class I = std::int32_t, class O = I, std::integral R, std::integral C,
          detail::lends_array P, detail::lends_array J, detail::lends_array W>
auto csc_from(R rows, C cols, P const& col_ptr, J const& row, W const& val, from_options o = {},
              cpu const& where = {}) {
  using value = detail::value_or<V, W>;
  I const m = narrow<I>(rows, "csc_from: the number of rows");
  I const n = narrow<I>(cols, "csc_from: the number of columns");
  detail::check_shape("csc_from", m, n);
  detail::lines_from<value, I, O> all("csc_from: col_ptr", "csc_from: row", n, m,
                                      detail::as_lent(col_ptr), detail::as_lent(row),
                                      detail::as_lent(val), o.base, where);
  return csc<value, I, O>(unchecked, m, n, std::move(all.ptr), std::move(all.index),
                          std::move(all.val));
}

/// The coo of rows, columns and values; one of them at least has a size.
template <class V = void, class I = std::int32_t, class O = I, std::integral R, std::integral C,
          detail::lends_array X, detail::lends_array Y, detail::lends_array W>
auto coo_from(R rows, C cols, X const& row, Y const& col, W const& val, from_options o = {},
              cpu const& where = {}) {
  using value = detail::value_or<V, W>;
  I const m = narrow<I>(rows, "coo_from: the number of rows");
  I const n = narrow<I>(cols, "coo_from: the number of columns");
  detail::check_shape("coo_from", m, n);
  auto const i = detail::as_lent(row);
  auto const j = detail::as_lent(col);
  auto const v = detail::as_lent(val);
  auto const count = static_cast<std::size_t>(detail::lent_triplets<std::int64_t>(i, j, v));
  narrow<O>(count, "coo_from: the number of entries");
  detail::check_present("coo_from: row", i.data(), count);
  detail::check_present("coo_from: col", j.data(), count);
  detail::check_present("coo_from: val", v.data(), count);
  if (count != 0 && (m == 0 || n == 0))
    fail(errc::bad_structure, "coo_from: %zu entries in a matrix of %lld x %lld", count,
         static_cast<long long>(m), static_cast<long long>(n));
  array<I> to_row(count, where.memory), to_col(count, where.memory);
  if (count != 0) {
    detail::copy_from_base("coo_from: row", i.data(), count, o.base, m - 1, to_row.data(), where);
    detail::copy_from_base("coo_from: col", j.data(), count, o.base, n - 1, to_col.data(), where);
  }
  return coo<value, I, O>(unchecked, m, n, std::move(to_row), std::move(to_col),
                          detail::copy_of_values<value>(v.data(), count, where));
}

} // namespace tulle

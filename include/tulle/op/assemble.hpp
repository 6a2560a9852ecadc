// SPDX-License-Identifier: Apache-2.0

/// A matrix from triplets, or from small dense matrices with their places (Liu, thesis 2015, sec.
/// 2.2.1).
///
///     auto a = tulle::from_triplets<double>(rows, cols, row, col, val); // duplicates add up
///     auto b = tulle::from_triplets<double>(rows, cols, row, col, val, tulle::combine::last);
///     auto k = tulle::assemble<double>(nodes, nodes, elements);         // finite elements
///
/// Entries of one place are combined in the order given, so the bits are the same for every number
/// of threads. Rows come out sorted. What fails, a combine that throws included, leaves nothing
/// behind.
#pragma once
#include "tulle/core/limited.hpp"
#include "tulle/format/detail/compress.hpp"

#include <span>
#include <type_traits>

namespace tulle {

/// What becomes of two values in one place; any V(V, V) will do.
namespace combine {
inline constexpr auto sum = [](auto const& a, auto const& b) { return a + b; };
inline constexpr auto last = [](auto const&, auto const& b) { return b; };
inline constexpr auto min = [](auto const& a, auto const& b) { return b < a ? b : a; };
inline constexpr auto max = [](auto const& a, auto const& b) { return a < b ? b : a; };
} // namespace combine

/// The csr of triplets (row[k], col[k], val[k]) in any order. errc::shape_mismatch where the lists
/// differ in length, errc::bad_structure naming the first index that is out of range. Takes one
/// more copy of the triplets while it runs, two where most are in few rows. O(entries).
template <class V, class I, class O = I, class Combine = decltype(combine::sum)>
csr<V, I, O> from_triplets(I rows, std::type_identity_t<I> cols,
                           std::span<std::type_identity_t<I> const> row,
                           std::span<std::type_identity_t<I> const> col,
                           std::span<std::type_identity_t<V> const> val,
                           Combine const& combine = {}, cpu const& where = {});

/// values[i * cols.size() + j] belongs at (rows[i], cols[j]).
template <class V, class I>
struct element {
  std::span<I const> rows;
  std::span<I const> cols;
  std::span<V const> values;
};

/// The csr of all elements, those before first. errc::shape_mismatch for an element whose values
/// are not as many as its places.
template <class V, class I, class O = I, class Combine = decltype(combine::sum)>
csr<V, I, O> assemble(I rows, std::type_identity_t<I> cols,
                      std::span<std::type_identity_t<element<V, I>> const> elements,
                      Combine const& combine = {}, cpu const& where = {});

template <class V, class I, class O, class Combine>
csr<V, I, O> from_triplets(I rows, std::type_identity_t<I> cols,
                           std::span<std::type_identity_t<I> const> row,
                           std::span<std::type_identity_t<I> const> col,
                           std::span<std::type_identity_t<V> const> val, Combine const& combine,
                           cpu const& where) {
  detail::check_shape("from_triplets", rows, cols);
  std::size_t const n = val.size();
  if (row.size() != n || col.size() != n)
    fail(errc::shape_mismatch, "from_triplets: %zu row indices, %zu column indices, %zu values",
         row.size(), col.size(), n);
  narrow<O>(n, "number of triplets");
  detail::check_indices("from_triplets: row", row.data(), n, rows, where.threads);
  detail::check_indices("from_triplets: col", col.data(), n, cols, where.threads);
  detail::limited const space("from_triplets", where);
  return detail::compress<O>(rows, cols, row.data(), col.data(), val.data(), n, combine,
                             space.counted(), where.memory);
}

template <class V, class I, class O, class Combine>
csr<V, I, O> assemble(I rows, std::type_identity_t<I> cols,
                      std::span<std::type_identity_t<element<V, I>> const> elements,
                      Combine const& combine, cpu const& where) {
  detail::limited const space("assemble", where);
  std::pmr::memory_resource* const memory = space.counted().memory;
  array<std::size_t> first(elements.size() + 1, memory);
  first[0] = 0;
  for (std::size_t e = 0; e < elements.size(); ++e) {
    auto const& one = elements[e];
    if (one.values.size() != one.rows.size() * one.cols.size())
      fail(errc::shape_mismatch, "assemble: element %zu has %zu values for %zu x %zu places", e,
           one.values.size(), one.rows.size(), one.cols.size());
    first[e + 1] = first[e] + one.values.size();
  }
  std::size_t const n = first[elements.size()];
  array<I> row(n, memory);
  array<I> col(n, memory);
  array<V> val(n, memory);
  int const parts = detail::parts_for(n, where.threads);
  detail::parallel(parts, [&](int part) {
    std::size_t const end = detail::split(elements.size(), part + 1, parts);
    for (std::size_t e = detail::split(elements.size(), part, parts); e < end; ++e) {
      auto const& one = elements[e];
      std::size_t k = first[e];
      for (std::size_t i = 0; i < one.rows.size(); ++i)
        for (std::size_t j = 0; j < one.cols.size(); ++j, ++k) {
          row[k] = one.rows[i];
          col[k] = one.cols[j];
          val[k] = one.values[i * one.cols.size() + j];
        }
    }
  });
  return from_triplets<V, I, O>(rows, cols, row, col, val, combine, space.rest(where));
}

} // namespace tulle

// SPDX-License-Identifier: Apache-2.0

/// A matrix from triplets, or from small dense matrices with their places (Liu, thesis 2015, sec.
/// 2.2.1).
///
///     auto a = tulle::from_triplets<double>(rows, cols, row, col, val); // duplicates add up
///     auto b = tulle::from_triplets<double>(rows, cols, row, col, val, tulle::combine::last);
///     auto k = tulle::assemble(nodes, nodes, elements);                 // finite elements
///
/// Entries of one place are combined in the order given, so the bits are the same for every number
/// of threads. Rows come out sorted. A call that fails, also by a combine that throws, leaves
/// nothing behind.
#pragma once
#include "tulle/core/limited.hpp"
#include "tulle/op/detail/compress.hpp"

#include <span>
#include <type_traits>
#include <vector>

namespace tulle {

/// How two values of one place are combined; any V(V, V) will do.
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

/// values[i * cols.size() + j] belongs at (rows[i], cols[j]). Borrows: the arrays must still exist
/// when the matrix is assembled. element_list copies arrays that a loop makes.
template <class V, class I>
struct element {
  std::span<I const> rows;
  std::span<I const> cols;
  std::span<V const> values;

  element() = default;
  element(detail::lent<I> rows_, detail::lent<I> cols_, detail::lent<V> values_)
      : rows(rows_.data(), rows_.size()), cols(cols_.data(), cols_.size()),
        values(values_.data(), values_.size()) {}
};

/// Elements that are copied as they come.
///
///     tulle::element_list<double> all;
///     for (auto const& t : triangles)
///       all.add(t.nodes, stiffness(t));
///     auto k = tulle::assemble(nodes, nodes, all);
template <class V, class I = std::int32_t>
class element_list {
public:
  /// values[i * cols.size() + j] belongs at (rows[i], cols[j]); errc::shape_mismatch if their
  /// number differs.
  void add(std::span<std::type_identity_t<I> const> rows,
           std::span<std::type_identity_t<I> const> cols,
           std::span<std::type_identity_t<V> const> values);
  /// Rows and columns are the same.
  void add(std::span<std::type_identity_t<I> const> places,
           std::span<std::type_identity_t<V> const> values) {
    add(places, places, values);
  }
  std::size_t size() const noexcept { return elements_.size(); }
  element<V, I> operator[](std::size_t e) const;

private:
  struct extent {
    std::size_t rows, cols, index, value; // how many, and where they begin
  };
  std::vector<extent> elements_;
  std::vector<I> index_;
  std::vector<V> value_;
};

/// The csr of all elements, added in their order. errc::shape_mismatch for an element whose values
/// are not as many as its places, errc::bad_structure naming the first element with an index that
/// is out of range.
template <class V, class I, class O = I, class Combine = decltype(combine::sum)>
csr<V, I, O> assemble(I rows, std::type_identity_t<I> cols,
                      std::span<std::type_identity_t<element<V, I>> const> elements,
                      Combine const& combine = {}, cpu const& where = {});
template <class V, class I, class O = I, class Combine = decltype(combine::sum)>
csr<V, I, O> assemble(std::type_identity_t<I> rows, std::type_identity_t<I> cols,
                      element_list<V, I> const& elements, Combine const& combine = {},
                      cpu const& where = {});

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

namespace detail {

inline void check_element(std::size_t e, std::size_t rows, std::size_t cols, std::size_t values) {
  if (values != checked_mul(rows, cols, "assemble"))
    fail(errc::shape_mismatch, "assemble: element %zu has %zu values for %zu x %zu places", e,
         values, rows, cols);
}

/// Of a list with size() and [e].
template <class V, class I, class O, class Elements, class Combine>
csr<V, I, O> assemble_list(I rows, I cols, Elements const& elements, Combine const& combine,
                           cpu const& where) {
  check_shape("assemble", rows, cols);
  limited const space("assemble", where);
  std::pmr::memory_resource* const memory = space.counted().memory;
  array<std::size_t> first(elements.size() + 1, memory);
  first[0] = 0;
  for (std::size_t e = 0; e < elements.size(); ++e) {
    element<V, I> const one = elements[e];
    check_element(e, one.rows.size(), one.cols.size(), one.values.size());
    first[e + 1] = first[e] + one.values.size();
  }
  std::size_t const n = first[elements.size()];
  narrow<O>(n, "number of triplets");
  array<I> row(n, memory);
  array<I> col(n, memory);
  array<V> val(n, memory);
  int const parts = parts_for(n, where.threads);
  parallel(parts, [&](int part) {
    std::size_t const end = split(elements.size(), part + 1, parts);
    for (std::size_t e = split(elements.size(), part, parts); e < end; ++e) {
      element<V, I> const one = elements[e];
      auto const check = [&](char const* name, std::span<I const> index, I limit) {
        for (std::size_t k = 0; k < index.size(); ++k)
          if (index[k] < 0 || index[k] >= limit)
            fail(errc::bad_structure, "assemble: element %zu: %s[%zu] is %lld, outside [0, %lld)",
                 e, name, k, static_cast<long long>(index[k]), static_cast<long long>(limit));
      };
      check("rows", one.rows, rows);
      check("cols", one.cols, cols);
      std::size_t k = first[e];
      for (std::size_t i = 0; i < one.rows.size(); ++i)
        for (std::size_t j = 0; j < one.cols.size(); ++j, ++k) {
          row[k] = one.rows[i];
          col[k] = one.cols[j];
          val[k] = one.values[i * one.cols.size() + j];
        }
    }
  });
  return compress<O>(rows, cols, row.data(), col.data(), val.data(), n, combine, space.counted(),
                     where.memory);
}

} // namespace detail

template <class V, class I>
void element_list<V, I>::add(std::span<std::type_identity_t<I> const> rows,
                             std::span<std::type_identity_t<I> const> cols,
                             std::span<std::type_identity_t<V> const> values) {
  detail::check_element(size(), rows.size(), cols.size(), values.size());
  extent const one{rows.size(), cols.size(), index_.size(), value_.size()};
  try {
    index_.insert(index_.end(), rows.begin(), rows.end());
    index_.insert(index_.end(), cols.begin(), cols.end());
    value_.insert(value_.end(), values.begin(), values.end());
    elements_.push_back(one);
  } catch (...) { // as it was
    index_.resize(one.index);
    value_.resize(one.value);
    throw;
  }
}

template <class V, class I>
element<V, I> element_list<V, I>::operator[](std::size_t e) const {
  extent const& one = elements_[e];
  I const* const index = index_.data() + one.index;
  return {{index, one.rows},
          {index + one.rows, one.cols},
          {value_.data() + one.value, one.rows * one.cols}};
}

template <class V, class I, class O, class Combine>
csr<V, I, O> assemble(I rows, std::type_identity_t<I> cols,
                      std::span<std::type_identity_t<element<V, I>> const> elements,
                      Combine const& combine, cpu const& where) {
  return detail::assemble_list<V, I, O>(rows, cols, elements, combine, where);
}
template <class V, class I, class O, class Combine>
csr<V, I, O> assemble(std::type_identity_t<I> rows, std::type_identity_t<I> cols,
                      element_list<V, I> const& elements, Combine const& combine,
                      cpu const& where) {
  return detail::assemble_list<V, I, O>(rows, cols, elements, combine, where);
}

} // namespace tulle

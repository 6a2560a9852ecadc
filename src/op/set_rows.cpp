// SPDX-License-Identifier: Apache-2.0

// Rows of the identity. Everything is looked at before anything is written: rows in range, an entry
// on the diagonal of each, one value for each. Then rows are dealt to threads by their entries; an
// element of b belongs to one row, so its terms come in the order of that row's entries.
#include "tulle/op/set_rows.hpp"

#include "tulle/op/detail/canonical_operand.hpp"

#include "core/arrays.hpp"
#include "op/operands.hpp"
#include "reference/set_rows.hpp"

#include <complex>

namespace tulle::detail {
namespace {

template <class V, class I, class O>
void check_row_conditions(where const& w, csr_view<V, I, O> const& a, V const* val,
                          row_conditions<V, I> const& c) {
  check_host_operand(c.op, a, w);
  std::size_t const n = c.rows.size();
  if ((c.columns || c.has_values) && a.rows != a.cols)
    fail(errc::shape_mismatch, "%s: A is %lld x %lld, not square", c.op,
         static_cast<long long>(a.rows), static_cast<long long>(a.cols));
  for (std::size_t k = 0; k < n; ++k)
    if (c.rows[k] < 0 || c.rows[k] >= a.rows)
      fail(errc::bad_structure, "%s: rows[%zu] is %lld, outside [0, %lld)", c.op, k,
           static_cast<long long>(c.rows[k]), static_cast<long long>(a.rows));
  std::size_t const val_bytes = static_cast<std::size_t>(a.nnz) * sizeof(V);
  if (overlap(c.rows.data(), c.rows.size_bytes(), val, val_bytes))
    fail(errc::bad_structure, "%s: rows overlaps the values of A", c.op);
  if (!c.has_values)
    return;
  if (c.values.size() != n)
    fail(errc::shape_mismatch, "%s: %zu rows but %zu values", c.op, n, c.values.size());
  auto const rows = static_cast<std::size_t>(a.rows);
  if (c.b.size() != rows)
    fail(errc::shape_mismatch, "%s: b has %zu entries but A has %zu rows", c.op, c.b.size(), rows);
  if (rows != 0 && c.b.data() == nullptr)
    fail(errc::bad_structure, "%s: b is null but has %zu entries", c.op, rows);
  if (overlap(c.values.data(), c.values.size_bytes(), val, val_bytes))
    fail(errc::bad_structure, "%s: the given values overlap those of A", c.op);
  if (formats::overlaps(formats::array_list(a), c.b.data(), c.b.data() + rows))
    fail(errc::bad_structure, "%s: b overlaps the arrays of A", c.op);
  if (overlap(c.values.data(), c.values.size_bytes(), c.b.data(), rows * sizeof(V)) ||
      overlap(c.rows.data(), c.rows.size_bytes(), c.b.data(), rows * sizeof(V)))
    fail(errc::bad_structure, "%s: b overlaps the rows or the values", c.op);
  if (!c.keep_diagonal && c.diagonal == V(0))
    fail(errc::bad_structure, "%s: a diagonal of 0 leaves x at those rows open", c.op);
}

/// That row i has somewhere to hold its diagonal.
template <class V, class I, class O>
void check_diagonal(csr_view<V, I, O> const& a, std::size_t i, row_conditions<V, I> const& c) {
  V sum(0);
  bool found = false;
  for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
    if (static_cast<std::size_t>(a.col[k]) == i) {
      sum += a.val[k];
      found = true;
    }
  if (!found)
    fail(errc::bad_structure,
         "%s: row %zu has no entry on the diagonal; store one when assembling, its value may be 0",
         c.op, i);
  if (c.keep_diagonal && sum == V(0))
    fail(errc::bad_structure, "%s: the diagonal entry of row %zu is 0 and cannot be kept", c.op, i);
}

} // namespace

template <class V, class I, class O>
void set_rows(where const& w, csr_view<V, I, O> a, V* val, row_conditions<V, I> const& c) {
  check_row_conditions(w, a, val, c);
  auto const rows = static_cast<std::size_t>(a.rows);
  bool const moves = c.has_values; // values are needed by row
  check_workspace(c.op, rows * (1 + (moves ? sizeof(V) : 0)), w);
  array<std::uint8_t> set(rows, std::uint8_t(0), w.memory);
  array<V> value(moves ? rows : 0, w.memory);
  for (std::size_t k = 0; k < c.rows.size(); ++k) {
    auto const i = static_cast<std::size_t>(c.rows[k]);
    if (moves) {
      if (set[i] && value[i] != c.values[k]) {
        std::complex<double> const one(value[i]), other(c.values[k]);
        fail(errc::bad_structure, "%s: row %zu is given two values, %g%+gi and %g%+gi", c.op, i,
             one.real(), one.imag(), other.real(), other.imag());
      }
      value[i] = c.values[k];
    }
    set[i] = 1;
  }
  if (c.rows.empty())
    return;
  int const parts = w.backend == backend::reference
                        ? 1
                        : parts_for(static_cast<std::size_t>(a.nnz) + rows, w.threads);
  auto const each_row = [&](auto&& f) {
    parallel(parts, [&](int part) {
      std::size_t const end = split_by_entries(a.row_ptr, rows, part + 1, parts);
      for (std::size_t i = split_by_entries(a.row_ptr, rows, part, parts); i < end; ++i)
        f(i);
    });
  };
  if (c.keep_diagonal || c.diagonal != V(0))
    each_row([&](std::size_t i) {
      if (set[i])
        check_diagonal(a, i, c);
    });
  if (w.backend == backend::reference)
    return kernels::reference::set_rows(a, val, set.data(), value.data(), c);
  V* const b = c.has_values ? c.b.data() : nullptr;
  each_row([&](std::size_t i) {
    O const end = a.row_ptr[i + 1];
    if (set[i]) {
      V kept(0);
      bool first = true;
      for (O k = a.row_ptr[i]; k < end; ++k) {
        if (static_cast<std::size_t>(a.col[k]) != i) {
          val[k] = V(0);
          continue;
        }
        if (!c.keep_diagonal)
          val[k] = first ? c.diagonal : V(0);
        kept += val[k];
        first = false;
      }
      if (b)
        b[i] = kept * value[i];
      return;
    }
    if (!c.columns)
      return;
    for (O k = a.row_ptr[i]; k < end; ++k) {
      auto const j = static_cast<std::size_t>(a.col[k]);
      if (!set[j])
        continue;
      if (b)
        b[i] -= val[k] * value[j];
      val[k] = V(0);
    }
  });
}

#define TULLE_SET_ROWS(tag, V, I, O)                                                               \
  template void set_rows(where const&, csr_view<V, I, O>, V*, row_conditions<V, I> const&);
TULLE_TYPES(TULLE_SET_ROWS)
TULLE_BASIC_TYPES(TULLE_SET_ROWS)
#undef TULLE_SET_ROWS

} // namespace tulle::detail

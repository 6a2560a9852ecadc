// SPDX-License-Identifier: Apache-2.0

// The entries of jds, jds_csr and jds_ell from csr, once their sections are known: one thread per
// row, and one thread per entry of the long rows, which are kept in coo.
#pragma once
#include "cuda/convert/sorted_rows.cuh"
#include "cuda/spmv/jds_slots.cuh"

namespace tulle::kernels::cuda {
namespace {

/// The coo of the long rows.
template <class V, class I, class O>
void fill_longs(device_csr<V, I, O> const& a, std::size_t longs, I const* perm, std::size_t rest,
                I* row, I* col, V* val, void* stream) {
  if (longs == 0)
    return;
  scratch<O> const first(longs + 1, stream);
  O* const ptr = first.get();
  each(longs, stream, [=, row_ptr = a.row_ptr] __device__(std::size_t j) {
    ptr[j] = row_ptr[perm[j] + 1] - row_ptr[perm[j]];
  });
  to_pointers(ptr, longs, stream);
  each(rest, stream, [=] __device__(std::size_t at) {
    std::size_t const j = upper_bound(ptr, longs + 1, static_cast<O>(at)) - 1;
    O const k = a.row_ptr[perm[j]] + static_cast<O>(at) - ptr[j];
    row[at] = perm[j];
    col[at] = a.col[k];
    val[at] = a.val[k];
  });
}

/// A view of the format. `arrays` has the arrays of that format alone; those that all three have
/// are made here, with `stored` slots.
template <class View, class V, class I, class O>
View fill_sorted(device_csr<V, I, O> const& a, sorted_rows<I, O> const& order, std::size_t stored,
                 jds_arrays<V, I, O> arrays, result const& to) {
  auto const& lengths = order.lengths;
  I* const col = to.take<I>(stored);
  V* const val = to.take<V>(stored);
  I* const coo_row = to.take<I>(lengths.rest);
  I* const coo_col = to.take<I>(lengths.rest);
  V* const coo_val = to.take<V>(lengths.rest);
  arrays.perm = {order.perm, lengths.rows};
  arrays.col = {col, stored};
  arrays.val = {val, stored};
  arrays.coo_row = {coo_row, lengths.rest};
  arrays.coo_col = {coo_col, lengths.rest};
  arrays.coo_val = {coo_val, lengths.rest};
  View const v(unchecked, a.rows, a.cols, a.nnz, static_cast<I>(lengths.longs), arrays);
  each(lengths.rows - lengths.longs, to.stream(), [=] __device__(std::size_t n) {
    auto const place = static_cast<I>(n) + v.longs;
    auto const row = row_at(v, find_section(v, place), place);
    O const k0 = a.row_ptr[v.perm[place]];
    O const end = a.row_ptr[v.perm[place] + 1];
    I last = 0; // padding repeats the row's last column, as in ell
    O at = 0;
    for (I k = 0; row.slot(k, at); ++k) {
      bool const has = k < end - k0;
      last = has ? a.col[k0 + k] : last;
      col[at] = last;
      val[at] = has ? a.val[k0 + k] : V(0);
    }
  });
  fill_longs(a, lengths.longs, static_cast<I const*>(order.perm), lengths.rest, coo_row, coo_col,
             coo_val, to.stream());
  return v;
}

} // namespace
} // namespace tulle::kernels::cuda

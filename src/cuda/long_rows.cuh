// SPDX-License-Identifier: Apache-2.0

// Products where rows are longer than tiles of 128 entries: most tiles lie within a row, and a warp
// adds one up. Rows that tiles share are added in a second launch, from a sum for each tile, in
// order.
//
// Such rows reach over all of x, and the product waits for its sectors from the second-level cache.
// So where x does not fit the first-level cache, tiles are ordered by their first column: a block
// stays on its multiprocessor and takes a share of tiles, whose part of x is small. The plan has
// the order.
#pragma once
#include "tulle/format/csr.hpp"

#include "cuda/instantiate.cuh"
#include "cuda/sort_by_key.cuh"
#include "cuda/workspace.cuh"
#include "format/detail/csr5_tiles.hpp"

namespace tulle::kernels::cuda {

constexpr int long_steps = 4; // of a tile: entries per lane

/// A row as csr5 has it for a tile.
template <class I>
using row_mark = detail::csr5_pointer<I>;

template <class V, class I, class O>
struct long_rows {
  I rows, cols;
  O nnz;
  O const* row_ptr;
  I const* col;
  V const* val;
  row_mark<I> const* first_row = nullptr; // of each tile and the end; nullptr: the plan has them
  bool is_turned = false;                 // a lane has consecutive entries, as in csr5
};
/// The long rows of a view that has csr's arrays.
template <class V, class I, class O, template <class, class, class, space> class View>
long_rows<V, I, O> long_view(View<V, I, O, space::cuda> const& a) {
  return {a.rows, a.cols, a.nnz, a.row_ptr, a.col, a.val};
}

// One warp joins the tiles of a row, so matrices with a longer row use other kernels if there are
// any.
constexpr int most_joined_bits = 17;

/// Whether at most half of the tiles contain the end of a row.
template <class I, class O>
bool are_long(I rows, O nnz) {
  return nnz / (64 * long_steps) > 0 && nnz / (64 * long_steps) >= rows;
}
/// The same, and no row is too long. Waits for the stream.
template <class I, class O>
bool are_long_and_even(I rows, O nnz, O const* row_ptr, void* stream) {
  return are_long(rows, nnz) && longest_row(rows, row_ptr, stream) <= std::int64_t{1}
                                                                          << most_joined_bits;
}

/// The bytes of the plan's workspace; sets the method's name.
template <class V, class I, class O>
std::size_t long_bytes(long_rows<V, I, O> const& a, plan_view& p);
template <class V, class I, class O>
void fill_long(long_rows<V, I, O> const& a, plan_view const& p);
template <class V, class I, class O>
void multiply_long(V alpha, long_rows<V, I, O> const& a, V const* x, V beta, V* y,
                   plan_view const& p, void* stream);

} // namespace tulle::kernels::cuda

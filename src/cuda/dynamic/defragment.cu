// SPDX-License-Identifier: Apache-2.0

// Defragmenting: moves all segments of a row into its first one, sorted by column if that is
// wanted, with duplicates added up.
//
// Rows are sorted in place. Entries that were added to others leave holes, which a second copy
// closes. Bytes that must move, double with 32-bit indices: 24 per entry for a copy and as many to
// sort rows, 12 per row.
#include "cuda/dynamic/long_rows.cuh"
#include "cuda/dynamic/matrix.cuh"
#include "cuda/dynamic/short_rows.cuh"
#include "cuda/order.cuh"
#include "cuda/spmv/tiles.cuh"

#include <algorithm>

namespace tulle::kernels::cuda {
namespace {

/// Copies entries k0 + k of a block to their place by row_ptr. All loads of a thread are in flight
/// at once: poisson2d5 2048 took 147 us, with four in flight 213, bypassing the caches 159.
template <class V, class I>
__global__ void __launch_bounds__(tile_threads, 8)
    gather_kernel(fragments<V, I> a, I const* first_row, I* col, V* val) {
  __shared__ I place[share];
  I const k0 = static_cast<I>(blockIdx.x * std::size_t{share});
  int const n = static_cast<int>(a.nnz - k0 < share ? a.nnz - k0 : share);
  I const from = first_row[blockIdx.x];
  a.template find_places<tile_threads>(from > 0 ? from - 1 : from, first_row[blockIdx.x + 1], k0, n,
                                       [&](int k, I at) { place[k] = at; });
  I c[items];
  V v[items];
#pragma unroll
  for (int j = 0; j < items; ++j) {
    int const k = static_cast<int>(threadIdx.x) + j * tile_threads;
    I const at = k < n ? place[k] : I(0);
    c[j] = k < n ? a.col[at] : I(0);
    v[j] = k < n ? a.val[at] : V(0);
  }
#pragma unroll
  for (int j = 0; j < items; ++j) {
    int const k = static_cast<int>(threadIdx.x) + j * tile_threads;
    if (k < n) {
      col[k0 + k] = c[j];
      val[k0 + k] = v[j];
    }
  }
}

/// Places of a pool that includes the slack of first segments.
template <class V, class I>
std::size_t roomy_for(matrix<V, I> const& m) {
  auto const s = spare_for(m, m.entries, m.most_places());
  return std::max(m.capacity, static_cast<std::size_t>(s.at(m.rows, static_cast<I>(m.entries))));
}

/// The memory of a copy of the matrix; the memory that it frees is used for the next copy.
template <class V, class I>
struct copy_room {
  std::size_t capacity;
  owned first_row, col, val;

  explicit copy_room(matrix<V, I>& m)
      : capacity(roomy_for(m)),
        first_row(m.take(ceil_div<std::size_t>(m.entries, share) + 1, sizeof(I))),
        col(m.take_pool(capacity, sizeof(I))), val(m.take_pool(capacity, sizeof(V))) {
    auto const rows = static_cast<std::size_t>(m.rows);
    if (m.row_ptr.bytes() == 0)
      m.row_ptr = m.take(rows + 1, sizeof(I));
    std::size_t bytes = 0;
    I* const none = nullptr;
    sum_up(static_cast<I const*>(none), none, rows + 1, nullptr, bytes, m.o.queue);
    if (m.scan.bytes() < bytes)
      m.scan = m.take(bytes, 1);
  }
};

/// Moves all rows into their first segments.
template <class V, class I>
void gather(matrix<V, I>& m, copy_room<V, I>& room) {
  auto const rows = static_cast<std::size_t>(m.rows);
  std::size_t bytes = m.scan.bytes();
  sum_up(static_cast<I const*>(m.length.template as<I>()), m.row_ptr.template as<I>(), rows + 1,
         m.scan.template as<void>(), bytes, m.o.queue); // scans lengths followed by a 0
  std::size_t const blocks = ceil_div<std::size_t>(m.entries, share);
  launch(first_rows_kernel<I, I>, ceil_div<std::size_t>(blocks + 1, row_threads), row_threads,
         m.o.queue, m.rows, static_cast<I const*>(m.row_ptr.template as<I>()),
         room.first_row.template as<I>(), blocks, std::size_t{share});
  launch(gather_kernel<V, I>, blocks, tile_threads, m.o.queue, m.view(),
         static_cast<I const*>(room.first_row.template as<I>()), room.col.template as<I>(),
         room.val.template as<V>());
  std::swap(m.capacity, room.capacity);
  std::swap(m.col, room.col);
  std::swap(m.val, room.val);
  std::swap(m.first, m.row_ptr);
  is_compact_now(m, m.entries);
}

/// Sorts the rows of a compact matrix by column; duplicates keep their order, or are added up.
/// Returns the number of entries that this removes, which leave holes. All that can fail comes
/// before the first change.
template <class V, class I>
std::size_t order_rows(matrix<V, I>& m, bool combine) {
  scratch<I> const first_row(ceil_div<std::size_t>(m.entries, few) + 1, m.o.queue);
  counter const removed(m.o.queue);
  auto others = find_long_rows(m);
  merge(m, others, combine);
  order_short_rows(m, first_row.get(), combine, removed.get());
  put_back(m, others, removed.get());
  return static_cast<std::size_t>(removed.value());
}

} // namespace

template <class V, class I>
void defragment(matrix<V, I>& m, bool sort, bool combine) {
  bool const orders = (sort || combine) && m.entries != 0;
  if (m.compact && !orders)
    return;
  copy_room<V, I> room(m);
  if (!m.compact)
    gather(m, room);
  std::size_t const removed = orders ? order_rows(m, combine) : 0;
  if (removed == 0)
    return;
  m.entries -= removed;
  m.longest = 0;
  gather(m, room);
}

template <class V, class I>
void is_compact_now(matrix<V, I>& m, std::size_t entries) {
  if (m.many != 0)
    TULLE_CUDA(cudaMemsetAsync, m.marks.template as<char>(), 0, m.marks.bytes(), m.stream());
  m.entries = m.in_first = entries;
  m.spare = spare_for(m, entries, m.capacity);
  m.used = static_cast<std::size_t>(m.spare.at(m.rows, static_cast<I>(entries)));
  // Tables are kept, since a batch that finds one missing is made twice.
  if (m.levels > 1)
    TULLE_CUDA(cudaMemsetAsync, m.further.template as<char>(), 0,
               static_cast<std::size_t>(m.levels - 1) * m.pitch() * sizeof(segment<I>), m.stream());
  m.levels = 1;
  m.compact = true;
  m.holes = m.unlisted = m.crowded = m.planned = m.dense_planned = false;
  m.many = 0;
  m.share = 0;
  m.debt = 0;
}

template <class V, class I>
void give_up_slack(matrix<V, I>& m) {
  defragment(m, false, false);
  m.spare = {static_cast<I>(m.entries), 0, 0};
  m.used = m.entries;
}

#define TULLE_DEFRAGMENT(tag, V, I, O)                                                             \
  template void defragment(matrix<V, I>&, bool, bool);                                             \
  template void is_compact_now(matrix<V, I>&, std::size_t);                                        \
  template void give_up_slack(matrix<V, I>&);
TULLE_TYPES(TULLE_DEFRAGMENT)

} // namespace tulle::kernels::cuda

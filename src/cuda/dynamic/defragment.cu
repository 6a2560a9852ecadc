// SPDX-License-Identifier: Apache-2.0

// Rows put together: all segments of a row in its first one, and in the order of columns where that
// is wanted, duplicates added up.
//
// Rows are put in order where they lie, by a block in shared memory; long ones by a sort of all
// their entries. What is out of order is most often what came last: an entry looks for its place in
// the part of its row that ascends, and counts in the rest. Entries that were added to others leave
// holes, which a second copy closes. Bytes that must move, double with 32-bit indices: 24 an entry
// for a copy and as many to put rows in order, 12 a row.
#include "cuda/dynamic/matrix.cuh"
#include "cuda/order.cuh"
#include "cuda/primitive/block.cuh"
#include "cuda/primitive/search.cuh"
#include "cuda/spmv/rows.cuh"
#include "cuda/spmv/tiles.cuh"
#include "cuda/turn.cuh"

#include <algorithm>

namespace tulle::simt {
namespace {

/// Entries k0 + k of a block to where row_ptr has them. All of a thread's are on their way at a
/// time: with four of them poisson2d5 2048 took 213 us, so 147; past the caches, 159.
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

/// Places of a pool that is to have the slack of first segments, too.
template <class V, class I>
std::size_t roomy_for(matrix<V, I> const& m) {
  auto const s = spare_for(m, m.entries, m.most_places());
  return std::max(m.capacity, static_cast<std::size_t>(s.at(m.rows, static_cast<I>(m.entries))));
}

/// What a copy of the matrix takes; what it leaves is room for the next.
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
    sum_up(static_cast<I const*>(none), none, rows + 1, nullptr, bytes, m.o.stream);
    if (m.scan.bytes() < bytes)
      m.scan = m.take(bytes, 1);
  }
};

/// All rows in their first segments.
template <class V, class I>
void gather(matrix<V, I>& m, copy_room<V, I>& room) {
  auto const rows = static_cast<std::size_t>(m.rows);
  std::size_t bytes = m.scan.bytes();
  sum_up(static_cast<I const*>(m.length.template as<I>()), m.row_ptr.template as<I>(), rows + 1,
         m.scan.template as<void>(), bytes, m.o.stream); // of lengths and a 0
  std::size_t const blocks = ceil_div<std::size_t>(m.entries, share);
  launch(first_rows_kernel<I, I>, ceil_div<std::size_t>(blocks + 1, row_threads), row_threads,
         m.o.stream, m.rows, static_cast<I const*>(m.row_ptr.template as<I>()),
         room.first_row.template as<I>(), blocks, std::size_t{share});
  launch(gather_kernel<V, I>, blocks, tile_threads, m.o.stream, m.view(),
         static_cast<I const*>(room.first_row.template as<I>()), room.col.template as<I>(),
         room.val.template as<V>());
  if (m.many != 0)
    TULLE_CUDA(cudaMemsetAsync, m.marks.template as<char>(), 0, m.marks.bytes(), m.stream());
  std::swap(m.capacity, room.capacity);
  std::swap(m.col, room.col);
  std::swap(m.val, room.val);
  std::swap(m.first, m.row_ptr);
  m.spare = spare_for(m, m.entries, m.capacity);
  m.used = static_cast<std::size_t>(m.spare.at(m.rows, static_cast<I>(m.entries)));
  m.in_first = m.entries;
  m.levels = 1;
  m.compact = true;
  m.holes = m.unlisted = m.crowded = m.planned = m.dense_planned = false;
  m.many = 0;
  m.share = 0;
  m.debt = 0;
}

// Entries that a block's rows begin among, and of its longest one: then only the last can be
// longer.
constexpr int few = 1024;
constexpr int few_room = 2 * few;

/// A bit for each entry of a block.
struct bit_row {
  unsigned word[few_room / 32 + 1];

  __device__ bool has(int e) const { return word[e / 32] >> e % 32 & 1; }
  __device__ void set(int e) { atomicOr(&word[e / 32], 1u << e % 32); }
  /// The last one up to e.
  __device__ int before(int e) const {
    int w = e / 32;
    unsigned bits = word[w] & (0xffffffffu >> (31 - e % 32));
    while (bits == 0)
      bits = word[--w];
    return 32 * w + 31 - __clz(static_cast<int>(bits));
  }
  /// The first one behind e.
  __device__ int behind(int e) const {
    int w = (e + 1) / 32;
    unsigned bits = word[w] & (0xffffffffu << (e + 1) % 32);
    while (bits == 0)
      bits = word[++w];
    return 32 * w + __ffs(static_cast<int>(bits)) - 1;
  }
  /// How many there are in [from, to).
  __device__ int count(int from, int to) const {
    int sum = 0;
    for (int w = from / 32; 32 * w < to; ++w) {
      unsigned bits = word[w];
      if (32 * w < from)
        bits &= 0xffffffffu << from % 32;
      if (32 * w + 32 > to)
        bits &= 0xffffffffu >> (32 * w + 32 - to);
      sum += __popc(bits);
    }
    return sum;
  }
};

/// The place of entry e in its row [begin, end), which ascends up to `down`.
template <class I>
__device__ int rank_of(I const* col, int e, int begin, int down, int end) {
  if (down == end)
    return e - begin;
  I const c = col[e];
  int rank = e < down ? e - begin : upper_bound(col + begin, down - begin, c);
  for (int q = down; q < end; ++q)
    rank += col[q] < c || (e > q && col[q] == c);
  return rank;
}

template <class V, class I>
__global__ void __launch_bounds__(each_threads)
    order_kernel(I const* first, I const* first_row, I* to_col, V* to_val, I* length, bool combine,
                 unsigned long long* removed) {
  __shared__ I col[few_room];
  __shared__ V val[few_room];
  __shared__ unsigned short order[few_room];
  __shared__ int down[few_room]; // of a row, where it begins
  __shared__ bit_row starts, heads;
  __shared__ int n;
  int const t = threadIdx.x;
  I const from = first_row[blockIdx.x], to = first_row[blockIdx.x + 1];
  if (from >= to)
    return;
  I const k0 = first[from];
  for (int w = t; w <= few_room / 32; w += each_threads)
    starts.word[w] = 0;
  if (t == 0)
    n = first[to] - k0 < few_room ? static_cast<int>(first[to] - k0) : few_room;
  __syncthreads();
  for (I i = from + t; i < to; i += each_threads)
    if (first[i + 1] - first[i] > few)
      atomicMin(&n, static_cast<int>(first[i] - k0));
  __syncthreads();
  for (I i = from + t; i < to; i += each_threads)
    if (first[i] - k0 < n)
      starts.set(static_cast<int>(first[i] - k0));
  if (t == 0)
    starts.set(n);
  for (int e = t; e < n; e += each_threads) {
    col[e] = to_col[k0 + e];
    val[e] = to_val[k0 + e];
  }
  __syncthreads();
  for (int e = t; e < n; e += each_threads)
    if (starts.has(e))
      down[e] = starts.behind(e);
  __syncthreads();
  bool descends = false;
  for (int e = t; e < n; e += each_threads)
    if (!starts.has(e) && col[e] <= col[e - 1]) {
      descends = true;
      atomicMin(&down[starts.before(e)], e);
    }
  if (!__syncthreads_or(descends))
    return;
  for (int e = t; e < n; e += each_threads) {
    int const begin = starts.before(e);
    order[begin + rank_of(col, e, begin, down[begin], starts.behind(e))] =
        static_cast<unsigned short>(e);
  }
  __syncthreads();
  for (int z0 = t / 32 * 32; z0 < n; z0 += each_threads) {
    int const z = z0 + t % 32;
    bool const is_head = z < n && (!combine || starts.has(z) || col[order[z]] != col[order[z - 1]]);
    unsigned const all = __ballot_sync(whole_warp, is_head);
    if (t % 32 == 0)
      heads.word[z0 / 32] = all;
  }
  __syncthreads();
  for (int z = t; z < n; z += each_threads) {
    if (!heads.has(z))
      continue;
    int const begin = starts.before(z), end = starts.behind(z);
    V sum = val[order[z]];
    for (int next = z + 1; next < end && !heads.has(next); ++next)
      sum += val[order[next]];
    I const at = k0 + static_cast<I>(begin + heads.count(begin, z));
    to_col[at] = col[order[z]];
    to_val[at] = sum;
  }
  if (!combine)
    return;
  unsigned long long gone = 0;
  for (I i = from + t; i < to; i += each_threads)
    if (first[i + 1] - k0 <= n && first[i] < first[i + 1]) {
      int const begin = static_cast<int>(first[i] - k0), end = static_cast<int>(first[i + 1] - k0);
      int const kept = heads.count(begin, end);
      length[i] = static_cast<I>(kept);
      gone += static_cast<unsigned long long>(end - begin - kept);
    }
  fold_warp<sum>(gone, removed);
}

/// Rows of more than `few` entries, and copies of those entries, row by row.
template <class V, class I>
struct long_rows {
  std::size_t rows = 0, n = 0;
  owned row, ptr;             // of rows
  owned line, col, val, perm; // of entries
  scratch_csr<V, I, I> sums;
};

/// None where all of them ascend.
template <class V, class I>
long_rows<V, I> find_long_rows(matrix<V, I> const& m) {
  constexpr int shift = 24; // of entries, above rows
  void* const s = m.o.stream;
  I const* const first = m.first.template as<I>();
  counter const found(s), descents(s);
  long_rows<V, I> a;
  a.row = m.take(m.entries / few + 1, sizeof(I));
  a.ptr = m.take(m.entries / few + 1, sizeof(I));
  each(static_cast<std::size_t>(m.rows), s,
       [first, row = a.row.template as<I>(), ptr = a.ptr.template as<I>(),
        found = found.get()] __device__(std::size_t i) {
         I const n = first[i + 1] - first[i];
         if (n <= few)
           return;
         unsigned long long const at =
             atomicAdd(found, static_cast<unsigned long long>(n) << shift | 1);
         std::size_t const r = at & ((1u << shift) - 1);
         row[r] = static_cast<I>(i);
         ptr[r] = static_cast<I>(at >> shift);
       });
  auto const all = static_cast<unsigned long long>(found.value());
  a.rows = static_cast<std::size_t>(all & ((1u << shift) - 1));
  std::size_t const n = static_cast<std::size_t>(all >> shift);
  if (n == 0)
    return a;
  a.line = m.take(n, sizeof(I));
  a.col = m.take(n, sizeof(I));
  a.val = m.take(n, sizeof(V));
  each(n, s,
       [first, row = a.row.template as<I>(), ptr = a.ptr.template as<I>(), rows = a.rows,
        from_col = m.col.template as<I>(), from_val = m.val.template as<V>(),
        line = a.line.template as<I>(), col = a.col.template as<I>(), val = a.val.template as<V>(),
        descents = descents.get()] __device__(std::size_t e) {
         std::size_t const r = upper_bound(ptr, rows, static_cast<I>(e)) - 1;
         I const k = first[row[r]] + static_cast<I>(e) - ptr[r];
         line[e] = static_cast<I>(r);
         col[e] = from_col[k];
         val[e] = from_val[k];
         if (static_cast<I>(e) > ptr[r] && from_col[k] <= from_col[k - 1])
           *descents = 1;
       });
  a.n = descents.value() == 0 ? 0 : n;
  return a;
}

/// In the order of columns, with duplicates or without.
template <class V, class I>
void sort(matrix<V, I> const& m, long_rows<V, I>& a, bool combine) {
  if (a.n == 0)
    return;
  auto const rows = static_cast<I>(a.rows), n = static_cast<I>(a.n);
  I const* const line = a.line.template as<I>();
  I const* const col = a.col.template as<I>();
  if (combine) {
    a.sums = compress(rows, m.cols, n, line, col, static_cast<V const*>(a.val.template as<V>()),
                      m.o.stream);
    return;
  }
  scratch<I> const sorted(a.n, m.o.stream);
  a.perm = m.take(a.n, sizeof(I));
  order_by(rows, m.cols, n, line, col, sorted.get(), a.perm.template as<I>(), m.o.stream);
}

/// Back to where they were; how many are none any more.
template <class V, class I>
std::size_t put_back(matrix<V, I> const& m, long_rows<V, I> const& a) {
  if (a.n == 0)
    return 0;
  bool const combined = a.perm.bytes() == 0;
  std::size_t const kept = combined ? static_cast<std::size_t>(a.sums.view.nnz) : a.n;
  I const* const ptr = combined ? a.sums.view.row_ptr : a.ptr.template as<I>();
  I const* const col = combined ? a.sums.view.col : a.col.template as<I>();
  V const* const val = combined ? a.sums.view.val : a.val.template as<V>();
  I const* const perm = combined ? ptr : a.perm.template as<I>();
  each(kept, m.o.stream,
       [=, row = a.row.template as<I>(), rows = a.rows, first = m.first.template as<I>(),
        to_col = m.col.template as<I>(), to_val = m.val.template as<V>(),
        length = m.length.template as<I>()] __device__(std::size_t e) {
         std::size_t const r = upper_bound(ptr, rows, static_cast<I>(e)) - 1;
         I const k = first[row[r]] + static_cast<I>(e) - ptr[r];
         std::size_t const from = combined ? e : static_cast<std::size_t>(perm[e]);
         to_col[k] = col[from];
         to_val[k] = val[from];
         if (combined && static_cast<I>(e) == ptr[r])
           length[row[r]] = ptr[r + 1] - ptr[r];
       });
  return a.n - kept;
}

/// Rows of a compact one by columns, entries of one place in the order they came, or their sum. How
/// many entries are none any more: they leave holes. What can fail comes before the first change.
template <class V, class I>
std::size_t order_rows(matrix<V, I>& m, bool combine) {
  std::size_t const blocks = ceil_div<std::size_t>(m.entries, few);
  scratch<I> const first_row(blocks + 1, m.o.stream);
  counter const removed(m.o.stream);
  auto others = find_long_rows(m);
  sort(m, others, combine);
  I const* const first = m.first.template as<I>();
  launch(first_rows_kernel<I, I>, ceil_div<std::size_t>(blocks + 1, row_threads), row_threads,
         m.o.stream, m.rows, first, first_row.get(), blocks, std::size_t{few});
  launch(order_kernel<V, I>, blocks, each_threads, m.o.stream, first,
         static_cast<I const*>(first_row.get()), m.col.template as<I>(), m.val.template as<V>(),
         m.length.template as<I>(), combine, removed.get());
  std::size_t const from_long = put_back(m, others);
  return from_long + static_cast<std::size_t>(removed.value());
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
  gather(m, room);
}

#define TULLE_DEFRAGMENT(tag, V, I, O) template void defragment(matrix<V, I>&, bool, bool);
TULLE_TYPES(TULLE_DEFRAGMENT)

} // namespace tulle::simt

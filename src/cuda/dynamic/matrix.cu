// SPDX-License-Identifier: Apache-2.0

// Making, defragmenting and multiplying dynamic matrices on the device.
//
// y = alpha A x + beta y goes over the first segments by csr's kernel, and then over the rows that
// have grown. Where those have cost as much as defragmenting does, or first segments have holes,
// the matrix is defragmented first.
//
// Bytes that must move, double with 32-bit indices: of a product those of csr, and 32 for a row
// that has grown beside its entries; of defragmenting 24 an entry and 12 a row.
#include "cuda/dynamic/matrix.cuh"
#include "cuda/order.cuh"
#include "cuda/primitive/block.cuh"
#include "cuda/spmv/compressed.cuh"
#include "cuda/turn.cuh"

#include <algorithm>
#include <memory>

namespace tulle::simt {
namespace {

constexpr std::size_t pool_part = 8; // a pool grows by this part of itself at least

template <class T>
void copy(T* to, T const* from, std::size_t n, cudaStream_t stream) {
  if (n != 0)
    TULLE_CUDA(cudaMemcpyAsync, to, from, n * sizeof(T), cudaMemcpyDeviceToDevice, stream);
}

/// Of csr, for the first segments. Once a defragmenting, when the next product comes.
template <class V, class I>
void make_plan(matrix<V, I>& m) {
  auto const check = [](cuda_status const& s) {
    if (s.code != cuda_status::fine)
      throw failure{s};
  };
  auto const a = m.as_csr();
  std::size_t bytes = 0;
  m.how = {};
  m.how.device = m.o.device;
  m.how.stream = m.o.stream;
  check(m.csr->prepare(&a, m.how, bytes));
  if (bytes > m.plan.bytes())
    m.plan = m.take(bytes + bytes / pool_part, 1);
  m.how.work = m.plan.template as<void>();
  check(m.csr->fill(&a, m.how));
  m.planned = true;
}

// Entries of one row that a thread adds up, and a warp; a block more. 16 for a thread: as fast.
constexpr int of_thread = 6;
constexpr int of_warp = 512;

/// The sum over entries of a grown row, of every `step`-th from `from` on.
template <class V, class I>
__device__ V sum_behind(fragments<V, I> const& a, grown_row<I> const& g, I from, I step,
                        V const* x) {
  V sum = 0;
#pragma unroll 4
  for (I p = from; p < g.count; p += step) {
    I const at = p < g.places ? g.begin + p : a.place_behind(1, g.row, p - g.places);
    sum = fma(a.val[at], __ldg(x + a.col[at]), sum);
  }
  return sum;
}

/// y += alpha times what rows have behind their first segments, a thread each; rows with more by
/// their warp, and with most by their block. Who adds what follows from the numbers of entries
/// alone, so the bits do too.
template <class V, class I>
__global__ void __launch_bounds__(each_threads)
    behind_kernel(V alpha, fragments<V, I> a, std::size_t n, V const* x, V* y) {
  __shared__ int listed[each_threads], count;
  __shared__ block_room<V> room;
  if (threadIdx.x == 0)
    count = 0;
  __syncthreads();
  std::size_t const k0 = blockIdx.x * std::size_t{each_threads};
  std::size_t const k = k0 + threadIdx.x;
  int const lane = threadIdx.x % 32;
  grown_row<I> g{};
  V before = 0;
  if (k < n) {
    g = a.grown[k];
    before = y[g.row];
  }
  if (g.count > of_warp)
    listed[atomicAdd(&count, 1)] = threadIdx.x;
  if (g.count > 0 && g.count <= of_thread)
    y[g.row] = fma(alpha, sum_behind(a, g, I(0), I(1), x), before);
  for (unsigned others = __ballot_sync(whole_warp, g.count > of_thread && g.count <= of_warp);
       others != 0; others &= others - 1) {
    int const who = __ffs(static_cast<int>(others)) - 1;
    grown_row<I> const h = a.grown[k - lane + who];
    V const sum = reduce<32>(sum_behind(a, h, static_cast<I>(lane), I(32), x));
    if (lane == who)
      y[g.row] = fma(alpha, sum, before);
  }
  __syncthreads();
  for (int r = 0; r < count; ++r) {
    grown_row<I> const h = a.grown[k0 + listed[r]];
    V const sum = block_reduce<each_threads>(
        sum_behind(a, h, static_cast<I>(threadIdx.x), I(each_threads), x), room);
    if (threadIdx.x == 0)
      y[h.row] = fma(alpha, sum, y[h.row]);
    __syncthreads();
  }
}

/// Entries k0 + k of a block to where row_ptr has them.
template <class V, class I>
__global__ void __launch_bounds__(tile_threads)
    gather_kernel(fragments<V, I> a, I const* first_row, I* col, V* val) {
  __shared__ I place[share];
  I const k0 = static_cast<I>(blockIdx.x * std::size_t{share});
  int const n = static_cast<int>(a.nnz - k0 < share ? a.nnz - k0 : share);
  I const from = first_row[blockIdx.x];
  a.template find_places<tile_threads>(from > 0 ? from - 1 : from, first_row[blockIdx.x + 1], k0, n,
                                       [&](int k, I at) { place[k] = at; });
#pragma unroll 4
  for (int k = threadIdx.x; k < n; k += tile_threads) {
    I const at = place[k];
    col[k0 + k] = a.col[at];
    val[k0 + k] = a.val[at];
  }
}

/// All rows in their first segments.
template <class V, class I>
void gather(matrix<V, I>& m) {
  auto const rows = static_cast<std::size_t>(m.rows);
  owned const first_row = m.take(ceil_div<std::size_t>(m.entries, share) + 1, sizeof(I));
  owned col = m.take(m.capacity, sizeof(I)), val = m.take(m.capacity, sizeof(V));
  if (m.row_ptr.bytes() == 0)
    m.row_ptr = m.take(rows + 1, sizeof(I));
  std::size_t bytes = 0;
  I const* const length = m.length.template as<I>(); // and a 0
  sum_up(length, m.row_ptr.template as<I>(), rows + 1, nullptr, bytes, m.o.stream);
  if (m.scan.bytes() < bytes)
    m.scan = m.take(bytes, 1);
  sum_up(length, m.row_ptr.template as<I>(), rows + 1, m.scan.template as<void>(), bytes,
         m.o.stream);
  std::size_t const blocks = ceil_div<std::size_t>(m.entries, share);
  launch(first_rows_kernel<I, I>, ceil_div<std::size_t>(blocks + 1, row_threads), row_threads,
         m.o.stream, m.rows, static_cast<I const*>(m.row_ptr.template as<I>()), first_row.as<I>(),
         blocks, std::size_t{share});
  launch(gather_kernel<V, I>, blocks, tile_threads, m.o.stream, m.view(),
         static_cast<I const*>(first_row.as<I>()), col.as<I>(), val.as<V>());
  std::swap(m.col, col);
  std::swap(m.val, val);
  std::swap(m.first, m.row_ptr);
  m.levels = 0;
  m.grown_rows = 0;
  m.used = m.in_first = m.entries;
  m.compact = true;
  m.holes = m.planned = false;
  m.debt = 0;
}

/// Rows of a compact one by columns, entries of one place in the order they came.
template <class V, class I>
void sort_rows(matrix<V, I>& m) {
  void* const stream = m.o.stream;
  std::size_t const n = m.entries;
  scratch<I> const row(n, stream), sorted(n, stream), perm(n, stream);
  owned col = m.take(m.capacity, sizeof(I)), val = m.take(m.capacity, sizeof(V));
  expand_rows(m.rows, static_cast<I>(n), static_cast<I const*>(m.first.template as<I>()), row.get(),
              stream);
  order_by(m.rows, m.cols, static_cast<I>(n), static_cast<I const*>(row.get()),
           static_cast<I const*>(m.col.template as<I>()), sorted.get(), perm.get(), stream);
  each(n, stream,
       [perm = perm.get(), from_col = m.col.template as<I>(), from_val = m.val.template as<V>(),
        to_col = col.as<I>(), to_val = val.as<V>()] __device__(std::size_t k) {
         to_col[k] = from_col[perm[k]];
         to_val[k] = from_val[perm[k]];
       });
  std::swap(m.col, col);
  std::swap(m.val, val);
}

/// first and length of csr's pointers.
template <class V, class I>
void take_pointers(matrix<V, I>& m, I const* row_ptr) {
  auto const rows = static_cast<std::size_t>(m.rows);
  copy(m.first.template as<I>(), row_ptr, rows + 1, m.stream());
  each(rows + 1, m.o.stream,
       [row_ptr, rows, length = m.length.template as<I>()] __device__(std::size_t i) {
         length[i] = i < rows ? row_ptr[i + 1] - row_ptr[i] : I(0);
       });
}

/// errc::bad_structure where an array does not hold together.
template <class V, class I>
void check_csr(device_csr<V, I, I> const& a, void* stream) {
  auto const rows = static_cast<std::size_t>(a.rows);
  std::size_t const pointers = fold<sum>(rows + 1, stream, [a, rows] __device__(std::size_t i) {
    I const k = a.row_ptr[i];
    return i == rows ? k != a.nnz : k < 0 || k > a.row_ptr[i + 1] || (i == 0 && k != 0);
  });
  if (pointers != 0)
    fail(errc::bad_structure, "dynamic_csr: row_ptr does not ascend from 0 to %lld",
         static_cast<long long>(a.nnz));
  std::size_t const bad =
      fold<least>(static_cast<std::size_t>(a.nnz), stream, [a] __device__(std::size_t k) {
        return a.col[k] < 0 || a.col[k] >= a.cols ? k : ~std::size_t{0};
      });
  if (bad < static_cast<std::size_t>(a.nnz))
    fail(errc::bad_structure, "dynamic_csr: col[%zu] is outside [0, %lld)", bad,
         static_cast<long long>(a.cols));
}

template <class V, class I>
std::unique_ptr<matrix<V, I>> make(cuda_dynamic_options const& o, device_csr<V, I, I> const* a,
                                   cuda_spmv_kernel const* csr) {
  auto m = std::make_unique<matrix<V, I>>(o, csr);
  auto const rows = static_cast<std::size_t>(m->rows);
  if (a && rows != 0)
    check_csr(*a, o.stream);
  m->length = m->take(rows + 1, sizeof(I));
  m->first = m->take(rows + 1, sizeof(I));
  m->found = m->take(1, sizeof(posted<V, I>));
  auto const s = m->stream();
  if (!a || a->nnz == 0) {
    TULLE_CUDA(cudaMemsetAsync, m->length.template as<char>(), 0, m->length.bytes(), s);
    TULLE_CUDA(cudaMemsetAsync, m->first.template as<char>(), 0, m->first.bytes(), s);
    return m;
  }
  grow(*m, static_cast<std::size_t>(a->nnz));
  m->entries = m->used = m->in_first = static_cast<std::size_t>(a->nnz);
  copy(m->col.template as<I>(), a->col, m->entries, s);
  copy(m->val.template as<V>(), a->val, m->entries, s);
  take_pointers(*m, a->row_ptr);
  return m;
}

/// What comes now goes on another stream: in its turn, and the next behind it.
template <class V, class I, class F>
void in_turn(matrix<V, I>& m, void* stream, F const& f) {
  auto const s = static_cast<cudaStream_t>(stream);
  bool const elsewhere = s != m.stream();
  if (elsewhere) {
    TULLE_CUDA(cudaEventRecord, m.order, m.stream());
    TULLE_CUDA(cudaStreamWaitEvent, s, m.order, 0);
  }
  f();
  if (elsewhere) {
    TULLE_CUDA(cudaEventRecord, m.order, s);
    TULLE_CUDA(cudaStreamWaitEvent, m.stream(), m.order, 0);
  }
}

// What the rows that have grown cost products, in parts of the matrix, until it is defragmented:
// those products then took as long as that takes, so that whatever comes next, no more than twice
// the time of the better choice is lost. H200, double, rmat 20, poisson2d5 2048 and circuit
// 2000000: a product with a tenth behind takes .14, .14, .26 ms more, defragmenting .22, .26, .18.
// Rounds of bench dynamic with .1 / .2 / .4, the median: 1.12 / 1.16 / 1.18, .61 / .61 / .62, .79 /
// .76 / .83.
constexpr double most_debt = .2;

template <class V, class I>
void multiply(matrix<V, I>& m, void* stream, V alpha, V const* x, V beta, V* y) {
  bool const is_empty = m.entries == 0 || alpha == V(0);
  if (!is_empty && !m.compact) {
    m.debt += static_cast<double>(m.entries - m.in_first) / static_cast<double>(m.entries);
    if (m.holes || m.debt > most_debt)
      gather(m);
  }
  if (!is_empty && !m.planned)
    make_plan(m);
  in_turn(m, stream, [&] {
    if (is_empty)
      return scale(beta, y, static_cast<std::size_t>(m.rows), stream);
    auto const a = m.as_csr();
    cuda_status const s = m.csr->run({&alpha, &a, x, &beta, y, &m.how, stream});
    if (s.code != cuda_status::fine)
      throw failure{s};
    launch(behind_kernel<V, I>, ceil_div(m.grown_rows, std::size_t{each_threads}), each_threads,
           stream, alpha, m.view(), m.grown_rows, x, y);
  });
}

template <class V, class I>
cuda_dynamic_shape shape(matrix<V, I> const& m) {
  cuda_dynamic_shape s{m.entries, m.capacity, static_cast<std::size_t>(1 + m.levels), 0, m.compact};
  for (owned const* o :
       {&m.length, &m.first, &m.further, &m.col, &m.val, &m.found, &m.work, &m.row_ptr, &m.plan})
    s.bytes += o->bytes();
  return s;
}

template <class V, class I>
void merge(matrix<V, I>& m, device_csr<V, I, I> const& b) {
  canonical<V, I, I> const c(b, m.o.stream);
  auto const n = static_cast<std::size_t>(c.view.nnz);
  if (n == 0)
    return;
  scratch<I> const row(n, m.o.stream);
  expand_rows(c.view.rows, c.view.nnz, c.view.row_ptr, row.get(), m.o.stream);
  if (m.o.combine) // looks for the entries that are there
    change(m, {dynamic_change::insert, n, row.get(), c.view.col, c.view.val, false});
  else
    insert_sorted(m, n, static_cast<I const*>(row.get()), c.view.col, c.view.val);
}

} // namespace

template <class V, class I>
void grow(matrix<V, I>& m, std::size_t places) {
  constexpr auto most = static_cast<std::size_t>(std::numeric_limits<I>::max());
  if (places > most)
    fail(errc::overflow, "dynamic_csr: %zu places do not fit a %d-bit index", places,
         static_cast<int>(8 * sizeof(I)));
  if (places > m.o.limit)
    fail(errc::out_of_memory, "dynamic_csr: %zu places wanted, the limit is %zu", places,
         m.o.limit);
  if (places <= m.capacity)
    return;
  std::size_t const roomy = std::max(places + places / pool_part, 2 * m.capacity);
  std::size_t const capacity = std::min({roomy, most, m.o.limit});
  owned col = m.take(capacity, sizeof(I)), val = m.take(capacity, sizeof(V));
  copy(col.as<I>(), m.col.template as<I>(), m.used, m.stream());
  copy(val.as<V>(), m.val.template as<V>(), m.used, m.stream());
  std::swap(m.col, col);
  std::swap(m.val, val);
  m.capacity = capacity;
}

template <class V, class I>
void defragment(matrix<V, I>& m, bool sort, bool combine) {
  if (m.entries == 0 && m.compact)
    return;
  if (!m.compact)
    gather(m);
  if (m.entries == 0)
    return;
  if (combine) {
    canonical<V, I, I> const c(m.as_csr(), m.o.stream);
    if (c.view.col == m.col.template as<I>())
      return;
    m.entries = m.used = m.in_first = static_cast<std::size_t>(c.view.nnz);
    copy(m.col.template as<I>(), c.view.col, m.entries, m.stream());
    copy(m.val.template as<V>(), c.view.val, m.entries, m.stream());
    take_pointers(m, c.view.row_ptr);
  } else if (sort) {
    sort_rows(m);
  } else {
    return;
  }
  m.planned = false;
}

#define TULLE_DYNAMIC_CELL(tag, V, I, O)                                                           \
  template void grow(matrix<V, I>&, std::size_t);                                                  \
  template void defragment(matrix<V, I>&, bool, bool);                                             \
  extern cuda_spmv_kernel const spmv_csr_##tag;                                                    \
  extern cuda_dynamic_kernel const dynamic_##tag;                                                  \
  cuda_dynamic_kernel const dynamic_##tag = cell<V, I>::template table<&spmv_csr_##tag>();

namespace {

template <class V, class I>
struct cell {
  using M = matrix<V, I>;
  using view = device_csr<V, I, I>;

  template <class F>
  static cuda_status on(void* matrix, F const& f) {
    return guarded([&] {
      auto& m = *static_cast<M*>(matrix);
      device_guard const there(m.o.device);
      f(m);
    });
  }
  template <cuda_spmv_kernel const* csr>
  static constexpr cuda_dynamic_kernel table() {
    return {
        [](cuda_dynamic_options const& o, void const* a, void*& made) {
          return guarded([&] {
            device_guard const there(o.device);
            made = make<V, I>(o, static_cast<view const*>(a), csr).release();
          });
        },
        [](void* matrix) { on(matrix, [](M& m) { delete &m; }); },
        [](void* matrix, cuda_batch const& b) { return on(matrix, [&](M& m) { change(m, b); }); },
        [](void* matrix, void const* b) {
          return on(matrix, [&](M& m) { merge(m, *static_cast<view const*>(b)); });
        },
        [](void* matrix, bool sort, bool combine) {
          return on(matrix,
                    [&](M& m) { defragment(m, sort, combine || m.o.combine_at_defragmenting); });
        },
        [](void* matrix, void* a) {
          return on(matrix, [&](M& m) {
            defragment(m, false, false);
            *static_cast<view*>(a) = m.as_csr();
          });
        },
        [](void* matrix, void* stream, void const* alpha, void const* x, void const* beta,
           void* y) {
          return on(matrix, [&](M& m) {
            multiply(m, stream, *static_cast<V const*>(alpha), static_cast<V const*>(x),
                     *static_cast<V const*>(beta), static_cast<V*>(y));
          });
        },
        [](void* matrix, cuda_dynamic_shape& to) {
          return on(matrix, [&](M& m) { to = shape(m); });
        }};
  }
};

} // namespace

TULLE_TYPES(TULLE_DYNAMIC_CELL)

namespace {

constexpr cuda_dynamic_kernel const* kernels[] = {
#define TULLE_CELL(tag, V, I, O) &dynamic_##tag,
    TULLE_TYPES(TULLE_CELL)};
constexpr cuda_dynamic_module table = {
    cuda_dynamic_version,
    [](int type) { return type < static_cast<int>(std::size(kernels)) ? kernels[type] : nullptr; }};

} // namespace
} // namespace tulle::simt

extern "C" __attribute__((visibility("default"))) tulle::cuda_dynamic_module const*
tulle_cuda_dynamic_module() {
  return &tulle::simt::table;
}

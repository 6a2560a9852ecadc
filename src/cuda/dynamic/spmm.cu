// SPDX-License-Identifier: Apache-2.0

// C = alpha A B + beta C, A dynamic: by spmm's rows.cuh over the first segments; rows continue with
// their overflow entries. Rows with many of these take one block each, in a separate launch. A
// matrix whose overflow has cost products as much as defragmenting takes is defragmented first.
#include "backend/backend.hpp"
#include "cuda/dynamic/matrix.cuh"
#include "cuda/spmm/rows.cuh"
#include "cuda/spmm/scale_dense.cuh"

namespace tulle::kernels::cuda {

#define TULLE_SPMM_DECLARE(tag, V, I, O) extern spmm_kernel const spmm_csr_##tag;
TULLE_TYPES(TULLE_SPMM_DECLARE)

namespace {

/// What the product of a compact matrix reads.
template <class V, class I>
constexpr spmm_kernel const* csr_kernel = nullptr;
#define TULLE_CSR(tag, V, I, O)                                                                    \
  template <>                                                                                      \
  constexpr spmm_kernel const* csr_kernel<V, I> = &spmm_csr_##tag;
TULLE_TYPES(TULLE_CSR)

void check(outcome const& s) {
  if (s.code != outcome::fine)
    throw failure{s};
}

/// The overflow entries of rows that have at most long_overflow; other rows are crowded.
template <class V, class I>
struct overflow_entries {
  static constexpr bool is_there = true;
  fragments<V, I> a;

  /// The slack of a row whose first segment is [from, to). The reads are independent of others.
  __device__ entries_more<I> slack(std::size_t i, I from, I to) const {
    I const length = a.length[i], row = static_cast<I>(i), begin = a.spare.at(row, from);
    I const n = a.mark[i] == is_crowded ? I(0) : length - (to - from);
    I const here = min(n, a.spare.at(row + 1, to) - begin);
    return {begin, here, n - here};
  }
  /// The next of `left` entries.
  __device__ entry_range<I> segment(std::size_t i, int level, I left) const {
    kernels::cuda::segment<I> const s = a.overflow(level, i);
    return {s.begin, min(left, s.end - s.begin)};
  }
};

constexpr int crowded_threads = 1024;

/// C += alpha times the overflow entries of a crowded row, one block per row. Teams of all its
/// warps share the entries of a segment, and sums of warps are added in their order.
template <int vectors, int width, class V, class I>
__global__ void __launch_bounds__(crowded_threads)
    crowded_dense_kernel(lines<V, I, I> a, fragments<V, I> f, dense_pair<V> d, int lanes) {
  constexpr int warps = crowded_threads / 32;
  __shared__ V sums[warps][32 * vectors * width];
  wait_for_launch_before();
  if (blockIdx.x >= f.lists.counts->crowded)
    return;
  auto const row = static_cast<std::size_t>(f.lists.crowded[blockIdx.x]);
  int const warp = threadIdx.x / 32, lane = threadIdx.x % 32 % lanes, of_warp = 32 / lanes;
  int const team = warp * of_warp + static_cast<int>(threadIdx.x % 32) / lanes;
  int const tile = lanes * vectors * width, first = static_cast<int>(blockIdx.y) * tile;
  int column[vectors];
#pragma unroll
  for (int n = 0; n < vectors; ++n)
    column[n] = first + (n * lanes + lane) * width;
  lane_sums<vectors, width, V> s(d, column);
  I left = f.length[row] - (f.first[row + 1] - f.first[row]);
  for (int level = 0; left > 0; ++level) {
    segment<I> const at = f.overflow(level, row);
    I const here = min(left, at.end - at.begin);
    s.add_all(a, d.b_stride, static_cast<std::uint32_t>(here), team, warps * of_warp,
              [at](std::uint32_t e) { return at.begin + static_cast<I>(e); });
    left -= here;
  }
  s.join(lanes, 32);
  if (threadIdx.x % 32 < lanes)
#pragma unroll
    for (int n = 0; n < vectors; ++n)
#pragma unroll
      for (int q = 0; q < width; ++q)
        sums[warp][column[n] - first + q] = s.sum[n].at[q];
  __syncthreads();
  int const j = static_cast<int>(threadIdx.x);
  if (j >= tile || first + j >= d.columns)
    return;
  V sum = 0;
  for (int other = 0; other < warps; ++other)
    sum += sums[other][j];
  V& c = d.c[row * d.c_row + static_cast<std::size_t>(first + j) * d.c_col];
  c = fma(d.alpha, sum, c);
}

/// Planned once per defragmentation and shape of B.
template <class V, class I>
void make_plan(matrix<V, I>& m, detail::dense_ref const& b) {
  auto const a = m.as_csr();
  m.dense_planned = false;
  m.dense_how = {};
  m.dense_how.device = m.o.device;
  m.dense_how.stream = m.o.queue;
  std::size_t bytes = 0;
  check(csr_kernel<V, I>->prepare(&a, b, b, m.dense_how, bytes));
  if (bytes > m.dense_plan.bytes())
    m.dense_plan = m.take(bytes, 1);
  m.dense_how.work = m.dense_plan.template as<void>();
  check(csr_kernel<V, I>->fill(&a, b, m.dense_how));
  m.dense_b = b;
  m.dense_planned = true;
}

bool is_alike(detail::dense_ref const& a, detail::dense_ref const& b) {
  return a.cols == b.cols && (a.col_stride == 1) == (b.col_stride == 1);
}

} // namespace

template <class V, class I>
void spmm(matrix<V, I>& m, void* stream, V alpha, detail::dense_ref const& b, V beta,
          detail::dense_ref const& c) {
  if (c.rows == 0 || c.cols == 0)
    return;
  if (m.entries == 0 || alpha == V(0))
    return in_turn(m, stream, [&] { scale_dense(beta, c, stream); });
  if (!m.compact) {
    m.debt += static_cast<double>(m.entries - m.in_first) / static_cast<double>(m.entries);
    if (m.holes || m.unlisted || m.debt > most_debt)
      defragment(m, false, false);
  }
  if (!m.dense_planned || !is_alike(m.dense_b, b))
    make_plan(m, b);
  in_turn(m, stream, [&] {
    auto const a = m.as_csr();
    if (m.compact) {
      plan_view here = m.dense_how;
      here.stream = stream;
      return check(csr_kernel<V, I>->run({&alpha, &a, b, &beta, c, &here}));
    }
    lines<V, I, I> const rows{a.rows, a.nnz, a.row_ptr, a.col, a.val, nullptr};
    auto const t = multiply_dense(alpha, rows, overflow_entries<V, I>{m.view()}, b, beta, c,
                                  m.dense_how, stream);
    if (!m.crowded)
      return;
    constexpr int width = in_vector<V>;
    auto* const kernel = t.is_vector ? t.has_two ? crowded_dense_kernel<2, width, V, I>
                                                 : crowded_dense_kernel<1, width, V, I>
                                     : crowded_dense_kernel<1, 1, V, I>;
    launch_tiles(kernel, (m.entries - m.in_first) / long_overflow + 1, t.count, crowded_threads,
                 stream, rows, m.view(), t.d, t.lanes);
  });
}

#define TULLE_SPMM(tag, V, I, O)                                                                   \
  template void spmm(matrix<V, I>&, void*, V, detail::dense_ref const&, V,                         \
                     detail::dense_ref const&);
TULLE_TYPES(TULLE_SPMM)

} // namespace tulle::kernels::cuda

// SPDX-License-Identifier: Apache-2.0

// y = alpha A x + beta y, A in panels: a block has a share of a group's entries, with sums of the
// group's rows in shared memory, and goes through it tile by tile. x of a panel is staged in shared
// memory if the block has enough entries there, otherwise gathered from memory. Sums of a group
// that several blocks share are added in order by a second kernel. If columns are ordered by their
// entries, x is permuted first.
//
// A warp takes one job after the other: it multiplies, waits until the jobs of all phases before
// are added (panels_units.cuh), and adds. So the order of additions depends on the matrix alone,
// and tiles of few entries do not wait for memory one by one: with a barrier between phases instead
// of a count of jobs, rmat took 2.6 times as long.
//
// Layouts, double on an H200: lp 4096 x 1.1M .051 ms with lanes=32:piece=1:width=8192:height=2048;
// width 4096 1.1, 16384 1.2 times as long; height 1024 1.2, 4096 1.1 times; lanes=64 1.1 times.
// rmat 21, 16 per row, .255 ms with lanes=32:piece=1:width=16384:height=8192; width 8192 and height
// 16384 1.1, width 32768 1.2, width 4096 1.6 times as long. With piece above 2 rows repeat, and
// jobs with repeated rows are added one by one.
#include "tulle/format/panels.hpp"

#include "cuda/instantiate.cuh"
#include "cuda/spmv/panels_jobs.cuh"
#include "cuda/workspace.cuh"

#include <cuda_pipeline.h>

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
using view = panels_view<V, I, O, space::cuda>;

// Threads of a block with two blocks per multiprocessor, and with one; lp, ms: 256 .0515, 384
// .0483, 512 .0511; 640 .0489, 768 .0481, 1024 .0514.
constexpr int two_threads = 384, one_threads = 768;
// Entries that the only block of a multiprocessor prefetches while x is staged. None: lp 1.03 times
// as long.
constexpr std::uint32_t asked_ahead = 8192;

/// Copies x of a panel to shared memory; by all warps of the block.
template <int bound, class V>
__device__ __forceinline__ void stage_panel(tiles_arguments<V> const& a, panel_unit const& unit,
                                            int stage, V* staged) {
  std::int64_t const first = a.stages[unit.stage + stage] * a.width;
  int const n = static_cast<int>(min(static_cast<std::int64_t>(a.width), a.places - first));
  V const* const from = a.x + first;
  __syncthreads();
#pragma unroll 4
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    __pipeline_memcpy_async(staged + i, from + i, sizeof(V));
  __pipeline_commit();
  if (bound == one_threads && stage == 0 && threadIdx.x == 0) {
    std::uint32_t const ahead = min(static_cast<std::uint32_t>(unit.entries), asked_ahead);
    ask(a.val + unit.entry, ahead);
    ask(a.col + unit.entry, ahead);
  }
  __pipeline_wait_prior(0);
  __syncthreads();
}

template <bool shared_sums, int bound, class V>
__global__ __launch_bounds__(bound,
                             bound == two_threads ? 2 : 1) void tiles_kernel(tiles_arguments<V> a) {
  extern __shared__ __align__(16) unsigned char memory[];
  wait_for_launch_before();
  V* const staged = reinterpret_cast<V*>(memory + a.staged_at);
  panel_unit const unit = a.units[blockIdx.x];
  V* const sums = shared_sums ? reinterpret_cast<V*>(memory) : a.sums + unit.sums;
  int const lane = threadIdx.x % 32;
  int const warps = blockDim.x / 32;
  for (int i = threadIdx.x; i < unit.rows; i += blockDim.x)
    sums[i] = 0;

  __shared__ int done_count;
  finished_jobs const done{&done_count};
  if (threadIdx.x == 0)
    done_count = 0;
  __syncthreads();

  bool const narrow = a.lanes < 32;
  job_reader<V> const reader{a.val + unit.entry, a.col + unit.entry, a.lanes,
                             narrow ? lane / static_cast<std::uint32_t>(a.lanes) : 0,
                             narrow ? lane % static_cast<std::uint32_t>(a.lanes) : lane};
  std::uint16_t const* const row = a.row + unit.slot;
  panel_job const* const jobs = a.jobs + unit.job;
  if (threadIdx.x == 0)
    ask(jobs, static_cast<std::uint32_t>(unit.jobs));
  int stage = 0;
  for (int k = threadIdx.x / 32;; k += warps) {
    bool const is_job = k < unit.jobs;
    panel_job const job = is_job ? jobs[k] : panel_job{};
    bool const near = job.stage & 1;
    // Every warp takes part in every staging that precedes its next job.
    int const stages = is_job ? static_cast<int>(job.stage / 2) : unit.stages;
    for (; stage < stages; ++stage)
      stage_panel<bound>(a, unit, stage, staged);
    if (!is_job)
      break;
    V const* const x = a.x + job.panel * a.width;
    std::uint32_t const length = job.shape & ((1u << length_bits) - 1);
    std::uint32_t const rows = (job.shape >> length_bits & ((1u << count_bits) - 1)) + 1;
    auto const kind = static_cast<job_kind>(job.shape >> (length_bits + count_bits) & 7);
    if (kind == job_kind::many || kind == job_kind::singles)
      add_many(reader, job, length, rows, kind == job_kind::singles, row, near, staged, x, done,
               sums);
    else
      add_rows(a, reader, job, length, rows, kind, row, near, staged, x, done, sums);
  }
  __syncthreads();
  let_next_launch_begin();
  panel_unit const& end = a.units[blockIdx.x]; // loaded again, to save registers until here
  if (end.whole) {
    V* const y = a.y + end.row;
    for (int i = threadIdx.x; i < end.rows; i += blockDim.x)
      update(y + i, a.alpha, sums[i], a.beta);
  } else if (shared_sums) {
    V* const to = a.sums + end.sums;
    for (int i = threadIdx.x; i < end.rows; i += blockDim.x)
      to[i] = sums[i];
  }
}

template <class V>
__global__ void join_kernel(V alpha, panel_join const* joins, V const* sums, V beta, V* y) {
  __shared__ V parts[join_threads];
  panel_join const j = joins[blockIdx.x];
  wait_for_launch_before();
  int const each = join_threads / j.parts; // rows
  int const i = threadIdx.x % each;
  V sum = 0;
  if (i < j.rows) {
#pragma unroll 8
    for (int u = threadIdx.x / each; u < j.units; u += j.parts)
      sum += sums[j.sums + static_cast<std::int64_t>(u) * j.stride + i];
  }
  parts[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x < j.rows) {
    for (int p = 1; p < j.parts; ++p)
      sum += parts[p * each + i];
    update(y + j.row + i, alpha, sum, beta);
  }
}

template <class V, class I>
__global__ void gather_kernel(std::int64_t n, I const* order, V const* x, V* to) {
  std::int64_t const l = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  if (l < n)
    to[l] = x[order[l]];
}

/// Finds whether rows of a tile repeat: among those side by side, among the rest, and between both.
template <class V, class I, class O>
__global__ void flags_kernel(view<V, I, O> a, unsigned char* flags) {
  __shared__ unsigned seen[2][2048]; // a bit for each row that a group may have
  __shared__ unsigned found;
  for (int i = threadIdx.x; i < 4096; i += blockDim.x)
    seen[i / 2048][i % 2048] = 0;
  if (threadIdx.x == 0)
    found = 0;
  __syncthreads();
  std::size_t const t = blockIdx.x;
  std::uint16_t const* row = a.row + a.slot_ptr[t];
  for (O r = a.run_ptr[t]; r < a.run_ptr[t + 1]; ++r) {
    bool const wide = a.run_len[r] > 0;
    auto const n = static_cast<std::int64_t>(a.run_count[r]) * (wide ? a.lanes : 1);
    for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x) {
      unsigned const bit = 1u << row[i] % 32;
      if (atomicOr(&seen[wide ? 0 : 1][row[i] / 32], bit) & bit)
        atomicOr(&found, wide ? wide_repeat : rest_repeat);
    }
    row += n;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 2048; i += blockDim.x)
    if (seen[0][i] & seen[1][i])
      atomicOr(&found, both_meet);
  __syncthreads();
  if (threadIdx.x == 0)
    flags[t] = static_cast<unsigned char>(found);
}

template <class V, class I, class O>
panel_units units_of(view<V, I, O> const& a, plan_view const& p) {
  panel_shape<I, O> shape;
  shape.nnz = static_cast<std::int64_t>(a.nnz);
  shape.places = static_cast<std::int64_t>(a.places);
  shape.width = a.width;
  shape.lanes = a.lanes;
  shape.value = sizeof(V);
  shape.group_ptr = fetch(a.group_ptr, a.groups + 1, p.stream);
  shape.group_tile = fetch(a.group_tile, a.groups + 1, p.stream);
  shape.tile_panel = fetch(a.tile_panel, a.tiles, p.stream);
  shape.tile_ptr = fetch(a.tile_ptr, a.tiles + 1, p.stream);
  shape.slot_ptr = fetch(a.slot_ptr, a.tiles + 1, p.stream);
  shape.run_ptr = fetch(a.run_ptr, a.tiles + 1, p.stream);
  shape.run_len = fetch(a.run_len, a.runs, p.stream);
  shape.run_count = fetch(a.run_count, a.runs, p.stream);
  if (a.tiles > 0) {
    scratch<unsigned char> const flags(a.tiles, p.stream);
    launch(flags_kernel<V, I, O>, a.tiles, 256, p.stream, a, flags.get());
    shape.flags = fetch(flags.get(), a.tiles, p.stream);
  }
  return panel_cutter<I, O>(shape).cut();
}

// Indices of plan_view::info: numbers, and where arrays begin in the workspace, which begins with
// the units. where_n: bytes of sums in shared memory, or -1.
enum : int {
  units_n,
  joins_n,
  stages_at,
  pieces_at,
  jobs_at,
  joins_at,
  x_at,
  sums_at,
  shared_n,
  threads_n,
  where_n
};

template <class V, class I, class O>
std::size_t prepare(view<V, I, O> const& a, plan_view& p) {
  if (p.transposed)
    refuse("panels", "transposed products have no kernel; those of csr and csc do");
  p.method = a.order ? "shares of groups, columns by their entries" : "shares of groups";
  if (a.groups == 0)
    return 0;
  panel_units const u = units_of(a, p);
  std::size_t at = 0;
  auto const take = [&](int where, std::size_t bytes) {
    p.info[where] = static_cast<std::int64_t>(at);
    at += ceil_div(bytes, std::size_t{256}) * 256;
  };
  p.info[units_n] = static_cast<std::int64_t>(u.units.size());
  p.info[joins_n] = static_cast<std::int64_t>(u.joins.size());
  at = ceil_div(u.units.size() * sizeof(panel_unit), std::size_t{256}) * 256;
  take(stages_at, u.stages.size() * sizeof(std::int64_t));
  take(pieces_at, u.pieces.size() * sizeof(std::uint16_t));
  take(jobs_at, u.jobs.size() * sizeof(panel_job));
  take(joins_at, u.joins.size() * sizeof(panel_join));
  take(x_at, a.order ? a.places * sizeof(V) : 0);
  take(sums_at, static_cast<std::size_t>(u.sums) * sizeof(V));
  p.info[shared_n] = static_cast<std::int64_t>(u.shared(sizeof(V), a.width));
  bool const is_alone = !u.sums_in_shared || u.shared(sizeof(V), a.width) > most_shared / 2;
  p.info[threads_n] = is_alone ? one_threads : two_threads;
  p.info[where_n] = u.sums_in_shared ? static_cast<std::int64_t>(u.shared_sums(sizeof(V))) : -1;
  return at;
}

template <class V, class I, class O>
void fill(view<V, I, O> const& a, plan_view const& p) {
  if (a.groups == 0)
    return;
  panel_units const u = units_of(a, p);
  auto const upload = [&](std::int64_t where, auto const& from) {
    if (!from.empty())
      TULLE_CUDA(cudaMemcpyAsync, static_cast<char*>(p.work) + where, from.data(),
                 from.size() * sizeof(from[0]), cudaMemcpyHostToDevice,
                 static_cast<cudaStream_t>(p.stream));
  };
  upload(0, u.units);
  upload(p.info[stages_at], u.stages);
  upload(p.info[pieces_at], u.pieces);
  upload(p.info[jobs_at], u.jobs);
  upload(p.info[joins_at], u.joins);
  TULLE_CUDA(cudaStreamSynchronize, static_cast<cudaStream_t>(p.stream));
}

template <class V, class I, class O>
void spmv(V alpha, view<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p,
          void* stream) {
  if (a.groups == 0)
    return;
  char* const work = static_cast<char*>(p.work);
  V* const gathered = reinterpret_cast<V*>(work + p.info[x_at]);
  V* const sums = reinterpret_cast<V*>(work + p.info[sums_at]);
  if (a.order)
    launch(gather_kernel<V, I>, ceil_div(a.places, std::size_t{256}), 256, stream,
           static_cast<std::int64_t>(a.places), a.order, x, gathered);
  bool const shared_sums = p.info[where_n] >= 0;
  tiles_arguments<V> const arguments{
      a.val,
      a.col,
      a.row,
      a.order ? gathered : x,
      static_cast<std::int64_t>(a.places),
      a.width,
      a.lanes,
      reinterpret_cast<panel_unit const*>(work),
      reinterpret_cast<panel_job const*>(work + p.info[jobs_at]),
      reinterpret_cast<std::uint16_t const*>(work + p.info[pieces_at]),
      reinterpret_cast<std::int64_t const*>(work + p.info[stages_at]),
      sums,
      y,
      alpha,
      beta,
      shared_sums ? static_cast<int>(p.info[where_n]) : 0};
  auto const threads = static_cast<int>(p.info[threads_n]);
  launch_early_shared(!shared_sums             ? tiles_kernel<false, one_threads, V>
                      : threads == two_threads ? tiles_kernel<true, two_threads, V>
                                               : tiles_kernel<true, one_threads, V>,
                      static_cast<std::size_t>(p.info[units_n]), threads,
                      static_cast<std::size_t>(p.info[shared_n]), stream, arguments);
  launch_early(join_kernel<V>, static_cast<std::size_t>(p.info[joins_n]), join_threads, stream,
               alpha, reinterpret_cast<panel_join const*>(work + p.info[joins_at]), sums, beta, y);
}

} // namespace

TULLE_INSTANTIATE_CUDA_SPMV(panels)

} // namespace tulle::kernels::cuda

// SPDX-License-Identifier: Apache-2.0

// The jobs of panels' product: a warp multiplies a job's entries, waits for its turn, and adds.
#pragma once
#include "cuda/instantiate.cuh"
#include "cuda/primitive/warp.cuh"
#include "cuda/spmv/panels_units.cuh"

namespace tulle::kernels::cuda {
namespace {

/// The arguments of the kernel.
template <class V>
struct tiles_arguments {
  V const* val;
  std::uint16_t const* col;
  std::uint16_t const* row;
  V const* x; // by places
  std::int64_t places;
  int width, lanes;
  panel_unit const* units;
  panel_job const* jobs;
  std::uint16_t const* pieces;
  std::int64_t const* stages;
  V* sums;
  V* y;
  V alpha, beta;
  int staged_at; // in shared memory
};

template <class V>
struct job_reader {
  V const* val;
  std::uint16_t const* col;
  int lanes;
  std::uint32_t chunk, in_chunk; // of this lane in 32 rows side by side

  /// The sum over n entries from `at` on, `step` apart; `fixed` is the step if known to the
  /// compiler, or 0.
  template <int fixed>
  __device__ V dot(std::uint32_t at, std::int64_t step, int n, V const* x) const {
    constexpr int ahead = fixed ? 8 : 4; // in flight
    std::int64_t const d = fixed ? fixed : step;
    V const* v = val + at;
    std::uint16_t const* c = col + at;
    V sum = 0;
    V vs[ahead];
    std::uint32_t cs[ahead];
#pragma unroll 1
    for (; n >= ahead; n -= ahead) {
#pragma unroll
      for (int j = 0; j < ahead; ++j) {
        vs[j] = __ldcs(v + j * d);
        cs[j] = __ldcs(c + j * d);
      }
#pragma unroll
      for (int j = 0; j < ahead; ++j)
        sum = fma(vs[j], x[cs[j]], sum);
      v += ahead * d;
      c += ahead * d;
    }
#pragma unroll
    for (int j = 0; j < ahead - 1; ++j)
      if (j < n) {
        vs[j] = __ldcs(v + j * d);
        cs[j] = __ldcs(c + j * d);
      }
#pragma unroll
    for (int j = 0; j < ahead - 1; ++j)
      if (j < n)
        sum = fma(vs[j], x[cs[j]], sum);
    return sum;
  }
  __device__ V dot(std::uint32_t at, std::uint32_t step, int n, V const* x) const {
    return step == 32  ? dot<32>(at, 32, n, x)
           : step == 1 ? dot<1>(at, 1, n, x)
                       : dot<0>(at, step, n, x);
  }

  /// The sums of four times 32 rows of few entries.
  __device__ void four(panel_job const& j, std::uint32_t length, std::uint32_t rows, bool singles,
                       V const* x, V (&sum)[4]) const {
    std::uint32_t const lane = threadIdx.x % 32;
    std::uint32_t at[4];
    bool on[4];
    std::uint32_t const first = j.entry + (singles ? lane : chunk * lanes * length + in_chunk);
    std::uint32_t const step = lanes;
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      on[q] = q * 32 + lane < rows;
      at[q] =
          first + (singles || lanes <= 32 ? q * 32 * length : (q / 2) * 64 * length + q % 2 * 32);
      sum[q] = 0;
    }
#pragma unroll 1
    for (std::uint32_t k = 0; k < length; ++k) {
      V v[4];
      std::uint32_t c[4];
#pragma unroll
      for (int q = 0; q < 4; ++q)
        if (on[q]) {
          v[q] = __ldcs(val + at[q]);
          c[q] = __ldcs(col + at[q]);
          at[q] += step;
        }
#pragma unroll
      for (int q = 0; q < 4; ++q)
        if (on[q])
          sum[q] = fma(v[q], x[c[q]], sum[q]);
    }
  }
};

/// sums[row] += sum, in the order of lanes if they have the same row.
template <class V>
__device__ void add_in_order(V* sums, bool on, std::uint32_t row, V sum) {
  unsigned const same = __match_any_sync(whole_warp, on ? row : 65536u + threadIdx.x % 32);
  int const before = __popc(same & ((1u << threadIdx.x % 32) - 1));
  for (int turn = 0; __any_sync(whole_warp, turn <= before); ++turn) {
    if (on && turn == before)
      sums[row] += sum;
    __syncwarp();
  }
}

/// Prefetches p[0..n) to the second-level cache. Doing so for the entries of later jobs: lp 1.2
/// times as long.
template <class T>
__device__ void ask(T const* p, std::uint32_t n) {
#if __CUDA_ARCH__ >= 900
  auto const at = reinterpret_cast<std::uintptr_t>(p) & ~std::uintptr_t{15};
  auto const bytes = n * static_cast<std::uint32_t>(sizeof(T)) & ~15u;
  if (bytes > 0)
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(
                     __cvta_generic_to_global(reinterpret_cast<void const*>(at))),
                 "r"(bytes)
                 : "memory");
#endif
}

/// Jobs of a block whose sums are added, counted in shared memory.
struct finished_jobs {
  int* count;

  /// A warp waits only for earlier jobs, which never wait for later ones. With __nanosleep in the
  /// loop rmat took up to 1.1 times as long.
  __device__ __forceinline__ void wait_for(int jobs) const {
    while (*static_cast<int volatile*>(count) < jobs) {
    } // spins
    __threadfence_block();
    __syncwarp();
  }
  __device__ __forceinline__ void add() const {
    __threadfence_block();
    __syncwarp();
    if (threadIdx.x % 32 == 0)
      atomicAdd(count, 1);
  }
};

/// A job of up to 128 rows of few entries.
template <class V>
__device__ __forceinline__ void add_many(job_reader<V> const& reader, panel_job const& job,
                                         std::uint32_t length, std::uint32_t rows, bool singles,
                                         std::uint16_t const* row, bool near, V const* staged,
                                         V const* x, finished_jobs done, V* sums) {
  int const lane = threadIdx.x % 32;
  std::uint32_t r[4];
#pragma unroll
  for (int q = 0; q < 4; ++q)
    r[q] = q * 32 + lane < rows ? __ldcs(row + (job.slot + q * 32 + lane)) : 0u;
  V sum[4];
  if (near)
    reader.four(job, length, rows, singles, staged, sum);
  else
    reader.four(job, length, rows, singles, x, sum);
  done.wait_for(static_cast<int>(job.after));
#pragma unroll
  for (int q = 0; q < 4; ++q)
    if (q * 32 + lane < rows)
      sums[r[q]] += sum[q];
  done.add();
}

/// A job of up to 32 rows, or of one long piece.
template <class V>
__device__ __forceinline__ void
add_rows(tiles_arguments<V> const& a, job_reader<V> const& reader, panel_job const& job,
         std::uint32_t length, std::uint32_t rows, job_kind kind, std::uint16_t const* row,
         bool near, V const* staged, V const* x, finished_jobs done, V* sums) {
  int const lane = threadIdx.x % 32;
  bool adds = lane < rows;
  std::uint32_t at = job.entry;
  std::uint32_t step = a.lanes;
  int n = adds ? length : 0;
  if (kind == job_kind::rows) {
    at += reader.chunk * a.lanes * length + reader.in_chunk;
  } else if (kind == job_kind::mixed) {
    std::uint32_t const piece = adds ? a.pieces[job.pieces + lane] : 0u;
    at += piece >> 5;
    step = 1;
    n = adds ? (piece & 31) + 1 : 0;
  } else {
    at += lane;
    step = 32;
    n = static_cast<int>(length - lane + 31) / 32;
  }
  std::uint32_t const r = adds ? __ldcs(row + (job.slot + lane)) : 0u;
  V sum = near ? reader.dot(at, step, n, staged) : reader.dot(at, step, n, x);
  if (kind == job_kind::piece)
    sum = reduce<32>(sum);
  done.wait_for(static_cast<int>(job.after));
  if (job.shape & repeats_bit)
    add_in_order(sums, adds, r, sum);
  else if (adds)
    sums[r] += sum;
  done.add();
}

} // namespace
} // namespace tulle::kernels::cuda

// SPDX-License-Identifier: Apache-2.0

// The kernels of a batch that adds entries, sorted by row: they plan where entries go, and write
// them.
#pragma once
#include "cuda/dynamic/matrix.cuh"
#include "cuda/primitive/search.cuh"

namespace tulle::kernels::cuda {
namespace {

/// The plan for the entries of one row, stored with the first of them. All of them read it: 32
/// bytes with 32-bit indices (with 44 bytes, batches of a million took a fifth longer).
template <class I>
struct alignas(4 * sizeof(I)) run {
  I length, places;      // of the row before the batch
  I last, from;          // where its last segment begins, and that segment's first entry
  I begin;               // of the new segment
  int level;             // of the new segment
  unsigned count, start; // of a counted batch: number of entries, and where they are listed
};
template <class I>
struct plan {
  run<I> r;
  I size; // of the new segment, set for the first entry alone; 0: there is none
};
template <class I>
struct plans { // of a batch
  run<I>* runs;
  I* sizes;

  __device__ void set(std::size_t k, plan<I> const& p) const {
    runs[k] = p.r;
    sizes[k] = p.size;
  }
};

template <class V, class I>
__device__ bool is_fine(batch<V, I> const& b) {
  findings const& f = *b.found;
  growth const& g = b.g;
  return f.bad == 0 && f.full == 0 && f.levels <= b.a.tables && g.used + f.places <= g.capacity;
}

/// Writes the findings for the host, which waits for the number.
__device__ inline void tell(findings const& f, unsigned number, notice* to) {
  to->found = f;
  __threadfence_system();
  *const_cast<unsigned volatile*>(&to->number) = number;
}

/// Finds indices that are out of range.
template <class V, class I>
__global__ void look_kernel(batch<V, I> b, I cols) {
  wait_for_launch_before();
  std::size_t const k = blockIdx.x * std::size_t{each_threads} + threadIdx.x;
  bool is_bad = false;
  if (k < b.n) {
    I const i = b.row[k];
    I const j = b.col ? b.col[k] : I(0);
    is_bad = i < 0 || i >= b.a.rows || (b.col && (j < 0 || j >= cols));
  }
  fold_warp<greatest>(is_bad ? b.n - k : 0, &b.found->bad);
  if (k == 0)
    *b.next = {};
}

/// The end of the entries from k on that have k's row.
template <class I>
__device__ std::size_t end_of(I const* row, std::size_t n, std::size_t k) {
  std::size_t step = 1;
  while (k + step < n && row[k + step] == row[k])
    step *= 2;
  std::size_t const from = k + step / 2 + (step > 1);
  std::size_t const to = k + step < n ? k + step : n;
  return step == 1 ? k + 1 : from + upper_bound(row + from, to - from, row[k]);
}
/// The first of the consecutive entries up to k that have k's row.
template <class I>
__device__ std::size_t begin_of(I const* row, std::size_t k) {
  std::size_t step = 1;
  while (step <= k && row[k - step] == row[k])
    step *= 2;
  std::size_t const from = step <= k ? k - step + 1 : 0;
  return from + lower_bound(row + from, k - from, row[k]);
}

/// The last segment, slack included, that row i needs for so many entries and already has.
template <class V, class I>
__device__ run<I> room_of(fragments<V, I> const& a, I i, row_now<I> const& now,
                          std::size_t length) {
  run<I> r{};
  r.length = now.length;
  r.last = now.first.begin;
  r.places = now.first.end - now.first.begin;
  for (; r.level < a.levels && length > static_cast<std::size_t>(r.places); ++r.level) {
    segment<I> const s = r.level == 0 ? a.slack(i, now.first) : a.overflow(r.level, i);
    if (r.level > 0 && s.begin == s.end)
      break;
    r.last = s.begin;
    r.from = r.places;
    r.places += s.end - s.begin;
  }
  return r;
}

/// Plans the segment that row i needs for `fresh` more entries.
template <class V, class I>
__device__ plan<I> plan_row(fragments<V, I> const& a, growth const& g, I i, row_now<I> const& now,
                            std::size_t fresh, findings* f) {
  std::size_t const length = static_cast<std::size_t>(now.length) + fresh;
  unsigned char const mark = a.mark_of(now.first.end - now.first.begin, length);
  if (mark != 0)
    one_more(&f->many);
  if (mark == is_crowded)
    f->crowded = 1;
  if (length > static_cast<std::size_t>(a.longest))
    atomicMax(&f->longest, static_cast<unsigned long long>(length));
  plan<I> p{room_of(a, i, now, length), 0};
  run<I> const& r = p.r;
  if (length <= static_cast<std::size_t>(r.places))
    return p;
  if (r.level == g.most) {
    f->full = 1;
    return p;
  }
  if (r.level >= a.levels)
    atomicMax(&f->levels, r.level + 1);
  std::size_t const wanted = length - static_cast<std::size_t>(r.places);
  std::size_t slack = static_cast<std::size_t>(g.factor * static_cast<double>(length)) + g.plus;
  if (r.level > 1 && slack < length) // the row has grown before
    slack = length;
  if (g.tight)
    slack = 0;
  // So that the sum over all rows exists.
  constexpr std::size_t most_slack = 1ull << 32;
  slack = slack < most_slack ? slack : most_slack;
  constexpr auto most = static_cast<std::size_t>(sizeof(I) == 4 ? 0x7fffffff : 1ll << 48);
  p.size = static_cast<I>(wanted + slack < most ? wanted + slack : most);
  return p;
}

/// Assigns places to the new segments of a block's rows.
template <class V, class I>
__device__ void give_places(batch<V, I> const& b, plan<I>& p) {
  __shared__ unsigned long long of_warp[each_threads / 32], from;
  auto const wanted = static_cast<unsigned long long>(p.size);
  unsigned long long const up_to = inclusive_scan(wanted);
  if (threadIdx.x % 32 == 31)
    of_warp[threadIdx.x / 32] = up_to;
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned long long sum = 0;
    for (unsigned long long& w : of_warp) {
      unsigned long long const here = w;
      w = sum;
      sum += here;
    }
    from = sum == 0 ? 0 : atomicAdd(&b.found->places, sum);
  }
  __syncthreads();
  p.r.begin = static_cast<I>(b.g.used + from + of_warp[threadIdx.x / 32] + up_to - wanted);
}

template <class V, class I>
__global__ void __launch_bounds__(each_threads)
    plan_kernel(batch<V, I> b, I const* row, plans<I> to) {
  wait_for_launch_before();
  if (b.found->bad != 0)
    return;
  std::size_t const k = blockIdx.x * std::size_t{each_threads} + threadIdx.x;
  bool const is_first = k < b.n && (k == 0 || row[k - 1] != row[k]);
  plan<I> p{};
  if (is_first)
    p = plan_row(b.a, b.g, row[k], b.a.now(row[k]), end_of(row, b.n, k) - k, b.found);
  give_places(b, p);
  if (is_first)
    to.set(k, p);
}

/// Records the new segment of a row, of so many places, and its new length.
template <class V, class I>
__device__ void settle(fragments<V, I> const& a, I i, segment<I> const& in_first, run<I> const& r,
                       I size, I length, findings* f) {
  a.length[i] = length;
  if (length < in_first.end - in_first.begin)
    f->holes = 1;
  if (size != 0)
    a.further[(r.level - 1) * a.pitch + i] = {r.begin, r.begin + size};
  a.list(i, in_first, length);
}
/// Where entry p of the row goes; the tables may or may not have the new segment yet.
template <class V, class I>
__device__ I target(fragments<V, I> const& a, I i, run<I> const& r, I p) {
  if (p >= r.places)
    return r.begin + (p - r.places);
  return p >= r.from ? r.last + (p - r.from) : a.place_of(i, p);
}

/// Writes an entry, which is number `rank` of those of its row.
template <class V, class I>
__device__ void put(fragments<V, I> const& a, I i, segment<I> const& in_first, run<I> const& r,
                    I rank, I c, V v) {
  I const at = target(a, i, r, r.length + rank);
  a.col[at] = c;
  a.val[at] = v;
  a.pair(i, in_first, r.length + rank, c, v);
}

template <class V, class I>
__global__ void __launch_bounds__(each_threads)
    append_kernel(batch<V, I> b, I const* row, I const* perm, plans<I> planned, unsigned number,
                  notice* to) {
  wait_for_launch_before();
  std::size_t const k = blockIdx.x * std::size_t{each_threads} + threadIdx.x;
  if (k == 0)
    tell(*b.found, number, to);
  if (!is_fine(b))
    return;
  I const i = k < b.n ? row[k] : I(-1);
  bool const is_first = k < b.n && (k == 0 || row[k - 1] != i);
  int const lane = threadIdx.x % 32;
  unsigned const firsts = __ballot_sync(whole_warp, is_first) & (0xffffffffu >> (31 - lane));
  if (k >= b.n)
    return;
  std::size_t const k0 =
      firsts != 0 ? k - lane + (31 - __clz(static_cast<int>(firsts))) : begin_of(row, k - lane);
  run<I> const r = planned.runs[k0];
  segment<I> const in_first = b.a.in_first(i);
  std::size_t const from = perm ? static_cast<std::size_t>(perm[k]) : k;
  put(b.a, i, in_first, r, static_cast<I>(k - k0), b.col[from], b.val[from]);
  if (is_first)
    settle(b.a, i, in_first, r, planned.sizes[k],
           r.length + static_cast<I>(end_of(row, b.n, k) - k), b.found);
}

} // namespace
} // namespace tulle::kernels::cuda

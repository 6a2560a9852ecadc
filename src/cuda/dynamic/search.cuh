// SPDX-License-Identifier: Apache-2.0

// The kernels of a batch whose entries are searched for in their rows: to assign, erase, or add to
// existing entries. A warp goes through a row.
#pragma once
#include "cuda/dynamic/batch.cuh"

namespace tulle::kernels::cuda {
namespace {

/// Entries of a batch by row and column, to be searched for in their rows.
template <class V, class I>
struct wanted {
  dynamic_change kind;
  std::size_t n;
  I const *row, *col; // in order
  I const* perm;
  V const* val;        // in the order of the batch
  unsigned char* mark; // of the first entry of a place: it exists; it has been changed
  enum : unsigned char { absent, present, changed };

  __device__ V value(std::size_t q) const { return val[perm[q]]; }
  /// The first entry of [k, end) with that column; end if there is none.
  __device__ std::size_t find(std::size_t k, std::size_t end, I c) const {
    std::size_t const q = k + lower_bound(col + k, end - k, c);
    return q < end && col[q] == c ? q : end;
  }
  __device__ bool is_fresh(std::size_t k, std::size_t q) const {
    return kind != dynamic_change::erase && (q == k || col[q] != col[q - 1]) && mark[q] == absent;
  }
  /// v after the entries of q's place are applied to it.
  __device__ V joined(V v, std::size_t q, std::size_t end, bool is_new) const {
    I const c = col[q];
    if (is_new)
      v = value(q++);
    for (; q < end && col[q] == c; ++q)
      v = kind == dynamic_change::insert ? v + value(q) : value(q);
    return v;
  }
};

/// One warp per entry; only those with the first entry of a row have work.
template <class V, class I>
__global__ void plan_search_kernel(wanted<V, I> b, plans<I> to, batch<V, I> of) {
  std::size_t const k = (blockIdx.x * std::size_t{each_threads} + threadIdx.x) / 32;
  int const lane = threadIdx.x % 32;
  findings* const f = of.found;
  if (f->bad != 0 || k >= b.n || (k > 0 && b.row[k - 1] == b.row[k]))
    return;
  fragments<V, I> const& a = of.a;
  growth const& g = of.g;
  I const i = b.row[k];
  std::size_t const end = end_of(b.row, b.n, k);
  for (std::size_t q = k + lane; q < end; q += 32)
    b.mark[q] = b.absent;
  __syncwarp();
  for (I p = lane; p < a.length[i]; p += 32) {
    std::size_t const q = b.find(k, end, a.col[a.place_of(i, p)]);
    if (q != end)
      b.mark[q] = b.present;
  }
  __syncwarp();
  int fresh = 0;
  for (std::size_t q = k + lane; q < end; q += 32)
    fresh += b.is_fresh(k, q);
  fresh = reduce<32>(fresh);
  if (lane != 0)
    return;
  plan<I> p = plan_row(a, g, i, a.now(i), static_cast<std::size_t>(fresh), f);
  if (p.size != 0)
    p.r.begin =
        static_cast<I>(g.used + atomicAdd(&f->places, static_cast<unsigned long long>(p.size)));
  to.set(k, p);
}

template <class V, class I>
__global__ void change_kernel(wanted<V, I> b, plans<I> planned, batch<V, I> of) {
  std::size_t const k = (blockIdx.x * std::size_t{each_threads} + threadIdx.x) / 32;
  int const lane = threadIdx.x % 32;
  unsigned const before = (1u << lane) - 1;
  if (!is_fine(of) || k >= b.n || (k > 0 && b.row[k - 1] == b.row[k]))
    return;
  fragments<V, I> const& a = of.a;
  findings* const f = of.found;
  I const i = b.row[k];
  run<I> const r = planned.runs[k];
  std::size_t const end = end_of(b.row, b.n, k);
  I kept = 0;
  for (I p0 = 0; p0 < r.length; p0 += 32) {
    I const p = p0 + lane;
    bool stays = p < r.length;
    I const at = stays ? a.place_of(i, p) : I(0);
    I const c = stays ? a.col[at] : I(0);
    V v = stays ? a.val[at] : V(0);
    std::size_t const q = stays ? b.find(k, end, c) : end;
    bool const is_there = q != end;
    // Of several entries at one place in the row, the first is changed.
    bool is_next = is_there && b.kind != dynamic_change::erase && b.mark[q] != b.changed;
    unsigned const alike = __match_any_sync(whole_warp, static_cast<unsigned long long>(q));
    is_next = is_next && (alike & before) == 0;
    if (is_there &&
        (b.kind == dynamic_change::erase || (b.kind == dynamic_change::assign && !is_next)))
      stays = false;
    if (is_next)
      v = b.joined(v, q, end, false);
    __syncwarp();
    if (is_next)
      b.mark[q] = b.changed;
    unsigned const all = __ballot_sync(whole_warp, stays);
    if (stays) {
      I const to = a.place_of(i, kept + __popc(all & before));
      a.col[to] = c;
      a.val[to] = v;
    }
    kept += __popc(all);
    __syncwarp();
  }
  I fresh = 0;
  for (std::size_t q0 = k; q0 < end; q0 += 32) {
    std::size_t const q = q0 + lane;
    bool const is_new = q < end && b.is_fresh(k, q);
    unsigned const all = __ballot_sync(whole_warp, is_new);
    if (is_new) {
      I const to = target(a, i, r, kept + fresh + __popc(all & before));
      a.col[to] = b.col[q];
      a.val[to] = b.joined(V(0), q, end, true);
    }
    fresh += __popc(all);
  }
  __syncwarp();
  if (lane != 0)
    return;
  settle(a, i, a.in_first(i), r, planned.sizes[k], kept + fresh, f);
  if (fresh != 0)
    atomicAdd(&f->fresh, static_cast<unsigned long long>(fresh));
  if (kept != r.length)
    atomicAdd(&f->removed, static_cast<unsigned long long>(r.length - kept));
}

template <class V, class I>
__global__ void scale_rows_kernel(wanted<V, I> b, batch<V, I> of) {
  std::size_t const k = (blockIdx.x * std::size_t{each_threads} + threadIdx.x) / 32;
  if (of.found->bad != 0 || k >= b.n || (k > 0 && b.row[k - 1] == b.row[k]))
    return;
  fragments<V, I> const& a = of.a;
  I const i = b.row[k];
  std::size_t const end = end_of(b.row, b.n, k);
  for (I p = threadIdx.x % 32; p < a.length[i]; p += 32) {
    I const at = a.place_of(i, p);
    V v = a.val[at];
    for (std::size_t q = k; q < end; ++q)
      v *= b.value(q);
    a.val[at] = v;
  }
}

} // namespace
} // namespace tulle::kernels::cuda

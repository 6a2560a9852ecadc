// SPDX-License-Identifier: Apache-2.0

// y = alpha A x + beta y where rows are sorted by length and stored entry by entry in sections:
// jds, jds_csr, jds_ell.
//
// Kirk & Hwu, sec. 10.5: a thread is a row, and a warp reads the next entry of each of its rows
// side by side; if rows are few and long, several warps share rows, as in ell. The plan keeps the
// section that each warp begins in. Long rows, which are kept in coo, are added afterwards, by
// tiles. Padding of jds_ell is as in ell: a sum that is NaN is computed again.
#pragma once
#include "cuda/each.cuh"
#include "cuda/spmv/coo_tiles.cuh"
#include "cuda/spmv/jds_slots.cuh"

namespace tulle::kernels::cuda {
namespace {

// us of a product, double, H200, split of 0, 8, 16: rmat 21 16 9941, 269, -; in another run -, 286,
// 297; circuit 2000000 111537, 122, 122; where no row is long, alike. jds_csr and jds_ell with
// sections of 32, 64, 1024: alike.
constexpr int sorted_batch = 4; // entries per thread in flight

/// The sum over batches `first`, first + hop, ... of the first `n` slots of a row, or of those that
/// it has.
template <class Row, class V, class I>
__device__ V sum_slots(Row const& row, I n, I first, I hop, I const* col, V const* val,
                       V const* x) {
  using O = typename Row::offset;
  V sum = 0;
  for (I k = first * sorted_batch; k < n; k += hop * sorted_batch) {
    V v[sorted_batch];
    I j[sorted_batch];
    bool has[sorted_batch];
#pragma unroll
    for (int u = 0; u < sorted_batch; ++u) {
      O at = 0;
      has[u] = k + u < n && row.slot(k + u, at);
      if (has[u]) {
        j[u] = once(col + at);
        v[u] = once(val + at);
      }
    }
#pragma unroll
    for (int u = 0; u < sorted_batch; ++u)
      if (has[u])
        sum = fma(v[u], __ldg(x + j[u]), sum);
    if (!has[sorted_batch - 1])
      break;
  }
  return sum;
}

/// `ways` warps per 32 rows.
template <int ways, int threads, class View, class V, class I>
__global__ void __launch_bounds__(threads, threads > 256    ? 1
                                           : sizeof(I) == 4 ? 6
                                                            : 4)
    places_kernel(V alpha, View a, I const* section, V const* x, V beta, V* y) {
  wait_for_launch_before();
  unsigned const warp = threadIdx.x / 32;
  std::size_t const at =
      (blockIdx.x * std::size_t{threads / 32 / ways} + warp / ways) * 32 + threadIdx.x % 32;
  if (at >= static_cast<std::size_t>(a.rows))
    return;
  auto const place = static_cast<I>(at);
  bool const is_here = place >= a.longs; // sums of long rows are 0 until the coo is added
  V sum = 0;
  if (is_here) {
    auto const row = row_at(a, section[at / 32], place);
    sum = sum_slots(row, row.width, static_cast<I>(warp % ways), I(ways), a.col, a.val, x);
  }
  sum = join_warps<threads, ways>(sum);
  if constexpr (requires { a.len; })
    if (is_here && sum != sum)
      sum = sum_slots(row_at(a, section[at / 32], place), a.len[at], I(0), I(1), a.col, a.val, x);
  if (warp % ways == 0)
    update(y + a.perm[at], alpha, sum, beta);
}

template <class View>
std::size_t prepare_sorted(char const* format, View const& a, plan_view& p) {
  if (p.transposed)
    refuse(format, "transposed products have no kernel; those of csr and csc do");
  p.method = a.rest == 0 ? "rows" : "rows, the rest by tiles";
  carver work;
  work.take<typename View::index>(ceil_div<std::size_t>(a.rows, 32));
  work.take<char>(coo_workspace<typename View::value>(a.rest));
  return work.used();
}

template <class View>
void fill_sorted(View const& a, plan_view const& p) {
  using I = typename View::index;
  auto const warps = ceil_div<std::size_t>(a.rows, 32);
  each(warps, p.stream, [=, to = static_cast<I*>(p.work)] __device__(std::size_t w) {
    auto const place = static_cast<I>(w * 32);
    I const first = place < a.longs ? a.longs : place;
    to[w] = first < a.rows ? find_section(a, first) : I(0);
  });
}

template <class View, class V>
void multiply_sorted(V alpha, View const& a, V const* x, V beta, V* y, plan_view const& p,
                     void* stream) {
  using I = typename View::index;
  using O = typename View::offset;
  auto const rows = static_cast<std::size_t>(a.rows);
  carver work(p.work);
  I const* const section = work.take<I>(ceil_div<std::size_t>(rows, 32));
  void* const room = work.take<char>(coo_workspace<V>(a.rest));
  auto const go = [&]<int ways, int threads>() {
    launch_early(places_kernel<ways, threads, View, V, I>,
                 ceil_div(rows, std::size_t{threads / ways}), threads, stream, alpha, a, section, x,
                 beta, y);
  };
  switch (rows == 0 ? 1 : ways_for(rows, static_cast<std::size_t>(a.nnz) / rows)) {
  case 1:
    go.template operator()<1, 256>();
    break;
  case 2:
    go.template operator()<2, 256>();
    break;
  case 8:
    go.template operator()<8, 256>();
    break;
  default:
    go.template operator()<32, 1024>();
  }
  add_coo<V, I, O>(alpha, {a.rest, a.coo_row, a.coo_col, a.coo_val}, x, y, room, stream);
}

} // namespace
} // namespace tulle::kernels::cuda

// SPDX-License-Identifier: Apache-2.0

// y = alpha A x + beta y, A in dia: one thread per row goes through the diagonals in order. No
// index is loaded in the longest stretch of rows with the same diagonals: there the place of a
// value follows from the row, and the offsets of the diagonals are arguments of the kernel.
//
// A symmetric matrix: an entry above the main diagonal is read from its mirror image, in a later
// row. That row reads it too, at about the same time, so it is loaded from memory once. Shared
// stretches: a warp's rows read the same few, which stay in the first-level cache.
//
// A hole is multiplied like an entry; as 0 times Inf or NaN is NaN, a sum that is NaN is computed
// again from the entries alone. Strays: one bit per row says whether it has any.
//
// Bytes that must move, double: 8 per slot, 8 per row and 8 per column. Five full diagonals: 56 per
// row where csr has 80, so at best 1.43 times as fast as the bound of csr; 40 if one triangle is
// stored; 16, and 4 per stretch of 32 rows, if stretches are shared.
#include "tulle/format/dia.hpp"

#include "cuda/instantiate.cuh"
#include "cuda/primitive/warp.cuh"
#include "cuda/workspace.cuh"

#include <algorithm>
#include <vector>

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
using view = dia_view<V, I, O, space::cuda>;

/// Threads per block, resident blocks per multiprocessor, and diagonals whose loads are in flight
/// together.
struct tuning {
  int threads, per_multiprocessor, together;
};
// Times the bound of csr on an H200, double: poisson2d5 4096, poisson3d27 160, lattice 4000000. In
// float 12 blocks are better: poisson2d5 1.64 instead of 1.31.
template <class V>
constexpr tuning plain = {128, sizeof(V) == 4 ? 12 : 10, 8}; // 1.44 1.45 1.30; 12: 1.42 1.41 1.31
constexpr tuning symmetric = {128, 12, 4}; // 1.82 2.04 1.62; 10 blocks 1.79 1.97 1.53, 16 1.10 1.68
constexpr int most_listed = 64;            // diagonals whose offsets are arguments
constexpr int most_alone = 32; // strays of a row that its thread sums; the warp sums more

template <class V, class I, class O>
struct product {
  view<V, I, O> a;
  V alpha, beta;
  V const* x;
  V* y;
  int shift;                 // block == 1 << shift
  I inside, outside;         // the range of rows with the same diagonals
  I first, count;            // those diagonals
  std::int64_t pitch;        // slots of a block of such rows
  std::int64_t origin;       // where block 0 would begin if all blocks had that size
  I alike, unlike;           // the range of rows in blocks of that size; larger if `symmetric`
  unsigned const* has_stray; // one bit per row
  I const* first_stray;      // of 32 rows that have any
  I listed[most_listed];     // diagonals

  __device__ std::int64_t slot_in_block(std::int64_t row) const {
    return row & ((std::int64_t{1} << shift) - 1);
  }
};

template <bool listed, class V, class I, class O>
__device__ I offset(product<V, I, O> const& c, I q) {
  return listed ? c.listed[q] : c.a.diagonal[q];
}

/// The values of a row: `count` diagonals from `first` on; its value of the first is at slot `at`,
/// if stretches are not shared.
template <class I>
struct place {
  I first, count;
  std::int64_t at;
};

/// How values are kept.
enum class form { plain, symmetric, shared };

/// The sum over diagonals q to q + n - 1 of a row whose columns are all in the matrix. val: of q;
/// if stretches are shared, of the first stretch, and `shared` says which one q has.
template <int n, form f, bool listed, class V, class I, class O>
__device__ V add(product<V, I, O> const& c, I row, V const* val, O const* shared, I q, V sum) {
  constexpr bool symmetric = f == form::symmetric;
  V v[n], w[n], mirrored[n], above[n];
#pragma unroll
  for (int u = 0; u < n; ++u) {
    I const o = offset<listed>(c, q + u);
    if constexpr (f == form::shared)
      v[u] = __ldg(val + (std::int64_t{__ldg(shared + u)} << c.shift));
    else
      v[u] = __ldcs(val + (u << c.shift));
    w[u] = __ldg(c.x + row + o);
    if constexpr (symmetric) {
      I const r = row - o;
      mirrored[u] =
          __ldg(c.a.val + c.origin + (r >> c.shift) * c.pitch +
                (static_cast<std::int64_t>(q - c.first + u) << c.shift) + c.slot_in_block(r));
      above[u] = __ldg(c.x + r);
    }
  }
#pragma unroll
  for (int u = 0; u < n; ++u) {
    sum = fma(v[u], w[u], sum);
    if constexpr (symmetric)
      sum = fma(mirrored[u], above[u], sum);
  }
  return sum;
}

template <int most, form f, bool listed, class V, class I, class O>
__device__ V sum_inside(product<V, I, O> const& c, I row, place<I> const& p) {
  constexpr bool symmetric = f == form::symmetric;
  V const* val = c.a.val + (f == form::shared ? c.slot_in_block(p.at) : p.at);
  O const* shared = f == form::shared ? c.a.shared + (p.at >> c.shift) : nullptr;
  I end = p.first + p.count;
  V main = 0, main_x = 0;
  if constexpr (symmetric)
    if (offset<listed>(c, end - 1) == 0) { // the main diagonal has no mirror image
      --end;
      main = __ldg(val + (static_cast<std::int64_t>(end - p.first) << c.shift));
      main_x = __ldg(c.x + row);
    }
  V sum = 0;
  // A thread waits once per batch, so the remainder is one batch of any size.
  int step = static_cast<int>((end - p.first) % most);
  switch (step) {
#define TULLE_REST(n)                                                                              \
  case n:                                                                                          \
    if constexpr (n < most)                                                                        \
      sum = add<n, f, listed>(c, row, val, shared, p.first, sum);                                  \
    break;
    TULLE_REST(1)
    TULLE_REST(2)
    TULLE_REST(3)
    TULLE_REST(4)
    TULLE_REST(5)
    TULLE_REST(6)
    TULLE_REST(7)
#undef TULLE_REST
  }
  for (I q = p.first + step; q < end; q += most) {
    if constexpr (f == form::shared)
      shared += step;
    else
      val += static_cast<std::int64_t>(step) << c.shift;
    step = most;
    sum = add<most, f, listed>(c, row, val, shared, q, sum);
  }
  return symmetric ? fma(main, main_x, sum) : sum;
}

/// The values of any row.
template <class V, class I, class O>
__device__ place<I> find(product<V, I, O> const& c, I row) {
  auto const& a = c.a;
  std::int64_t const b = row >> c.shift;
  std::int64_t const end = (b + 1) << c.shift;
  std::int64_t const last = (end < a.rows ? end : a.rows) - 1;
  O const stretch = a.block_ptr[b];
  place<I> p{0, static_cast<I>(a.block_ptr[b + 1] - stretch), 0};
  for (I hi = a.diagonals - p.count; p.first < hi;) {
    I const mid = p.first + (hi - p.first) / 2;
    if (a.diagonal[mid] < -last)
      p.first = mid + 1;
    else
      hi = mid;
  }
  p.at = (static_cast<std::int64_t>(stretch) << c.shift) + c.slot_in_block(row);
  return p;
}

/// The place of the value of row r of a symmetric matrix on diagonal q, which meets its block.
template <class V, class I, class O>
__device__ std::int64_t slot_of(product<V, I, O> const& c, I q, std::int64_t r) {
  std::int64_t const b = r >> c.shift;
  if (r >= c.alike && r < c.unlike)
    return c.origin + b * c.pitch + (static_cast<std::int64_t>(q - c.first) << c.shift) +
           c.slot_in_block(r);
  // The diagonals that meet a block are the last ones, since none is above the main one.
  return ((std::int64_t{c.a.block_ptr[b + 1]} - c.a.diagonals + q) << c.shift) + c.slot_in_block(r);
}

/// The sum of any row; if `exact`, of its entries alone. Otherwise several loads are in flight
/// together.
template <bool exact, form f, class V, class I, class O>
__device__ V sum_anywhere(product<V, I, O> const& c, I row) {
  constexpr int n = exact ? 1 : 4;
  auto const& a = c.a;
  int const per_byte = c.shift < 3 ? c.shift : 3; // logarithm of the slots per byte of the mask
  V v[n], w[n];
  auto const load = [&](int u, bool is_on, std::int64_t s, std::int64_t column) {
    if (exact && is_on)
      is_on = a.mask[s >> per_byte] >> (s & ((1 << per_byte) - 1)) & 1;
    if constexpr (f == form::shared)
      if (is_on)
        s = (std::int64_t{a.shared[s >> c.shift]} << c.shift) + c.slot_in_block(s);
    v[u] = is_on ? a.val[s] : V(0);
    w[u] = is_on ? c.x[column] : V(0);
  };
  place<I> const p = find(c, row);
  V sum = 0;
#pragma unroll 1
  for (I q = 0; q < p.count; q += n) {
#pragma unroll
    for (int u = 0; u < n; ++u) {
      bool const is_one = q + u < p.count;
      std::int64_t const column = std::int64_t{row} + (is_one ? a.diagonal[p.first + q + u] : 0);
      load(u, is_one && column >= 0 && column < a.cols,
           p.at + (static_cast<std::int64_t>(q + u) << c.shift), column);
    }
#pragma unroll
    for (int u = 0; u < n; ++u)
      sum = fma(v[u], w[u], sum);
  }
  if constexpr (f == form::symmetric)
#pragma unroll 1
    for (I q = 0; q < a.diagonals; q += n) {
#pragma unroll
      for (int u = 0; u < n; ++u) {
        I const o = q + u < a.diagonals ? a.diagonal[q + u] : 0;
        std::int64_t const r = std::int64_t{row} - o;
        bool const is_one = o < 0 && r < a.rows;
        load(u, is_one, is_one ? slot_of(c, q + u, r) : 0, r);
      }
#pragma unroll
      for (int u = 0; u < n; ++u)
        sum = fma(v[u], w[u], sum);
    }
  return sum;
}

/// The sum of a row outside of sum_inside()'s range, or whose sum is NaN. Not inlining it made the
/// others slower: 1.38 instead of 1.42 on poisson2d5, 1.13 instead of 1.64 in float.
template <form f, class V, class I, class O>
__device__ V sum_slowly(product<V, I, O> const& c, I row, bool is_nan) {
  if (!is_nan) {
    V const sum = sum_anywhere<false, f>(c, row);
    if (sum == sum)
      return sum;
  }
  return sum_anywhere<true, f>(c, row);
}

/// The sum of the row's strays. By all lanes; `word` says which lanes' rows have any.
template <class V, class I, class O>
__device__ __noinline__ V sum_strays(product<V, I, O> const& c, unsigned word, std::int64_t group) {
  int const lane = threadIdx.x % 32;
  O k = 0, end = 0;
  if (word >> lane & 1) {
    I const s = c.first_stray[group] + __popc(word & ((1u << lane) - 1));
    k = c.a.stray_ptr[s];
    end = c.a.stray_ptr[s + 1];
  }
  bool const is_long = end - k > most_alone;
  V sum = 0;
  if (!is_long)
    for (O e = k; e < end; ++e)
      sum = fma(c.a.stray_val[e], c.x[c.a.stray_col[e]], sum);
  for (unsigned left = __ballot_sync(whole_warp, is_long); left != 0; left &= left - 1) {
    int const from = __ffs(left) - 1;
    O const stop = __shfl_sync(whole_warp, end, from);
    V part = 0;
#pragma unroll 4
    for (O e = __shfl_sync(whole_warp, k, from) + lane; e < stop; e += 32)
      part = fma(c.a.stray_val[e], c.x[c.a.stray_col[e]], part);
    part = reduce<32>(part);
    if (lane == from)
      sum = part;
  }
  return sum;
}

template <int threads, int per_multiprocessor, int most, form f, bool listed, class V, class I,
          class O>
__global__ void __launch_bounds__(threads, per_multiprocessor)
    rows_kernel(__grid_constant__ product<V, I, O> const c) {
  wait_for_launch_before();
  std::int64_t const at = blockIdx.x * std::int64_t{threads} + threadIdx.x;
  unsigned word = 0;
  if (c.has_stray && at / 32 * 32 < c.a.rows)
    word = c.has_stray[at / 32];
  auto const row = static_cast<I>(at);
  bool const is_row = at < c.a.rows;
  V sum = 0;
  if (is_row) {
    bool is_inside = row >= c.inside && row < c.outside;
    place<I> p{c.first, c.count, c.origin + (row >> c.shift) * c.pitch + c.slot_in_block(row)};
    if constexpr (f != form::symmetric)
      if (!is_inside) {
        p = find(c, row);
        is_inside =
            p.count == 0 || (std::int64_t{row} + c.a.diagonal[p.first] >= 0 &&
                             std::int64_t{row} + c.a.diagonal[p.first + p.count - 1] < c.a.cols);
      }
    if (is_inside)
      sum = sum_inside<most, f, listed>(c, row, p);
    if (!is_inside || sum != sum)
      sum = sum_slowly<f>(c, row, is_inside);
  }
  if (word != 0)
    sum += sum_strays(c, word, at / 32);
  if (is_row)
    update(c.y + row, c.alpha, sum, c.beta);
}

// Workspace: one bit per row, then per 32 rows the first of their strays, if they have any.
template <class I>
std::size_t groups(I rows) {
  return ceil_div(static_cast<std::size_t>(rows), std::size_t{32});
}
template <class I>
std::size_t first_stray_at(I rows) {
  return ceil_div(groups(rows) * sizeof(unsigned), sizeof(I)) * sizeof(I);
}
template <class I>
I* first_stray_in(void* work, I rows) {
  return reinterpret_cast<I*>(static_cast<char*>(work) + first_stray_at(rows));
}

// Indices of plan_view::info.
enum : int { inside, outside, first, count, origin, alike, unlike, first_listed = 8 };

/// Writes the longest range of rows that sum_inside() applies to into p.info.
template <class V, class I, class O>
void find_inside(view<V, I, O> const& a, std::vector<I> const& diagonal, plan_view& p) {
  std::int64_t const rows = a.rows, cols = a.cols, block = a.block;
  auto const n = static_cast<std::int64_t>(diagonal.size());
  auto const up = [&](std::int64_t row) { return (row + block - 1) / block * block; };
  auto const down = [&](std::int64_t row) { return row == rows ? rows : row / block * block; };
  auto const offer = [&](std::int64_t from, std::int64_t to, std::int64_t q, std::int64_t number,
                         std::int64_t begin, std::int64_t end) {
    if (to - from <= p.info[outside] - p.info[inside])
      return;
    p.info[inside] = from;
    p.info[outside] = to;
    p.info[first] = q;
    p.info[count] = number;
    p.info[alike] = begin;
    p.info[unlike] = end;
  };
  if (a.symmetric) {
    // Diagonals from q on; their mirror images must be in such rows, too.
    for (std::int64_t q = 0; q < n; ++q) {
      std::int64_t const begin = up(-static_cast<std::int64_t>(diagonal[q]));
      std::int64_t const end = q == 0 ? rows : down(-static_cast<std::int64_t>(diagonal[q - 1]));
      offer(q == 0 ? begin : std::max(begin, rows + diagonal[q - 1]), end + diagonal[q], q, n - q,
            begin, end);
    }
    return;
  }
  std::vector<std::int64_t> cuts = {0, rows}; // where a diagonal begins or ends
  for (I const o : diagonal) {
    cuts.push_back(std::clamp<std::int64_t>(-static_cast<std::int64_t>(o), 0, rows));
    cuts.push_back(std::clamp<std::int64_t>(cols - o, 0, rows));
  }
  std::sort(cuts.begin(), cuts.end());
  for (std::size_t k = 1; k < cuts.size(); ++k) {
    std::int64_t const from = up(cuts[k - 1]), to = down(cuts[k]);
    if (from >= to)
      continue;
    auto const least = std::lower_bound(diagonal.begin(), diagonal.end(), -from);
    auto const end = std::lower_bound(least, diagonal.end(), cols - from);
    offer(from, to, least - diagonal.begin(), end - least, from, to);
  }
}

template <class V, class I, class O>
std::size_t prepare(view<V, I, O> a, plan_view& p) {
  if (p.transposed && !a.symmetric)
    refuse("dia", "transposed products have no kernel but for symmetric ones");
  p.method = a.stray_rows > 0 ? a.shared ? "shared diagonals and strays" : "diagonals and strays"
             : a.shared       ? "shared diagonals"
                              : "diagonals";
  auto const diagonal = fetch(a.diagonal, static_cast<std::size_t>(a.diagonals), p.stream);
  find_inside(a, diagonal, p);
  if (p.info[inside] < p.info[outside]) {
    std::int64_t const block = p.info[alike] / a.block;
    O const stretch = fetch(a.block_ptr + block, 1, p.stream)[0];
    p.info[origin] = (stretch - block * p.info[count]) * a.block;
  }
  for (std::size_t q = 0; q < diagonal.size() && q < most_listed; ++q)
    p.info[first_listed + q] = diagonal[q];
  return a.stray_rows == 0 ? 0 : first_stray_at(a.rows) + groups(a.rows) * sizeof(I);
}

template <class I>
__global__ void mark_strays_kernel(I const* stray_row, I n, unsigned* has_stray, I* first_stray) {
  std::int64_t const s = blockIdx.x * std::int64_t{256} + threadIdx.x;
  if (s >= n)
    return;
  I const row = stray_row[s];
  atomicOr(has_stray + row / 32, 1u << row % 32);
  if (s == 0 || stray_row[s - 1] / 32 != row / 32)
    first_stray[row / 32] = static_cast<I>(s);
}

template <class V, class I, class O>
void fill(view<V, I, O> a, plan_view const& p) {
  if (a.stray_rows == 0)
    return;
  TULLE_CUDA(cudaMemsetAsync, p.work, 0, first_stray_at(a.rows),
             static_cast<cudaStream_t>(p.stream));
  launch(mark_strays_kernel<I>, ceil_div(static_cast<std::size_t>(a.stray_rows), std::size_t{256}),
         256, p.stream, a.stray_row, a.stray_rows, static_cast<unsigned*>(p.work),
         first_stray_in(p.work, a.rows));
}

template <class V, class I, class O>
void spmv(V alpha, view<V, I, O> a, V const* x, V beta, V* y, plan_view const& p, void* stream) {
  product<V, I, O> c{};
  c.a = a;
  c.alpha = alpha;
  c.beta = beta;
  c.x = x;
  c.y = y;
  while (1 << c.shift < a.block)
    ++c.shift;
  c.inside = static_cast<I>(p.info[inside]);
  c.outside = static_cast<I>(p.info[outside]);
  c.first = static_cast<I>(p.info[first]);
  c.count = static_cast<I>(p.info[count]);
  c.pitch = p.info[count] * a.block;
  c.origin = p.info[origin];
  c.alike = static_cast<I>(p.info[alike]);
  c.unlike = static_cast<I>(p.info[unlike]);
  if (a.stray_rows > 0) {
    c.has_stray = static_cast<unsigned const*>(p.work);
    c.first_stray = first_stray_in(p.work, a.rows);
  }
  bool const listed = a.diagonals <= most_listed;
  if (listed)
    for (I q = 0; q < a.diagonals; ++q)
      c.listed[q] = static_cast<I>(p.info[first_listed + q]);
  auto const go = [&]<tuning t, form f, bool is_listed>() {
    launch_early(rows_kernel<t.threads, t.per_multiprocessor, t.together, f, is_listed, V, I, O>,
                 ceil_div(static_cast<std::size_t>(a.rows), static_cast<std::size_t>(t.threads)),
                 t.threads, stream, c);
  };
  if (a.symmetric)
    listed ? go.template operator()<symmetric, form::symmetric, true>()
           : go.template operator()<symmetric, form::symmetric, false>();
  else if (a.shared)
    listed ? go.template operator()<plain<V>, form::shared, true>()
           : go.template operator()<plain<V>, form::shared, false>();
  else
    listed ? go.template operator()<plain<V>, form::plain, true>()
           : go.template operator()<plain<V>, form::plain, false>();
}

} // namespace

TULLE_INSTANTIATE_CUDA_SPMV(dia)

} // namespace tulle::kernels::cuda

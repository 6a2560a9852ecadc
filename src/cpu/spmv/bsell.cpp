// SPDX-License-Identifier: Apache-2.0

// src/cpu/spmv/bsell.cpp:  y = alpha*A*x + beta*y, A in BSELL.
//
// A slice's block rows are lanes: x of each block is gathered once for all rows of the block, and
// values are stored lane after lane, in pairs where blocks come in fours. Usual squares keep their
// sums in registers, others in L1. A block row is computed by one thread, so the bits do not depend
// on their number. The layout is made for GPUs; on a CPU bcsr, which needs no gather, is faster.
//
// Bytes that must move, double with 3 x 3 blocks: 74 per block, where csr has 108.
//
// Holes and padding are multiplied: 0 times a finite x adds nothing, and 0 times Inf or NaN shows
// as a NaN in the sum, whose row is then computed again from the entries.
#include "tulle/format/bsell.hpp"

#include "cpu/spmv/scatter.hpp"
#include "kernel/instantiate.hpp"
#include "kernel/simd.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

constexpr int side = 8;    // of a block, at most
constexpr int lanes = 64;  // of a slice, at most
constexpr int pieces = 16; // per thread, of the slices: what it takes at a time

template <class V, class I, class O>
struct product {
  bsell_view<V, I, O> const& a;
  V alpha, beta;
  bool overwrite;
  V const* x;
  V* y;
};

/// Row s of the block row at place r of a slice, from its entries alone.
template <class V, class I, class O>
HWY_NOINLINE V exact_row(product<V, I, O> const& q, std::size_t slice, std::size_t r, int s) {
  bsell_view<V, I, O> const& a = q.a;
  detail::bsell_places const at = a.places_of(slice);
  V sum{};
  for (std::size_t k = 0; k < static_cast<std::size_t>(a.len[slice * at.chunk + r]); ++k) {
    std::size_t const block = at.block(k, r);
    std::size_t const first = static_cast<std::size_t>(s * a.width);
    std::uint64_t const bits = a.pattern
                                   ? detail::bits_at(a.pattern, block * at.size + first, a.width)
                                   : ~std::uint64_t(0);
    for (int j = 0; j < a.width; ++j)
      if (bits >> j & 1)
        sum = mul_add(a.val[at.value(k, r, first + static_cast<std::size_t>(j))],
                      q.x[static_cast<std::int64_t>(a.col_at(slice, block)) * a.width + j], sum);
  }
  return sum;
}

/// x of the n blocks at `block`, `step` apart: column j of each in to[j * lanes ...].
template <class V, class I, class O>
HWY_INLINE void gather(product<V, I, O> const& q, std::size_t slice, std::size_t block,
                       std::size_t step, int n, int width, V* to) {
  bsell_view<V, I, O> const& a = q.a;
  std::int64_t const last = a.cols - 1;
  for (int r = 0; r < n; ++r) {
    std::int64_t const left =
        static_cast<std::int64_t>(a.col_at(slice, block + static_cast<std::size_t>(r) * step)) *
        width;
    if (left + width <= a.cols)
      for (int j = 0; j < width; ++j)
        to[j * lanes + r] = q.x[left + j];
    else // holes
      for (int j = 0; j < width; ++j)
        to[j * lanes + r] = q.x[left + j < last ? left + j : last];
  }
}

/// Sets y of the block row at place r of its slice; row s has sum[s * stride].
template <class V, class I, class O>
HWY_INLINE void finish(product<V, I, O> const& q, std::size_t slice, std::size_t r, V const* sum,
                       int stride) {
  bsell_view<V, I, O> const& a = q.a;
  std::size_t const place = slice * static_cast<std::size_t>(a.chunk) + r;
  if (place >= a.block_rows())
    return;
  std::int64_t const top = static_cast<std::int64_t>(a.row_at(place)) * a.height;
  for (int s = 0; s < a.height && top + s < a.rows; ++s) {
    V const value = sum[s * stride];
    update(q.y + top + s, q.alpha, value == value ? value : exact_row(q, slice, r, s), q.beta,
           q.overwrite);
  }
}

/// One slice of S x S blocks, a vector of lanes at a time.
template <int S, class V, class I, class O>
void run_square(product<V, I, O> const& q, std::size_t slice) {
  using D = hn::CappedTag<V, 8>;
  D const d;
  constexpr std::size_t n = hn::MaxLanes(D());
  bsell_view<V, I, O> const& a = q.a;
  detail::bsell_places const at = a.places_of(slice);
  std::size_t const steps =
      static_cast<std::size_t>(a.slice_ptr[slice + 1] - a.slice_ptr[slice]) / at.chunk;
  for (std::size_t first = 0; first < at.chunk; first += n) {
    hn::Vec<D> sum[S];
    for (int s = 0; s < S; ++s)
      sum[s] = hn::Zero(d);
    // x of n blocks, `stride` apart.
    auto const load_x = [&](hn::Vec<D>(&x)[S], std::size_t block, std::size_t stride) {
      I index[n];
      for (std::size_t r = 0; r < n; ++r)
        index[r] = static_cast<I>(a.col_at(slice, block + r * stride) * S);
      for (int j = 0; j < S; ++j)
        x[j] = gather_loads(d, q.x + j, index);
    };
    for (std::size_t k = 0; k < at.fours; k += 2) {
      hn::Vec<D> x[2][S];
      std::size_t const block = at.block(k, first);
      load_x(x[0], block, 2);
      load_x(x[1], block + 1, 2);
      V const* const v = a.val + at.value(k, first, 0);
#pragma GCC unroll 16
      for (int pair = 0; pair < S * S; ++pair) {
        int const e0 = 2 * pair, e1 = 2 * pair + 1; // slots of both blocks
        hn::Vec<D> v0, v1;
        hn::LoadInterleaved2(d, v + static_cast<std::size_t>(pair) * 4 * at.chunk, v0, v1);
        hn::Vec<D>& s0 = sum[e0 / S % S];
        s0 = hn::MulAdd(v0, x[e0 / (S * S)][e0 % S], s0);
        hn::Vec<D>& s1 = sum[e1 / S % S];
        s1 = hn::MulAdd(v1, x[e1 / (S * S)][e1 % S], s1);
      }
    }
    for (std::size_t k = at.fours; k < steps; ++k) {
      hn::Vec<D> x[S];
      load_x(x, at.block(k, first), 1);
      V const* const v = a.val + at.value(k, first, 0);
#pragma GCC unroll 16
      for (int e = 0; e < S * S; ++e)
        sum[e / S] = hn::MulAdd(hn::LoadU(d, v + static_cast<std::size_t>(e) * 2 * at.chunk),
                                x[e % S], sum[e / S]);
    }
    V out[S * n];
    for (int s = 0; s < S; ++s)
      hn::StoreU(sum[s], d, out + static_cast<std::size_t>(s) * n);
    for (std::size_t r = 0; r < n; ++r)
      finish(q, slice, first + r, out + r, static_cast<int>(n));
  }
}

/// One slice of blocks of any shape.
template <class V, class I, class O>
void run_slice(product<V, I, O> const& q, std::size_t slice) {
  bsell_view<V, I, O> const& a = q.a;
  int const h = a.height;
  int const w = a.width;
  int const size = h * w;
  int const n = a.chunk;
  auto const chunk = static_cast<std::size_t>(n);
  detail::bsell_places const at = a.places_of(slice);
  std::size_t const steps =
      static_cast<std::size_t>(a.slice_ptr[slice + 1] - a.slice_ptr[slice]) / chunk;
  V sum[side * lanes];
  V xs[2 * side * lanes];
  for (int s = 0; s < h; ++s)
    for (int r = 0; r < n; ++r)
      sum[s * lanes + r] = V{};
  for (std::size_t k = 0; k < at.fours; k += 2) { // two blocks of each row
    std::size_t const block = at.block(k, 0);
    gather(q, slice, block, 2, n, w, xs);
    gather(q, slice, block + 1, 2, n, w, xs + side * lanes);
    V const* v = a.val + at.value(k, 0, 0);
    for (int pair = 0; pair < size; ++pair, v += 4 * n) {
      int const e0 = 2 * pair % size, e1 = (2 * pair + 1) % size;
      V const* const x0 = xs + (2 * pair / size * side + e0 % w) * lanes;
      V const* const x1 = xs + ((2 * pair + 1) / size * side + e1 % w) * lanes;
      V* const s0 = sum + e0 / w * lanes;
      V* const s1 = sum + e1 / w * lanes;
#pragma omp simd
      for (int r = 0; r < n; ++r) {
        s0[r] = mul_add(v[2 * r], x0[r], s0[r]);
        s1[r] = mul_add(v[2 * r + 1], x1[r], s1[r]);
      }
    }
  }
  for (std::size_t k = at.fours; k < steps; ++k) {
    gather(q, slice, at.block(k, 0), 1, n, w, xs);
    for (int e = 0; e < size; ++e) {
      V const* const v = a.val + at.value(k, 0, static_cast<std::size_t>(e));
      V const* const x0 = xs + e % w * lanes;
      V* const s0 = sum + e / w * lanes;
#pragma omp simd
      for (int r = 0; r < n; ++r)
        s0[r] = mul_add(v[r], x0[r], s0[r]);
    }
  }
  for (std::size_t r = 0; r < chunk; ++r)
    finish(q, slice, r, sum + r, lanes);
}

template <class V, class I, class O>
void multiply(product<V, I, O> const& q, plan_view const& p) {
  bsell_view<V, I, O> const& a = q.a;
  using function = void (*)(product<V, I, O> const&, std::size_t);
  constexpr int n = hn::MaxLanes(hn::CappedTag<V, 8>());
  bool const is_square = a.height == a.width && a.cols % a.width == 0 && a.chunk % n == 0;
  function const run = is_square && a.width == 2   ? run_square<2, V, I, O>
                       : is_square && a.width == 3 ? run_square<3, V, I, O>
                       : is_square && a.width == 4 ? run_square<4, V, I, O>
                                                   : run_slice<V, I, O>;
  auto const slices = static_cast<std::int64_t>(a.slices());
  std::int64_t const piece = slices / (pieces * p.threads) + 1;
  parallel_each(slices, piece, p.threads,
                [&](std::int64_t s, int) { run(q, static_cast<std::size_t>(s)); });
}

/// Calls f(row, column, value) for each entry of slices [begin, end).
template <class V, class I, class O, class F>
HWY_INLINE void walk_slices(bsell_view<V, I, O> const& a, std::int64_t begin, std::int64_t end,
                            F f) {
  for (auto slice = static_cast<std::size_t>(begin); slice < static_cast<std::size_t>(end);
       ++slice) {
    detail::bsell_places const at = a.places_of(slice);
    for (std::size_t r = 0; r < at.chunk && slice * at.chunk + r < a.block_rows(); ++r) {
      std::size_t const place = slice * at.chunk + r;
      std::int64_t const top = static_cast<std::int64_t>(a.row_at(place)) * a.height;
      for (std::size_t k = 0; k < static_cast<std::size_t>(a.len[place]); ++k) {
        std::size_t const block = at.block(k, r);
        std::int64_t const column = static_cast<std::int64_t>(a.col_at(slice, block)) * a.width;
        std::uint64_t const bits =
            a.pattern ? detail::bits_at(a.pattern, block * at.size, a.size()) : ~std::uint64_t(0);
        for (int e = 0; e < a.size(); ++e)
          if (bits >> e & 1)
            f(top + e / a.width, column + e % a.width,
              a.val[at.value(k, r, static_cast<std::size_t>(e))]);
      }
    }
  }
}

template <class V, class I, class O>
std::size_t prepare(bsell_view<V, I, O> const& a, plan_view& p) {
  if (p.transposed)
    return prepare_scatter_of<V>(static_cast<std::int64_t>(a.slices()), a.nnz, p,
                                 [&](std::int64_t begin, std::int64_t end, extent& e) {
                                   walk_slices(a, begin, end,
                                               [&](std::int64_t, std::int64_t j, V) { e.add(j); });
                                 });
  p.method = "slices";
  return 0;
}

template <class V, class I, class O>
void spmv(V alpha, bsell_view<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p) {
  if (!p.transposed)
    return multiply(product<V, I, O>{a, alpha, beta, beta == V{}, x, y}, p);
  multiply_scatter(alpha, static_cast<std::int64_t>(a.cols), static_cast<std::int64_t>(a.slices()),
                   beta, y, p, [&](std::int64_t begin, std::int64_t end, V* out) {
                     walk_slices(a, begin, end, [&](std::int64_t i, std::int64_t j, V value) {
                       out[j] = mul_add(value, x[i], out[j]);
                     });
                   });
}

} // namespace

TULLE_INSTANTIATE_SPMV(bsell)

} // namespace tulle::kernels::TULLE_ISA

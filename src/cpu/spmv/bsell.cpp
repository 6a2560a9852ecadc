// SPDX-License-Identifier: Apache-2.0

// src/cpu/spmv/bsell.cpp:  y = alpha*A*x + beta*y, A in BSELL.
//
// A slice's block rows are lanes: x of each block is gathered once for all rows of the block, and
// values come lane after lane, in pairs where blocks go by fours. Sums of a slice stay in L1. A
// block row is one thread's, so bits do not depend on their number. The layout is made for GPUs;
// here bcsr, which needs no gather, is ahead: fem 60000 on two threads of Zen 4, see
// docs/benchmarks.md.
//
// Bytes that must move, double with 3 x 3 blocks: 74 a block, where csr has 108.
//
// Holes and padding are multiplied: 0 times a finite x adds nothing, and 0 times Inf or NaN shows
// as a NaN in the sum, whose row is then computed again from the entries.
#include "tulle/format/bsell.hpp"

#include "cpu/spmv/scatter.hpp"
#include "kernel/instantiate.hpp"

namespace tulle::simd::TULLE_ISA {
namespace {

constexpr int side = 8;    // of a block, at most
constexpr int lanes = 64;  // of a slice, at most
constexpr int pieces = 16; // of the slices, a thread: what it takes at a time

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

/// One slice; H x W are its blocks, 0 where that is not known.
template <int H, int W, class V, class I, class O>
void run_slice(product<V, I, O> const& q, std::size_t slice) {
  bsell_view<V, I, O> const& a = q.a;
  int const h = H ? H : a.height;
  int const w = W ? W : a.width;
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
#pragma GCC unroll 16
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
  std::size_t const left = a.block_rows() - slice * chunk;
  for (std::size_t r = 0; r < (left < chunk ? left : chunk); ++r) {
    std::int64_t const top = static_cast<std::int64_t>(a.row_at(slice * chunk + r)) * h;
    for (int s = 0; s < h && top + s < a.rows; ++s) {
      V value = sum[static_cast<std::size_t>(s * lanes) + r];
      if (value != value)
        value = exact_row(q, slice, r, s);
      update(q.y + top + s, q.alpha, value, q.beta, q.overwrite);
    }
  }
}

template <class V, class I, class O>
void multiply(product<V, I, O> const& q, plan_view const& p) {
  bsell_view<V, I, O> const& a = q.a;
  using function = void (*)(product<V, I, O> const&, std::size_t);
  int const square = a.height == a.width ? a.height : 0;
  function const run = square == 2   ? run_slice<2, 2, V, I, O>
                       : square == 3 ? run_slice<3, 3, V, I, O>
                       : square == 4 ? run_slice<4, 4, V, I, O>
                                     : run_slice<0, 0, V, I, O>;
  auto const slices = static_cast<std::int64_t>(a.slices());
  std::int64_t const piece = slices / (pieces * p.threads) + 1;
#pragma omp parallel for num_threads(p.threads) schedule(dynamic, piece)
  for (std::int64_t s = 0; s < slices; ++s)
    run(q, static_cast<std::size_t>(s));
}

/// f(row, column, value) for each entry of slices [begin, end).
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

} // namespace tulle::simd::TULLE_ISA

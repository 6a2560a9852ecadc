// SPDX-License-Identifier: Apache-2.0

// src/cpu/spmv/coo.cpp:  y = alpha*A*x + beta*y, A in COO.
//
// Entries in row order: runs of equal rows are summed, tiles of entries dealt to threads; a run
// that a tile's end cuts adds its pieces in order. Entries in any other order: scatter.hpp. The
// transpose is the same with the two index arrays swapped.
#include "tulle/format/coo.hpp"

#include "cpu/spmv/rows.hpp"
#include "cpu/spmv/scatter.hpp"
#include "kernel/instantiate.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

constexpr int by_runs =
    0; // plan_view::info[0] where the entries are in order; else the number of blocks

template <class V, class I, class O>
std::size_t prepare(coo_view<V, I, O> const& a, plan_view& p) {
  I const* const target = p.transposed ? a.col : a.row;
  std::int64_t const nnz = a.nnz;
  int unsorted = 0;
  parallel_for(nnz, p.threads, [&](std::int64_t begin, std::int64_t end) {
    int here = 0; // no branch per entry
    for (std::int64_t k = begin > 0 ? begin : 1; k < end; ++k)
      here |= target[k] < target[k - 1];
    if (here)
      __atomic_store_n(&unsorted, 1, __ATOMIC_RELAXED);
  });
  if (unsorted)
    return prepare_scatter<V>(target, nnz, p);
  p.one_pattern = true;
  p.info[0] = by_runs;
  p.method = "runs";
  return static_cast<std::size_t>(nnz / tile_steps + 1) * sizeof(V);
}

template <class V, class I>
void multiply_runs(V alpha, I const* target, I const* source, V const* val, std::int64_t targets,
                   std::int64_t nnz, V const* x, V beta, V* y, plan_view const& p) {
  std::int64_t const tiles = (nnz + tile_steps - 1) / tile_steps;
  V* const head = static_cast<V*>(p.work); // piece of a run that another thread began
  bool const overwrite = beta == V{};
  int const team = p.threads;
  parallel_for(targets, team, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      y[i] = overwrite ? V{} : beta * y[i];
  });
  parallel(team, [&](int t) {
    std::int64_t const first = tiles * t / team;
    std::int64_t const last = tiles * (t + 1) / team;
    bool foreign =
        first > 0 && first < last && target[first * tile_steps] == target[first * tile_steps - 1];
    for (std::int64_t tile = first; tile < last; ++tile) {
      std::int64_t const end = (tile + 1) * tile_steps < nnz ? (tile + 1) * tile_steps : nnz;
      for (std::int64_t k = tile * tile_steps; k < end;) {
        I const i = target[k];
        std::int64_t e = k + 1;
        while (e < end && target[e] == i)
          ++e;
        V const sum = dot(val, source, x, k, e, 0);
        if (foreign) {
          head[tile] = sum;
          foreign = e == end && end < nnz && target[end] == i;
        } else {
          y[i] = mul_add(alpha, sum, y[i]);
        }
        k = e;
      }
    }
  });
  for (int t = 1; t < team; ++t) {
    std::int64_t const last = tiles * (t + 1) / team;
    std::int64_t tile = tiles * t / team;
    if (tile == 0 || tile == last || target[tile * tile_steps] != target[tile * tile_steps - 1])
      continue;
    I const i = target[tile * tile_steps];
    do
      y[i] = mul_add(alpha, head[tile], y[i]);
    while (++tile < last && target[tile * tile_steps] == i);
  }
}

template <class V, class I, class O>
void spmv(V alpha, coo_view<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p) {
  I const* const target = p.transposed ? a.col : a.row;
  I const* const source = p.transposed ? a.row : a.col;
  std::int64_t const targets = p.transposed ? a.cols : a.rows;
  auto const* const v = as_plain(a.val);
  auto const* const xs = as_plain(x);
  if (p.info[0] == by_runs)
    return multiply_runs(*as_plain(&alpha), target, source, v, targets, a.nnz, xs, *as_plain(&beta),
                         as_plain(y), p);
  multiply_scatter(*as_plain(&alpha), targets, a.nnz, *as_plain(&beta), as_plain(y), p,
                   [=](std::int64_t begin, std::int64_t end, plain<V>* out) {
                     for (std::int64_t k = begin; k < end; ++k)
                       out[target[k]] = mul_add(v[k], xs[source[k]], out[target[k]]);
                   });
}

} // namespace

TULLE_INSTANTIATE_SPMV_BASIC(coo)

} // namespace tulle::kernels::TULLE_ISA

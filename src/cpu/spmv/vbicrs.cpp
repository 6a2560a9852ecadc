// SPDX-License-Identifier: Apache-2.0

// src/cpu/spmv/vbicrs.cpp:  y = alpha*A*x + beta*y, A in VBICRS.
//
// Algorithm 2 of Yzelman's paper, part by part (bicrs_parts.hpp): 64 bytes of values times x at
// their columns, each a 16-bit distance from the vector's first. At the end of a group the lanes of
// a row are added pairwise, and the rows' sums are added to those of the part. Unlike there, x is
// gathered by single loads, which is faster here (kernel/simd.hpp), and no group waits for others
// to fill a vector of sums.
//
// Holes are multiplied: 0 times a finite x adds nothing, and 0 times Inf or NaN gives NaN in the
// sum; the rows of a part that have one are computed again by the pattern.
//
// Bytes that must move, double with 32-bit indices: 10 per slot, 2 per row of a block, 8 per row
// and 8 per column; without holes at best 1.2 times csr's bound.
#include "tulle/format/vbicrs.hpp"

#include "cpu/spmv/bicrs_parts.hpp"
#include "kernel/instantiate.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

// Vectors that are sampled to see whether x is read in runs.
constexpr std::int64_t sample = 4096;

/// Whether distances ascend by one, where the first counts as 0: then one load of x, or of sums,
/// suffices for a vector.
template <int n>
HWY_INLINE bool is_run(std::int16_t const* off) {
  static_assert(n % 4 == 0);
  std::uint64_t other = 0;
  for (int s = 0; s < n; s += 4) {
    std::uint64_t four;
    std::memcpy(&four, off + s, 8);
    std::uint64_t const diff =
        four ^ (0x0003000200010000u + 0x0001000100010001u * std::uint64_t(s));
    other |= s == 0 ? diff >> 16 : diff;
  }
  return other == 0;
}

/// info[1]: whether most vectors are runs.
template <class V, class I, class O>
std::size_t prepare(vbicrs_view<V, I, O> const& a, plan_view& p) {
  constexpr int n = vbicrs_view<V, I, O>::lanes;
  std::size_t const bytes = prepare_parts(a, a.pattern ? 2 : 1, p);
  if (p.transposed)
    return bytes;
  std::int64_t const all = static_cast<std::int64_t>(a.stored) / n;
  std::int64_t const some = all < sample ? all : sample;
  std::int64_t runs = 0;
  for (std::int64_t v = 0; v < some; ++v)
    runs += is_run<n>(a.col + all / some * v * n);
  p.info[1] = 2 * runs > some;
  p.method = p.info[1] ? "parts, runs" : "parts";
  return bytes;
}

/// x[off[0..lanes)], where the first distance counts as 0.
template <bool lead, class D, class V>
HWY_INLINE hn::Vec<D> gather_near(D d, V const* x, std::int16_t const* off) {
  if constexpr (!lead) {
    return gather_loads(d, x, off);
  } else {
    constexpr int n = sizeof(hn::Vec<D>) / sizeof(V);
    std::int16_t at[n];
    std::memcpy(at, off, sizeof at);
    at[0] = 0;
    return gather_loads(d, x, at);
  }
}

/// Adds the n lanes of each of h rows to the rows' sums: `to` is that of the first row, the others
/// are at distances group[1] and on.
template <int h, int n, class D, class V>
HWY_INLINE void add_group(D d, hn::Vec<D>* acc, std::int16_t const* group, V* to) {
  constexpr int lanes = sizeof(hn::Vec<D>) / sizeof(V);
  constexpr int least = h > lanes ? h : lanes;
  for (int half = n / 2; half >= least; half /= 2)
    for (int v = 0; v < half / lanes; ++v)
      acc[v] = hn::Add(acc[v], acc[v + half / lanes]);
  if constexpr (h == 1) {
    to[0] = to[0] + sum_of(d, acc[0]);
    return;
  }
  if constexpr (h >= lanes && h % 4 == 0) {
    if (is_run<h>(group)) {
      for (int v = 0; v < h / lanes; ++v)
        hn::StoreU(hn::Add(hn::LoadU(d, to + v * lanes), acc[v]), d, to + v * lanes);
      return;
    }
  }
  V lane[least];
  for (int v = 0; v < least / lanes; ++v)
    hn::StoreU(acc[v], d, lane + v * lanes);
  for (int half = least / 2; half >= h; half /= 2)
    for (int s = 0; s < half; ++s)
      lane[s] = lane[s] + lane[s + half];
  to[0] = to[0] + lane[0];
  for (int r = 1; r < h; ++r)
    to[group[r]] = to[group[r]] + lane[r];
}

template <int h, class V, class I, class O>
HWY_NOINLINE void add_part(vbicrs_view<V, I, O> const& a, std::size_t part, V const* x, V* sum,
                           bool runs, std::int64_t ahead) {
  constexpr int n = vbicrs_view<V, I, O>::lanes;
  constexpr int lanes = HWY_MAX_BYTES / sizeof(V);
  constexpr int vectors = n / lanes;
  hn::FixedTag<V, lanes> const d;
  for (std::int64_t b = a.part_block[part]; b < static_cast<std::int64_t>(a.part_block[part + 1]);
       ++b) {
    std::int16_t const* col = a.col + a.block_ptr[b];
    std::int16_t const* const end = a.col + a.block_ptr[b + 1];
    V const* val = a.val + a.block_ptr[b];
    std::int16_t const* group = a.row + a.jump_ptr[b];
    V* to = sum + static_cast<std::int64_t>(a.block_row[b]) * a.block;
    V const* const left = x + a.left(static_cast<std::size_t>(b));
    std::int64_t j = *col; // column of the vector's first entry
    while (col < end) {
      hn::Vec<decltype(d)> acc[vectors];
      for (int v = 0; v < vectors; ++v)
        acc[v] = hn::Zero(d);
      do {
        __builtin_prefetch(reinterpret_cast<char const*>(val) + ahead);
        __builtin_prefetch(reinterpret_cast<char const*>(col) + ahead / 4);
        V const* const here = left + j;
        if (runs && is_run<n>(col)) {
          for (int v = 0; v < vectors; ++v)
            acc[v] =
                hn::MulAdd(hn::LoadU(d, val + v * lanes), hn::LoadU(d, here + v * lanes), acc[v]);
        } else {
          acc[0] = hn::MulAdd(hn::LoadU(d, val), gather_near<true>(d, here, col), acc[0]);
          for (int v = 1; v < vectors; ++v)
            acc[v] = hn::MulAdd(hn::LoadU(d, val + v * lanes),
                                gather_near<false>(d, here, col + v * lanes), acc[v]);
        }
        col += n;
        val += n;
        if (col == end)
          break;
        j += *col;
      } while (j < a.block);
      j -= a.block;
      to += *group;
      add_group<h, n>(d, acc, group, to);
      group += h;
    }
  }
}

/// Rows of a part whose sums are NaN, from entries alone.
template <class V, class I, class O>
HWY_NOINLINE void without_holes(vbicrs_view<V, I, O> const& a, std::size_t part, V const* x, V* sum,
                                V* again) {
  I const first = a.part_row[part];
  std::int64_t const n = static_cast<std::int64_t>(a.part_row[part + 1]) - first;
  for (std::int64_t i = 0; i < n; ++i)
    again[i] = V{};
  a.each_entry(part, [&](I i, I j, std::size_t k) {
    again[i - first] = mul_add(a.val[k], x[j], again[i - first]);
  });
  for (std::int64_t i = 0; i < n; ++i)
    if (sum[i] != sum[i])
      sum[i] = again[i];
}

template <class V, class I, class O>
void spmv(V alpha, vbicrs_view<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p) {
  auto* const add = a.height == 1   ? add_part<1, V, I, O>
                    : a.height == 2 ? add_part<2, V, I, O>
                    : a.height == 4 ? add_part<4, V, I, O>
                    : a.height == 8 ? add_part<8, V, I, O>
                                    : add_part<vbicrs_view<V, I, O>::lanes, V, I, O>;
  multiply_parts(alpha, a, x, beta, y, a.pattern ? 2 : 1, p, [&](std::size_t part, V* sum) {
    add(a, part, x, sum, p.info[1] != 0, p.streaming ? ahead_bytes : 0);
    if (!a.pattern)
      return;
    bool nan = false;
    std::int64_t const n = a.part_row[part + 1] - a.part_row[part];
    for (std::int64_t i = 0; i < n; ++i)
      nan |= sum[i] != sum[i];
    if (nan)
      without_holes(a, part, x, sum, sum + p.info[0]);
  });
}

} // namespace

TULLE_INSTANTIATE_SPMV(vbicrs)

} // namespace tulle::kernels::TULLE_ISA

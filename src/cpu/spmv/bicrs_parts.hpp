// SPDX-License-Identifier: Apache-2.0

// y = alpha*A*x + beta*y where rows come in parts and a part's entries in any order: bicrs, cbicrs,
// vbicrs.
//
// A thread takes a part and adds its entries to sums of its own, one for each row, which stay in
// its L2 cache (Yzelman's thread-local output vectors, sec. I-C); then they go to y. Parts depend
// on the matrix alone, so the bits do not depend on the number of threads. The transpose scatters
// parts: scatter.hpp.
#pragma once
#include "cpu/spmv/scatter.hpp"
#include "kernel/chunks.hpp"
#include "kernel/simd.hpp"
#include "kernel/spmv.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

// Prefetch distance in val, a quarter of it in col. ms of vbicrs on banded 300000 15, one thread,
// with 2048, 4096, 6144: 4.07, 3.89, 3.85; on poisson3d27 60 2.62, 2.54, 2.50.
constexpr int ahead_bytes = 6144;

/// Entries [k, end) by algorithm 1 of the paper, four at a time where they are of one row: a column
/// depends on the one before, the sums do not. Columns are sums modulo U; from `limit` on, the row
/// changes. (With vectors, 16-bit columns as prefix sums in eight lanes, rows of 31 and 60 took 1.5
/// to 2 times as long, since the prefix sum restarts at a row's end.)
template <class U, class V, class Delta>
HWY_INLINE void add_increments(Delta const* col, V const* val, Delta const* jump, std::int64_t k,
                               std::int64_t end, U limit, V const* x, V* sum) {
  std::int64_t i = *jump++;
  U j = static_cast<U>(col[k]);
  for (;;) { // a row, or the next piece of it
    V s0{}, s1{}, s2{}, s3{};
    while (k + 4 < end) {
      U const j1 = static_cast<U>(j + static_cast<U>(col[k + 1]));
      U const j2 = static_cast<U>(j1 + static_cast<U>(col[k + 2]));
      U const j3 = static_cast<U>(j2 + static_cast<U>(col[k + 3]));
      bool const inside = static_cast<int>(j1 < limit) & static_cast<int>(j2 < limit) &
                          static_cast<int>(j3 < limit);
      if (!inside)
        break;
      s0 = mul_add(val[k], x[j], s0);
      s1 = mul_add(val[k + 1], x[j1], s1);
      s2 = mul_add(val[k + 2], x[j2], s2);
      s3 = mul_add(val[k + 3], x[j3], s3);
      k += 4;
      j = static_cast<U>(j3 + static_cast<U>(col[k]));
      if (j >= limit)
        break;
    }
    while (j < limit) {
      s0 = mul_add(val[k], x[j], s0);
      if (++k == end)
        break;
      j = static_cast<U>(j + static_cast<U>(col[k]));
    }
    sum[i] = sum[i] + ((s0 + s1) + (s2 + s3));
    if (k == end)
      return;
    j = static_cast<U>(j - limit);
    i += *jump++;
  }
}

/// Layout of the workspace: one share per thread, then `sums` of each.
template <class V>
struct parts_layout {
  std::size_t sums; // of a thread
  std::size_t at, bytes;

  parts_layout(std::int64_t longest, int copies, int threads)
      : sums((static_cast<std::size_t>(longest * copies) + 15) / 16 * 16),
        at(static_cast<std::size_t>(threads) * sizeof(share)),
        bytes(at + static_cast<std::size_t>(threads) * sums * sizeof(V)) {}
};

/// info[0]: rows of the longest part. `copies`: sets of its sums.
template <class View>
std::size_t prepare_parts(View const& a, int copies, plan_view& p) {
  using V = typename View::value;
  using I = typename View::index;
  auto const parts = static_cast<std::int64_t>(a.parts);
  if (p.transposed)
    return prepare_scatter_of<V>(
        parts, a.nnz, p, [&](std::int64_t begin, std::int64_t end, extent& e) {
          for (std::int64_t part = begin; part < end; ++part)
            a.each_entry(static_cast<std::size_t>(part), [&](I, I j, std::size_t) { e.add(j); });
        });
  std::int64_t longest = 0;
  for (std::int64_t part = 0; part < parts; ++part) {
    std::int64_t const n = a.part_row[part + 1] - a.part_row[part];
    longest = n > longest ? n : longest;
  }
  p.info[0] = longest;
  p.one_pattern = true;
  p.method = "parts";
  return parts_layout<V>(longest, copies, p.threads).bytes;
}

/// add(part, sum) adds the entries of a part times x to `copies` sets of sums, which are 0 before.
template <class V, class View, class Add>
void multiply_parts(V alpha, View const& a, V const* x, V beta, V* y, int copies,
                    plan_view const& p, Add add) {
  using I = typename View::index;
  auto const parts = static_cast<std::int64_t>(a.parts);
  if (p.transposed)
    return multiply_scatter(alpha, static_cast<std::int64_t>(a.cols), parts, beta, y, p,
                            [&](std::int64_t begin, std::int64_t end, V* out) {
                              for (std::int64_t part = begin; part < end; ++part)
                                a.each_entry(static_cast<std::size_t>(part),
                                             [&](I i, I j, std::size_t k) {
                                               out[j] = mul_add(a.val[k], x[i], out[j]);
                                             });
                            });
  parts_layout<V> const layout(p.info[0], copies, p.threads);
  bool const overwrite = beta == V{};
  chunk_queue queue(static_cast<share*>(p.work), p.threads, parts);
  parallel(p.threads, [&](int t) {
    V* const sum = reinterpret_cast<V*>(static_cast<char*>(p.work) + layout.at) +
                   static_cast<std::size_t>(t) * layout.sums;
    for (std::int64_t i = 0; i < p.info[0]; ++i)
      sum[i] = V{};
    for (std::int64_t part; (part = queue.take(t)) >= 0;) {
      auto const first = static_cast<std::int64_t>(a.part_row[part]);
      std::int64_t const n = static_cast<std::int64_t>(a.part_row[part + 1]) - first;
      add(static_cast<std::size_t>(part), sum);
      for (std::int64_t i = 0; i < n; ++i) {
        update(y + first + i, alpha, sum[i], beta, overwrite);
        sum[i] = V{}; // for the next part
      }
    }
  });
}

} // namespace
} // namespace tulle::kernels::TULLE_ISA

// SPDX-License-Identifier: Apache-2.0

// src/cpu/sddmm/csr.cpp:  C = alpha*(A*B).*spy(C) + beta*C, A and B dense, C in CSR.
//
// One dot product per entry, of row i of A and column j of B. Four entries of a row at a time share
// the loads of A's row. A dot product is added up in two vectors whatever its neighbours are, so
// the bits depend neither on how entries are dealt to threads nor on where A and B have their gaps.
#include "tulle/format/csr.hpp"

#include "kernel/instantiate.hpp"
#include "kernel/sddmm.hpp"
#include "kernel/simd.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

using i64 = std::int64_t;

// Entries ahead of which B is prefetched, and how many lines of a column at most.
constexpr int ahead = 8;
constexpr int most_lines = 4;

/// What the lanes of a dot product are: vectors for real values that lie side by side, else scalars
/// in the same order.
template <class V>
inline constexpr int lanes_of = is_pair<V> ? 2 : HWY_MAX_BYTES / static_cast<int>(sizeof(V));

/// The sum of x[p * x_step] * y[p * y_step].
template <class V>
HWY_NOINLINE V strided_dot(V const* x, i64 x_step, V const* y, i64 y_step, i64 k) {
  constexpr int lanes = lanes_of<V>;
  V s[lanes] = {}, t[lanes] = {};
  i64 p = 0;
  for (; p + 2 * lanes <= k; p += 2 * lanes)
    for (int l = 0; l < lanes; ++l) {
      s[l] = mul_add(x[(p + l) * x_step], y[(p + l) * y_step], s[l]);
      t[l] = mul_add(x[(p + lanes + l) * x_step], y[(p + lanes + l) * y_step], t[l]);
    }
  if (p + lanes <= k) {
    for (int l = 0; l < lanes; ++l)
      s[l] = mul_add(x[(p + l) * x_step], y[(p + l) * y_step], s[l]);
    p += lanes;
  }
  V tail{};
  for (; p < k; ++p)
    tail = mul_add(x[p * x_step], y[p * y_step], tail);
  for (int l = 0; l < lanes; ++l)
    s[l] = s[l] + t[l];
  if constexpr (is_pair<V>) {
    return s[0] + s[1] + tail;
  } else {
    hn::ScalableTag<V> const d;
    return sum_of(d, hn::LoadU(d, s)) + tail;
  }
}

/// n <= 4 dot products of x with columns of B that lie side by side.
template <int n, class V>
HWY_INLINE void dots(V const* x, V const* const (&y)[4], i64 k, V* to) {
  if constexpr (is_pair<V>) {
    for (int e = 0; e < n; ++e)
      to[e] = strided_dot(x, 1, y[e], 1, k);
  } else {
    hn::ScalableTag<V> const d;
    constexpr int lanes = lanes_of<V>;
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0, t0 = s0, t1 = s0, t2 = s0, t3 = s0;
    i64 p = 0;
    for (; p + 2 * lanes <= k; p += 2 * lanes) {
      auto const u = hn::LoadU(d, x + p), v = hn::LoadU(d, x + p + lanes);
      s0 = hn::MulAdd(u, hn::LoadU(d, y[0] + p), s0);
      t0 = hn::MulAdd(v, hn::LoadU(d, y[0] + p + lanes), t0);
      if constexpr (n == 4) {
        s1 = hn::MulAdd(u, hn::LoadU(d, y[1] + p), s1);
        t1 = hn::MulAdd(v, hn::LoadU(d, y[1] + p + lanes), t1);
        s2 = hn::MulAdd(u, hn::LoadU(d, y[2] + p), s2);
        t2 = hn::MulAdd(v, hn::LoadU(d, y[2] + p + lanes), t2);
        s3 = hn::MulAdd(u, hn::LoadU(d, y[3] + p), s3);
        t3 = hn::MulAdd(v, hn::LoadU(d, y[3] + p + lanes), t3);
      }
    }
    if (p + lanes <= k) {
      auto const u = hn::LoadU(d, x + p);
      s0 = hn::MulAdd(u, hn::LoadU(d, y[0] + p), s0);
      if constexpr (n == 4) {
        s1 = hn::MulAdd(u, hn::LoadU(d, y[1] + p), s1);
        s2 = hn::MulAdd(u, hn::LoadU(d, y[2] + p), s2);
        s3 = hn::MulAdd(u, hn::LoadU(d, y[3] + p), s3);
      }
      p += lanes;
    }
    V tail[4] = {};
    for (; p < k; ++p)
      for (int e = 0; e < n; ++e)
        tail[e] = mul_add(x[p], y[e][p], tail[e]);
    to[0] = sum_of(d, hn::Add(s0, t0)) + tail[0];
    if constexpr (n == 4) {
      to[1] = sum_of(d, hn::Add(s1, t1)) + tail[1];
      to[2] = sum_of(d, hn::Add(s2, t2)) + tail[2];
      to[3] = sum_of(d, hn::Add(s3, t3)) + tail[3];
    }
  }
}

template <class V, class I, class O>
struct sddmm_csr {
  using value = plain<V>;

  static void run(sddmm_call const& call, i64 first, i64 last) {
    auto const& c = *static_cast<csr_view<V, I, O> const*>(call.c);
    auto const* const a = static_cast<value const*>(call.a.data);
    auto const* const b = static_cast<value const*>(call.b.data);
    value const alpha = *static_cast<value const*>(call.alpha);
    value const beta = *static_cast<value const*>(call.beta);
    bool const beta_is_zero = beta == value{};
    value const* const val = as_plain(c.val);
    auto* const to = static_cast<value*>(call.to);
    i64 const k = static_cast<i64>(call.a.cols);
    i64 const a_row = static_cast<i64>(call.a.row_stride);
    i64 const a_step = static_cast<i64>(call.a.col_stride);
    i64 const b_step = static_cast<i64>(call.b.row_stride);
    i64 const b_column = static_cast<i64>(call.b.col_stride);
    bool const side_by_side = (a_step == 1 && b_step == 1) || k <= 1;
    i64 const bytes = k * static_cast<i64>(sizeof(value));
    i64 const lines = bytes < 64 * most_lines ? (bytes + 63) / 64 : most_lines;
    auto const store = [&](i64 e, value dot) HWY_ATTR {
      if (call.times_values) {
        to[e] = alpha * dot * val[e];
        return;
      }
      if (call.repeats && call.repeats[e]) {
        to[e] = beta_is_zero ? value{} : beta * val[e];
        return;
      }
      to[e] = beta_is_zero ? alpha * dot : mul_add(alpha, dot, beta * val[e]);
    };
    i64 row = row_of(c.row_ptr, static_cast<i64>(c.rows), first);
    for (i64 e = first; e < last; ++row) {
      i64 const end =
          static_cast<i64>(c.row_ptr[row + 1]) < last ? static_cast<i64>(c.row_ptr[row + 1]) : last;
      value const* const x = a + row * a_row;
      if (!side_by_side) {
        for (; e < end; ++e)
          store(e, strided_dot(x, a_step, b + c.col[e] * b_column, b_step, k));
        continue;
      }
      for (; e + 4 <= end; e += 4) {
        if (e + ahead + 4 <= last)
          for (int f = 0; f < 4; ++f) {
            auto const* const next =
                reinterpret_cast<char const*>(b + c.col[e + ahead + f] * b_column);
            for (i64 l = 0; l < lines; ++l)
              __builtin_prefetch(next + 64 * l);
          }
        value const* const y[4] = {b + c.col[e] * b_column, b + c.col[e + 1] * b_column,
                                   b + c.col[e + 2] * b_column, b + c.col[e + 3] * b_column};
        value sum[4];
        dots<4>(x, y, k, sum);
        for (int f = 0; f < 4; ++f)
          store(e + f, sum[f]);
      }
      for (; e < end; ++e) {
        value const* const y[4] = {b + c.col[e] * b_column};
        value sum[4];
        dots<1>(x, y, k, sum);
        store(e, sum[0]);
      }
    }
  }

  /// The row that entry e is in.
  static i64 row_of(O const* ptr, i64 rows, i64 e) {
    i64 lo = 0, hi = rows;
    while (hi - lo > 1) {
      i64 const mid = lo + (hi - lo) / 2;
      if (static_cast<i64>(ptr[mid]) <= e)
        lo = mid;
      else
        hi = mid;
    }
    return lo;
  }
};

} // namespace

#define TULLE_SDDMM_CELL(tag, V, I, O)                                                             \
  extern sddmm_kernel const sddmm_csr_##tag;                                                       \
  sddmm_kernel const sddmm_csr_##tag = {sddmm_csr<V, I, O>::run};
TULLE_TYPES(TULLE_SDDMM_CELL)
TULLE_BASIC_TYPES(TULLE_SDDMM_CELL)
#undef TULLE_SDDMM_CELL

} // namespace tulle::kernels::TULLE_ISA

// SPDX-License-Identifier: Apache-2.0

// src/cpu/spmv/dia.cpp:  y = alpha*A*x + beta*y, A in DIA.
//
// A strip of rows has its sums in registers while all diagonals of its block are added: values are
// one stream, x is read by unaligned vectors, there is no index. A hole is multiplied like an
// entry; as 0 times Inf or NaN is NaN, a sum that is NaN is computed again from the entries alone.
// Strays are added by the strip that has their row. The order of additions within a strip is fixed,
// whichever thread runs it. Consecutive blocks with the same diagonals, none of which ends there,
// have a loop of their own. Shared stretches are few, and read from a near cache.
//
// Bytes that must move, double: 8 per slot, 8 per row and 8 per column; 8 more per row where y is
// not written past the caches. Five full diagonals: 56 per row where csr has 80, so at best 1.43
// times as fast as the bound of csr; 27: 232 of 344, 1.48. Shared: 16 per row and 4 per stretch of
// 32 rows.
//
// A symmetric matrix and its transpose: dia_symmetric.hpp.
//
// The transpose: scatter.hpp, in units of a block or 64 rows of strays. A stretch of a diagonal
// adds to a stretch of y of the same length. Holes are skipped only where x is not finite.
#include "tulle/format/dia.hpp"

#include "cpu/spmv/rows.hpp"
#include "cpu/spmv/scatter.hpp"
#include "kernel/instantiate.hpp"

#include <hwy/cache_control.h>

namespace tulle::kernels::TULLE_ISA {
namespace {

// A strip that is a whole block reads values as one stream. Blocks of 64 doubles in two strips, in
// times of blocks of 32, two threads on Zen 4: lattice 1.5, poisson2d5 1.7, poisson3d27 2.6.
constexpr int strip_vectors = 8;
// Whether a large y is written past the caches. Without it, in times of with it, two threads on Zen
// 4: lattice 1.1 to 1.2, poisson2d5 1.0 to 1.2, poisson3d27 1.0 to 1.1. Not measured with 16-byte
// vectors.
constexpr bool streams_y = HWY_MAX_BYTES > 16;
constexpr std::int64_t stream_from = std::int64_t{2} << 20; // bytes of y
// Prefetch distance in val, to L2, where diagonals are few. Without it and with 8192, in times of
// this, two threads on Zen 4: lattice 1.15 to 1.5, 1.0; poisson2d5 1.0 to 1.2, 1.0 to 1.1;
// poisson3d27, 27 diagonals, .9, 1.0. Between 5 and 27 diagonals nothing was measured.
constexpr int asked_bytes = 32768;
constexpr std::int64_t most_asked = 16; // diagonals
// Prefetch distance in x for the last diagonal, where values are shared and only x comes from
// memory. ms on poisson2d5 4000 and, with 27 diagonals, poisson3d27 160, two threads on Zen 4, with
// 0, 1024, 4096, 16384, means of two runs: 9.6, 7.8, 7.2, 8.4; 5.9, 9.2 (7.3 and 11.1), 6.8, 6.7.
constexpr int asked_x = 4096;
constexpr std::int64_t stray_unit = 64; // rows with strays, as a unit of the transpose

/// What all strips of a product share.
template <class V, class I, class O>
struct dia_call {
  dia_view<V, I, O> a;
  std::int64_t rows, cols, height;
  V alpha, beta;
  V const* x;
  V* y;
  bool overwrite;
  bool stream;  // y past the caches
  bool aligned; // y, to whole vectors
  bool asks;    // prefetches values
};

/// Slots of a stretch.
template <class V, class I, class O>
HWY_INLINE V const* values_of(dia_view<V, I, O> const& a, std::int64_t stretch) {
  return a.val + (a.shared ? std::int64_t{a.shared[stretch]} : stretch) * a.block;
}

/// The row's sum over diagonals, without holes: slot i of the stretches from `stretch` on.
template <class V, class I, class O>
HWY_NOINLINE V exact_sum(dia_call<V, I, O> const& c, std::int64_t stretch, I const* diagonal,
                         std::int64_t count, std::int64_t row, std::int64_t i) {
  std::int64_t const bytes = (c.height + 7) / 8;
  V sum{};
  for (std::int64_t d = 0; d < count; ++d)
    if (c.a.mask[(stretch + d) * bytes + i / 8] >> i % 8 & 1)
      sum = mul_add(values_of(c.a, stretch + d)[i], c.x[row + diagonal[d]], sum);
  return sum;
}

/// Corrects the sums of n rows from the block's i-th on: computes those that are NaN again and adds
/// strays. Returns the next row of strays.
template <class V, class I, class O>
HWY_NOINLINE std::int64_t correct_sums(dia_call<V, I, O> const& c, V* sums, std::int64_t stretch,
                                       I const* diagonal, std::int64_t count, std::int64_t row,
                                       std::int64_t i, std::int64_t n, std::int64_t stray) {
  for (std::int64_t r = 0; r < n; ++r)
    if (sums[r] != sums[r])
      sums[r] = exact_sum(c, stretch, diagonal, count, row + r, i + r);
  for (; stray < c.a.stray_rows && c.a.stray_row[stray] < row + n; ++stray) {
    V& sum = sums[c.a.stray_row[stray] - row];
    sum = sum +
          dot(c.a.stray_val, c.a.stray_col, c.x, c.a.stray_ptr[stray], c.a.stray_ptr[stray + 1], 0);
  }
  return stray;
}

/// The first row of strays from `row` on.
template <class V, class I, class O>
std::int64_t stray_from(dia_view<V, I, O> const& a, std::int64_t row) {
  std::int64_t lo = 0;
  for (std::int64_t hi = a.stray_rows; lo < hi;) {
    std::int64_t const mid = (lo + hi) / 2;
    if (a.stray_row[mid] < row)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

template <class D, class V>
HWY_INLINE void stream_pieces(D d, hn::Vec<D> v, V* y) {
  if constexpr (sizeof(decltype(hn::Zero(d).raw)) > 16) {
    hn::Half<D> const half;
    stream_pieces(half, hn::LowerHalf(half, v), y);
    stream_pieces(half, hn::UpperHalf(half, v), y + sizeof(v) / sizeof(V) / 2);
  } else {
    hn::Stream(v, d, y);
  }
}

/// Prefetches values of a strip, `asked_bytes` ahead.
template <int vectors, class V>
HWY_INLINE void ask_strip(V const* val) {
  for (int line = 0; line < vectors * HWY_MAX_BYTES; line += 64)
    __builtin_prefetch(reinterpret_cast<char const*>(val) + asked_bytes + line, 0, 2);
}

/// Sums of a strip of `vectors` vectors: slots from val on, each stretch `height` slots after the
/// one before, or where `shared` says.
template <int vectors, bool edge, bool asks, class D, class V, class I, class O>
HWY_INLINE void sum_strip(D d, hn::Vec<D>* s, V const* val, std::int64_t height, O const* shared,
                          I const* diagonal, std::int64_t count, V const* x, std::int64_t row,
                          std::int64_t cols) {
  constexpr int lanes = HWY_MAX_BYTES / sizeof(V);
  constexpr int strip = vectors * lanes;
  for (int u = 0; u < vectors; ++u)
    s[u] = hn::Zero(d);
  for (std::int64_t q = 0; q < count; ++q) {
    V const* const slots = val + (!asks && shared ? std::int64_t{shared[q]} : q) * height;
    std::int64_t const column = row + diagonal[q];
    V const* from = x + column;
    V inside[edge ? strip : 1]; // x, with zeros where it ends
    if constexpr (edge)
      if (column < 0 || column > cols - strip) {
        for (int j = 0; j < strip; ++j)
          inside[j] = column + j >= 0 && column + j < cols ? x[column + j] : V{};
        from = inside;
      }
    if constexpr (asks)
      ask_strip<vectors>(slots);
    else if (shared && q + 1 == count && count <= most_asked)
      for (int line = 0; line < vectors * HWY_MAX_BYTES; line += 64)
        __builtin_prefetch(reinterpret_cast<char const*>(from) + asked_x + line);
    for (int u = 0; u < vectors; ++u)
      s[u] = hn::MulAdd(hn::LoadU(d, slots + u * lanes), hn::LoadU(d, from + u * lanes), s[u]);
  }
}

/// Sums of a strip into y.
template <int vectors, class D, class V, class I, class O>
HWY_INLINE void store_strip(D d, hn::Vec<D> const* s, dia_call<V, I, O> const& c, V* y) {
  constexpr int lanes = HWY_MAX_BYTES / sizeof(V);
  auto const alpha = hn::Set(d, c.alpha);
  if (!c.overwrite) {
    auto const beta = hn::Set(d, c.beta);
    for (int u = 0; u < vectors; ++u)
      hn::StoreU(hn::MulAdd(alpha, s[u], hn::Mul(beta, hn::LoadU(d, y + u * lanes))), d,
                 y + u * lanes);
  } else if (!c.stream) {
    for (int u = 0; u < vectors; ++u)
      hn::StoreU(hn::Mul(alpha, s[u]), d, y + u * lanes);
  } else if (c.aligned) {
    for (int u = 0; u < vectors; ++u)
      hn::Stream(hn::Mul(alpha, s[u]), d, y + u * lanes);
  } else {
    for (int u = 0; u < vectors; ++u)
      stream_pieces(d, hn::Mul(alpha, s[u]), y + u * lanes);
  }
}

/// Whether any of a strip's sums is NaN.
template <int vectors, class D>
HWY_INLINE bool has_nan(D d, hn::Vec<D> const* s) {
  auto all = s[0];
  for (int u = 1; u < vectors; ++u)
    all = hn::Add(all, s[u]);
  return !hn::AllFalse(d, hn::IsNaN(all));
}

/// The position of a walk down the rows, among the diagonals and the strays.
struct dia_place {
  std::int64_t first; // diagonal that meets the block
  std::int64_t stray; // row of strays, the next
  std::int64_t next_stray;

  template <class V, class I, class O>
  void pass_strays(dia_view<V, I, O> const& a, std::int64_t to) {
    stray = to;
    next_stray = stray < a.stray_rows ? a.stray_row[stray] : INT64_MAX;
  }
};

/// Blocks [b, end) whose diagonals, `count` from at.first on, are the same; where `edge` is not set
/// they all lie inside the matrix, and so do the rows. With `asks` values are prefetched; then they
/// are not shared.
template <int vectors, bool edge, bool asks, class V, class I, class O>
HWY_NOINLINE void multiply_alike(dia_call<V, I, O> const& c, dia_place& at, std::int64_t count,
                                 std::int64_t b, std::int64_t end) {
  hn::ScalableTag<V> const d;
  constexpr int lanes = HWY_MAX_BYTES / sizeof(V);
  constexpr int strip = vectors * lanes;
  std::int64_t const height = c.height;
  I const* const diagonal = c.a.diagonal + at.first;
  std::int64_t stretch = c.a.block_ptr[b];
  for (; b < end; ++b, stretch += count) {
    O const* const shared = c.a.shared ? c.a.shared + stretch : nullptr;
    V const* const val = c.a.val + (shared ? 0 : stretch * height);
    for (std::int64_t i = 0; i < height; i += strip) {
      std::int64_t const row = b * height + i;
      hn::Vec<decltype(d)> s[vectors];
      sum_strip<vectors, edge, asks>(d, s, val + i, height, shared, diagonal, count, c.x, row,
                                     c.cols);
      bool const is_cut = edge && row + strip > c.rows;
      if (at.next_stray < row + strip || is_cut || has_nan<vectors>(d, s)) {
        V sums[strip];
        for (int u = 0; u < vectors; ++u)
          hn::StoreU(s[u], d, sums + u * lanes);
        std::int64_t const n = is_cut ? c.rows - row : strip;
        at.pass_strays(c.a, correct_sums(c, sums, stretch, diagonal, count, row, i, n, at.stray));
        if (is_cut) {
          for (std::int64_t r = 0; r < n; ++r)
            update(c.y + row + r, c.alpha, sums[r], c.beta, c.overwrite);
          return;
        }
        for (int u = 0; u < vectors; ++u)
          s[u] = hn::LoadU(d, sums + u * lanes);
      }
      store_strip<vectors>(d, s, c, c.y + row);
    }
  }
}

/// Block b, lower than a vector: by entries.
template <class V, class I, class O>
HWY_NOINLINE void multiply_low(dia_call<V, I, O> const& c, dia_place& at, std::int64_t count,
                               std::int64_t b) {
  I const* const diagonal = c.a.diagonal + at.first;
  for (std::int64_t i = 0; i < c.height && b * c.height + i < c.rows; ++i) {
    std::int64_t const row = b * c.height + i;
    V sum = exact_sum(c, c.a.block_ptr[b], diagonal, count, row, i);
    at.stray = correct_sums(c, &sum, c.a.block_ptr[b], diagonal, count, row, i, 1, at.stray);
    update(c.y + row, c.alpha, sum, c.beta, c.overwrite);
  }
}

/// The end of the blocks from b on that have the same diagonals, all of them inside the matrix; up
/// to b where b has others.
template <class V, class I, class O>
std::int64_t alike_end(dia_call<V, I, O> const& c, std::int64_t first, std::int64_t count,
                       std::int64_t b) {
  I const* const diagonal = c.a.diagonal;
  if (count == 0 || b * c.height + diagonal[first] < 0)
    return b;
  std::int64_t const inside = c.cols - std::int64_t{diagonal[first + count - 1]};
  std::int64_t row = inside < c.rows ? inside : c.rows;
  if (first > 0 && row > -std::int64_t{diagonal[first - 1]}) // where another diagonal begins
    row = -std::int64_t{diagonal[first - 1]};
  return row / c.height;
}

/// Blocks [b, end).
template <int vectors, class V, class I, class O>
HWY_NOINLINE void multiply_blocks(dia_call<V, I, O> const& c, std::int64_t b, std::int64_t end) {
  auto const& a = c.a;
  dia_place at{a.diagonals, 0, 0};
  at.pass_strays(a, stray_from(a, b * c.height));
  while (b < end) {
    while (at.first > 0 && a.diagonal[at.first - 1] >= 1 - (b + 1) * c.height)
      --at.first;
    std::int64_t const count = a.block_ptr[b + 1] - a.block_ptr[b];
    if constexpr (vectors == 0) {
      multiply_low(c, at, count, b++);
    } else {
      std::int64_t stop = alike_end(c, at.first, count, b);
      stop = stop < end ? stop : end;
      if (b >= stop) {
        stop = b + 1;
        multiply_alike<vectors, true, false>(c, at, count, b, stop);
      } else if (c.asks && count <= most_asked) {
        multiply_alike<vectors, false, true>(c, at, count, b, stop);
      } else {
        multiply_alike<vectors, false, false>(c, at, count, b, stop);
      }
      b = stop;
    }
  }
}

/// First block of a chunk. By slots and strays where strays are many, else by rows.
template <class V, class I, class O>
std::int64_t chunk_begin(dia_call<V, I, O> const& c, std::int64_t chunk, std::int64_t chunks) {
  std::int64_t const blocks = (c.rows + c.height - 1) / c.height;
  std::int64_t const slots = static_cast<std::int64_t>(c.a.stretches) * c.height;
  if (static_cast<std::int64_t>(c.a.strays) < slots / 8 || chunk == chunks)
    return blocks * chunk / chunks;
  auto const before = [&](std::int64_t b) {
    std::int64_t const stray = stray_from(c.a, b * c.height);
    return c.a.block_ptr[b] * c.height + b * c.height +
           (c.a.stray_rows > 0 ? static_cast<std::int64_t>(c.a.stray_ptr[stray]) : 0);
  };
  std::int64_t const wanted = before(blocks) / chunks * chunk;
  std::int64_t lo = 0;
  for (std::int64_t hi = blocks; lo < hi;) {
    std::int64_t const mid = (lo + hi) / 2;
    if (before(mid) < wanted)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

template <class V, class I, class O>
void multiply(dia_call<V, I, O> const& c, plan_view const& p) {
  constexpr int lanes = HWY_MAX_BYTES / sizeof(V);
  std::int64_t const blocks = (c.rows + c.height - 1) / c.height;
  std::int64_t const most = std::int64_t{p.threads} * chunks_per_thread;
  std::int64_t const chunks = blocks < most ? blocks : most;
  chunk_queue queue(static_cast<share*>(p.work), p.threads, chunks);
  parallel(p.threads, [&](int t) {
    for (std::int64_t chunk; (chunk = queue.take(t)) >= 0;) {
      std::int64_t const b = chunk_begin(c, chunk, chunks);
      std::int64_t const end = chunk_begin(c, chunk + 1, chunks);
      if (c.height % (strip_vectors * lanes) == 0)
        multiply_blocks<strip_vectors>(c, b, end);
      else if (c.height % (strip_vectors / 2 * lanes) == 0)
        multiply_blocks<strip_vectors / 2>(c, b, end);
      else if (c.height % (2 * lanes) == 0)
        multiply_blocks<2>(c, b, end);
      else if (c.height % lanes == 0)
        multiply_blocks<1>(c, b, end);
      else
        multiply_blocks<0>(c, b, end);
    }
    if (c.stream)
      hwy::FlushStream();
  });
}

} // namespace
} // namespace tulle::kernels::TULLE_ISA

#include "cpu/spmv/dia_symmetric.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

template <class V, class I, class O>
std::size_t prepare(dia_view<V, I, O> const& a, plan_view& p) {
  if (a.symmetric)
    return prepare_symmetric_dia(a, p);
  if (!p.transposed) {
    p.method = a.stray_rows > 0 ? a.shared ? "shared diagonals and strays" : "diagonals and strays"
               : a.shared       ? "shared diagonals"
                                : "diagonals";
    return static_cast<std::size_t>(p.threads) * sizeof(share);
  }
  std::int64_t const height = a.block;
  std::int64_t const cols = a.cols;
  std::int64_t const blocks = (a.rows + height - 1) / height;
  std::int64_t const units = blocks + (a.stray_rows + stray_unit - 1) / stray_unit;
  return prepare_scatter_of<V>(
      units, static_cast<std::int64_t>(a.stretches) * height + a.strays, p,
      [=](std::int64_t u, std::int64_t end, extent& e) {
        for (; u < end; ++u) {
          if (u >= blocks) {
            std::int64_t const r = (u - blocks) * stray_unit;
            std::int64_t const stop = r + stray_unit < a.stray_rows ? r + stray_unit : a.stray_rows;
            for (std::int64_t k = a.stray_ptr[r]; k < a.stray_ptr[stop]; ++k)
              e.add(a.stray_col[k]);
            continue;
          }
          std::int64_t const top = u * height;
          std::int64_t const bottom = (top + height < a.rows ? top + height : a.rows) - 1;
          for (std::int64_t d = 0; d < a.diagonals; ++d)
            if (a.diagonal[d] >= -bottom && a.diagonal[d] < cols - top) {
              e.add(top + a.diagonal[d] > 0 ? top + a.diagonal[d] : 0);
              e.add(a.diagonal[d] < cols - bottom ? bottom + a.diagonal[d] : cols - 1);
            }
        }
      });
}

/// out[j] += sum of column j over the rows of block b.
template <class V, class I, class O>
void scatter_block(dia_view<V, I, O> const& a, std::int64_t b, V const* x, V* out) {
  hn::ScalableTag<V> const d;
  constexpr int lanes = HWY_MAX_BYTES / sizeof(V);
  std::int64_t const height = a.block;
  std::int64_t const top = b * height;
  std::int64_t const n = top + height < a.rows ? height : a.rows - top;
  auto none = hn::Zero(d); // NaN where x is not finite, which a hole would show
  V rest{};
  std::int64_t whole = 0;
  for (; whole + lanes <= n; whole += lanes)
    none = hn::MulAdd(hn::LoadU(d, x + top + whole), hn::Zero(d), none);
  for (; whole < n; ++whole)
    rest = mul_add(x[top + whole], V{}, rest);
  bool const finite = rest == rest && hn::AllFalse(d, hn::IsNaN(none));
  std::int64_t const bytes = (height + 7) / 8;
  std::int64_t first = 0;
  while (first < a.diagonals && a.diagonal[first] < 1 - top - height)
    ++first;
  std::int64_t const count = a.block_ptr[b + 1] - a.block_ptr[b];
  for (std::int64_t q = 0; q < count; ++q) {
    std::int64_t const stretch = a.block_ptr[b] + q;
    std::int64_t const column = top + a.diagonal[first + q];
    V const* const val = values_of(a, stretch);
    std::int64_t i = column < 0 ? -column : 0;
    std::int64_t const end = n < a.cols - column ? n : a.cols - column;
    if (finite) {
      for (; i + lanes <= end; i += lanes)
        hn::StoreU(hn::MulAdd(hn::LoadU(d, val + i), hn::LoadU(d, x + top + i),
                              hn::LoadU(d, out + column + i)),
                   d, out + column + i);
      for (; i < end; ++i)
        out[column + i] = mul_add(val[i], x[top + i], out[column + i]);
    } else {
      for (; i < end; ++i)
        if (a.mask[stretch * bytes + i / 8] >> i % 8 & 1)
          out[column + i] = mul_add(val[i], x[top + i], out[column + i]);
    }
  }
}

template <class V, class I, class O>
void spmv(V alpha, dia_view<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p) {
  std::int64_t const height = a.block;
  std::int64_t const blocks = (a.rows + height - 1) / height;
  if (p.transposed && !a.symmetric) {
    std::int64_t const units = blocks + (a.stray_rows + stray_unit - 1) / stray_unit;
    multiply_scatter(alpha, a.cols, units, beta, y, p,
                     [=](std::int64_t u, std::int64_t end, V* out) {
                       for (; u < end && u < blocks; ++u)
                         scatter_block(a, u, x, out);
                       for (; u < end; ++u)
                         for (std::int64_t r = (u - blocks) * stray_unit;
                              r < (u - blocks + 1) * stray_unit && r < a.stray_rows; ++r)
                           for (O k = a.stray_ptr[r]; k < a.stray_ptr[r + 1]; ++k)
                             out[a.stray_col[k]] =
                                 mul_add(a.stray_val[k], x[a.stray_row[r]], out[a.stray_col[k]]);
                     });
    return;
  }
  if (a.rows == 0)
    return;
  auto const address = reinterpret_cast<std::uintptr_t>(y);
  bool const overwrite = beta == V{};
  dia_call<V, I, O> const c{a,
                            a.rows,
                            a.cols,
                            height,
                            alpha,
                            beta,
                            x,
                            y,
                            overwrite,
                            streams_y && overwrite && p.streaming && address % 16 == 0 &&
                                a.rows * static_cast<std::int64_t>(sizeof(V)) >= stream_from,
                            address % HWY_MAX_BYTES == 0,
                            p.streaming && !a.shared};
  if (a.symmetric)
    multiply_symmetric_dia(c, p);
  else
    multiply(c, p);
}

} // namespace

TULLE_INSTANTIATE_SPMV(dia)

} // namespace tulle::kernels::TULLE_ISA

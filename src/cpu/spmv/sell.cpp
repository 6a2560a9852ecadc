// SPDX-License-Identifier: Apache-2.0

// src/cpu/spmv/sell.cpp:  y = alpha*A*x + beta*y, A in SELL-C-sigma.
//
// Kreutzer et al. 2014: lanes are rows, a chunk's sums stay in registers, a step takes the next
// entry of each row. Padding is multiplied: a row whose sum is NaN is computed again from its
// entries alone, since 0 times Inf or NaN always gives NaN. Long rows are computed by the tiles of
// rows.hpp. A chunk is computed by one thread, so the bits depend on the layout alone. The
// transpose: scatter.hpp.
//
// Bytes that must move, double with 32-bit indices: 8 per slot, and 4 for a full column, 2 for a
// short one, almost none where offsets are shared; 13 per chunk; 8 per row and 8 per column; 4 more
// per row where rows are sorted. The stencil of five points in chunks of 8: 57 per row, where csr
// moves 80, so at best 1.4 times the speed of memory-bound csr.
#include "tulle/format/sell.hpp"

#include "cpu/spmv/rows.hpp"
#include "cpu/spmv/scatter.hpp"
#include "kernel/instantiate.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

// Entries of long rows that the transpose takes at once; other numbers have not been measured.
constexpr std::int64_t long_unit = 4096;

/// Layout of the workspace: one share per thread, one sum per long row, and that of rows.hpp.
template <class V>
struct sell_layout {
  std::size_t sums_at, rows_at, bytes;

  sell_layout(std::int64_t longs, std::int64_t long_nnz, int threads) {
    sums_at = static_cast<std::size_t>(threads) * sizeof(share);
    rows_at = (sums_at + static_cast<std::size_t>(longs) * sizeof(V) + 63) / 64 * 64;
    bytes = rows_at + (longs == 0 ? 0 : rows_workspace<V>(longs, long_nnz, threads));
  }
};

/// x[index[0..lanes)], by what is fastest on this instruction set.
template <class D, class V, class Index>
HWY_INLINE hn::Vec<D> take(D d, V const* x, Index const* index) {
  using raw = decltype(hn::Zero(d).raw);
  constexpr int n = sizeof(raw) / sizeof(V);
  if constexpr (sizeof(Index) > 2) {
    if constexpr (prefers_gather)
      return gather(d, x, index);
    else
      return gather_loads(d, x, index);
  } else if constexpr (prefers_gather) {
    hn::Rebind<std::int32_t, D> const d32;
    auto const i32 = hn::PromoteTo(d32, hn::LoadU(hn::Rebind<std::uint16_t, D>(), index));
    if constexpr (sizeof(V) == 4)
      return hn::GatherIndex(d, x, i32);
    else
      return hn::GatherIndex(d, x, hn::PromoteTo(hn::Rebind<std::int64_t, D>(), i32));
  } else {
    std::uint64_t at[n];
    if constexpr (n == 2) {
      at[0] = index[0];
      at[1] = index[1];
    } else {
      for (int i = 0; i < n; i += 4) { // four indices per load: loads are the bottleneck here
        std::uint64_t four;
        std::memcpy(&four, index + i, 8);
        at[i] = four & 0xffff;
        at[i + 1] = four >> 16 & 0xffff;
        at[i + 2] = four >> 32 & 0xffff;
        at[i + 3] = four >> 48;
      }
    }
    typedef V lanes __attribute__((vector_size(n * sizeof(V))));
    lanes g;
    if constexpr (n == 2)
      g = lanes{x[at[0]], x[at[1]]};
    else if constexpr (n == 4)
      g = lanes{x[at[0]], x[at[1]], x[at[2]], x[at[3]]};
    else
      g = lanes{x[at[0]], x[at[1]], x[at[2]], x[at[3]], x[at[4]], x[at[5]], x[at[6]], x[at[7]]};
    return hn::Vec<D>{reinterpret_cast<raw>(g)};
  }
}

/// The sum of one row from its entries alone.
template <class V, class I, class O>
HWY_NOINLINE V exact_row(sell_view<V, I, O> const& a, std::size_t c, int lane, V const* x) {
  V sum{};
  a.entries_of(c, lane, [&](std::size_t p, I j) { sum = mul_add(a.val[p], x[j], sum); });
  return sum;
}

/// The sums of N rows of a chunk: vectors, or scalars where N is less than the smallest vector.
template <int N, class V>
struct sums {
  static constexpr bool scalar = N * sizeof(V) < 16;
  static constexpr int lanes = scalar ? 1
                               : N * int(sizeof(V)) < int(HWY_MAX_BYTES)
                                   ? N
                                   : int(HWY_MAX_BYTES / sizeof(V));
  static constexpr int vectors = N / lanes;
  using tag = hn::FixedTag<V, scalar ? int(16 / sizeof(V)) : lanes>;
  hn::Vec<tag> s[scalar ? 1 : vectors];
  V t[scalar ? N : 1];

  HWY_INLINE sums() {
    for (int i = 0; i < (scalar ? N : 1); ++i)
      t[i] = V{};
    for (auto& one : s)
      one = hn::Zero(tag());
  }
  /// Adds the next entry of each row, times x[col[lane]].
  template <class Index>
  HWY_INLINE void add(V const* val, V const* x, Index const* col) {
    if constexpr (scalar) {
      for (int i = 0; i < N; ++i)
        t[i] = mul_add(val[i], x[col[i]], t[i]);
    } else {
      for (int u = 0; u < vectors; ++u)
        s[u] = hn::MulAdd(hn::LoadU(tag(), val + u * lanes), take(tag(), x, col + u * lanes), s[u]);
    }
  }
  /// The same, times x[lane].
  HWY_INLINE void add(V const* val, V const* x) {
    if constexpr (scalar) {
      for (int i = 0; i < N; ++i)
        t[i] = mul_add(val[i], x[i], t[i]);
    } else {
      for (int u = 0; u < vectors; ++u)
        s[u] = hn::MulAdd(hn::LoadU(tag(), val + u * lanes), hn::LoadU(tag(), x + u * lanes), s[u]);
    }
  }
  HWY_INLINE bool has_nan() const {
    if constexpr (scalar) {
      bool nan = false;
      for (int i = 0; i < N; ++i)
        nan |= t[i] != t[i];
      return nan;
    } else {
      auto all = s[0]; // NaN if one of them is, and rarely where Inf meets -Inf
      for (int u = 1; u < vectors; ++u)
        all = hn::Add(all, s[u]);
      return !hn::AllFalse(tag(), hn::IsNaN(all));
    }
  }
  HWY_INLINE void store(V* to) const {
    for (int i = 0; scalar && i < N; ++i)
      to[i] = t[i];
    for (int u = 0; !scalar && u < vectors; ++u)
      hn::StoreU(s[u], tag(), to + u * lanes);
  }
  HWY_INLINE void load(V const* from) {
    for (int i = 0; scalar && i < N; ++i)
      t[i] = from[i];
    for (int u = 0; !scalar && u < vectors; ++u)
      s[u] = hn::LoadU(tag(), from + u * lanes);
  }
  /// y[0..N) = beta*y + alpha*sum.
  HWY_INLINE void update_all(V* y, V alpha, V beta, bool overwrite) const {
    if constexpr (scalar) {
      for (int i = 0; i < N; ++i)
        update(y + i, alpha, t[i], beta, overwrite);
    } else {
      tag const d;
      auto const f = hn::Set(d, alpha);
      for (int u = 0; u < vectors; ++u) {
        auto const v =
            overwrite ? hn::Mul(f, s[u])
                      : hn::MulAdd(f, s[u], hn::Mul(hn::Set(d, beta), hn::LoadU(d, y + u * lanes)));
        hn::StoreU(v, d, y + u * lanes);
      }
    }
  }
};

/// Computes sums that are NaN again, without padding. Not inlined, since it is rarely run.
template <class V, class I, class O>
HWY_NOINLINE void repair(V* sum, int n, sell_view<V, I, O> const& a, std::size_t c, int first,
                         V const* x) {
  for (int i = 0; i < n; ++i)
    if (sum[i] != sum[i])
      sum[i] = exact_row(a, c, first + i, x);
}

/// Chunks [begin, end), N rows of a chunk at once.
template <int N, class V, class I, class O>
HWY_NOINLINE void multiply_chunks(V alpha, sell_view<V, I, O> const& a, V const* x, V beta, V* y,
                                  std::size_t begin, std::size_t end, std::int64_t ahead) {
  bool const overwrite = beta == V{};
  std::int64_t const chunk = a.chunk;
  // Copies: the compiler cannot rule out that a store to y changes a.
  I const* const perm = a.perm;
  O const* const step_ptr = a.step_ptr;
  O const* const col_ptr = a.col_ptr;
  I const* const base = a.base;
  I const* const full = a.col;
  std::uint16_t const* const shorts = a.short_col;
  V const* const val = a.val;
  std::uint8_t const* const kinds = a.kind;
  auto const places = static_cast<std::int64_t>(a.places());
  auto const ask = [ahead](void const* p, std::int64_t bytes) {
    if (N >= 4 && ahead != 0)
      __builtin_prefetch(static_cast<char const*>(p) + bytes);
  };
  for (std::size_t c = begin; c < end; ++c) {
    std::int64_t const first = step_ptr[c];
    std::int64_t const width = step_ptr[c + 1] - first;
    int const kind = kinds[c];
    std::int64_t const place = static_cast<std::int64_t>(c) * chunk;
    std::int64_t const row = perm ? perm[place] : place;
    for (std::int64_t g = 0; g < chunk && place + g < places; g += N) {
      V const* v = val;
      sums<N, V> s;
      auto const steps = [&](auto const* col, V const* from, std::int64_t late) HWY_ATTR {
        std::int64_t const bytes = width * N * static_cast<std::int64_t>(sizeof(*col));
        for (std::int64_t line = 0; N >= 4 && ahead != 0 && line < bytes; line += 64)
          ask(col, late + line);
        for (std::int64_t k = 0; k < width; ++k, v += chunk, col += chunk) {
          for (std::size_t line = 0; line < N * sizeof(V); line += 64)
            ask(v, ahead + static_cast<std::int64_t>(line));
          s.add(v, from, col);
        }
      };
      if (width > 0) // otherwise there may be no arrays
        v += first * chunk + g;
      switch (width > 0 ? kind & sell_kind::mask : -1) {
      case -1:
        break;
      case sell_kind::full:
        steps(full + col_ptr[c] + g, x, ahead / 2);
        break;
      case sell_kind::shorts:
        steps(shorts + col_ptr[c] + g, x + base[c], ahead / 4);
        break;
      default:
        I const* const offset = full + col_ptr[c];
        V const* const from = x + row + g;
        for (std::int64_t k = 0; k < width; ++k, v += chunk) {
          for (std::size_t line = 0; line < N * sizeof(V); line += 64)
            ask(v, ahead + static_cast<std::int64_t>(line));
          s.add(v, from + offset[k]);
        }
      }
      int const here = places - place - g < N ? static_cast<int>(places - place - g) : N;
      if (s.has_nan()) {
        V sum[N];
        s.store(sum);
        repair(sum, here, a, c, static_cast<int>(g), x);
        s.load(sum);
      }
      if ((kind & sell_kind::in_order) && here == N) {
        s.update_all(y + row + g, alpha, beta, overwrite);
        continue;
      }
      V sum[N];
      s.store(sum);
      if (here == N) { // rows are not in order, so there is a perm
        I const* const to = perm + place + g;
        for (int i = 0; i < N; ++i)
          update(y + to[i], alpha, sum[i], beta, overwrite);
      } else {
        for (int i = 0; i < here; ++i)
          update(y + (perm ? static_cast<std::int64_t>(perm[place + g + i]) : place + g + i), alpha,
                 sum[i], beta, overwrite);
      }
    }
  }
}

/// The first chunk of share `part` of `parts`, by slots and rows.
template <class V, class I, class O>
std::size_t first_chunk(sell_view<V, I, O> const& a, std::int64_t part, std::int64_t parts) {
  std::size_t const n = a.chunks();
  auto const before = [&](std::size_t c) { // in units of a chunk's step
    return static_cast<std::int64_t>(a.step_ptr[c]) + 2 * static_cast<std::int64_t>(c);
  };
  std::int64_t const all = before(n);
  std::int64_t const target = all / parts * part + all % parts * part / parts;
  std::size_t lo = 0;
  std::size_t hi = n;
  while (lo < hi) {
    std::size_t const mid = (lo + hi) / 2;
    if (before(mid) < target)
      lo = mid + 1;
    else
      hi = mid;
  }
  return part == parts ? n : lo;
}

template <int N, class V, class I, class O>
void by_chunks(V alpha, sell_view<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p) {
  auto const n = static_cast<std::int64_t>(a.chunks());
  std::int64_t const shares = n < p.threads * chunks_per_thread ? n : p.threads * chunks_per_thread;
  chunk_queue queue(static_cast<share*>(p.work), p.threads, shares);
  parallel(p.threads, [&](int t) {
    for (std::int64_t part; (part = queue.take(t)) >= 0;) {
      std::size_t const begin = first_chunk(a, part, shares);
      std::size_t const end = first_chunk(a, part + 1, shares);
      multiply_chunks<N>(alpha, a, x, beta, y, begin, end, p.streaming ? prefetch_bytes : 0);
    }
  });
}

template <class V, class I, class O>
void multiply(V alpha, sell_view<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p) {
  if (a.chunks() != 0)
    switch (a.chunk) {
    case 1:
      by_chunks<1>(alpha, a, x, beta, y, p);
      break;
    case 2:
      by_chunks<2>(alpha, a, x, beta, y, p);
      break;
    case 4:
      by_chunks<4>(alpha, a, x, beta, y, p);
      break;
    case 8:
      by_chunks<8>(alpha, a, x, beta, y, p);
      break;
    case 16:
      by_chunks<16>(alpha, a, x, beta, y, p);
      break;
    default:
      by_chunks<32>(alpha, a, x, beta, y, p);
    }
  if (a.longs == 0)
    return;
  sell_layout<V> const layout(a.longs, a.long_nnz, p.threads);
  plan_view inner = p;
  inner.work = static_cast<char*>(p.work) + layout.rows_at;
  V* const sum = reinterpret_cast<V*>(static_cast<char*>(p.work) + layout.sums_at);
  multiply_rows(V{1}, a.long_ptr, a.long_col, a.long_val, a.longs, a.long_nnz, x, V{}, sum, inner);
  for (std::int64_t i = 0; i < a.longs; ++i)
    update(y + a.long_row[i], alpha, sum[i], beta, beta == V{});
}

/// The transpose: chunks, then the entries of long rows in large units.
template <class V, class I, class O>
std::int64_t units(sell_view<V, I, O> const& a) {
  return static_cast<std::int64_t>(a.chunks()) + (a.long_nnz + long_unit - 1) / long_unit;
}

/// Calls f(row, column, value) for each entry of units [begin, end).
template <class V, class I, class O, class F>
HWY_INLINE void walk_units(sell_view<V, I, O> const& a, std::int64_t begin, std::int64_t end, F f) {
  auto const n = static_cast<std::int64_t>(a.chunks());
  for (std::int64_t c = begin; c < end && c < n; ++c)
    for (int lane = 0; lane < a.rows_of(static_cast<std::size_t>(c)); ++lane) {
      I const i = a.row_at(static_cast<std::size_t>(c * a.chunk + lane));
      a.entries_of(static_cast<std::size_t>(c), lane,
                   [&](std::size_t p, I j) { f(i, j, a.val[p]); });
    }
  if (end <= n)
    return;
  std::int64_t k = (begin < n ? 0 : begin - n) * long_unit;
  std::int64_t const stop = (end - n) * long_unit < a.long_nnz ? (end - n) * long_unit : a.long_nnz;
  for (std::int64_t i = 0; i < a.longs && k < stop; ++i)
    for (; k < a.long_ptr[i + 1] && k < stop; ++k)
      f(a.long_row[i], a.long_col[k], a.long_val[k]);
}

} // namespace
} // namespace tulle::kernels::TULLE_ISA

#include "cpu/spmv/sell_symmetric.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

template <class V, class I, class O>
std::size_t prepare(sell_view<V, I, O> const& a, plan_view& p) {
  if (a.symmetric)
    return prepare_symmetric_sell(a, p);
  if (p.transposed)
    return prepare_scatter_of<V>(units(a), a.nnz, p,
                                 [&](std::int64_t begin, std::int64_t end, extent& e) {
                                   walk_units(a, begin, end, [&](I, I j, V) { e.add(j); });
                                 });
  p.method = a.longs == 0 ? "chunks" : a.chunks() == 0 ? "long rows" : "chunks and long rows";
  return sell_layout<V>(a.longs, a.long_nnz, p.threads).bytes;
}

template <class V, class I, class O>
void spmv(V alpha, sell_view<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p) {
  if (a.symmetric)
    return multiply_symmetric_sell(alpha, a, x, beta, y, p);
  if (!p.transposed)
    return multiply(alpha, a, x, beta, y, p);
  multiply_scatter(alpha, static_cast<std::int64_t>(a.cols), units(a), beta, y, p,
                   [&](std::int64_t begin, std::int64_t end, V* out) {
                     walk_units(a, begin, end,
                                [&](I i, I j, V value) { out[j] = mul_add(value, x[i], out[j]); });
                   });
}

} // namespace

TULLE_INSTANTIATE_SPMV(sell)

} // namespace tulle::kernels::TULLE_ISA

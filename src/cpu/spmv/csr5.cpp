// SPDX-License-Identifier: Apache-2.0

// src/cpu/spmv/csr5.cpp:  y = alpha*A*x + beta*y, A in CSR5.
//
// Liu, thesis 2015, algorithm 32, a vector of lanes going down the steps of a tile. There a lane
// that meets a flag stores its sum at once; here every step stores the lanes' running sums, which
// begin again at a flag, into a small buffer in L1, and the sums that count are picked from it
// afterwards: no branch in the steps. The pieces of a row that lie in several lanes are added from
// left to right, the exact form of the fast segmented sum of sec. 4.4.4: that one subtracts prefix
// sums, and an Inf in one row would be a NaN in the next.
//
// Unlike the thesis, rows that tiles share are not added by atomics. Tiles go in blocks of a fixed
// number of entries; a thread adds the pieces within a block in order, and keeps those of the rows
// that a block shares with its neighbours; they are joined in order when all have ended. So the
// bits do not depend on the number of threads.
//
// Bytes that must move, double with 32-bit indices: 12 per entry, 4 per sigma entries, 8 per row
// and 8 per column; row_ptr is read for the last tile only. 2 flops per entry, so memory binds.
#include "tulle/format/csr5.hpp"

#include "cpu/spmv/rows.hpp"
#include "cpu/spmv/scatter.hpp"
#include "kernel/instantiate.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

constexpr std::int64_t block_entries = 8192; // as tile_steps in rows.hpp
constexpr int most_sums = 1152;              // lanes * (steps + 1) of the largest tile: 64 * 17
constexpr int most_groups = 32;

/// What a block leaves to be joined.
template <class V>
struct block_end {
  V head;             // of the row that was open when the block began
  V tail;             // of the row that is open at its end, where that began in it
  bool begins_inside; // a row was open at the block's beginning
  bool is_inside;     // a row that began before the block is open at its end
};

template <class V>
struct blocks_layout {
  std::int64_t tiles;
  std::int64_t whole;
  std::int64_t per_block;
  std::int64_t blocks;
  std::int64_t chunks;

  blocks_layout(std::int64_t nnz, std::int64_t entries, int threads)
      : tiles((nnz + entries - 1) / entries), whole(nnz / entries),
        per_block(block_entries / entries), blocks((tiles + per_block - 1) / per_block) {
    blocks = blocks > 0 ? blocks : 1;
    chunks = blocks < threads * chunks_per_thread ? blocks : threads * chunks_per_thread;
  }
  /// The most blocks for any omega and sigma, so that the workspace suffices for all of them.
  static std::int64_t most_blocks(std::int64_t nnz) { return nnz / (block_entries / 2) + 1; }
  static std::size_t shares_at(std::int64_t nnz) {
    return (static_cast<std::size_t>(most_blocks(nnz)) * sizeof(block_end<V>) + 63) / 64 * 64;
  }
  static std::size_t bytes(std::int64_t nnz, int threads) {
    return shares_at(nnz) + static_cast<std::size_t>(threads) * sizeof(share);
  }
};

/// Bits before the flags in a word of tile_desc.
inline int bits_before_flags(int omega, int sigma) {
  return (32 - __builtin_clz(static_cast<unsigned>(omega * sigma - 1))) +
         (32 - __builtin_clz(static_cast<unsigned>(omega - 1)));
}

/// What the tiles of one product share.
template <class V, class I, class O>
struct product {
  csr5_view<V, I, O> const& a;
  V const* x;
  V* y;
  V alpha;
  V beta;
  bool overwrite;
  bool is_filled; // y holds beta*y in every row already, and beta is 1
  int ahead;      // bytes of val to prefetch; 0: none
  int bits;       // before the flags
  int group;      // lanes whose flags make up a word of 64 bits
  std::int64_t entries;
  // Where the sum of the segment that ends before entry q of a group is, counted from the group's
  // first lane. Each thread has its own sums.
  std::uint16_t end_at[64];

  static constexpr int sign = 8 * sizeof(I) - 1;
  HWY_INLINE std::int64_t row_of(std::int64_t tile) const {
    return static_cast<std::int64_t>(
        a.tile_ptr[tile] & ~(static_cast<typename csr5_view<V, I, O>::tile_pointer>(1) << sign));
  }
  HWY_INLINE bool has_empty(std::int64_t tile) const { return a.tile_ptr[tile] >> sign; }
  /// Whether the row of the tile's first entry begins before it.
  bool begins_inside(std::int64_t tile) const {
    return tile * entries < static_cast<std::int64_t>(a.nnz) &&
           static_cast<std::int64_t>(a.row_ptr[row_of(tile)]) < tile * entries;
  }
  /// beta*y for rows that have no entries, or that get their sum added.
  void fill(std::int64_t begin, std::int64_t end) const {
    if (overwrite)
      for (std::int64_t i = begin; i < end; ++i)
        y[i] = V{};
    else if (!is_filled)
      for (std::int64_t i = begin; i < end; ++i)
        y[i] = beta * y[i];
  }
};

/// Lanes of a vector: those of the instruction set, or as many as a tile has.
template <int omega, class V>
using lanes_of = hn::FixedTag<
    V, omega * sizeof(V) < HWY_MAX_BYTES ? omega : static_cast<int>(HWY_MAX_BYTES / sizeof(V))>;

template <bool far, class D, class V, class I>
HWY_INLINE hn::Vec<D> gathered(D d, V const* x, I const* index) {
  if constexpr (far || prefers_gather)
    return gather(d, x, index);
  else
    return gather_loads(d, x, index);
}

/// Prefetches the lines of the step `ahead` bytes later, spread over the steps. Prefetching all
/// lines of a tile at its beginning took 1.2 times as long on fem, 1.3 times on rmat 18. With 0 it
/// touches the lines that are read now anyway.
template <int omega, class V, class I>
HWY_INLINE void prefetch(int j, V const* val, I const* col, int ahead) {
  constexpr std::size_t val_bytes = omega * sizeof(V);
  constexpr std::size_t col_bytes = omega * sizeof(I);
  if (val_bytes >= 64 || j % (64 / val_bytes) == 0)
    for (std::size_t line = 0; line < val_bytes; line += 64)
      __builtin_prefetch(reinterpret_cast<char const*>(val) + ahead + line);
  if (col_bytes >= 64 || j % (64 / col_bytes) == 0)
    for (std::size_t line = 0; line < col_bytes; line += 64)
      __builtin_prefetch(reinterpret_cast<char const*>(col) + ahead / 2 + line);
}

/// A tile within one row. omega 0: any, lane by lane.
template <int omega, int steps, bool far, class V, class I>
HWY_INLINE V tile_dot(V const* val, I const* col, V const* x, std::int64_t entries, int sigma,
                      int ahead) {
  if constexpr (omega == 0) {
    (void)sigma, (void)ahead;
    V sum{};
    for (std::int64_t k = 0; k < entries; ++k)
      sum = mul_add(val[k], x[col[k]], sum);
    return sum;
  } else {
    lanes_of<omega, V> const d;
    constexpr int n = omega / static_cast<int>(hn::MaxLanes(d));
    constexpr int step = omega / n;
    hn::Vec<decltype(d)> s[n];
    for (int l = 0; l < n; ++l)
      s[l] = hn::Zero(d);
#pragma GCC unroll 4
    for (int j = 0; j < (steps ? steps : sigma); ++j) {
      prefetch<omega>(j, val + j * omega, col + j * omega, ahead);
      for (int l = 0; l < n; ++l) {
        int const k = j * omega + l * step;
        s[l] = hn::MulAdd(hn::LoadU(d, val + k), gathered<far>(d, x, col + k), s[l]);
      }
    }
    for (int l = 1; l < n; ++l)
      s[0] = hn::Add(s[0], s[l]);
    return sum_of(d, s[0]);
  }
}

/// sums[(j + 1) * omega + i]: the sum of lane i from its last flag up to step j.
template <int omega, int steps, class V, class I>
HWY_INLINE void tile_sums(V const* val, I const* col, V const* x, std::uint32_t const* desc,
                          int bits, int lanes, int sigma, int ahead, V* sums) {
  if constexpr (omega == 0) {
    (void)ahead;
    for (int i = 0; i < lanes; ++i) {
      std::uint32_t flags = desc[i] << bits;
      V sum{};
      for (int j = 0; j < sigma; ++j, flags <<= 1) {
        std::int64_t const k = j * lanes + i;
        sum = mul_add(val[k], x[col[k]], flags >> 31 ? V{} : sum);
        sums[k + lanes] = sum;
      }
    }
  } else {
    lanes_of<omega, V> const d;
    hn::Rebind<hwy::MakeSigned<V>, decltype(d)> const word;
    constexpr int n = omega / static_cast<int>(hn::MaxLanes(d));
    constexpr int step = omega / n;
    hn::Vec<decltype(d)> s[n];
    hn::Vec<decltype(word)> flags[n];
    for (int l = 0; l < n; ++l) {
      auto const w = hn::LoadU(hn::Rebind<std::int32_t, decltype(d)>(),
                               reinterpret_cast<std::int32_t const*>(desc) + l * step);
      if constexpr (sizeof(V) == 8)
        flags[l] = hn::ShiftLeftSame(hn::PromoteTo(word, w), 32 + bits);
      else
        flags[l] = hn::ShiftLeftSame(w, bits);
      s[l] = hn::Zero(d);
    }
#pragma GCC unroll 4
    for (int j = 0; j < (steps ? steps : sigma); ++j) {
      prefetch<omega>(j, val + j * omega, col + j * omega, ahead);
      for (int l = 0; l < n; ++l) {
        int const k = j * omega + l * step;
        s[l] = hn::MulAdd(hn::LoadU(d, val + k), gathered<false>(d, x, col + k),
                          hn::IfNegativeThenElse(hn::BitCast(d, flags[l]), hn::Zero(d), s[l]));
        flags[l] = hn::Add(flags[l], flags[l]);
        hn::Store(s[l], d, sums + k + omega);
      }
    }
  }
}

/// What is known between tiles.
template <class V>
struct tile_state {
  V open;       // of the row that is open; 0 where none is
  bool foreign; // that row was open when the block began: its sum goes to head
  V head;
};

/// Adds the pieces of rows that begin in one lane and end in another: what is open at the end of a
/// lane goes to where the first row to begin in the next lanes ends it. Row 0 of the sums takes it
/// where a lane begins with a flag. ends: of segments, in the order of csr, the first entry
/// highest. Returns what is open at the tile's end.
template <int omega, int steps, class V, class I, class O>
HWY_INLINE V join_lanes(product<V, I, O> const& m, std::uint32_t const* desc, int bits, V carry,
                        V* sums, std::uint64_t (&ends)[most_groups]) {
  int const lanes = omega ? omega : m.a.omega;
  int const sigma = steps ? steps : m.a.sigma;
  int const group = steps ? (steps > 16 ? 2 : 4) : m.group;
  std::uint32_t const sentinel = 1u << (31 - sigma);
  int const groups = lanes / group;
  for (int g = 0, i = 0; g < groups; ++g) {
    std::uint64_t e = 0;
    for (int l = 0; l < group; ++l, ++i) {
      std::uint32_t flags = desc[i] << bits;
      if (i == 0)
        flags &= 0x7fffffffu; // it ends no segment of this tile
      e |= static_cast<std::uint64_t>(flags) << 32 >> (l * sigma);
      V* const at = sums + __builtin_clz(flags | sentinel) * lanes + i;
      V const last = sums[sigma * lanes + i];
      *at = *at + carry;
      carry = flags != 0 ? last : last + carry; // by masks instead: 1.1 times as long
    }
    ends[g] = e;
  }
  return carry;
}

template <int omega, int steps, class V, class I, class O>
HWY_NOINLINE void multiply_tiles(product<V, I, O> const& m, std::int64_t begin, std::int64_t end,
                                 tile_state<V>& state, V* sums) {
  int const lanes = omega ? omega : m.a.omega;
  int const sigma = steps ? steps : m.a.sigma;
  std::int64_t const entries = steps ? lanes * steps : m.entries;
  int const bits = m.bits;
  int const group = steps ? (steps > 16 ? 2 : 4) : m.group;
  int const groups = lanes / group;
  // Copies: the compiler cannot rule out that a store to y changes m.
  V const alpha = m.alpha;
  V const beta = m.beta;
  bool const overwrite = m.overwrite;
  V const* const x = m.x;
  std::uint16_t const* const end_at = m.end_at;
  V open = state.open;
  bool foreign = state.foreign;
  std::int64_t next = m.row_of(begin);
  for (std::int64_t t = begin; t < end; ++t) {
    std::int64_t const first = next;
    next = m.row_of(t + 1);
    V const* const val = m.a.val + t * entries;
    I const* const col = m.a.col + t * entries;
    if (first == next) {
      bool const far = static_cast<std::int64_t>(col[entries - 1] - col[0]) *
                               static_cast<std::int64_t>(sizeof(V)) >
                           far_bytes * entries &&
                       m.a.row_ptr[first + 1] - m.a.row_ptr[first] >= far_entries;
      open = open + (far ? tile_dot<omega, steps, true>(val, col, x, entries, sigma, m.ahead)
                         : tile_dot<omega, steps, false>(val, col, x, entries, sigma, m.ahead));
      continue;
    }

    std::uint32_t const* const desc = m.a.tile_desc + t * lanes;
    tile_sums<omega, steps>(val, col, x, desc, bits, lanes, sigma, m.ahead, sums);
    std::uint64_t ends[most_groups];
    V const carry = join_lanes<omega, steps>(m, desc, bits, open, sums, ends);

    std::int64_t n = 0; // segments done
    if (foreign) {
      foreign = false;
      n = 1;
      int g = 0;
      while (g < groups && ends[g] == 0)
        ++g;
      if (g == groups) { // it ends where the tile does
        state.head = carry;
        open = V{};
        m.fill(first + 1, next);
        continue;
      }
      int const q = __builtin_clzll(ends[g]);
      ends[g] ^= 1ull << 63 >> q;
      state.head = sums[end_at[q] + g * group];
    }
    std::int64_t last_row;
    if (!m.has_empty(t)) {
      V* out = m.y + first + n;
      for (int g = 0; g < groups; ++g) {
        V const* const s = sums + g * group;
        for (std::uint64_t e = ends[g]; e != 0;) {
          int const q = __builtin_clzll(e);
          e ^= 1ull << 63 >> q;
          update(out++, alpha, s[end_at[q]], beta, overwrite);
        }
      }
      last_row = out - m.y;
      if (last_row != next)
        update(out, alpha, carry, beta, overwrite);
    } else {
      // All rows from first to next are this tile's.
      m.fill(first + n, next);
      V* const out = m.y + first;
      I const* row = m.a.empty_offset + m.a.empty_offset_ptr[t] + n;
      auto const put = [&](V* to, V sum)
                           HWY_ATTR { *to = overwrite ? alpha * sum : mul_add(alpha, sum, *to); };
      for (int g = 0; g < groups; ++g) {
        V const* const s = sums + g * group;
        for (std::uint64_t e = ends[g]; e != 0;) {
          int const q = __builtin_clzll(e);
          e ^= 1ull << 63 >> q;
          put(out + *row++, s[end_at[q]]);
        }
      }
      last_row = first + *row;
      if (last_row != next)
        put(out + *row, carry);
    }
    open = last_row == next ? carry : V{};
  }
  state.open = open;
  state.foreign = foreign;
}

/// The entries after the last whole tile, as in csr, and the rows after them.
template <class V, class I, class O>
HWY_NOINLINE void multiply_rest(product<V, I, O> const& m, std::int64_t tile,
                                tile_state<V>& state) {
  std::int64_t k = tile * m.entries;
  for (std::int64_t i = m.row_of(tile); i < m.a.rows; ++i) {
    std::int64_t const end = m.a.row_ptr[i + 1];
    V const sum = state.open + dot(m.a.val, m.a.col, m.x, k, end, 0);
    k = end;
    if (state.foreign)
      state.head = sum;
    else
      update(m.y + i, m.alpha, sum, m.beta, m.overwrite);
    state.open = V{};
    state.foreign = false;
  }
}

template <class V, class I, class O>
std::size_t prepare(csr5_view<V, I, O> const& a, plan_view& p) {
  std::int64_t const entries = static_cast<std::int64_t>(a.omega) * a.sigma;
  if (p.transposed) {
    std::int64_t const nnz = a.nnz;
    I const* const col = a.col;
    return prepare_scatter_of<V>((nnz + entries - 1) / entries, nnz, p,
                                 [=](std::int64_t begin, std::int64_t end, extent& e) {
                                   std::int64_t const stop =
                                       end * entries < nnz ? end * entries : nnz;
                                   for (std::int64_t k = begin * entries; k < stop; ++k)
                                     e.add(col[k]);
                                 });
  }
  p.method = "tiles";
  return blocks_layout<V>::bytes(a.nnz, p.threads);
}

template <int omega, int steps, class V, class I, class O>
void multiply(product<V, I, O> const& m, plan_view const& p) {
  blocks_layout<V> const layout(m.a.nnz, m.entries, p.threads);
  auto* const ends = static_cast<block_end<V>*>(p.work);
  chunk_queue queue(
      reinterpret_cast<share*>(static_cast<char*>(p.work) + blocks_layout<V>::shares_at(m.a.nnz)),
      p.threads, layout.chunks);
  parallel(p.threads, [&](int t) {
    alignas(64) V sums[most_sums];
    for (int i = 0; i < m.a.omega; ++i)
      sums[i] = V{};
    for (std::int64_t chunk; (chunk = queue.take(t)) >= 0;)
      for (std::int64_t b = layout.blocks * chunk / layout.chunks,
                        last = layout.blocks * (chunk + 1) / layout.chunks;
           b < last; ++b) {
        std::int64_t const begin = b * layout.per_block;
        std::int64_t const stop =
            begin + layout.per_block < layout.tiles ? begin + layout.per_block : layout.tiles;
        if (b == 0) // rows before the first entry
          m.fill(0, layout.tiles == 0 ? m.a.rows : m.row_of(0));
        tile_state<V> state{V{}, m.begins_inside(begin), V{}};
        ends[b].begins_inside = state.foreign;
        std::int64_t const whole = stop < layout.whole ? stop : layout.whole;
        if (begin < whole)
          multiply_tiles<omega, steps>(m, begin, whole, state, sums);
        if (whole < stop)
          multiply_rest(m, whole, state);
        ends[b].is_inside = state.foreign;
        ends[b].head = state.foreign ? state.open : state.head;
        ends[b].tail = state.open;
      }
  });
  // Rows that blocks share, piece by piece in order.
  V sum{};
  for (std::int64_t b = 0; b < layout.blocks; ++b) {
    if (ends[b].begins_inside) {
      sum = sum + ends[b].head;
      if (ends[b].is_inside)
        continue;
      update(m.y + m.row_of(b * layout.per_block), m.alpha, sum, m.beta, m.overwrite);
    }
    sum = ends[b].tail;
  }
}

/// A^T: out[column] of tiles [begin, end), row by row.
template <class V, class I, class O>
void scatter_tiles(csr5_view<V, I, O> const& a, V const* x, std::int64_t begin, std::int64_t end,
                   V* out) {
  constexpr int sign = 8 * sizeof(I) - 1;
  std::int64_t const entries = static_cast<std::int64_t>(a.omega) * a.sigma;
  std::int64_t const whole = a.nnz / entries;
  for (std::int64_t t = begin; t < end; ++t) {
    auto i = static_cast<std::int64_t>(
        a.tile_ptr[t] & ~(static_cast<typename csr5_view<V, I, O>::tile_pointer>(1) << sign));
    std::int64_t const base = t * entries;
    if (t == whole) {
      for (std::int64_t k = base; k < a.nnz; ++i)
        for (; k < a.row_ptr[i + 1]; ++k)
          out[a.col[k]] = mul_add(a.val[k], x[i], out[a.col[k]]);
      continue;
    }
    std::int64_t row_end = a.row_ptr[i + 1] - base;
    std::int64_t q = 0; // of the tile, in the order of csr
    for (int lane = 0; lane < a.omega; ++lane)
      for (std::int64_t k = base + lane, stop = base + entries; k < stop; k += a.omega, ++q) {
        while (q == row_end)
          row_end = a.row_ptr[++i + 1] - base;
        out[a.col[k]] = mul_add(a.val[k], x[i], out[a.col[k]]);
      }
  }
}

template <class V, class I, class O>
void spmv(V alpha, csr5_view<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p) {
  std::int64_t const entries = static_cast<std::int64_t>(a.omega) * a.sigma;
  if (p.transposed)
    return multiply_scatter(alpha, a.cols, (a.nnz + entries - 1) / entries, beta, y, p,
                            [&](std::int64_t begin, std::int64_t end, V* out) {
                              scatter_tiles(a, x, begin, end, out);
                            });
  product<V, I, O> m{a,    x,           y,       alpha,
                     beta, beta == V{}, false,   p.streaming ? prefetch_bytes : 0,
                     0,    0,           entries, {}};
  m.bits = bits_before_flags(a.omega, a.sigma);
  m.group = a.sigma > 16 || a.omega == 2 ? 2 : 4;
  for (int q = 0; q < m.group * a.sigma; ++q)
    m.end_at[q] = static_cast<std::uint16_t>(
        q == 0 ? a.sigma * a.omega - 1 : ((q - 1) % a.sigma + 1) * a.omega + (q - 1) / a.sigma);
  // Mostly empty rows: a tile may have any number of them, so all threads go through y first.
  if (a.rows > a.nnz) {
    std::int64_t const rows = a.rows;
    bool const overwrite = m.overwrite;
    parallel_for(rows, p.threads, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        y[i] = overwrite ? V{} : beta * y[i];
    });
    m.beta = 1;
    m.overwrite = false;
    m.is_filled = true;
  }
  constexpr int usual = 32 / sizeof(V); // the default
  if (a.omega == usual && a.sigma == 16)
    return multiply<usual, 16>(m, p);
  switch (a.omega) {
  case 4:
    return multiply<4, 0>(m, p);
  case 8:
    return multiply<8, 0>(m, p);
  case 16:
    return multiply<16, 0>(m, p);
  default:
    return multiply<0, 0>(m, p);
  }
}

} // namespace

TULLE_INSTANTIATE_SPMV(csr5)

} // namespace tulle::kernels::TULLE_ISA

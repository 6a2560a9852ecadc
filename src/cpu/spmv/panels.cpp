// SPDX-License-Identifier: Apache-2.0

// src/cpu/spmv/panels.cpp:  y = alpha*A*x + beta*y, A in panels.
//
// A unit of work is a group of rows with its own sums, computed tile by tile: x of a panel stays in
// a near cache, rows side by side have one lane each, and each row adds once per tile to its sum.
// Where a group has more than its share of the entries, its tiles are cut into several units, whose
// sums are added in order. Both depend on the matrix alone. Where columns go by their entries, x is
// gathered first.
//
// Bytes that must move, double with 32-bit indices: 10 per entry, 2 per slot; 8 per row and 8 per
// column, 20 where x is gathered; the sums and x of panels move between caches. 2 flops per entry.
#include "tulle/format/panels.hpp"

#include "cpu/spmv/scatter.hpp"
#include "kernel/chunks.hpp"
#include "kernel/instantiate.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

constexpr int side = 8; // lanes that have vectors
// Prefetch distance in val, a quarter of it in col, to L2. ms of lp, two threads: none 6.8; to L1
// 4096 ahead 5.2; to L2 4096, 8192, 16384, 32768, 65536 ahead 4.2, 4.1, 4.0, 3.8, 3.8.
constexpr int prefetch_bytes = 32768;
// x of the next panel is prefetched where its tile has at least one entry per 16 columns. Per 4
// columns: rmat 20 up to 1.2 times as long; always: 1.1 times.
constexpr std::int64_t next_share = 16;
constexpr std::int64_t widest_asked = 8192; // columns; panels of 65536: circuit 1.1 times as long
constexpr std::int64_t most_units = 32;
constexpr std::int64_t unit_entries = 4; // per row of a unit, or it is not cut

template <class P>
HWY_INLINE void ask(P const* p, int bytes) {
  __builtin_prefetch(reinterpret_cast<char const*>(p) + bytes, 0, 2);
}

/// x[index[0..lanes)] by single loads: four indices of 16 bits are loaded at once.
template <class D, class V>
HWY_INLINE hn::Vec<D> gather_short(D d, V const* x, std::uint16_t const* index) {
  using raw = decltype(hn::Zero(d).raw);
  constexpr int n = sizeof(raw) / sizeof(V);
  if constexpr (prefers_gather && sizeof(V) == 8) {
    hn::Rebind<std::int64_t, D> const wide;
    hn::Rebind<std::int32_t, D> const middle;
    hn::Rebind<std::uint16_t, D> const narrow;
    return hn::GatherIndex(d, x,
                           hn::PromoteTo(wide, hn::PromoteTo(middle, hn::LoadU(narrow, index))));
  } else if constexpr (prefers_gather) {
    hn::Rebind<std::int32_t, D> const wide;
    hn::Rebind<std::uint16_t, D> const narrow;
    return hn::GatherIndex(d, x, hn::PromoteTo(wide, hn::LoadU(narrow, index)));
  } else {
    typedef V lanes __attribute__((vector_size(n * sizeof(V))));
    lanes g;
    if constexpr (n == 2) {
      g = lanes{x[index[0]], x[index[1]]};
    } else {
      std::uint64_t at[n / 4];
      std::memcpy(at, index, sizeof(at));
      auto const of = [&](int i) { return at[i / 4] >> (16 * (i % 4)) & 0xffff; };
      if constexpr (n == 4)
        g = lanes{x[of(0)], x[of(1)], x[of(2)], x[of(3)]};
      else
        g = lanes{x[of(0)], x[of(1)], x[of(2)], x[of(3)], x[of(4)], x[of(5)], x[of(6)], x[of(7)]};
    }
    return hn::Vec<D>{reinterpret_cast<raw>(g)};
  }
}

/// Reads one tile from the current entries and slots on.
template <class V>
struct tile_reader {
  static constexpr hn::CappedTag<V, side> d{};
  using D = hn::CappedTag<V, side>;
  static constexpr int n = sizeof(decltype(hn::Zero(D()).raw)) / sizeof(V);
  static constexpr int vectors = side / n;

  V const* val;
  std::uint16_t const* col;
  std::uint16_t const* row;
  V const* x; // of the panel
  int ahead;  // bytes in val; 0 where entries come from the caches

  HWY_INLINE void ask_ahead(std::int64_t k) const {
    if (ahead != 0) {
      ask(val + k, ahead);
      ask(col + k, ahead / static_cast<int>(sizeof(V)) * 2);
    }
  }

  /// `count` times `side` rows of `length` entries. fixed: the length, if known to the compiler, or
  /// 0.
  template <int fixed>
  HWY_INLINE void rows(std::int64_t length, std::int64_t count, V* HWY_RESTRICT sums) {
    typedef V lanes __attribute__((vector_size(n * sizeof(V))));
    for (; count > 0; --count) {
      hn::Vec<D> s[vectors];
      for (int i = 0; i < vectors; ++i)
        s[i] = hn::Zero(d);
      for (std::int64_t k = 0; k < (fixed ? fixed : length); ++k, val += side, col += side) {
        ask_ahead(0);
        for (int i = 0; i < vectors; ++i)
          s[i] = hn::MulAdd(hn::LoadU(d, val + i * n), gather_short(d, x, col + i * n), s[i]);
      }
      for (int i = 0; i < vectors; ++i, row += n) {
        auto const sum = reinterpret_cast<lanes>(s[i].raw);
        for (int lane = 0; lane < n; ++lane)
          sums[row[lane]] += sum[lane];
      }
    }
  }

  /// The same for any number of rows side by side.
  HWY_NOINLINE void any_rows(int lanes, std::int64_t length, std::int64_t count, V* sums) {
    for (; count > 0; --count, val += lanes * length, col += lanes * length)
      for (int lane = 0; lane < lanes; ++lane) {
        V sum{};
        for (std::int64_t k = lane; k < lanes * length; k += lanes)
          sum = mul_add(val[k], x[col[k]], sum);
        sums[*row++] += sum;
      }
  }

  /// `count` rows of `length` entries, one after the other.
  HWY_INLINE void pieces(std::int64_t length, std::int64_t count, V* sums) {
    for (; count > 0; --count, val += length, col += length) {
      hn::Vec<D> s = hn::Zero(d);
      hn::Vec<D> t = hn::Zero(d);
      std::int64_t k = 0;
      for (; k + 2 * n <= length; k += 2 * n) {
        ask_ahead(k);
        s = hn::MulAdd(hn::LoadU(d, val + k), gather_short(d, x, col + k), s);
        t = hn::MulAdd(hn::LoadU(d, val + k + n), gather_short(d, x, col + k + n), t);
      }
      V tail{};
      for (; k < length; ++k)
        tail = mul_add(val[k], x[col[k]], tail);
      sums[*row++] += sum_of(d, hn::Add(s, t)) + tail;
    }
  }

  /// `count` rows of one entry.
  HWY_INLINE void singles(std::int64_t count, V* HWY_RESTRICT sums) {
    std::int64_t k = 0;
    for (; k + side <= count; k += side) {
      ask_ahead(k);
      if (ahead != 0)
        ask(row + k, ahead / static_cast<int>(sizeof(V)) * 2);
      HWY_UNROLL(side)
      for (int i = 0; i < side; ++i)
        sums[row[k + i]] = mul_add(val[k + i], x[col[k + i]], sums[row[k + i]]);
    }
    for (; k < count; ++k)
      sums[row[k]] = mul_add(val[k], x[col[k]], sums[row[k]]);
    val += count;
    col += count;
    row += count;
  }

  template <class I>
  HWY_INLINE void run(int lanes, I len, std::int64_t count, V* sums) {
    if (len == -1)
      return singles(count, sums);
    if (len < 0)
      return pieces(-static_cast<std::int64_t>(len), count, sums);
    if (lanes != side)
      return any_rows(lanes, len, count, sums);
    switch (len) {
    case 1:
      return rows<1>(1, count, sums);
    case 2:
      return rows<2>(2, count, sums);
    case 3:
      return rows<3>(3, count, sums);
    case 4:
      return rows<4>(4, count, sums);
    default:
      return rows<0>(len, count, sums);
    }
  }
};

/// How groups are cut into units.
template <class V, class I, class O>
struct group_cut {
  panels_view<V, I, O> const& a;
  std::int64_t share;

  explicit group_cut(panels_view<V, I, O> const& a)
      : a(a), share(static_cast<std::int64_t>(a.nnz) / most_units + 1) {}
  std::int64_t rows(std::int64_t g) const {
    return static_cast<std::int64_t>(a.group_ptr[g + 1]) - a.group_ptr[g];
  }
  std::int64_t units(std::int64_t g) const {
    std::int64_t const tiles = a.group_tile[g + 1] - a.group_tile[g];
    std::int64_t const entries = a.tile_ptr[a.group_tile[g + 1]] - a.tile_ptr[a.group_tile[g]];
    std::int64_t const least = unit_entries * rows(g) > share ? unit_entries * rows(g) : share;
    std::int64_t const n = entries / least;
    return n < 1 ? 1 : n < tiles ? n : tiles;
  }
  /// First tile of unit u of `units` of group g.
  std::int64_t first_tile(std::int64_t g, std::int64_t u, std::int64_t units) const {
    std::int64_t lo = a.group_tile[g];
    std::int64_t hi = a.group_tile[g + 1];
    if (u == units)
      return hi;
    std::int64_t const begin = a.tile_ptr[lo];
    std::int64_t const entries = static_cast<std::int64_t>(a.tile_ptr[hi]) - begin;
    std::int64_t const at = begin + entries / units * u;
    while (lo < hi) {
      std::int64_t const mid = (lo + hi) / 2;
      if (static_cast<std::int64_t>(a.tile_ptr[mid]) < at)
        lo = mid + 1;
      else
        hi = mid;
    }
    return lo;
  }
};

/// Layout of the workspace: one share per thread; the first unit of each group and where the sums
/// of its units are, -1 where it is one unit; x by places; sums of each thread; sums of units.
template <class V>
struct panels_layout {
  std::size_t units_at, sums_at, x_at, own_at, cut_at, bytes;
  std::int64_t own_rows = 0; // of a thread's sums
  std::int64_t cut_rows = 0; // of all units of groups that are cut

  template <class I, class O>
  panels_layout(panels_view<V, I, O> const& a, int threads) {
    group_cut<V, I, O> const cut(a);
    auto const groups = static_cast<std::int64_t>(a.groups);
    for (std::int64_t g = 0; g < groups; ++g) {
      std::int64_t const units = cut.units(g);
      if (units > 1)
        cut_rows += units * cut.rows(g);
      else if (cut.rows(g) > own_rows)
        own_rows = cut.rows(g);
    }
    own_rows = (own_rows + 63) / 64 * 64;
    auto const after = [](std::size_t at, std::size_t n) { return at + (n + 63) / 64 * 64; };
    units_at = static_cast<std::size_t>(threads) * sizeof(share);
    sums_at = after(units_at, (a.groups + 1) * sizeof(std::int64_t));
    x_at = after(sums_at, a.groups * sizeof(std::int64_t));
    own_at = after(x_at, a.order ? a.places * sizeof(V) : 0);
    cut_at = own_at + static_cast<std::size_t>(own_rows * threads) * sizeof(V);
    bytes = cut_at + static_cast<std::size_t>(cut_rows) * sizeof(V);
  }
};

/// Adds tiles [first, last) to the sums of a group.
template <class V, class I, class O>
void multiply_tiles(panels_view<V, I, O> const& a, V const* x, std::int64_t first,
                    std::int64_t last, V* HWY_RESTRICT sums, int ahead) {
  std::int64_t const width = a.width;
  auto const places = static_cast<std::int64_t>(a.places);
  for (std::int64_t t = first; t < last; ++t) {
    if (ahead != 0) // prefetch x of the next tile, if it needs much of it
      if (t + 1 < last && width <= widest_asked &&
          (static_cast<std::int64_t>(a.tile_ptr[t + 2]) - a.tile_ptr[t + 1]) * next_share >=
              width) {
        std::int64_t const begin = a.tile_panel[t + 1] * width;
        std::int64_t const end = begin + width < places ? begin + width : places;
        for (std::int64_t j = begin; j < end; j += 64 / static_cast<std::int64_t>(sizeof(V)))
          ask(x + j, 0);
      }
    tile_reader<V> reader{a.val + a.tile_ptr[t], a.col + a.tile_ptr[t], a.row + a.slot_ptr[t],
                          x + a.tile_panel[t] * width, ahead};
    for (O r = a.run_ptr[t]; r < a.run_ptr[t + 1]; ++r)
      reader.run(a.lanes, a.run_len[r], a.run_count[r], sums);
  }
}

template <class V, class I, class O>
void multiply_panels(V alpha, panels_view<V, I, O> const& a, V const* x, V beta, V* y,
                     plan_view const& p) {
  panels_layout<V> const layout(a, p.threads);
  group_cut<V, I, O> const cut(a);
  auto const groups = static_cast<std::int64_t>(a.groups);
  char* const work = static_cast<char*>(p.work);
  auto* const first_unit = reinterpret_cast<std::int64_t*>(work + layout.units_at);
  auto* const sums_of = reinterpret_cast<std::int64_t*>(work + layout.sums_at);
  V* const gathered = reinterpret_cast<V*>(work + layout.x_at);
  V* const own = reinterpret_cast<V*>(work + layout.own_at);
  V* const cut_sums = reinterpret_cast<V*>(work + layout.cut_at);
  std::int64_t all = 0;
  std::int64_t used = 0;
  for (std::int64_t g = 0; g < groups; ++g) {
    std::int64_t const units = cut.units(g);
    first_unit[g] = all;
    sums_of[g] = units > 1 ? used : -1;
    used += units > 1 ? units * cut.rows(g) : 0;
    all += units;
  }
  first_unit[groups] = all;
  chunk_queue queue(reinterpret_cast<share*>(work), p.threads, all);
  bool const overwrite = beta == V{};
  V const* const from = a.order ? gathered : x;

  if (a.order)
    parallel_for(static_cast<std::int64_t>(a.places), p.threads,
                 [=](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t l = begin; l < end; ++l)
                     gathered[l] = x[a.order[l]];
                 });
  parallel(p.threads, [&](int t) {
    for (std::int64_t unit; (unit = queue.take(t)) >= 0;) {
      std::int64_t g = 0; // the last group that does not begin after it
      for (std::int64_t hi = groups; hi - g > 1;) {
        std::int64_t const mid = (g + hi) / 2;
        (first_unit[mid] <= unit ? g : hi) = mid;
      }
      std::int64_t const units = first_unit[g + 1] - first_unit[g];
      std::int64_t const u = unit - first_unit[g];
      std::int64_t const rows = cut.rows(g);
      V* const sums = units > 1 ? cut_sums + sums_of[g] + u * rows : own + t * layout.own_rows;
      for (std::int64_t i = 0; i < rows; ++i)
        sums[i] = V{};
      multiply_tiles(a, from, cut.first_tile(g, u, units), cut.first_tile(g, u + 1, units), sums,
                     p.streaming ? prefetch_bytes : 0);
      if (units == 1)
        for (std::int64_t i = 0; i < rows; ++i)
          update(y + a.group_ptr[g] + i, alpha, sums[i], beta, overwrite);
    }
  });
  if (layout.cut_rows == 0)
    return;
  parallel(p.threads, [&](int t) { // of each cut group a piece
    for (std::int64_t g = 0; g < groups; ++g) {
      if (sums_of[g] < 0)
        continue;
      std::int64_t const rows = cut.rows(g);
      std::int64_t const units = first_unit[g + 1] - first_unit[g];
      V const* const sums = cut_sums + sums_of[g];
      for (std::int64_t i = rows * t / p.threads; i < rows * (t + 1) / p.threads; ++i) {
        V sum = sums[i];
        for (std::int64_t u = 1; u < units; ++u)
          sum = sum + sums[u * rows + i];
        update(y + a.group_ptr[g] + i, alpha, sum, beta, overwrite);
      }
    }
  });
}

/// The transpose: tiles [begin, end) to out, each row scaled by its x.
template <class V, class I, class O>
void scatter_tiles(panels_view<V, I, O> const& a, V const* x, std::int64_t begin, std::int64_t end,
                   V* out) {
  std::int64_t g = 0;
  for (std::int64_t t = begin; t < end; ++t) {
    while (static_cast<std::int64_t>(a.group_tile[g + 1]) <= t)
      ++g;
    V const* const xs = x + a.group_ptr[g];
    std::int64_t const first = a.tile_panel[t] * static_cast<std::int64_t>(a.width);
    std::int64_t k = a.tile_ptr[t];
    std::uint16_t const* row = a.row + a.slot_ptr[t];
    auto const add = [&](std::int64_t at, V xi) {
      std::int64_t const place = first + a.col[at];
      V* const to = out + (a.order ? static_cast<std::int64_t>(a.order[place]) : place);
      *to = mul_add(a.val[at], xi, *to);
    };
    for (O r = a.run_ptr[t]; r < a.run_ptr[t + 1]; ++r) {
      std::int64_t const lanes = a.run_len[r] > 0 ? a.lanes : 1;
      std::int64_t const length = a.run_len[r] > 0 ? a.run_len[r] : -a.run_len[r];
      for (O n = a.run_count[r]; n > 0; --n, row += lanes)
        for (std::int64_t step = 0; step < length; ++step)
          for (std::int64_t lane = 0; lane < lanes; ++lane)
            add(k++, xs[row[lane]]);
    }
  }
}

template <class V, class I, class O>
std::size_t prepare(panels_view<V, I, O> const& a, plan_view& p) {
  if (p.transposed)
    return prepare_scatter_of<V>(static_cast<std::int64_t>(a.tiles), a.nnz, p,
                                 [&](std::int64_t begin, std::int64_t end, extent& e) {
                                   for (std::int64_t t = begin; t < end; ++t) {
                                     std::int64_t const first =
                                         a.tile_panel[t] * static_cast<std::int64_t>(a.width);
                                     std::int64_t const last = first + a.width - 1;
                                     e.add(a.order ? 0 : first);
                                     e.add(a.order || last >= a.cols ? a.cols - 1 : last);
                                   }
                                 });
  p.method = a.order ? "panels of columns by their entries" : "panels";
  return panels_layout<V>(a, p.threads).bytes;
}

template <class V, class I, class O>
void spmv(V alpha, panels_view<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p) {
  if (p.transposed)
    return multiply_scatter(alpha, static_cast<std::int64_t>(a.cols),
                            static_cast<std::int64_t>(a.tiles), beta, y, p,
                            [&](std::int64_t begin, std::int64_t end, V* out) {
                              scatter_tiles(a, x, begin, end, out);
                            });
  if (a.groups == 0)
    return;
  multiply_panels(alpha, a, x, beta, y, p);
}

} // namespace

TULLE_INSTANTIATE_SPMV(panels)

} // namespace tulle::kernels::TULLE_ISA

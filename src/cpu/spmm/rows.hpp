// SPDX-License-Identifier: Apache-2.0

// C = alpha*A*B + beta*C, by rows of A: csr, and rows that are cut into segments.
//
// A tile of a row of C, up to eight vectors, stays in registers while the row's entries are added,
// each a value times a row of B. Rows come in lists of pieces; a piece is a run of entries. Where
// there are several tiles a list is one row, and all its tiles are computed in turn, so that rows
// of B are read along memory: ms on poisson2d5 1000 with 128 columns, lists of 1, 12 and 50 rows:
// 144, 226, 249. A B that is not row-major is packed, a tile of columns at a time; C is written
// wherever it is.
//
// Bytes that must move, double with 32-bit indices and w columns: 12 per entry, 4 per row, 8 w per
// row of B and 8 w per row of C, which is 16 w where C is read. 2 w flops per entry: memory binds
// where rows of B are used only a few times, otherwise the loads of B, one per multiplication.
//
// A row is summed by one thread in an order that depends on its length and w alone. Rows of
// long_row entries or more are summed in pieces, which are added in order.
#pragma once
#include "kernel/chunks.hpp"
#include "kernel/simd.hpp"
#include "kernel/spmm.hpp"

#include <hwy/cache_control.h>

namespace tulle::kernels::TULLE_ISA {
namespace {

constexpr std::int64_t long_row = 8192;
constexpr std::int64_t long_piece = 4096;
constexpr int list_pieces = 128;
constexpr int most_vectors = 8;
constexpr std::int64_t row_cost = 2; // of a row in addition to its entries, in entries

/// Entries of one row, side by side.
template <class V, class I>
struct piece {
  V const* val;
  I const* col;
  std::int64_t count;
  V* c; // the row of C; nullptr: more of the row follows
};

template <class V>
constexpr V one() {
  if constexpr (is_pair<V>)
    return {1, 0};
  else
    return 1;
}

/// What all rows of a call have in common.
template <class V>
struct operands {
  V const* b;
  std::size_t b_stride;
  V alpha, beta;
  bool overwrite; // beta is zero
  bool streams;   // vectors of C bypass the cache
  std::size_t c_stride;
};

template <class V, class I>
using tile_function = void(piece<V, I> const* first, piece<V, I> const* last, operands<V> const& o,
                           std::int64_t j, std::int64_t columns);

/// Columns [j, j + columns) of C in `vectors` vectors, of which the last may begin within the one
/// before it. Few vectors are summed in several sets, since an addition waits for the one before.
template <class D, int vectors, class V, class I>
HWY_NOINLINE void tile(piece<V, I> const* p, piece<V, I> const* end, operands<V> const& o,
                       std::int64_t j, std::int64_t columns) {
  D const d;
  constexpr int lanes = static_cast<int>(hn::MaxLanes(D()));
  constexpr int sets = vectors == 1 ? 4 : vectors <= 4 ? 2 : 1;
  using vector = hn::Vec<D>;
  std::int64_t const last = columns - lanes;
  auto const at = [last](int v) -> std::int64_t { return v + 1 < vectors ? v * lanes : last; };
  V const* const b = o.b + j;
  std::size_t const stride = o.b_stride;
  vector sum[sets][vectors];
#pragma GCC unroll 32
  for (int v = 0; v < sets * vectors; ++v)
    sum[v / vectors][v % vectors] = hn::Zero(d);
  for (; p < end; ++p) {
    V const* const val = p->val;
    I const* const col = p->col;
    std::int64_t const count = p->count;
    auto const add = [&](int s, std::int64_t k) HWY_ATTR {
      V const* const row = b + static_cast<std::size_t>(col[k]) * stride;
      vector const a = hn::Set(d, val[k]);
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v)
        sum[s][v] = hn::MulAdd(a, hn::LoadU(d, row + at(v)), sum[s][v]);
    };
    std::int64_t k = 0;
    for (; k + sets <= count; k += sets) {
#pragma GCC unroll 4
      for (int s = 0; s < sets; ++s)
        add(s, k + s);
    }
    for (; k < count; ++k)
      add(0, k);
    if (!p->c)
      continue;
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      if constexpr (sets == 4)
        sum[0][v] = hn::Add(hn::Add(sum[0][v], sum[1][v]), hn::Add(sum[2][v], sum[3][v]));
      else if constexpr (sets == 2)
        sum[0][v] = hn::Add(sum[0][v], sum[1][v]);
    }
    V* const c = p->c + static_cast<std::size_t>(j) * o.c_stride;
    vector const alpha = hn::Set(d, o.alpha);
    if (o.c_stride != 1) {
      V sums[vectors * lanes];
      for (int v = 0; v < vectors; ++v)
        hn::StoreU(sum[0][v], d, sums + at(v));
      for (std::int64_t i = 0; i < columns; ++i)
        update(c + static_cast<std::size_t>(i) * o.c_stride, o.alpha, sums[i], o.beta, o.overwrite);
    } else if (o.overwrite) {
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) {
        if (sizeof(V) * lanes == HWY_MAX_BYTES && o.streams)
          hn::Stream(hn::Mul(alpha, sum[0][v]), d, c + at(v));
        else
          hn::StoreU(hn::Mul(alpha, sum[0][v]), d, c + at(v));
      }
    } else {
      vector const beta = hn::Set(d, o.beta); // vectors overlap: all are read first
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v)
        sum[0][v] = hn::MulAdd(alpha, sum[0][v], hn::Mul(beta, hn::LoadU(d, c + at(v))));
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v)
        hn::StoreU(sum[0][v], d, c + at(v));
    }
#pragma GCC unroll 32
    for (int v = 0; v < sets * vectors; ++v)
      sum[v / vectors][v % vectors] = hn::Zero(d);
  }
}

/// The same for complex values, as many columns as the registers of two vectors.
template <class V, class I>
HWY_NOINLINE void complex_tile(piece<V, I> const* p, piece<V, I> const* end, operands<V> const& o,
                               std::int64_t j, std::int64_t columns) {
  V sum[4] = {};
  for (; p < end; ++p) {
    for (std::int64_t k = 0; k < p->count; ++k) {
      V const* const row = o.b + j + static_cast<std::size_t>(p->col[k]) * o.b_stride;
      for (std::int64_t i = 0; i < columns; ++i)
        sum[i] = mul_add(p->val[k], row[i], sum[i]);
    }
    if (!p->c)
      continue;
    for (std::int64_t i = 0; i < columns; ++i) {
      update(p->c + static_cast<std::size_t>(j + i) * o.c_stride, o.alpha, sum[i], o.beta,
             o.overwrite);
      sum[i] = V{};
    }
  }
}

template <class V>
constexpr std::int64_t lanes_of = HWY_MAX_BYTES / sizeof(V);
/// Columns of the widest tile.
template <class V>
constexpr std::int64_t widest = is_pair<V> ? 4 : most_vectors* lanes_of<V>;

/// A tile of fewer columns than a vector has lanes.
template <int lanes, class V, class I>
tile_function<V, I>* narrow_tile(std::int64_t columns) {
  if constexpr (lanes > 1) {
    if (columns < lanes)
      return narrow_tile<lanes / 2, V, I>(columns);
    if (columns > lanes)
      return tile<hn::FixedTag<V, lanes>, 2, V, I>;
  }
  return tile<hn::FixedTag<V, lanes>, 1, V, I>;
}

template <class V, class I>
tile_function<V, I>* whole_tile(std::int64_t vectors) {
  using D = hn::ScalableTag<V>;
  switch (vectors) {
  case 1:
    return tile<D, 1, V, I>;
  case 2:
    return tile<D, 2, V, I>;
  case 3:
    return tile<D, 3, V, I>;
  case 4:
    return tile<D, 4, V, I>;
  case 6:
    return tile<D, 6, V, I>;
  default:
    return tile<D, 8, V, I>;
  }
}

/// Calls f(tile, first column, columns) for the tiles of that many columns. A tile of less than a
/// vector is the only one: a tile must not begin within the one before it, or beta would be applied
/// twice there.
template <class V, class I, class F>
void each_tile(std::int64_t columns, F const& f) {
  if constexpr (is_pair<V>) {
    for (std::int64_t j = 0; j < columns; j += widest<V>)
      f(complex_tile<V, I>, j, columns - j < widest<V> ? columns - j : widest<V>);
  } else {
    constexpr std::int64_t lanes = lanes_of<V>;
    if (columns < lanes)
      return f(narrow_tile<static_cast<int>(lanes / 2), V, I>(columns), std::int64_t{0}, columns);
    std::int64_t left = (columns + lanes - 1) / lanes;
    for (std::int64_t j = 0; left > 0;) {
      std::int64_t const vectors = left == 9   ? 6
                                   : left == 7 ? 4
                                   : left == 5 ? 3
                                   : left < 8  ? left
                                               : 8;
      std::int64_t const here = vectors * lanes;
      f(whole_tile<V, I>(vectors), j, columns - j < here ? columns - j : here);
      j += here;
      left -= vectors;
    }
  }
}

/// Packs `columns` columns of B from j on, row by row.
template <class V>
void pack(detail::dense_ref const& b, std::int64_t j, std::int64_t columns, int threads, V* to) {
  constexpr std::int64_t block = 64; // rows: 16 KiB of the widest tile, which stay in the cache
  auto const rows = static_cast<std::int64_t>(b.rows);
  V const* const from = static_cast<V const*>(b.data) + static_cast<std::size_t>(j) * b.col_stride;
  parallel_for((rows + block - 1) / block, threads, [=](std::int64_t begin, std::int64_t last) {
    for (std::int64_t first = begin * block; first < rows && first < last * block; first += block) {
      std::int64_t const end = first + block < rows ? first + block : rows;
      for (std::int64_t c = 0; c < columns; ++c)
        for (std::int64_t i = first; i < end; ++i)
          to[i * columns + c] = from[static_cast<std::size_t>(i) * b.row_stride +
                                     static_cast<std::size_t>(c) * b.col_stride];
    }
  });
}

/// A piece of a long row.
struct long_part {
  std::int64_t row;
  std::int64_t from; // entry of the row
};
constexpr std::int64_t parts_of(std::int64_t entries) {
  return (entries + long_piece - 1) / long_piece;
}

/// How rows are dealt, and the layout of the workspace. There is room for the most pieces that any
/// matrix of so many entries has, since a plan may outlive its pattern.
template <class V>
struct rows_work {
  std::int64_t chunks;
  std::int64_t panel; // columns at a time
  bool packs;
  std::size_t shares_at, parts_at, sums_at, panel_at, bytes;

  rows_work(std::int64_t rows, std::int64_t entries, detail::dense_ref const& b, int threads)
      : chunks(rows < threads * chunks_per_thread ? rows : threads * chunks_per_thread) {
    auto const columns = static_cast<std::int64_t>(b.cols);
    packs = b.col_stride != 1 && columns > 1;
    panel = packs && columns > widest<V> ? widest<V> : columns;
    auto const after = [](std::size_t n) { return (n + 63) / 64 * 64; };
    auto const parts = static_cast<std::size_t>(
        entries < long_row ? 0 : entries / long_piece + entries / long_row);
    auto const width = static_cast<std::size_t>(panel);
    shares_at = after((static_cast<std::size_t>(chunks) + 1) * sizeof(std::int64_t));
    parts_at = shares_at + static_cast<std::size_t>(threads) * sizeof(share);
    sums_at = parts_at + after(parts * sizeof(long_part));
    panel_at = sums_at + after(parts * width * sizeof(V));
    bytes = panel_at + (packs ? b.rows * width * sizeof(V) : 0);
  }
};

template <class V>
std::size_t prepare_rows(std::int64_t rows, std::int64_t entries, detail::dense_ref const& b,
                         plan_view& p) {
  rows_work<V> const w(rows, entries, b, p.threads);
  p.method = w.packs ? "rows, B packed" : "rows";
  return w.bytes;
}

/// The row of C whose parts have these sums.
template <class V>
void join(V* sum, std::int64_t parts, std::int64_t columns, operands<V> const& o, V* c) {
  for (std::int64_t q = 1; q < parts; ++q)
    for (std::int64_t j = 0; j < columns; ++j)
      sum[j] = sum[j] + sum[q * columns + j];
  for (std::int64_t j = 0; j < columns; ++j)
    update(c + static_cast<std::size_t>(j) * o.c_stride, o.alpha, sum[j], o.beta, o.overwrite);
}

/// The first of each chunk's rows, by entries.
template <class O>
void deal_rows(O const* ptr, std::int64_t rows, std::int64_t chunks, std::int64_t* first) {
  double const all = static_cast<double>(ptr[rows]) + static_cast<double>(row_cost * rows);
  for (std::int64_t u = 0; u <= chunks; ++u) {
    auto const wanted =
        static_cast<std::int64_t>(all / static_cast<double>(chunks) * static_cast<double>(u));
    std::int64_t lo = u == 0 ? 0 : first[u - 1];
    std::int64_t hi = rows;
    while (u < chunks && lo < hi) {
      std::int64_t const mid = (lo + hi) / 2;
      if (ptr[mid] + row_cost * mid < wanted)
        lo = mid + 1;
      else
        hi = mid;
    }
    first[u] = u < chunks ? lo : rows;
  }
}

/// Rows have: rows, entries; deal(chunks, first), the first of each chunk's rows, by entries;
/// row(k), the k-th of them; size(i); and cut(i, from, to, list), entries [from, to) of a row as
/// pieces of it, one at least and most_pieces at most: returns how many. Each thread has its own
/// copy, which may keep its position.
template <class V, class I, class Rows>
void multiply(V alpha, Rows const& a, detail::dense_ref const& b, V beta,
              detail::dense_ref const& c, plan_view const& p) {
  rows_work<V> const w(a.rows, a.entries, b, p.threads);
  char* const work = static_cast<char*>(p.work);
  auto* const first = reinterpret_cast<std::int64_t*>(work);
  auto* const shares = reinterpret_cast<share*>(work + w.shares_at);
  auto* const part = reinterpret_cast<long_part*>(work + w.parts_at);
  V* const sums = reinterpret_cast<V*>(work + w.sums_at);
  V* const packed = reinterpret_cast<V*>(work + w.panel_at);
  auto const all = static_cast<std::int64_t>(b.cols);
  a.deal(w.chunks, first);
  auto const is_aligned = [](void const* q, std::size_t stride) {
    return reinterpret_cast<std::uintptr_t>(q) % HWY_MAX_BYTES == 0 &&
           stride * sizeof(V) % HWY_MAX_BYTES == 0;
  };
  bool const streams = p.streaming && beta == V{} && c.col_stride == 1 &&
                       is_aligned(c.data, c.row_stride) && is_aligned(nullptr, c.cols);
  for (std::int64_t j0 = 0; j0 < all; j0 += w.panel) {
    std::int64_t const columns = all - j0 < w.panel ? all - j0 : w.panel;
    V* const out = static_cast<V*>(c.data) + static_cast<std::size_t>(j0) * c.col_stride;
    operands<V> const o = {w.packs ? packed
                                   : static_cast<V const*>(b.data) + static_cast<std::size_t>(j0),
                           w.packs ? static_cast<std::size_t>(columns) : b.row_stride,
                           alpha,
                           beta,
                           beta == V{},
                           streams,
                           c.col_stride};
    operands<V> const into_sums = {o.b, o.b_stride, one<V>(), V{}, true, false, 1};
    bool const is_one_tile = columns <= widest<V>;
    auto const run = [columns](piece<V, I> const* list, int n, operands<V> const& with) {
      each_tile<V, I>(columns, [&](tile_function<V, I>* f, std::int64_t j, std::int64_t width) {
        f(list, list + n, with, j, width);
      });
    };
    chunk_queue queue(shares, p.threads, w.chunks);
    std::int64_t parts = 0, taken = 0;
    if (w.packs)
      pack(b, j0, columns, p.threads, packed);
    parallel(p.threads, [&](int t) {
      piece<V, I> list[list_pieces];
      Rows mine = a;
      for (std::int64_t u; (u = queue.take(t)) >= 0;) {
        int n = 0;
        for (std::int64_t k = first[u]; k < first[u + 1]; ++k) {
          std::int64_t const i = mine.row(k);
          std::int64_t const size = mine.size(i);
          if (size >= long_row) {
            std::int64_t q = __atomic_fetch_add(&parts, parts_of(size), __ATOMIC_RELAXED);
            for (std::int64_t from = 0; from < size; from += long_piece)
              part[q++] = {i, from};
            continue;
          }
          n += mine.cut(i, 0, size, list + n);
          list[n - 1].c = out + static_cast<std::size_t>(i) * c.row_stride;
          if (!is_one_tile || n > list_pieces - Rows::most_pieces) {
            run(list, n, o);
            n = 0;
          }
        }
        run(list, n, o);
      }
      if (streams)
        hwy::FlushStream();
    });
    if (parts == 0)
      continue;
    parallel(p.threads, [&](int) {
      piece<V, I> list[list_pieces];
      Rows mine = a;
      for (std::int64_t q; (q = __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED)) < parts;) {
        auto const [i, from] = part[q];
        std::int64_t const size = mine.size(i);
        int const n = mine.cut(i, from, from + long_piece < size ? from + long_piece : size, list);
        list[n - 1].c = sums + q * columns;
        run(list, n, into_sums);
      }
    });
    parallel_for(parts, p.threads, [&](std::int64_t begin, std::int64_t end) {
      Rows mine = a;
      for (std::int64_t q = begin; q < end; ++q)
        if (part[q].from == 0)
          join(sums + q * columns, parts_of(mine.size(part[q].row)), columns, o,
               out + static_cast<std::size_t>(part[q].row) * c.row_stride);
    });
  }
}

} // namespace
} // namespace tulle::kernels::TULLE_ISA

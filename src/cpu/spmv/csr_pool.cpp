// SPDX-License-Identifier: Apache-2.0

// src/cpu/spmv/csr_pool.cpp:  y = alpha*A*x + beta*y, A in segments of a pool: csr_pool, and
// dynamic matrices.
//
// Rows by the loops of rows.hpp, one segment after the other: a row is one sum in the order of its
// entries. Threads are dealt chunks of groups of rows, and pieces of long rows. Bytes beyond those
// of csr: 4 per row, and the room between rows, as far as it shares cache lines with entries.
#include "tulle/format/csr_pool.hpp"

#include "cpu/groups.hpp"
#include "cpu/spmv/rows.hpp"
#include "cpu/spmv/scatter.hpp"
#include "kernel/instantiate.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

// Rows of this many entries or more are summed in pieces by all threads; and the entries of a
// piece. Both depend on the row alone, so the bits do not depend on the number of threads.
constexpr std::int64_t long_row = 16384;
constexpr std::int64_t piece_entries = 8192;

// The first entries of the row that many rows ahead are prefetched where rows are not consecutive
// in memory. ms after 50 rounds of bench dynamic, one thread of Zen 4, with 16, 32 and 64:
// poisson2d5 1000 8.4, 7.7, 7.6; circuit 200000 4.1, 3.7, 3.8. Without prefetching their second
// line of values: 7.7 instead of 6.5.
constexpr std::int64_t rows_ahead = 32;

/// Entries [first, last) of row i, which may go through several segments.
template <class V, class I>
HWY_NOINLINE V fragments(dynamic_view<V, I> const& a, V const* x, std::int64_t i,
                         std::int64_t first, std::int64_t last, std::int64_t ahead) {
  std::int64_t const mask = (std::int64_t{1} << a.shift) - 1;
  V sum{};
  std::int64_t at = 0; // entries before the segment
  for (int s = 0; first < last; ++s) {
    std::int64_t const place = a.begin[s][i];
    std::int64_t const end = at + a.end[s][i] - place;
    if (first < end) {
      std::int64_t const stop = last < end ? last : end;
      dynamic_page<V, I> const page = a.pages[place >> a.shift];
      std::int64_t const offset = (place & mask) - at;
      sum = sum + dot(page.val, page.col, x, offset + first, offset + stop, ahead);
      first = stop;
    }
    at = end;
  }
  return sum;
}

/// The k-th row in the order of products.
template <bool ordered, class V, class I>
HWY_INLINE std::int64_t row_of(dynamic_view<V, I> const& a, std::int64_t k) {
  return ordered ? static_cast<std::int64_t>(a.order[k]) : k;
}

/// update() of four rows from the k-th on.
template <bool ordered, class V, class I, class Sums>
HWY_INLINE void update_four(dynamic_view<V, I> const& a, V* y, std::int64_t k, V alpha, Sums sum,
                            V beta, bool overwrite) {
  hn::FixedTag<V, 4> const d;
  if constexpr (ordered) {
    HWY_ALIGN V one[4];
    hn::Store(sum, d, one);
    for (int r = 0; r < 4; ++r)
      update(y + a.order[k + r], alpha, one[r], beta, overwrite);
    return;
  }
  y += k;
  auto const f = hn::Set(d, alpha);
  hn::StoreU(overwrite ? hn::Mul(f, sum)
                       : hn::MulAdd(f, sum, hn::Mul(hn::Set(d, beta), hn::LoadU(d, y))),
             d, y);
}

/// Whether four rows from the k-th on have that many entries.
template <bool ordered, class V, class I>
HWY_INLINE bool are_alike(dynamic_view<V, I> const& a, std::int64_t k, std::int64_t length) {
  return a.length[row_of<ordered>(a, k)] == length &&
         a.length[row_of<ordered>(a, k + 1)] == length &&
         a.length[row_of<ordered>(a, k + 2)] == length &&
         a.length[row_of<ordered>(a, k + 3)] == length;
}

/// Rows k, k + 4, ... of one chunk, while four of them have `length` entries and begin `stride`
/// places apart, as rows of one length do after defragmenting: the runs of rows.hpp, with room
/// between rows. Returns the first row left.
template <bool ordered, int length, class V, class I>
HWY_NOINLINE std::int64_t run_with_room(dynamic_view<V, I> const& a, V const* x, V alpha, V beta,
                                        V* y, bool overwrite, std::int64_t k, std::int64_t stop,
                                        std::int64_t ahead) {
  auto const begin = [&](std::int64_t at) -> std::int64_t {
    return a.begin[0][row_of<ordered>(a, at)];
  };
  std::int64_t const stride = begin(k + 1) - begin(k);
  for (; k + 4 <= stop && are_alike<ordered>(a, k, length); k += 4) {
    std::int64_t const at = begin(k);
    if (begin(k + 1) - at != stride || begin(k + 2) - at != 2 * stride ||
        begin(k + 3) - at != 3 * stride)
      break;
    V const* const val = a.pages[0].val + at;
    I const* const col = a.pages[0].col + at;
    if (ahead != 0) {
      for (std::size_t line = 0; line < 4 * (length + 1) * sizeof(V); line += 64)
        __builtin_prefetch(reinterpret_cast<char const*>(val) + ahead + line);
      for (std::size_t line = 0; line < 4 * (length + 1) * sizeof(I); line += 64)
        __builtin_prefetch(reinterpret_cast<char const*>(col) + ahead / 2 + line);
    }
    auto const sum = quad<length>(val, col, x, stride);
    update_four<ordered>(a, y, k, alpha, sum, beta, overwrite);
  }
  return k;
}

/// The first entries of row i, in the only chunk if not scattered.
template <bool scattered, class V, class I>
HWY_INLINE dynamic_page<V, I> row_at(dynamic_view<V, I> const& a, std::int64_t i) {
  std::int64_t const place = a.begin[0][i];
  if constexpr (!scattered)
    return {a.pages[0].col + place, a.pages[0].val + place};
  std::int64_t const offset = place & ((std::int64_t{1} << a.shift) - 1);
  dynamic_page<V, I> const page = a.pages[place >> a.shift];
  return {page.col + offset, page.val + offset};
}

/// Prefetches the first entries of row i.
template <class V, class I>
HWY_INLINE void ask_for_row(dynamic_view<V, I> const& a, std::int64_t i) {
  dynamic_page<V, I> const row = row_at<true>(a, i);
  __builtin_prefetch(row.val);
  __builtin_prefetch(row.val + 64 / sizeof(V));
  __builtin_prefetch(row.col);
}

/// The same for rows that may be anywhere.
template <bool ordered, int length, class V, class I>
HWY_NOINLINE std::int64_t run_scattered(dynamic_view<V, I> const& a, V const* x, V alpha, V beta,
                                        V* y, bool overwrite, std::int64_t k, std::int64_t stop) {
  for (; k + 4 <= stop && are_alike<ordered>(a, k, length); k += 4) {
    if (k + 3 + rows_ahead < a.rows)
      for (int r = 0; r < 4; ++r)
        ask_for_row(a, row_of<ordered>(a, k + rows_ahead + r));
    dynamic_page<V, I> const row[4] = {
        row_at<true>(a, row_of<ordered>(a, k)), row_at<true>(a, row_of<ordered>(a, k + 1)),
        row_at<true>(a, row_of<ordered>(a, k + 2)), row_at<true>(a, row_of<ordered>(a, k + 3))};
    auto const sum = quad<length, V, I>({row[0].val, row[1].val, row[2].val, row[3].val},
                                        {row[0].col, row[1].col, row[2].col, row[3].col}, x);
    update_four<ordered>(a, y, k, alpha, sum, beta, overwrite);
  }
  return k;
}

/// The run that begins at the k-th row, if one does; k itself where none does.
template <bool scattered, bool ordered, class V, class I>
std::int64_t run_at(dynamic_view<V, I> const& a, V const* x, V alpha, V beta, V* y, bool overwrite,
                    std::int64_t k, std::int64_t stop, std::int64_t ahead) {
  if constexpr (has_quads<V>)
    if (k + 4 <= stop && a.length[row_of<ordered>(a, k)] == a.length[row_of<ordered>(a, k + 3)])
      switch (a.length[row_of<ordered>(a, k)]) {
#define TULLE_RUN(n)                                                                               \
  case n:                                                                                          \
    if constexpr (scattered)                                                                       \
      return run_scattered<ordered, n>(a, x, alpha, beta, y, overwrite, k, stop);                  \
    else                                                                                           \
      return run_with_room<ordered, n>(a, x, alpha, beta, y, overwrite, k, stop, ahead);
        TULLE_RUN(1)
        TULLE_RUN(2)
        TULLE_RUN(3)
        TULLE_RUN(4)
        TULLE_RUN(5)
        TULLE_RUN(6)
        TULLE_RUN(7)
        TULLE_RUN(8)
        TULLE_RUN(9)
#undef TULLE_RUN
      }
  return k;
}

// After a row at which no run of one length began, the next one is looked for so many rows later,
// doubled each time until a run begins. 32 each time: 5 % more on random rows; 32 at first: 1.3
// times as long on poisson3d7, whose runs end every hundred rows.
constexpr int look_after = 2;

/// The rows of a group but for long ones. How a row is summed depends on its group alone.
template <bool scattered, bool ordered, class V, class I>
void rows_of_group(V alpha, dynamic_view<V, I> const& a, V const* x, V beta, V* y,
                   std::int64_t group, std::int64_t ahead) {
  bool const overwrite = beta == V{};
  std::int64_t k = group * group_rows;
  std::int64_t const stop = k + group_rows < a.rows ? k + group_rows : a.rows;
  std::int64_t look_at = k; // the next row at which a run may begin
  std::int64_t skip = look_after;
  std::int64_t vectors_from = vector_from; // entries; fewer after a row that was summed by vectors
  for (; k < stop; ++k) {
    if constexpr (has_quads<V>) {
      if (k >= look_at) {
        std::int64_t const next =
            run_at<scattered, ordered>(a, x, alpha, beta, y, overwrite, k, stop, ahead);
        skip = next == k ? 2 * skip : look_after;
        look_at = next + skip;
        k = next;
        if (k == stop)
          return;
      }
    }
    if constexpr (scattered) {
      if (k + rows_ahead < a.rows)
        ask_for_row(a, row_of<ordered>(a, k + rows_ahead));
    }
    std::int64_t const i = row_of<ordered>(a, k);
    std::int64_t const n = a.length[i];
    V sum{};
    if (n < 0) {
      if (~n >= long_row)
        continue;
      sum = fragments(a, x, i, 0, ~n, ahead);
    } else {
      dynamic_page<V, I> const row = row_at<scattered>(a, i);
      if (n < vectors_from) {
        for (std::int64_t p = 0; p < n; ++p)
          sum = mul_add(row.val[p], x[row.col[p]], sum);
      } else {
        if (n >= long_row)
          continue;
        sum = dot(row.val, row.col, x, 0, n, ahead);
      }
      vectors_from = n < vector_from ? vector_among_short : vector_from;
    }
    update(y + i, alpha, sum, beta, overwrite);
  }
}

struct row_piece {
  std::int64_t row;
  std::int64_t first; // entry of the row
};

/// How the work is dealt: chunks of groups of rows, then pieces of long rows; and the layout of the
/// workspace. There is room for the most pieces that any matrix of so many entries has, since a
/// plan may outlive its pattern.
template <class V>
struct pool_work {
  std::int64_t groups;
  std::int64_t chunks;
  std::size_t pieces_at;
  std::size_t sums_at;
  std::size_t shares_at;
  std::size_t bytes;

  pool_work(std::int64_t rows, std::int64_t entries, int threads)
      : groups((rows + group_rows - 1) / group_rows),
        chunks(groups < threads * chunks_per_thread ? groups : threads * chunks_per_thread) {
    // A long row has n / piece_entries + 1 pieces, at most 1.5 times n / piece_entries.
    static_assert(long_row >= 2 * piece_entries);
    auto const pieces = static_cast<std::size_t>(entries / piece_entries * 3 / 2 + 1);
    auto const after = [](std::size_t n) { return (n + 63) / 64 * 64; };
    pieces_at = after((static_cast<std::size_t>(chunks) + 1) * sizeof(std::int64_t));
    sums_at = pieces_at + after(pieces * sizeof(row_piece));
    shares_at = sums_at + after(pieces * sizeof(V));
    bytes = shares_at + static_cast<std::size_t>(threads) * sizeof(share);
  }
};

/// The pieces of long rows, in order. Returns their number.
template <class V, class I>
std::int64_t cut_long_rows(dynamic_view<V, I> const& a, std::int64_t groups, row_piece* to) {
  std::int64_t pieces = 0;
  for (std::int64_t g = 0; g < groups; ++g) {
    if (a.in_group[g] < long_row)
      continue;
    std::int64_t const end = (g + 1) * group_rows < a.rows ? (g + 1) * group_rows : a.rows;
    for (std::int64_t i = g * group_rows; i < end; ++i)
      if (std::int64_t const n = a.size(static_cast<I>(i)); n >= long_row)
        for (std::int64_t k = 0; k < n; k += piece_entries)
          to[pieces++] = {i, k};
  }
  return pieces;
}

template <class V, class I>
void multiply_segments(V alpha, dynamic_view<V, I> const& a, V const* x, V beta, V* y,
                       plan_view const& p) {
  auto* const rows =
      a.scattered ? a.order ? rows_of_group<true, true, V, I> : rows_of_group<true, false, V, I>
      : a.order ? rows_of_group<false, true, V, I>
                  : rows_of_group<false, false, V, I>;
  std::int64_t const ahead = ahead_of(p);
  pool_work<V> const w(a.rows, a.entries, p.threads);
  char* const work = static_cast<char*>(p.work);
  auto* const first_group = reinterpret_cast<std::int64_t*>(work);
  auto* const piece = reinterpret_cast<row_piece*>(work + w.pieces_at);
  auto* const sums = reinterpret_cast<V*>(work + w.sums_at);
  deal_groups(a, w.chunks, first_group, long_row);
  std::int64_t const pieces = cut_long_rows(a, w.groups, piece);
  chunk_queue queue(reinterpret_cast<share*>(work + w.shares_at), p.threads, w.chunks + pieces);
  parallel(p.threads, [&](int t) {
    for (std::int64_t u; (u = queue.take(t)) >= 0;) {
      if (u < w.chunks) {
        for (std::int64_t g = first_group[u]; g < first_group[u + 1]; ++g)
          rows(alpha, a, x, beta, y, g, ahead);
        continue;
      }
      row_piece const r = piece[u - w.chunks];
      std::int64_t const n = a.size(static_cast<I>(r.row));
      std::int64_t const end = r.first + piece_entries;
      sums[u - w.chunks] = fragments(a, x, r.row, r.first, end < n ? end : n, ahead);
    }
  });
  for (std::int64_t q = 0; q < pieces;) {
    std::int64_t const row = piece[q].row;
    V sum = sums[q];
    for (++q; q < pieces && piece[q].row == row; ++q)
      sum = sum + sums[q];
    update(y + row, alpha, sum, beta, beta == V{});
  }
}

template <class V, class I>
std::size_t prepare(dynamic_view<V, I> const& a, plan_view& p) {
  if (p.transposed)
    return prepare_scatter_of<V>(
        a.rows, a.entries, p, [&a](std::int64_t begin, std::int64_t end, extent& e) {
          for (std::int64_t i = begin; i < end; ++i)
            a.each_segment(static_cast<I>(i), [&e](I const* col, V const*, I n) {
              for (I k = 0; k < n; ++k)
                e.add(col[k]);
            });
        });
  p.method = "segments of rows";
  return pool_work<V>(a.rows, a.entries, p.threads).bytes;
}

template <class V, class I>
void spmv(V alpha, dynamic_view<V, I> const& a, V const* x, V beta, V* y, plan_view const& p) {
  if (p.transposed)
    multiply_scatter(
        alpha, a.cols, a.rows, beta, y, p, [&a, x](std::int64_t begin, std::int64_t end, V* out) {
          for (std::int64_t i = begin; i < end; ++i)
            a.each_segment(static_cast<I>(i), [xi = x[i], out](I const* col, V const* val, I n) {
              for (I k = 0; k < n; ++k)
                out[col[k]] = mul_add(val[k], xi, out[col[k]]);
            });
        });
  else
    multiply_segments(alpha, a, x, beta, y, p);
}

template <class V, class I>
std::size_t prepare(csr_pool_view<V, I, I> const& a, plan_view& p) {
  auto const pool = a.page();
  return prepare(a.as_dynamic(pool), p);
}
template <class V, class I>
void spmv(V alpha, csr_pool_view<V, I, I> const& a, V const* x, V beta, V* y, plan_view const& p) {
  auto const pool = a.page();
  spmv(alpha, a.as_dynamic(pool), x, beta, y, p);
}

template <class V, class I, class O>
using dynamic_csr_view = dynamic_view<V, I, O>; // src/dynamic/spmv.cpp has the table of these

} // namespace

TULLE_INSTANTIATE_SPMV(csr_pool)
TULLE_INSTANTIATE_SPMV(dynamic_csr)

} // namespace tulle::kernels::TULLE_ISA

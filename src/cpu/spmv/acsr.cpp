// SPDX-License-Identifier: Apache-2.0

// src/cpu/spmv/acsr.cpp:  y = alpha*A*x + beta*y, A in ACSR.
//
// A unit of work is a window of rows, bin by bin, or a part of one long row; the parts of a row are
// added in order. Both depend on the matrix alone, and so do the bits. In a bin, four rows of one
// short length are computed together, others one by one. The transpose is that of csr. Bytes that
// must move, double with 32-bit indices: 12 per entry, 20 per row (and the parts of its cache lines
// that belong to rows of other bins) and 8 per column.
#include "tulle/format/acsr.hpp"

#include "cpu/spmv/pieces.hpp"
#include "cpu/spmv/rows.hpp"
#include "cpu/spmv/scatter.hpp"
#include "kernel/instantiate.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

// Steps of the path through rows and entries per window: the window's part of the matrix stays in
// L2 while its bins are computed in turn. In times of csr, two threads: lattice 500000 2.0, rmat 18
// 16 1.6, circuit 500000 1.6, fem 60000 2.4; one bin of the whole matrix after the other, and no
// prefetch before four rows: 2.7, 1.9, 1.8, 2.7. Other sizes: not measured.
constexpr std::int64_t window_steps = 2 * tile_steps;
// dot() prefetches what follows a row in the csr, which are rows of other bins. In bins of rows up
// to this length a later row of the bin is prefetched instead, as a whole. In times of csr, two
// threads of Zen 4, fem 60000 and rmat 18 16: 1.40, 1.47 without; 1.17, 1.38 with 8 rows ahead (4:
// 1.24, 1.40; 16: 1.21, 1.37); 1.13, 1.29 when places are found from those of the window before
// instead of in the whole bin. Others within 4 %: circuit 500000 1.45, lattice 500000 1.68.
constexpr std::int64_t longest_asked = 128;
constexpr std::int64_t places_ahead = 8;

/// The most parts of tile_steps entries that a row of bin b has. Rows of more than one part are
/// long.
constexpr std::int64_t parts_of(int b) {
  std::int64_t const most = detail::most_in_bin(b);
  return most <= tile_steps ? 1 : most / tile_steps;
}
inline int short_bins(int bins) {
  int b = 0;
  while (b < bins && parts_of(b) == 1)
    ++b;
  return b;
}

template <class V, class I, class O>
std::size_t prepare(acsr_view<V, I, O> const& a, plan_view& p) {
  if (p.transposed)
    return prepare_scatter<V>(a.col, a.nnz, p);
  p.method = "bins";
  int const bins = static_cast<int>(a.bins);
  int const first = short_bins(bins);
  // Windows, then the parts of each bin of long rows: where they begin.
  std::int64_t const steps = static_cast<std::int64_t>(a.rows) + static_cast<std::int64_t>(a.nnz);
  p.info[first] = (steps + window_steps - 1) / window_steps;
  for (int b = first; b < bins; ++b)
    p.info[b + 1] = p.info[b] + (a.bin_ptr[b + 1] - a.bin_ptr[b]) * parts_of(b);
  return pieces<V>{p.info[bins], p.threads}.bytes();
}

/// The sums of four rows of one length, up to longest_known.
template <class V, class I>
HWY_NOINLINE void sum_four(std::int64_t length, V const* const (&val)[4], I const* const (&col)[4],
                           V const* x, V* sum) {
  if constexpr (has_quads<V>) {
    hn::FixedTag<V, 4> const d;
    switch (length) {
#define TULLE_FOUR(n)                                                                              \
  case n:                                                                                          \
    return hn::StoreU(quad<n>(val, col, x), d, sum);
      TULLE_FOUR(1)
      TULLE_FOUR(2)
      TULLE_FOUR(3)
      TULLE_FOUR(4)
      TULLE_FOUR(5)
      TULLE_FOUR(6)
      TULLE_FOUR(7)
      TULLE_FOUR(8)
      TULLE_FOUR(9)
      TULLE_FOUR(10)
      TULLE_FOUR(11)
      TULLE_FOUR(12)
      TULLE_FOUR(13)
      TULLE_FOUR(14)
      TULLE_FOUR(15)
#undef TULLE_FOUR
    default:
      return hn::StoreU(hn::Zero(d), d, sum);
    }
  }
}
static_assert(longest_known == 15);

template <class T>
void ask_for(T const* array, std::int64_t k, std::int64_t end) {
  for (; k < end; k += 64 / static_cast<std::int64_t>(sizeof(T)))
    __builtin_prefetch(array + k);
}

/// The rows at places [q, end) of a bin, of up to `most` entries.
template <class V, class I, class O>
void bin_rows(V alpha, acsr_view<V, I, O> const& a, V const* x, V beta, V* y, bool overwrite,
              std::int64_t q, std::int64_t end, std::int64_t most, std::int64_t ahead) {
  bool const is_short = most <= vector_from;
  bool const asks = ahead != 0 && !is_short && most <= longest_asked;
  while (q < end) {
    if (has_quads<V> && is_short && q + 4 <= end) {
      I const* const row = a.bin_row + q;
      O const length = a.row_ptr[row[0] + 1] - a.row_ptr[row[0]];
      O other = 0; // one test for the three
      V const* val[4];
      I const* col[4];
      for (int r = 0; r < 4; ++r) {
        O const k = a.row_ptr[row[r]];
        other |= (a.row_ptr[row[r] + 1] - k) ^ length;
        val[r] = a.val + k;
        col[r] = a.col + k;
        if (ahead != 0) {
          __builtin_prefetch(reinterpret_cast<char const*>(val[r]) + ahead);
          __builtin_prefetch(reinterpret_cast<char const*>(col[r]) + ahead / 2);
        }
      }
      if (other == 0 && length <= longest_known) {
        V sum[4];
        sum_four(length, val, col, x, sum);
        for (int r = 0; r < 4; ++r)
          update(y + row[r], alpha, sum[r], beta, overwrite);
        q += 4;
        continue;
      }
    }
    // Up to the next place at which four rows may begin.
    std::int64_t const stop = q + 4 < end ? q + 4 : end;
    for (; q < stop; ++q) {
      I const i = a.bin_row[q];
      std::int64_t k = a.row_ptr[i];
      std::int64_t const row_end = a.row_ptr[i + 1];
      V sum{};
      if (is_short)
        for (; k < row_end; ++k)
          sum = mul_add(a.val[k], x[a.col[k]], sum);
      else if (asks) {
        if (q + places_ahead < static_cast<std::int64_t>(a.rows)) {
          I const soon = a.bin_row[q + places_ahead];
          ask_for(a.val, a.row_ptr[soon], a.row_ptr[soon + 1]);
          ask_for(a.col, a.row_ptr[soon], a.row_ptr[soon + 1]);
        }
        sum = dot(a.val, a.col, x, k, row_end, 0);
      } else
        sum = dot(a.val, a.col, x, k, row_end, ahead);
      update(y + i, alpha, sum, beta, overwrite);
    }
  }
}

/// The first place of bin b from `lo` on with row i or a later one; fast where it is near.
template <class V, class I, class O>
std::int64_t place_from(acsr_view<V, I, O> const& a, int b, std::int64_t lo, std::int64_t i) {
  auto const is_before = [&](std::int64_t q) {
    return static_cast<std::int64_t>(a.bin_row[q]) < i;
  };
  std::int64_t const end = a.bin_ptr[b + 1];
  std::int64_t step = 1;
  for (; lo + step <= end && is_before(lo + step - 1); step *= 2)
    lo += step;
  for (std::int64_t hi = lo + step - 1 < end ? lo + step - 1 : end; lo < hi;) {
    std::int64_t const mid = (lo + hi) / 2;
    if (is_before(mid))
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

template <class V, class I, class O>
void multiply_bins(V alpha, acsr_view<V, I, O> const& a, V const* x, V beta, V* y,
                   plan_view const& p) {
  bool const overwrite = beta == V{};
  std::int64_t const ahead = ahead_of(p);
  int const bins = static_cast<int>(a.bins);
  int const longs = short_bins(bins);
  std::int64_t const* const begin = p.info;
  pieces<V>{begin[bins], p.threads}.run(
      alpha, y, p.work, [=](std::int64_t first, std::int64_t last, piece<V>* left) {
        int b = longs;
        std::int64_t next[64]; // the first place of each bin that is left
        std::int64_t const row = rows_before(a.row_ptr, a.rows, first * window_steps);
        for (int c = 0; c < longs; ++c)
          next[c] = place_from(a, c, a.bin_ptr[c], row);
        for (std::int64_t u = first; u < last; ++u) {
          left[u].row = -1;
          if (u < begin[longs]) { // the rows that end in a window
            std::int64_t const end = u + 1 == begin[longs]
                                         ? static_cast<std::int64_t>(a.rows)
                                         : rows_before(a.row_ptr, a.rows, (u + 1) * window_steps);
            for (int c = 0; c < longs; ++c) {
              std::int64_t const stop = place_from(a, c, next[c], end);
              bin_rows(alpha, a, x, beta, y, overwrite, next[c], stop, detail::most_in_bin(c),
                       ahead);
              next[c] = stop;
            }
            continue;
          }
          while (begin[b + 1] <= u)
            ++b;
          std::int64_t const part = (u - begin[b]) % parts_of(b);
          std::int64_t const i = a.bin_row[a.bin_ptr[b] + (u - begin[b]) / parts_of(b)];
          std::int64_t const k = a.row_ptr[i] + part * tile_steps;
          std::int64_t const row_end = a.row_ptr[i + 1];
          if (k >= row_end)
            continue;
          V const sum =
              dot(a.val, a.col, x, k, k + tile_steps < row_end ? k + tile_steps : row_end, ahead);
          if (part == 0)
            update(y + i, alpha, sum, beta, overwrite);
          else
            left[u] = {i, sum};
        }
      });
}

template <class V, class I, class O>
void spmv(V alpha, acsr_view<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p) {
  if (p.transposed)
    scatter_lines(alpha, a.row_ptr, a.col, a.val, a.rows, a.cols, a.nnz, x, beta, y, p);
  else
    multiply_bins(alpha, a, x, beta, y, p);
}

} // namespace

TULLE_INSTANTIATE_SPMV(acsr)

} // namespace tulle::kernels::TULLE_ISA

// SPDX-License-Identifier: Apache-2.0

/// What bicrs, cbicrs and vbicrs share: rows cut into parts that threads take, the entries of a
/// part in square blocks along the Hilbert curve, those of a block row by row.
#pragma once
#include "tulle/format/csr.hpp"

#include "format/detail/check_pointers.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace tulle::detail {

inline void check_bicrs_options(char const* format, int block, int least, int most, int part) {
  if (block < least || block > most || (block & (block - 1)) != 0)
    fail(errc::unsupported, "%s: option block is %d, expected a power of two up to %d%s", format,
         block, most, least == 0 ? " or 0" : "");
  if (part < 1)
    fail(errc::unsupported, "%s: option part is %d, expected 1 or more", format, part);
}

/// Greedy, as in Yzelman's sec. I-C: a part takes rows while their entries, and one for each row,
/// are no more than `part`; at least one. Unlike there, the number of parts follows from the matrix
/// and not from the threads. parts + 1 rows.
template <class V, class I, class O>
array<I> greedy_parts(csr_view<V, I, O> const& a, int part, cpu const& where) {
  auto const n = static_cast<std::size_t>(a.rows);
  auto const end_of = [&](std::size_t i) { // of the part that begins with row i
    auto const steps = [&](std::size_t k) { return static_cast<std::size_t>(a.row_ptr[k]) + k; };
    std::size_t const most = steps(i) + static_cast<std::size_t>(part);
    std::size_t lo = i + 1;
    for (std::size_t hi = n; lo < hi;) {
      std::size_t const mid = lo + (hi - lo + 1) / 2;
      if (steps(mid) <= most)
        lo = mid;
      else
        hi = mid - 1;
    }
    return lo;
  };
  std::size_t parts = 0;
  for (std::size_t i = 0; i < n; i = end_of(i))
    ++parts;
  array<I> part_row(parts + 1, where.memory);
  std::size_t p = 0;
  for (std::size_t i = 0; i < n; i = end_of(i))
    part_row[p++] = static_cast<I>(i);
  part_row[parts] = a.rows;
  return part_row;
}

/// Where block (i, j) comes along the Hilbert curve through a square of 2^bits blocks per side,
/// which begins at the left of its last row, goes up first, and ends at the right.
[[gnu::always_inline]] constexpr std::uint64_t hilbert(std::uint64_t i, std::uint64_t j, int bits) {
  std::uint64_t const last = (std::uint64_t(1) << bits) - 1;
  std::uint64_t x = j, y = last - i, place = 0;
  for (int b = bits - 1; b >= 0; --b) {
    std::uint64_t const rx = x >> b & 1, ry = y >> b & 1;
    place = place << 2 | ((3 * rx) ^ ry);
    if (ry == 0) {
      if (rx == 1) {
        x = last - x;
        y = last - y;
      }
      std::swap(x, y);
    }
  }
  return place;
}

/// The bits that a square needs which has every part and all columns in blocks; a block of 0 is
/// everything.
template <class I>
int hilbert_bits(char const* format, I const* part_row, std::size_t parts, I cols, int block) {
  I side = cols;
  for (std::size_t p = 0; p < parts; ++p)
    side = std::max<I>(side, part_row[p + 1] - part_row[p]);
  if (block == 0 || side == 0)
    return 0;
  int const bits =
      static_cast<int>(std::bit_width(static_cast<std::uint64_t>(side - 1) / std::uint64_t(block)));
  if (bits > 32)
    fail(errc::overflow, "%s: more than 2^32 blocks of %d to a side of %lld", format, block,
         static_cast<long long>(side));
  return bits;
}

/// Entries of one row that lie in one block.
template <class I, class O>
struct bicrs_run {
  std::uint64_t place; ///< of the block along the curve
  I row;               ///< within the part
  I block_col;
  O begin;
  I count;

  friend bool operator<(bicrs_run const& a, bicrs_run const& b) {
    return a.place != b.place ? a.place < b.place : a.row < b.row;
  }
};

/// The runs of every part of a canonical csr, along the curve.
template <class V, class I, class O>
class bicrs_runs {
public:
  bicrs_runs(char const* format, csr_view<V, I, O> const& a, int block, I const* part_row,
             std::size_t parts, cpu const& where)
      : a_(a), block_(block), part_row_(part_row), parts_(parts),
        bits_(hilbert_bits(format, part_row, parts, a.cols, block)),
        threads_(parts_for(static_cast<std::size_t>(a.nnz) + parts, where.threads)) {
    parallel_each(parts_, threads_, [&](std::size_t p, int) {
      std::size_t n = 0;
      walk(p, [&](auto&&...) { ++n; });
      std::size_t most = __atomic_load_n(&most_, __ATOMIC_RELAXED);
      while (n > most && !__atomic_compare_exchange_n(&most_, &most, n, true, __ATOMIC_RELAXED,
                                                      __ATOMIC_RELAXED)) {
      }
    });
    room_ = array<bicrs_run<I, O>>(
        checked_mul(most_, static_cast<std::size_t>(threads_), "runs of bicrs"), where.memory);
  }

  /// f(part, runs) for each part, in parallel.
  template <class F>
  void each_part(F&& f) {
    parallel_each(parts_, threads_, [&](std::size_t p, int thread) {
      bicrs_run<I, O>* const runs = room_.data() + static_cast<std::size_t>(thread) * most_;
      std::size_t n = 0;
      bool sorted = true;
      std::size_t bi = 0, bj = 0;
      std::uint64_t place = hilbert(0, 0, bits_); // of the block before
      walk(p, [&](I row, std::size_t i, std::size_t j, O begin, O end) {
        if (i != bi || j != bj) {
          bi = i;
          bj = j;
          place = hilbert(i, j, bits_);
        }
        runs[n] = {place, row, static_cast<I>(j), begin, static_cast<I>(end - begin)};
        sorted = sorted && (n == 0 || runs[n - 1] < runs[n]);
        ++n;
      });
      if (!sorted)
        std::sort(runs, runs + n);
      f(p, std::span<bicrs_run<I, O> const>(runs, n));
    });
  }

private:
  /// f(row within the part, block row, block column, begin, end) for each run, row by row.
  template <class F>
  void walk(std::size_t p, F&& f) const {
    std::size_t const shift =
        block_ == 0 ? 0 : static_cast<std::size_t>(std::countr_zero(unsigned(block_)));
    auto const block_of = [&](I j) {
      return block_ == 0 ? 0 : static_cast<std::size_t>(j) >> shift;
    };
    for (I i = part_row_[p]; i < part_row_[p + 1]; ++i) {
      O k = a_.row_ptr[i];
      O const end = a_.row_ptr[i + 1];
      auto const row = static_cast<I>(i - part_row_[p]);
      while (k < end) {
        std::size_t const j = block_of(a_.col[k]);
        O stop = end;
        if (block_of(a_.col[end - 1]) != j)
          for (stop = static_cast<O>(k + 1); block_of(a_.col[stop]) == j;)
            ++stop;
        f(row, block_of(row), j, k, stop);
        k = stop;
      }
    }
  }

  csr_view<V, I, O> a_;
  int block_;
  I const* part_row_;
  std::size_t parts_;
  int bits_;
  int threads_;
  std::size_t most_ = 0; // runs of a part
  array<bicrs_run<I, O>> room_;
};

/// What goes into an array, or, where it is there already, whether it is the same. Compared as is:
/// a column that refill was given may be anything.
template <bool compare, class T>
void put_or_compare(T* to, std::int64_t value, bool& same) {
  if constexpr (compare)
    same &= *to == value;
  else
    *to = static_cast<T>(value);
}

/// From column j to column `to`.
template <class I>
std::int64_t distance(I j, I to) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(j));
}

/// Parts take all rows, each some.
template <class View>
void check_bicrs_parts(char const* format, View const& v) {
  check_shape(format, v.rows, v.cols);
  if (v.nnz < 0)
    fail(errc::bad_structure, "%s: %lld entries", format, static_cast<long long>(v.nnz));
  if (char const* const missing = missing_array(v))
    fail(errc::bad_structure, "%s: %s is null, but the matrix needs it", format, missing);
  if ((v.parts == 0) != (v.rows == 0) ||
      (v.parts != 0 && (v.part_row[0] != 0 || v.part_row[v.parts] != v.rows)))
    fail(errc::bad_structure, "%s: %zu parts do not have all of %lld rows", format, v.parts,
         static_cast<long long>(v.rows));
  for (std::size_t p = 0; p < v.parts; ++p)
    if (v.part_row[p + 1] <= v.part_row[p])
      fail(errc::bad_structure, "%s: part_row[%zu] is %lld after %lld, expected ascending", format,
           p + 1, static_cast<long long>(v.part_row[p + 1]), static_cast<long long>(v.part_row[p]));
}

/// f(part) for each part of a view, in parallel.
template <class View, class F>
void each_bicrs_part(View const& v, cpu const& where, F&& f) {
  int const threads = parts_for(static_cast<std::size_t>(v.nnz) + v.parts, where.threads);
  parallel_each(v.parts, threads, [&](std::size_t p, int) { f(p); });
}

/// By v.each_entry(part, f), f(row, column, place in val).
template <class View>
auto bicrs_to_csr(View const& v, cpu const& where) {
  using V = typename View::value;
  using I = typename View::index;
  using O = typename View::offset;
  auto const n = static_cast<std::size_t>(v.rows);
  auto const entries = static_cast<std::size_t>(v.nnz);
  csr<V, I, O> c(unchecked, v.rows, v.cols, array<O>(n + 1, O(0), where.memory),
                 array<I>(entries, where.memory), array<V>(entries, where.memory));
  array<O> next(n, where.memory); // of each row
  each_bicrs_part(v, where, [&](std::size_t p) {
    v.each_entry(p, [&](I i, I, std::size_t) { ++c.row_ptr[static_cast<std::size_t>(i) + 1]; });
  });
  for (std::size_t i = 0; i < n; ++i) {
    next[i] = c.row_ptr[i];
    c.row_ptr[i + 1] = static_cast<O>(c.row_ptr[i + 1] + c.row_ptr[i]);
  }
  each_bicrs_part(v, where, [&](std::size_t p) {
    v.each_entry(p, [&](I i, I j, std::size_t at) {
      O const k = next[static_cast<std::size_t>(i)]++;
      c.col[static_cast<std::size_t>(k)] = j;
      c.val[static_cast<std::size_t>(k)] = v.val[at];
    });
  });
  if (!c.view().is_canonical(where)) // since the curve goes right to left as well
    return c.view().to_csr(where);
  return c;
}

} // namespace tulle::detail

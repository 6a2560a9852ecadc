// SPDX-License-Identifier: Apache-2.0

/// What the conversions of dia share: which diagonals meet which rows, runs of like rows, and which
/// diagonals are worth keeping.
#pragma once
#include "tulle/format/dia.hpp"

#include "format/detail/canonical.hpp"
#include "format/detail/check_pointers.hpp"
#include "format/detail/copy.hpp"
#include "format/detail/symmetric.hpp"

#include <atomic>

namespace tulle::detail {

constexpr std::int32_t most_dia_block = 1024;
constexpr bool is_dia_block(std::int64_t n) {
  return n > 0 && n <= most_dia_block && (n & (n - 1)) == 0;
}

/// Which diagonals meet which blocks. All numbers have 64 bits here, so that none overflows.
struct dia_grid {
  std::int64_t rows, cols, block;

  constexpr std::size_t blocks() const {
    return static_cast<std::size_t>(rows / block + (rows % block != 0));
  }
  constexpr std::int64_t first_row(std::size_t b) const {
    return static_cast<std::int64_t>(b) * block;
  }
  constexpr std::int64_t last_row(std::size_t b) const {
    return first_row(b) + std::min(block, rows - first_row(b)) - 1;
  }
  /// The blocks that diagonal o meets are [first_block, end_block).
  constexpr std::int64_t first_block(std::int64_t o) const { return o < 0 ? -o / block : 0; }
  constexpr std::int64_t end_block(std::int64_t o) const {
    std::int64_t const end = o < 0 && rows + o <= cols ? rows : std::min(rows, cols - o);
    return (end - 1) / block + 1;
  }
  /// What it takes in them.
  constexpr std::int64_t slots(std::int64_t o) const {
    return (end_block(o) - first_block(o)) * block;
  }
  /// Whether a diagonal with n entries is full enough to be kept as such; where symmetric, those
  /// above the main one are not.
  constexpr bool keeps(std::int64_t o, std::int64_t n, double fill, bool symmetric) const {
    return n != 0 && !(symmetric && o > 0) &&
           static_cast<double>(n) >= fill * static_cast<double>(slots(o));
  }
};

/// The diagonals that meet one block.
struct dia_range {
  std::size_t first, count;

  template <class I>
  dia_range(dia_grid const& g, I const* diagonal, std::size_t n, std::size_t b)
      : first(static_cast<std::size_t>(
            std::lower_bound(diagonal, diagonal + n, -g.last_row(b),
                             [](I o, std::int64_t least) { return o < least; }) -
            diagonal)),
        count(static_cast<std::size_t>(
                  std::upper_bound(diagonal + first, diagonal + n, g.cols - 1 - g.first_row(b),
                                   [](std::int64_t most, I o) { return most < o; }) -
                  diagonal) -
              first) {}
};

/// f(byte, bits of it) for bits [begin, end) of a mask.
template <class Byte, class F>
void mask_bits(Byte* mask, std::size_t begin, std::size_t end, F f) {
  while (begin < end) {
    std::size_t const stop = std::min(end, begin / 8 * 8 + 8);
    f(mask[begin / 8], static_cast<std::uint8_t>(((1u << (stop - begin)) - 1) << begin % 8));
    begin = stop;
  }
}

/// Rows of one block, each of them the row before it moved one column to the right.
struct dia_run {
  std::size_t block, row, rows;
  std::size_t entry, length; ///< of the first row
  dia_range diagonals;
};

/// First row after i, at most `stop`, that is not the one before it moved to the right. Grids are
/// made of such runs, and a run is counted and copied at the cost of one row and a stream.
template <class V, class I, class O>
std::size_t dia_run_end(csr_view<V, I, O> const& a, std::size_t i, std::size_t stop) {
  constexpr std::size_t step = 64; // entries and rows that are looked at without a branch
  using U = std::make_unsigned_t<I>;
  auto const differ = [](I next, I j) { // 0 where next is j + 1
    return static_cast<U>((static_cast<U>(next) - static_cast<U>(j)) ^ 1u);
  };
  auto const length = static_cast<std::size_t>(a.row_ptr[i + 1] - a.row_ptr[i]);
  auto const as_long = [&](std::size_t row) {
    return static_cast<std::size_t>(a.row_ptr[row + 1] - a.row_ptr[row]) == length;
  };
  if (i + 1 == stop || !as_long(i + 1) ||
      (length != 0 && differ(a.col[a.row_ptr[i + 1]], a.col[a.row_ptr[i]]) != 0))
    return i + 1;
  std::size_t end = i + 2; // of rows of that length
  for (stop = std::min(stop, i + step); end < stop && as_long(end);)
    ++end;
  if (length == 0)
    return end;
  I const* const col = a.col + a.row_ptr[i];
  std::size_t const entries = (end - i - 1) * length;
  std::size_t k = 0;
  for (; k < entries; k += step) {
    U other = 0;
    for (std::size_t j = k, last = std::min(k + step, entries); j < last; ++j)
      other = static_cast<U>(other | differ(col[j + length], col[j]));
    if (other != 0)
      break;
  }
  while (k < entries && differ(col[k + length], col[k]) == 0)
    ++k;
  return i + 1 + std::min(k, entries) / length;
}

/// f(run) for all runs of blocks [b, end). A row of which is_alone(row, diagonals) holds is one by
/// itself, without a look at its columns.
template <class V, class I, class O, class F, class Alone = bool (*)(std::size_t, dia_range const&)>
void dia_runs(
    csr_view<V, I, O> const& a, dia_grid const& g, array<I> const& diagonal, std::size_t b,
    std::size_t end, F f, Alone is_alone = [](std::size_t, dia_range const&) { return false; }) {
  for (; b < end; ++b) {
    dia_range const here(g, diagonal.data(), diagonal.size(), b);
    auto const stop = static_cast<std::size_t>(g.last_row(b)) + 1;
    for (auto i = static_cast<std::size_t>(g.first_row(b)); i < stop;) {
      std::size_t const next = is_alone(i, here) ? i + 1 : dia_run_end(a, i, stop);
      f(dia_run{b, i, next - i, static_cast<std::size_t>(a.row_ptr[i]),
                static_cast<std::size_t>(a.row_ptr[i + 1] - a.row_ptr[i]), here});
      i = next;
    }
  }
}

/// on(k, d) for each entry k of the run's first row that lies on the d-th diagonal of its block,
/// off(k, j) for the j-th of the others. Returns how many others there are. Where m is symmetric,
/// what mirrors an entry of a diagonal is neither.
template <class Dia, class I, class On, class Off>
std::size_t dia_sort(dia_run const& r, I const* col, Dia const& m, On on, Off off) {
  auto const& diagonal = m.diagonal;
  std::size_t d = 0;
  std::size_t others = 0;
  for (std::size_t k = r.entry; k < r.entry + r.length; ++k) {
    auto const o = static_cast<std::int64_t>(col[k]) - static_cast<std::int64_t>(r.row);
    while (d < r.diagonals.count && diagonal[r.diagonals.first + d] < o)
      ++d;
    if (d < r.diagonals.count && diagonal[r.diagonals.first + d] == o)
      on(k, d);
    else if (!(m.symmetric && o > 0 &&
               std::binary_search(diagonal.begin(), diagonal.end(), static_cast<I>(-o))))
      off(k, others++);
  }
  return others;
}

/// First block of a part when entries are dealt evenly.
template <class O>
std::size_t dia_part(dia_grid const& g, O const* row_ptr, int part, int parts) {
  if (part >= parts || g.rows == 0)
    return g.blocks();
  auto const block = static_cast<std::size_t>(g.block);
  return (split_by_entries(row_ptr, static_cast<std::size_t>(g.rows), part, parts) + block - 1) /
         block;
}

/// Entries by diagonal. A part's diagonals are mostly the same from row to row, so they are counted
/// in a small table first: threads that meet at a counter wait for one another.
template <class I>
struct dia_counter {
  static constexpr std::size_t room = 1024;
  I* count; // of diagonal 1 - rows and up
  std::int64_t rows;
  std::int64_t place[room] = {};
  I seen[room] = {};

  dia_counter(I* count, std::int64_t rows) : count(count), rows(rows) {}
  ~dia_counter() {
    for (std::size_t s = 0; s < room; ++s)
      flush(s);
  }
  void flush(std::size_t s) {
    if (seen[s] != 0)
      std::atomic_ref(count[place[s]]).fetch_add(seen[s], std::memory_order_relaxed);
    seen[s] = 0;
  }
  void add(std::int64_t o, std::size_t n) {
    std::int64_t const at = o + rows - 1;
    std::size_t const s = static_cast<std::uint64_t>(at) * 0x9e3779b97f4a7c15u >> 54;
    if (place[s] != at) {
      flush(s);
      place[s] = at;
    }
    seen[s] = static_cast<I>(seen[s] + static_cast<I>(n));
  }
};

/// The diagonals that are full enough to be kept as such, and the entries on them; where symmetric,
/// those that are not above the main one, and the entries on them and on their mirror images.
template <class I>
struct dia_choice {
  array<I> diagonal;
  std::size_t entries = 0;

  template <class V, class O>
  dia_choice(csr_view<V, I, O> const& a, dia_grid const& g, double fill, bool symmetric,
             cpu const& where) {
    auto const nnz = static_cast<std::size_t>(a.nnz);
    if (nnz == 0)
      return;
    auto const kept = [&](std::int64_t o, I n) { return g.keeps(o, n, fill, symmetric); };
    std::size_t const all = static_cast<std::size_t>(a.rows) + static_cast<std::size_t>(a.cols) - 1;
    if (all / 16 > nnz + (1 << 16)) { // far more diagonals than entries: no counter for each
      array<I> each(nnz, where.memory);
      for (std::size_t i = 0; i < static_cast<std::size_t>(a.rows); ++i)
        for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
          each[static_cast<std::size_t>(k)] = static_cast<I>(a.col[k] - static_cast<I>(i));
      std::sort(each.begin(), each.end());
      choose(
          [&](int, int, auto&& f) {
            for (std::size_t k = 0, next = 0; k < nnz; k = next) {
              while (next < nnz && each[next] == each[k])
                ++next;
              if (auto const n = static_cast<I>(next - k); kept(each[k], n))
                f(each[k], n);
            }
          },
          1, symmetric, where);
      return;
    }
    array<I> count(all, where.memory);
    int const zeros = parts_for(all, where.threads, 1 << 18);
    parallel(zeros, [&](int part) {
      std::size_t const begin = split(all, part, zeros);
      std::fill(count.data() + begin, count.data() + split(all, part + 1, zeros), I(0));
    });
    int const parts = parts_for(nnz, where.threads);
    auto const n = static_cast<std::size_t>(a.rows);
    parallel(parts, [&](int part) {
      dia_counter<I> counter(count.data(), g.rows);
      std::size_t const end = split_by_entries(a.row_ptr, n, part + 1, parts);
      for (std::size_t i = split_by_entries(a.row_ptr, n, part, parts); i < end;) {
        std::size_t const next = dia_run_end(a, i, end);
        for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
          counter.add(static_cast<std::int64_t>(a.col[k]) - static_cast<std::int64_t>(i), next - i);
        i = next;
      }
    });
    choose(
        [&](int part, int of, auto&& f) {
          for (std::size_t d = split(all, part, of), end = split(all, part + 1, of); d < end; ++d)
            if (auto const o = static_cast<std::int64_t>(d) - g.rows + 1; kept(o, count[d]))
              f(static_cast<I>(o), count[d]);
        },
        zeros, symmetric, where);
  }

private:
  /// walk(part, parts, f) calls f(diagonal, entries) for those to keep, in order.
  template <class Walk>
  void choose(Walk walk, int parts, bool symmetric, cpu const& where) {
    array<std::size_t> number(static_cast<std::size_t>(parts) + 1, std::size_t(0), where.memory);
    array<std::size_t> sum(static_cast<std::size_t>(parts), std::size_t(0), where.memory);
    parallel(parts, [&](int part) {
      walk(part, parts, [&](I o, I n) {
        ++number[static_cast<std::size_t>(part) + 1];
        sum[static_cast<std::size_t>(part)] += static_cast<std::size_t>(n) << (symmetric && o < 0);
      });
    });
    for (std::size_t p = 0; p < sum.size(); ++p) {
      number[p + 1] += number[p];
      entries += sum[p];
    }
    diagonal = array<I>(number.back(), where.memory);
    parallel(parts, [&](int part) {
      std::size_t at = number[static_cast<std::size_t>(part)];
      walk(part, parts, [&](I o, I) { diagonal[at++] = o; });
    });
  }
};

/// The strays before a part: rows that have any, and entries.
struct dia_strays {
  std::size_t row = 0, entry = 0;

  dia_strays() = default;
  template <class I, class O>
  dia_strays(array<I> const& stray_row, array<O> const& stray_ptr, std::int64_t first_row)
      : row(static_cast<std::size_t>(
            std::lower_bound(stray_row.begin(), stray_row.end(), first_row,
                             [](I i, std::int64_t first) { return i < first; }) -
            stray_row.begin())),
        entry(stray_row.empty() ? 0 : static_cast<std::size_t>(stray_ptr[row])) {}
};

/// The strays that m has in row i, the next row with any being `at`.
template <class Dia>
std::size_t strays_at(Dia const& m, std::size_t at, std::size_t i) {
  return at < m.stray_row.size() && static_cast<std::size_t>(m.stray_row[at]) == i
             ? static_cast<std::size_t>(m.stray_ptr[at + 1] - m.stray_ptr[at])
             : 0;
}

/// The values on one diagonal of a run, of which entry k is the first.
template <class V>
void dia_copy(dia_run const& r, V const* val, std::size_t k, V* out) {
  // What the next run reads far apart, one behind the other.
  ask_for(val + r.entry + (r.length + k - r.entry) * r.rows, r.rows);
  for (std::size_t i = 0; i < r.rows; ++i)
    out[i] = val[k + i * r.length];
}

/// Blocks [b, end) of a into the arrays of m.
template <class Dia, class V, class I, class O>
void dia_fill(csr_view<V, I, O> const& a, dia_grid const& g, Dia& m, dia_strays at, std::size_t b,
              std::size_t end) {
  auto const block = static_cast<std::size_t>(g.block);
  std::size_t const bytes = (block + 7) / 8;
  auto const stretches = static_cast<std::size_t>(m.block_ptr[end] - m.block_ptr[b]);
  std::fill_n(m.mask.data() + static_cast<std::size_t>(m.block_ptr[b]) * bytes, stretches * bytes,
              std::uint8_t(0));
  std::size_t zeroed = b; // blocks before this one have zeros in their holes
  dia_runs(a, g, m.diagonal, b, end, [&](dia_run const& r) {
    auto const first = static_cast<std::size_t>(m.block_ptr[r.block]);
    std::size_t const in_block = r.row % block;
    auto const nothing = [](std::size_t, std::size_t) {};
    std::size_t const others = m.stray_row.empty() ? 0 : dia_sort(r, a.col, m, nothing, nothing);
    if (zeroed == r.block) { // just before it is written: it stays in the cache
      std::fill_n(m.val.data() + first * block, r.diagonals.count * block, V{});
      ++zeroed;
    }
    for (std::size_t i = 0; others != 0 && i < r.rows; ++i) {
      m.stray_row[at.row + i] = static_cast<I>(r.row + i);
      m.stray_ptr[at.row + i] = static_cast<O>(at.entry + i * others);
    }
    dia_sort(
        r, a.col, m,
        [&](std::size_t k, std::size_t d) {
          dia_copy(r, a.val, k, m.val.data() + (first + d) * block + in_block);
          mask_bits(m.mask.data() + (first + d) * bytes, in_block, in_block + r.rows,
                    [](std::uint8_t& byte, std::uint8_t bits) { byte |= bits; });
        },
        [&](std::size_t k, std::size_t j) {
          for (std::size_t i = 0; i < r.rows; ++i) {
            std::size_t const to = at.entry + i * others + j;
            m.stray_col[to] = a.col[k + i * r.length];
            m.stray_val[to] = a.val[k + i * r.length];
          }
        });
    at.row += others != 0 ? r.rows : 0;
    at.entry += others * r.rows;
  });
}

/// The strays' invariants, when all others hold.
template <class View>
void check_dia_strays(View const& a) {
  using V = typename View::value;
  using I = typename View::index;
  using O = typename View::offset;
  auto const is_kept = [&](I o) {
    return std::binary_search(a.diagonal, a.diagonal + a.diagonals, o);
  };
  auto const lines = static_cast<std::size_t>(a.stray_rows);
  check_indices("dia: stray_row", a.stray_row, lines, a.rows);
  if (lines != 0 || a.strays != 0)
    check_pointers("dia: stray_ptr", lines != 0 ? a.stray_ptr : nullptr, lines, a.strays);
  check_indices("dia: stray_col", a.stray_col, static_cast<std::size_t>(a.strays), a.cols);
  check_present("dia: stray_val", a.stray_val, static_cast<std::size_t>(a.strays));
  for (std::size_t r = 0; r < lines; ++r) {
    if (r > 0 && a.stray_row[r] <= a.stray_row[r - 1])
      fail(errc::bad_structure, "dia: stray_row does not ascend from %lld to %lld at %zu",
           static_cast<long long>(a.stray_row[r - 1]), static_cast<long long>(a.stray_row[r]), r);
    if (a.stray_ptr[r] == a.stray_ptr[r + 1])
      fail(errc::bad_structure, "dia: stray_row[%zu] is %lld, a row without strays", r,
           static_cast<long long>(a.stray_row[r]));
    for (O k = a.stray_ptr[r]; k < a.stray_ptr[r + 1]; ++k) {
      if (k > a.stray_ptr[r] && a.stray_col[k] <= a.stray_col[k - 1])
        fail(errc::bad_structure, "dia: stray_col does not ascend from %lld to %lld at %lld",
             static_cast<long long>(a.stray_col[k - 1]), static_cast<long long>(a.stray_col[k]),
             static_cast<long long>(k));
      if (is_kept(static_cast<I>(a.stray_col[k] - a.stray_row[r])))
        fail(errc::bad_structure, "dia: stray_col[%lld] is %lld, which lies on diagonal %lld",
             static_cast<long long>(k), static_cast<long long>(a.stray_col[k]),
             static_cast<long long>(a.stray_col[k] - a.stray_row[r]));
      if (a.symmetric && is_kept(static_cast<I>(a.stray_row[r] - a.stray_col[k])))
        fail(errc::bad_structure, "dia: stray_col[%lld] is %lld, which mirrors diagonal %lld",
             static_cast<long long>(k), static_cast<long long>(a.stray_col[k]),
             static_cast<long long>(a.stray_row[r] - a.stray_col[k]));
    }
  }
  for (std::size_t r = 0; a.symmetric && r < lines; ++r)
    for (O k = a.stray_ptr[r]; k < a.stray_ptr[r + 1]; ++k) {
      I const* const end = a.stray_row + lines;
      I const* const twin_row = std::lower_bound(a.stray_row, end, a.stray_col[k]);
      O twin = 0;
      O last = 0;
      if (twin_row != end && *twin_row == a.stray_col[k]) {
        last = a.stray_ptr[twin_row - a.stray_row + 1];
        twin = static_cast<O>(std::lower_bound(a.stray_col + a.stray_ptr[twin_row - a.stray_row],
                                               a.stray_col + last, a.stray_row[r]) -
                              a.stray_col);
      }
      if (twin == last || a.stray_col[twin] != a.stray_row[r] ||
          !same<V>(a.stray_val + twin, a.stray_val + k, 1))
        fail(errc::bad_structure,
             "dia: stray_val[%lld] has no equal twin, as strays of a symmetric dia have",
             static_cast<long long>(k));
    }
}

inline void check_dia_options(dia_options const& o) {
  if (!is_dia_block(o.block))
    fail(errc::unsupported, "dia: option block is %d, expected a power of two up to %d", o.block,
         most_dia_block);
  if (!(o.fill >= 0 && o.fill <= 1))
    fail(errc::unsupported, "dia: option fill is %g, expected a share between 0 and 1", o.fill);
  if (!(o.limit >= 0))
    fail(errc::unsupported, "dia: option limit is %g, expected a number from 0 up", o.limit);
  if (o.symmetric && o.shared)
    fail(errc::unsupported, "dia: options symmetric and shared are both set, expected one at most");
}

/// The bytes of a dia that has so many diagonals, stretches of them and strays.
template <class V, class I, class O>
double dia_bytes(dia_grid const& g, std::size_t diagonals, double stretches, std::size_t strays) {
  auto const block = static_cast<std::size_t>(g.block);
  return stretches * static_cast<double>(block * sizeof(V) + (block + 7) / 8) +
         static_cast<double>((g.blocks() + 1) * sizeof(O) + diagonals * sizeof(I) +
                             strays * (sizeof(V) + sizeof(I)) +
                             std::min(strays, static_cast<std::size_t>(g.rows)) *
                                 (sizeof(I) + sizeof(O)));
}

} // namespace tulle::detail

// SPDX-License-Identifier: Apache-2.0

// A handful of passes over a canonical csr, each split by entries.
#include "apps/analysis.hpp"

#include "tulle/core/error.hpp"
#include "tulle/core/parallel.hpp"
#include "tulle/op/convert.hpp"

#include "apps/support/matrix.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tulle::app {
namespace {

constexpr std::size_t grain = std::size_t{1} << 18; // entries worth a thread
// Entries that the block structure is judged by; a pass for each side of block.
constexpr std::size_t block_sample = std::size_t{1} << 22;
// Conversions take a few passes each, so beyond this many entries they wait until asked for.
constexpr std::size_t convert_below = std::size_t{1} << 22;
constexpr int block_sides[] = {2, 3, 4, 6, 8};

// The pattern of a csr, all that most questions need.
template <class I>
struct pattern {
  std::size_t rows, cols, nnz;
  I const* row_ptr;
  I const* col;

  template <class V>
  explicit pattern(csr_view<V, I, I> const& a)
      : rows(static_cast<std::size_t>(a.rows)), cols(static_cast<std::size_t>(a.cols)),
        nnz(static_cast<std::size_t>(a.nnz)), row_ptr(a.row_ptr), col(a.col) {}

  /// f(part, row, first, last) for each row of that part.
  template <class F>
  void rows_of(int part, int parts, F&& f) const {
    if (nnz == 0)
      return;
    std::size_t const end = detail::split_by_entries(row_ptr, rows, part + 1, parts);
    for (std::size_t i = detail::split_by_entries(row_ptr, rows, part, parts); i < end; ++i)
      f(i, static_cast<std::size_t>(row_ptr[i]), static_cast<std::size_t>(row_ptr[i + 1]));
  }
};

// Counts in which each part keeps counters of its own, added up at the end. count(part, parts,
// counters).
template <class Count>
std::vector<std::uint64_t> count_in_parts(std::size_t counters, std::size_t entries, Count count) {
  int const parts = detail::parts_for(entries, 0, std::max(grain, counters));
  std::vector<std::vector<std::uint64_t>> mine(static_cast<std::size_t>(parts));
  detail::parallel(parts, [&](int part) {
    auto& c = mine[static_cast<std::size_t>(part)];
    c.resize(counters);
    count(part, parts, c.data());
  });
  for (std::size_t p = 1; p < mine.size(); ++p)
    for (std::size_t c = 0; c < counters; ++c)
      mine[0][c] += mine[p][c];
  return std::move(mine[0]);
}

// length(i) for i in [0, n). Lengths are counted up to a limit and the few longer ones sorted, so
// that every figure is exact without sorting them all.
template <class Length>
length_statistics describe_lengths(std::size_t n, Length length) {
  constexpr std::size_t limit = std::size_t{1} << 16;
  length_statistics s;
  if (n == 0)
    return s;
  std::vector<std::uint64_t> shorter(limit);
  std::vector<std::uint64_t> longer;
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    std::uint64_t const l = length(i);
    sum += static_cast<double>(l);
    if (l < limit)
      ++shorter[l];
    else
      longer.push_back(l);
  }
  std::sort(longer.begin(), longer.end());
  auto const total = static_cast<double>(n);
  s.mean = sum / total;
  s.min = std::numeric_limits<std::uint64_t>::max();
  double ranked = 0; // sum of rank times length
  double squares = 0;
  std::uint64_t rank = 0;
  std::uint64_t const low = (n - 1) / 2; // the two in the middle
  std::uint64_t const high = n / 2;
  auto take = [&](std::uint64_t l, std::uint64_t count) {
    auto const x = static_cast<double>(l);
    auto const c = static_cast<double>(count);
    s.min = std::min(s.min, l);
    s.max = l;
    if (rank <= low && low < rank + count)
      s.median += 0.5 * x;
    if (rank <= high && high < rank + count)
      s.median += 0.5 * x;
    ranked += x * c * (static_cast<double>(rank) + 0.5 * (c + 1));
    squares += c * (x - s.mean) * (x - s.mean);
    rank += count;
    std::size_t bin = 0;
    for (std::uint64_t rest = l; rest != 0; rest >>= 1)
      ++bin;
    if (s.bins.size() <= bin)
      s.bins.resize(bin + 1);
    s.bins[bin] += count;
  };
  for (std::size_t l = 0; l < limit; ++l)
    if (shorter[l] != 0)
      take(l, shorter[l]);
  for (std::uint64_t const l : longer)
    take(l, 1);
  s.empty = s.bins[0];
  s.deviation = std::sqrt(squares / total);
  s.gini = sum == 0 ? 0 : std::max(0.0, 2 * ranked / (total * sum) - (total + 1) / total);
  return s;
}

template <class I>
void count_diagonals(pattern<I> const& p, analysis& out) {
  if (p.nnz == 0)
    return;
  auto const on = count_in_parts(p.rows + p.cols - 1, p.nnz, [&](int part, int parts, auto* count) {
    p.rows_of(part, parts, [&](std::size_t i, std::size_t first, std::size_t last) {
      for (std::size_t k = first; k < last; ++k)
        ++count[p.rows - 1 - i + static_cast<std::size_t>(p.col[k])];
    });
  });
  std::size_t const middle = p.rows - 1;
  out.diagonal = on[middle];
  std::vector<std::uint64_t> used;
  for (std::size_t d = 0; d < on.size(); ++d) {
    if (on[d] == 0)
      continue;
    used.push_back(on[d]);
    if (d < middle)
      out.lower_band = std::max<std::uint64_t>(out.lower_band, middle - d);
    else
      out.upper_band = std::max<std::uint64_t>(out.upper_band, d - middle);
  }
  out.diagonals = used.size();
  std::size_t const most = std::min<std::size_t>(used.size(), 100);
  std::partial_sort(used.begin(), used.begin() + static_cast<std::ptrdiff_t>(most), used.end(),
                    std::greater<>());
  std::uint64_t covered = 0;
  for (std::size_t d = 1; d <= most; ++d) {
    covered += used[d - 1];
    if (d == 1 || d == 3 || d == 10 || d == 30 || d == 100 || d == used.size())
      out.cover.push_back({d, static_cast<double>(covered) / static_cast<double>(p.nnz)});
  }
}

// Aligned side x side blocks that hold an entry, in every step-th row of blocks.
template <class I>
block_fill count_blocks(pattern<I> const& p, int side, bool& sampled) {
  auto const b = static_cast<std::size_t>(side);
  std::size_t const block_rows = (p.rows + b - 1) / b;
  std::size_t const step = p.nnz / block_sample + 1;
  sampled = sampled || step > 1;
  std::size_t const looked_at = (block_rows + step - 1) / step;
  std::size_t const block_cols = (p.cols + b - 1) / b;
  int const parts =
      detail::parts_for(std::min(p.nnz, block_sample), 0, std::max(grain, block_cols));
  std::vector<std::uint64_t> blocks(static_cast<std::size_t>(parts));
  std::vector<std::uint64_t> entries(static_cast<std::size_t>(parts));
  detail::parallel(parts, [&](int part) {
    std::vector<std::size_t> seen(
        block_cols); // the last row of blocks, from 1, that had this column
    std::uint64_t found = 0;
    std::uint64_t held = 0;
    std::size_t const end = detail::split(looked_at, part + 1, parts);
    for (std::size_t r = detail::split(looked_at, part, parts); r < end; ++r) {
      std::size_t const top = r * step * b;
      auto const first = static_cast<std::size_t>(p.row_ptr[top]);
      auto const last = static_cast<std::size_t>(p.row_ptr[std::min(top + b, p.rows)]);
      for (std::size_t k = first; k < last; ++k) {
        auto& mark = seen[static_cast<std::size_t>(p.col[k]) / b];
        found += mark != r + 1;
        mark = r + 1;
      }
      held += last - first;
    }
    blocks[static_cast<std::size_t>(part)] = found;
    entries[static_cast<std::size_t>(part)] = held;
  });
  block_fill out{side, 0, 0};
  std::uint64_t held = 0;
  for (std::size_t part = 0; part < blocks.size(); ++part) {
    out.blocks += blocks[part];
    held += entries[part];
  }
  if (out.blocks != 0)
    out.fill =
        static_cast<double>(held) / (static_cast<double>(out.blocks) * static_cast<double>(b * b));
  return out;
}

template <class V>
V conjugate(V v) {
  if constexpr (std::is_floating_point_v<V>)
    return v;
  else
    return std::conj(v);
}

struct mirror_counts {
  std::uint64_t upper = 0, lower = 0;                                ///< entries off the diagonal
  std::uint64_t stored = 0, equal = 0, negative = 0, conjugated = 0; ///< of the upper ones' images
  std::uint64_t diagonal_zero = 0, diagonal_real = 0, diagonal = 0;

  void add(mirror_counts const& o) {
    upper += o.upper;
    lower += o.lower;
    stored += o.stored;
    equal += o.equal;
    negative += o.negative;
    conjugated += o.conjugated;
    diagonal += o.diagonal;
    diagonal_zero += o.diagonal_zero;
    diagonal_real += o.diagonal_real;
  }
};

// Each entry above the diagonal looks its image up in the row below, which is sorted.
template <class V, class I>
void compare_mirrors(csr_view<V, I, I> const& a, analysis& out) {
  pattern<I> const p(a);
  int const parts = detail::parts_for(p.nnz, 0, grain);
  std::vector<mirror_counts> counts(static_cast<std::size_t>(parts));
  detail::parallel(parts, [&](int part) {
    mirror_counts c;
    p.rows_of(part, parts, [&](std::size_t i, std::size_t first, std::size_t last) {
      for (std::size_t k = first; k < last; ++k) {
        auto const j = static_cast<std::size_t>(p.col[k]);
        V const v = a.val[k];
        if (j < i) {
          ++c.lower;
        } else if (j == i) {
          ++c.diagonal;
          c.diagonal_zero += v == V(0);
          c.diagonal_real += v == conjugate(v);
        } else {
          ++c.upper;
          I const* const begin = p.col + p.row_ptr[j];
          I const* const end = p.col + p.row_ptr[j + 1];
          I const* const found = std::lower_bound(begin, end, static_cast<I>(i));
          if (found == end || *found != static_cast<I>(i))
            continue;
          V const w = a.val[found - p.col];
          ++c.stored;
          c.equal += v == w;
          c.negative += v == -w;
          c.conjugated += v == conjugate(w);
        }
      }
    });
    counts[static_cast<std::size_t>(part)] = c;
  });
  mirror_counts all;
  for (mirror_counts const& c : counts)
    all.add(c);
  double const off = static_cast<double>(all.upper + all.lower);
  auto share = [&](std::uint64_t pairs) {
    return off == 0 ? 1 : 2 * static_cast<double>(pairs) / off;
  };
  out.pattern_symmetry = share(all.stored);
  out.symmetry = share(all.equal);
  out.skew_symmetry = share(all.negative);
  out.hermitian_symmetry = share(all.conjugated);
  auto whole = [&](std::uint64_t pairs) { return pairs == all.upper && pairs == all.lower; };
  out.is_symmetric = whole(all.equal);
  out.is_skew = whole(all.negative) && all.diagonal_zero == all.diagonal;
  out.is_hermitian = whole(all.conjugated) && all.diagonal_real == all.diagonal;
  out.diagonal_zeros = all.diagonal_zero;
}

template <class V>
void look_at_values(V const* val, std::size_t n, analysis& out) {
  struct found {
    std::uint64_t zeros = 0, nans = 0, infs = 0;
    double min = HUGE_VAL, max = -HUGE_VAL, smallest = HUGE_VAL, largest = 0;
  };
  int const parts = detail::parts_for(n, 0, grain);
  std::vector<found> each(static_cast<std::size_t>(parts));
  detail::parallel(parts, [&](int part) {
    found f;
    std::size_t const end = detail::split(n, part + 1, parts);
    for (std::size_t k = detail::split(n, part, parts); k < end; ++k) {
      double const size = std::abs(val[k]);
      if (size == 0) {
        ++f.zeros;
      } else if (!std::isfinite(size)) {
        ++(std::isnan(size) ? f.nans : f.infs);
        continue;
      } else {
        f.smallest = std::min(f.smallest, size);
        f.largest = std::max(f.largest, size);
      }
      f.min = std::min(f.min, std::real(val[k]));
      f.max = std::max(f.max, std::real(val[k]));
    }
    each[static_cast<std::size_t>(part)] = f;
  });
  found all;
  for (found const& f : each) {
    all.zeros += f.zeros;
    all.nans += f.nans;
    all.infs += f.infs;
    all.min = std::min(all.min, f.min);
    all.max = std::max(all.max, f.max);
    all.smallest = std::min(all.smallest, f.smallest);
    all.largest = std::max(all.largest, f.largest);
  }
  out.zeros = all.zeros;
  out.nans = all.nans;
  out.infs = all.infs;
  if (all.min <= all.max) {
    out.min = all.min;
    out.max = all.max;
  }
  if (all.largest != 0) {
    out.smallest = all.smallest;
    out.largest = all.largest;
  }
}

template <class V, class I>
analysis analyse_csr(csr_view<V, I, I> const& a) {
  pattern<I> const p(a);
  analysis out;
  out.rows = p.rows;
  out.cols = p.cols;
  out.nnz = p.nnz;
  out.type = type_of<V, I, I>::value;
  out.complex = !std::is_floating_point_v<V>;
  out.square = p.rows == p.cols;
  out.row = describe_lengths(p.rows, [&](std::size_t i) {
    return static_cast<std::uint64_t>(p.row_ptr[i + 1] - p.row_ptr[i]);
  });
  auto const in_col = count_in_parts(p.cols, p.nnz, [&](int part, int parts, auto* count) {
    std::size_t const end = detail::split(p.nnz, part + 1, parts);
    for (std::size_t k = detail::split(p.nnz, part, parts); k < end; ++k)
      ++count[p.col[k]];
  });
  out.col = describe_lengths(p.cols, [&](std::size_t j) { return in_col[j]; });
  count_diagonals(p, out);
  for (int const side : block_sides)
    if (p.nnz != 0)
      out.blocks.push_back(count_blocks(p, side, out.blocks_sampled));
  if (out.square)
    compare_mirrors(a, out);
  look_at_values(a.val, p.nnz, out);
  return out;
}

} // namespace

analysis analyse(any_matrix const& csr) {
  return with_natural(csr, [](auto const& a) { return analyse_csr(a); });
}

std::vector<format_bytes> bytes_by_format(any_matrix const& csr, bool exact) {
  std::uint64_t const index = is_wide(csr.type()) ? 8 : 4;
  std::uint64_t const value = is_complex(csr.type()) ? 16 : 8;
  std::vector<format_bytes> out;
  for (format const f : all_formats) {
    if (!is_built(f, csr.type())) {
      out.push_back({f, 0, "not built for this type"});
    } else if (f == csr.format()) {
      out.push_back({f, csr.bytes(), "conversion"});
    } else if (exact || csr.nnz() < convert_below) {
      try {
        out.push_back({f, convert(csr, f).bytes(), "conversion"});
      } catch (error const& e) { // a format may refuse a matrix that it would pad without measure
        out.push_back({f, 0, e.what()});
      }
    } else if (f == format::coo) {
      out.push_back({f, csr.nnz() * (value + 2 * index), "formula"});
    } else if (f == format::csc) {
      out.push_back({f, csr.nnz() * (value + index) + (csr.cols() + 1) * index, "formula"});
    } else {
      out.push_back({f, 0, "not converted; --exact does"});
    }
  }
  return out;
}

} // namespace tulle::app

// SPDX-License-Identifier: Apache-2.0

// A handful of passes over a canonical csr, each split by entries.
#include "apps/analysis.hpp"

#include "tulle/core/error.hpp"
#include "tulle/core/parallel.hpp"
#include "tulle/op/convert.hpp"

#include "apps/support/matrix.hpp"
#include "format/detail/without_empty.hpp"

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
// Rows and columns that a matrix may have without paying for them with entries.
constexpr std::uint64_t free_lines = std::uint64_t{1} << 19;
constexpr std::uint64_t lines_per_entry = 8;

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
    std::size_t const end = tulle::split_by_entries(row_ptr, rows, part + 1, parts);
    for (std::size_t i = tulle::split_by_entries(row_ptr, rows, part, parts); i < end; ++i)
      f(i, static_cast<std::size_t>(row_ptr[i]), static_cast<std::size_t>(row_ptr[i + 1]));
  }
};

// Counts in which each part keeps counters of its own, added up at the end. count(part, parts,
// counters).
template <class Count>
std::vector<std::uint64_t> count_in_parts(std::size_t counters, std::size_t entries, Count count) {
  int const parts = tulle::parts_for(entries, 0, std::max(grain, counters));
  std::vector<std::vector<std::uint64_t>> mine(static_cast<std::size_t>(parts));
  tulle::parallel(parts, [&](int part) {
    auto& c = mine[static_cast<std::size_t>(part)];
    c.resize(counters);
    count(part, parts, c.data());
  });
  for (std::size_t p = 1; p < mine.size(); ++p)
    for (std::size_t c = 0; c < counters; ++c)
      mine[0][c] += mine[p][c];
  return std::move(mine[0]);
}

// length(i) for i in [0, n), and 0 for the others of `all`. Lengths are counted up to a limit and
// the few longer ones sorted, so that every figure is exact without sorting them all.
template <class Length>
length_statistics describe_lengths(std::size_t n, std::uint64_t all, Length length) {
  constexpr std::size_t limit = std::size_t{1} << 16;
  length_statistics s;
  if (all == 0)
    return s;
  std::vector<std::uint64_t> shorter(limit);
  shorter[0] = all - n;
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
  auto const total = static_cast<double>(all);
  s.mean = sum / total;
  s.min = std::numeric_limits<std::uint64_t>::max();
  double ranked = 0; // sum of rank times length
  double squares = 0;
  std::uint64_t rank = 0;
  std::uint64_t const low = (all - 1) / 2; // the two in the middle
  std::uint64_t const high = all / 2;
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

// f(diagonal, entries) for each that holds any, from the lowest; 0 is the main one.
template <class I, class F>
void each_diagonal(pattern<I> const& p, subject const& from, F f) {
  if (!from.label.empty()) { // as many counters as there are diagonals would be too many
    std::vector<std::int64_t> all(p.nnz);
    p.rows_of(0, 1, [&](std::size_t i, std::size_t first, std::size_t last) {
      for (std::size_t k = first; k < last; ++k)
        all[k] =
            static_cast<std::int64_t>(from.at(static_cast<std::size_t>(p.col[k])) - from.at(i));
    });
    std::sort(all.begin(), all.end());
    for (auto first = all.begin(); first != all.end();) {
      auto const last = std::upper_bound(first, all.end(), *first);
      f(*first, static_cast<std::uint64_t>(last - first));
      first = last;
    }
    return;
  }
  auto const on = count_in_parts(p.rows + p.cols - 1, p.nnz, [&](int part, int parts, auto* count) {
    p.rows_of(part, parts, [&](std::size_t i, std::size_t first, std::size_t last) {
      for (std::size_t k = first; k < last; ++k)
        ++count[p.rows - 1 - i + static_cast<std::size_t>(p.col[k])];
    });
  });
  for (std::size_t d = 0; d < on.size(); ++d)
    if (on[d] != 0)
      f(static_cast<std::int64_t>(d) - static_cast<std::int64_t>(p.rows - 1), on[d]);
}

template <class I>
void count_diagonals(pattern<I> const& p, subject const& from, analysis& out) {
  if (p.nnz == 0)
    return;
  std::vector<std::uint64_t> used;
  each_diagonal(p, from, [&](std::int64_t d, std::uint64_t entries) {
    used.push_back(entries);
    if (d == 0)
      out.diagonal = entries;
    if (d < 0)
      out.lower_band = std::max(out.lower_band, static_cast<std::uint64_t>(-d));
    else
      out.upper_band = std::max(out.upper_band, static_cast<std::uint64_t>(d));
  });
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

double share_of_places(std::uint64_t entries, std::uint64_t blocks, int side) {
  return static_cast<double>(entries) / (static_cast<double>(blocks) * side * side);
}

// Aligned side x side blocks that hold an entry, of a matrix without its empty rows.
template <class I>
block_fill count_labelled_blocks(pattern<I> const& p, subject const& from, int side) {
  auto const b = static_cast<std::uint64_t>(side);
  std::vector<std::size_t> block(p.cols); // of a column, numbered without the empty ones
  for (std::size_t j = 1; j < p.cols; ++j)
    block[j] = block[j - 1] + (from.at(j) / b != from.at(j - 1) / b);
  std::vector<std::size_t> seen(p.cols); // the last row of blocks, from 1, that had this column
  std::uint64_t blocks = 0;
  std::size_t row = 1;
  p.rows_of(0, 1, [&](std::size_t i, std::size_t first, std::size_t last) {
    row += i != 0 && from.at(i) / b != from.at(i - 1) / b;
    for (std::size_t k = first; k < last; ++k) {
      auto& mark = seen[block[static_cast<std::size_t>(p.col[k])]];
      blocks += mark != row;
      mark = row;
    }
  });
  return {side, blocks, share_of_places(p.nnz, blocks, side)};
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
  int const parts = tulle::parts_for(std::min(p.nnz, block_sample), 0, std::max(grain, block_cols));
  std::vector<std::uint64_t> blocks(static_cast<std::size_t>(parts));
  std::vector<std::uint64_t> entries(static_cast<std::size_t>(parts));
  tulle::parallel(parts, [&](int part) {
    std::vector<std::size_t> seen(
        block_cols); // the last row of blocks, from 1, that had this column
    std::uint64_t found = 0;
    std::uint64_t held = 0;
    std::size_t const end = tulle::split(looked_at, part + 1, parts);
    for (std::size_t r = tulle::split(looked_at, part, parts); r < end; ++r) {
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
    out.fill = share_of_places(held, out.blocks, side);
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
  int const parts = tulle::parts_for(p.nnz, 0, grain);
  std::vector<mirror_counts> counts(static_cast<std::size_t>(parts));
  tulle::parallel(parts, [&](int part) {
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
  int const parts = tulle::parts_for(n, 0, grain);
  std::vector<found> each(static_cast<std::size_t>(parts));
  tulle::parallel(parts, [&](int part) {
    found f;
    std::size_t const end = tulle::split(n, part + 1, parts);
    for (std::size_t k = tulle::split(n, part, parts); k < end; ++k) {
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
analysis analyse_csr(csr_view<V, I, I> const& a, subject const& from) {
  pattern<I> const p(a);
  analysis out;
  out.rows = from.rows;
  out.cols = from.cols;
  out.nnz = p.nnz;
  out.type = type_of<V, I, I>::value;
  out.complex = !std::is_floating_point_v<V>;
  out.square = from.rows == from.cols;
  out.row = describe_lengths(p.rows, from.rows, [&](std::size_t i) {
    return static_cast<std::uint64_t>(p.row_ptr[i + 1] - p.row_ptr[i]);
  });
  auto const in_col = count_in_parts(p.cols, p.nnz, [&](int part, int parts, auto* count) {
    std::size_t const end = tulle::split(p.nnz, part + 1, parts);
    for (std::size_t k = tulle::split(p.nnz, part, parts); k < end; ++k)
      ++count[p.col[k]];
  });
  out.col = describe_lengths(p.cols, from.cols, [&](std::size_t j) { return in_col[j]; });
  count_diagonals(p, from, out);
  for (int const side : block_sides)
    if (p.nnz != 0)
      out.blocks.push_back(from.label.empty() ? count_blocks(p, side, out.blocks_sampled)
                                              : count_labelled_blocks(p, from, side));
  if (out.square)
    compare_mirrors(a, out);
  look_at_values(a.val, p.nnz, out);
  return out;
}

} // namespace

subject make_subject(any_matrix a) {
  subject out;
  out.rows = a.rows();
  out.cols = a.cols();
  bool const large = std::max(out.rows, out.cols) > free_lines + lines_per_entry * a.nnz();
  if (a.format() == format::csr) {
    out.csr = std::move(a); // generated, and in memory as it is
  } else if (!large) {
    out.csr = convert(a, format::csr);
  } else {
    visit(a.type(), [&](auto types) {
      using T = decltype(types);
      using V = typename T::value;
      using I = typename T::index;
      using O = typename T::offset;
      array<I> label;
      auto const& view = *static_cast<coo_view<V, I, O> const*>(a.ref().view);
      out.csr = detail::without_empty(view, label, cpu()).to_csr();
      for (I const i : label)
        out.label.push_back(static_cast<std::uint64_t>(i));
    });
    if (out.label.empty()) // what holds nothing has labels too
      out.label.push_back(0);
  }
  return out;
}

analysis analyse(subject const& a) {
  return with_natural(a.csr, [&](auto const& view) { return analyse_csr(view, a); });
}

namespace {

// Of entries and pointers, where it fits 64 bits.
format_bytes formula(format f, std::uint64_t entries, std::uint64_t each, std::uint64_t pointers,
                     std::uint64_t pointer) {
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(pointers, pointer, &bytes) ||
      __builtin_add_overflow(bytes, entries * each, &bytes))
    return {f, 0, "more bytes than fit 64 bits"};
  return {f, bytes, "formula"};
}

} // namespace

std::vector<format_bytes> bytes_by_format(subject const& a, bool exact) {
  any_matrix const& csr = a.csr;
  bool const whole = a.label.empty();
  std::uint64_t const index = is_wide(csr.type()) ? 8 : 4;
  std::uint64_t const value = is_complex(csr.type()) ? 16 : 8;
  std::vector<format_bytes> out;
  for (format const f : all_formats) {
    if (!is_built(f, csr.type())) {
      out.push_back({f, 0, "not built for this type"});
    } else if (whole && f == csr.format()) {
      out.push_back({f, csr.bytes(), "conversion"});
    } else if (whole && (exact || csr.nnz() < convert_below)) {
      try {
        out.push_back({f, convert(csr, f).bytes(), "conversion"});
      } catch (error const& e) { // a format may refuse a matrix that it would pad without measure
        out.push_back({f, 0, e.what()});
      }
    } else if (f == format::coo) {
      out.push_back(formula(f, csr.nnz(), value + 2 * index, 0, 0));
    } else if (f == format::csc) {
      out.push_back(formula(f, csr.nnz(), value + index, a.cols + 1, index));
    } else if (f == format::csr) {
      out.push_back(formula(f, csr.nnz(), value + index, a.rows + 1, index));
    } else {
      out.push_back({f, 0,
                     whole ? "not converted; --exact does"
                           : "not converted: far more rows or columns than entries"});
    }
  }
  return out;
}

} // namespace tulle::app

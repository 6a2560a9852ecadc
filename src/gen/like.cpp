// SPDX-License-Identifier: Apache-2.0
//
// Stand-ins for the matrices of the literature: their row lengths first, then columns for each row
// by itself.
//
// Lengths are log-normal with the model's spread, scaled until they add up, cut to [min, max], and
// the remainder is dealt out evenly. One row is the longest and one the shortest; a circuit has a
// few more long ones.
#include "gen/like.hpp"

#include "gen/draw.hpp"
#include "gen/source.hpp"

#include <algorithm>
#include <vector>

namespace tulle::gen {
namespace {

struct fixed_row {
  std::size_t row;
  std::uint32_t length;
};

/// The rows whose length is given: the longest, the shortest, and a quarter, a sixteenth ... of the
/// longest in circuits.
std::vector<fixed_row> fixed_rows(model const& m, std::uint64_t key) {
  constexpr std::uint64_t share =
      5; // the additional long rows hold at most a fifth of what is not yet given out
  std::vector<fixed_row> f;
  auto const add = [&](std::uint32_t length) {
    std::size_t i = below(hash(key, f.size(), length), m.rows);
    while (std::any_of(f.begin(), f.end(), [i](fixed_row const& r) { return r.row == i; }))
      i = i + 1 == m.rows ? 0 : i + 1;
    f.push_back({i, length});
  };
  add(m.max);
  if (m.rows > 1)
    add(m.min);
  if (m.structure == structure::circuit) {
    std::uint64_t const least = static_cast<std::uint64_t>(m.rows) * m.min + m.max;
    std::uint64_t room = m.nnz > least ? (m.nnz - least) / share : 0;
    for (std::uint32_t length = m.max / 4; length > 100 * m.min + 100; length /= 4)
      if (length <= room) {
        add(length);
        room -= length;
      }
  }
  return f;
}

/// A row's length before cutting, in units of the scale. The rows of a block share theirs.
struct weights {
  std::uint64_t key;
  std::size_t block;
  double sigma; ///< of the logarithm, such that standard deviation / mean is the spread

  weights(model const& m, std::uint64_t key)
      : key(key), block(m.block),
        sigma(std::sqrt(std::log1p(static_cast<double>(m.spread) * m.spread))) {}
  double operator()(std::size_t i) const {
    return sigma == 0 ? 1 : std::exp(sigma * normal(key, i / block));
  }
};

std::uint32_t cut(model const& m, double length) {
  double const unit = m.block;
  double const n = std::floor(length / unit + .5) * unit;
  return n <= m.min ? m.min : n >= m.max ? m.max : static_cast<std::uint32_t>(n);
}

/// The scale that makes the cut lengths come nearest to `mean`, told from a sample of the rows.
double find_scale(model const& m, weights const& weight, double mean) {
  constexpr std::size_t most = 1 << 14;
  std::size_t const step = m.rows / most + 1;
  std::vector<double> sample;
  for (std::size_t i = 0; i < m.rows; i += step)
    sample.push_back(weight(i));
  double low = 0;
  double high = 4.0 * m.max + 4;
  for (int round = 0; round < 50; ++round) {
    double const middle = (low + high) / 2;
    double sum = 0;
    for (double const w : sample)
      sum += cut(m, middle * w);
    (sum < mean * static_cast<double>(sample.size()) ? low : high) = middle;
  }
  return high;
}

/// Adds `missing` (or takes -missing away) in steps of `unit`, over groups of `group` rows, evenly
/// over all that can change. Returns what is left.
std::int64_t deal(model const& m, array<std::uint32_t>& length, std::vector<bool> const& fixed,
                  std::int64_t missing, std::uint32_t unit, std::size_t group) {
  auto const cost = static_cast<std::int64_t>(unit * group);
  bool const more = missing > 0;
  auto const can_change = [&](std::size_t first) {
    if (first + group > m.rows)
      return false;
    for (std::size_t i = first; i < first + group; ++i)
      if (fixed[i] || (more ? length[i] + unit > m.max : length[i] < m.min + unit))
        return false;
    return true;
  };
  for (;;) {
    std::int64_t const wanted = (more ? missing : -missing) / cost;
    if (wanted == 0)
      return missing;
    std::int64_t able = 0;
    for (std::size_t i = 0; i < m.rows; i += group)
      able += can_change(i);
    if (able == 0)
      return missing;
    std::int64_t const now = std::min(wanted, able);
    std::int64_t sum = able / 2;
    for (std::size_t first = 0; first < m.rows; first += group) {
      if (!can_change(first))
        continue;
      sum += now;
      if (sum < able)
        continue;
      sum -= able;
      for (std::size_t i = first; i < first + group; ++i)
        length[i] = more ? length[i] + unit : length[i] - unit;
    }
    missing += more ? -now * cost : now * cost;
  }
}

} // namespace

array<std::uint32_t> row_lengths(model const& m, std::uint64_t seed, cpu const& where) {
  std::uint64_t const key = mix(mix(seed) + m.nnz);
  array<std::uint32_t> length(m.rows, where.memory);
  weights const weight(m, key);
  auto const given = fixed_rows(m, key);
  std::vector<bool> fixed(m.rows);
  auto missing = static_cast<std::int64_t>(m.nnz);
  for (fixed_row const& f : given) {
    fixed[f.row] = true;
    missing -= f.length;
  }
  std::size_t const others = m.rows - given.size();
  double const scale =
      others == 0
          ? 0
          : find_scale(m, weight, static_cast<double>(missing) / static_cast<double>(others));
  int const parts = parts_for(m.rows, where.threads);
  parallel(parts, [&](int part) {
    for (std::size_t i = split(m.rows, part, parts), end = split(m.rows, part + 1, parts); i < end;
         ++i)
      length[i] = cut(m, scale * weight(i));
  });
  for (std::size_t i = 0; i < m.rows; ++i)
    missing -= fixed[i] ? 0 : length[i];
  for (fixed_row const& f : given)
    length[f.row] = f.length;
  if (m.block > 1)
    missing = deal(m, length, fixed, missing, m.block, m.block);
  missing = deal(m, length, fixed, missing, 1, 1);
  if (missing != 0)
    fail(errc::bad_structure, "gen:like:%s: its table entry cannot be met", m.name);
  return length;
}

namespace {

// All sizes of a model fit 32 bits, so that products of two fit 64.
class like_source final : public source {
public:
  like_source(model const& m, std::uint64_t seed, cpu const& where)
      : model_(m), key_(mix(mix(seed) + m.nnz + 1)), lengths_(row_lengths(m, seed, where)),
        popular_(m.cols, key_) {
    rows = m.rows;
    cols = m.cols;
    if (m.structure == structure::stencil)
      make_offsets();
  }

  std::size_t length(std::size_t i, std::int64_t*) const override { return lengths_[i]; }

  std::size_t row(std::size_t i, std::int64_t* out) const override {
    std::size_t const n = lengths_[i];
    stream draws(key_, i / model_.block); // one for all rows of a block, so that blocks are full
    auto const anywhere = [&] { return draws.below(cols); };
    switch (model_.structure) {
    case structure::dense:
    case structure::uniform:
      draw_distinct(out, 0, n, cols, draws, anywhere);
      break;
    case structure::stencil:
      on_diagonals(i, out, n);
      break;
    case structure::blocks:
      in_blocks(i, out, n, draws);
      break;
    case structure::web: { // seven tenths in runs of 4 near the diagonal
      std::size_t const near = n * 7 / 10;
      in_window(i, out, near, 8 * near + 64, 4, draws);
      draw_distinct(out, near, n, cols, draws, [&] {
        double const u = draws.unit();
        return popular_(column(u * u * u)); // the most popular of a million columns takes 1 %
      });
      break;
    }
    case structure::social:
      draw_distinct(out, 0, n, cols, draws, [&] {
        double const u = draws.unit();
        return popular_(column(u * u));
      });
      break;
    case structure::circuit: {
      std::size_t const near = (n + 1) / 2;
      in_window(i, out, near, 16 * near + 1000, 1, draws);
      draw_distinct(out, near, n, cols, draws, [&] {
        return draws.below(10) < 3
                   ? popular_(draws.below(std::min<std::size_t>(common_columns, cols)))
                   : draws.below(cols);
      });
      break;
    }
    }
    return n;
  }

private:
  static constexpr std::size_t common_columns = 4; // columns that everyone uses in a circuit

  std::uint64_t column(double u) const {
    return static_cast<std::uint64_t>(u * static_cast<double>(cols));
  }
  // The column that is to row i as the diagonal is in a square matrix.
  std::size_t middle(std::size_t i) const { return rows == cols ? i : i * cols / rows; }

  // n columns in runs of `run` within a window of about `width` around the diagonal; sorted.
  void in_window(std::size_t i, std::int64_t* out, std::size_t n, std::size_t width,
                 std::size_t run, stream& draws) const {
    place_runs(out, n, cols, middle(i), width, run, draws);
  }

  // n of `places` places, runs of `run` one in each equal part of a window around `centre`, which
  // one of them covers.
  static void place_runs(std::int64_t* out, std::size_t n, std::size_t places, std::size_t centre,
                         std::size_t width, std::size_t run, stream& draws) {
    if (n == 0)
      return;
    std::size_t runs = (n + run - 1) / run;
    if (runs * run > places) {
      run = 1;
      runs = n;
    }
    width = std::min(places, std::max(width, runs * run));
    std::size_t begin = centre > width / 2 ? centre - width / 2 : 0;
    begin = std::min(begin, places - width);
    std::size_t done = 0;
    for (std::size_t k = 0; k < runs; ++k) {
      std::size_t const from = begin + width * k / runs;
      std::size_t const to = begin + width * (k + 1) / runs;
      std::size_t const length = std::min(run, n - done);
      std::size_t const last = to - length; // where a run can begin at the latest
      std::size_t at = from + draws.below(last - from + 1);
      if (centre >= from && centre < to)
        at = std::clamp(at, std::max(from, centre + 1 - std::min(length, centre + 1)),
                        std::min(centre, last));
      for (std::size_t e = 0; e < length; ++e)
        out[done++] = static_cast<std::int64_t>(at + e);
    }
  }

  // Runs of 3 blocks, as neighbours in a mesh have neighbouring numbers.
  void in_blocks(std::size_t i, std::int64_t* out, std::size_t n, stream& draws) const {
    std::size_t const block = model_.block;
    std::size_t const wanted = (n + block - 1) / block;
    std::size_t const places = cols / block; // a narrower block at the right edge stays empty
    if (wanted > places || wanted == 0)
      return draw_distinct(out, 0, n, cols, draws, [&] { return draws.below(cols); });
    auto const reach = static_cast<std::size_t>(
        std::cbrt(static_cast<double>(places) * static_cast<double>(places)));
    place_runs(out, wanted, places, std::min(middle(i) / block, places - 1),
               std::max(4 * wanted, 2 * reach), 3, draws);
    for (std::size_t k = wanted;
         k-- > 0;) // from the back: a block's columns take the room of later blocks
      for (std::size_t e = std::min(block, n - k * block); e-- > 0;)
        out[k * block + e] =
            out[k] * static_cast<std::int64_t>(block) + static_cast<std::int64_t>(e);
  }

  // Offsets from the diagonal, the likeliest first: a grid's point, its neighbours, those across
  // corners, then further out.
  void make_offsets() {
    auto const side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(rows)));
    auto const add = [&](std::int64_t d) {
      if (std::find(offsets_.begin(), offsets_.end(), d) == offsets_.end())
        offsets_.push_back(d);
    };
    add(0);
    for (std::int64_t const d :
         {std::int64_t(1), side, side + 1, side - 1, std::int64_t(2), 2 * side})
      for (std::int64_t const sign : {-1, 1})
        add(sign * d);
    for (std::int64_t d = 1; d <= 2 * static_cast<std::int64_t>(model_.max);
         ++d) // what the edges of the matrix need
      for (std::int64_t const sign : {-1, 1})
        add(sign * d);
  }
  void on_diagonals(std::size_t i, std::int64_t* out, std::size_t n) const {
    std::size_t done = 0;
    for (std::int64_t const d : offsets_) {
      if (done == n)
        break;
      std::int64_t const j = static_cast<std::int64_t>(middle(i)) + d;
      if (j >= 0 && j < static_cast<std::int64_t>(cols))
        out[done++] = j;
    }
    TULLE_ASSERT(done == n);
    std::sort(out, out + n);
  }

  model const& model_;
  std::uint64_t key_;
  array<std::uint32_t> lengths_;
  shuffle popular_;
  std::vector<std::int64_t> offsets_;
};

} // namespace

source_ptr make_like(recipe const& r, limits const& most, cpu const& where) {
  if (r.number[0] >= models().size())
    fail(errc::unsupported, "gen:like: there is no model %llu; make the recipe by its name",
         static_cast<unsigned long long>(r.number[0]));
  model const& m = models()[r.number[0]];
  check_sizes(r, most, m.rows, m.cols, m.nnz);
  return std::make_unique<like_source>(m, r.seed, where);
}

} // namespace tulle::gen

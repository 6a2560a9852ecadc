// SPDX-License-Identifier: Apache-2.0
//
// Matrices whose rows are drawn one by one: circuit, lp.
#include "gen/draw.hpp"
#include "gen/source.hpp"

#include <algorithm>

namespace tulle::gen {
namespace {

// A node is joined to 1 to 7 others, mostly near ones: distances up to 1000, each decade as likely
// as the next. The rails (ground, supply, clock) are joined to each node with probability 1/3, in
// row and column.
class circuit_source final : public source {
public:
  circuit_source(std::size_t n, std::uint64_t seed) : key_(mix(seed)), rail_key_(mix(key_ + 1)) {
    rows = cols = n;
    rails_ = std::min<std::size_t>(rails, n);
    room = std::max(n, 1 + max_drawn + rails);
  }

  std::size_t row(std::size_t i, std::int64_t* out) const override {
    std::int64_t* const first = out;
    for (std::size_t q = 0; q < rails_; ++q)
      if (i == rail(q)) {
        for (std::size_t j = 0; j < cols; ++j)
          if (j == i || joined(2 * q, j))
            *out++ = static_cast<std::int64_t>(j);
        return static_cast<std::size_t>(out - first);
      }
    stream draws(key_, i);
    *out++ = static_cast<std::int64_t>(i);
    for (std::size_t k = 1 + draws.below(max_drawn); k > 0; --k)
      *out++ = static_cast<std::int64_t>(other(i, draws));
    for (std::size_t q = 0; q < rails_; ++q)
      if (joined(2 * q + 1, i))
        *out++ = static_cast<std::int64_t>(rail(q));
    std::sort(first, out);
    return static_cast<std::size_t>(std::unique(first, out) - first);
  }

private:
  static constexpr std::size_t rails = 3;
  static constexpr std::size_t max_drawn = 7;

  std::size_t rail(std::size_t q) const { return (q + 1) * (rows / (rails + 1)); }
  bool joined(std::size_t line, std::size_t i) const {
    return hash(rail_key_, line, i) < UINT64_MAX / 3;
  }
  std::size_t other(std::size_t i, stream& draws) const {
    if (draws.below(10) < 8) {
      auto const distance = static_cast<std::size_t>(1 + std::pow(10.0, 3 * draws.unit()));
      bool const back = draws.below(2) == 0;
      if (back && distance <= i)
        return i - distance;
      if (!back && distance < rows - i)
        return i + distance;
    }
    return draws.below(rows);
  }

  std::uint64_t key_;
  std::uint64_t rail_key_;
  std::size_t rails_;
};

class lp_source final : public source {
public:
  lp_source(std::size_t height, std::size_t width, std::size_t average, std::uint64_t seed)
      : average_(average), key_(mix(seed)) {
    rows = height;
    cols = width;
  }
  std::size_t length(std::size_t i, std::int64_t*) const override {
    constexpr double sigma = .8; // rail4284 has 1.1
    if (average_ == 0)
      return 0;
    double const n =
        static_cast<double>(average_) * std::exp(sigma * normal(key_, i) - sigma * sigma / 2);
    return std::clamp<std::size_t>(static_cast<std::size_t>(std::min(n + .5, 0x1p62)), 1, cols);
  }
  std::size_t row(std::size_t i, std::int64_t* out) const override {
    std::size_t const n = length(i, nullptr);
    stream draws(key_, i);
    draw_distinct(out, 0, n, cols, draws, [&] { return draws.below(cols); });
    return n;
  }

private:
  std::size_t average_;
  std::uint64_t key_;
};

} // namespace

source_ptr make_irregular(recipe const& r, limits const& most) {
  std::uint64_t const rows = r.number[0];
  if (r.family == family::circuit) {
    check_sizes(r, most, rows, rows, 7 * static_cast<wide>(rows));
    return std::make_unique<circuit_source>(rows, r.seed);
  }
  std::uint64_t const cols = r.number[1];
  std::uint64_t const average = r.number[2];
  check_sizes(r, most, rows, cols, product(rows, average));
  if (average > cols)
    fail(errc::bad_structure, "%s: %llu entries per row, but %llu columns", text(r).c_str(),
         static_cast<unsigned long long>(average), static_cast<unsigned long long>(cols));
  return std::make_unique<lp_source>(rows, cols, average, r.seed);
}

} // namespace tulle::gen

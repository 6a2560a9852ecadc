// SPDX-License-Identifier: Apache-2.0
//
// Matrices whose rows follow from a formula: lattice, banded, permutation, dense.
#include "gen/source.hpp"

#include <algorithm>

namespace tulle::gen {
namespace {

class lattice_source final : public source {
public:
  explicit lattice_source(sides s) : height_(s.first), width_(s.second) {
    rows = cols = height_ * width_;
    values = gen::values::symmetric;
  }
  std::size_t length(std::size_t, std::int64_t*) const override { return 4; }
  std::size_t row(std::size_t i, std::int64_t* out) const override {
    std::size_t const x = i % width_;
    std::size_t const line = i - x;
    out[0] = static_cast<std::int64_t>(i >= width_ ? i - width_ : i + rows - width_);
    out[1] = static_cast<std::int64_t>(x > 0 ? i - 1 : line + width_ - 1);
    out[2] = static_cast<std::int64_t>(x + 1 < width_ ? i + 1 : line);
    out[3] = static_cast<std::int64_t>(i + width_ < rows ? i + width_ : x);
    std::sort(out, out + 4);
    return 4;
  }

private:
  std::size_t height_;
  std::size_t width_;
};

class banded_source final : public source {
public:
  banded_source(std::size_t n, std::size_t halfwidth) : halfwidth_(halfwidth) {
    rows = cols = n;
    values = gen::values::symmetric;
  }
  std::size_t length(std::size_t i, std::int64_t*) const override { return end(i) - begin(i); }
  std::size_t row(std::size_t i, std::int64_t* out) const override {
    for (std::size_t j = begin(i); j < end(i); ++j)
      *out++ = static_cast<std::int64_t>(j);
    return end(i) - begin(i);
  }

private:
  std::size_t begin(std::size_t i) const { return i > halfwidth_ ? i - halfwidth_ : 0; }
  std::size_t end(std::size_t i) const { return std::min(cols, i + halfwidth_ + 1); }

  std::size_t halfwidth_;
};

class permutation_source final : public source {
public:
  permutation_source(std::size_t n, std::uint64_t seed) : shuffle_(n, seed) {
    rows = cols = n;
    values = gen::values::ones;
  }
  std::size_t length(std::size_t, std::int64_t*) const override { return 1; }
  std::size_t row(std::size_t i, std::int64_t* out) const override {
    *out = static_cast<std::int64_t>(shuffle_(i));
    return 1;
  }

private:
  shuffle shuffle_;
};

class dense_source final : public source {
public:
  dense_source(std::size_t height, std::size_t width) {
    rows = height;
    cols = width;
  }
  std::size_t length(std::size_t, std::int64_t*) const override { return cols; }
  std::size_t row(std::size_t, std::int64_t* out) const override {
    for (std::size_t j = 0; j < cols; ++j)
      out[j] = static_cast<std::int64_t>(j);
    return cols;
  }
};

} // namespace

sides lattice_sides(std::uint64_t rows) {
  constexpr std::uint64_t tried =
      4096; // of the sides below the root: enough to come within 1 up to 10^8 rows
  if (rows == 0)
    return {0, 0};
  if (rows <= 9)
    return {3, 3}; // on a shorter side, two of the neighbours would be the same point
  auto root = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(rows)));
  auto const apart = [rows](std::uint64_t side, std::uint64_t other) {
    std::uint64_t const n = side * other;
    return n > rows ? n - rows : rows - n;
  };
  std::uint64_t const lowest = std::max<std::uint64_t>(3, root - std::min(root / 4, tried));
  sides best{root, std::max<std::uint64_t>(3, (rows + root / 2) / root)};
  for (std::uint64_t side = root; side >= lowest && apart(best.first, best.second) != 0; --side) {
    std::uint64_t const other = (rows + side / 2) / side;
    if (apart(side, other) < apart(best.first, best.second))
      best = {side, other};
  }
  return best;
}

source_ptr make_regular(recipe const& r, limits const& most) {
  std::uint64_t const n = r.number[0];
  switch (r.family) {
  case family::lattice: {
    check_sizes(r, most, n, n, 4 * static_cast<wide>(n));
    sides const s = lattice_sides(n);
    wide const rows = static_cast<wide>(s.first) * s.second;
    check_sizes(r, most, rows, rows, 4 * rows);
    return std::make_unique<lattice_source>(s);
  }
  case family::banded: {
    check_sizes(r, most, n, n, n);
    wide const w = n == 0 ? 0 : std::min(r.number[1], n - 1);
    check_sizes(r, most, n, n, n * (2 * w + 1) - w * (w + 1));
    return std::make_unique<banded_source>(n, static_cast<std::size_t>(w));
  }
  case family::permutation:
    check_sizes(r, most, n, n, n);
    return std::make_unique<permutation_source>(n, mix(r.seed));
  default:
    check_sizes(r, most, n, r.number[1], product(n, r.number[1]));
    return std::make_unique<dense_source>(n, r.number[1]);
  }
}

} // namespace tulle::gen

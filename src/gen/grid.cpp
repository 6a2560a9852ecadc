// SPDX-License-Identifier: Apache-2.0
//
// Grids of n points a side in two or three dimensions, in natural order: x runs fastest. A star
// couples a point with its neighbours along the axes, a box with those across corners too. Outside
// the grid is zero (Dirichlet).
#include "gen/source.hpp"

namespace tulle::gen {
namespace {

class grid final : public source {
public:
  grid(std::size_t n, bool solid, bool box) : n_(n), depth_(solid ? n : 1), box_(box) {
    rows = cols = n * n * depth_;
    diagonal = solid ? (box ? 26 : 6) : (box ? 8 : 4);
    values = gen::values::stencil;
  }

  std::size_t length(std::size_t i, std::int64_t*) const override {
    std::size_t const x = reach(i % n_, n_);
    std::size_t const y = reach(i / n_ % n_, n_);
    std::size_t const z = reach(i / n_ / n_, depth_);
    return box_ ? x * y * z : x + y + z - 2;
  }

  std::size_t row(std::size_t i, std::int64_t* out) const override {
    std::size_t const x = i % n_;
    std::size_t const y = i / n_ % n_;
    std::size_t const z = i / n_ / n_;
    auto const stride = static_cast<std::int64_t>(n_);
    auto const at = static_cast<std::int64_t>(i);
    int const left = x > 0 ? -1 : 0;
    int const right = x + 1 < n_ ? 1 : 0;
    std::int64_t* const first = out;
    for (int dz = z > 0 ? -1 : 0; dz <= (z + 1 < depth_ ? 1 : 0); ++dz)
      for (int dy = y > 0 ? -1 : 0; dy <= (y + 1 < n_ ? 1 : 0); ++dy) {
        if (!box_ && dz != 0 && dy != 0)
          continue;
        bool const wide = box_ || (dz == 0 && dy == 0);
        std::int64_t const line = at + (dz * stride + dy) * stride;
        for (int dx = wide ? left : 0; dx <= (wide ? right : 0); ++dx)
          *out++ = line + dx;
      }
    return static_cast<std::size_t>(out - first);
  }

private:
  // Points within one step of x on a line of n.
  static std::size_t reach(std::size_t x, std::size_t n) {
    return 1 + static_cast<std::size_t>(x > 0) + static_cast<std::size_t>(x + 1 < n);
  }

  std::size_t n_;
  std::size_t depth_;
  bool box_;
};

} // namespace

source_ptr make_grid(recipe const& r, limits const& most) {
  using enum family;
  bool const box = r.family == poisson2d9 || r.family == poisson3d27 || r.family == diffusion2d9 ||
                   r.family == diffusion3d27;
  bool const solid = r.family == poisson3d7 || r.family == poisson3d27 ||
                     r.family == diffusion3d7 || r.family == diffusion3d27;
  wide const n = r.number[0];
  wide const area = product(n, n);
  wide const points = solid ? product(area, n) : area;
  wide const face = solid ? area : n; // points on one side of the grid
  wide const line = n == 0 ? 0 : 3 * n - 2;
  wide const square = product(line, line);
  wide const entries = box     ? (solid ? product(square, line) : square)
                       : solid ? product(points, 7) - 6 * face
                               : product(points, 5) - 4 * face;
  check_sizes(r, most, points, points, entries);
  return std::make_unique<grid>(r.number[0], solid, box);
}

} // namespace tulle::gen

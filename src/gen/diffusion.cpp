// SPDX-License-Identifier: Apache-2.0
//
// -div(k grad u) on a grid of n points a side, in natural order as in grid.cpp, zero outside
// (Dirichlet). The coefficient k is constant in each cell and differs from cell to cell.
//
//   5 and 7 points    finite volumes, one point per cell: neighbours couple by the harmonic mean of
//                     their k, a cell on the boundary with the outside by its own k.
//   9 and 27 points   one point per corner of cells: each cell adds k w (u_p - u_q)^2 to the energy
//                     for every pair of its corners. w = 1 / 2^(axes along which p and q agree), so
//                     a linear u has the same energy per cell as with exact integration, up to a
//                     common factor. In two dimensions these are bilinear finite elements.
//
// With k = 1 all four are poisson's. Every coupling is positive, both rows of a pair compute it
// from the same numbers in the same order, and the diagonal is the sum of a row's couplings,
// rounded up: symmetric, diagonally dominant, strictly at the boundary, so positive definite.
#include "gen/source.hpp"

#include <array>
#include <bit>
#include <utility>

namespace tulle::gen {
namespace {

constexpr std::size_t patch = 16;  // cells between random values; also the side of a jump's block
constexpr double most_jumps = 1e9; // float has room for it

using place = std::array<std::size_t, 3>; // x, y, z

/// k of each cell: (0.4 + 1.6 s)^2, where s in (0, 1) is four parts of interpolated noise, which is
/// smooth, and one part of the cell's own. In half of the blocks it is `jumps` times as large.
class coefficient {
public:
  coefficient(std::uint64_t seed, double jumps, std::size_t dimensions)
      : smooth_(mix(seed + 1)), rough_(mix(seed + 2)), block_(mix(seed + 3)),
        jumps_(jumps == 0 ? 1 : jumps), dimensions_(dimensions) {}

  // One copy of it: two that the compiler contracts differently would give a pair different values.
  [[gnu::noinline]] double operator()(place const& cell) const {
    double const s = .8 * smooth(cell) + .2 * unit(hash_of(rough_, cell));
    double const root = .4 + 1.6 * s;
    place const block{cell[0] / patch, cell[1] / patch, cell[2] / patch};
    return root * root * (hash_of(block_, block) % 2 == 0 ? 1 : jumps_);
  }

private:
  static std::uint64_t hash_of(std::uint64_t key, place const& p) {
    return hash(hash(key, p[2]), p[0], p[1]);
  }
  /// Linear along each axis between random values at the corners of a patch.
  double smooth(place const& cell) const {
    double sum = 0;
    for (unsigned corner = 0; corner < 1u << dimensions_; ++corner) {
      double weight = 1;
      place at{};
      for (std::size_t d = 0; d < dimensions_; ++d) {
        double const far = (static_cast<double>(cell[d] % patch) + .5) / patch;
        std::size_t const next = corner >> d & 1;
        at[d] = cell[d] / patch + next;
        weight *= next == 1 ? far : 1 - far;
      }
      sum += weight * unit(hash_of(smooth_, at));
    }
    return sum;
  }

  std::uint64_t smooth_, rough_, block_;
  double jumps_;
  std::size_t dimensions_;
};

class diffusion final : public source {
public:
  diffusion(source_ptr grid, std::size_t n, bool solid, bool box, coefficient const& k)
      : grid_(std::move(grid)), n_(n), dimensions_(solid ? 3 : 2), box_(box), k_(k) {
    rows = grid_->rows;
    cols = grid_->cols;
    values = gen::values::couplings;
  }
  std::size_t length(std::size_t i, std::int64_t* scratch) const override {
    return grid_->length(i, scratch);
  }
  std::size_t row(std::size_t i, std::int64_t* out) const override { return grid_->row(i, out); }

  void couplings(std::size_t i, double* out) const override {
    place const at{i % n_, i / n_ % n_, i / n_ / n_};
    box_ ? of_corner(at, out) : of_cell(at, out);
  }

private:
  /// Point and cell are one: z - 1, y - 1, x - 1, itself, x + 1, y + 1, z + 1.
  void of_cell(place const& at, double* out) const {
    double const here = k_(at);
    double outside = 0;
    auto const couple = [&](std::size_t d, bool is_inside, std::size_t to) {
      if (!is_inside) {
        outside += here;
        return;
      }
      place other = at;
      other[d] = to;
      double const there = k_(other);
      *out++ = 2 * (here * there) / (here + there);
    };
    for (std::size_t d = dimensions_; d-- > 0;)
      couple(d, at[d] > 0, at[d] - 1);
    double& diagonal = *out++;
    for (std::size_t d = 0; d < dimensions_; ++d)
      couple(d, at[d] + 1 < n_, at[d] + 1);
    diagonal = outside;
  }

  /// Along each axis cell c lies between points c - 1 and c: the point's cells are at and at + 1.
  void of_corner(place const& at, double* out) const {
    std::size_t const depth = dimensions_ == 3 ? 2 : 1;
    double k[2][2][2];
    for (std::size_t z = 0; z < depth; ++z)
      for (std::size_t y = 0; y < 2; ++y)
        for (std::size_t x = 0; x < 2; ++x)
          k[z][y][x] = k_({at[0] + x, at[1] + y, at[2] + z});
    double outside = 0;
    double* diagonal = nullptr;
    for (int dz = depth == 2 ? -1 : 0; dz <= (depth == 2 ? 1 : 0); ++dz)
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
          if (dx == 0 && dy == 0 && dz == 0) {
            diagonal = out++;
            continue;
          }
          // Of the cells that have both points, in the order of their numbers.
          double sum = 0;
          for (std::size_t z = dz > 0; z < (dz < 0 ? 1 : depth); ++z)
            for (std::size_t y = dy > 0; y < (dy < 0 ? 1 : 2); ++y)
              for (std::size_t x = dx > 0; x < (dx < 0 ? 1 : 2); ++x)
                sum += k[z][y][x];
          double const weight =
              (dx == 0 ? .5 : 1) * (dy == 0 ? .5 : 1) * (dz == 0 && depth == 2 ? .5 : 1);
          if (is_inside(at[0], dx) && is_inside(at[1], dy) && is_inside(at[2], dz))
            *out++ = weight * sum;
          else
            outside += weight * sum;
        }
    *diagonal = outside;
  }
  bool is_inside(std::size_t at, int step) const {
    return step == 0 || (step < 0 ? at > 0 : at + 1 < n_);
  }

  source_ptr grid_;
  std::size_t n_;
  std::size_t dimensions_;
  bool box_;
  coefficient k_;
};

} // namespace

source_ptr make_diffusion(recipe const& r, limits const& most) {
  auto const jumps = std::bit_cast<double>(r.number[1]);
  if (jumps != 0 && !(jumps >= 1 && jumps <= most_jumps))
    fail(errc::unsupported, "%s: jumps is %g, expected 1 to %g", text(r).c_str(), jumps,
         most_jumps);
  bool const solid = r.family == family::diffusion3d7 || r.family == family::diffusion3d27;
  bool const box = r.family == family::diffusion2d9 || r.family == family::diffusion3d27;
  return std::make_unique<diffusion>(make_grid(r, most), r.number[0], solid, box,
                                     coefficient(r.seed, jumps, solid ? 3 : 2));
}

} // namespace tulle::gen

// SPDX-License-Identifier: Apache-2.0

/// What a generator is inside: a matrix that can say any of its rows. Only the copy of rows into
/// the result knows the types V, I and O, so that a generator is compiled once.
#pragma once
#include "tulle/gen/generate.hpp"

#include "gen/hash.hpp"

#include <memory>

namespace tulle::gen {

enum class values : std::uint8_t {
  random,
  symmetric, ///< random, the same at (i, j) and (j, i)
  stencil,   ///< `diagonal` on the diagonal, -1 elsewhere
  couplings, ///< those that couplings() says, negative; on the diagonal the sum of the row's
  ones,
};

class source {
public:
  virtual ~source() = default;
  /// Writes the columns of row i, ascending, and returns how many. out has room for them, and for
  /// `room`.
  virtual std::size_t row(std::size_t i, std::int64_t* out) const = 0;
  /// How many row() will return; scratch has room for `room`.
  virtual std::size_t length(std::size_t i, std::int64_t* scratch) const { return row(i, scratch); }
  /// Of values::couplings: one for each entry of row i, in its order, all positive; for the
  /// diagonal the coupling with the outside, which may be 0. At most most_couplings.
  virtual void couplings(std::size_t, double*) const {}
  static constexpr std::size_t most_couplings = 27;

  std::size_t rows = 0;
  std::size_t cols = 0;
  std::size_t room = 0; ///< what row() needs beyond its result, where it draws more than it keeps
  gen::values values = values::random;
  double diagonal = 0;

protected:
  source() = default;
  source(source const&) = default;
};

using source_ptr = std::unique_ptr<source>;

/// The largest index and offset that the result can hold.
struct limits {
  std::uint64_t index;
  std::uint64_t offset;
};

/// a * b, or something too large for any matrix.
constexpr wide product(wide a, wide b) {
  constexpr wide huge = static_cast<wide>(1) << 126;
  return a != 0 && b > huge / a ? huge : a * b;
}

/// errc::overflow where the sizes do not fit. Called before anything is allocated.
void check_sizes(recipe const& r, limits const& most, wide rows, wide cols, wide entries);

source_ptr make_grid(recipe const& r, limits const& most);      // poisson*, pattern of diffusion*
source_ptr make_diffusion(recipe const& r, limits const& most); // diffusion*
source_ptr make_regular(recipe const& r, limits const& most); // lattice, banded, permutation, dense
source_ptr make_graph(recipe const& r, limits const& most, cpu const& where); // fem, rmat, random
source_ptr make_irregular(recipe const& r, limits const& most);               // circuit, lp
source_ptr make_like(recipe const& r, limits const& most, cpu const& where);

/// The generator of a recipe.
source_ptr make_source(recipe const& r, limits const& most, cpu const& where);

} // namespace tulle::gen

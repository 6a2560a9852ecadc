// SPDX-License-Identifier: Apache-2.0

/// Generated matrices: grids, meshes, graphs, circuits, and stand-ins for known matrices.
///
///     auto a = tulle::generate("poisson2d5:2000");          // csr<double>
///     auto b = tulle::generate<float>("gen:rmat:18:16@7");  // "gen:" is optional, @7 is the seed
///     auto c = tulle::generate(tulle::gen::random(100, 50, 2000).seeded(7), {.threads = 2});
///
/// A matrix depends on its recipe alone: every number of threads, on every run, gives the same one.
/// Rows are sorted and hold no duplicates. Values are the diagonal and -1 for poisson, real and
/// symmetric positive definite for diffusion, 1 for permutation. All others are random in (-1, 1)
/// and never 0; fem, lattice and banded are symmetric (not Hermitian).
#pragma once
#include "tulle/format/csr.hpp"

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tulle::gen {

enum class family : std::uint8_t {
  poisson2d5,
  poisson2d9,
  poisson3d7,
  poisson3d27,
  diffusion2d5,
  diffusion2d9,
  diffusion3d7,
  diffusion3d27,
  fem,
  rmat,
  circuit,
  lattice,
  lp,
  banded,
  random,
  permutation,
  dense,
  like,
};

/// What to make: a family, its numbers and a seed. Plain data; sizes are checked when it is
/// generated. The second number of diffusion is the bits of a double.
struct recipe {
  gen::family family = family::dense;
  std::uint64_t number[3] = {};
  std::uint64_t seed = 0;

  constexpr recipe seeded(std::uint64_t s) const {
    recipe r = *this;
    r.seed = s;
    return r;
  }
  friend bool operator==(recipe const&, recipe const&) = default;
};

/// Grids of n points per side in natural order; diagonal 4, 8, 6, 26, neighbours -1. Symmetric
/// positive definite.
constexpr recipe poisson2d5(std::uint64_t n) {
  return {family::poisson2d5, {n}};
}
constexpr recipe poisson2d9(std::uint64_t n) {
  return {family::poisson2d9, {n}};
}
constexpr recipe poisson3d7(std::uint64_t n) {
  return {family::poisson3d7, {n}};
}
constexpr recipe poisson3d27(std::uint64_t n) {
  return {family::poisson3d27, {n}};
}
/// div(k grad u) with Dirichlet boundaries on grids of n points per side in natural order, negated:
/// symmetric positive definite with negative neighbours, as poisson is, which is the case k = 1.
/// Here k differs from cell to cell by a smooth and a smaller rough random part, 0.16 < k < 4, so
/// no two rows have equal values. With `jumps` from 1 to 1e9, k is that many times as large in half
/// of the blocks of 16 cells per side, chosen at random. 5 and 7 points are finite volumes, 9 and
/// 27 points are assembled from elements.
constexpr recipe diffusion2d5(std::uint64_t n, double jumps = 0) {
  return {family::diffusion2d5, {n, std::bit_cast<std::uint64_t>(jumps)}};
}
constexpr recipe diffusion2d9(std::uint64_t n, double jumps = 0) {
  return {family::diffusion2d9, {n, std::bit_cast<std::uint64_t>(jumps)}};
}
constexpr recipe diffusion3d7(std::uint64_t n, double jumps = 0) {
  return {family::diffusion3d7, {n, std::bit_cast<std::uint64_t>(jumps)}};
}
constexpr recipe diffusion3d27(std::uint64_t n, double jumps = 0) {
  return {family::diffusion3d27, {n, std::bit_cast<std::uint64_t>(jumps)}};
}
/// A mesh with 3 unknowns per node: full aligned 3x3 blocks, about 60 entries per row. rows is
/// rounded up to a multiple of 3.
constexpr recipe fem(std::uint64_t rows) {
  return {family::fem, {rows}};
}
/// 2^scale rows, per_row * 2^scale edges drawn with a = .57, b = c = .19, then duplicates removed;
/// vertices not shuffled.
constexpr recipe rmat(std::uint64_t scale, std::uint64_t per_row) {
  return {family::rmat, {scale, per_row}};
}
/// Short rows with near and far columns, and 3 nodes whose row and column reach a third of the
/// others; about 7 entries per row.
constexpr recipe circuit(std::uint64_t rows) {
  return {family::circuit, {rows}};
}
/// The four neighbours on a torus in natural order, no diagonal. rows are rounded to the nearest
/// side * side2, both at least 3 and near the square root (lattice_sides); 0 stays 0.
constexpr recipe lattice(std::uint64_t rows) {
  return {family::lattice, {rows}};
}
/// Log-normal row lengths, uniform columns.
constexpr recipe lp(std::uint64_t rows, std::uint64_t cols, std::uint64_t average) {
  return {family::lp, {rows, cols, average}};
}
/// Every entry within halfwidth of the diagonal.
constexpr recipe banded(std::uint64_t n, std::uint64_t halfwidth) {
  return {family::banded, {n, halfwidth}};
}
/// Exactly nnz distinct places, each as likely as any other.
constexpr recipe random(std::uint64_t rows, std::uint64_t cols, std::uint64_t nnz) {
  return {family::random, {rows, cols, nnz}};
}
/// A permutation matrix: one 1 in each row and column.
constexpr recipe permutation(std::uint64_t n) {
  return {family::permutation, {n}};
}
constexpr recipe dense(std::uint64_t rows, std::uint64_t cols) {
  return {family::dense, {rows, cols}};
}
/// A stand-in for a matrix of models(), by any of its names; case and punctuation do not matter.
/// errc::unsupported with a suggestion where there is none.
recipe like(std::string_view name);

/// "gen:rmat:18:16@7" as a recipe; "gen:" and the seed may be left out. errc::unsupported says what
/// was expected.
recipe parse(std::string_view spec);
/// The recipe as parse() reads it.
std::string text(recipe const& r);

/// One family, for the command line.
struct generator_info {
  gen::family family;
  char const* name;       ///< "rmat"
  char const* parameters; ///< "SCALE:PER_ROW"; "[:COLS]" and "[:jumps=RATIO]" may be left out
  char const* help;       ///< one line
};
std::span<generator_info const> generators();
/// generators() and models() as text, for `--help`.
std::string help();

/// How a stand-in places its columns.
enum class structure : std::uint8_t {
  dense,   ///< everywhere
  stencil, ///< the same few diagonals in each row
  blocks,  ///< runs of blocks in a window around the diagonal
  web,     ///< mostly near the diagonal, the rest where most others point
  social,  ///< mostly where most others point
  circuit, ///< near, far, and a few columns that everyone uses
  uniform, ///< anywhere
};

/// What a stand-in knows of a matrix of the literature. It has exactly these sizes; its places and
/// values are made up, and not symmetric even where the original is. Sources: L is Liu's thesis,
/// table A.1; Y Yzelman on vectorised BICRS, table I; D King et al. on dynamic CSR, table 1.
struct model {
  char const* name;
  char const* aliases; ///< separated by spaces
  std::uint32_t rows, cols;
  std::uint64_t nnz;
  std::uint32_t min, max; ///< entries per row
  float spread;           ///< standard deviation of a row's entries over their mean
  gen::structure structure;
  std::uint8_t block;  ///< side of the aligned blocks, 1 where there are none
  bool known;          ///< min and max are as published; else they are remembered or guessed
  char const* sources; ///< where it is used; one letter each, as above
};
std::span<model const> models();

/// The sides of lattice(rows).
struct sides {
  std::uint64_t first, second;
};
sides lattice_sides(std::uint64_t rows);

} // namespace tulle::gen

namespace tulle {

/// The matrix of a recipe, in where.memory, by where.threads. errc::overflow if its sizes do not
/// fit I or O, before anything is allocated (circuit and lp, near the limit: after the row
/// pointers).
template <class V = double, class I = std::int32_t, class O = I>
csr<V, I, O> generate(gen::recipe const& recipe, cpu const& where = {});

template <class V = double, class I = std::int32_t, class O = I>
csr<V, I, O> generate(std::string_view spec, cpu const& where = {}) {
  return generate<V, I, O>(gen::parse(spec), where);
}

} // namespace tulle

// SPDX-License-Identifier: Apache-2.0

/// What `tulle info` finds out about a matrix, in memory that goes by its entries.
#pragma once
#include "tulle/core/any_matrix.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tulle::app {

struct length_statistics {
  std::uint64_t min = 0, max = 0, empty = 0;
  double mean = 0, median = 0, deviation = 0;
  double gini = 0; ///< 0: all alike; towards 1: few have all
  /// bin[0] counts the empty ones, bin[b] those of 2^(b-1) to 2^b - 1 entries.
  std::vector<std::uint64_t> bins;
};

struct diagonal_cover {
  std::uint64_t diagonals;
  double share; ///< of the entries that lie on the fullest so many
};

struct block_fill {
  int side;
  std::uint64_t blocks; ///< that hold an entry, of those looked at
  double fill;          ///< entries over places in them
};

struct format_bytes {
  tulle::format format;
  std::uint64_t bytes;
  std::string how; ///< "conversion", "formula", or why there is no number
};

struct analysis {
  std::uint64_t rows = 0, cols = 0, nnz = 0;
  type_tag type{};
  bool complex = false;
  length_statistics row, col;

  // Of the entries off the diagonal of a square matrix: the share whose mirror image is stored,
  // equals it, is its negative, is its conjugate.
  bool square = false;
  double pattern_symmetry = 0, symmetry = 0, skew_symmetry = 0, hermitian_symmetry = 0;
  bool is_symmetric = false, is_skew = false, is_hermitian = false;

  std::uint64_t diagonal = 0;                   ///< entries on it
  std::uint64_t diagonal_zeros = 0;             ///< stored zeros on it
  std::uint64_t lower_band = 0, upper_band = 0; ///< farthest entry from the diagonal
  std::uint64_t diagonals = 0;                  ///< that hold an entry
  std::vector<diagonal_cover> cover;
  std::vector<block_fill> blocks;
  bool blocks_sampled = false;

  std::uint64_t zeros = 0, nans = 0, infs = 0;
  double min = 0, max = 0;          ///< of finite real values
  double smallest = 0, largest = 0; ///< magnitude; of finite nonzero values
};

/// What info looks at, in canonical csr of a natural type. A matrix with far more rows or columns
/// than entries is there without the empty ones, since memory is to follow what a file holds: its
/// row i and column i are then row and column label[i] of the rows x cols.
struct subject {
  any_matrix csr;
  std::uint64_t rows = 0, cols = 0;
  std::vector<std::uint64_t> label; ///< empty: the matrix is whole

  std::uint64_t at(std::size_t i) const { return label.empty() ? i : label[i]; }
};

/// Of a coo of a natural type, or of a canonical csr.
subject make_subject(any_matrix a);

analysis analyse(subject const& a);

/// Bytes in each format that is built for its type. Small matrices, or all with `exact`, are
/// converted to see, unless they are not whole.
std::vector<format_bytes> bytes_by_format(subject const& a, bool exact);

} // namespace tulle::app

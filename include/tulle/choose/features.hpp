// SPDX-License-Identifier: Apache-2.0

/// What a matrix looks like to a product y = A x: the numbers that optimize() chooses a layout by.
///
///     tulle::features f = tulle::look_at(a);
///     std::printf("%.1f entries per row, %.0f %% of them shifted\n", f.row_length, 100 *
///     f.shifted);
///
/// At most 16 stretches of rows with 4096 entries and rows each are read: this takes well under a
/// millisecond, whatever the size of the matrix.
#pragma once
#include "tulle/core/any_matrix.hpp"
#include "tulle/view/transposed.hpp"

#include <cstddef>

namespace tulle {

/// Shares are between 0 and 1 and those of the stretches that were read.
struct features {
  std::size_t rows = 0, cols = 0, nnz = 0;
  std::size_t value_bytes = 8, index_bytes = 4;
  double row_length = 0;      ///< entries per row
  double empty_rows = 0;      ///< share of rows without an entry
  double changed_rows = 0;    ///< rows of another length than the row before
  double stepped_rows = 0;    ///< rows of another number of vectors of four than the row before
  double far_entries = 0;     ///< entries that need a line of x that 512 lines do not hold
  double distant_entries = 0; ///< the same for 16,384 lines
  double sliced_fill = 1;     ///< slots per entry where eight sorted rows are padded to the longest
  double shifted = 0;         ///< rows with the first and last column of the row before, plus one
  double same_columns = 0;    ///< rows with the first and last column of the row before
  double diagonals = 0;       ///< diagonals of a stretch per entry of it
  double diagonal_fill = 0;   ///< slots per entry where these diagonals are stored whole
  double repeated_values = 0; ///< entries that equal the one before on their diagonal
};

/// Of csr; any other format is read through csr.
features look_at(matrix_ref a, cpu const& where = {});
template <matrix A>
features look_at(A const& a, cpu const& where = {}) {
  auto const view = detail::view_of(a);
  if constexpr (std::is_same_v<decltype(view), matrix_ref const>)
    return look_at(view, where);
  else
    return look_at(matrix_ref(view), where);
}

} // namespace tulle

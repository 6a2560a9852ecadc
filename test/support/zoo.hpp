// SPDX-License-Identifier: Apache-2.0

/// The zoo: matrices that have broken sparse kernels, or that are made to break ours. Every bug
/// found adds its matrix here.
#pragma once
#include "tulle/core/any_matrix.hpp"

#include <string>
#include <vector>

namespace tulle::test {

struct animal {
  std::string name;
  csr<double> matrix;
  std::string
      twin; ///< the animal that is the same matrix in canonical form; empty: this one is canonical
};

/// All of them, always the same. Values are integers up to 4 in size, so that sums of products with
/// such an x are exact in every order, in float and complex too.
std::vector<animal> const& zoo();
/// The one of that name; throws where there is none.
animal const& find(std::string const& name);

/// A matrix large enough that each of 64 threads gets tiles: 1.4 million entries, rows of all
/// lengths.
csr<double> const& elephant();

/// Rows of these lengths, columns ascending and spread over [0, cols), values small integers.
csr<double> from_lengths(std::int32_t cols, std::vector<std::int32_t> const& lengths,
                         unsigned seed = 1);
/// Rows of these columns, each row one column further than the row before, to the last one.
csr<double> stairs(std::int32_t rows, std::vector<std::int32_t> const& first);
/// The same pattern with values in (-1, 1) of full precision: every sum rounds. This and the next
/// are symmetric where a is.
csr<double> rough(csr<double> const& a, unsigned seed = 1);
/// The same pattern with other small integers.
csr<double> other_values(csr<double> const& a, unsigned seed = 2);
/// A symmetric matrix with the entries of a and their mirror images, as large as the longer side
/// of a; values small integers.
csr<double> mirrored(csr<double> const& a, unsigned seed = 3);
/// Whether a equals its transpose, bit for bit. False where it has duplicates.
bool is_symmetric(csr<double> const& a);
/// The same matrix, no row in order.
csr<double> unsorted(csr<double> const& a);
/// The same matrix, each entry as the sum of two.
csr<double> duplicated(csr<double> const& a);

/// A csr of that type with a's pattern and values; complex ones get an imaginary part from a
/// neighbouring entry.
any_matrix as_type(csr<double> const& a, type_tag t);

/// Small integers, 0 among them; and values in (-1, 1) of full precision.
std::vector<double> integers(std::size_t n, unsigned seed);
std::vector<double> roughs(std::size_t n, unsigned seed);

} // namespace tulle::test

// SPDX-License-Identifier: Apache-2.0

/// The picture of a small matrix as the head of a format's header has it: the matrix with dots, its
/// parameters, and the arrays, with space between what lies apart and pointers above what they
/// point at.
#pragma once
#include "tulle/core/named_array.hpp"

#include <string>
#include <utility>
#include <vector>

namespace tulle::app {

/// What a layout chose, by name: omega, sigma, chunk, ..., as far as the format has such.
using parameter_list = std::vector<std::pair<std::string, std::size_t>>;
parameter_list parameters_of(matrix_ref const& a);

/// Whether matrix_lines() draws a matrix of this shape.
bool is_drawn(std::size_t rows, std::size_t cols);
/// A line for each row of a csr: its values, and dots where nothing is stored.
std::vector<std::string> matrix_lines(matrix_ref const& csr);

/// Everything, lines of up to 100 columns where that is possible. No lines for a matrix that is not
/// drawn.
std::string drawing(std::vector<std::string> const& matrix, matrix_ref const& a,
                    parameter_list const& parameters);

} // namespace tulle::app

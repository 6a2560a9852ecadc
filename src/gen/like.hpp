// SPDX-License-Identifier: Apache-2.0

/// The row lengths of a stand-in, by themselves: what a test can check for matrices too large to
/// make.
#pragma once
#include "tulle/gen/generate.hpp"

namespace tulle::gen {

/// One length a row; the shortest is m.min, the longest m.max, their sum m.nnz.
array<std::uint32_t> row_lengths(model const& m, std::uint64_t seed, cpu const& where);

/// Where a name or alias is in models(), or models().size().
std::size_t find_model(std::string_view name);

} // namespace tulle::gen

// SPDX-License-Identifier: Apache-2.0

/// How long a product takes in a layout, foretold by what the matrix looks like.
#pragma once
#include "tulle/choose/features.hpp"
#include "tulle/core/registry.hpp"

namespace tulle::choose {

/// The time of y = A x over that of csr, on the CPU.
double product_of(format f, features const& m);
/// What a kernel that keeps one of two mirrored entries takes per byte, over the one of the same
/// format that keeps both; scsr over csr.
double triangle_of(format f, bool is_cached);

/// Conversion from csr, in products of csr.
double conversion_of(format f);
constexpr double cheapest_conversion = 14;

/// Whether most entries lie on diagonals that are nearly full.
bool has_diagonals(features const& m);
/// Whether values repeat along these.
bool has_repeated_values(features const& m);

} // namespace tulle::choose

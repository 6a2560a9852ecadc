// SPDX-License-Identifier: Apache-2.0

/// How tulle stands against the best peer on each matrix, as one SVG file: for a README.
#pragma once
#include "bench/record.hpp"

#include <string>

namespace tulle::bench {

enum class theme { light, dark };

/// A panel for each operation. Matrices stand side by side, the one where csr is furthest behind
/// first; the scale is logarithmic. errc::unsupported where no matrix was computed by both tulle
/// and a peer.
std::string svg_plot(results const& r, std::string const& title, theme colours);

} // namespace tulle::bench

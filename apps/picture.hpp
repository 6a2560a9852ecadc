// SPDX-License-Identifier: Apache-2.0

/// Pictures of patterns: entries dealt into bins, bins shaded, pixels written as PNG.
#pragma once
#include "tulle/core/any_matrix.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tulle::app {

/// How one side of a matrix falls onto pixels: n rows into `bins` of equal height, each `cell`
/// pixels.
struct axis {
  std::size_t n = 0;
  std::size_t bins = 0;
  std::size_t cell = 1; ///< more than 1 only where each row has a bin of its own
  std::size_t pixels() const { return bins * cell; }
};

struct layout {
  axis y, x;
  std::size_t margin = 0;                                             ///< around the frame
  std::size_t width() const { return x.pixels() + 2 * (margin + 1); } // the frame is one pixel
  std::size_t height() const { return y.pixels() + 2 * (margin + 1); }
};

/// A picture whose longer side has at most `size` pixels.
layout lay_out(std::size_t rows, std::size_t cols, std::size_t size);

/// Weight of the entries in each bin, row by row; 1.0 is one entry. An entry on the border of bins
/// is dealt to both, by area, so that a line of entries does not beat against the pixels. The same
/// for every number of threads. `a` is csr or coo; memory goes by its entries, not by its rows.
std::vector<double> bin_entries(any_matrix const& a, layout const& l);

using rgb = std::array<std::uint8_t, 3>;

/// Row by row, three bytes a pixel.
std::vector<std::uint8_t> paint(std::vector<double> const& weight, layout const& l, bool dark);

/// The same with a colour for each bin: from 0 for the first of a sequence to 1 for the last, below
/// 0 for none.
std::vector<std::uint8_t> paint_sequence(std::vector<double> const& at, layout const& l, bool dark);

/// Writes it; errc::io names the file. "-" is standard output.
void write_png(std::string const& path, std::vector<std::uint8_t> const& pixels, std::size_t width,
               std::size_t height);

} // namespace tulle::app

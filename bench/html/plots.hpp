// SPDX-License-Identifier: Apache-2.0

/// The plots of the page, each with its captions, as HTML. One that has nothing to show is empty.
#pragma once
#include "bench/html/model.hpp"

namespace tulle::bench::html {

/// A figure for each race: a bar for each verified contestant, fastest first.
std::string bars(group const& g);
/// Dolan and Moré's: on what part of the races is each within a factor of the fastest?
std::string performance_profile(group const& g);
/// Speed of n calls with conversion against plain csr without, mean over races.
std::string break_even(group const& g);
/// GFlop/s against the mean length of rows, and tulle's best against the best peer.
std::string speed_by_row_length(group const& g);
/// GFlop/s against flops per byte, below the slopes of measured bandwidth.
std::string roofline(group const& g);
/// A small plot for each sweep.
std::string sweep_plots(std::vector<sweep> const& sweeps);

/// The caption and picture of one figure; `words` is HTML.
std::string figure(std::string const& words, drawing const& d);

} // namespace tulle::bench::html

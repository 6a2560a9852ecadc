// SPDX-License-Identifier: Apache-2.0

/// The tables of the page, as HTML, and how numbers are written in them.
#pragma once
#include "bench/html/model.hpp"

namespace tulle::bench::html {

/// With that many digits after the point; a dash for what is no number.
std::string fixed(double v, int digits);
/// "1234", "12.3K", "1.2M".
std::string count(std::size_t n);

/// One line a group: who wins how often.
std::string summary(model const& m);
/// Races that a peer wins; a sentence where there are none.
std::string losses(group const& g);
/// Who computed something else; empty where nobody did.
std::string wrong_results(group const& g);
/// After Liu's tables 8.5 and 8.6, then the same for each race.
std::string break_even_tables(group const& g);
/// Everything, by matrix.
std::string all_records(results const& r);

} // namespace tulle::bench::html

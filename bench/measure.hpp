// SPDX-License-Identifier: Apache-2.0

/// Timing, always the same way. Contestants take turns in rounds, so that a noisy neighbour hits
/// all of them, and what is compared is compared within a round: a ratio of two times of one round
/// moves far less than either time.
#pragma once
#include "bench/contestant.hpp"
#include "bench/options.hpp"

#include <cstddef>
#include <initializer_list>
#include <vector>

namespace tulle::bench {

/// A number that was seen many times.
struct statistic {
  double median = 0;
  double least = 0;
  double spread = 0;        ///< between the quartiles, over the median
  double low = 0, high = 0; ///< where the median lies, 95 times of 100
};
statistic statistic_of(std::vector<double> values);

/// Of one contestant, in each round.
struct turns {
  std::vector<double> seconds; ///< of a call
  std::vector<double> bound;   ///< of the bound, just before; empty where there is none
  std::vector<double> product; ///< of a product after each call; empty where there is none
};

/// Rounds until every median is known to a few per cent of its value, or the time is over: a tenth
/// of a second for each contestant, half of one, or five. A turn is one call to warm up, then as
/// many as take two milliseconds; cold: one call after putting everything out of the caches.
/// `bound`, if not nullptr, is timed before every turn.
std::vector<turns> measure(std::vector<contestant> const& contestants, contestant const* bound,
                           effort how, bool cold);

/// Of the bound's time over the contestant's, turn by turn.
statistic ratio_of(turns const& t);

/// A piece of memory that a call must read at least once.
struct stretch {
  void const* data;
  std::size_t bytes;
};
/// The arrays of matrices.
template <class View>
std::vector<stretch> stretches(std::initializer_list<View> matrices) {
  std::vector<stretch> all;
  for (View const& a : matrices)
    a.arrays([&](char const*, auto const* data, std::size_t size) {
      all.push_back({data, size * sizeof *data});
    });
  return all;
}
/// Reads all of it once, as fast as the threads can: the bound that kernels are measured against.
contestant read_bound(std::vector<stretch> const& memory, int threads);

} // namespace tulle::bench

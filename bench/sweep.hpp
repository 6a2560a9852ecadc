// SPDX-License-Identifier: Apache-2.0

/// `--sweep option=a,b,c`: one contestant for each value of one option.
#pragma once
#include <string>
#include <vector>

namespace tulle::bench {

struct sweep_point {
  std::string option, value; ///< both empty: no sweep
};

/// The points of a sweep; one empty point for "". errc::unsupported for what is no sweep, or for an
/// option that nothing has: today every format has `threads`.
std::vector<sweep_point> sweep_points(std::string const& text);
/// The value as a positive number; errc::unsupported where it is none.
int number_of(sweep_point const& point);

} // namespace tulle::bench

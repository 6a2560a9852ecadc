// SPDX-License-Identifier: Apache-2.0

/// Contestants of tulle's own on a device.
#pragma once
#include "tulle/core/where.hpp"
#include "tulle/op/convert.hpp"

#include "bench/contest.hpp"
#include "bench/dynamic/growth.hpp"
#include "bench/problem.hpp"

namespace tulle::bench {

/// One for each layout, csr with X and Y column-major, and a dynamic matrix whose last tenth was
/// inserted. `all` must outlive them.
template <class V, class I>
std::vector<entrant> spmm_on_device(device const& where, spmm_problem<V, I> const& p,
                                    arrivals<V, I> const& all, std::vector<layout> const& wanted,
                                    std::shared_ptr<stopwatch> const& watch);

} // namespace tulle::bench

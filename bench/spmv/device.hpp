// SPDX-License-Identifier: Apache-2.0

/// Contestants of tulle's own on a device.
#pragma once
#include "tulle/core/where.hpp"
#include "tulle/op/convert.hpp"
#include "tulle/op/spmv_method.hpp"

#include "bench/contestant.hpp"
#include "bench/problem.hpp"

#include <functional>
#include <memory>

namespace tulle::bench {

using format_maker = std::function<contestant(layout const&, spmv_method)>;

/// What makes them, converted there from one csr. They share x and y, since they take turns. A
/// layout is errc::unsupported where its format does not take the matrix, or has no kernel there.
template <class V, class I>
format_maker formats_on_device(device const& where, spmv_problem<V, I> const& p,
                               std::shared_ptr<stopwatch> const& watch);

} // namespace tulle::bench

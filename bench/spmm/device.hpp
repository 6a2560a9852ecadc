// SPDX-License-Identifier: Apache-2.0

/// Contestants of tulle's own on a GPU.
#pragma once
#include "tulle/op/convert.hpp"

#include "bench/contestant.hpp"
#include "bench/dynamic/growth.hpp"
#include "bench/problem.hpp"

namespace tulle::bench {

/// One for each layout, csr with X and Y column-major, and a dynamic matrix whose last tenth was
/// inserted; with the copy that they are measured against. errc::backend where there is no GPU.
template <class V, class I>
std::vector<contestant> spmm_on_device(spmm_problem<V, I> const& p, arrivals<V, I> const& all,
                                       std::vector<layout> const& wanted, std::size_t bound_bytes);

} // namespace tulle::bench

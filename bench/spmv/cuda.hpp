// SPDX-License-Identifier: Apache-2.0

/// Contestants of tulle's own on a GPU.
#pragma once
#include "tulle/core/device.hpp"
#include "tulle/op/convert.hpp"
#include "tulle/op/spmv_method.hpp"

#include "bench/contestant.hpp"
#include "bench/problem.hpp"

namespace tulle::bench {

/// What they share: x, and one y for all, since contestants take turns. errc::backend where there
/// is no GPU.
template <class V, class I>
class cuda_formats {
public:
  explicit cuda_formats(spmv_problem<V, I> const& p);
  /// A copy that reads and writes `bytes` together: what no kernel that moves as many passes.
  contestant copy_bound(std::size_t bytes) const;
  /// errc::unsupported where the format does not take the matrix, or has no kernel there.
  contestant make(layout const& l, spmv_method method) const;

private:
  spmv_problem<V, I> problem_;
  std::shared_ptr<stopwatch> watch_;
  std::shared_ptr<device_array<V>> x_, y_;
};

} // namespace tulle::bench

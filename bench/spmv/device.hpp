// SPDX-License-Identifier: Apache-2.0

/// Contestants of tulle's own on a GPU.
#pragma once
#include "tulle/core/device_matrix.hpp"
#include "tulle/op/convert.hpp"
#include "tulle/op/spmv_method.hpp"

#include "bench/contestant.hpp"
#include "bench/problem.hpp"

namespace tulle::bench {

/// What they share: the csr, x, and one y for all, since contestants take turns. errc::backend
/// where there is no GPU.
template <class V, class I>
class cuda_formats {
public:
  explicit cuda_formats(spmv_problem<V, I> const& p);
  std::shared_ptr<stopwatch> watch() const { return watch_; }
  /// Converted there. errc::unsupported where the format does not take the matrix, or has no kernel
  /// there.
  contestant make(layout const& l, spmv_method method) const;

private:
  std::shared_ptr<stopwatch> watch_;
  std::shared_ptr<device_matrix> csr_;
  std::shared_ptr<device_array<V>> x_, y_;
};

} // namespace tulle::bench

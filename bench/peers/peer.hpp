// SPDX-License-Identifier: Apache-2.0

/// What a contestant is, tulle's or a peer's. A peer is one file here and one line in
/// bench/CMakeLists.txt.
#pragma once
#include "tulle/format/csr.hpp"

#include <functional>
#include <string>

namespace tulle::bench {

/// y = A x, in V with I for indices and offsets.
template <class V, class I>
struct spmv_problem {
  csr_view<V, I, I> a;
  V const* x;
  int threads;
};

struct contestant {
  std::string backend = "cpu";
  std::string format = "csr";
  std::string path;
  std::string peer;           ///< empty for tulle's own
  double convert_seconds = 0; ///< from csr, planning included
  std::size_t bytes = 0;      ///< of the matrix as it multiplies
  std::size_t peak_bytes = 0; ///< with plan and workspace
  std::function<void(void* y)> multiply;
};

#define TULLE_PEER(name)                                                                           \
  template <class V, class I>                                                                      \
  contestant make_##name(spmv_problem<V, I> const& p);
TULLE_PEER(openmp)
TULLE_PEER(eigen)
#undef TULLE_PEER

/// In a peer's file: the types that the bench offers.
#define TULLE_INSTANTIATE_PEER(name)                                                               \
  template contestant make_##name(spmv_problem<float, std::int32_t> const&);                       \
  template contestant make_##name(spmv_problem<double, std::int32_t> const&);                      \
  template contestant make_##name(spmv_problem<float, std::int64_t> const&);                       \
  template contestant make_##name(spmv_problem<double, std::int64_t> const&);

} // namespace tulle::bench

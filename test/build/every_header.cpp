// SPDX-License-Identifier: Apache-2.0

// Every public header, and the bodies that format headers keep, which say nothing before they are
// instantiated.
#if __has_include(<Eigen/Sparse>)
#include <tulle/interop/eigen.hpp>
#endif
#include <tulle/tulle.hpp>

#define TULLE_FORMAT(name, ...)                                                                    \
  template struct tulle::name<double, std::int32_t, std::int32_t>;                                 \
  template struct tulle::name<float, std::int64_t, std::int64_t>;                                  \
  template struct tulle::name##_view<double, std::int32_t, std::int32_t>;
#include <tulle/format/formats.def>
#undef TULLE_FORMAT
template class tulle::array<double>;
template class tulle::dynamic_csr<double, std::int32_t>;
template struct tulle::sparse_vector<double, std::int32_t>;

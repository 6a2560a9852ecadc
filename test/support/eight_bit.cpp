// SPDX-License-Identifier: Apache-2.0

// Formats over 8-bit indices, which the library is not built for: what needs gigabytes to see with
// 32 bits shows in a test of 127 entries.
#include "format/instantiate.hpp"

#undef TULLE_INSTANTIATE_FORMAT
#define TULLE_INSTANTIATE_FORMAT(name, types) // the bodies alone
#include "format/bicrs.cpp"
#include "format/coo.cpp"
#include "format/csc.cpp"
#include "format/csr.cpp"
#include "format/ell.cpp"
#include "format/sparse_vector.cpp"

namespace tulle {

#define TULLE_EIGHT_BITS(name, O)                                                                  \
  template struct name<double, std::int8_t, O>;                                                    \
  template struct name##_view<double, std::int8_t, O>;
TULLE_EIGHT_BITS(csr, std::int8_t)
TULLE_EIGHT_BITS(csc, std::int8_t)
TULLE_EIGHT_BITS(coo, std::int8_t)
TULLE_EIGHT_BITS(ell, std::int8_t)
TULLE_EIGHT_BITS(bicrs, std::int8_t)
TULLE_EIGHT_BITS(csr, std::int16_t)
TULLE_EIGHT_BITS(csc, std::int16_t)
TULLE_EIGHT_BITS(coo, std::int16_t)
template struct sparse_vector<double, std::int8_t>;
template struct sparse_vector_view<double, std::int8_t>;

} // namespace tulle

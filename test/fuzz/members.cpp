// SPDX-License-Identifier: Apache-2.0

// Members of the formats that readers give. The library compiles them beside its kernels, which are
// not fuzzed.
#include "tulle/core/types.hpp"
#include "tulle/format/coo.hpp"
#include "tulle/format/csc.hpp"
#include "tulle/format/csr.hpp"

namespace tulle {

#define TULLE_MEMBERS(tag, V, I, O)                                                                \
  template struct coo<V, I, O>;                                                                    \
  template struct coo_view<V, I, O>;                                                               \
  template struct csc<V, I, O>;                                                                    \
  template struct csc_view<V, I, O>;                                                               \
  template struct csr<V, I, O>;                                                                    \
  template struct csr_view<V, I, O>;
TULLE_TYPES(TULLE_MEMBERS)
TULLE_BASIC_TYPES(TULLE_MEMBERS)
#undef TULLE_MEMBERS

} // namespace tulle

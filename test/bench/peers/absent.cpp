// SPDX-License-Identifier: Apache-2.0

// A peer whose library fails when it is asked.
#include "bench/peers/peer.hpp"

#include <stdexcept>

namespace tulle::bench {

template <class V, class I>
std::vector<contestant> contestants(spmv_problem<V, I> const&) {
  throw std::runtime_error("no licence found");
}

} // namespace tulle::bench

TULLE_PEER

// SPDX-License-Identifier: Apache-2.0

// Contestants that must not take a place: one that is off by a little, one that does nothing, one
// that throws. The fourth is right, if not fast.
#include "bench/peers/peer.hpp"
#include "bench/peers/result.hpp"

#include <stdexcept>

namespace tulle::bench {

template <class V, class I>
contestant make(spmv_problem<V, I> const& p, std::string const& format, V factor) {
  contestant c;
  c.peer = "broken";
  c.format = format;
  c.path = "made to be found out";
  c.bytes = c.peak_bytes = detail::bytes_of(p.a);
  V* const y = keep_result(c, p);
  c.run = [p, y, factor] {
    for (I i = 0; i < p.a.rows; ++i) {
      y[i] = 0;
      for (I k = p.a.row_ptr[i]; k < p.a.row_ptr[i + 1]; ++k)
        y[i] += factor * p.a.val[k] * p.x[p.a.col[k]];
    }
  };
  return c;
}

template <class V, class I>
std::vector<contestant> contestants(spmv_problem<V, I> const& p) {
  contestant off = make(p, "off", V(1.0001));
  contestant lazy = make(p, "lazy", V(1));
  lazy.run();
  lazy.run = [] {};
  contestant thrower = make(p, "thrower", V(1));
  thrower.run = [] { throw std::runtime_error("out of luck"); };
  return {off, lazy, thrower, make(p, "right", V(1))};
}

} // namespace tulle::bench

TULLE_PEER

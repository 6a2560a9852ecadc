// SPDX-License-Identifier: Apache-2.0

// The loop that everyone writes first.
#include "bench/peers/peer.hpp"
#include "bench/peers/result.hpp"

namespace tulle::bench {

template <class V, class I>
std::vector<contestant> contestants(spmv_problem<V, I> const& p) {
  contestant c;
  c.peer = "openmp";
  c.path = "plain loop, rows dealt evenly";
  c.bytes = c.peak_bytes = detail::bytes_of(p.a);
  V* const y = keep_result(c, p);
  c.run = [p, y] {
    csr_view<V, I, I> const a = p.a;
    V const* const x = p.x;
#pragma omp parallel for num_threads(p.threads) schedule(static)
    for (I i = 0; i < a.rows; ++i) {
      V sum = 0;
      for (I k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
        sum += a.val[k] * x[a.col[k]];
      y[i] = sum;
    }
  };
  return {c};
}

} // namespace tulle::bench

TULLE_PEER

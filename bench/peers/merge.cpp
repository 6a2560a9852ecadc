// SPDX-License-Identifier: Apache-2.0

// Each batch merged into csr on the device, products by csr's kernel.
#include "bench/peers/merge.hpp"

#include "tulle/core/device_matrix.hpp"
#include "tulle/op/spmv.hpp"

#include "bench/peers/peer.hpp"

namespace tulle::bench {

template <class V, class I>
std::vector<contestant> contestants(dynamic_problem<V, I> const& p) {
  struct state {
    merged_on_device<V, I> a;
    device_array<I> row, col;
    device_array<V> val, x, y;
    std::size_t next = 0;
  };
  auto const rows = static_cast<std::size_t>(p.a.rows);
  auto const s = std::make_shared<state>(
      state{{p.a, static_cast<std::size_t>(p.a.nnz) + p.val.size(), p.batch},
            device_array<I>(p.row),
            device_array<I>(p.col),
            device_array<V>(p.val),
            p.products == 0 ? device_array<V>()
                            : device_array<V>(p.x, static_cast<std::size_t>(p.a.cols)),
            device_array<V>(rows)});
  contestant c;
  c.peer = "merge";
  c.backend = "cuda";
  c.format = "csr merged";
  c.path = "each batch sorted and merged into csr by merge path";
  c.bytes = s->a.bytes();
  c.run = [s, batch = p.batch, products = p.products] {
    s->a.merge(s->row.data() + s->next, s->col.data() + s->next, s->val.data() + s->next, batch);
    s->next += batch;
    if (products == 0)
      return;
    auto const view = s->a.view();
    device_ref const a{matrix_ref(view)};
    spmv_plan plan(a);
    for (int k = 0; k < products; ++k)
      spmv(plan, V(1), a, s->x, V(0), s->y);
    synchronize(); // before the plan's memory goes
  };
  c.result = [s](void* to) { s->y.copy_to(static_cast<V*>(to)); };
  return {c};
}

} // namespace tulle::bench

TULLE_PEER_FOR("cuda")

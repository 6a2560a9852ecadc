// SPDX-License-Identifier: Apache-2.0

// y = alpha A x + beta y, A dynamic: checks and runs the kernel of this processor's instruction
// set, which is that of csr_pool. Readers share the matrix meanwhile.
#include "tulle/op/spmv.hpp"

#include "tulle/core/machine.hpp"
#include "tulle/core/types.hpp"

#include "dynamic/rows.hpp"
#include "dynamic/sizes.hpp"
#include "kernel/spmv.hpp"
#include "op/operands.hpp"

#include <algorithm>

namespace tulle {

#define TULLE_DECLARE_CELL(tag, V, I, O) extern spmv_kernel const spmv_dynamic_csr_##tag;
#define TULLE_DECLARE_SET(set)                                                                     \
  namespace simd::set {                                                                            \
  TULLE_TYPES(TULLE_DECLARE_CELL)                                                                  \
  }
TULLE_DECLARE_SET(baseline)
#ifdef __x86_64__
TULLE_DECLARE_SET(avx2)
TULLE_DECLARE_SET(avx512)
#endif

namespace {

#define TULLE_CELL(tag, V, I, O, set) &simd::set::spmv_dynamic_csr_##tag,
constexpr spmv_kernel const* table[isa_count][4] = {{TULLE_TYPES(TULLE_CELL, baseline)},
#ifdef __x86_64__
                                                    {TULLE_TYPES(TULLE_CELL, avx2)},
                                                    {TULLE_TYPES(TULLE_CELL, avx512)}
#endif
};

} // namespace

template <class V, class I>
void spmv(cpu const& where, std::type_identity_t<V> alpha, dynamic_csr<V, I> const& m,
          std::type_identity_t<vector_view<V const>> x, std::type_identity_t<V> beta,
          std::type_identity_t<vector_view<V>> y) {
  auto& s = m.get();
  auto const shared = s.reading();
  auto const& rows = s.a;
  dynamic_view<V, I> const a = rows.view();
  auto const with_csr = [&](csr_view<V, I, I> const& c) {
    spmv(tulle::where(where), alpha, c, x, beta, y);
  };
  // Each by itself: where rows of one and of two take turns, a loop over those of a row ends in a
  // wrong guess. ns each on rmat 18: 3.0 instead of 5.5.
  auto const with_late = [&](I k, I next) {
    __builtin_prefetch(y.data() + a.late_row[next], 1);
    __builtin_prefetch(x.data() + a.late_col[next]);
    y.data()[a.late_row[k]] += alpha * (a.late_val[k] * x.data()[a.late_col[k]]);
  };
  if (dynamic::with_csr(a, alpha == V(0), where, with_csr, with_late))
    return;
  detail::check_sizes(s.rows, s.cols, x.size(), y.size());
  if (!x.data() || !y.data())
    fail(errc::bad_structure, "spmv: x or y is null");
  if (detail::overlap(x.data(), x.size() * sizeof(V), y.data(), y.size() * sizeof(V)))
    fail(errc::bad_structure, "spmv: x and y overlap");
  plan_view p;
  p.threads = where.threads > 0 ? where.threads : default_threads();
  p.streaming = detail::passes_cache_by(rows.entries, sizeof(V) + sizeof(I), p.threads);
  auto const isa = static_cast<std::size_t>(active_isa());
  auto const type = static_cast<std::size_t>(type_of<V, I, I>::value);
  spmv_kernel const& kernel = *table[isa][type];
  array<std::byte> work(kernel.prepare(&a, p), where.memory);
  p.work = work.data();
  kernel.run({&alpha, &a, x.data(), &beta, y.data(), &p});
}

#define TULLE_SPMV(tag, V, I, O)                                                                   \
  template void spmv(cpu const&, V, dynamic_csr<V, I> const&, vector_view<V const>, V,             \
                     vector_view<V>);
TULLE_TYPES(TULLE_SPMV)
#undef TULLE_SPMV

} // namespace tulle

// SPDX-License-Identifier: Apache-2.0

// C = alpha A B + beta C, A dynamic: checks and runs the kernel of this processor's instruction
// set, which is that of csr where A is compact and has no pending entries, else that of csr_pool.
// Readers share the matrix meanwhile.
#include "tulle/op/spmm.hpp"

#include "tulle/core/machine.hpp"
#include "tulle/core/types.hpp"

#include "core/format_table.hpp"
#include "dynamic/rows.hpp"
#include "kernel/spmm.hpp"
#include "op/dense_operands.hpp"
#include "op/kernel_plan.hpp"

#include <algorithm>

namespace tulle {

#define TULLE_SPMM_DECLARE(tag, V, I, O) extern spmm_kernel const spmm_dynamic_csr_##tag;
#define TULLE_SPMM_DECLARE_SET(set)                                                                \
  namespace kernels::set {                                                                         \
  TULLE_TYPES(TULLE_SPMM_DECLARE)                                                                  \
  }
TULLE_SPMM_DECLARE_SET(baseline)
#ifdef __x86_64__
TULLE_SPMM_DECLARE_SET(avx2)
TULLE_SPMM_DECLARE_SET(avx512)
#endif

namespace {

#define TULLE_SPMM_ENTRY(tag, V, I, O, set) &kernels::set::spmm_dynamic_csr_##tag,
constexpr spmm_kernel const* spmm_table[isa_count][4] = {{TULLE_TYPES(TULLE_SPMM_ENTRY, baseline)},
#ifdef __x86_64__
                                                         {TULLE_TYPES(TULLE_SPMM_ENTRY, avx2)},
                                                         {TULLE_TYPES(TULLE_SPMM_ENTRY, avx512)}
#endif
};

} // namespace

template <class V, class I>
void spmm(cpu const& where, std::type_identity_t<V> alpha, dynamic_csr<V, I> const& m,
          std::type_identity_t<dense_view<V const>> b, std::type_identity_t<V> beta,
          std::type_identity_t<dense_view<V>> c) {
  auto& s = m.get();
  auto const shared = s.reading();
  dynamic_view<V, I> const a = s.a.view();
  auto const with_csr = [&](csr_view<V, I, I> const& as_csr, cpu const& rest) {
    spmm(tulle::where(rest), alpha, as_csr, b, beta, c);
  };
  bool const none = alpha == V(0) || a.entries == 0;
  if ((none || !a.pending_ptr) && dynamic::with_csr(a, none, where, with_csr))
    return;
  std::size_t const written =
      detail::check_dense("spmm", false, static_cast<std::size_t>(a.rows),
                          static_cast<std::size_t>(a.cols), sizeof(V), b, c);
  dynamic::with_csr(a, false, where, [&](csr_view<V, I, I> const& but_pending, cpu const&) {
    auto const* const first = reinterpret_cast<char const*>(c.data);
    if (written != 0 &&
        formats::overlaps(formats::arrays_of(matrix_ref(but_pending)), first, first + written))
      fail(errc::bad_structure, "spmm: C overlaps the arrays of A");
  });
  plan_view p;
  p.threads = detail::threads_for(
      (static_cast<std::size_t>(a.entries) + static_cast<std::size_t>(a.rows)) * b.cols,
      where.threads);
  p.streaming = detail::passes_cache_by(c, sizeof(V));
  auto const isa = static_cast<std::size_t>(active_isa());
  auto const type = static_cast<std::size_t>(type_of<V, I, I>::value);
  spmm_kernel const& kernel = *spmm_table[isa][type];
  std::size_t bytes = 0;
  check(kernel.prepare(&a, b, c, p, bytes), "spmm");
  detail::check_workspace("spmm", bytes, where.workspace_limit);
  array<std::byte> work(bytes, where.memory);
  p.work = work.data();
  check(kernel.run({&alpha, &a, b, &beta, c, &p}), "spmm");
}

#define TULLE_SPMM(tag, V, I, O)                                                                   \
  template void spmm(cpu const&, V, dynamic_csr<V, I> const&, dense_view<V const>, V,              \
                     dense_view<V>);
TULLE_TYPES(TULLE_SPMM)
#undef TULLE_SPMM

} // namespace tulle

// SPDX-License-Identifier: Apache-2.0

// y = alpha A x + beta y, A dynamic: checks and runs the kernel of this processor's instruction
// set, which is that of csr where A is compact and that of csr_pool where not. Readers share the
// matrix meanwhile.
#include "tulle/op/spmv.hpp"

#include "tulle/core/machine.hpp"
#include "tulle/core/types.hpp"

#include "backend/cpu.hpp"
#include "core/format_table.hpp"
#include "dynamic/rows.hpp"
#include "dynamic/sizes.hpp"
#include "kernel/spmv.hpp"
#include "op/kernel_plan.hpp"
#include "op/operands.hpp"

#include <algorithm>

namespace tulle {

#define TULLE_DECLARE_CELL(tag, V, I, O) extern spmv_kernel const spmv_dynamic_csr_##tag;
#define TULLE_DECLARE_SET(set)                                                                     \
  namespace kernels::set {                                                                         \
  TULLE_TYPES(TULLE_DECLARE_CELL)                                                                  \
  }
TULLE_DECLARE_SET(baseline)
#ifdef __x86_64__
TULLE_DECLARE_SET(avx2)
TULLE_DECLARE_SET(avx512)
#endif

namespace {

#define TULLE_CELL(tag, V, I, O, set) &kernels::set::spmv_dynamic_csr_##tag,
constexpr spmv_kernel const* table[isa_count][4] = {{TULLE_TYPES(TULLE_CELL, baseline)},
#ifdef __x86_64__
                                                    {TULLE_TYPES(TULLE_CELL, avx2)},
                                                    {TULLE_TYPES(TULLE_CELL, avx512)}
#endif
};

/// What pending entries add to rows, while their y is in the cache. With 1.8 % pending products
/// take 1.06, 1.06, 1.03 and 1.05 times as long as csr's on poisson2d5 1000, circuit 200000, rmat
/// 18 and fem 50000, two threads of Zen 4; 1.16, 1.05, 1.04 and 1.06 where they came behind all
/// rows.
template <class V, class I>
struct pending_products {
  dynamic_view<V, I> const& a;
  V alpha;
  V const* x;
  V* y;
  static constexpr I ahead = 16; // 48: as long
  static constexpr I line = 64 / sizeof(I);
  static constexpr I far = 8 * line;

  static void add(void const* with, std::int64_t first, std::int64_t last) {
    auto const& l = *static_cast<pending_products const*>(with);
    dynamic_view<V, I> const& a = l.a;
    I const end = a.pending_ptr[(a.rows + group_rows - 1) / group_rows];
    // Each by itself: where rows of one and of two take turns, a loop over those of a row ends in a
    // wrong guess. ns each on rmat 18: 3.0 instead of 5.5.
    for (I k = a.pending_from(static_cast<I>(first)); k < end && a.pending_row[k] < last; ++k) {
      if (k % line == 0) {
        I const q = std::min(k + far, end - 1);
        __builtin_prefetch(a.pending_row + q);
        __builtin_prefetch(a.pending_col + q);
        __builtin_prefetch(a.pending_val + q);
        __builtin_prefetch(a.pending_val + q + line / 2);
      }
      __builtin_prefetch(l.x + a.pending_col[std::min(k + ahead, end - 1)]);
      l.y[a.pending_row[k]] += l.alpha * (a.pending_val[k] * l.x[a.pending_col[k]]);
    }
  }
};

} // namespace

template <class V, class I>
void spmv(cpu const& where, std::type_identity_t<V> alpha, dynamic_csr<V, I> const& m,
          std::type_identity_t<vector_view<V const>> x, std::type_identity_t<V> beta,
          std::type_identity_t<vector_view<V>> y) {
  auto& s = m.get();
  auto const shared = s.reading();
  dynamic_view<V, I> const a = s.a.view();
  pending_products<V, I> const pending{a, alpha, x.data(), y.data()};
  rows_done const done{pending.add, &pending};
  plan_view p;
  auto const run = [&](spmv_kernel const& kernel, void const* view, cpu const& rest) {
    detail::check_sizes(a.rows, a.cols, x.size(), y.size());
    if (!x.data() || !y.data())
      fail(errc::bad_structure, "spmv: x or y is null");
    if (detail::overlap(x.data(), x.size() * sizeof(V), y.data(), y.size() * sizeof(V)))
      fail(errc::bad_structure, "spmv: x and y overlap");
    p.threads = detail::threads_for(
        static_cast<std::size_t>(s.a.entries) + static_cast<std::size_t>(a.rows), where.threads);
    p.streaming = detail::passes_cache_by(s.a.entries, sizeof(V) + sizeof(I), p.threads);
    p.from_memory = detail::comes_from_memory(s.a.entries, sizeof(V) + sizeof(I));
    p.once = true;
    std::size_t bytes = 0;
    check(kernel.prepare(view, p, bytes), "spmv");
    detail::check_workspace("spmv", bytes, rest.workspace_limit);
    array<std::byte> work(bytes, where.memory);
    p.work = work.data();
    check(kernel.run({&alpha, view, x.data(), &beta, y.data(), &p}), "spmv");
  };
  isa const set = active_isa();
  constexpr type_tag type = type_of<V, I, I>::value;
  bool const none = alpha == V(0) || a.entries == 0;
  auto const with_csr = [&](csr_view<V, I, I> const& c, cpu const& rest) {
    if (none)
      return spmv(tulle::where(rest), alpha, c, x, beta, y);
    if (formats::overlaps(formats::arrays_of(matrix_ref(c)), y.data(), y.data() + y.size()))
      fail(errc::bad_structure, "spmv: y overlaps the arrays of A");
    p.done = a.pending_ptr ? &done : nullptr;
    run(*cpu_spmv(format::csr, type), &c, rest);
  };
  if (!dynamic::with_csr(a, none, where, with_csr))
    run(*table[static_cast<std::size_t>(set)][static_cast<std::size_t>(type)], &a, where);
}

#define TULLE_SPMV(tag, V, I, O)                                                                   \
  template void spmv(cpu const&, V, dynamic_csr<V, I> const&, vector_view<V const>, V,             \
                     vector_view<V>);
TULLE_TYPES(TULLE_SPMV)
#undef TULLE_SPMV

} // namespace tulle

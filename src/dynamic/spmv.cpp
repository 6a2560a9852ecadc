// SPDX-License-Identifier: Apache-2.0

// y = alpha A x + beta y, A dynamic: checks, deals the work, runs the kernel of this processor's
// instruction set. Readers share the matrix meanwhile.
#include "tulle/op/spmv.hpp"

#include "tulle/core/machine.hpp"
#include "tulle/core/types.hpp"

#include "dynamic/rows.hpp"
#include "dynamic/sizes.hpp"
#include "op/operands.hpp"

namespace tulle {

#define TULLE_DECLARE_CELL(tag, V, I, O) extern dynamic_kernel* const dynamic_csr_##tag;
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

#define TULLE_CELL(tag, V, I, O, set) &simd::set::dynamic_csr_##tag,
constexpr dynamic_kernel* const* table[isa_count][4] = {{TULLE_TYPES(TULLE_CELL, baseline)},
#ifdef __x86_64__
                                                        {TULLE_TYPES(TULLE_CELL, avx2)},
                                                        {TULLE_TYPES(TULLE_CELL, avx512)}
#endif
};

constexpr int chunks_a_thread = 16;  // as in kernel/chunks.hpp
constexpr std::int64_t row_cost = 2; // of a row beside its entries, in entries

/// The same pieces of work for every number of threads, but for how many groups make a chunk.
template <class V, class I>
struct shares_of_work {
  array<std::int64_t> first_group;
  array<dynamic_piece> piece;
  array<V> sums;
  array<std::byte> shares;

  shares_of_work(dynamic_view<V, I> const& a, std::size_t groups, int threads,
                 std::pmr::memory_resource* memory) {
    std::size_t pieces = 0;
    each_long_row(a, groups, [&](std::int64_t, std::int64_t n) {
      pieces += static_cast<std::size_t>((n + piece_entries - 1) / piece_entries);
    });
    piece = array<dynamic_piece>(pieces, memory);
    sums = array<V>(pieces, memory);
    shares = array<std::byte>(64 * static_cast<std::size_t>(threads), memory);
    pieces = 0;
    each_long_row(a, groups, [&](std::int64_t i, std::int64_t n) {
      for (std::int64_t k = 0; k < n; k += piece_entries)
        piece[pieces++] = {i, k};
    });
    auto const wanted = std::min<std::int64_t>(static_cast<std::int64_t>(groups),
                                               std::int64_t{chunks_a_thread} * threads);
    first_group = array<std::int64_t>(static_cast<std::size_t>(wanted) + 1, memory);
    auto const cost = [&](std::size_t g) {
      if (!a.order)
        return a.in_group[g] + row_cost * group_rows;
      std::int64_t const n = a.size(a.order[g * group_rows]); // and others as many, or almost
      return group_rows * ((n < long_row ? n : 0) + row_cost);
    };
    std::int64_t all = 0, before = 0;
    for (std::size_t g = 0; g < groups; ++g)
      all += cost(g);
    std::size_t chunk = 0;
    for (std::size_t g = 0; g < groups; ++g) {
      while (chunk < static_cast<std::size_t>(wanted) &&
             before >= all / wanted * static_cast<std::int64_t>(chunk))
        first_group[chunk++] = static_cast<std::int64_t>(g);
      before += cost(g);
    }
    while (chunk <= static_cast<std::size_t>(wanted))
      first_group[chunk++] = static_cast<std::int64_t>(groups);
  }

  template <class F>
  static void each_long_row(dynamic_view<V, I> const& a, std::size_t groups, F const& f) {
    for (std::size_t g = 0; g < groups; ++g)
      if (a.in_group[g] >= long_row)
        for (auto i = static_cast<std::int64_t>(g) * group_rows,
                  end = std::min<std::int64_t>(a.rows, i + group_rows);
             i < end; ++i)
          if (a.size(static_cast<I>(i)) >= long_row)
            f(i, a.size(static_cast<I>(i)));
  }
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
  // A product with no entries is one with an empty csr; and one with alpha == 0.
  if (a.row_ptr || rows.entries == 0 || alpha == V(0)) {
    bool const compact = a.row_ptr && rows.entries > 0;
    array<I> const none(compact ? 0 : static_cast<std::size_t>(s.rows) + 1, I(0), where.memory);
    csr_view<V, I, I> const c(unchecked, s.rows, s.cols, compact ? a.entries : I(0),
                              compact ? a.row_ptr : none.data(), compact ? a.pages[0].col : nullptr,
                              compact ? a.pages[0].val : nullptr);
    return spmv(tulle::where(where), alpha, c, x, beta, y);
  }
  detail::check_sizes(s.rows, s.cols, x.size(), y.size());
  if (!x.data() || !y.data())
    fail(errc::bad_structure, "spmv: x or y is null");
  if (detail::overlap(x.data(), x.size() * sizeof(V), y.data(), y.size() * sizeof(V)))
    fail(errc::bad_structure, "spmv: x and y overlap");
  int const threads = where.threads > 0 ? where.threads : default_threads();
  shares_of_work<V, I> work(a, rows.groups(), threads, where.memory);
  dynamic_call const call{&alpha,
                          &a,
                          x.data(),
                          &beta,
                          y.data(),
                          threads,
                          detail::passes_cache_by(rows.entries, sizeof(V) + sizeof(I), threads),
                          static_cast<std::int64_t>(work.first_group.size()) - 1,
                          work.first_group.data(),
                          static_cast<std::int64_t>(work.piece.size()),
                          work.piece.data(),
                          work.sums.data(),
                          work.shares.data()};
  auto const isa = static_cast<std::size_t>(active_isa());
  auto const type = static_cast<std::size_t>(type_of<V, I, I>::value);
  (*table[isa][type])(call);
}

#define TULLE_SPMV(tag, V, I, O)                                                                   \
  template void spmv(cpu const&, V, dynamic_csr<V, I> const&, vector_view<V const>, V,             \
                     vector_view<V>);
TULLE_TYPES(TULLE_SPMV)
#undef TULLE_SPMV

} // namespace tulle

// SPDX-License-Identifier: Apache-2.0

// src/cpu/spmv/bccoo.cpp:  y = alpha*A*x + beta*y, A in BCCOO, by runs of one block row, whose ends
// are bits: block_runs.hpp.
//
// Bytes that must move, double with 32-bit indices and 3 x 3 blocks: 8.47 per slot, 8 per row and 8
// per column.
#include "tulle/format/bccoo.hpp"

#include "cpu/spmv/block_runs.hpp"
#include "kernel/instantiate.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

/// Block rows by flags.
template <class I>
struct flagged_rows {
  std::uint64_t const* flag;
  I const* before;
  I const* block_row; // of those that have blocks
  bool has_empty;

  HWY_INLINE std::int64_t of(std::int64_t k) const {
    std::uint64_t const ended = ~flag[k / 64] & ((std::uint64_t(1) << k % 64) - 1);
    std::int64_t const n = before[k / 64] + __builtin_popcountll(ended);
    return has_empty ? static_cast<std::int64_t>(block_row[n]) : n;
  }
  HWY_INLINE bool ends(std::int64_t k) const { return !(flag[k / 64] >> k % 64 & 1); }
  HWY_INLINE std::int64_t run_end(std::int64_t k, std::int64_t end) const {
    std::uint64_t ended = ~flag[k / 64] >> k % 64;
    while (ended == 0) {
      k = (k / 64 + 1) * 64;
      if (k >= end)
        return end;
      ended = ~flag[k / 64];
    }
    k += __builtin_ctzll(ended) + 1;
    return k < end ? k : end;
  }
};

template <class V, class I, class O>
std::size_t prepare(bccoo_view<V, I, O> const& a, plan_view& p) {
  return prepare_runs(a, p);
}

template <class V, class I, class O>
void spmv(V alpha, bccoo_view<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p) {
  std::int64_t const block_rows = (a.rows + std::int64_t(a.height) - 1) / a.height;
  multiply_runs(alpha, a, flagged_rows<I>{a.flag, a.before, a.block_row, a.filled != block_rows}, x,
                beta, y, p);
}

} // namespace

TULLE_INSTANTIATE_SPMV(bccoo)

} // namespace tulle::kernels::TULLE_ISA

// SPDX-License-Identifier: Apache-2.0

// src/cpu/spmv/cbicrs.cpp:  y = alpha*A*x + beta*y, A in CBICRS.
//
// Parts, blocks and entries in order: bicrs_parts.hpp. Where a block has few entries per row the
// loop has no branch: the side of a block is a power of two, so the bit above the column says
// whether the row changes. Bytes that must move, double with 32-bit indices: 10 per entry, 2 per
// row of a block, 8 per row and 8 per column.
#include "tulle/format/cbicrs.hpp"

#include "cpu/spmv/bicrs_parts.hpp"
#include "kernel/instantiate.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

// Below this many entries per row of a block, on average, the loop has no branch. ms without and
// with the branch, one thread: circuit 200000, which has 2.7 entries, 4.2, 5.5; lattice and
// poisson2d5, which have more, 15, 4.0 and 6.5, 2.6.
constexpr std::int64_t branch_from = 3;

template <class V, class I, class O>
std::size_t prepare(cbicrs_view<V, I, O> const& a, plan_view& p) {
  return prepare_parts(a, 1, p);
}

/// The block's entries [k, end), each added to a sum in memory.
template <class V>
HWY_INLINE void add_entries(std::int16_t const* col, V const* val, std::int16_t const* jump,
                            std::int64_t k, std::int64_t end, int shift, V const* x, V* sum) {
  int const mask = (1 << shift) - 1;
  std::int64_t i = *jump++;
  int j = col[k];
  for (;;) {
    sum[i] = mul_add(val[k], x[j], sum[i]);
    if (++k == end)
      return;
    j += col[k];
    int const changes = j >> shift; // 0 or 1
    j &= mask;
    i += jump[changes - 1] & -changes; // the last one again: there may be no next one
    jump += changes;
  }
}

template <class V, class I, class O>
HWY_NOINLINE void add_part(cbicrs_view<V, I, O> const& a, std::size_t part, V const* x, V* sum) {
  int const shift = __builtin_ctz(static_cast<unsigned>(a.block));
  for (std::int64_t b = a.part_block[part]; b < static_cast<std::int64_t>(a.part_block[part + 1]);
       ++b) {
    std::int64_t const k = a.block_ptr[b];
    std::int64_t const end = a.block_ptr[b + 1];
    std::int64_t const jumps = a.jump_ptr[b + 1] - a.jump_ptr[b];
    std::int16_t const* const jump = a.row + a.jump_ptr[b];
    V const* const here = x + a.left(static_cast<std::size_t>(b));
    V* const to = sum + static_cast<std::int64_t>(a.block_row[b]) * a.block;
    if (end - k < branch_from * jumps)
      add_entries(a.col, a.val, jump, k, end, shift, here, to);
    else
      add_increments(a.col, a.val, jump, k, end, static_cast<std::uint32_t>(a.block), here, to);
  }
}

template <class V, class I, class O>
void spmv(V alpha, cbicrs_view<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p) {
  multiply_parts(alpha, a, x, beta, y, 1, p,
                 [&](std::size_t part, V* sum) { add_part(a, part, x, sum); });
}

} // namespace

TULLE_INSTANTIATE_SPMV(cbicrs)

} // namespace tulle::kernels::TULLE_ISA

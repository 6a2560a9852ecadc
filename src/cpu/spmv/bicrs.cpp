// SPDX-License-Identifier: Apache-2.0

// src/cpu/spmv/bicrs.cpp:  y = alpha*A*x + beta*y, A in BICRS.
//
// Entries of one part after the other: bicrs_parts.hpp. Bytes that must move, double with 32-bit
// indices: 12 per entry, 4 where the row changes, 8 per row and 8 per column.
#include "tulle/format/bicrs.hpp"

#include "cpu/spmv/bicrs_parts.hpp"
#include "kernel/instantiate.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

template <class V, class I, class O>
std::size_t prepare(bicrs_view<V, I, O> const& a, plan_view& p) {
  return prepare_parts(a, 1, p);
}

template <class V, class I, class O>
HWY_NOINLINE void add_part(bicrs_view<V, I, O> const& a, std::size_t part, V const* x, V* sum) {
  using U = std::make_unsigned_t<I>;
  if (a.part_ptr[part] != a.part_ptr[part + 1])
    add_increments(a.col, a.val, a.row + a.part_jump[part], a.part_ptr[part], a.part_ptr[part + 1],
                   static_cast<U>(a.cols), x, sum);
}

template <class V, class I, class O>
void spmv(V alpha, bicrs_view<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p) {
  multiply_parts(alpha, a, x, beta, y, 1, p,
                 [&](std::size_t part, V* sum) { add_part(a, part, x, sum); });
}

} // namespace

TULLE_INSTANTIATE_SPMV(bicrs)

} // namespace tulle::kernels::TULLE_ISA

// SPDX-License-Identifier: Apache-2.0

// What every form of C = A B asks of its operands, and the stages for them.
#pragma once
#include "tulle/format/csr.hpp"

#include "dispatch/spgemm.hpp"
#include "op/known_pattern.hpp"
#include "op/spgemm_stages.hpp"

#include <memory>

namespace tulle::detail {

template <class V, class I, class O>
void check_product(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b, where const& w) {
  check_operand("spgemm", "A", a, w);
  check_operand("spgemm", "B", b, w);
  if (a.cols != b.rows)
    fail(errc::shape_mismatch, "spgemm: A is %lld x %lld but B is %lld x %lld",
         static_cast<long long>(a.rows), static_cast<long long>(a.cols),
         static_cast<long long>(b.rows), static_cast<long long>(b.cols));
}

template <class V, class I, class O>
bool is_same(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b) {
  return a.col == b.col && a.val == b.val && a.row_ptr == b.row_ptr && a.nnz == b.nnz &&
         a.rows == b.rows && a.cols == b.cols;
}

/// Which operands are canonical; A A is looked at once.
struct canonical_operands {
  bool a = true, b = true;
};
template <class V, class I, class O>
canonical_operands which_canonical(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b,
                                   where const& w) {
  bool const of_a = a.is_canonical(w.as_cpu());
  return {of_a, is_same(a, b) ? of_a : b.is_canonical(w.as_cpu())};
}

/// A and B in canonical form; copies count against the limit.
template <class V, class I, class O>
struct product_operands {
  csr<V, I, O> copy_a, copy_b;
  csr_view<V, I, O> a, b;
  std::size_t limit; // what they leave of it

  product_operands(csr_view<V, I, O> const& from_a, csr_view<V, I, O> const& from_b,
                   canonical_operands are, where const& w)
      : a(from_a), b(from_b), limit(w.workspace_limit) {
    if (!are.a)
      a = sorted(a, copy_a, w);
    if (is_same(from_a, from_b))
      b = a;
    else if (!are.b)
      b = sorted(b, copy_b, w);
  }

private:
  csr_view<V, I, O> sorted(csr_view<V, I, O> const& from, csr<V, I, O>& copy, where const& w) {
    std::size_t const bytes = bytes_of(from);
    if (bytes > limit)
      fail(errc::out_of_memory, "spgemm: %zu bytes wanted to sort an operand, the limit leaves %zu",
           bytes, limit);
    limit -= bytes;
    copy = from.to_csr(w.as_cpu());
    return copy.view();
  }
};

template <class V, class I, class O>
std::unique_ptr<spgemm_stages> make_stages(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b,
                                           spgemm_options const& o, where const& w,
                                           std::size_t limit, O const* first = nullptr) {
  return std::make_unique<spgemm_stages>(
      dispatch::cpu_spgemm(active_isa(), type_of<V, I, O>::value),
      spgemm_sizes{static_cast<std::size_t>(a.rows), static_cast<std::size_t>(b.rows),
                   static_cast<std::size_t>(a.nnz), sizeof(V), sizeof(I), first},
      &a, &b, o, w, limit);
}

/// C with room for its entries; row_ptr becomes true when they are filled in.
template <class V, class I, class O>
csr<V, I, O> counted(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b, spgemm_stages& s,
                     where const& w) {
  auto const rows = static_cast<std::size_t>(a.rows);
  csr<V, I, O> c(unchecked, a.rows, b.cols, array<O>(rows + 1, w.memory), {}, {});
  c.row_ptr[0] = 0;
  auto const nnz =
      static_cast<std::size_t>(narrow<O>(s.count(c.row_ptr.data()), "spgemm: number of entries"));
  c.col = array<I>(nnz, w.memory);
  c.val = array<V>(nnz, w.memory);
  return c;
}

} // namespace tulle::detail

// SPDX-License-Identifier: Apache-2.0

// A A^T by its upper half: the stages of C = A B with B = A^T, of whose rows row i takes the
// entries from column i on. The lower half is copied from it.
#include "tulle/op/spgemm_aat.hpp"

#include "tulle/op/transpose.hpp"

#include "op/spgemm_operands.hpp"
#include "reference/spgemm.hpp"

#include <utility>

namespace tulle::detail {
namespace {

/// For each entry of A its place in A^T, which it is the mirror of.
template <class V, class I, class O>
array<O> places_in(csr_view<V, I, O> const& b, csr_view<V, I, O> const& a, where const& w) {
  auto const n = static_cast<std::size_t>(a.nnz);
  array<O> place(n, w.memory);
  array<O> next(b.row_ptr, static_cast<std::size_t>(b.rows), w.memory);
  for (std::size_t k = 0; k < n; ++k) // rows ascend, and so do the entries of a row of A^T
    place[k] = next[static_cast<std::size_t>(a.col[k])]++;
  return place;
}

/// What lies from the diagonal on.
template <class V, class I, class O>
csr<V, I, O> upper_of(csr<V, I, O> c) {
  std::size_t to = 0;
  for (std::size_t i = 0, end = 0; i < static_cast<std::size_t>(c.rows); ++i) {
    std::size_t const begin = std::exchange(end, static_cast<std::size_t>(c.row_ptr[i + 1]));
    for (std::size_t k = begin; k < end; ++k)
      if (static_cast<std::size_t>(c.col[k]) >= i) {
        c.col[to] = c.col[k];
        c.val[to++] = c.val[k];
      }
    c.row_ptr[i + 1] = static_cast<O>(to);
  }
  return csr<V, I, O>(unchecked, c.rows, c.cols, std::move(c.row_ptr), array<I>(c.col.data(), to),
                      array<V>(c.val.data(), to));
}

} // namespace

template <class V, class I, class O>
csr<V, I, O> spgemm_aat(where const& w, csr_view<V, I, O> a, aat_options o) {
  check_operand("spgemm_aat", "A", a, w);
  if (o.upper_only && o.method == spgemm_method::global_esc)
    fail(errc::unsupported, "spgemm_aat: global_esc has no halves; the other methods do");
  product_operands<V, I, O> const from(a, a, which_canonical(a, a, w), w);
  std::size_t const offsets =
      static_cast<std::size_t>(from.a.nnz) + static_cast<std::size_t>(from.a.cols);
  std::size_t const bytes = bytes_of(from.a) + (o.upper_only ? offsets * sizeof(O) : 0);
  if (bytes > from.limit)
    fail(errc::out_of_memory, "spgemm_aat: %zu bytes wanted for A^T, the limit leaves %zu", bytes,
         from.limit);
  csr<V, I, O> const other = transpose(w, from.a);
  if (w.backend == backend::reference) {
    csr<V, I, O> c = reference_backend::spgemm(from.a, other.view(), w.memory);
    return o.upper_only ? upper_of(std::move(c)) : c;
  }
  where rest = w;
  rest.workspace_limit = from.limit - bytes;
  if (!o.upper_only)
    return spgemm(rest, from.a, other.view(), {.method = o.method});
  csr_view<V, I, O> const b = other.view();
  array<O> const first = places_in(b, from.a, w);
  auto const s =
      make_stages(from.a, b, {.method = o.method}, w, rest.workspace_limit, first.data());
  csr<V, I, O> u = counted(from.a, b, *s, w);
  s->fill(&from.a, &b, u.row_ptr.data(), u.col.data(), u.val.data(), false);
  return u;
}

#define TULLE_AAT(tag, V, I, O)                                                                    \
  template csr<V, I, O> spgemm_aat(where const&, csr_view<V, I, O>, aat_options);
TULLE_TYPES(TULLE_AAT)
TULLE_BASIC_TYPES(TULLE_AAT)
#undef TULLE_AAT

} // namespace tulle::detail

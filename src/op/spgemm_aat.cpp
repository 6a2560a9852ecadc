// SPDX-License-Identifier: Apache-2.0

// A A^T by its upper half: the stages of C = A B with B = A^T, of whose rows row i takes the
// entries from column i on. The lower half is copied from it.
#include "tulle/op/spgemm_aat.hpp"

#include "tulle/core/limited.hpp"
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
csr<V, I, O> upper_of(csr<V, I, O> c, where const& w) {
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
  return csr<V, I, O>(unchecked, c.rows, c.cols, std::move(c.row_ptr),
                      array<I>(c.col.data(), to, w.memory), array<V>(c.val.data(), to, w.memory));
}

template <class V, class I, class O>
csr<V, I, O> multiply(where const& w, csr_view<V, I, O> const& a, aat_options const& o,
                      std::size_t by_caller) {
  product_operands<V, I, O> const from(a, a, which_canonical(a, a, w), w, by_caller);
  std::size_t const offsets =
      static_cast<std::size_t>(from.a.nnz) + static_cast<std::size_t>(from.a.cols);
  std::size_t const others = o.upper_only ? offsets * sizeof(O) : 0;
  std::size_t const transposed = (static_cast<std::size_t>(from.a.cols) + 1) * sizeof(O) +
                                 static_cast<std::size_t>(from.a.nnz) * (sizeof(V) + sizeof(I));
  if (transposed + others > from.limit)
    fail(errc::out_of_memory,
         "spgemm_aat: %zu bytes of workspace wanted at least, with A^T, the limit is %zu",
         from.taken + transposed + others, w.workspace_limit);
  cpu to = w.as_cpu(); // what a sort takes comes before anything else does
  to.workspace_limit = from.limit;
  limited space("spgemm_aat", to);
  csr<V, I, O> const other = transpose(space.rest(where(space.counted())), from.a);
  if (w.backend == backend::reference) {
    csr<V, I, O> c = kernels::reference::spgemm(from.a, other.view(), w.memory);
    return o.upper_only ? upper_of(std::move(c), w) : c;
  }
  if (!o.upper_only)
    return spgemm(w, from.a, other.view(), {.method = o.method}, from.taken + space.taken());
  csr_view<V, I, O> const b = other.view();
  array<O> const first = places_in(b, from.a, where(space.counted()));
  std::size_t const taken = from.taken + space.taken();
  auto const s = make_stages(from.a, b, {.method = o.method}, w,
                             {w.workspace_limit - taken, taken, 0, most_kept}, first.data());
  csr<V, I, O> u = counted(from.a, b, *s, w);
  s->fill(&from.a, &b, u.row_ptr.data(), u.col.data(), u.val.data(), false);
  return u;
}

} // namespace

template <class V, class I, class O>
csr<V, I, O> spgemm_aat(where const& w, csr_view<V, I, O> a, aat_options o, std::size_t taken) {
  check_operand("spgemm_aat", "A", a, w);
  if (o.upper_only && o.method == spgemm_method::global_esc)
    fail(errc::unsupported, "spgemm_aat: global_esc has no halves; the other methods do");
  return typed_memory("spgemm_aat", [&] { return multiply(w, a, o, taken); });
}

#define TULLE_AAT(tag, V, I, O)                                                                    \
  template csr<V, I, O> spgemm_aat(where const&, csr_view<V, I, O>, aat_options, std::size_t);
TULLE_TYPES(TULLE_AAT)
TULLE_BASIC_TYPES(TULLE_AAT)
#undef TULLE_AAT

} // namespace tulle::detail

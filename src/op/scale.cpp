// SPDX-License-Identifier: Apache-2.0

// s A, D A and A D. Memory decides: a value in and out, and 4 bytes of 32-bit index for A D.
#include "tulle/op/scale.hpp"

#include "op/each_row.hpp"
#include "op/operands.hpp"
#include "op/sparse_operands.hpp"
#include "reference/scale.hpp"

#include <complex>

namespace tulle::detail {
namespace {

template <class V, class I, class O>
void check_diagonal(char const* op, diagonal_side side, vector_view<V const> d,
                    csr_view<V, I, O> const& a) {
  bool const left = side == diagonal_side::left;
  auto const n = static_cast<std::size_t>(left ? a.rows : a.cols);
  if (d.size() != n)
    fail(errc::shape_mismatch, "%s: d has %zu entries but A has %zu %s", op, d.size(), n,
         left ? "rows" : "columns");
  if (n != 0 && d.data() == nullptr)
    fail(errc::bad_structure, "%s: d is null but has %zu entries", op, n);
}

/// That `to` is apart from all that is read but A's values themselves.
template <class V, class I, class O>
void check_values(char const* op, vector_view<V const> d, csr_view<V, I, O> const& a,
                  vector_view<V> to) {
  auto const n = static_cast<std::size_t>(a.nnz);
  if (to.size() != n)
    fail(errc::shape_mismatch, "%s: there are %zu values but A has %zu entries", op, to.size(), n);
  if (n != 0 && to.data() == nullptr)
    fail(errc::bad_structure, "%s: the values are null but there are %zu", op, n);
  check_apart(op, "the result", to, "d", d.data(), d.size());
  csr_view<V, I, O> rest = a;
  if (to.data() == a.val)
    rest.val = nullptr;
  if (overlaps(rest, to.data(), to.data() + n))
    fail(errc::bad_structure, "%s: the result overlaps the arrays of A", op);
}

} // namespace

template <class V>
void scale(where const& w, V factor, vector_view<V> val) {
  bool const plain = by_reference("scale", w);
  V* const x = val.data();
  std::size_t const n = val.size();
  if (n != 0 && x == nullptr)
    fail(errc::bad_structure, "scale: the values are null but there are %zu", n);
  if (plain)
    return kernels::reference::scale(factor, x, n);
  int const parts = parts_for(n, w.threads);
  parallel(parts, [&](int part) {
    std::size_t const end = split(n, part + 1, parts);
    for (std::size_t k = split(n, part, parts); k < end; ++k)
      x[k] = factor == V(0) ? V(0) : factor * x[k];
  });
}

template <class V, class I, class O>
void scale_by_diagonal(where const& w, diagonal_side side, vector_view<V const> d,
                       csr_view<V, I, O> a, vector_view<V> to) {
  char const* const op = side == diagonal_side::left ? "scale_rows" : "scale_columns";
  check_host_operand(op, a, w);
  check_diagonal(op, side, d, a);
  check_values(op, d, a, to);
  V const* const factor = d.data();
  V* const out = to.data();
  if (w.backend == backend::reference)
    return kernels::reference::scale_by_diagonal(side, factor, a, out);
  int const parts = parts_of_rows(a, w);
  auto const rows = static_cast<std::size_t>(a.rows);
  if (side == diagonal_side::left)
    return each_row(a.row_ptr, rows, parts, [=](std::size_t i) {
      for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
        out[k] = factor[i] * a.val[k];
    });
  auto const n = static_cast<std::size_t>(a.nnz);
  parallel(parts, [&](int part) {
    std::size_t const end = split(n, part + 1, parts);
    for (std::size_t k = split(n, part, parts); k < end; ++k)
      out[k] = a.val[k] * factor[a.col[k]];
  });
}

template <class V, class I, class O>
csr<V, I, O> scaled_by_diagonal(where const& w, diagonal_side side, vector_view<V const> d,
                                csr_view<V, I, O> a) {
  char const* const op = side == diagonal_side::left ? "scaled_rows" : "scaled_columns";
  check_host_operand(op, a, w);
  check_diagonal(op, side, d, a);
  csr<V, I, O> c = same_pattern(a, w);
  scale_by_diagonal(w, side, d, a, vector_view<V>(c.val));
  return c;
}

template void scale(where const&, float, vector_view<float>);
template void scale(where const&, double, vector_view<double>);
template void scale(where const&, std::complex<float>, vector_view<std::complex<float>>);
template void scale(where const&, std::complex<double>, vector_view<std::complex<double>>);

#define TULLE_SCALE(tag, V, I, O)                                                                  \
  template void scale_by_diagonal(where const&, diagonal_side, vector_view<V const>,               \
                                  csr_view<V, I, O>, vector_view<V>);                              \
  template csr<V, I, O> scaled_by_diagonal(where const&, diagonal_side, vector_view<V const>,      \
                                           csr_view<V, I, O>);
TULLE_TYPES(TULLE_SCALE)
TULLE_BASIC_TYPES(TULLE_SCALE)
#undef TULLE_SCALE

} // namespace tulle::detail

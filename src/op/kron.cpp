// SPDX-License-Identifier: Apache-2.0

// The Kronecker product. The result is all that counts: 12 bytes written an entry, double with
// 32-bit indices.
#include "tulle/op/kron.hpp"

#include "op/each_row.hpp"
#include "op/known_pattern.hpp"
#include "reference/places.hpp"

#include <complex>

namespace tulle::detail {

template <class V, class I, class O>
csr<V, I, O> kron(where const& w, csr_view<V, I, O> a, csr_view<V, I, O> b) {
  check_operand("kron", "A", a, w);
  check_operand("kron", "B", b, w);
  auto const size = [](auto n) { return static_cast<std::size_t>(n); };
  std::size_t const rows = checked_mul(size(a.rows), size(b.rows), "kron");
  std::size_t const cols = checked_mul(size(a.cols), size(b.cols), "kron");
  narrow<I>(rows, "kron: number of rows");
  narrow<I>(cols, "kron: number of columns");
  canonical_operand<V, I, O> const of_a("kron", a, w);
  where rest = w;
  rest.workspace_limit -= w.workspace_limit == SIZE_MAX ? 0 : of_a.bytes;
  canonical_operand<V, I, O> const of_b("kron", b, rest);
  a = of_a.view;
  b = of_b.view;
  std::size_t const entries = checked_mul(size(a.nnz), size(b.nnz), "kron");
  narrow<O>(entries, "kron: number of entries");
  if (w.backend == backend::reference)
    return kernels::reference::by_places<V, I, O>(
        static_cast<I>(rows), static_cast<I>(cols),
        [&](I i, I j, V& v) {
          V of_b(0);
          if (!kernels::reference::is_entry(a, static_cast<I>(i / b.rows),
                                            static_cast<I>(j / b.cols), v) ||
              !kernels::reference::is_entry(b, static_cast<I>(i % b.rows),
                                            static_cast<I>(j % b.cols), of_b))
            return false;
          v = v * of_b;
          return true;
        },
        w.memory);
  std::size_t const p = size(b.rows);
  auto const length = [](csr_view<V, I, O> const& x, std::size_t i) {
    return static_cast<std::size_t>(x.row_ptr[i + 1] - x.row_ptr[i]);
  };
  auto const before = [&](std::size_t i) { // entries of C before row i
    std::size_t const row = p == 0 ? 0 : i / p, within = p == 0 ? 0 : i % p;
    std::size_t const whole = size(a.row_ptr[row]) * size(b.nnz);
    return within == 0 ? whole : whole + length(a, row) * size(b.row_ptr[within]);
  };
  int const parts = parts_for(entries + rows, w.threads);
  return build_rows<V, I, O>(
      "kron", w, rows, cols, [&](auto const& f) { each_row_by(before, rows, parts, f); },
      [&](std::size_t i) { return length(a, i / p) * length(b, i % p); },
      [&](std::size_t i, std::size_t, I* col, V* val) {
        std::size_t const within = i % p, n = length(b, within);
        I const* const b_col = b.col + b.row_ptr[within];
        V const* const b_val = b.val + b.row_ptr[within];
        for (O k = a.row_ptr[i / p]; k < a.row_ptr[i / p + 1]; ++k, col += n, val += n) {
          I const first = static_cast<I>(a.col[k] * b.cols);
          V const factor = a.val[k];
          for (std::size_t l = 0; l < n; ++l) {
            col[l] = static_cast<I>(first + b_col[l]);
            val[l] = factor * b_val[l];
          }
        }
      });
}

#define TULLE_KRON(tag, V, I, O)                                                                   \
  template csr<V, I, O> kron(where const&, csr_view<V, I, O>, csr_view<V, I, O>);
TULLE_TYPES(TULLE_KRON)
TULLE_BASIC_TYPES(TULLE_KRON)
#undef TULLE_KRON

} // namespace tulle::detail

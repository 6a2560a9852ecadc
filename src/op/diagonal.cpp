// SPDX-License-Identifier: Apache-2.0

// Diagonals. Rows may be in any order, so each is looked through: 4 bytes an entry with 32-bit
// indices.
#include "tulle/op/diagonal.hpp"

#include "reference/diagonal.hpp"

namespace tulle::detail {

template <class V, class I, class O>
void diagonal(where const& w, csr_view<V, I, O> a, vector_view<V> d, std::int64_t k) {
  check_host_operand("diagonal", a, w);
  std::size_t const n = diagonal_length(a.rows, a.cols, k);
  V* const to = d.data();
  if (d.size() != n)
    fail(errc::shape_mismatch,
         "diagonal: d has %zu entries but diagonal %lld of a %lld x %lld matrix has %zu", d.size(),
         static_cast<long long>(k), static_cast<long long>(a.rows), static_cast<long long>(a.cols),
         n);
  if (n != 0 && to == nullptr)
    fail(errc::bad_structure, "diagonal: d is null but has %zu entries", n);
  if (w.backend == backend::reference)
    return kernels::reference::diagonal(a, k, to, n);
  if (n == 0)
    return;
  std::size_t const first = k < 0 ? static_cast<std::size_t>(-k) : 0; // row of d's first element
  auto const entries = static_cast<std::size_t>(a.row_ptr[first + n] - a.row_ptr[first]);
  int const parts = parts_for(entries + n, w.threads);
  parallel(parts, [&](int part) {
    std::size_t const end = split(n, part + 1, parts);
    for (std::size_t i = split(n, part, parts); i < end; ++i) {
      auto const j = static_cast<I>(static_cast<std::int64_t>(first + i) + k);
      V sum(0);
      for (O p = a.row_ptr[first + i]; p < a.row_ptr[first + i + 1]; ++p)
        if (a.col[p] == j)
          sum += a.val[p];
      to[i] = sum;
    }
  });
}

template <class V, class I, class O>
csr<V, I, O> from_diagonal(where const& w, vector_view<V const> d, std::int64_t k) {
  if (w.backend != backend::cpu && w.backend != backend::reference)
    fail(errc::unsupported, "from_diagonal: no %s backend is loaded", name(w.backend));
  std::size_t const n = d.size();
  if (n != 0 && d.data() == nullptr)
    fail(errc::bad_structure, "from_diagonal: d is null but has %zu entries", n);
  auto const away = k < 0 ? ~static_cast<std::uint64_t>(k) + 1 : static_cast<std::uint64_t>(k);
  narrow<I>(away, "from_diagonal: the distance from the diagonal");
  narrow<O>(n, "from_diagonal: number of entries");
  std::size_t const rows = static_cast<std::size_t>(away) + n;
  csr<V, I, O> c(unchecked, narrow<I>(rows, "from_diagonal: number of rows"), static_cast<I>(rows),
                 array<O>(rows + 1, w.memory), array<I>(n, w.memory),
                 array<V>(d.data(), n, w.memory));
  std::size_t const first = k < 0 ? static_cast<std::size_t>(away) : 0; // row of d's first element
  for (std::size_t i = 0; i <= rows; ++i)
    c.row_ptr[i] = static_cast<O>(std::min(n, i > first ? i - first : 0));
  for (std::size_t i = 0; i < n; ++i)
    c.col[i] = static_cast<I>(i + (k < 0 ? 0 : static_cast<std::size_t>(away)));
  return c;
}

#define TULLE_DIAGONAL(tag, V, I, O)                                                               \
  template void diagonal(where const&, csr_view<V, I, O>, vector_view<V>, std::int64_t);           \
  template csr<V, I, O> from_diagonal(where const&, vector_view<V const>, std::int64_t);
TULLE_TYPES(TULLE_DIAGONAL)
TULLE_BASIC_TYPES(TULLE_DIAGONAL)
#undef TULLE_DIAGONAL

} // namespace tulle::detail

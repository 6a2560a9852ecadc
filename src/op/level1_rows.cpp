// SPDX-License-Identifier: Apache-2.0

// Sparse vectors in batches, as the rows of csr: out_i = A_i . B_i, and values from a dense y. Rows
// are dealt to threads by their entries; a row is one thread's, summed as dot of two vectors is.
#include "tulle/op/level1.hpp"

#include "op/dot_row.hpp"
#include "op/each_row.hpp"
#include "op/sparse_operands.hpp"
#include "reference/level1.hpp"

#include <algorithm>

namespace tulle::detail {
namespace {

constexpr std::size_t ahead = 32; // these two as in level1.cpp
constexpr std::size_t near_bytes = 1 << 24;
constexpr std::size_t grain = 1 << 14; // entries that a thread is started for

template <class V, class I, class O>
void check_batch(char const* op, char const* who, csr_view<V, I, O> a) {
  if (char const* const missing = missing_array(a))
    fail(errc::bad_structure, "%s: the array %s of %s is null, but it is %lld x %lld", op, missing,
         who, static_cast<long long>(a.rows), static_cast<long long>(a.cols));
}

template <class V, class I, class O>
void check_canonical(char const* op, char const* who, csr_view<V, I, O> a, int threads) {
  if (a.is_canonical(cpu{.threads = threads}))
    return;
  for (I i = 0; i < a.rows; ++i)
    for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
      if (k != a.row_ptr[i] && a.col[k] <= a.col[k - 1])
        fail(errc::bad_structure,
             "%s: row %lld of %s is not canonical: column %lld after %lld; make it so with to_csr",
             op, static_cast<long long>(i), who, static_cast<long long>(a.col[k]),
             static_cast<long long>(a.col[k - 1]));
}

template <class V, class I, class O>
sparse_vector_view<V, I> row_of(csr_view<V, I, O> a, std::size_t i) {
  O const first = a.row_ptr[i];
  return {unchecked, a.cols, static_cast<I>(a.row_ptr[i + 1] - first), a.col + first,
          a.val + first};
}

template <bool conjugate, class V, class I>
V dot_row(sparse_vector_view<V, I> x, sparse_vector_view<V, I> y) {
  row_entries<V, I> const a{x.index, x.val, static_cast<std::size_t>(x.nnz)};
  row_entries<V, I> const b{y.index, y.val, static_cast<std::size_t>(y.nnz)};
  std::size_t const n = std::min(a.n, b.n);
  std::size_t const chunk = chunk_of(n);
  wide_t<V> sum = 0;
  for (std::size_t k = 0; k < n; k += chunk)
    sum += dot_chunk<conjugate>(a, b, k, std::min(n, k + chunk));
  return static_cast<V>(sum);
}

} // namespace

template <class V, class I, class O>
void level1_rows<V, I, O>::dot(where const& w, csr_view<V, I, O> a, csr_view<V, I, O> b,
                               vector_view<V> out, dot_options options) {
  if (a.rows != b.rows || a.cols != b.cols)
    fail(errc::shape_mismatch, "dot: A is %lld x %lld but B is %lld x %lld",
         static_cast<long long>(a.rows), static_cast<long long>(a.cols),
         static_cast<long long>(b.rows), static_cast<long long>(b.cols));
  auto const n = static_cast<std::size_t>(a.rows);
  if (out.size() != n)
    fail(errc::shape_mismatch, "dot: out has %zu entries but A has %zu rows", out.size(), n);
  check_batch("dot", "A", a);
  check_batch("dot", "B", b);
  V* const to = out.data();
  if (n != 0 && to == nullptr)
    fail(errc::bad_structure, "dot: out is null but has %zu entries", n);
  if (overlaps(a, to, to + n) || overlaps(b, to, to + n))
    fail(errc::bad_structure, "dot: out overlaps the arrays of A or B");
  bool const plain = by_reference("dot", w);
  check_canonical("dot", "A", a, w.threads);
  check_canonical("dot", "B", b, w.threads);
  if (n == 0)
    return;
  if (plain) {
    for (std::size_t i = 0; i < n; ++i)
      to[i] = kernels::reference::dot(row_of(a, i), row_of(b, i), options.conjugate);
    return;
  }

  // Rows count too, so that empty ones are shared.
  auto const work = [=](std::size_t i) {
    return static_cast<std::size_t>(a.row_ptr[i]) + static_cast<std::size_t>(b.row_ptr[i]) + i;
  };
  detail::each_row_by(work, n, parts_for(work(n), w.threads, grain), [&](std::size_t i) {
    to[i] = options.conjugate ? dot_row<true>(row_of(a, i), row_of(b, i))
                              : dot_row<false>(row_of(a, i), row_of(b, i));
  });
}

template <class V, class I, class O>
void level1_rows<V, I, O>::gather(where const& w, vector_view<V const> y, csr_view<V, I, O> a,
                                  V* val) {
  V const* const from = y.data();
  if (y.size() != static_cast<std::size_t>(a.cols))
    fail(errc::shape_mismatch, "gather: y has %zu entries but A has %lld columns", y.size(),
         static_cast<long long>(a.cols));
  check_batch("gather", "A", a);
  if (y.size() != 0 && from == nullptr)
    fail(errc::bad_structure, "gather: y is null but has %zu entries", y.size());
  if (overlaps(a, from, from + y.size()))
    fail(errc::bad_structure, "gather: y overlaps the arrays of A");
  auto const n = static_cast<std::size_t>(a.nnz);
  bool const far = y.size() > near_bytes / sizeof(V);
  int const parts = by_reference("gather", w) ? 1 : parts_for(n, w.threads, grain);
  parallel(parts, [&](int part) {
    std::size_t const end = split(n, part + 1, parts);
    for (std::size_t k = split(n, part, parts); k < end; ++k) {
      if (far && k + ahead < n)
        __builtin_prefetch(from + a.col[k + ahead]);
      val[k] = from[a.col[k]];
    }
  });
}

#define TULLE_LEVEL1_ROWS(tag, V, I, O) template struct level1_rows<V, I, O>;
TULLE_TYPES(TULLE_LEVEL1_ROWS)
TULLE_BASIC_TYPES(TULLE_LEVEL1_ROWS)

} // namespace tulle::detail

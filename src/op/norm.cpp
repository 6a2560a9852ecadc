// SPDX-License-Identifier: Apache-2.0

// Norms. Values are read once, 12 bytes an entry for the largest column sum. Frobenius and max are
// those of the vector of the values.
#include "tulle/op/norm.hpp"

#include "op/each_row.hpp"
#include "op/vector_blocks.hpp"
#include "reference/norm.hpp"

#include <complex>

namespace tulle::detail {
namespace {

using kernels::reference::modulus;

/// NaN where one of them is.
double largest_of(double const* x, std::size_t n) {
  double most = 0;
  for (std::size_t i = 0; i < n; ++i)
    most = greater_or_nan(most, x[i]);
  return most;
}

template <class V, class I, class O>
double largest_row_sum(csr_view<V, I, O> const& a, int parts) {
  double most[most_threads] = {};
  auto const rows = static_cast<std::size_t>(a.rows);
  if (rows == 0)
    return 0;
  parallel(parts, [&](int part) {
    double here = 0;
    std::size_t const end = split_by_entries(a.row_ptr, rows, part + 1, parts);
    for (std::size_t i = split_by_entries(a.row_ptr, rows, part, parts); i < end; ++i) {
      double sum = 0;
      for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
        sum += static_cast<double>(modulus(a.val[k]));
      here = greater_or_nan(here, sum);
    }
    most[part] = here;
  });
  return largest_of(most, static_cast<std::size_t>(parts));
}

/// Entries in chunks that the matrix alone decides, each with sums of its own for all columns; the
/// sums of a column are added in the order of chunks.
template <class V, class I, class O>
double largest_column_sum(where const& w, csr_view<V, I, O> const& a, std::size_t taken) {
  constexpr std::size_t most_chunks = 8;
  auto const cols = static_cast<std::size_t>(a.cols), n = static_cast<std::size_t>(a.nnz);
  if (n == 0)
    return 0;
  std::size_t const chunks = std::clamp<std::size_t>(n / (2 * cols), 1, most_chunks);
  std::size_t const bytes = checked_mul(checked_mul(chunks, cols, "norm"), sizeof(double), "norm");
  check_workspace("norm", taken + bytes, w);
  array<double> sums(chunks * cols, w.memory);
  int const all = static_cast<int>(chunks);
  parallel_each(chunks, std::min(all, parts_for(n, w.threads)), [&](std::size_t c, int) {
    double* const sum = sums.data() + c * cols;
    std::fill_n(sum, cols, 0.0);
    std::size_t const end = split(n, static_cast<int>(c) + 1, all);
    for (std::size_t k = split(n, static_cast<int>(c), all); k < end; ++k)
      sum[a.col[k]] += static_cast<double>(modulus(a.val[k]));
  });
  double most[most_threads] = {};
  int const parts = parts_for(chunks * cols, w.threads);
  parallel(parts, [&](int part) {
    double here = 0;
    std::size_t const end = split(cols, part + 1, parts);
    for (std::size_t j = split(cols, part, parts); j < end; ++j) {
      double sum = sums[j];
      for (std::size_t c = 1; c < chunks; ++c)
        sum += sums[c * cols + j];
      here = greater_or_nan(here, sum);
    }
    most[part] = here;
  });
  return largest_of(most, static_cast<std::size_t>(parts));
}

} // namespace

template <class V, class I, class O>
real_t<V> norm(where const& w, csr_view<V, I, O> a, norm_kind kind) {
  check_host_operand("norm", a, w);
  canonical_operand<V, I, O> const from("norm", a, w);
  a = from.view;
  if (w.backend == backend::reference)
    return kernels::reference::norm(a, kind, w.memory);
  vector_view<V const> const val(a.val, static_cast<std::size_t>(a.nnz));
  switch (kind) {
  case norm_kind::frobenius:
    return dense_level1<V>::norm2(w, val);
  case norm_kind::max:
    return dense_level1<V>::norm_inf(w, val);
  case norm_kind::inf:
    return static_cast<real_t<V>>(largest_row_sum(a, parts_of_rows(a, w)));
  case norm_kind::one:
    break;
  }
  return static_cast<real_t<V>>(largest_column_sum(w, a, from.bytes));
}

#define TULLE_NORM(tag, V, I, O)                                                                   \
  template real_t<V> norm(where const&, csr_view<V, I, O>, norm_kind);
TULLE_TYPES(TULLE_NORM)
TULLE_BASIC_TYPES(TULLE_NORM)
#undef TULLE_NORM

} // namespace tulle::detail

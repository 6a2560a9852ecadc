// SPDX-License-Identifier: Apache-2.0

// Liu, thesis 2015, sec. 9.3.2 names four ways to learn the size of C: precise, probabilistic,
// upper bound, progressive. This is the second and the third of them.
#include "tulle/op/spgemm_forecast.hpp"

#include "op/spgemm_operands.hpp"

#include <algorithm>
#include <cmath>

namespace tulle {
namespace {

// ns of a thread for a product by each kind of row, and for an entry of C, on two threads of Zen 4:
// of poisson2d5 2000 (program), cage11 (scatter), rmat 16 (dense), fem 60000 (grouped), random rows
// (the others). copy, heap and merge are guesses.
constexpr double ns_a_product[row_kinds] = {0, 2, 3, 1.5, 3, 2.5, 3.3, .85, 3.3, 40, 20, 40, 40};
constexpr double ns_an_entry = 2;

} // namespace

namespace detail {
namespace {

template <class V, class I, class O>
product_forecast forecast(where const& w, csr_view<V, I, O> const& a, csr_view<V, I, O> const& b,
                          std::size_t samples, std::size_t taken) {
  check_product(a, b, w);
  product_operands<V, I, O> const from(a, b, which_canonical(a, b, w), w, taken);
  auto const s = make_stages(from.a, from.b, {}, w, from.keeping_room());
  spgemm_survey const& all = s->task().all;
  auto const rows = static_cast<std::size_t>(a.rows);
  s->clear(0);
  product_forecast f;
  f.products = static_cast<std::size_t>(all.products);
  f.most_entries = static_cast<std::size_t>(all.most_entries);
  f.path = s->summary();
  f.is_exact = rows <= samples || all.products == 0;
  if (f.is_exact) {
    for (std::size_t i = 0; i < rows; ++i)
      f.entries += static_cast<double>(s->count_row(i));
    f.entries_low = f.entries_high = f.entries;
    f.sampled_rows = rows;
  } else {
    // The row of every (products / samples)-th product.
    double const step = static_cast<double>(f.products) / static_cast<double>(samples);
    double next = step / 2, before = 0, sum = 0, squares = 0;
    std::size_t drawn = 0;
    for (std::size_t i = 0; i < rows && drawn < samples; ++i) {
      double products = 0;
      for (O k = from.a.row_ptr[i]; k < from.a.row_ptr[i + 1]; ++k)
        products +=
            static_cast<double>(from.b.row_ptr[from.a.col[k] + 1] - from.b.row_ptr[from.a.col[k]]);
      before += products;
      if (before <= next)
        continue;
      double const part = static_cast<double>(s->count_row(i)) / products;
      ++f.sampled_rows;
      for (; next < before && drawn < samples; next += step, ++drawn) {
        sum += part;
        squares += part * part;
      }
    }
    auto const n = static_cast<double>(drawn);
    double const mean = sum / n, variance = std::max(0.0, squares / n - mean * mean);
    double const half = 1.96 * std::sqrt(variance / static_cast<double>(f.sampled_rows));
    auto const all_products = static_cast<double>(f.products);
    f.entries = mean * all_products;
    f.entries_low = std::max(0.0, (mean - half) * all_products);
    f.entries_high = std::min(static_cast<double>(f.most_entries), (mean + half) * all_products);
  }
  f.workspace_bytes =
      from.taken + s->bytes() + s->kept_bytes(static_cast<std::size_t>(f.entries_high));
  f.result_bytes =
      static_cast<std::size_t>(f.entries_high) * (sizeof(V) + sizeof(I)) + (rows + 1) * sizeof(O);
  f.peak_bytes = f.result_bytes + f.workspace_bytes;
  f.seconds = ns_an_entry * f.entries;
  for (int k = 0; k < row_kinds; ++k)
    f.seconds += ns_a_product[k] * static_cast<double>(all.products_by[k]);
  f.seconds *= 1e-9 / s->threads();
  return f;
}

} // namespace

template <class V, class I, class O>
product_forecast spgemm_forecast(where const& w, csr_view<V, I, O> a, csr_view<V, I, O> b,
                                 std::size_t samples, std::size_t taken) {
  return typed_memory("spgemm_forecast", [&] { return forecast(w, a, b, samples, taken); });
}

#define TULLE_FORECAST(tag, V, I, O)                                                               \
  template product_forecast spgemm_forecast(where const&, csr_view<V, I, O>, csr_view<V, I, O>,    \
                                            std::size_t, std::size_t);
TULLE_TYPES(TULLE_FORECAST)
TULLE_BASIC_TYPES(TULLE_FORECAST)
#undef TULLE_FORECAST

} // namespace detail
} // namespace tulle

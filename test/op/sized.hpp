// SPDX-License-Identifier: Apache-2.0

/// Matrices of sizes at which loops change: nothing, one, about a vector, a word, a block; a prime.
#pragma once
#include "tulle/op/dense_level1.hpp"

#include "support/zoo.hpp"

namespace tulle::test {

inline constexpr std::int32_t loop_sizes[] = {0, 1, 2, 31, 32, 33, 63, 64, 65, 255, 256, 257, 389};

/// Rows of 0 to 9 entries, columns ascending; values small integers.
inline csr<double> sized(std::int32_t rows, std::int32_t cols, unsigned seed = 1) {
  std::vector<std::int32_t> lengths(static_cast<std::size_t>(rows));
  for (std::size_t i = 0; i < lengths.size(); ++i)
    lengths[i] = std::min<std::int32_t>(cols, static_cast<std::int32_t>((i * 7 + seed) % 10));
  return from_lengths(cols, lengths, seed);
}

/// f(matrix, what) for `rows` of those sizes and another number of columns, each also unsorted and
/// with duplicates.
template <class F>
void each_sized(F const& f) {
  for (std::int32_t const n : loop_sizes) {
    std::int32_t const cols = n == 0 ? 5 : n + n % 7 + (n > 200 ? 30 : 0);
    csr<double> const a = sized(n, cols);
    std::string const what = std::to_string(n) + " x " + std::to_string(cols);
    f(a, what);
    f(unsorted(a), what + ", unsorted");
    f(duplicated(a), what + ", duplicated");
  }
}

/// The dense form, row after row.
template <class V, class I, class O>
std::vector<V> dense_form(csr_view<V, I, O> a) {
  auto const cols = static_cast<std::size_t>(a.cols);
  std::vector<V> d(static_cast<std::size_t>(a.rows) * cols, V(0));
  for (I i = 0; i < a.rows; ++i)
    for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
      d[static_cast<std::size_t>(i) * cols + static_cast<std::size_t>(a.col[k])] += a.val[k];
  return d;
}
template <class V, class I, class O>
std::vector<V> dense_form(csr<V, I, O> const& a) {
  return dense_form(a.view());
}

/// f(csr of that type) of a matrix of doubles.
template <class F>
void with_type(csr<double> const& a, type_tag t, F const& f) {
  visit(t, [&](auto types) {
    using T = decltype(types);
    using owner = csr<typename T::value, typename T::index, typename T::offset>;
    any_matrix const typed = as_type(a, t);
    f(*typed.get_if<owner>());
  });
}

/// Small integers as V.
template <class V>
std::vector<V> integers_of(std::size_t n, unsigned seed) {
  std::vector<V> all;
  for (double const v : integers(n, seed))
    all.push_back(static_cast<V>(static_cast<real_t<V>>(v)));
  return all;
}

} // namespace tulle::test

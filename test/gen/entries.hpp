// SPDX-License-Identifier: Apache-2.0

/// What the tests of generators ask of a matrix, and of an error.
#pragma once
#include "tulle/core/error.hpp"
#include "tulle/gen/generate.hpp"

#include <map>
#include <string>
#include <utility>

namespace tulle::test {

using matrix = csr<double, std::int32_t, std::int32_t>;

inline std::size_t length(matrix const& a, std::int32_t i) {
  return static_cast<std::size_t>(a.row_ptr[static_cast<std::size_t>(i) + 1] -
                                  a.row_ptr[static_cast<std::size_t>(i)]);
}

/// f(row, column, value) for each entry.
template <class V, class I, class O, class F>
void each_entry(csr<V, I, O> const& a, F f) {
  for (I i = 0; i < a.rows; ++i)
    for (auto k = static_cast<std::size_t>(a.row_ptr[static_cast<std::size_t>(i)]);
         k < static_cast<std::size_t>(a.row_ptr[static_cast<std::size_t>(i) + 1]); ++k)
      f(i, a.col[k], a.val[k]);
}

template <class V, class I, class O>
std::map<std::pair<I, I>, V> entries(csr<V, I, O> const& a) {
  std::map<std::pair<I, I>, V> m;
  each_entry(a, [&](I i, I j, V v) { m[{i, j}] = v; });
  return m;
}

template <class V, class I, class O>
bool is_symmetric(csr<V, I, O> const& a) {
  auto const m = entries(a);
  for (auto const& [at, v] : m) {
    auto const other = m.find({at.second, at.first});
    if (other == m.end() || other->second != v)
      return false;
  }
  return true;
}

/// The code and message of the error that f throws.
template <class F>
std::pair<errc, std::string> error_of(F f) {
  try {
    f();
  } catch (error const& e) {
    return {e.code(), e.what()};
  }
  return {errc{}, "no error"};
}

inline std::pair<errc, std::string> refusal(std::string const& spec) {
  return error_of([&] { generate(spec); });
}

} // namespace tulle::test

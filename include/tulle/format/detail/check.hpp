// SPDX-License-Identifier: Apache-2.0

/// Checks of shapes and indices that a caller passes. Each throws errc::bad_structure.
#pragma once
#include "tulle/core/fail.hpp"
#include "tulle/core/narrow.hpp"
#include "tulle/core/parallel.hpp"

#include <cstddef>

namespace tulle::detail {

/// Neither number is negative.
template <class I>
void check_shape(char const* name, I rows, I cols) {
  if (rows < 0 || cols < 0)
    fail(errc::bad_structure, "%s: %lld rows and %lld columns; neither may be negative", name,
         static_cast<long long>(rows), static_cast<long long>(cols));
}

/// Arrays that belong together have sizes that fit; returns nnz as an O.
template <class O, class I>
O check_sizes(char const* name, std::size_t pointers, I rows, std::size_t indices,
              std::size_t values) {
  if (pointers != static_cast<std::size_t>(rows) + 1 && !(rows == 0 && pointers == 0))
    fail(errc::bad_structure, "%s: %zu pointers for %lld rows or columns, expected one more", name,
         pointers, static_cast<long long>(rows));
  if (indices != values)
    fail(errc::bad_structure, "%s: %zu indices but %zu values", name, indices, values);
  return narrow<O>(values, "number of entries");
}

/// An array of n elements is there.
inline void check_present(char const* name, void const* p, std::size_t n) {
  if (p == nullptr && n != 0)
    fail(errc::bad_structure, "%s is null, but there are %zu entries", name, n);
}

/// 0 <= index[k] < limit.
template <class I>
void check_indices(char const* name, I const* index, std::size_t n, I limit, int threads = 0) {
  check_present(name, index, n);
  int const parts = parts_for(n, threads, 1 << 18);
  parallel(parts, [&](int part) {
    std::size_t const end = split(n, part + 1, parts);
    I outside = 0; // no branch an index: it goes by vectors
    for (std::size_t k = split(n, part, parts); k < end; ++k)
      outside = static_cast<I>(outside | (index[k] < 0) | (index[k] >= limit));
    if (outside != 0)
      for (std::size_t k = split(n, part, parts); k < end; ++k)
        if (index[k] < 0 || index[k] >= limit)
          fail(errc::bad_structure, "%s[%zu] is %lld, outside [0, %lld)", name, k,
               static_cast<long long>(index[k]), static_cast<long long>(limit));
  });
}

} // namespace tulle::detail

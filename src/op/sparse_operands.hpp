// SPDX-License-Identifier: Apache-2.0

// What operations on sparse vectors ask of their operands, and how their entries are dealt to
// threads.
#pragma once
#include "tulle/core/parallel.hpp"
#include "tulle/format/sparse_vector.hpp"

#include "op/operands.hpp"

// The pairs that vectors are built for: those of types.def without their offsets.
#define TULLE_VECTOR_TYPES(X)                                                                      \
  X(float, std::int32_t)                                                                           \
  X(double, std::int32_t)                                                                          \
  X(float, std::int64_t)                                                                           \
  X(double, std::int64_t)                                                                          \
  X(std::complex<float>, std::int32_t)                                                             \
  X(std::complex<double>, std::int32_t)                                                            \
  X(std::complex<float>, std::int64_t)                                                             \
  X(std::complex<double>, std::int64_t)

namespace tulle::detail {

/// Whether to run the plain loop; errc::unsupported for a backend that is not there.
inline bool by_reference(char const* op, where const& w) {
  if (w.backend != backend::cpu && w.backend != backend::reference)
    fail(errc::unsupported, "%s: no %s backend is loaded", op, name(w.backend));
  return w.backend == backend::reference;
}

template <class View>
void check_arrays(char const* op, char const* who, View const& x) {
  if (char const* const missing = missing_array(x))
    fail(errc::bad_structure, "%s: the array %s of %s is null, but there are %lld entries", op,
         missing, who, static_cast<long long>(x.nnz));
}

/// A sparse x and a dense y of one size that lie apart.
template <class V, class I>
void check_pair(char const* op, sparse_vector_view<V, I> x, V const* y, std::size_t y_size,
                bool writes) {
  if (y_size != static_cast<std::size_t>(x.size))
    fail(errc::shape_mismatch, "%s: x has size %lld but y has %zu entries", op,
         static_cast<long long>(x.size), y_size);
  check_arrays(op, "x", x);
  if (y_size != 0 && y == nullptr)
    fail(errc::bad_structure, "%s: y is null but has %zu entries", op, y_size);
  if (writes && overlaps(x, y, y + y_size))
    fail(errc::bad_structure, "%s: y overlaps the arrays of x", op);
}
/// The same where x's values are written.
template <class V, class I>
void check_written(char const* op, mutable_sparse_vector_view<V, I> x, V const* y,
                   std::size_t y_size) {
  check_pair<V, I>(op, x, y, y_size, true);
  auto const n = static_cast<std::size_t>(x.nnz);
  if (n != 0 && overlap(x.index, n * sizeof(I), x.val, n * sizeof(V)))
    fail(errc::bad_structure, "%s: the values of x overlap its indices", op);
}

} // namespace tulle::detail

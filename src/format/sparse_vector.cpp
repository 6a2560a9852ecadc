// SPDX-License-Identifier: Apache-2.0
#include "tulle/format/sparse_vector.hpp"

#include "tulle/op/assemble.hpp"

#include <algorithm>
#include <complex>

namespace tulle {
namespace detail {

template <class I>
void check_length(char const* name, I size) {
  if (size < 0)
    fail(errc::bad_structure, "%s: the size is %lld; it may not be negative", name,
         static_cast<long long>(size));
}

/// As many indices as values; returns how many as an I.
template <class I>
I check_entries(char const* name, std::size_t indices, std::size_t values) {
  if (indices != values)
    fail(errc::bad_structure, "%s: %zu indices but %zu values", name, indices, values);
  return narrow<I>(values, "number of entries");
}

/// 0 <= index[k] < limit, and index[k - 1] < index[k].
template <class I>
void check_ascending(char const* name, I const* index, std::size_t n, I limit, int threads = 0) {
  check_present(name, index, n);
  int const parts = parts_for(n, threads, 1 << 18);
  parallel(parts, [&](int part) {
    for (std::size_t k = split(n, part, parts), end = split(n, part + 1, parts); k < end; ++k) {
      if (index[k] < 0 || index[k] >= limit)
        fail(errc::bad_structure, "%s[%zu] is %lld, outside [0, %lld)", name, k,
             static_cast<long long>(index[k]), static_cast<long long>(limit));
      if (k > 0 && index[k] <= index[k - 1])
        fail(errc::bad_structure, "%s[%zu] is %lld after %lld; indices ascend, each comes once",
             name, k, static_cast<long long>(index[k]), static_cast<long long>(index[k - 1]));
    }
  });
}

} // namespace detail

template <class V, class I>
sparse_vector_view<V, I>::sparse_vector_view(I size, std::span<I const> index,
                                             std::span<V const> val)
    : size(size), index(index.data()), val(val.data()) {
  detail::check_length("sparse_vector", size);
  nnz = detail::check_entries<I>("sparse_vector", index.size(), val.size());
  validate();
}

template <class V, class I>
void sparse_vector_view<V, I>::validate() const {
  detail::check_length("sparse_vector", size);
  detail::check_ascending("sparse_vector: index", index, static_cast<std::size_t>(nnz), size);
  detail::check_present("sparse_vector: val", val, static_cast<std::size_t>(nnz));
}

template <class V, class I>
sparse_vector<V, I>::sparse_vector(I size, array<I> index, array<V> val)
    : sparse_vector(unchecked, size, std::move(index), std::move(val)) {
  validate();
}

template <class V, class I>
sparse_vector<V, I>
sparse_vector<V, I>::from_entries(I size, std::span<I const> index, std::span<V const> val,
                                  sparse_vector_options options, cpu const& where) {
  detail::check_length("sparse_vector", size);
  std::size_t const n = val.size();
  detail::check_entries<I>("sparse_vector", index.size(), n);
  if (options.order == tulle::order::canonical_or_fail) {
    detail::check_ascending("sparse_vector: index", index.data(), n, size, where.threads);
    return {unchecked, size, array<I>(index.data(), n, where.memory),
            array<V>(val.data(), n, where.memory)};
  }
  detail::check_indices("sparse_vector: index", index.data(), n, size);
  // The one row of a matrix: sorting entries and summing those of one place is written there.
  array<I> const row(n, I(0), where.memory);
  auto one = from_triplets<V, I>(1, size, row, index, val, combine::sum, where);
  return {unchecked, size, std::move(one.col), std::move(one.val)};
}

template <class V, class I>
sparse_vector<V, I> sparse_vector<V, I>::from_dense(vector_view<V const> y, cpu const& where) {
  I const size = narrow<I>(y.size(), "sparse_vector: the size");
  detail::check_present("sparse_vector: the dense vector", y.data(), y.size());
  std::size_t const n = y.size();
  V const* const from = y.data();
  int const parts = parts_for(n, where.threads, 1 << 16);
  array<std::size_t> first(static_cast<std::size_t>(parts) + 1, where.memory);
  parallel(parts, [&](int part) {
    std::size_t count = 0;
    for (std::size_t i = split(n, part, parts), end = split(n, part + 1, parts); i < end; ++i)
      count += from[i] != V(0);
    first[static_cast<std::size_t>(part) + 1] = count;
  });
  first[0] = 0;
  for (std::size_t p = 0; p < static_cast<std::size_t>(parts); ++p)
    first[p + 1] += first[p];
  sparse_vector x(unchecked, size, array<I>(first.back(), where.memory),
                  array<V>(first.back(), where.memory));
  parallel(parts, [&](int part) {
    std::size_t k = first[static_cast<std::size_t>(part)];
    for (std::size_t i = split(n, part, parts), end = split(n, part + 1, parts); i < end; ++i)
      if (from[i] != V(0)) {
        x.index[k] = static_cast<I>(i);
        x.val[k++] = from[i];
      }
  });
  return x;
}

template <class V, class I>
array<V> sparse_vector<V, I>::to_dense(cpu const& where) const {
  auto const n = static_cast<std::size_t>(size);
  array<V> y(n, where.memory);
  int const parts = parts_for(n, where.threads, 1 << 16);
  parallel(parts, [&](int part) {
    auto const begin = static_cast<I>(split(n, part, parts));
    auto const end = static_cast<I>(split(n, part + 1, parts));
    std::fill(y.begin() + begin, y.begin() + end, V(0));
    for (I const* i = std::lower_bound(index.begin(), index.end(), begin);
         i != index.end() && *i < end; ++i)
      y[static_cast<std::size_t>(*i)] = val[static_cast<std::size_t>(i - index.begin())];
  });
  return y;
}

#define TULLE_SPARSE_VECTOR(V)                                                                     \
  template struct sparse_vector<V, std::int32_t>;                                                  \
  template struct sparse_vector<V, std::int64_t>;                                                  \
  template struct sparse_vector_view<V, std::int32_t>;                                             \
  template struct sparse_vector_view<V, std::int64_t>;                                             \
  template struct mutable_sparse_vector_view<V, std::int32_t>;                                     \
  template struct mutable_sparse_vector_view<V, std::int64_t>;
TULLE_SPARSE_VECTOR(float)
TULLE_SPARSE_VECTOR(double)
TULLE_SPARSE_VECTOR(std::complex<float>)
TULLE_SPARSE_VECTOR(std::complex<double>)
#undef TULLE_SPARSE_VECTOR

} // namespace tulle

// SPDX-License-Identifier: Apache-2.0

/// A sparse vector: the places of its entries, ascending, and their values.
///
///     1 . 2 . . 3      size   6
///                      index  0 2 5
///                      val    1 2 3
///
/// Good for   vectors that are mostly zeros; merging and searching, since indices ascend.
/// Bad for    random access: one binary search per place.
/// Space      (V + I) * nnz.
/// From       Liu, thesis 2015, sec. 2.3.1 and 7.4; a row of csr in canonical form.
///
/// Invariants (validate() checks all of them)
///   0 <= index[k] < size
///   index[k] < index[k + 1]: ascending, no duplicates. Explicit zeros may be stored.
#pragma once
#include "tulle/format/csr.hpp"
#include "tulle/view/vector.hpp"

#include <cstdint>
#include <span>

namespace tulle {

template <class V, class I = std::int32_t>
struct sparse_vector_view {
  using value = V;

  I size = 0;
  I nnz = 0;
  I const* index = nullptr; ///< nnz
  V const* val = nullptr;   ///< nnz

  sparse_vector_view() = default;
  sparse_vector_view(unchecked_t, I size_, I nnz_, I const* index_, V const* val_)
      : size(size_), nnz(nnz_), index(index_), val(val_) {}
  /// Borrows the caller's arrays after checking every invariant, once: O(nnz).
  sparse_vector_view(I size, std::span<I const> index, std::span<V const> val);

  /// f(name, pointer, size) for each array.
  template <class F>
  void arrays(F&& f) const {
    f("index", index, static_cast<std::size_t>(nnz));
    f("val", val, static_cast<std::size_t>(nnz));
  }

  /// Throws errc::bad_structure naming the first place that breaks an invariant.
  void validate() const;
};

/// The same with values that may be written: what gather and rotate take.
template <class V, class I = std::int32_t>
struct mutable_sparse_vector_view {
  using value = V;

  I size = 0;
  I nnz = 0;
  I const* index = nullptr; ///< nnz
  V* val = nullptr;         ///< nnz

  mutable_sparse_vector_view() = default;
  mutable_sparse_vector_view(unchecked_t, I size_, I nnz_, I const* index_, V* val_)
      : size(size_), nnz(nnz_), index(index_), val(val_) {}
  /// Borrows the caller's arrays after checking every invariant, once: O(nnz).
  mutable_sparse_vector_view(I size_, std::span<I const> index_, std::span<V> val_)
      : size(size_), nnz(sparse_vector_view<V, I>(size_, index_, val_).nnz), index(index_.data()),
        val(val_.data()) {}

  operator sparse_vector_view<V, I>() const { return {unchecked, size, nnz, index, val}; }
};

/// What from_entries does with indices that do not ascend.
enum class order : std::uint8_t {
  canonical_or_fail, ///< errc::bad_structure naming the first
  canonicalise,      ///< sorted, duplicates summed in the order given
};

struct sparse_vector_options {
  tulle::order order = tulle::order::canonical_or_fail;
};

template <class V, class I = std::int32_t>
struct sparse_vector {
  using value = V;
  using options = sparse_vector_options;

  I size = 0;
  array<I> index;
  array<V> val;

  sparse_vector() = default;
  /// Takes arrays over after checking every invariant.
  sparse_vector(I size, array<I> index, array<V> val);
  sparse_vector(unchecked_t, I size_, array<I> index_, array<V> val_)
      : size(size_), index(std::move(index_)), val(std::move(val_)) {}

  /// A copy of entries (index[k], val[k]).
  static sparse_vector from_entries(I size, std::span<I const> index, std::span<V const> val,
                                    sparse_vector_options = {}, cpu const& where = {});
  /// The entries of y that are not zero, NaN among them.
  static sparse_vector from_dense(vector_view<V const> y, cpu const& where = {});
  array<V> to_dense(cpu const& where = {}) const;

  sparse_vector_view<V, I> view() const {
    return {unchecked, size, static_cast<I>(index.size()), index.data(), val.data()};
  }
  mutable_sparse_vector_view<V, I> mutable_view() {
    return {unchecked, size, static_cast<I>(index.size()), index.data(), val.data()};
  }
  void validate() const { sparse_vector_view<V, I>(size, index, val); }
  std::size_t bytes() const { return index.bytes() + val.bytes(); }
  friend bool operator==(sparse_vector const&, sparse_vector const&) = default;
};

} // namespace tulle

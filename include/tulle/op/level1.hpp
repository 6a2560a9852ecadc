// SPDX-License-Identifier: Apache-2.0

/// Operations on sparse vectors: dot, axpy, gather, scatter, rotate, norms, add.
///
///     double d = tulle::dot(x, y);                          // y dense or sparse
///     tulle::axpy(2.0, x, y);                               // y += 2 x
///     tulle::gather(y, x);                                  // x's values from y, at x's places
///     auto z = tulle::add(1.0, x, -1.0, w);                 // both sparse, and so is z
///     tulle::dot(tulle::cpu{.threads = 4}, a, b, out);      // row by row of two csr matrices
///
/// x is a sparse_vector or a view of one, y a dense vector of x's size; where x's values change, it
/// is a sparse_vector or a mutable_sparse_vector_view. The first argument may be a policy; without
/// one an operation runs where the data is. alpha == 0 does not read x's values, nor beta == 0
/// those of y. Same bits for every number of threads. What is written may not overlap what is read.
/// A call that fails changes nothing.
///
/// Errors     sizes that differ: shape_mismatch. Overlap; null with a size; rows of a batch that
///            are not canonical: bad_structure.
/// From       Liu, thesis 2015, sec. 2.3.1 and 7; the names are those of Duff, Heroux & Pozo, ACM
///            TOMS 28(2), 2002, and of the sparse level 1 of vendors' libraries.
#pragma once
#include "tulle/format/sparse_vector.hpp"
#include "tulle/op/add_method.hpp"
#include "tulle/op/spmv.hpp"

#include <cstdint>
#include <type_traits>

namespace tulle {

/// One rule for dense and sparse vectors: dot(x, y) is the sum of x_i y_i, as `dotu` of BLAS and
/// `dot` of NumPy and of the C++ standard are. conj(x) . y, the `dotc`, `vdot` and Eigen's `dot`,
/// is asked for by name: dot(x, y, {.conjugate = true}) or dotc(x, y).
struct dot_options {
  bool conjugate = false; ///< conj(x) . y; of real vectors the same
};

namespace detail {

template <class V>
struct real_part {
  using type = V;
};
template <class R>
struct real_part<std::complex<R>> {
  using type = R;
};

template <class V, class I>
sparse_vector_view<V, I> entries_of(sparse_vector_view<V, I> const& x) {
  return x;
}
template <class V, class I>
sparse_vector_view<V, I> entries_of(mutable_sparse_vector_view<V, I> const& x) {
  return x;
}
template <class V, class I>
sparse_vector_view<V, I> entries_of(sparse_vector<V, I> const& x) {
  return x.view();
}
template <class V, class I>
mutable_sparse_vector_view<V, I> writable(mutable_sparse_vector_view<V, I> const& x) {
  return x;
}
template <class V, class I>
mutable_sparse_vector_view<V, I> writable(sparse_vector<V, I>& x) {
  return x.mutable_view();
}

template <class X>
using entries_t = decltype(entries_of(std::declval<X const&>()));
template <class X>
using index_t = std::remove_cvref_t<decltype(std::declval<X const&>().size)>;

} // namespace detail

/// The type of |v|.
template <class V>
using real_t = typename detail::real_part<V>::type;

/// A sparse vector operand: an owner or a view, of built types.
template <class X>
concept sparse = requires(X const& x) {
  detail::entries_of(x);
  requires detail::built_value<typename X::value>;
  requires std::is_same_v<detail::index_t<X>, std::int32_t> ||
      std::is_same_v<detail::index_t<X>, std::int64_t>;
};
/// A sparse vector whose values may be written; deduced from X&&, so a const owner is excluded.
template <class X>
concept writable_sparse = sparse<std::remove_cvref_t<X>> && requires(X&& x) {
  detail::writable(x);
};
template <class X>
using sparse_value_t = typename std::remove_cvref_t<X>::value;

namespace detail {

/// The doors into the library, which holds them for every built pair: src/op/level1.cpp.
template <class V, class I>
struct level1 {
  using sparse_view = sparse_vector_view<V, I>;
  using mutable_view = mutable_sparse_vector_view<V, I>;

  static V dot(where const& w, sparse_view x, vector_view<V const> y, dot_options options);
  static V dot(where const& w, sparse_view x, sparse_view y, dot_options options);
  static void axpy(where const& w, V alpha, sparse_view x, vector_view<V> y);
  static void gather(where const& w, vector_view<V const> y, mutable_view x);
  static void gather_zero(where const& w, vector_view<V> y, mutable_view x);
  static void scatter(where const& w, sparse_view x, vector_view<V> y);
  static void rotate(where const& w, mutable_view x, vector_view<V> y, real_t<V> c, real_t<V> s);
  static real_t<V> norm1(where const& w, sparse_view x);
  static real_t<V> norm2(where const& w, sparse_view x);
  static real_t<V> norm_inf(where const& w, sparse_view x);
  static void add(where const& w, V alpha, sparse_view x, V beta, vector_view<V> y);
};

/// src/op/level1_add.cpp.
template <class V, class I>
struct level1_add {
  static sparse_vector<V, I> add(where const& w, V alpha, sparse_vector_view<V, I> x, V beta,
                                 sparse_vector_view<V, I> y, add_options options);
};

/// src/op/level1_rows.cpp.
template <class V, class I, class O>
struct level1_rows {
  static void dot(where const& w, csr_view<V, I, O> a, csr_view<V, I, O> b, vector_view<V> out,
                  dot_options options);
  static void gather(where const& w, vector_view<V const> y, csr_view<V, I, O> a, V* val);
};

template <class X>
using level1_of = level1<sparse_value_t<X>, index_t<std::remove_cvref_t<X>>>;
template <class X>
using level1_add_of = level1_add<sparse_value_t<X>, index_t<X>>;

} // namespace detail

/// x . y, the sum over x's places; with conjugate, of conj(x). x sparse, y dense. Floats are summed
/// as doubles.
template <sparse X>
sparse_value_t<X> dot(where const& w, X const& x, vector_view<sparse_value_t<X> const> y,
                      dot_options options = {}) {
  return detail::level1_of<X>::dot(w, detail::entries_of(x), y, options);
}
template <sparse X>
sparse_value_t<X> dot(X const& x, vector_view<sparse_value_t<X> const> y,
                      dot_options options = {}) {
  return dot(where{}, x, y, options);
}

/// x . y over the places that both have. O(nnz of both), less where one is much shorter.
template <sparse X, sparse Y>
requires std::is_same_v<detail::entries_t<X>, detail::entries_t<Y>> sparse_value_t<X>
dot(where const& w, X const& x, Y const& y, dot_options options = {}) {
  return detail::level1_of<X>::dot(w, detail::entries_of(x), detail::entries_of(y), options);
}
template <sparse X, sparse Y>
requires std::is_same_v<detail::entries_t<X>, detail::entries_t<Y>> sparse_value_t<X>
dot(X const& x, Y const& y, dot_options options = {}) {
  return dot(where{}, x, y, options);
}

/// conj(x) . y, y dense or sparse.
template <sparse X, class Y>
sparse_value_t<X> dotc(where const& w, X const& x, Y const& y) {
  return dot(w, x, y, {.conjugate = true});
}
template <sparse X, class Y>
sparse_value_t<X> dotc(X const& x, Y const& y) {
  return dot(x, y, {.conjugate = true});
}

/// out[i] = A_i . B_i for each row i, the same bits as dot of the two rows. Rows are canonical.
template <class V, class I, class O>
void dot(where const& w, csr_view<V, I, O> a, csr_view<V, I, O> b,
         vector_view<std::type_identity_t<V>> out, dot_options options = {}) {
  detail::level1_rows<V, I, O>::dot(w, a, b, out, options);
}
template <class V, class I, class O>
void dot(where const& w, csr<V, I, O> const& a, csr<V, I, O> const& b,
         vector_view<std::type_identity_t<V>> out, dot_options options = {}) {
  detail::level1_rows<V, I, O>::dot(w, a.view(), b.view(), out, options);
}

/// y += alpha x.
template <sparse X>
void axpy(where const& w, sparse_value_t<X> alpha, X const& x, vector_view<sparse_value_t<X>> y) {
  detail::level1_of<X>::axpy(w, alpha, detail::entries_of(x), y);
}
template <sparse X>
void axpy(sparse_value_t<X> alpha, X const& x, vector_view<sparse_value_t<X>> y) {
  axpy(where{}, alpha, x, y);
}

/// x = y at x's places: indices stay, values are y's.
template <class X>
requires writable_sparse<X>
void gather(where const& w, vector_view<sparse_value_t<X> const> y, X&& x) {
  detail::level1_of<X>::gather(w, y, detail::writable(x));
}
template <class X>
requires writable_sparse<X>
void gather(vector_view<sparse_value_t<X> const> y, X&& x) {
  gather(where{}, y, x);
}

/// The same for every row of a matrix: val[k] = y[col[k]]. Rows may be unsorted.
template <class V, class I, class O>
void gather(where const& w, vector_view<std::type_identity_t<V> const> y, csr<V, I, O>& a) {
  detail::level1_rows<V, I, O>::gather(w, y, a.view(), a.val.data());
}
template <class V, class I, class O>
void gather(vector_view<std::type_identity_t<V> const> y, csr<V, I, O>& a) {
  gather(where{}, y, a);
}

/// x = y and y = 0 at x's places.
template <class X>
requires writable_sparse<X>
void gather_zero(where const& w, vector_view<sparse_value_t<X>> y, X&& x) {
  detail::level1_of<X>::gather_zero(w, y, detail::writable(x));
}
template <class X>
requires writable_sparse<X>
void gather_zero(vector_view<sparse_value_t<X>> y, X&& x) {
  gather_zero(where{}, y, x);
}

/// y = x at x's places; the rest of y stays.
template <sparse X>
void scatter(where const& w, X const& x, vector_view<sparse_value_t<X>> y) {
  detail::level1_of<X>::scatter(w, detail::entries_of(x), y);
}
template <sparse X>
void scatter(X const& x, vector_view<sparse_value_t<X>> y) {
  scatter(where{}, x, y);
}

/// Givens rotation at x's places: x = c x + s y, and y = c y - s x with the x before.
template <class X>
requires writable_sparse<X>
void rotate(where const& w, X&& x, vector_view<sparse_value_t<X>> y, real_t<sparse_value_t<X>> c,
            real_t<sparse_value_t<X>> s) {
  detail::level1_of<X>::rotate(w, detail::writable(x), y, c, s);
}
template <class X>
requires writable_sparse<X>
void rotate(X&& x, vector_view<sparse_value_t<X>> y, real_t<sparse_value_t<X>> c,
            real_t<sparse_value_t<X>> s) {
  rotate(where{}, x, y, c, s);
}

/// The sum of |x_k|, the root of the sum of |x_k|^2, the largest |x_k|. NaN where an entry is NaN.
/// norm2 is right wherever its value is in range, though squares may not be.
template <sparse X>
real_t<sparse_value_t<X>> norm1(where const& w, X const& x) {
  return detail::level1_of<X>::norm1(w, detail::entries_of(x));
}
template <sparse X>
real_t<sparse_value_t<X>> norm1(X const& x) {
  return norm1(where{}, x);
}
template <sparse X>
real_t<sparse_value_t<X>> norm2(where const& w, X const& x) {
  return detail::level1_of<X>::norm2(w, detail::entries_of(x));
}
template <sparse X>
real_t<sparse_value_t<X>> norm2(X const& x) {
  return norm2(where{}, x);
}
template <sparse X>
real_t<sparse_value_t<X>> norm_inf(where const& w, X const& x) {
  return detail::level1_of<X>::norm_inf(w, detail::entries_of(x));
}
template <sparse X>
real_t<sparse_value_t<X>> norm_inf(X const& x) {
  return norm_inf(where{}, x);
}

/// y = alpha x + beta y, x sparse, y dense.
template <sparse X>
void add(where const& w, sparse_value_t<X> alpha, X const& x, sparse_value_t<X> beta,
         vector_view<sparse_value_t<X>> y) {
  detail::level1_of<X>::add(w, alpha, detail::entries_of(x), beta, y);
}
template <sparse X>
void add(sparse_value_t<X> alpha, X const& x, sparse_value_t<X> beta,
         vector_view<sparse_value_t<X>> y) {
  add(where{}, alpha, x, beta, y);
}

/// alpha x + beta y, both sparse. The result has the places of x and of y for all values; if alpha
/// == 0, x contributes its places with zeros. The policy's limit bounds the workspace of spa and
/// heap.
template <sparse X, sparse Y>
requires std::is_same_v<detail::entries_t<X>, detail::entries_t<Y>>
    sparse_vector<sparse_value_t<X>, detail::index_t<X>>
    add(where const& w, sparse_value_t<X> alpha, X const& x, sparse_value_t<X> beta, Y const& y,
        add_options options = {}) {
  return detail::level1_add_of<X>::add(w, alpha, detail::entries_of(x), beta, detail::entries_of(y),
                                       options);
}
template <sparse X, sparse Y>
requires std::is_same_v<detail::entries_t<X>, detail::entries_t<Y>>
    sparse_vector<sparse_value_t<X>, detail::index_t<X>> add(sparse_value_t<X> alpha, X const& x,
                                                             sparse_value_t<X> beta, Y const& y,
                                                             add_options options = {}) {
  return add(where{}, alpha, x, beta, y, options);
}

} // namespace tulle

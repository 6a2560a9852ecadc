// SPDX-License-Identifier: Apache-2.0

/// y = A x over any semiring, optionally restricted to a mask.
///
///     tulle::spmv(tulle::or_and(), a, x, y);                               // one step of a search
///     tulle::spmv(tulle::min_plus(), tulle::transposed(a), d, y, {.accumulate = true});
///     tulle::spmv(tulle::mask(seen, {.complement = true}), tulle::or_and(), a, x, y);
///
/// y_i is the sum of multiply(a_ij, x_j) over the entries of row i, beginning with the semiring's
/// zero, which is what a row without entries gets; y is not read then. With `accumulate` it begins
/// with y_i, and the semiring needs no zero. Elements of y that the mask leaves out stay as they
/// are. The mask is a dense vector: elements that are not 0 are in it.
///
/// A is of any format that is known when compiling, or the transpose of one; another format than
/// csr goes through csr. Terms are added in the order of the columns (transposed: of the rows), so
/// the result is the same for every number of threads. Compiled where it is used, so that any
/// functor may be the semiring; plus_times without a mask is faster by spmv(1, a, x, 0, y).
///
/// Workspace: a copy of A if it has duplicates or unsorted rows, bounded by workspace_limit. For a
/// transpose each thread reads all indices and adds up its own columns.
#pragma once
#include "tulle/core/parallel.hpp"
#include "tulle/op/dense_level1.hpp"
#include "tulle/op/detail/canonical_operand.hpp"
#include "tulle/op/spgemm_semiring.hpp"

namespace tulle {

struct spmv_semiring_options {
  bool accumulate = false; ///< y = y + A x
};

/// A dense vector as a mask.
template <class T>
struct vector_mask {
  vector_view<T const> base;
  bool complement;
};
template <class M>
requires dense_vector<M> || std::is_integral_v<element_t<M const&>>
auto mask(M const& m, mask_options o = {}) {
  return vector_mask<element_t<M const&>>{m, o.complement};
}

namespace detail {

/// What spmv over a semiring takes as A.
template <class A>
struct semiring_operand : std::bool_constant<hub_operand<A>> {
  static constexpr bool transposed = false;
  static auto const& base(A const& a) { return a; }
};
template <class View>
struct semiring_operand<transposed_view<View>> : std::bool_constant<hub_operand<View>> {
  static constexpr bool transposed = true;
  static View const& base(transposed_view<View> const& a) { return a.base; }
};

/// Whether an element of y is to be computed.
struct no_mask {
  bool operator()(std::size_t) const { return true; }
};
template <class T>
struct elements_in {
  T const* at;
  bool complement;
  bool operator()(std::size_t i) const { return (at[i] != T(0)) != complement; }
};

template <class S, class V>
constexpr bool has_zero = requires(S const& s, V v) {
  V(s.zero(v));
};

template <class S, class V>
V zero_of([[maybe_unused]] S const& s, bool accumulate) {
  if constexpr (has_zero<S, V>)
    return s.zero(V{});
  else if (!accumulate)
    fail(errc::unsupported,
         "spmv over a semiring: it has no zero(v) for rows without entries; give it one or "
         "accumulate");
  else
    return V{};
}

template <class V>
void check_semiring_vectors(std::size_t rows, std::size_t cols, bool transposed,
                            vector_view<V const> const& x, vector_view<V> const& y) {
  std::size_t const in = transposed ? rows : cols, out = transposed ? cols : rows;
  if (x.size() != in)
    fail(errc::shape_mismatch, "spmv: x has %zu entries but A has %zu %s", x.size(), in,
         transposed ? "rows" : "columns");
  if (y.size() != out)
    fail(errc::shape_mismatch, "spmv: y has %zu entries but A has %zu %s", y.size(), out,
         transposed ? "columns" : "rows");
  if (in != 0 && x.data() == nullptr)
    fail(errc::bad_structure, "spmv: x is null but has %zu entries", in);
  if (out != 0 && y.data() == nullptr)
    fail(errc::bad_structure, "spmv: y is null but has %zu entries", out);
}

template <class S, class V, class I, class O, class Mask>
void spmv_semiring(where const& w, S const& s, csr_view<V, I, O> a, bool transposed,
                   vector_view<V const> x, vector_view<V> y, Mask const& is_in,
                   spmv_semiring_options o) {
  check_host_operand("spmv over a semiring", a, w);
  auto const rows = static_cast<std::size_t>(a.rows);
  auto const cols = static_cast<std::size_t>(a.cols);
  check_semiring_vectors<V>(rows, cols, transposed, x, y);
  check_apart("spmv", "y", y, "x", x.data(), x.size());
  V const zero = zero_of<S, V>(s, o.accumulate);
  canonical_operand<V, I, O> const from("spmv over a semiring", a, w);
  a = from.view;
  V const* const in = x.data();
  V* const out = y.data();
  int const parts = w.backend == backend::reference
                        ? 1
                        : parts_for(static_cast<std::size_t>(a.nnz) + y.size(), w.threads);
  if (!transposed && rows != 0)
    parallel(parts, [&](int part) {
      std::size_t const end = split_by_entries(a.row_ptr, rows, part + 1, parts);
      for (std::size_t i = split_by_entries(a.row_ptr, rows, part, parts); i < end; ++i) {
        if (!is_in(i))
          continue;
        V sum = o.accumulate ? out[i] : zero;
        for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
          sum = s.add(sum, s.multiply(V(a.val[k]), V(in[a.col[k]])));
        out[i] = sum;
      }
    });
  if (transposed)
    parallel(parts, [&](int part) {
      std::size_t const first = split(cols, part, parts), end = split(cols, part + 1, parts);
      for (std::size_t j = first; j < end && !o.accumulate; ++j)
        if (is_in(j))
          out[j] = zero;
      for (std::size_t i = 0; i < rows; ++i)
        for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k) {
          auto const j = static_cast<std::size_t>(a.col[k]);
          if (j >= first && j < end && is_in(j))
            out[j] = s.add(out[j], s.multiply(V(a.val[k]), V(in[i])));
        }
    });
}

template <class S, class A, class Mask>
void spmv_semiring_any(where const& w, S const& s, A const& a, vector_view<value_t<A> const> x,
                       vector_view<value_t<A>> y, Mask const& is_in, spmv_semiring_options o) {
  auto const& base = semiring_operand<A>::base(a);
  check_apart("spmv", "y", y, view_of(base));
  auto const from = hub_of(base, w.as_cpu());
  spmv_semiring(w, s, from.view, semiring_operand<A>::transposed, x, y, is_in, o);
}

template <class S, class A>
concept semiring_of = semiring_operand<A>::value && semiring<S, value_t<A>>;

} // namespace detail

/// y = A x over a semiring.
template <class S, class A>
requires detail::semiring_of<S, A>
void spmv(where const& w, S const& s, A const& a, vector_view<value_t<A> const> x,
          vector_view<value_t<A>> y, spmv_semiring_options o = {}) {
  detail::spmv_semiring_any(w, s, a, x, y, detail::no_mask(), o);
}
template <class S, class A>
requires detail::semiring_of<S, A>
void spmv(S const& s, A const& a, vector_view<value_t<A> const> x, vector_view<value_t<A>> y,
          spmv_semiring_options o = {}) {
  spmv(where{}, s, a, x, y, o);
}
/// Restricted to a mask, which is as long as y.
template <class T, class S, class A>
requires detail::semiring_of<S, A>
void spmv(where const& w, vector_mask<T> const& mask, S const& s, A const& a,
          vector_view<value_t<A> const> x, vector_view<value_t<A>> y,
          spmv_semiring_options o = {}) {
  if (mask.base.size() != y.size())
    fail(errc::shape_mismatch, "spmv: the mask has %zu entries but y has %zu", mask.base.size(),
         y.size());
  if (y.size() != 0 && mask.base.data() == nullptr)
    fail(errc::bad_structure, "spmv: the mask is null but has %zu entries", y.size());
  detail::check_apart("spmv", "y", y, "the mask", mask.base.data(), mask.base.size());
  detail::spmv_semiring_any(w, s, a, x, y,
                            detail::elements_in<T>{mask.base.data(), mask.complement}, o);
}
template <class T, class S, class A>
requires detail::semiring_of<S, A>
void spmv(vector_mask<T> const& mask, S const& s, A const& a, vector_view<value_t<A> const> x,
          vector_view<value_t<A>> y, spmv_semiring_options o = {}) {
  spmv(where{}, mask, s, a, x, y, o);
}

} // namespace tulle

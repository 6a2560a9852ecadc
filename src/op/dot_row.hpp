// SPDX-License-Identifier: Apache-2.0

// x . y of two rows with ascending indices, over the places that both have. The shorter one is cut
// into chunks that depend on its length alone; a chunk's products are added in order, and so are
// the chunks. Merging and searching find the same products in the same order, so neither the choice
// between them nor the number of threads shows in the bits.
#pragma once
#include "primitive/search.hpp"
#include "primitive/set.hpp"

#include <complex>
#include <cstddef>

namespace tulle::detail {

/// What sums of V are kept in: doubles, of floats too.
template <class V>
struct wide {
  using type = double;
};
template <class R>
struct wide<std::complex<R>> {
  using type = std::complex<double>;
};
template <class V>
using wide_t = typename wide<V>::type;

template <bool conjugate, class V>
wide_t<V> product(V x, V y) {
  wide_t<V> const a(x), b(y);
  if constexpr (conjugate && !std::is_same_v<wide_t<V>, double>)
    return std::conj(a) * b;
  else
    return a * b;
}

/// Entries of a chunk: as many chunks as entries would need, but at most `most_chunks` of them, so
/// that their sums lie on the stack.
constexpr std::size_t most_chunks = 256;
constexpr std::size_t least_chunk = 4096; // other numbers have not been measured
constexpr std::size_t chunk_of(std::size_t n) {
  std::size_t const share = (n + most_chunks - 1) / most_chunks;
  return share < least_chunk ? least_chunk : share;
}

/// From where on one list is so much longer that each of the other's entries is searched for. ms of
/// merging and of searching 2*10^6 / ratio entries in 2*10^6, one thread of Zen 4: ratio 4: 7.5 and
/// 9.9; 8: 5.8 and 5.7; 16: 4.8 and 3.4; 64: 2.7 and 1.3. A merge without branches took longer from
/// ratio 2 on.
constexpr std::size_t search_ratio = 8;

/// match(i, j) for every a[i] == b[j], in order; b is much the longer. Doubling steps from the last
/// place found, then a binary search: O(log of the distance) for each entry of a.
template <class I, class Match>
void search_intersection(I const* a, std::size_t na, I const* b, std::size_t nb, Match match) {
  std::size_t j = 0;
  for (std::size_t i = 0; i < na && j < nb; ++i) {
    std::size_t step = 1;
    while (step < nb - j && b[j + step - 1] < a[i])
      step *= 2;
    std::size_t const from = j + step / 2; // all before are less than a[i]
    std::size_t const to = step < nb - j ? j + step : nb;
    j = from + primitive::lower_bound(b + from, to - from, a[i]);
    if (j < nb && b[j] == a[i])
      match(i, j++);
  }
}

template <class V, class I>
struct row_entries {
  I const* index;
  V const* val;
  std::size_t n;
};

/// The part of x . y at entries [first, last) of the shorter one.
template <bool conjugate, class V, class I>
wide_t<V> dot_chunk(row_entries<V, I> x, row_entries<V, I> y, std::size_t first, std::size_t last) {
  wide_t<V> sum = 0;
  bool const swap = y.n < x.n;
  row_entries<V, I> const a = swap ? y : x, b = swap ? x : y;
  std::size_t const begin = primitive::lower_bound(b.index, b.n, a.index[first]);
  std::size_t const end = last == a.n ? b.n : primitive::lower_bound(b.index, b.n, a.index[last]);
  I const* const ai = a.index + first;
  I const* const bi = b.index + begin;
  V const* const av = a.val + first;
  V const* const bv = b.val + begin;
  auto const match = [&](std::size_t i, std::size_t j) {
    sum += swap ? product<conjugate>(bv[j], av[i]) : product<conjugate>(av[i], bv[j]);
  };
  std::size_t const na = last - first, nb = end - begin;
  if (nb / search_ratio >= na)
    search_intersection(ai, na, bi, nb, match);
  else
    primitive::intersection(ai, na, bi, nb, match);
  return sum;
}

} // namespace tulle::detail

// SPDX-License-Identifier: Apache-2.0

/// y = A x for a sparse x, with a sparse y; over any semiring, optionally restricted to a mask. And
/// y = alpha B x + beta y of a dense matrix B and a sparse x.
///
///     auto c = tulle::csc<double>::from_csr(a.view());       // once
///     auto y = tulle::spmspv(c, x);                          // reads the columns that x names
///     auto z = tulle::spmspv(a, x);                          // csr: reads all rows
///     auto f = tulle::spmspv(tulle::mask(seen, {.complement = true}), tulle::or_and(), c, x);
///     tulle::spmv(1.0, tulle::row_major(b, m, n), x, 0.0, y);
///
/// y has an entry for each row that has one in common with x, zeros that come out among them, and
/// ascends. A csc, or transposed(a) of a csr, goes by columns: the time is that of the columns that
/// x names and of one bit per row. A csr goes by rows, all of which are read: it is for an x that
/// is not much sparser than A. Both add the products of a row from left to right, so bits depend
/// neither on that nor on the number of threads. Other formats go through csr.
///
/// The mask is a dense vector as long as y: elements that are not 0 are in it. Compiled where it is
/// used, so that any functor may be the semiring. The first argument may be a policy. There is no
/// device kernel: a policy that names a device is errc::unsupported.
///
/// Workspace: a value and a bit per row of A, by rows also per column; a copy of A if a line that
/// is read is unsorted or has duplicates. workspace_limit bounds both.
///
/// Errors     sizes that do not fit each other: shape_mismatch. Arrays that are null with a size, y
///            that overlaps what is read: bad_structure. Nothing is written then.
#pragma once
#include "tulle/format/csc.hpp"
#include "tulle/op/spmv_semiring.hpp"
#include "tulle/view/dense.hpp"

namespace tulle {
namespace detail {

/// A as lines: its rows, or its columns. Columns of a csc are the rows of a csr.
template <class V, class I, class O>
struct matrix_lines {
  csr_view<V, I, O> lines;
  bool by_columns;

  std::size_t rows() const {
    return static_cast<std::size_t>(by_columns ? lines.cols : lines.rows);
  }
  std::size_t cols() const {
    return static_cast<std::size_t>(by_columns ? lines.rows : lines.cols);
  }
};

template <class V, class I, class O>
csr_view<V, I, O> as_rows(csc_view<V, I, O> const& a) {
  return {unchecked, a.cols, a.rows, a.nnz, a.col_ptr, a.row, a.val};
}

/// One bit for each of n places, and what has been added up there.
template <class V>
struct sparse_sums {
  array<std::uint64_t> bits;
  array<V> val;

  sparse_sums(std::size_t n, std::pmr::memory_resource* memory)
      : bits((n + 63) / 64, std::uint64_t(0), memory), val(n, memory) {}
  static std::size_t bytes(std::size_t n) { return (n + 63) / 64 * 8 + n * sizeof(V); }
  bool has(std::size_t i) const { return (bits[i / 64] >> (i % 64) & 1) != 0; }
  void set(std::size_t i, V v) {
    bits[i / 64] |= std::uint64_t(1) << (i % 64);
    val[i] = v;
  }
};

/// All entries as a vector; words of bits are dealt to parts.
template <class I, class V>
sparse_vector<V, I> collected(sparse_sums<V> const& sums, std::size_t size, int parts,
                              std::pmr::memory_resource* memory) {
  std::size_t const words = sums.bits.size();
  std::size_t before[most_threads + 1] = {};
  parallel(parts, [&](int part) {
    std::size_t n = 0;
    for (std::size_t b = split(words, part, parts); b < split(words, part + 1, parts); ++b)
      if (sums.bits[b] != 0) // most are, and without its instruction a count takes 4 ns
        n += static_cast<std::size_t>(__builtin_popcountll(sums.bits[b]));
    before[part + 1] = n;
  });
  for (int part = 0; part < parts; ++part)
    before[part + 1] += before[part];
  std::size_t const n = before[parts];
  sparse_vector<V, I> y(unchecked, static_cast<I>(size), array<I>(n, memory), array<V>(n, memory));
  parallel(parts, [&](int part) {
    std::size_t to = before[part];
    for (std::size_t b = split(words, part, parts); b < split(words, part + 1, parts); ++b)
      for (std::uint64_t left = sums.bits[b]; left != 0; left &= left - 1) {
        std::size_t const i = b * 64 + static_cast<std::size_t>(__builtin_ctzll(left));
        y.index[to] = static_cast<I>(i);
        y.val[to++] = sums.val[i];
      }
  });
  return y;
}

/// The columns that x names are far from one another, so each is asked for some entries ahead: its
/// place, then its entries, then where the first of them are added.
template <class V, class I, class O>
struct columns_ahead {
  csr_view<V, I, O> columns;
  sparse_vector_view<V, I> x;

  void operator()(I e, V const* sums = nullptr) const {
    if (x.nnz - e <= 32)
      return;
    __builtin_prefetch(columns.row_ptr + x.index[e + 32]);
    O const next = columns.row_ptr[x.index[e + 16]];
    __builtin_prefetch(columns.col + next);
    if (!sums)
      return;
    __builtin_prefetch(columns.val + next);
    O const soon = columns.row_ptr[x.index[e + 4]];
    O const end = std::min<O>(soon + 8, columns.row_ptr[x.index[e + 4] + 1]);
    for (O k = soon; k < end; ++k)
      __builtin_prefetch(sums + columns.col[k]);
  }
};

/// The products of x and its columns; SIZE_MAX where one of these is not canonical.
template <class V, class I, class O>
std::size_t count_products(csr_view<V, I, O> const& columns, sparse_vector_view<V, I> x,
                           int threads) {
  auto const entries = static_cast<std::size_t>(x.nnz);
  columns_ahead<V, I, O> const ahead{columns, x};
  std::size_t of_part[most_threads];
  int const parts = parts_for(16 * entries, threads);
  parallel(parts, [&](int part) {
    std::size_t n = 0;
    bool canonical = true;
    auto const end = static_cast<I>(split(entries, part + 1, parts));
    for (auto e = static_cast<I>(split(entries, part, parts)); e < end; ++e) {
      ahead(e);
      O const first = columns.row_ptr[x.index[e]], last = columns.row_ptr[x.index[e] + 1];
      n += static_cast<std::size_t>(last - first);
      for (O k = first + 1; k < last; ++k)
        canonical &= columns.col[k - 1] < columns.col[k];
    }
    of_part[part] = canonical ? n : SIZE_MAX;
  });
  std::size_t n = 0;
  for (int part = 0; part < parts; ++part)
    n = of_part[part] == SIZE_MAX || n == SIZE_MAX ? SIZE_MAX : n + of_part[part];
  return n;
}

/// Each entry of x times its column. Threads have their own rows of y; they begin at a whole word
/// of its bits.
template <class S, class V, class I, class O, class Mask>
void add_columns(S const& s, csr_view<V, I, O> const& columns, sparse_vector_view<V, I> x,
                 Mask const& is_in, int parts, sparse_sums<V>& y) {
  auto const rows = static_cast<std::size_t>(columns.cols);
  columns_ahead<V, I, O> const ahead{columns, x};
  parallel(parts, [&](int part) {
    auto const first = static_cast<I>(split(y.bits.size(), part, parts) * 64);
    auto const last = static_cast<I>(std::min(rows, split(y.bits.size(), part + 1, parts) * 64));
    for (I e = 0; e < x.nnz; ++e) {
      ahead(e, y.val.data());
      I const* k = columns.col + columns.row_ptr[x.index[e]];
      I const* end = columns.col + columns.row_ptr[x.index[e] + 1];
      if (parts > 1) {
        k = std::lower_bound(k, end, first);
        end = std::lower_bound(k, end, last);
      }
      V const* val = columns.val + (k - columns.col);
      V const factor = x.val[e];
      for (; k != end; ++k, ++val) {
        auto const i = static_cast<std::size_t>(*k);
        if (!is_in(i))
          continue;
        V const product = s.multiply(V(*val), V(factor));
        y.set(i, y.has(i) ? V(s.add(V(y.val[i]), product)) : product);
      }
    }
  });
}

/// Each row times x, which lies in `in`; rows are dealt by their entries.
template <class S, class V, class I, class O, class Mask>
void add_rows(S const& s, csr_view<V, I, O> const& a, sparse_sums<V> const& in, Mask const& is_in,
              int parts, sparse_sums<V>& y) {
  auto const rows = static_cast<std::size_t>(a.rows);
  auto const first_row = [&](int part) { // at a whole word of y's bits
    return std::min(rows, (split_by_entries(a.row_ptr, rows, part, parts) + 63) / 64 * 64);
  };
  if (rows == 0)
    return;
  parallel(parts, [&](int part) {
    std::size_t const end = part + 1 == parts ? rows : first_row(part + 1);
    for (std::size_t i = part == 0 ? 0 : first_row(part); i < end; ++i) {
      if (!is_in(i))
        continue;
      bool any = false;
      V sum{};
      for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k) {
        auto const j = static_cast<std::size_t>(a.col[k]);
        if (!in.has(j))
          continue;
        V const product = s.multiply(V(a.val[k]), V(in.val[j]));
        sum = any ? V(s.add(sum, product)) : product;
        any = true;
      }
      if (any)
        y.set(i, sum);
    }
  });
}

template <class S, class V, class I, class O, class Mask>
sparse_vector<V, I> spmspv(where const& w, S const& s, matrix_lines<V, I, O> a,
                           sparse_vector_view<V, I> x, Mask const& is_in) {
  check_host_operand("spmspv", a.lines, w);
  std::size_t const rows = a.rows(), cols = a.cols();
  if (static_cast<std::size_t>(x.size) != cols)
    fail(errc::shape_mismatch, "spmspv: x has size %lld but A has %zu columns",
         static_cast<long long>(x.size), cols);
  if (char const* const missing = missing_array(x))
    fail(errc::bad_structure, "spmspv: the array %s of x is null, but there are %lld entries",
         missing, static_cast<long long>(x.nnz));
  std::size_t const bytes =
      sparse_sums<V>::bytes(rows) + (a.by_columns ? 0 : sparse_sums<V>::bytes(cols));
  check_workspace("spmspv", bytes, w);
  int const threads = w.backend == backend::reference ? 1 : w.threads;
  where rest = w;
  rest.workspace_limit -= w.workspace_limit == SIZE_MAX ? 0 : bytes;
  sparse_sums<V> y(rows, w.memory);
  int parts = 1;
  if (a.by_columns) {
    std::size_t const products = count_products(a.lines, x, threads);
    parts = parts_for((products == SIZE_MAX ? 0 : products) + y.bits.size(), threads);
    if (products == SIZE_MAX)
      add_columns(s, canonical_operand<V, I, O>("spmspv", a.lines, rest).view, x, is_in, parts, y);
    else
      add_columns(s, a.lines, x, is_in, parts, y);
  } else {
    sparse_sums<V> in(cols, w.memory);
    for (I e = 0; e < x.nnz; ++e)
      in.set(static_cast<std::size_t>(x.index[e]), x.val[e]);
    canonical_operand<V, I, O> const from("spmspv", a.lines, rest);
    parts = parts_for(static_cast<std::size_t>(a.lines.nnz) + rows, threads);
    add_rows(s, from.view, in, is_in, parts, y);
  }
  return collected<I>(y, rows, parts, w.memory);
}

/// The lines of an operand without copying it, where it is csr or csc; else of its csr.
template <class S, class A, class X, class Mask>
auto spmspv_any(where const& w, S const& s, A const& a, X const& x, Mask const& is_in) {
  auto const& base = semiring_operand<A>::base(a);
  using view = view_type<std::remove_cvref_t<decltype(base)>>;
  using V = typename view::value;
  using I = typename view::index;
  using O = typename view::offset;
  constexpr bool transposed = semiring_operand<A>::transposed;
  sparse_vector_view<V, I> const entries = entries_of(x);
  if constexpr (std::is_same_v<view, csc_view<V, I, O>>) {
    csc_view<V, I, O> const columns = view_of(base);
    if (char const* const missing = missing_array(columns))
      fail(errc::bad_structure, "spmspv: A has no %s; was it moved from?", missing);
    return spmspv(w, s, matrix_lines<V, I, O>{as_rows(columns), !transposed}, entries, is_in);
  } else {
    limited const space("spmspv", w);
    auto const from = hub_of(base, space.counted());
    return spmspv(space.rest(w), s, matrix_lines<V, I, O>{from.view, transposed}, entries, is_in);
  }
}

template <class A, class X>
concept multiplies_sparse =
    semiring_operand<A>::value && sparse<X> && std::is_same_v<value_t<A>, sparse_value_t<X>>;

/// src/op/spmspv.cpp: y = alpha B x + beta y.
template <class V, class I>
void dense_spmspv(where const& w, V alpha, dense_view<V const> b, sparse_vector_view<V, I> x,
                  V beta, vector_view<V> y);

} // namespace detail

/// y = A x over a semiring.
template <class S, class A, class X>
requires(detail::semiring_of<S, A>&& detail::multiplies_sparse<A, X>) auto spmspv(where const& w,
                                                                                  S const& s,
                                                                                  A const& a,
                                                                                  X const& x) {
  return detail::spmspv_any(w, s, a, x, detail::no_mask());
}
template <class S, class A, class X>
requires(detail::semiring_of<S, A>&& detail::multiplies_sparse<A, X>) auto spmspv(S const& s,
                                                                                  A const& a,
                                                                                  X const& x) {
  return spmspv(where{}, s, a, x);
}
/// Restricted to a mask, which is as long as y.
template <class T, class S, class A, class X>
requires(detail::semiring_of<S, A>&& detail::multiplies_sparse<A, X>) auto spmspv(
    where const& w, vector_mask<T> const& mask, S const& s, A const& a, X const& x) {
  auto const& base = detail::semiring_operand<A>::base(a);
  auto const rows = static_cast<std::size_t>(detail::semiring_operand<A>::transposed
                                                 ? detail::view_of(base).cols
                                                 : detail::view_of(base).rows);
  if (mask.base.size() != rows)
    fail(errc::shape_mismatch, "spmspv: the mask has %zu entries but A has %zu rows",
         mask.base.size(), rows);
  if (rows != 0 && mask.base.data() == nullptr)
    fail(errc::bad_structure, "spmspv: the mask is null but has %zu entries", rows);
  return detail::spmspv_any(w, s, a, x, detail::elements_in<T>{mask.base.data(), mask.complement});
}
template <class T, class S, class A, class X>
requires(detail::semiring_of<S, A>&& detail::multiplies_sparse<A, X>) auto spmspv(
    vector_mask<T> const& mask, S const& s, A const& a, X const& x) {
  return spmspv(where{}, mask, s, a, x);
}

/// y = A x.
template <class A, class X>
requires detail::multiplies_sparse<A, X>
auto spmspv(where const& w, A const& a, X const& x) {
  return detail::spmspv_any(w, plus_times(), a, x, detail::no_mask());
}
template <class A, class X>
requires detail::multiplies_sparse<A, X>
auto spmspv(A const& a, X const& x) {
  return spmspv(where{}, a, x);
}

/// y = alpha B x + beta y of a dense B. The products of a row are added in the order of x. alpha ==
/// 0 does not read B and x, beta == 0 not y.
template <sparse X>
void spmv(where const& w, sparse_value_t<X> alpha, dense_view<sparse_value_t<X> const> b,
          X const& x, sparse_value_t<X> beta, vector_view<sparse_value_t<X>> y) {
  detail::dense_spmspv(w, alpha, b, detail::entries_t<X>(detail::entries_of(x)), beta, y);
}
template <sparse X>
void spmv(sparse_value_t<X> alpha, dense_view<sparse_value_t<X> const> b, X const& x,
          sparse_value_t<X> beta, vector_view<sparse_value_t<X>> y) {
  spmv(where{}, alpha, b, x, beta, y);
}

} // namespace tulle

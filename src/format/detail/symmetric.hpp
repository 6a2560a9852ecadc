// SPDX-License-Identifier: Apache-2.0

/// Symmetric storage: whether a matrix equals its transpose, its lower triangle, and the whole of
/// it from that.
#pragma once
#include "tulle/format/csr.hpp"

#include "format/detail/check_pointers.hpp"
#include "format/detail/copy.hpp"
#include "format/detail/counting_sort.hpp"
#include "format/detail/mirror.hpp"
#include "format/detail/refill.hpp"

#include <atomic>

namespace tulle::detail {

/// The first entry, by rows, of a matrix that has no twin of the same bits.
template <class V, class I>
struct lone_entry {
  bool found = false;
  bool has_twin = false; ///< of other bits
  I row = 0, col = 0;
  V value{}, twin{};
};

/// One of rows [i, end) of a canonical square matrix, the first; of the lower triangle alone where
/// `lower`. Counts what was looked at.
template <class V, class I, class O>
lone_entry<V, I> find_lone(csr_view<V, I, O> const& a, std::size_t i, std::size_t end, bool lower,
                           std::size_t& count) {
  std::size_t searches = 0;
  for (; i < end; ++i) {
    O const begin = a.row_ptr[i];
    O const stop = a.row_ptr[i + 1];
    for (O k = begin; k < stop && !(lower && a.col[k] >= static_cast<I>(i)); ++k, ++count) {
      O const twin = twin_of(a.row_ptr, a.col, static_cast<I>(i), a.col[k],
                             static_cast<O>(k - begin), searches);
      bool const has_twin = twin >= 0;
      if (!has_twin || !same(a.val + twin, a.val + k, 1))
        return {true,     has_twin, static_cast<I>(i),
                a.col[k], a.val[k], has_twin ? a.val[twin] : V{}};
    }
  }
  return {};
}

/// What keeps a canonical matrix from being symmetric: found is false where nothing does. A pass
/// over the lower triangle; each of its entries has a twin, and there are no more above.
template <class V, class I, class O>
lone_entry<V, I> find_lone(csr_view<V, I, O> const& a, cpu const& where) {
  if (a.nnz == 0)
    return {};
  auto const n = static_cast<std::size_t>(a.rows);
  int const parts = parts_for(static_cast<std::size_t>(a.nnz), where.threads);
  bool good = true;
  std::size_t below = 0;
  std::size_t on = 0;
  parallel(parts, [&](int part) {
    std::size_t const begin = split_by_entries(a.row_ptr, n, part, parts);
    std::size_t const end = split_by_entries(a.row_ptr, n, part + 1, parts);
    std::size_t count = 0;
    std::size_t diagonal = 0;
    if (find_lone(a, begin, end, true, count).found)
      __atomic_store_n(&good, false, __ATOMIC_RELAXED);
    for (std::size_t i = begin; i < end; ++i)
      diagonal +=
          std::binary_search(a.col + a.row_ptr[i], a.col + a.row_ptr[i + 1], static_cast<I>(i));
    std::atomic_ref(below).fetch_add(count, std::memory_order_relaxed);
    std::atomic_ref(on).fetch_add(diagonal, std::memory_order_relaxed);
  });
  if (good && 2 * below + on == static_cast<std::size_t>(a.nnz))
    return {};
  return find_lone(a, 0, n, false, below);
}

/// What symmetric storage needs of the shape.
template <class I>
void check_square(char const* format, I rows, I cols) {
  if (rows != cols)
    fail(errc::unsupported, "%s: symmetric storage of a matrix of %lld rows and %lld columns",
         format, static_cast<long long>(rows), static_cast<long long>(cols));
}

/// errc::unsupported for a matrix that has such an entry.
template <class V, class I>
[[noreturn]] void refuse_lone(char const* format, lone_entry<V, I> const& lone) {
  auto const i = static_cast<long long>(lone.row);
  auto const j = static_cast<long long>(lone.col);
  if (lone.has_twin)
    fail(errc::unsupported,
         "%s: symmetric storage of a matrix whose (%lld, %lld) is %.17g and (%lld, %lld) is %.17g",
         format, i, j, static_cast<double>(lone.value), j, i, static_cast<double>(lone.twin));
  fail(errc::unsupported,
       "%s: symmetric storage of a matrix whose (%lld, %lld) is stored and (%lld, %lld) is not",
       format, i, j, j, i);
}

/// errc::unsupported for a canonical matrix that does not equal its transpose bit by bit. In a
/// refill, one whose pattern does not is of another pattern.
template <class V, class I, class O>
void check_symmetric(char const* format, csr_view<V, I, O> const& a, cpu const& where,
                     bool refill = false) {
  check_square(format, a.rows, a.cols);
  lone_entry<V, I> const lone = find_lone(a, where);
  if (!lone.found)
    return;
  if (refill && !lone.has_twin)
    refill_mismatch(format);
  refuse_lone(format, lone);
}

/// Whether a is the matrix whose lower triangle has the pattern row_ptr and col, with as many
/// entries as that has, and equals its transpose bit by bit. What is above the diagonal of a row is
/// met in order while rows below go by: each part keeps where it is in each row.
template <class V, class I, class O>
bool mirrors(csr_view<V, I, O> const& a, O const* row_ptr, I const* col, cpu const& where) {
  if (a.nnz == 0)
    return true;
  auto const n = static_cast<std::size_t>(a.rows);
  auto const entries = static_cast<std::size_t>(a.nnz);
  // No more parts than their places take bytes of the values.
  int const parts = static_cast<int>(std::min<std::size_t>(
      static_cast<std::size_t>(parts_for(entries, where.threads)), entries / n + 1));
  array<O> places(checked_mul(n, static_cast<std::size_t>(parts), "refill"), where.memory);
  bool all = true;
  parallel(parts, [&](int part) {
    O* const place = places.data() + static_cast<std::size_t>(part) * n;
    std::size_t const begin = split_by_entries(row_ptr, n, part, parts);
    std::size_t const end = split_by_entries(row_ptr, n, part + 1, parts);
    for (std::size_t j = 0; j < begin; ++j)
      place[j] = first_from(a.col, a.row_ptr[j], a.row_ptr[j + 1], static_cast<I>(begin));
    for (std::size_t j = begin; j < end; ++j) // behind its lower triangle, if that is as long
      place[j] = static_cast<O>(
          std::min(entries, static_cast<std::size_t>(a.row_ptr[j]) +
                                static_cast<std::size_t>(row_ptr[j + 1] - row_ptr[j])));
    bool good = true;
    for (std::size_t i = begin; i < end && good; ++i) {
      auto const length = static_cast<std::size_t>(row_ptr[i + 1] - row_ptr[i]);
      O const first = a.row_ptr[i];
      good = static_cast<std::size_t>(a.row_ptr[i + 1] - first) >= length &&
             same(a.col + first, col + row_ptr[i], length);
      for (std::size_t k = 0; k < length && good; ++k) {
        auto const j = static_cast<std::size_t>(a.col[static_cast<std::size_t>(first) + k]);
        if (j == i)
          break;
        auto const twin = static_cast<std::size_t>(place[j]++);
        // As many streams as the row is long. ms on fem 60000, two threads of Zen 4: 3.3, else 4.2.
        __builtin_prefetch(a.val + twin + 64 / sizeof(V));
        __builtin_prefetch(a.col + twin + 64 / sizeof(I));
        good = twin < entries && a.col[twin] == static_cast<I>(i) &&
               same(a.val + twin, a.val + first + k, 1);
      }
    }
    for (std::size_t j = 0; j < end && good; ++j) // none went on in the next row
      good = place[j] <= a.row_ptr[j + 1];
    if (!good)
      __atomic_store_n(&all, false, __ATOMIC_RELAXED);
  });
  return all;
}

/// What lies on and below the diagonal of a canonical matrix; or, seen as square blocks of that
/// side, in its blocks on and below the diagonal. a may be some of its rows, from `first` on.
template <class V, class I, class O>
csr<V, I, O> lower_triangle(csr_view<V, I, O> const& a, cpu const& where, int side = 1,
                            std::size_t first = 0) {
  auto const n = static_cast<std::size_t>(a.rows);
  int const parts = parts_for(static_cast<std::size_t>(a.nnz) + n, where.threads);
  csr<V, I, O> l(unchecked, a.rows, a.cols, array<O>(n + 1, where.memory), {}, {});
  l.row_ptr[0] = 0;
  parallel(parts, [&](int part) {
    auto const m = static_cast<std::size_t>(side);
    auto const end_of_block = [&](std::size_t i) { // or of the matrix
      return std::min(first + n, (first + i) / m * m + m);
    };
    for (std::size_t i = split(n, part, parts), end = split(n, part + 1, parts); i < end; ++i)
      l.row_ptr[i + 1] =
          static_cast<O>(std::upper_bound(a.col + a.row_ptr[i], a.col + a.row_ptr[i + 1],
                                          static_cast<I>(end_of_block(i) - 1)) -
                         (a.col + a.row_ptr[i]));
  });
  for (std::size_t i = 0; i < n; ++i)
    l.row_ptr[i + 1] = static_cast<O>(l.row_ptr[i + 1] + l.row_ptr[i]);
  l.col = array<I>(static_cast<std::size_t>(l.row_ptr[n]), where.memory);
  l.val = array<V>(l.col.size(), where.memory);
  parallel(parts, [&](int part) {
    for (std::size_t i = split(n, part, parts), end = split(n, part + 1, parts); i < end; ++i) {
      O const length = static_cast<O>(l.row_ptr[i + 1] - l.row_ptr[i]);
      std::copy_n(a.col + a.row_ptr[i], length, l.col.data() + l.row_ptr[i]);
      std::copy_n(a.val + a.row_ptr[i], length, l.val.data() + l.row_ptr[i]);
    }
  });
  return l;
}

/// What is stored of a canonical matrix: its lower triangle if that stands for all of it.
template <class V, class I, class O>
struct stored_part {
  csr<V, I, O> lower;
  csr_view<V, I, O> view;

  stored_part(csr_view<V, I, O> const& a, bool symmetric, cpu const& where, int side = 1)
      : view(a) {
    if (!symmetric)
      return;
    lower = lower_triangle(a, where, side);
    view = lower.view();
  }
};

/// The symmetric matrix whose lower triangle is `l`, which is canonical.
template <class V, class I, class O>
csr<V, I, O> mirrored(csr_view<V, I, O> const& l, cpu const& where) {
  auto const n = static_cast<std::size_t>(l.rows);
  auto const below = [&](std::size_t i) { // entries of row i before the diagonal
    O const end = l.row_ptr[i + 1];
    return static_cast<O>(end - l.row_ptr[i] -
                          (end != l.row_ptr[i] && l.col[end - 1] == static_cast<I>(i)));
  };
  array<I> row(static_cast<std::size_t>(l.nnz), where.memory); // of entries by columns
  array<V> val(row.size(), where.memory);
  array<O> const ptr = counting_sort<O>(
      n, row.size(),
      [&](int part, int parts, auto&& f) {
        if (l.nnz == 0)
          return;
        std::size_t const end = split_by_entries(l.row_ptr, n, part + 1, parts);
        for (std::size_t i = split_by_entries(l.row_ptr, n, part, parts); i < end; ++i)
          for (O k = l.row_ptr[i], stop = static_cast<O>(k + below(i)); k < stop; ++k)
            f(static_cast<std::size_t>(l.col[k]), static_cast<I>(i), l.val[k]);
      },
      [&](std::size_t at, O const*, I i, V v) {
        row[at] = i;
        val[at] = v;
      },
      where);
  std::size_t const entries = static_cast<std::size_t>(l.nnz) + static_cast<std::size_t>(ptr[n]);
  narrow<O>(entries, "number of entries");
  csr<V, I, O> c(unchecked, l.rows, l.cols, array<O>(n + 1, where.memory),
                 array<I>(entries, where.memory), array<V>(entries, where.memory));
  int const parts = parts_for(entries + n, where.threads);
  c.row_ptr[0] = 0;
  parallel(parts, [&](int part) {
    std::size_t const end = split(n, part + 1, parts);
    for (std::size_t i = split(n, part, parts); i < end; ++i) {
      auto const at = static_cast<std::size_t>(l.row_ptr[i] + ptr[i]);
      std::size_t const mine = static_cast<std::size_t>(l.row_ptr[i + 1] - l.row_ptr[i]);
      std::size_t const others = static_cast<std::size_t>(ptr[i + 1] - ptr[i]);
      std::copy_n(l.col + l.row_ptr[i], mine, c.col.data() + at);
      std::copy_n(l.val + l.row_ptr[i], mine, c.val.data() + at);
      std::copy_n(row.data() + ptr[i], others, c.col.data() + at + mine);
      std::copy_n(val.data() + ptr[i], others, c.val.data() + at + mine);
      c.row_ptr[i + 1] = static_cast<O>(at + mine + others);
    }
  });
  return c;
}

} // namespace tulle::detail

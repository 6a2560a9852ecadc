// SPDX-License-Identifier: Apache-2.0

/// What ell and formats with an ell in them are built with and checked by.
#pragma once
#include "tulle/format/ell.hpp"

#include "format/detail/canonical.hpp"
#include "format/detail/copy.hpp"
#include "format/detail/lanes.hpp"
#include "format/detail/row_lengths.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace tulle::detail {

// Rows that are converted together, entry by entry: what is read or written of each column is long
// enough to be a stream, and what is of the rows stays in the cache.
constexpr std::size_t ell_strip = 512;

/// From an entry of a row to its next: an odd number of cache lines of 32-bit columns, so that the
/// columns are aligned and do not fall into the same sets of a cache. A matrix of few rows is kept
/// as it is.
inline std::size_t ell_stride(std::size_t rows) {
  constexpr std::size_t line = 16, few = 64;
  if (rows < few)
    return rows;
  return ((rows + line - 1) / line | 1) * line;
}

inline void check_limit(char const* format, double limit) {
  if (!(limit > 0))
    fail(errc::unsupported, "%s: option limit is %g, expected a number above 0", format, limit);
}

/// The bytes of width columns and of row_len.
template <class V, class I>
double ell_bytes(std::size_t rows, I width) {
  return static_cast<double>(width) * static_cast<double>(ell_stride(rows)) *
             static_cast<double>(sizeof(V) + sizeof(I)) +
         static_cast<double>(rows) * static_cast<double>(sizeof(I));
}

/// f(i, s) for the first `width` entries of rows [begin, end), by strips.
template <class F>
void in_strips(std::size_t begin, std::size_t end, std::size_t width, F&& f) {
  for (; begin < end; begin += ell_strip) {
    std::size_t const stop = std::min(end, begin + ell_strip);
    for (std::size_t s = 0; s < width; ++s)
      for (std::size_t i = begin; i < stop; ++i)
        f(i, s);
  }
}

/// f(begin, end) for shares of the rows, in parallel; shares begin at strips.
template <class F>
void ell_shares(std::size_t rows, std::size_t stored, cpu const& where, F&& f) {
  std::size_t const strips = (rows + ell_strip - 1) / ell_strip;
  int const parts = parts_for(stored + rows, where.threads);
  parallel(parts, [&](int part) {
    f(std::min(rows, split(strips, part, parts) * ell_strip),
      std::min(rows, split(strips, part + 1, parts) * ell_strip));
  });
}

/// The first `width` entries of each row of a canonical a, padded.
template <class V, class I, class O>
ell<V, I, O> first_entries(csr_view<V, I, O> const& a, I width, cpu const& where) {
  auto const n = static_cast<std::size_t>(a.rows);
  std::size_t const stride = ell_stride(n);
  std::size_t const stored = checked_mul(static_cast<std::size_t>(width), stride, "ell");
  ell<V, I, O> b(unchecked, a.rows, a.cols, O(0), width, stride, array<I>(n, where.memory),
                 array<I>(stored, where.memory), array<V>(stored, where.memory));
  O nnz = 0;
  ell_shares(n, stored, where, [&](std::size_t begin, std::size_t end) {
    O mine = 0;
    for (std::size_t i = begin; i < end; ++i) {
      auto const length = static_cast<O>(a.row_ptr[i + 1] - a.row_ptr[i]);
      b.row_len[i] = std::cmp_less(length, width) ? static_cast<I>(length) : width;
      mine = static_cast<O>(mine + b.row_len[i]);
    }
    in_strips(begin, end, static_cast<std::size_t>(width), [&](std::size_t i, std::size_t s) {
      auto const length = static_cast<std::size_t>(b.row_len[i]);
      auto const first = static_cast<std::size_t>(a.row_ptr[i]);
      std::size_t const at = s * stride + i;
      b.col[at] = length == 0 ? I(0) : a.col[first + std::min(s, length - 1)];
      b.val[at] = s < length ? a.val[first + s] : V{};
    });
    std::atomic_ref(nnz).fetch_add(mine, std::memory_order_relaxed);
  });
  b.nnz = nnz;
  for (std::size_t s = 0; s < static_cast<std::size_t>(width); ++s)
    for (std::size_t i = n; i < stride; ++i) {
      b.col[s * stride + i] = 0;
      b.val[s * stride + i] = V{};
    }
  return b;
}

// Rows that are refilled together: their values are a line of each column. ms to refill fem 60000,
// two threads of Zen 4: 5.8; by strips of 512 rows and entry by entry 9.8.
constexpr std::size_t ell_lanes = 8;

/// f(i, lanes) for the first entries of rows i to i + ell_lanes of a, up to b.width, in parallel.
template <class V, class I, class O, class F>
void ell_rows(ell_view<V, I, O> const& b, csr_view<V, I, O> const& a, cpu const& where, F&& f) {
  ell_shares(
      static_cast<std::size_t>(b.rows), b.stored(), where, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; i += ell_lanes)
          f(i, row_lanes<O>(a.row_ptr, static_cast<int>(ell_lanes),
                            static_cast<int>(std::min(ell_lanes, end - i)), static_cast<O>(b.width),
                            [i](int l) { return i + static_cast<std::size_t>(l); }));
        after_stores();
      });
}

/// The values of the first entries of each row of a, which has b's pattern, to b's place `val`.
template <class V, class I, class O>
void refill_first_entries(ell_view<V, I, O> const& b, csr_view<V, I, O> const& a, V* val,
                          cpu const& where) {
  bool const past = b.stored() * sizeof(V) >= past_caches_from && b.stride % ell_lanes == 0;
  ell_rows(b, a, where, [&](std::size_t i, row_lanes<O> const& lanes) {
    auto const to = [&, val = val + i, stride = b.stride](auto k) {
      return val + static_cast<std::size_t>(k) * stride;
    };
    lanes.copy(a.val, past, to, [&](auto k) {
      if (!past) // lines of more columns than are foreseen
        for (auto const end = std::min<decltype(k)>(k + 8, static_cast<decltype(k)>(lanes.common));
             k < end; ++k)
          __builtin_prefetch(to(k) + 2 * ell_lanes, 1);
    });
  });
}

/// Whether b holds the first entries of each row of a, which is of the same shape: those columns,
/// as many as there are, up to b.width.
template <class V, class I, class O>
bool holds_first_entries(ell_view<V, I, O> const& b, csr_view<V, I, O> const& a, cpu const& where) {
  bool good = true;
  ell_rows(b, a, where, [&](std::size_t i, row_lanes<O> const& lanes) {
    I other = 0; // no branch an entry
    for (int l = 0; l < lanes.here; ++l)
      other |=
          static_cast<I>(b.row_len[i + static_cast<std::size_t>(l)] ^ static_cast<I>(lanes.n[l]));
    if (other == 0)
      lanes.each([&, stride = b.stride, col = b.col, from = a.col](int l, O k) {
        I const* const column = col + static_cast<std::size_t>(k) * stride + i;
        if (l == 0)
          __builtin_prefetch(column + 2 * ell_lanes);
        other |= static_cast<I>(column[l] ^ from[lanes.from[l] + k]);
      });
    if (other != 0)
      __atomic_store_n(&good, false, __ATOMIC_RELAXED);
  });
  return good;
}

/// f(i, s, at) for every entry, at being its place in col and val, in parallel.
template <class V, class I, class O, class F>
void each_entry(ell_view<V, I, O> const& a, cpu const& where, F&& f) {
  ell_shares(
      static_cast<std::size_t>(a.rows), a.stored(), where, [&](std::size_t begin, std::size_t end) {
        in_strips(begin, end, static_cast<std::size_t>(a.width), [&](std::size_t i, std::size_t s) {
          if (s < static_cast<std::size_t>(a.row_len[i]))
            f(i, s, s * a.stride + i);
        });
      });
}

/// How many entries row_len counts, each of its lengths checked.
template <class I>
std::size_t count_entries(char const* format, I const* row_len, std::size_t rows, I width) {
  if (row_len == nullptr && rows != 0)
    fail(errc::bad_structure, "%s: row_len is null, but there are %zu rows", format, rows);
  std::size_t sum = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    if (row_len[i] < 0 || row_len[i] > width)
      fail(errc::bad_structure, "%s: row_len[%zu] is %lld, outside [0, %lld]", format, i,
           static_cast<long long>(row_len[i]), static_cast<long long>(width));
    sum += static_cast<std::size_t>(row_len[i]);
  }
  return sum;
}

template <class I>
void check_ell_shape(char const* format, I rows, I cols, I width, std::size_t stride) {
  check_shape(format, rows, cols);
  if (width < 0)
    fail(errc::bad_structure, "%s: width is %lld; that may not be negative", format,
         static_cast<long long>(width));
  if (stride < static_cast<std::size_t>(rows))
    fail(errc::bad_structure, "%s: stride is %zu, less than %lld rows", format, stride,
         static_cast<long long>(rows));
  checked_mul(static_cast<std::size_t>(width), stride, format);
}

/// Arrays that are to be an ell have sizes that fit; returns the entries that row_len counts.
template <class I>
std::size_t check_ell_sizes(char const* format, I rows, I cols, I width, std::size_t stride,
                            std::span<I const> row_len, std::size_t columns, std::size_t values) {
  check_ell_shape(format, rows, cols, width, stride);
  if (row_len.size() != static_cast<std::size_t>(rows))
    fail(errc::bad_structure, "%s: %zu row lengths for %lld rows", format, row_len.size(),
         static_cast<long long>(rows));
  std::size_t const stored = static_cast<std::size_t>(width) * stride;
  if (columns != stored || values != stored)
    fail(errc::bad_structure, "%s: %zu columns and %zu values, expected %zu: %lld times %zu",
         format, columns, values, stored, static_cast<long long>(width), stride);
  return count_entries(format, row_len.data(), row_len.size(), width);
}

/// Every invariant of an ell, or of the part of a hyb that is one.
template <class V, class I, class O, space S>
void check_ell(char const* format, ell_view<V, I, O, S> const& a) {
  check_ell_shape(format, a.rows, a.cols, a.width, a.stride);
  auto const n = static_cast<std::size_t>(a.rows);
  std::size_t const entries = count_entries(format, a.row_len, n, a.width);
  if (std::cmp_not_equal(entries, a.nnz))
    fail(errc::bad_structure, "%s: row_len counts %zu entries, expected %lld", format, entries,
         static_cast<long long>(a.nnz));
  if (a.stored() != 0 && (a.col == nullptr || a.val == nullptr))
    fail(errc::bad_structure, "%s: %s is null, but %zu entries are stored", format,
         a.col == nullptr ? "col" : "val", a.stored());
  auto const check = [&](std::size_t i, std::size_t s) {
    std::size_t const at = s * a.stride + i;
    if (a.col[at] < 0 || a.col[at] >= a.cols)
      fail(errc::bad_structure, "%s: col[%zu] is %lld, outside [0, %lld)", format, at,
           static_cast<long long>(a.col[at]), static_cast<long long>(a.cols));
    if (i >= n || s >= static_cast<std::size_t>(a.row_len[i])) {
      if (!(a.val[at] == V{}))
        fail(errc::bad_structure, "%s: val[%zu] is padding and not 0", format, at);
    } else if (s > 0 && a.col[at] <= a.col[at - a.stride]) {
      fail(errc::bad_structure, "%s: col[%zu] is %lld after %lld in row %zu, expected ascending",
           format, at, static_cast<long long>(a.col[at]),
           static_cast<long long>(a.col[at - a.stride]), i);
    }
  };
  if (a.stored() == 0) // then one of width and stride may be anything
    return;
  ell_shares(a.stride, a.stored(), {}, [&](std::size_t begin, std::size_t end) {
    in_strips(begin, end, static_cast<std::size_t>(a.width), check);
  });
}

} // namespace tulle::detail

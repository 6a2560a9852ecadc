// SPDX-License-Identifier: Apache-2.0
#include "tulle/format/csr_pool.hpp"

#include "tulle/core/limited.hpp"

#include "format/detail/check_pointers.hpp"
#include "format/detail/refill.hpp"
#include "format/detail/row_lengths.hpp"
#include "format/detail/segments.hpp"
#include "format/instantiate.hpp"

#include <algorithm>

namespace tulle {

namespace detail {

inline void check_pool(csr_pool_options const& o) {
  if (o.segments < 1 || o.segments > most_segments)
    fail(errc::unsupported, "csr_pool: option segments is %d, expected 1 to %d", o.segments,
         most_segments);
  if (!(o.factor >= 0) || !(o.factor <= 1e6))
    fail(errc::unsupported, "csr_pool: option factor is %g, expected 0 to 1e6", o.factor);
  if (o.plus < 0)
    fail(errc::unsupported, "csr_pool: option plus is %d, expected 0 or more", o.plus);
}

template <class O>
void check_pool_entries(std::size_t found, O nnz) {
  if (found != static_cast<std::size_t>(nnz))
    fail(errc::bad_structure, "csr_pool: rows have %zu entries, expected %lld", found,
         static_cast<long long>(nnz));
}

/// f(i, k) for each row, k being its first entry in csr, in parallel.
template <class V, class I, class O, class F>
void each_csr_row(csr_view<V, I, O> const& c, cpu const& where, F&& f) {
  auto const n = static_cast<std::size_t>(c.rows);
  if (n == 0)
    return;
  int const parts = parts_for(static_cast<std::size_t>(c.nnz) + n, where.threads);
  parallel(parts, [&](int part) {
    std::size_t const end = split_by_entries(c.row_ptr, n, part + 1, parts);
    for (std::size_t i = split_by_entries(c.row_ptr, n, part, parts); i < end; ++i)
      f(i, static_cast<std::size_t>(c.row_ptr[i]));
  });
}

} // namespace detail

template <class V, class I, class O, space S>
csr_pool_view<V, I, O, S>::csr_pool_view(I rows, I cols, int segments, std::span<I const> length,
                                         std::span<O const> in_group, std::span<O const> begin,
                                         std::span<O const> end, std::span<I const> col,
                                         std::span<V const> val) requires(S == space::host)
    : rows(rows), cols(cols), places(narrow<O>(val.size(), "number of places")), segments(segments),
      length(length.data()), in_group(in_group.data()), begin(begin.data()), end(end.data()),
      col(col.data()), val(val.data()) {
  detail::check_shape("csr_pool", rows, cols);
  if (col.size() != val.size())
    fail(errc::bad_structure, "csr_pool: %zu columns but %zu values", col.size(), val.size());
  if (length.size() != static_cast<std::size_t>(rows) || in_group.size() != groups())
    fail(errc::bad_structure, "csr_pool: %zu lengths and %zu groups for %lld rows", length.size(),
         in_group.size(), static_cast<long long>(rows));
  std::size_t const table = length.size() * static_cast<std::size_t>(segments);
  if (begin.size() != table || end.size() != table)
    fail(errc::bad_structure, "csr_pool: %zu begins and %zu ends for %d segments of %lld rows",
         begin.size(), end.size(), segments, static_cast<long long>(rows));
  std::uint64_t entries = 0;
  for (I const n : length)
    entries += static_cast<std::uint64_t>(n < 0 ? ~n : n);
  nnz = static_cast<O>(entries); // no more than places, or a row is refused
  validate();
}

template <class V, class I, class O, space S>
void csr_pool_view<V, I, O, S>::validate() const {
  detail::check_shape("csr_pool", rows, cols);
  if (segments < 1 || segments > most_segments)
    fail(errc::bad_structure, "csr_pool: %d segments, expected 1 to %d", segments, most_segments);
  if (places < 0)
    fail(errc::bad_structure, "csr_pool: %lld places", static_cast<long long>(places));
  if (char const* const missing = detail::missing_array(*this))
    fail(errc::bad_structure, "csr_pool: %s is null", missing);
  auto const pool = page();
  auto const a = as_dynamic(pool);
  auto const all = detail::check_segments("csr_pool", a, static_cast<std::size_t>(places));
  detail::check_pool_entries(all.entries, nnz);
  for (I i = 0; i < rows; ++i) {
    I last = -1;
    a.each_segment(i, [&](I const* c, V const*, I n) {
      for (I k = 0; k < n; last = c[k++])
        if (c[k] <= last)
          fail(errc::bad_structure, "csr_pool: column %lld of row %lld follows %lld",
               static_cast<long long>(c[k]), static_cast<long long>(i),
               static_cast<long long>(last));
    });
  }
}

template <class V, class I, class O>
void csr_pool<V, I, O>::validate() const {
  csr_pool_view<V, I, O> const checked(rows, cols, segments, length, in_group, begin, end, col,
                                       val);
  detail::check_pool_entries(static_cast<std::size_t>(checked.nnz), nnz);
}

template <class V, class I, class O, space S>
csr<V, I, O> csr_pool_view<V, I, O, S>::to_csr(cpu const& policy) const {
  detail::limited const space("csr_pool", policy);
  cpu const& where = space.counted();
  auto const pool = page();
  auto const a = as_dynamic(pool);
  auto const entries = static_cast<std::size_t>(nnz);
  csr<V, I, O> c(unchecked, rows, cols,
                 detail::pointers_of<O>(
                     static_cast<std::size_t>(rows),
                     [&](std::size_t i) { return a.size(static_cast<I>(i)); }, where),
                 array<I>(entries, where.memory), array<V>(entries, where.memory));
  detail::each_csr_row(c.view(), where, [&](std::size_t i, std::size_t k) {
    a.each_segment(static_cast<I>(i), [&](I const* from, V const* v, I n) {
      std::copy_n(from, n, c.col.data() + k);
      std::copy_n(v, n, c.val.data() + k);
      k += static_cast<std::size_t>(n);
    });
  });
  return c;
}

template <class V, class I, class O>
csr_pool<V, I, O> csr_pool<V, I, O>::from_csr(csr_view<V, I, O> a, csr_pool_options o,
                                              cpu const& policy) {
  detail::limited const space("csr_pool", policy);
  cpu const& where = space.counted();
  detail::check_pool(o);
  detail::canonical<V, I, O> const canon(a, where);
  csr_view<V, I, O> const& c = canon.view;
  auto const n = static_cast<std::size_t>(c.rows);
  auto const levels = static_cast<std::size_t>(o.segments);
  auto const length_of = [&](std::size_t i) {
    return static_cast<std::size_t>(c.row_ptr[i + 1] - c.row_ptr[i]);
  };
  // Entries of a row's segment s: even shares, the first ones longer.
  auto const share = [=](std::size_t entries, std::size_t s) {
    return (entries + levels - 1 - s) / levels;
  };
  std::size_t const table = checked_mul(levels, n, "csr_pool: segments");
  auto const at = detail::pointers_of<std::int64_t>(
      table,
      [&](std::size_t q) {
        std::size_t const s = q / n, entries = length_of(q - s * n);
        double const room = o.factor * static_cast<double>(entries);
        return static_cast<std::int64_t>(share(entries, s)) +
               (entries > 0 && s + 1 == levels ? static_cast<std::int64_t>(room) + o.plus : 0);
      },
      where);
  auto const places = static_cast<std::size_t>(narrow<O>(at[table], "number of places"));
  csr_pool b;
  b.rows = c.rows;
  b.cols = c.cols;
  b.nnz = c.nnz;
  b.segments = o.segments;
  b.length = array<I>(n, where.memory);
  b.in_group = array<O>(b.view().groups(), where.memory);
  b.begin = array<O>(table, where.memory);
  b.end = array<O>(table, where.memory);
  b.col = array<I>(places, where.memory);
  b.val = array<V>(places, where.memory);
  for (std::size_t g = 0; g < b.in_group.size(); ++g)
    b.in_group[g] =
        static_cast<O>(c.row_ptr[std::min(n, (g + 1) * static_cast<std::size_t>(group_rows))] -
                       c.row_ptr[g * static_cast<std::size_t>(group_rows)]);
  detail::each_csr_row(c, where, [&](std::size_t i, std::size_t k) {
    std::size_t const entries = length_of(i);
    for (std::size_t s = 0; s < levels; ++s) {
      std::size_t const q = s * n + i, here = share(entries, s);
      auto const first = static_cast<std::size_t>(at[q]);
      auto const last = static_cast<std::size_t>(at[q + 1]);
      b.begin[q] = static_cast<O>(first);
      b.end[q] = static_cast<O>(last);
      std::copy_n(c.col + k, here, b.col.data() + first);
      std::copy_n(c.val + k, here, b.val.data() + first);
      std::fill(b.col.data() + first + here, b.col.data() + last, I(-1));
      std::fill(b.val.data() + first + here, b.val.data() + last, V(0));
      k += here;
    }
    auto const size = static_cast<I>(entries);
    b.length[i] =
        static_cast<std::int64_t>(entries) > at[i + 1] - at[i] ? static_cast<I>(~size) : size;
  });
  return b;
}

template <class V, class I, class O>
void csr_pool<V, I, O>::refill(csr_view<V, I, O> a, cpu const& policy) {
  detail::limited const space("csr_pool", policy);
  cpu const& where = space.counted();
  detail::check_arrays("csr_pool", *this);
  csr_pool_view<V, I, O> const v = view();
  auto const pool = v.page();
  auto const b = v.as_dynamic(pool);
  detail::refill_if(
      "csr_pool", rows, cols, nnz, a, where,
      [&](csr_view<V, I, O> const& c) {
        bool good = true;
        detail::each_csr_row(c, where, [&](std::size_t i, std::size_t k) {
          bool here = c.row_ptr[i + 1] - c.row_ptr[i] == b.size(static_cast<I>(i));
          if (here)
            b.each_segment(static_cast<I>(i), [&](I const* to, V const*, I n) {
              here = here && detail::same(c.col + k, to, static_cast<std::size_t>(n));
              k += static_cast<std::size_t>(n);
            });
          if (!here)
            __atomic_store_n(&good, false, __ATOMIC_RELAXED);
        });
        return good;
      },
      [&](csr_view<V, I, O> const& c) {
        detail::each_csr_row(c, where, [&](std::size_t i, std::size_t k) {
          b.each_segment(static_cast<I>(i), [&](I const*, V const* to, I n) {
            std::copy_n(c.val + k, n, val.data() + (to - v.val));
            k += static_cast<std::size_t>(n);
          });
        });
      });
}

} // namespace tulle

TULLE_INSTANTIATE_FORMAT(csr_pool, every)

// SPDX-License-Identifier: Apache-2.0

/// CSR in a pool: a row is a few segments of one pool, filled one after the other, with room behind
/// the last. The rows of a dynamic_csr whose pool is one chunk, between two batches.
///
///     1 . 2 .      segments = 2    length     -3 1 1 -4
///     . 3 . .                      in_group   7
///     . . . 4                      begin      0 1 2 3     5   7 8 9
///     5 6 7 .                      end        1 2 3 5     7   8 9 11
///                                  col        0 1 3 0 1   2 - - - 2 -
///                                  val        1 3 4 5 6   2 0 0 0 7 0
///
/// Good for   seeing what room and segments cost, by the kernel that dynamic_csr has; to insert
/// entries is for that one alone.
/// Bad for    patterns that stay: room and tables are bytes that csr has not.
/// Space      (V + I) * places + (2 O * segments + I) * rows + O * rows / 256; places are nnz and
/// for each row factor * length + plus.
/// From       King et al., Efficient SpMM using Dynamic-CSR on GPUs, sec. 3.1. Unlike the paper,
/// slack goes by the length of a row.
///
/// -3 is ~2: two entries, of which some are beyond the first segment. `begin` and `end` are the
/// first segments of all rows, then the second ones; - is room.
///
/// Invariants (validate() checks all of them)
///   1 <= segments <= 8; segments lie within the pool, and none overlaps another
///   a row has no more entries than room; its length is inverted if its first segment has less
///   0 <= col[p] < cols where a row has an entry, ascending within it; room is not looked at
///   in_group has the entries of 256 rows each; together nnz
#pragma once
#include "tulle/dynamic/dynamic_view.hpp"
#include "tulle/format/csr.hpp"
#include "tulle/format/detail/row_lengths.hpp"

namespace tulle {

template <class V, class I = std::int32_t, class O = I, space S = space::host>
struct csr_pool_view {
  using value = V;
  using index = I;
  using offset = O;

  I rows = 0;
  I cols = 0;
  O nnz = 0;
  O places = 0;                ///< of the pool
  int segments = 1;            ///< of a row
  I const* length = nullptr;   ///< rows
  O const* in_group = nullptr; ///< groups()
  O const* begin = nullptr;    ///< segments * rows
  O const* end = nullptr;      ///< segments * rows
  I const* col = nullptr;      ///< places
  V const* val = nullptr;      ///< places
  std::uint64_t serial = 0;    ///< of the owner's pattern; 0: borrowed arrays

  csr_pool_view() = default;
  csr_pool_view(unchecked_t, I rows, I cols, O nnz, O places, int segments, I const* length,
                O const* in_group, O const* begin, O const* end, I const* col, V const* val)
      : rows(rows), cols(cols), nnz(nnz), places(places), segments(segments), length(length),
        in_group(in_group), begin(begin), end(end), col(col), val(val) {}
  /// Borrows the caller's arrays after checking every invariant, once: O(rows + places).
  csr_pool_view(I rows, I cols, int segments, std::span<I const> length,
                std::span<O const> in_group, std::span<O const> begin, std::span<O const> end,
                std::span<I const> col, std::span<V const> val) requires(S == space::host);

  std::size_t groups() const {
    return (static_cast<std::size_t>(rows) + group_rows - 1) / group_rows;
  }

  /// f(name, pointer, size) for each array.
  template <class F>
  void arrays(F&& f) const {
    auto const table = static_cast<std::size_t>(segments) * static_cast<std::size_t>(rows);
    f("length", length, static_cast<std::size_t>(rows));
    f("in_group", in_group, groups());
    f("begin", begin, table);
    f("end", end, table);
    f("col", col, static_cast<std::size_t>(places));
    f("val", val, static_cast<std::size_t>(places));
  }

  /// The pool, for as_dynamic().
  [[gnu::always_inline]] dynamic_page<V, I> page() const {
    return {const_cast<I*>(col), const_cast<V*>(val)};
  }
  /// As dynamic matrices look at theirs; nobody writes through it. The page must outlive it.
  [[gnu::always_inline]] dynamic_view<V, I, O> as_dynamic(dynamic_page<V, I> const& page) const {
    dynamic_view<V, I, O> a{};
    a.rows = rows;
    a.cols = cols;
    a.entries = nnz;
    a.shift = 62; // one page
    a.length = length;
    a.in_group = in_group;
    for (int s = 0; s < segments; ++s) {
      a.begin[s] = begin + static_cast<std::size_t>(s) * static_cast<std::size_t>(rows);
      a.end[s] = end + static_cast<std::size_t>(s) * static_cast<std::size_t>(rows);
    }
    a.pages = &page;
    return a;
  }

  void validate() const;
  csr<V, I, O> to_csr(cpu const& where = {}) const;
};

/// Room as dynamic_options has it by default.
struct csr_pool_options {
  int segments = 1; ///< that a row is cut into, at most 8
  double factor = .12;
  int plus = 1;

  template <class F>
  void fields(F&& f) {
    f("segments", segments);
    f("factor", factor);
    f("plus", plus);
  }
  static constexpr char const* drawn = "segments=2";
  static constexpr char const* variants[] = {"segments=2", "segments=8:plus=0", "factor=0:plus=0"};
};

template <class V, class I = std::int32_t, class O = I>
struct csr_pool {
  using options = csr_pool_options;

  I rows = 0;
  I cols = 0;
  O nnz = 0;
  int segments = 1;
  array<I> length;
  array<O> in_group;
  array<O> begin;
  array<O> end;
  array<I> col;
  array<V> val;
  detail::serial_number serial; ///< of the pattern

  csr_pool() = default;
  static csr_pool from_csr(csr_view<V, I, O> a, csr_pool_options = {}, cpu const& where = {});
  csr<V, I, O> to_csr(cpu const& where = {}) const {
    return detail::checked(*this, where).to_csr(where);
  }
  /// New values on the same pattern; errc::bad_structure if the pattern differs.
  void refill(csr_view<V, I, O> a, cpu const& where = {});
  csr_pool_view<V, I, O> view() const& {
    return detail::numbered(csr_pool_view<V, I, O>{unchecked, rows, cols, nnz,
                                                   static_cast<O>(val.size()), segments,
                                                   length.data(), in_group.data(), begin.data(),
                                                   end.data(), col.data(), val.data()},
                            serial);
  }
  void view() const&& = delete; // it would dangle
  void validate() const;
  std::size_t bytes() const { return detail::bytes_of(view()); }
  /// f(arrays...), all of them in the order of the view's.
  template <class M, class F>
  static void members(M& m, F&& f) {
    f(m.length, m.in_group, m.begin, m.end, m.col, m.val);
  }
  friend bool operator==(csr_pool const&, csr_pool const&) = default;
};

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

struct segments_sum {
  std::size_t rooms = 0; // of all segments
  std::size_t entries = 0;
};

/// Throws errc::bad_structure for a row whose segments are not within so many places, or are
/// another's, or too short for it, for a column out of range and for groups that do not add up.
template <class V, class I, class O>
segments_sum check_segments(char const* name, dynamic_view<V, I, O> const& a, std::size_t places) {
  auto const require = [name](bool holds, char const* what, std::size_t i) {
    if (!holds)
      fail(errc::bad_structure, "%s: row %zu: %s", name, i, what);
  };
  array<std::uint8_t> taken(places, std::uint8_t(0));
  segments_sum all;
  std::size_t in_group = 0;
  auto const rows = static_cast<std::size_t>(a.rows);
  for (std::size_t i = 0; i < rows; ++i) {
    auto const length = static_cast<std::size_t>(a.in_segments(static_cast<I>(i)));
    std::size_t room = 0;
    for (int s = 0; s < most_segments && a.begin[s]; ++s) {
      auto const begin = static_cast<std::size_t>(a.begin[s][i]);
      auto const end = static_cast<std::size_t>(a.end[s][i]);
      require(begin <= end && end <= places, "a segment is outside the pool", i);
      for (std::size_t p = begin; p < end; ++p) {
        require(taken[p] == 0, "a segment overlaps another", i);
        taken[p] = 1;
      }
      room += end - begin;
      if (s == 0)
        require((a.length[i] < 0) == (length > room), "its length is marked wrongly", i);
    }
    require(length <= room, "more entries than room", i);
    a.each_segment(static_cast<I>(i), [&](I const* col, V const*, I n) {
      for (I k = 0; k < n; ++k)
        require(col[k] >= 0 && col[k] < a.cols, "a column is out of range", i);
    });
    all.rooms += room;
    all.entries += length;
    in_group += length;
    if ((i + 1) % group_rows == 0 || i + 1 == rows) {
      require(static_cast<std::size_t>(a.in_group[i / group_rows]) == in_group,
              "its group counts other entries", i);
      in_group = 0;
    }
  }
  return all;
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
csr<V, I, O> csr_pool_view<V, I, O, S>::to_csr(cpu const& where) const {
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
                                              cpu const& where) {
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
void csr_pool<V, I, O>::refill(csr_view<V, I, O> a, cpu const& where) {
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

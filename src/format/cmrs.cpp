// SPDX-License-Identifier: Apache-2.0
#include "tulle/format/cmrs.hpp"

#include "tulle/core/limited.hpp"

#include "format/detail/check_pointers.hpp"
#include "format/detail/refill.hpp"
#include "format/detail/strips.hpp"
#include "format/instantiate.hpp"

#include <algorithm>

namespace tulle {

namespace detail {

/// f(k, position in csr) for each entry of strip s, in the order stored; row_ptr is that of csr.
/// Returns whether its rows are as long as there; where not, positions lead outside of them. A
/// strip jumps between its rows: what the next one needs of `array`, an array of csr, is prefetched
/// line by line meanwhile. Prefetching all of it at once took longer than the strip.
template <class V, class I, class O, class T, class F>
bool walk_strip(cmrs_view<V, I, O> const& a, std::size_t s, O const* row_ptr, T const* array, F f) {
  constexpr O line = 64 / sizeof(T);
  auto const h = static_cast<std::size_t>(a.layout.height);
  std::size_t const first = s * h;
  std::size_t const rows = std::min(h, static_cast<std::size_t>(a.rows) - first);
  O next[most_strip_rows];
  std::copy_n(row_ptr + first, rows, next);
  auto ahead = reinterpret_cast<char const*>(array + row_ptr[first + rows]);
  O const end = a.strip_ptr[s + 1];
  for (O k = a.strip_ptr[s]; k < end; ahead += 64) {
    __builtin_prefetch(ahead);
    for (O const stop = end - k < line ? end : static_cast<O>(k + line); k < stop; ++k) {
      I const word = a.col[k];
      if (word >= 0)
        f(k, next[static_cast<std::size_t>(word) & (h - 1)]++);
    }
  }
  return same(next, row_ptr + first + 1, rows);
}

/// Strip s keeps what the layout promises. Throws where it does not; returns its entries.
template <class V, class I, class O>
std::size_t check_strip(cmrs_view<V, I, O> const& a, std::size_t s) {
  int const bits = a.layout.bits();
  auto const h = static_cast<std::size_t>(a.layout.height);
  std::size_t const rows = std::min(h, static_cast<std::size_t>(a.rows) - s * h);
  auto const broken = [&](O k, char const* what) {
    fail(errc::bad_structure, "cmrs: col[%lld] is %lld: column %lld, row %lld of strip %zu %s",
         static_cast<long long>(k), static_cast<long long>(a.col[k]),
         static_cast<long long>((a.col[k] & std::numeric_limits<I>::max()) >> bits),
         static_cast<long long>(a.col[k] & static_cast<I>(h - 1)), s, what);
  };
  I column[most_strip_rows]; // last seen in a row
  std::fill_n(column, rows, I(-1));
  O const begin = a.strip_ptr[s];
  O const end = a.strip_ptr[s + 1];
  int const warp = a.layout.warp;
  if (warp != 0 && (end - begin) % warp != 0)
    fail(errc::bad_structure, "cmrs: strip %zu has %lld slots, not whole warps of %d", s,
         static_cast<long long>(end - begin), warp);
  std::size_t entries = 0;
  std::size_t row_before = 0;
  int of_row = 0;
  bool padding = false;
  for (O k = begin; k < end; ++k) {
    I const word = static_cast<I>(a.col[k] & std::numeric_limits<I>::max());
    I const c = static_cast<I>(word >> bits);
    auto const r = static_cast<std::size_t>(word) & (h - 1);
    bool const is_first = warp == 0 ? k == begin : (k - begin) % warp == 0;
    if (c >= a.cols)
      broken(k, "outside the matrix: too large a column");
    if (r >= rows)
      broken(k, "outside the matrix: too large a row");
    if (is_first)
      padding = false;
    if (a.col[k] < 0) {
      if (warp == 0)
        broken(k, "is padding, but the layout is not padded");
      if (is_first)
        broken(k, "is padding at the start of a warp");
      if (!(a.val[k] == V{}))
        fail(errc::bad_structure, "cmrs: val[%lld] is not zero, but padding",
             static_cast<long long>(k));
      padding = true;
      continue;
    }
    if (padding)
      broken(k, "follows padding");
    if (c <= column[r])
      broken(k, "does not ascend in its row");
    column[r] = c;
    if (!is_first && (a.layout.sorted ? word <= a.col[k - 1] : r < row_before))
      broken(k, "is out of order");
    of_row = !is_first && r == row_before ? of_row + 1 : 1;
    if (warp != 0 && of_row > a.layout.modulo)
      broken(k, "is one entry too many of its row in the warp");
    row_before = r;
    ++entries;
  }
  return entries;
}

/// The layout is one that options can ask for; errc::bad_structure where it is not.
inline void check_layout(cmrs_layout const& l) {
  auto const good = [](int n, int most) {
    return n >= 1 && n <= most && std::has_single_bit(static_cast<unsigned>(n));
  };
  bool const padded = l.warp != 0 || l.modulo != 0;
  if (!good(l.height, most_strip_rows) ||
      (padded && (l.sorted || !good(l.warp, most_strip_rows) || !good(l.modulo, l.warp))))
    fail(
        errc::bad_structure,
        "cmrs: height %d, %ssorted, warp %d, modulo %d: expected powers of two up to %d, modulo at "
        "most warp, padded strips not sorted",
        l.height, l.sorted ? "" : "not ", l.warp, l.modulo, most_strip_rows);
}

/// The entries of arrays whose sizes fit; every other invariant is checked.
template <class V, class I, class O>
O checked_entries(cmrs_view<V, I, O> const& a) {
  check_shape("cmrs", a.rows, a.cols);
  check_layout(a.layout);
  check_column_words(a.cols, a.layout);
  auto const stored = static_cast<std::size_t>(a.stored);
  std::size_t const strips = a.strips();
  check_pointers("cmrs: strip_ptr", a.strip_ptr, strips, a.stored);
  check_present("cmrs: col", a.col, stored);
  check_present("cmrs: val", a.val, stored);
  if (stored == 0)
    return 0;
  int const parts = parts_for(stored, 0, 1 << 18);
  O entries = 0;
  parallel(parts, [&](int part) {
    O mine = 0;
    std::size_t const end = split_by_entries(a.strip_ptr, strips, part + 1, parts);
    for (std::size_t s = split_by_entries(a.strip_ptr, strips, part, parts); s < end; ++s)
      mine = static_cast<O>(mine + static_cast<O>(check_strip(a, s)));
    __atomic_fetch_add(&entries, mine, __ATOMIC_RELAXED);
  });
  return entries;
}

template <class O>
void check_count(O nnz, O entries) {
  if (nnz != entries)
    fail(errc::bad_structure, "cmrs: nnz is %lld, but there are %lld entries",
         static_cast<long long>(nnz), static_cast<long long>(entries));
}

} // namespace detail

template <class V, class I, class O, space S>
cmrs_view<V, I, O, S>::cmrs_view(I rows, I cols, cmrs_layout layout, std::span<O const> strip_ptr,
                                 std::span<I const> col,
                                 std::span<V const> val) requires(S == space::host)
    : rows(rows), cols(cols), layout(layout), strip_ptr(strip_ptr.data()), col(col.data()),
      val(val.data()) {
  detail::check_shape("cmrs", rows, cols);
  detail::check_layout(layout);
  stored = detail::check_sizes<O>("cmrs", strip_ptr.size(), strips(), col.size(), val.size());
  nnz = detail::checked_entries(*this);
}

template <class V, class I, class O, space S>
void cmrs_view<V, I, O, S>::validate() const {
  detail::check_count(nnz, detail::checked_entries(*this));
}

template <class V, class I, class O, space S>
csr<V, I, O> cmrs_view<V, I, O, S>::to_csr(cpu const& policy) const {
  detail::limited const space("cmrs", policy);
  cpu const& where = space.counted();
  auto const n = static_cast<std::size_t>(rows);
  auto const entries = static_cast<std::size_t>(nnz);
  auto const h = static_cast<std::size_t>(layout.height);
  csr<V, I, O> c(unchecked, rows, cols, array<O>(n + 1, where.memory),
                 array<I>(entries, where.memory), array<V>(entries, where.memory));
  c.row_ptr[0] = 0;
  if (entries == 0) {
    std::fill_n(c.row_ptr.data(), n + 1, O(0));
    return c;
  }
  int const parts = parts_for(static_cast<std::size_t>(stored) + n, where.threads);
  auto const begin_of = [&](int part) {
    return split_by_entries(strip_ptr, strips(), part, parts);
  };
  parallel(parts, [&](int part) {
    for (std::size_t s = begin_of(part), end = begin_of(part + 1); s < end; ++s) {
      O length[detail::most_strip_rows] = {};
      for (O k = strip_ptr[s]; k < strip_ptr[s + 1]; ++k)
        length[static_cast<std::size_t>(col[k]) & (h - 1)] += col[k] >= 0;
      std::copy_n(length, std::min(h, n - s * h), c.row_ptr.data() + s * h + 1);
    }
  });
  for (std::size_t i = 0; i < n; ++i)
    c.row_ptr[i + 1] = static_cast<O>(c.row_ptr[i + 1] + c.row_ptr[i]);
  parallel(parts, [&](int part) {
    for (std::size_t s = begin_of(part), end = begin_of(part + 1); s < end; ++s)
      detail::walk_strip(*this, s, c.row_ptr.data(), c.val.data(), [&](O k, O to) {
        c.col[to] = static_cast<I>(col[k] >> layout.bits());
        c.val[to] = val[k];
      });
  });
  return c;
}

template <class V, class I, class O>
cmrs<V, I, O>::cmrs(I rows, I cols, cmrs_layout layout, array<O> strip_ptr, array<I> col,
                    array<V> val)
    : cmrs(unchecked, rows, cols, 0, layout, std::move(strip_ptr), std::move(col), std::move(val)) {
  nnz = cmrs_view<V, I, O>(rows, cols, layout, this->strip_ptr, this->col, this->val).nnz;
}

template <class V, class I, class O>
void cmrs<V, I, O>::validate() const {
  detail::check_count(nnz, cmrs_view<V, I, O>(rows, cols, layout, strip_ptr, col, val).nnz);
}

template <class V, class I, class O>
cmrs<V, I, O> cmrs<V, I, O>::from_csr(csr_view<V, I, O> a, cmrs_options o, cpu const& policy) {
  detail::limited const space("cmrs", policy);
  cpu const& where = space.counted();
  cmrs_layout const layout = detail::layout_of(o);
  detail::check_column_words(a.cols, layout);
  detail::canonical<V, I, O> const c(a, where);
  cmrs b(unchecked, a.rows, a.cols, c.view.nnz, layout,
         detail::strips_of(c.view, layout, o.limit, where), {}, {});
  auto const stored = static_cast<std::size_t>(b.strip_ptr.back());
  array<I>(stored, where.memory).swap(b.col);
  array<V>(stored, where.memory).swap(b.val);
  detail::write_strips(c.view, layout, b.strip_ptr.data(), b.col.data(), b.val.data(), where);
  return b;
}

template <class V, class I, class O>
cmrs<V, I, O> cmrs<V, I, O>::from_csr(csr<V, I, O>&& a, cmrs_options o, cpu const& policy) {
  detail::limited const space("cmrs", policy);
  cpu const& where = space.counted();
  cmrs_layout const layout = detail::layout_of(o);
  detail::check_column_words(a.cols, layout);
  cmrs b;
  if (o.padded) {
    b = from_csr(a.view(), o, where);
  } else {
    detail::canonical<V, I, O> c(a.view(), where);
    csr<V, I, O>& from = c.view.col == a.col.data() ? a : c.copy;
    b = cmrs(unchecked, a.rows, a.cols, c.view.nnz, layout,
             detail::strips_of(c.view, layout, o.limit, where), {}, {});
    detail::write_strips(c.view, layout, b.strip_ptr.data(), from.col.data(), from.val.data(),
                         where);
    b.col.swap(from.col);
    b.val.swap(from.val);
  }
  a = csr<V, I, O>();
  return b;
}

template <class V, class I, class O>
void cmrs<V, I, O>::refill(csr_view<V, I, O> a, cpu const& policy) {
  detail::limited const space("cmrs", policy);
  cpu const& where = space.counted();
  detail::check_arrays("cmrs", *this);
  cmrs_view<V, I, O> const b = view();
  auto const each_strip = [&](auto&& f) {
    if (nnz == 0)
      return;
    int const parts = parts_for(val.size(), where.threads);
    parallel(parts, [&](int part) {
      std::size_t const end = split_by_entries(b.strip_ptr, b.strips(), part + 1, parts);
      for (std::size_t s = split_by_entries(b.strip_ptr, b.strips(), part, parts); s < end; ++s)
        f(s);
    });
  };
  detail::refill_if(
      "cmrs", rows, cols, nnz, a, where,
      [&](csr_view<V, I, O> const& c) {
        bool good = true;
        each_strip([&](std::size_t s) {
          I other = 0; // no branch per entry
          auto const compare = [&other, col = c.col, mine = b.col, bits = layout.bits(),
                                last = static_cast<O>(nnz - 1)](O k, O from) {
            other |= static_cast<I>(col[std::min(from, last)] ^ mine[k] >> bits);
          };
          if (!detail::walk_strip(b, s, c.row_ptr, c.col, compare) || other != 0)
            __atomic_store_n(&good, false, __ATOMIC_RELAXED);
        });
        return good;
      },
      [&](csr_view<V, I, O> const& c) {
        each_strip([&](std::size_t s) {
          detail::walk_strip(b, s, c.row_ptr, c.val,
                             [to = val.data(), v = c.val](O k, O from) { to[k] = v[from]; });
        });
      });
}

} // namespace tulle

TULLE_INSTANTIATE_FORMAT(cmrs, every)

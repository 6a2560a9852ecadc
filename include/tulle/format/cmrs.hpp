// SPDX-License-Identifier: Apache-2.0

/// CMRS, compressed multi-row storage: strips of `height` rows, an entry's row within its strip in
/// the low bits of its column word, so that a strip's entries can be sorted by column. Here height
/// 2.
///
///     1 . 2 .      strip_ptr   0       3         7
///     . 3 . .      col         0 3 4   1 3 5 6      (column * 2 + row in strip)
///     . . . 4      val         1 3 2   5 6 7 4
///     5 6 7 .
///
/// Good for   rows of few entries and uneven lengths: no branch a row, whatever the lengths are.
/// Bad for    long rows: each entry adds to a sum in memory, where csr keeps it in a register.
/// Space      (V + I) * stored + O * (strips + 1);  stored == nnz unless padded.
/// From       Koza et al., SIAM J. Sci. Comput. 36(2), 2014, sec. 3, 4 and 6.7.
///
/// Invariants (validate() checks all of them)
///   height a power of two up to 64; column words of cols columns fit an I
///   strip_ptr[0] == 0, non-decreasing, last == stored
///   col[k] >> bits < cols, where height == 2^bits; the strip has row col[k] & (height - 1)
///   a strip ascends by column word where sorted, else by row, then column: no duplicates
///   padded: a strip is whole warps of `warp` slots; in a warp rows ascend, with at most `modulo`
///   entries each; padding follows, val 0 and the sign bit of col set; columns of a row ascend
#pragma once
#include "tulle/format/csr.hpp"
#include "tulle/format/detail/strips.hpp"

namespace tulle {

template <class V, class I = std::int32_t, class O = I, space S = space::host>
struct cmrs_view {
  using value = V;
  using index = I;
  using offset = O;

  I rows = 0;
  I cols = 0;
  O nnz = 0;    ///< entries, without padding
  O stored = 0; ///< with padding
  cmrs_layout layout;
  O const* strip_ptr = nullptr; ///< strips + 1; may be null when rows == 0
  I const* col = nullptr;       ///< stored: column * height + row in strip
  V const* val = nullptr;       ///< stored
  std::uint64_t serial = 0;     ///< of the owner's pattern; 0: borrowed arrays

  cmrs_view() = default;
  cmrs_view(unchecked_t, I rows, I cols, O nnz, O stored, cmrs_layout layout, O const* strip_ptr,
            I const* col, V const* val)
      : rows(rows), cols(cols), nnz(nnz), stored(stored), layout(layout), strip_ptr(strip_ptr),
        col(col), val(val) {}
  /// Borrows the caller's arrays after checking every invariant, once: O(rows + stored).
  cmrs_view(I rows, I cols, cmrs_layout layout, std::span<O const> strip_ptr,
            std::span<I const> col, std::span<V const> val) requires(S == space::host);

  /// Strips of `height` rows, the last one perhaps of fewer.
  std::size_t strips() const {
    return detail::pieces(static_cast<std::size_t>(rows), static_cast<std::size_t>(layout.height));
  }

  /// f(name, pointer, size) for each array.
  template <class F>
  void arrays(F&& f) const {
    f("strip_ptr", strip_ptr, strip_ptr || rows > 0 ? strips() + 1 : 0);
    f("col", col, static_cast<std::size_t>(stored));
    f("val", val, static_cast<std::size_t>(stored));
  }

  /// Throws errc::bad_structure naming the first broken invariant; errc::overflow where column
  /// words do not fit an I.
  void validate() const;
  csr<V, I, O> to_csr(cpu const& where = {}) const;
};

// ns an entry, one thread, strips of 8, 16, 32 and 64 rows: lattice .98, .89, .86, .92; fem .71,
// .69, .73, .71; circuit 2.5, 2.3, 2.0, 2.0; rmat 18 2.1, 2.1, 1.9, 1.6. Strips of 16 sorted and
// not: lattice .89, .89; fem .69, .82; circuit 2.27, 2.30; rmat 18 2.08, 2.18.
struct cmrs_options {
  int height = 32;     ///< rows of a strip: a power of two up to 64
  bool sorted = true;  ///< a strip's entries by column; padded strips have an order of their own
  bool padded = false; ///< strips of whole warps, with few entries of one row in each
  int warp = 8;        ///< slots of a warp: a power of two up to 64
  int modulo = 4;      ///< most entries of one row in a warp: a power of two up to warp
  double limit = 8;    ///< padded: bytes, in multiples of those of csr

  template <class F>
  void fields(F&& f) {
    f("height", height);
    f("sorted", sorted);
    f("padded", padded);
    f("warp", warp);
    f("modulo", modulo);
    f("limit", limit);
  }
  static constexpr char const* variants[] = {"height=1",
                                             "height=2:sorted=false",
                                             "height=64",
                                             "height=16:sorted=false",
                                             "height=16:padded=true:warp=32:modulo=8",
                                             "height=4:padded=true:warp=2:modulo=1"};
  static constexpr char const* drawn = "height=2";
};

template <class V, class I = std::int32_t, class O = I>
struct cmrs {
  using options = cmrs_options;

  I rows = 0;
  I cols = 0;
  O nnz = 0;
  cmrs_layout layout;
  array<O> strip_ptr;
  array<I> col;
  array<V> val;
  detail::serial_number serial; ///< of the pattern

  cmrs() = default;
  /// Takes arrays over after checking every invariant.
  cmrs(I rows, I cols, cmrs_layout layout, array<O> strip_ptr, array<I> col, array<V> val);
  cmrs(unchecked_t, I rows, I cols, O nnz, cmrs_layout layout, array<O> strip_ptr, array<I> col,
       array<V> val)
      : rows(rows), cols(cols), nnz(nnz), layout(layout), strip_ptr(std::move(strip_ptr)),
        col(std::move(col)), val(std::move(val)) {}

  static cmrs from_csr(csr_view<V, I, O> a, cmrs_options = {}, cpu const& where = {});
  /// In the arrays of a, which is left 0 by 0: beside them there are strip_ptr and, for each thread
  /// that sorts, room for two strips. A padded layout needs arrays of its own.
  static cmrs from_csr(csr<V, I, O>&& a, cmrs_options = {}, cpu const& where = {});
  csr<V, I, O> to_csr(cpu const& where = {}) const {
    return detail::checked(*this, where).to_csr(where);
  }
  /// New values on the same pattern; errc::bad_structure if the pattern differs.
  void refill(csr_view<V, I, O> a, cpu const& where = {});
  cmrs_view<V, I, O> view() const& {
    return detail::numbered(cmrs_view<V, I, O>{unchecked, rows, cols, nnz,
                                               static_cast<O>(col.size()), layout, strip_ptr.data(),
                                               col.data(), val.data()},
                            serial);
  }
  void view() const&& = delete; // it would dangle
  void validate() const;
  std::size_t bytes() const { return detail::bytes_of(view()); }
  /// f(arrays...), all of them in the order of the view's.
  template <class M, class F>
  static void members(M& m, F&& f) {
    f(m.strip_ptr, m.col, m.val);
  }
  friend bool operator==(cmrs const&, cmrs const&) = default;
};

namespace detail {

/// The layout that options ask for; errc::unsupported for one that there is not.
inline cmrs_layout layout_of(cmrs_options const& o) {
  auto const check = [](char const* name, int value, int most) {
    if (value < 1 || value > most || !std::has_single_bit(static_cast<unsigned>(value)))
      fail(errc::unsupported, "cmrs: option %s is %d, expected a power of two from 1 to %d", name,
           value, most);
  };
  check("height", o.height, most_strip_rows);
  if (!o.padded)
    return {o.height, o.sorted, 0, 0};
  check("warp", o.warp, most_strip_rows);
  check("modulo", o.modulo, o.warp);
  return {o.height, false, o.warp, o.modulo};
}

/// Words of `cols` columns and a row in strip fit an I, its sign left for padding.
template <class I>
void check_column_words(I cols, cmrs_layout const& layout) {
  if (cols > 0 && (cols - 1) > (std::numeric_limits<I>::max() >> layout.bits()))
    fail(
        errc::overflow, "cmrs: %lld columns and %d bits for the row in a strip of %d do not fit %d",
        static_cast<long long>(cols), layout.bits(), layout.height, std::numeric_limits<I>::digits);
}

/// f(k, position in csr) for each entry of strip s, in the order stored; row_ptr is that of csr.
/// Returns whether its rows are as long as there; where not, positions lead outside of them. A
/// strip jumps between its rows: what the next one needs of `array`, an array of csr, is asked for
/// line by line meanwhile. All at once, it took longer than the strip.
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
csr<V, I, O> cmrs_view<V, I, O, S>::to_csr(cpu const& where) const {
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
  int const parts = detail::parts_for(static_cast<std::size_t>(stored) + n, where.threads);
  auto const begin_of = [&](int part) {
    return detail::split_by_entries(strip_ptr, strips(), part, parts);
  };
  detail::parallel(parts, [&](int part) {
    for (std::size_t s = begin_of(part), end = begin_of(part + 1); s < end; ++s) {
      O length[detail::most_strip_rows] = {};
      for (O k = strip_ptr[s]; k < strip_ptr[s + 1]; ++k)
        length[static_cast<std::size_t>(col[k]) & (h - 1)] += col[k] >= 0;
      std::copy_n(length, std::min(h, n - s * h), c.row_ptr.data() + s * h + 1);
    }
  });
  for (std::size_t i = 0; i < n; ++i)
    c.row_ptr[i + 1] = static_cast<O>(c.row_ptr[i + 1] + c.row_ptr[i]);
  detail::parallel(parts, [&](int part) {
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
cmrs<V, I, O> cmrs<V, I, O>::from_csr(csr_view<V, I, O> a, cmrs_options o, cpu const& where) {
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
cmrs<V, I, O> cmrs<V, I, O>::from_csr(csr<V, I, O>&& a, cmrs_options o, cpu const& where) {
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
void cmrs<V, I, O>::refill(csr_view<V, I, O> a, cpu const& where) {
  detail::check_arrays("cmrs", *this);
  cmrs_view<V, I, O> const b = view();
  auto const each_strip = [&](auto&& f) {
    if (nnz == 0)
      return;
    int const parts = detail::parts_for(val.size(), where.threads);
    detail::parallel(parts, [&](int part) {
      std::size_t const end = detail::split_by_entries(b.strip_ptr, b.strips(), part + 1, parts);
      for (std::size_t s = detail::split_by_entries(b.strip_ptr, b.strips(), part, parts); s < end;
           ++s)
        f(s);
    });
  };
  detail::refill_if(
      "cmrs", rows, cols, nnz, a, where,
      [&](csr_view<V, I, O> const& c) {
        bool good = true;
        each_strip([&](std::size_t s) {
          I other = 0; // no branch an entry
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

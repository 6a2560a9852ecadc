// SPDX-License-Identifier: Apache-2.0

/// What jds, jds_csr and jds_ell share: rows sorted by length, the longest first, in sections that
/// are stored entry by entry. Rows much longer than most may be kept apart, as coo.
#pragma once
#include "tulle/format/detail/counting_sort.hpp"
#include "tulle/format/ell.hpp"

namespace tulle {

/// The arrays of the family, as a caller has them: jds has no sections, jds_ell no diagonals, and
/// jds_ell alone has len.
template <class V, class I, class O>
struct jds_arrays {
  std::span<I const> perm, len, place_ptr;
  std::span<O const> section_ptr, diag_ptr;
  std::span<I const> col;
  std::span<V const> val;
  std::span<I const> coo_row, coo_col;
  std::span<V const> coo_val;
};

namespace detail {

/// An array of pointers to lines, or null: where it is empty there is nothing to read.
template <class T>
T const* pointers_in(std::span<T const> ptr) {
  return ptr.empty() ? nullptr : ptr.data();
}
/// The lines that an array of pointers to them has.
template <class I, class T>
I lines_of(std::span<T const> ptr) {
  return ptr.empty() ? I(0) : narrow<I>(ptr.size() - 1, "number of lines");
}

/// A section without padding: diagonal k holds entry k of the rows that have one, which come first.
template <class O>
struct jagged_section {
  std::size_t first, rows; ///< places
  std::size_t width;       ///< diagonals: the entries of its first row
  O const* diag;           ///< width + 1: where each begins

  std::size_t start(std::size_t k) const { return static_cast<std::size_t>(diag[k]); }
  /// Rows at step k.
  std::size_t count(std::size_t k) const { return static_cast<std::size_t>(diag[k + 1] - diag[k]); }
  bool has(std::size_t, std::size_t) const { return true; } // what is stored is an entry
  /// Entries of row r of the section. Inlined: kernels may not leave it to the linker.
  [[gnu::always_inline]] std::size_t length(std::size_t r) const {
    std::size_t lo = 0;
    for (std::size_t hi = width; lo < hi;) {
      std::size_t const mid = (lo + hi) / 2;
      if (count(mid) > r)
        lo = mid + 1;
      else
        hi = mid;
    }
    return lo;
  }
};

/// A section whose rows are padded to its longest.
template <class I>
struct padded_section {
  std::size_t first, rows;
  std::size_t width;
  std::size_t at; ///< where its slots begin
  I const* len;   ///< of its rows

  std::size_t start(std::size_t k) const { return at + k * rows; }
  std::size_t count(std::size_t) const { return rows; }
  bool has(std::size_t r, std::size_t k) const { return k < length(r); }
  std::size_t length(std::size_t r) const { return static_cast<std::size_t>(len[r]); }
};

/// The members that all views of the family have.
template <class V, class I, class O>
struct jds_base_view {
  using value = V;
  using index = I;
  using offset = O;

  I rows = 0;
  I cols = 0;
  O nnz = 0;                  ///< without padding, with those in coo
  I longs = 0;                ///< rows that are kept apart
  O stored = 0;               ///< in sections, with padding
  O rest = 0;                 ///< in coo
  I const* perm = nullptr;    ///< rows: the row at each place; first those that are kept apart
  I const* col = nullptr;     ///< stored
  V const* val = nullptr;     ///< stored
  I const* coo_row = nullptr; ///< rest
  I const* coo_col = nullptr; ///< rest
  V const* coo_val = nullptr; ///< rest

protected:
  jds_base_view() = default;
  jds_base_view(I rows, I cols, O nnz, I longs, jds_arrays<V, I, O> const& a)
      : rows(rows), cols(cols), nnz(nnz), longs(longs), stored(static_cast<O>(a.val.size())),
        rest(static_cast<O>(a.coo_val.size())), perm(a.perm.data()), col(a.col.data()),
        val(a.val.data()), coo_row(a.coo_row.data()), coo_col(a.coo_col.data()),
        coo_val(a.coo_val.data()) {}

  /// f(name, pointer, size) for each, the format's own by `others` in between.
  template <class F, class G>
  void base_arrays(F&& f, G&& others) const {
    f("perm", perm, static_cast<std::size_t>(rows));
    others();
    f("col", col, static_cast<std::size_t>(stored));
    f("val", val, static_cast<std::size_t>(stored));
    f("coo_row", coo_row, static_cast<std::size_t>(rest));
    f("coo_col", coo_col, static_cast<std::size_t>(rest));
    f("coo_val", coo_val, static_cast<std::size_t>(rest));
  }
};

inline void check_jds_options(char const* format, int section, int split) {
  if (section < 1)
    fail(errc::unsupported, "%s: option section is %d, expected 1 or more", format, section);
  if (split < 0)
    fail(errc::unsupported, "%s: option split is %d, expected 0 or more", format, split);
}

/// How long rows are when they stand by length, the longest first, and which of them are kept
/// apart.
template <class O>
struct length_order {
  std::size_t rows;
  std::size_t longest;   ///< length
  std::size_t longs = 0; ///< rows that are kept apart
  std::size_t rest = 0;  ///< their entries
  array<O> longer_than;  ///< [longest - k]: rows of more than k entries

  /// Rows of more than k entries.
  std::size_t longer(std::size_t k) const {
    return k >= longest ? 0 : static_cast<std::size_t>(longer_than[longest - k]);
  }
  /// The length of the row at a place behind those that are kept apart.
  std::size_t length_by_order(std::size_t place) const {
    std::size_t lo = 0;
    for (std::size_t hi = longest; lo < hi;) {
      std::size_t const mid = (lo + hi) / 2;
      if (longer(mid) > place)
        lo = mid + 1;
      else
        hi = mid;
    }
    return lo;
  }

  /// f(first place, place after the last, width) for each section: `least` rows, or all that have
  /// the length of its first where those are more. So a section pads no more than `least` rows,
  /// and all of them together no more than `least` times the longest row.
  template <class F>
  void each_section(std::size_t least, F&& f) const {
    for (std::size_t p = longs; p < rows;) {
      std::size_t const width = length_by_order(p);
      std::size_t const alike = width == 0 ? rows : longer(width - 1);
      std::size_t const end = std::max(alike, least < rows - p ? p + least : rows);
      f(p, end, width);
      p = end;
    }
  }

  /// Where the diagonals of rows at places [first, last) begin, the first of them at `at`; returns
  /// where they end.
  std::size_t diagonals(std::size_t first, std::size_t last, std::size_t width, std::size_t at,
                        O* diag) const {
    for (std::size_t k = 0; k < width; ++k) {
      diag[k] = static_cast<O>(at);
      at += std::min(longer(k), last) - first;
    }
    return at;
  }
};

/// The rows of a canonical csr by length, the longest first, those of one length in order; but
/// first of all those that are kept apart, in order.
template <class V, class I, class O>
struct rows_by_length : length_order<O> {
  csr_view<V, I, O> a;
  array<I> perm;

  rows_by_length(csr_view<V, I, O> const& a, int split_at, cpu const& where)
      : length_order<O>{static_cast<std::size_t>(a.rows),
                        static_cast<std::size_t>(
                            longest_row(a.row_ptr, static_cast<std::size_t>(a.rows), where)),
                        0,
                        0,
                        {}},
        a(a), perm(this->rows, where.memory) {
    this->longer_than = counting_sort<O>(
        this->longest + 1, this->rows,
        [&, n = this->rows, longest = this->longest](int part, int parts, auto&& f) {
          for (std::size_t i = split(n, part, parts), end = split(n, part + 1, parts); i < end; ++i)
            f(longest - length(i), static_cast<I>(i));
        },
        [to = perm.data()](std::size_t at, O const*, I i) { to[at] = i; }, where);
    if (this->rows != 0)
      this->longs =
          this->longer(most_length(split_at, this->rows, static_cast<std::size_t>(a.nnz)));
    for (std::size_t p = 0; p < this->longs; ++p)
      this->rest += length_at(p);
    std::sort(perm.data(), perm.data() + this->longs);
  }

  std::size_t length(std::size_t i) const {
    return static_cast<std::size_t>(a.row_ptr[i + 1] - a.row_ptr[i]);
  }
  std::size_t length_at(std::size_t place) const {
    return length(static_cast<std::size_t>(perm[place]));
  }
};

/// The members that all owners of the family have.
template <class V, class I, class O>
struct jds_base {
  I rows = 0;
  I cols = 0;
  O nnz = 0;
  I longs = 0;
  array<I> perm, col;
  array<V> val;
  array<I> coo_row, coo_col;
  array<V> coo_val;

  friend bool operator==(jds_base const&, jds_base const&) = default;

protected:
  jds_base() = default;
  /// With room for `stored` slots and for what is kept apart, perm taken over.
  jds_base(rows_by_length<V, I, O>& order, std::size_t stored, cpu const& where)
      : rows(order.a.rows), cols(order.a.cols), nnz(order.a.nnz),
        longs(static_cast<I>(order.longs)), perm(std::move(order.perm)), col(stored, where.memory),
        val(stored, where.memory), coo_row(order.rest, where.memory),
        coo_col(order.rest, where.memory), coo_val(order.rest, where.memory) {}

  jds_arrays<V, I, O> base_arrays() const {
    return {perm, {}, {}, {}, {}, col, val, coo_row, coo_col, coo_val};
  }
};

/// The section that has a place.
template <class I>
std::size_t section_of(I const* place_ptr, std::size_t sections, std::size_t place) {
  I const* const end = place_ptr + sections + 1;
  return static_cast<std::size_t>(std::upper_bound(place_ptr, end, static_cast<I>(place)) -
                                  place_ptr) -
         1;
}

// Rows that are converted together, entry by entry, as in ell.
constexpr std::size_t jds_strip = 256;

/// f(section, r, n) for rows r to r + n of a section, n up to jds_strip, in parallel.
template <class View, class F>
void jds_strips(View const& v, cpu const& where, F&& f) {
  auto const first = static_cast<std::size_t>(v.longs);
  auto const rows = static_cast<std::size_t>(v.rows);
  std::size_t const strips = (rows - first + jds_strip - 1) / jds_strip;
  int const parts = parts_for(static_cast<std::size_t>(v.stored) + rows, where.threads);
  parallel_each(strips, parts, [&](std::size_t t, int) { // the longest rows come first
    std::size_t p = first + t * jds_strip;
    std::size_t const end = std::min(rows, p + jds_strip);
    for (std::size_t s = v.section_of(p); p < end; ++s) {
      auto const section = v.section(s);
      std::size_t const stop = std::min(end, section.first + section.rows);
      f(section, p - section.first, stop - p);
      p = stop;
    }
  });
}

/// f(q, k, at) for slot k of row r + q of the section, which is at `at`, step by step.
template <class Section, class F>
void each_step(Section const& section, std::size_t r, std::size_t n, F&& f) {
  for (std::size_t k = 0; k < section.width && section.count(k) > r; ++k) {
    std::size_t const at = section.start(k) + r;
    std::size_t const here = std::min(n, section.count(k) - r);
    for (std::size_t q = 0; q < here; ++q)
      f(q, k, at + q);
  }
}

/// f(row, at, n) for each row that is kept apart, whose n entries begin at `at` of coo: those of
/// rows with length(row) entries. In parallel.
template <class View, class Length, class F>
void jds_long_rows(View const& v, Length const& length, cpu const& where, F&& f) {
  auto const longs = static_cast<std::size_t>(v.longs);
  if (longs == 0)
    return;
  using O = typename View::offset;
  auto const row = [&](std::size_t j) { return static_cast<std::size_t>(v.perm[j]); };
  array<O> const ptr = pointers_of<O>(
      longs, [&](std::size_t j) { return length(row(j)); }, where);
  int const parts = parts_for(static_cast<std::size_t>(v.rest), where.threads);
  parallel(parts, [&](int part) {
    std::size_t const end = split_by_entries(ptr.data(), longs, part + 1, parts);
    for (std::size_t j = split_by_entries(ptr.data(), longs, part, parts); j < end; ++j)
      f(row(j), static_cast<std::size_t>(ptr[j]), static_cast<std::size_t>(ptr[j + 1] - ptr[j]));
  });
}

/// The entries of each row of a, from row_ptr[i] on, at the places of a strip.
template <class View, class V, class I, class O>
struct strip_rows_of {
  O from[jds_strip];
  strip_rows_of(View const& v, csr_view<V, I, O> const& a, std::size_t place, std::size_t n) {
    for (std::size_t q = 0; q < n; ++q)
      from[q] = a.row_ptr[v.perm[place + q]];
  }
};

/// The values of a, which has the pattern of b.
template <class Owner, class V, class I, class O>
void jds_values(Owner& b, csr_view<V, I, O> const& a, cpu const& where) {
  auto const v = b.view();
  // First, since it is what allocates.
  jds_long_rows(
      v, [&](std::size_t i) { return a.row_ptr[i + 1] - a.row_ptr[i]; }, where,
      [&](std::size_t i, std::size_t at, std::size_t n) {
        std::copy_n(a.val + a.row_ptr[i], n, b.coo_val.data() + at);
      });
  jds_strips(v, where, [&, val = b.val.data()](auto const& s, std::size_t r, std::size_t n) {
    strip_rows_of const rows(v, a, s.first + r, n);
    each_step(s, r, n, [&](std::size_t q, std::size_t k, std::size_t at) {
      if (s.has(r + q, k))
        val[at] = a.val[rows.from[q] + static_cast<O>(k)];
    });
  });
}

/// Columns, padding, what is kept apart and values of b, whose sections are known, from a.
template <class Owner, class V, class I, class O>
void jds_fill(Owner& b, csr_view<V, I, O> const& a, cpu const& where) {
  auto const v = b.view();
  jds_strips(v, where, [&, col = b.col.data()](auto const& s, std::size_t r, std::size_t n) {
    strip_rows_of const rows(v, a, s.first + r, n);
    each_step(s, r, n, [&](std::size_t q, std::size_t k, std::size_t at) {
      if (s.has(r + q, k)) {
        col[at] = a.col[rows.from[q] + static_cast<O>(k)];
      } else { // the row's last again, as in ell
        col[at] = k == 0 ? I(0) : col[at - s.rows];
        b.val[at] = V{};
      }
    });
  });
  jds_long_rows(
      v, [&](std::size_t i) { return a.row_ptr[i + 1] - a.row_ptr[i]; }, where,
      [&](std::size_t i, std::size_t at, std::size_t n) {
        std::fill_n(b.coo_row.data() + at, n, static_cast<I>(i));
        std::copy_n(a.col + a.row_ptr[i], n, b.coo_col.data() + at);
      });
  jds_values(b, a, where);
}

/// Whether the columns of v are those of a, which has its shape and as many entries.
template <class View, class V, class I, class O>
bool jds_has_columns(View const& v, csr_view<V, I, O> const& a, cpu const& where) {
  bool good = true;
  auto const differs = [&] { __atomic_store_n(&good, false, __ATOMIC_RELAXED); };
  auto const length = [&](std::size_t i) {
    return static_cast<std::size_t>(a.row_ptr[i + 1] - a.row_ptr[i]);
  };
  jds_strips(v, where, [&](auto const& s, std::size_t r, std::size_t n) {
    for (std::size_t q = 0; q < n; ++q)
      if (length(static_cast<std::size_t>(v.perm[s.first + r + q])) != s.length(r + q))
        return differs();
    strip_rows_of const rows(v, a, s.first + r, n);
    I other = 0; // no branch an entry
    each_step(s, r, n, [&](std::size_t q, std::size_t k, std::size_t at) {
      if (s.has(r + q, k))
        other |= static_cast<I>(v.col[at] ^ a.col[rows.from[q] + static_cast<O>(k)]);
    });
    if (other != 0)
      differs();
  });
  std::size_t entries = 0;
  for (std::size_t j = 0; j < static_cast<std::size_t>(v.longs); ++j)
    entries += length(static_cast<std::size_t>(v.perm[j]));
  if (!good || entries != static_cast<std::size_t>(v.rest))
    return false;
  jds_long_rows(v, length, where, [&](std::size_t i, std::size_t at, std::size_t n) {
    // coo_row ascends, so that its ends say what lies between them.
    if (n == 0 || v.coo_row[at] != static_cast<I>(i) ||
        v.coo_row[at + n - 1] != static_cast<I>(i) ||
        !same(v.coo_col + at, a.col + a.row_ptr[i], n))
      differs();
  });
  return good;
}

/// New values for b from a, which has its pattern or is refused.
template <class Owner, class V, class I, class O>
void jds_refill(char const* format, Owner& b, csr_view<V, I, O> const& a, cpu const& where) {
  refill_if(
      format, b.rows, b.cols, b.nnz, a, where,
      [&](csr_view<V, I, O> const& c) { return jds_has_columns(b.view(), c, where); },
      [&](csr_view<V, I, O> const& c) { jds_values(b, c, where); });
}

template <class View>
auto jds_to_csr(View const& v, cpu const& where) {
  using V = typename View::value;
  using I = typename View::index;
  using O = typename View::offset;
  auto const n = static_cast<std::size_t>(v.rows);
  auto const entries = static_cast<std::size_t>(v.nnz);
  array<I> len(n, where.memory); // of each row
  jds_strips(v, where, [&](auto const& s, std::size_t r, std::size_t here) {
    for (std::size_t q = r; q < r + here; ++q)
      len[static_cast<std::size_t>(v.perm[s.first + q])] = static_cast<I>(s.length(q));
  });
  for (std::size_t j = 0; j < static_cast<std::size_t>(v.longs); ++j) {
    auto const [begin, end] = std::equal_range(v.coo_row, v.coo_row + v.rest, v.perm[j]);
    len[static_cast<std::size_t>(v.perm[j])] = static_cast<I>(end - begin);
  }
  auto const length = [&](std::size_t i) { return len[i]; };
  csr<V, I, O> c(unchecked, v.rows, v.cols, pointers_of<O>(n, length, where),
                 array<I>(entries, where.memory), array<V>(entries, where.memory));
  jds_strips(v, where, [&](auto const& s, std::size_t r, std::size_t here) {
    strip_rows_of const rows(v, c.view(), s.first + r, here);
    each_step(s, r, here, [&](std::size_t q, std::size_t k, std::size_t at) {
      if (s.has(r + q, k)) {
        c.col[static_cast<std::size_t>(rows.from[q]) + k] = v.col[at];
        c.val[static_cast<std::size_t>(rows.from[q]) + k] = v.val[at];
      }
    });
  });
  jds_long_rows(v, length, where, [&](std::size_t i, std::size_t at, std::size_t count) {
    std::copy_n(v.coo_col + at, count, c.col.data() + c.row_ptr[i]);
    std::copy_n(v.coo_val + at, count, c.val.data() + c.row_ptr[i]);
  });
  return c;
}

} // namespace detail
} // namespace tulle

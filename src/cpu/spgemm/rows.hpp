// SPDX-License-Identifier: Apache-2.0

// Rows of C = A B: the rows of B they are made of, and the method that computes them.
#pragma once
#include "tulle/format/csr.hpp"

#include "kernel/simd.hpp"
#include "kernel/spgemm.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

using i64 = std::int64_t;

// The mark of a row of B: it has the columns of the row before it, or those columns plus one.
constexpr std::uint8_t is_shifted = 1, is_same = 2;

constexpr int program_run = 8;                // rows, see starts_program()
constexpr int tiny_rows = 8, tiny_length = 8; // of a tiny row: rows of B, and their length
// Up to this many columns of the accumulator per product, walking through its flags is cheaper than
// a sort. Rows of 144 products over 50000 columns (350 per product), s: esc 0.068, dense 0.165.
constexpr i64 columns_a_product = 64;
// Rows with up to this many products in no order are sorted rather than hashed. Rows of 225
// products over 200000 columns, two threads of Zen 4, s: esc 0.54, hash 0.95, dense 1.73.
constexpr i64 esc_limit = 1024;

// A row may be split if B's rows have at least this many entries on average, since each thread then
// goes over all of A's row. One dense row on a known pattern, ms of the busier of two threads: over
// 60 per row 3.9, split 2.2; over 27 5.7, split 3.9; over 5 4.7, split 3.7, but 10.5 with counting,
// where one thread alone takes 12.
constexpr i64 split_length = 16;

// Rows that a network could sort may use an accumulator where what they touch of it is in the
// cache: B has few columns, or those of consecutive rows are near each other.
constexpr i64 few_columns = 1 << 16, near_columns = 8192;
// Up to this many products a network is faster even where C's columns are known.
constexpr i64 tiny_near_products = 16;
// Up to this many products the keys of all of them are sorted. bayer10 (rows of 23 products), ms of
// one thread: 1.67, by lists of columns 1.86. 4elt (35): 1.72 and 1.43.
constexpr i64 few_products = 32;
// Up to this many products the list of a row's columns is sorted; above it flags are walked
// through. 128 has not been measured.
constexpr i64 listed_products = 64;
// A row with this many products per block of 64 columns of B is dense: nearly all blocks would have
// a flag. ms with 1, 2 and 8: cit-HepTh 46, 38, 33; memplus 21, 23, 24; six others within 12 %.
constexpr i64 products_a_block = 8;
// The entries of A's row, or of the rows after it, whose rows of B are prefetched.
constexpr i64 prefetched = 12;
// With fewer entries prefetching the rows of B only costs time. ms of one thread of Zen 5 to count
// and to fill on a known pattern, with 2^15 and 2^19: szdMat (240K entries) 5.25 + 3.54, 4.92
// + 3.36; basker_matrix1 3.80 + 2.78, 3.60 + 2.59; 4elt, with 2^17, 1.44 + 0.73, 1.37 + 0.67.
constexpr i64 large_b = 1 << 19;
// With more rows their places in B are prefetched, too. mdual (258K rows) on a known pattern, ms of
// one thread: 14.9, without 16.1.
constexpr i64 many_rows = 1 << 17;

// Products of a row in Liu's bins 2 to 32 and 33 to 36; the last bin has the other rows.
constexpr i64 most_by_heap = 32, most_by_esc = 512;

template <class I, class O>
struct pattern {
  I rows, cols;
  O nnz;
  O const* ptr;
  I const* col;
  template <class V>
  explicit pattern(csr_view<V, I, O> const& a)
      : rows(a.rows), cols(a.cols), nnz(a.nnz), ptr(a.row_ptr), col(a.col) {}
  HWY_INLINE i64 begin(i64 i) const { return static_cast<i64>(ptr[i]); }
  HWY_INLINE i64 length(i64 i) const { return static_cast<i64>(ptr[i + 1] - ptr[i]); }
};

/// Whether the n columns at p are those at q plus `by`.
template <class I>
HWY_INLINE bool moved(I const* p, I const* q, i64 n, I by) {
  if (n <= 16) { // too short for vectors
    for (i64 k = 0; k < n; ++k)
      if (p[k] - q[k] != by)
        return false;
    return true;
  }
  I bad = 0;
  for (i64 k = 0; k < n; ++k)
    bad |= static_cast<I>(p[k] - q[k]) ^ by;
  return bad == 0;
}

/// Both operands without values, and what decides how a row is computed.
template <class I, class O>
struct product_pattern {
  pattern<I, O> a, b;
  spgemm_task const& t;

  struct extent { // of row i
    i64 products = 0, longest = 0;
    i64 first = 0, last = -1; // columns
  };

  HWY_INLINE i64 b_row(i64 k) const { return static_cast<i64>(a.col[k]); }
  /// First entry of B's row that entry k of A is multiplied with.
  HWY_INLINE i64 first_of(i64 k) const {
    return t.first ? static_cast<i64>(static_cast<O const*>(t.first)[k]) : b.begin(b_row(k));
  }
  HWY_INLINE std::uint8_t mark(i64 j) const { return t.marks ? t.marks[j] : 0; }
  /// Entry k's row of B has the columns of entry k - 1's.
  HWY_INLINE bool repeats(i64 k) const {
    return a.col[k] == a.col[k - 1] + 1 && (mark(b_row(k)) & is_same);
  }

  bool is_large_b() const { return static_cast<i64>(b.nnz) > large_b; }
  /// Prefetches the row of B of an entry of A after entry k.
  template <bool values, class V>
  HWY_INLINE void prefetch(V const* b_val, i64 k) const {
    i64 const last = static_cast<i64>(a.nnz) - 1, ahead = k + prefetched;
    if (static_cast<i64>(b.rows) > many_rows) // what the next line reads twelve entries later
      __builtin_prefetch(b.ptr + b_row(ahead + prefetched < last ? ahead + prefetched : last));
    i64 const j = b_row(ahead < last ? ahead : last);
    i64 const from = b.begin(j), to = b.begin(j + 1);
    __builtin_prefetch(b.col + from);
    __builtin_prefetch(b.col + to);
    if constexpr (values) {
      __builtin_prefetch(b_val + from);
      __builtin_prefetch(b_val + from + 8);
      __builtin_prefetch(b_val + to);
    }
  }

  HWY_INLINE extent lengths(i64 i) const {
    extent e;
    for (i64 k = a.begin(i), end = a.begin(i + 1); k < end; ++k) {
      i64 const n = b.length(b_row(k));
      e.products += n;
      e.longest = n > e.longest ? n : e.longest;
    }
    return e;
  }
  void columns(i64 i, extent& e) const {
    e.first = static_cast<i64>(b.cols);
    for (i64 k = a.begin(i), end = a.begin(i + 1); k < end; ++k) {
      i64 const j = b_row(k), from = first_of(k), to = b.begin(j + 1);
      if (from == to)
        continue;
      i64 const lo = static_cast<i64>(b.col[from]), hi = static_cast<i64>(b.col[to - 1]);
      e.first = lo < e.first ? lo : e.first;
      e.last = hi > e.last ? hi : e.last;
    }
    e.first &= ~i64(63); // flags are read in whole vectors
  }

  /// Whether row i of A has the columns of the row before it, or those columns plus one.
  HWY_INLINE bool is_marked(i64 i, std::uint8_t as) const {
    if (!t.marks || i == 0)
      return false;
    if (a.col == b.col && a.ptr == b.ptr) // A A: already known
      return t.marks[i] == as;
    i64 const n = a.length(i);
    return a.length(i - 1) == n && n > 0 &&
           moved(a.col + a.ptr[i], a.col + a.ptr[i - 1], n, I(as == is_shifted));
  }
  /// Whether row i of C is row i - 1 moved by one column.
  bool is_moved(i64 i) const {
    if (!is_marked(i, is_shifted))
      return false;
    std::uint8_t all = is_shifted;
    for (i64 k = a.begin(i), end = a.begin(i + 1); k < end; ++k)
      all &= mark(b_row(k));
    return all != 0;
  }
  /// Whether enough rows from row i on may be moved for a program to pay. Where runs are short, it
  /// is a mispredicted branch more for each. luxembourg_osm, ms of one thread of Zen 5 to fill its
  /// programs: runs of any length 0.82, of 8 rows 0.52.
  HWY_INLINE bool starts_program(i64 i) const {
    if (a.col != b.col || a.ptr != b.ptr)
      return true;
    if (i + program_run > static_cast<i64>(a.rows))
      return false;
    std::uint64_t next; // marks of program_run rows
    std::memcpy(&next, t.marks + i, sizeof next);
    return next == 0x0101010101010101 * is_shifted;
  }
  bool follows(i64 i) const { return is_marked(i, is_same); }
  /// Whether row i has the columns of the row before it or of the one after it.
  bool is_grouped(i64 i) const {
    return follows(i) || (i + 1 < static_cast<i64>(a.rows) && follows(i + 1));
  }
  bool may_scatter() const { return static_cast<i64>(b.cols) <= t.most_scattered; }
  /// Whether the accumulator's lines for row i, which has entries, are likely to be in the cache.
  bool is_near(i64 i) const {
    if (static_cast<i64>(b.cols) <= few_columns)
      return true;
    if (i == 0 || a.length(i - 1) == 0)
      return false;
    auto const apart = [&](i64 k, i64 l) {
      i64 const d = static_cast<i64>(a.col[k]) - static_cast<i64>(a.col[l]);
      return d < 0 ? -d : d;
    };
    return apart(a.begin(i), a.begin(i - 1)) <= near_columns &&
           apart(a.begin(i + 1) - 1, a.begin(i) - 1) <= near_columns;
  }

  /// How row i is computed; e is its extent, with columns if the row is dense.
  HWY_INLINE row_kind choose(i64 i, extent& e) const {
    e = lengths(i);
    if (e.products == 0)
      return row_kind::empty;
    switch (t.wanted) {
    case spgemm_method::heap:
      return row_kind::heap;
    case spgemm_method::esc:
      return row_kind::esc;
    case spgemm_method::merge:
      return row_kind::merge;
    case spgemm_method::hash:
      return row_kind::hash;
    case spgemm_method::dense:
      columns(i, e);
      return row_kind::dense;
    case spgemm_method::scatter:
      if (may_scatter())
        return row_kind::scatter;
      break;
    case spgemm_method::heap_esc_merge:
      return a.length(i) * e.products == 1 ? row_kind::copy
             : e.products <= most_by_heap  ? row_kind::heap
             : e.products <= most_by_esc   ? row_kind::esc
                                           : row_kind::merge;
    default:
      break;
    }
    i64 const n = a.length(i);
    if (n == 1 && t.wanted != spgemm_method::tiny)
      return row_kind::copy;
    bool const scatters = may_scatter() && t.wanted == spgemm_method::automatic;
    if (n <= tiny_rows && e.longest <= tiny_length)
      return is_moved(i) && starts_program(i) ? row_kind::program
             : scatters && e.products > tiny_near_products && is_near(i)
                 ? (e.products <= few_products ? row_kind::few : row_kind::listed)
                 : row_kind::tiny;
    if (scatters && e.products <= listed_products)
      return e.products <= few_products ? row_kind::few : row_kind::listed;
    if (scatters && e.products * 64 < products_a_block * static_cast<i64>(b.cols) && !is_grouped(i))
      return row_kind::scatter;
    columns(i, e);
    i64 const width = e.last + 1 - e.first;
    if (width > columns_a_product * e.products && e.products <= t.most_listed)
      return scatters                  ? row_kind::scatter
             : e.products <= esc_limit ? row_kind::esc
                                       : row_kind::hash;
    return width <= t.most_grouped && e.products <= t.most_grouped && follows(i) ? row_kind::follows
                                                                                 : row_kind::dense;
  }
  row_kind kind(i64 i) const { return t.kinds ? t.kinds[i] : choose_again(i); }
  HWY_NOINLINE row_kind choose_again(i64 i) const {
    extent e;
    return choose(i, e);
  }
  /// Entries of row i, which is split.
  i64 split_entries(i64 i) const {
    split_row const* s = t.splits;
    while (s->row != i)
      ++s;
    return s->entries[s->parts];
  }
};

template <class I, class O>
i64 survey_rows(product_pattern<I, O> const& c, i64 first, i64 last, spgemm_survey& s) {
  bool const may_repeat =
      c.t.wanted == spgemm_method::automatic || c.t.wanted == spgemm_method::tiny;
  auto const raise = [](i64& most, i64 n) { most = n > most ? n : most; };
  typename product_pattern<I, O>::extent e;
  row_kind kind = row_kind::empty;
  i64 const cols = static_cast<i64>(c.b.cols);
  i64 products = 0;
  for (i64 i = first; i < last; ++i) {
    // Most rows that repeat the one before are computed alike.
    i64 const begin = i;
    if (may_repeat && (kind == row_kind::tiny || kind == row_kind::program) && c.is_moved(i) &&
        (kind == row_kind::program || c.starts_program(i))) {
      kind = row_kind::program;
      while (i + 1 < last && c.is_moved(i + 1))
        ++i;
      if (c.t.kinds) // of all but the last
        std::memset(c.t.kinds + begin, static_cast<int>(kind), static_cast<std::size_t>(i - begin));
    } else if (!(may_repeat && kind == row_kind::follows && c.follows(i))) {
      kind = c.choose(i, e);
    }
    i64 const n = i + 1 - begin;
    products += n * e.products;
    s.rows[static_cast<int>(kind)] += n;
    s.products_by[static_cast<int>(kind)] += n * e.products;
    s.most_entries += n * (e.products < cols ? e.products : cols);
    i64 const width = e.last + 1 - e.first;
    if (kind == row_kind::dense || kind == row_kind::follows)
      raise(s.widest, width);
    if (kind == row_kind::dense || kind == row_kind::follows || kind == row_kind::scatter)
      if (e.products >= split_length * c.a.length(i))
        raise(s.longest, e.products);
    if (kind == row_kind::follows)
      raise(s.group_columns, width < e.products ? width : e.products);
    if (kind >= row_kind::hash)
      raise(s.listed, e.products);
    if (kind == row_kind::heap)
      raise(s.heads, c.a.length(i));
    if (c.t.kinds)
      c.t.kinds[i] = kind;
  }
  for (row_kind const k : {row_kind::few, row_kind::listed, row_kind::scatter})
    if (s.rows[static_cast<int>(k)] > 0)
      raise(s.widest, cols);
  s.products += products;
  return products;
}

/// The number of rows from i on that each are the row before moved by one column: 16 or 0. Tested
/// together, since stencils have many such rows.
template <class I, class O>
HWY_INLINE i64 rows_moved_on(pattern<I, O> const& b, i64 i, i64 last) {
  constexpr i64 rows = 16;
  i64 const n = b.length(i);
  if (i == 0 || i + rows > last || n == 0 || b.begin(i + rows) - b.begin(i - 1) != (rows + 1) * n)
    return 0;
  i64 other = 0;
  for (i64 r = -1; r < rows; ++r)
    other |= b.length(i + r) ^ n;
  I const* const col = b.col + b.ptr[i];
  if (other != 0 || col[0] - col[-n] != 1)
    return 0;
  return moved(col, col - n, rows * n, I(1)) ? rows : 0;
}

template <class I, class O>
void mark_rows(pattern<I, O> const& b, std::uint8_t* marks, i64 first, i64 last) {
  for (i64 i = first; i < last; ++i) {
    i64 const n = b.length(i);
    if (i64 const rows = rows_moved_on(b, i, last)) {
      std::memset(marks + i, is_shifted, static_cast<std::size_t>(rows));
      i += rows - 1;
      continue;
    }
    marks[i] = 0;
    if (i == 0 || n == 0 || b.length(i - 1) != n)
      continue;
    I const* const col = b.col + b.ptr[i];
    I const* const before = b.col + b.ptr[i - 1];
    I const by = static_cast<I>(col[0] - before[0]);
    if ((by == 0 || by == 1) && moved(col, before, n, by))
      marks[i] = by == 1 ? is_shifted : is_same;
  }
}

/// What the first product of an entry is added to: x + -0 is x for every x, so an entry with one
/// product equals that product.
template <class V>
HWY_INLINE V nothing() {
  if constexpr (is_pair<V>)
    return {-0.0, -0.0};
  else
    return V(-0.0);
}

/// a b, rounded as the plain loop does. GCC 12 fuses the difference of two products in vectors even
/// where it is told not to contract (its bug 106902), so it must not see that they are products.
template <class V>
HWY_INLINE V times(V a, V b) {
  if constexpr (is_pair<V>) {
    auto re_re = a.re * b.re, im_im = a.im * b.im, re_im = a.re * b.im, im_re = a.im * b.re;
#ifdef __x86_64__
    asm("" : "+x"(re_re), "+x"(im_im), "+x"(re_im), "+x"(im_re));
#endif
    return {re_re - im_im, re_im + im_re};
  } else {
    return a * b;
  }
}

/// Operands with values and C, for one thread.
template <class V, class I, class O>
struct product : product_pattern<I, O> {
  using value = plain<V>;
  value const* a_val;
  value const* b_val;
  O const* c_ptr;
  I* c_col;
  value* c_val;

  i64 first_row, first_entry; // of the rows that are filled

  /// The same product, with columns and values of C elsewhere.
  product to(kept_rows const& kept) const {
    product c = *this;
    c.c_col = static_cast<I*>(kept.col);
    c.c_val = static_cast<value*>(kept.val);
    return c;
  }

  explicit product(spgemm_task const& task, i64 first = 0, i64 before = 0)
      : product_pattern<I, O>{pattern<I, O>(*static_cast<csr_view<V, I, O> const*>(task.a)),
                              pattern<I, O>(*static_cast<csr_view<V, I, O> const*>(task.b)), task},
        a_val(as_plain(static_cast<csr_view<V, I, O> const*>(task.a)->val)),
        b_val(as_plain(static_cast<csr_view<V, I, O> const*>(task.b)->val)),
        c_ptr(static_cast<O const*>(task.place ? task.place : task.row_ptr)),
        c_col(static_cast<I*>(task.col)), c_val(static_cast<value*>(task.val)), first_row(first),
        first_entry(task.place ? static_cast<i64>(c_ptr[first]) : before) {}

  /// First entry of row i. c_ptr of the first row is written by another thread.
  HWY_INLINE i64 start(i64 i) const {
    return i == first_row ? first_entry : static_cast<i64>(c_ptr[i]);
  }
};

} // namespace
} // namespace tulle::kernels::TULLE_ISA

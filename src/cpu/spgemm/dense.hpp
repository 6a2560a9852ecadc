// SPDX-License-Identifier: Apache-2.0

// Rows of C by an accumulator as wide as the row, from its first column to its last, and one byte
// per column that is set where there is an entry. Reading 16 to 64 of those bytes at once gives the
// columns in order. A row wider than the scratch is computed in several passes, one tile of columns
// each.
//
// Consecutive rows of A with the same columns make a group of up to four: their columns are found
// once, and one vector holds an entry of all four. Where consecutive rows of B have the same
// columns too, as in matrices of small blocks, up to four of them are added while that vector is in
// a register. The sums of a group stand side by side; `rank` gives the place of a column.
#pragma once
#include "cpu/spgemm/rows.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

constexpr int group_rows = 4; // other numbers have not been measured
constexpr i64 flag_padding = 256;

/// One entry of four rows of a group.
template <class V>
struct four_of {
  typedef V type __attribute__((vector_size(group_rows * sizeof(V))));
};
template <class T>
struct four_of<pair<T>> {
  struct type {
    pair<T> v[group_rows];
    HWY_INLINE pair<T>& operator[](int g) { return v[g]; }
    friend HWY_INLINE type operator*(type a, pair<T> b) {
      for (int g = 0; g < group_rows; ++g)
        a.v[g] = times(a.v[g], b);
      return a;
    }
    friend HWY_INLINE type operator+(type a, type b) {
      for (int g = 0; g < group_rows; ++g)
        a.v[g] = a.v[g] + b.v[g];
      return a;
    }
  };
};
template <class V>
using four = typename four_of<V>::type;

/// Scratch of dense rows. Flags are 0 and sums -0 between rows; the rest holds what the last row
/// left.
template <class V>
struct dense_scratch {
  std::uint8_t* flag;
  V* sum;
  std::int32_t* rank;
  four<V>* group;

  static std::size_t padded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }
  static std::size_t flag_bytes(spgemm_task const& t) {
    return t.tile == 0 ? 0 : padded(static_cast<std::size_t>(t.tile + flag_padding));
  }
  static std::size_t sum_bytes(spgemm_task const& t) {
    return padded(static_cast<std::size_t>(t.tile) * sizeof(V));
  }
  static bool has_groups(spgemm_task const& t) {
    return t.all.rows[static_cast<int>(row_kind::follows)] > 0;
  }
  static std::size_t rank_bytes(spgemm_task const& t) {
    return has_groups(t) ? padded(static_cast<std::size_t>(t.tile) * 4) : 0;
  }
  static std::size_t group_bytes(spgemm_task const& t) {
    return has_groups(t) ? padded(static_cast<std::size_t>(t.all.group_columns) * sizeof(four<V>))
                         : 0;
  }
  static std::size_t bytes(spgemm_task const& t) {
    return flag_bytes(t) + sum_bytes(t) + rank_bytes(t) + group_bytes(t);
  }
  dense_scratch(spgemm_task const& t, std::byte* at)
      : flag(reinterpret_cast<std::uint8_t*>(at)), sum(reinterpret_cast<V*>(at + flag_bytes(t))),
        rank(reinterpret_cast<std::int32_t*>(at + flag_bytes(t) + sum_bytes(t))),
        group(reinterpret_cast<four<V>*>(at + flag_bytes(t) + sum_bytes(t) + rank_bytes(t))) {}
  void clear(spgemm_task const& t) const {
    std::memset(flag, 0, flag_bytes(t));
    for (i64 j = 0; j < t.tile; ++j)
      sum[j] = nothing<V>();
  }
};

/// Calls f(first flag, bits) for each 16 to 64 flags of [0, n) of which one is set, and clears
/// them.
template <class F>
HWY_INLINE void take_flags(std::uint8_t* flag, i64 n, F f) {
  hn::ScalableTag<std::uint8_t> const d;
  constexpr i64 lanes = HWY_MAX_BYTES;
  auto const zero = hn::Zero(d);
  for (i64 at = 0; at < n; at += 4 * lanes) {
    auto const v0 = hn::LoadU(d, flag + at), v1 = hn::LoadU(d, flag + at + lanes),
               v2 = hn::LoadU(d, flag + at + 2 * lanes), v3 = hn::LoadU(d, flag + at + 3 * lanes);
    if (hn::AllTrue(d, hn::Eq(hn::Or(hn::Or(v0, v1), hn::Or(v2, v3)), zero)))
      continue;
    auto const one = [&](hn::Vec<decltype(d)> v, i64 from) HWY_ATTR {
      std::uint64_t bits = 0;
      hn::StoreMaskBits(d, hn::Ne(v, zero), reinterpret_cast<std::uint8_t*>(&bits));
      hn::StoreU(zero, d, flag + from);
      if (bits)
        f(from, bits);
    };
    one(v0, at);
    one(v1, at + lanes);
    one(v2, at + 2 * lanes);
    one(v3, at + 3 * lanes);
  }
}

template <class I, class O>
struct dense_row {
  using operands = product_pattern<I, O>;
  using extent = typename operands::extent;

  /// First entry of row j of B with a column of at least `least`.
  static HWY_INLINE i64 entry_from(pattern<I, O> const& b, i64 j, i64 least) {
    i64 lo = b.begin(j), hi = b.begin(j + 1);
    while (lo < hi) {
      i64 const mid = lo + (hi - lo) / 2;
      bool const less = static_cast<i64>(b.col[mid]) < least;
      lo = less ? mid + 1 : lo;
      hi = less ? hi : mid;
    }
    return lo;
  }
  /// The entries, with columns in [first, last), of the row of B that entry k of A is multiplied
  /// with.
  static HWY_INLINE void clip(operands const& c, i64 k, extent const& e, i64 first, i64 last,
                              i64& from, i64& to) {
    i64 const j = c.b_row(k);
    from = first == e.first ? c.first_of(k) : entry_from(c.b, j, first);
    to = last > e.last ? c.b.begin(j + 1) : entry_from(c.b, j, last);
  }

  /// Sets the flags of row i for columns [first, last).
  static void set_flags(operands const& c, i64 i, extent const& e, i64 first, i64 last,
                        std::uint8_t* flag) {
    i64 const begin = c.a.begin(i), end = c.a.begin(i + 1);
    std::uint8_t* const at = flag - first;
    for (i64 k = begin; k < end; ++k) {
      if (k > begin && c.repeats(k))
        continue;
      i64 from, to;
      clip(c, k, e, first, last, from, to);
      I const* const col = c.b.col;
      for (; from + 4 <= to; from += 4) {
        I const p = col[from], q = col[from + 1], r = col[from + 2], s = col[from + 3];
        at[p] = 1;
        at[q] = 1;
        at[r] = 1;
        at[s] = 1;
      }
      for (; from < to; ++from)
        at[col[from]] = 1;
    }
  }

  static i64 count(operands const& c, i64 i, std::uint8_t* flag) {
    extent e = {};
    c.columns(i, e);
    return count(c, i, e, e.first, e.last + 1, flag);
  }
  /// Counts the entries in columns [from, to).
  static i64 count(operands const& c, i64 i, extent const& e, i64 from, i64 to,
                   std::uint8_t* flag) {
    i64 n = 0;
    for (i64 first = from; first < to; first += c.t.tile) {
      i64 const last = to - first < c.t.tile ? to : first + c.t.tile;
      set_flags(c, i, e, first, last, flag);
      take_flags(flag, last - first,
                 [&](i64, std::uint64_t bits) HWY_ATTR { n += __builtin_popcountll(bits); });
    }
    return n;
  }

  /// Fills row i from entry `at` on; returns where it ends.
  template <class V>
  static i64 fill(product<V, I, O> const& c, i64 i, i64 at, dense_scratch<plain<V>> const& s) {
    extent e = {};
    c.columns(i, e);
    return fill(c, i, e, e.first, e.last + 1, at, s);
  }
  /// The same of its columns [begin, stop).
  template <class V>
  static i64 fill(product<V, I, O> const& c, i64 i, extent const& e, i64 begin, i64 stop, i64 at,
                  dense_scratch<plain<V>> const& s) {
    using value = plain<V>;
    for (i64 first = begin; first < stop; first += c.t.tile) {
      i64 const last = stop - first < c.t.tile ? stop : first + c.t.tile;
      std::uint8_t* const __restrict flag = s.flag - first;
      value* const __restrict sum = s.sum - first;
      for (i64 k = c.a.begin(i), end = c.a.begin(i + 1); k < end; ++k) {
        value const factor = c.a_val[k];
        i64 from, to;
        clip(c, k, e, first, last, from, to);
        I const* const __restrict col = c.b.col;
        value const* const __restrict val = c.b_val;
        if (c.t.values_only) {
          for (; from < to; ++from)
            sum[col[from]] = sum[col[from]] + times(factor, val[from]);
        } else {
          for (; from < to; ++from) {
            I const j = col[from];
            flag[j] = 1;
            sum[j] = sum[j] + times(factor, val[from]);
          }
        }
      }
      if (c.t.values_only) {
        i64 const end = static_cast<i64>(c.c_ptr[i + 1]);
        for (; at < end && static_cast<i64>(c.c_col[at]) < last; ++at) {
          c.c_val[at] = sum[c.c_col[at]];
          sum[c.c_col[at]] = nothing<value>();
        }
        continue;
      }
      take_flags(s.flag, last - first, [&](i64 from, std::uint64_t bits) HWY_ATTR {
        for (; bits; bits &= bits - 1) {
          i64 const j = from + __builtin_ctzll(bits);
          c.c_col[at] = static_cast<I>(first + j);
          c.c_val[at++] = s.sum[j];
          s.sum[j] = nothing<value>();
        }
      });
    }
    return at;
  }

  /// Cuts a row into parts of equal work, by a sample of its products.
  static void cut(operands const& c, split_row const& s) {
    // sampled: entries of A's row, and products of each
    constexpr i64 places = 1024, terms = 1024, products = 64;
    extent e = {};
    c.columns(s.row, e);
    i64 const width = (e.last - e.first) / places + 1;
    i64 all = 0, at[places] = {};
    i64 const begin = c.a.begin(s.row), end = c.a.begin(s.row + 1);
    for (i64 k = begin, next = (end - begin) / terms + 1; k < end; k += next) {
      i64 const from = c.first_of(k), to = c.b.begin(c.b_row(k) + 1);
      i64 const step = (to - from) / products + 1;
      for (i64 p = from; p < to; p += step, all += step)
        at[(static_cast<i64>(c.b.col[p]) - e.first) / width] += step;
    }
    int part = 0;
    for (i64 q = 0, before = 0; q < places; before += at[q++])
      for (; part < s.parts && before >= all / s.parts * part; ++part)
        s.cut[part] = e.first + q * width < e.last ? e.first + q * width : e.last + 1;
    for (; part <= s.parts; ++part)
      s.cut[part] = e.last + 1;
  }
  static extent extent_of(split_row const& s) {
    extent e;
    e.first = s.cut[0];
    e.last = s.cut[s.parts] - 1;
    return e;
  }

  /// Adds `deep` rows of B that have one pattern, from entry k of A's rows on.
  template <int deep, class V>
  static HWY_INLINE void add_rows(product<V, I, O> const& c, i64 i, int rows, i64 k, i64 first,
                                  dense_scratch<plain<V>> const& s) {
    using value = plain<V>;
    four<value> factor[deep] = {};
    value const* val[deep];
    i64 const j = c.b_row(k), from = c.first_of(k), n = c.b.begin(j + 1) - from;
    for (int h = 0; h < deep; ++h) {
      for (int g = 0; g < group_rows; ++g)
        factor[h][g] =
            g < rows ? c.a_val[c.a.begin(i + g) + (k - c.a.begin(i)) + h] : nothing<value>();
      val[h] = c.b_val + c.b.begin(j + h) + (from - c.b.begin(j));
    }
    I const* const __restrict col = c.b.col + from;
    std::int32_t const* const __restrict rank = s.rank - first;
    for (i64 p = 0; p < n; ++p) {
      four<value>* const sum = s.group + rank[col[p]];
      four<value> v = *sum;
#pragma GCC unroll 4
      for (int h = 0; h < deep; ++h)
        v = v + factor[h] * val[h][p];
      *sum = v;
    }
  }

  /// Rows [i, i + rows) of one pattern. In the upper half each row lacks the first column of the
  /// row before, since rows of one pattern all meet on the diagonal block.
  template <class V>
  static void fill_group(product<V, I, O> const& c, i64 i, int rows,
                         dense_scratch<plain<V>> const& s) {
    using value = plain<V>;
    extent e = {};
    c.columns(i, e);
    i64 const first = e.first;
    i64 n = 0;
    I* const col = c.c_col + c.start(i);
    if (c.t.values_only) {
      n = static_cast<i64>(c.c_ptr[i + 1]) - c.start(i);
    } else {
      set_flags(c, i, e, first, e.last + 1, s.flag);
      take_flags(s.flag, e.last + 1 - first, [&](i64 from, std::uint64_t bits) HWY_ATTR {
        for (; bits; bits &= bits - 1)
          col[n++] = static_cast<I>(first + from + __builtin_ctzll(bits));
      });
      for (int g = 1; g < rows; ++g) {
        i64 const less = c.t.first ? g : 0;
        std::memcpy(c.c_col + c.start(i + g), col + less,
                    static_cast<std::size_t>(n - less) * sizeof(I));
      }
    }
    for (i64 q = 0; q < n; ++q) {
      s.rank[col[q] - first] = static_cast<std::int32_t>(q);
      for (int g = 0; g < group_rows; ++g)
        s.group[q][g] = nothing<value>();
    }
    i64 const end = c.a.begin(i + 1);
    for (i64 k = c.a.begin(i); k < end;) {
      int deep = 1;
      while (deep < 4 && k + deep < end && c.repeats(k + deep))
        ++deep;
      if (deep == 1)
        add_rows<1>(c, i, rows, k, first, s);
      else if (deep == 2)
        add_rows<2>(c, i, rows, k, first, s);
      else if (deep == 3)
        add_rows<3>(c, i, rows, k, first, s);
      else
        add_rows<4>(c, i, rows, k, first, s);
      k += deep;
    }
    for (int g = 0; g < rows; ++g) {
      i64 const less = c.t.first ? g : 0;
      value* const val = c.c_val + c.start(i + g) - less;
      for (i64 q = less; q < n; ++q)
        val[q] = s.group[q][g];
    }
  }
};

} // namespace
} // namespace tulle::kernels::TULLE_ISA

// SPDX-License-Identifier: Apache-2.0

// Rows of C that are made of at most eight rows of B of at most eight entries. The keys
// (column, which row of B, which entry of it) are sorted by a network; equal columns then stand
// together in the order in which they are to be added.
//
// A row of a stencil or lattice often is the row before moved by one column. For such rows the
// order is kept as a program: the products that each entry is the sum of. Only values are read
// then.
#pragma once
#include "cpu/spgemm/rows.hpp"
#include "kernel/primitive/network_sort.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

constexpr int tiny_products = tiny_rows * tiny_length;
constexpr int tiny_bits = 6;
static_assert(1 << tiny_bits == tiny_products);
// Rows computed per pass over a program. lattice:500000 squared, two threads of Zen 3, ms: one at a
// time 10.0, four 6.7, eight 7.4.
constexpr int program_rows = 4;

template <class I, class O>
struct tiny_row {
  using keys_for_64 = std::int64_t;
  i64 made_for = -1; // the row that the program was used for last
  int entries = 0, products = 0;
  std::uint8_t from[tiny_products];  // products in the order of keys
  std::uint8_t terms[tiny_products]; // of each entry
  HWY_ALIGN I offset[tiny_products]; // of each entry: column minus row
  HWY_ALIGN std::int64_t room[tiny_products];

  /// Sorts row i; column(p) and product(p) then tell of the p-th key.
  template <class K>
  HWY_INLINE void sort_as(product_pattern<I, O> const& c, i64 i) {
    K* const keys = reinterpret_cast<K*>(room);
    int n = 0;
    i64 const first = c.a.begin(i), end = c.a.begin(i + 1);
    for (i64 k = first; k < end; ++k) {
      i64 const j = c.b_row(k), from_b = c.first_of(k), to = c.b.begin(j + 1);
      K const which = static_cast<K>((k - first) * tiny_length);
      for (i64 p = from_b; p < to; ++p)
        keys[n++] = static_cast<K>(static_cast<K>(c.b.col[p]) * tiny_products + which +
                                   static_cast<K>(p - from_b));
    }
    products = n;
    sort_padded(keys, n);
  }
  /// Sorts row i, then calls f(keys, n).
  template <class F>
  HWY_INLINE void with_sorted(product_pattern<I, O> const& c, i64 i, F f) {
    if (sizeof(I) == 4 && static_cast<i64>(c.b.cols) < i64(1) << (31 - tiny_bits)) {
      sort_as<std::int32_t>(c, i);
      f(reinterpret_cast<std::int32_t const*>(room));
    } else {
      sort_as<std::int64_t>(c, i);
      f(static_cast<std::int64_t const*>(room));
    }
  }

  int count(product_pattern<I, O> const& c, i64 i) {
    int n = 0;
    with_sorted(c, i, [&](auto const* keys) {
      n = products > 0;
      for (int p = 1; p < products; ++p)
        n += keys[p] >> tiny_bits != keys[p - 1] >> tiny_bits;
    });
    return n;
  }

  HWY_NOINLINE void make_program(product_pattern<I, O> const& c, i64 i) {
    with_sorted(c, i, [&](auto const* keys) {
      entries = 0;
      for (int p = 0; p < products; ++p) {
        if (p == 0 || keys[p] >> tiny_bits != keys[p - 1] >> tiny_bits) {
          offset[entries] = static_cast<I>((keys[p] >> tiny_bits) - i);
          terms[entries++] = 0;
        }
        ++terms[entries - 1];
        from[p] = static_cast<std::uint8_t>(keys[p] & (tiny_products - 1));
      }
    });
  }
  /// The program for row i, which is row i - 1 moved by one column, or the first of such rows.
  HWY_INLINE void move_to(product_pattern<I, O> const& c, i64 i, bool is_first = false) {
    if (made_for != i - 1 || i == 0 || is_first)
      make_program(c, i);
    made_for = i;
  }

  /// w[r][8 k + e]: of row i + r, a_k times entry e of that row of B. Each further row is moved by
  /// one more column.
  template <int rows, class V>
  static HWY_INLINE void multiply(product<V, I, O> const& c, i64 i, plain<V> (*w)[tiny_products]) {
    i64 const nnz = static_cast<i64>(c.b.nnz);
    i64 const begin = c.a.begin(i), n = c.a.begin(i + 1) - begin;
    for (i64 k = 0; k < n; ++k) {
      if (rows == 1 && c.is_large_b())
        c.template prefetch<true>(c.b_val, begin + k);
      i64 const j = c.b_row(begin + k), first = c.first_of(begin + k), length = c.b.length(j);
      for (i64 r = 0; r < rows; ++r) {
        plain<V> const factor = c.a_val[begin + r * n + k];
        plain<V> const* const b = c.b_val + first + r * length;
        plain<V>* const to = w[r] + k * tiny_length;
        // What follows the row is multiplied and not used.
        if (first + r * length + tiny_length > nnz)
          for (i64 e = 0; first + e < c.b.begin(j + 1); ++e)
            to[e] = times(factor, b[e]);
        else if (rows > 1 && length <= tiny_length / 2) // predictable: many rows have one length
          for (int e = 0; e < tiny_length / 2; ++e)
            to[e] = times(factor, b[e]);
        else
          for (int e = 0; e < tiny_length; ++e)
            to[e] = times(factor, b[e]);
      }
    }
  }

  /// Columns and values of row i; returns how many.
  template <class V>
  HWY_INLINE i64 fill(product<V, I, O> const& c, i64 i, I* col, plain<V>* val) {
    i64 n = 0;
    HWY_ALIGN plain<V> w[1][tiny_products];
    multiply<1>(c, i, w);
    with_sorted(c, i, [&](auto const* keys) {
      i64 at = -1;
      auto last = static_cast<decltype(keys[0] + 0)>(-1);
      plain<V> sum = nothing<plain<V>>();
      for (int p = 0; p < products; ++p) { // no branch: it would be unpredictable
        auto const j = keys[p] >> tiny_bits;
        bool const is_new = j != last;
        at += is_new;
        sum = (is_new ? nothing<plain<V>>() : sum) + w[0][keys[p] & (tiny_products - 1)];
        col[at] = static_cast<I>(j);
        val[at] = sum;
        last = j;
      }
      n = at + 1;
    });
    return n;
  }

  /// Rows i to i + rows - 1, after move_to(i). Each entry is summed in all of them at once.
  template <int rows, class V>
  HWY_INLINE void run_program(product<V, I, O> const& c, i64 i) {
    plain<V>* val[rows];
    for (int r = 0; r < rows; ++r) {
      val[r] = c.c_val + c.start(i + r);
      if (!c.t.values_only)
        write_columns(i + r, c.c_col + c.start(i + r));
    }
    HWY_ALIGN plain<V> w[rows][tiny_products];
    multiply<rows>(c, i, w);
    std::uint8_t const* p = from;
    for (int o = 0; o < entries; ++o) {
      plain<V> sum[rows];
      for (int r = 0; r < rows; ++r)
        sum[r] = w[r][*p];
      ++p;
      for (int q = 1; q < terms[o]; ++q, ++p)
        for (int r = 0; r < rows; ++r)
          sum[r] = sum[r] + w[r][*p];
      for (int r = 0; r < rows; ++r)
        val[r][o] = sum[r];
    }
    made_for = i + rows - 1;
  }

private:
  HWY_INLINE void write_columns(i64 i, I* col) const {
    constexpr int lanes = static_cast<int>(HWY_MAX_BYTES / sizeof(I));
    hn::ScalableTag<I> const d;
    auto const row = hn::Set(d, static_cast<I>(i));
    if (entries >= lanes) { // the last vector ends where the row ends
      for (int o = 0; o < entries; o += lanes) {
        int const at = o + lanes <= entries ? o : entries - lanes;
        hn::StoreU(hn::Add(hn::LoadU(d, offset + at), row), d, col + at);
      }
    } else {
      for (int o = 0; o < entries; ++o)
        col[o] = static_cast<I>(offset[o] + static_cast<I>(i));
    }
  }
};

} // namespace
} // namespace tulle::kernels::TULLE_ISA

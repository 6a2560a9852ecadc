// SPDX-License-Identifier: Apache-2.0

// src/cpu/spgemm/csr.cpp:  C = A*B, all in CSR, by rows: c_i = sum over k of a_ik b_k.
//
// Gustavson, ACM TOMS 4(3), 1978, in the stages of Liu, thesis 2015, sec. 9.4: an upper bound and a
// kind for each row (survey), the number of entries (count), columns and values (fill). Unlike
// there, nothing is computed into temporary rows: counting first costs less than moving C once
// more, and C is allocated only once.
//
// An entry's products are multiplied, rounded and added one after another in the order of A's row,
// so the bits depend neither on the method nor on the number of threads nor on the instruction set.
#include "cpu/spgemm/dense.hpp"
#include "cpu/spgemm/lists.hpp"
#include "cpu/spgemm/tiny.hpp"
#include "kernel/instantiate.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

/// Whether the result for row i, which is tiny or a program, also holds for the next row.
template <class I, class O>
bool program_goes_on(product_pattern<I, O> const& c, i64 i, i64 last) {
  return c.t.kinds && i + 1 < last && c.t.kinds[i + 1] == row_kind::program;
}

template <class I, class O>
HWY_NOINLINE i64 count_rows(product_pattern<I, O> const& c, i64 first, i64 last,
                            list_scratch<no_value, I> const& s, std::uint8_t* flags) {
  tiny_row<I, O> tiny;
  auto* const row_ptr = static_cast<O*>(c.t.row_ptr);
  i64 sum = 0, n = 0; // n: of the row before
  for (i64 i = first; i < last; ++i) {
    row_kind const kind = c.kind(i);
    switch (kind) {
    case row_kind::empty:
      n = 0;
      break;
    case row_kind::copy:
      n = c.b.begin(c.b_row(c.a.begin(i)) + 1) - c.first_of(c.a.begin(i));
      break;
    case row_kind::tiny:
      if (program_goes_on(c, i, last)) {
        tiny.move_to(c, i, true);
        n = tiny.entries;
      } else {
        n = tiny.count(c, i);
      }
      break;
    case row_kind::program:
      tiny.move_to(c, i);
      n = tiny.entries;
      for (; program_goes_on(c, i, last); ++i) { // the rows after it have as many
        sum += n;
        if (row_ptr)
          row_ptr[i + 1] = static_cast<O>(sum);
      }
      tiny.made_for = i;
      break;
    case row_kind::dense:
      n = dense_row<I, O>::count(c, i, flags);
      break;
    case row_kind::split:
      n = row_ptr ? c.split_entries(i) : dense_row<I, O>::count(c, i, flags);
      break;
    case row_kind::follows:
      if (i == first)
        n = dense_row<I, O>::count(c, i, flags);
      else
        n -= c.t.first != nullptr; // the row before has its own number next to this one's columns
      break;
    default:
      n = list_row<I>::template run<false>(kind, c, i, s, row_out<no_value, I>{});
    }
    sum += n;
    if (row_ptr)
      row_ptr[i + 1] = static_cast<O>(sum); // fits if all of C does
  }
  return sum;
}

template <class V, class I, class O>
struct spgemm_csr {
  using value = plain<V>;
  using view = csr_view<V, I, O>;
  using lists = list_scratch<value, I>;

  static void mark(void const* b, std::uint8_t* marks, i64 first, i64 last) {
    mark_rows(pattern<I, O>(*static_cast<view const*>(b)), marks, first, last);
  }
  static i64 survey(spgemm_task const& t, i64 first, i64 last, spgemm_survey& s) {
    return survey_rows<I, O>(product<V, I, O>(t), first, last, s);
  }
  static i64 cols(spgemm_task const& t) {
    return static_cast<i64>(static_cast<view const*>(t.b)->cols);
  }
  static lists lists_at(spgemm_task const& t, void* scratch, std::size_t& used) {
    lists s;
    std::size_t const dense = dense_scratch<value>::bytes(t);
    used = dense + lists::lay(t, cols(t), static_cast<std::byte*>(scratch) + dense, s);
    return s;
  }
  static std::size_t scratch(spgemm_task const& t) {
    std::size_t used = 0;
    lists_at(t, nullptr, used);
    return used;
  }
  static void clear(spgemm_task const& t, void* at) {
    std::size_t used = 0;
    dense_scratch<value>(t, static_cast<std::byte*>(at)).clear(t);
    lists_at(t, at, used).clear(t, cols(t));
  }

  static i64 count(spgemm_task const& t, i64 first, i64 last, void* at) {
    std::size_t used = 0;
    return count_rows<I, O>(product<V, I, O>(t), first, last, lists_at(t, at, used).columns(),
                            static_cast<std::uint8_t*>(at));
  }

  static void copy(product<V, I, O> const& c, i64 i) {
    i64 const k = c.a.begin(i), j = c.b_row(k);
    i64 const from = c.first_of(k), n = c.b.begin(j + 1) - from;
    I* const col = c.c_col + c.start(i);
    value* const val = c.c_val + c.start(i);
    value const factor = c.a_val[k];
    if (!c.t.values_only)
      std::memcpy(col, c.b.col + from, static_cast<std::size_t>(n) * sizeof(I));
    for (i64 p = 0; p < n; ++p)
      val[p] = times(factor, c.b_val[from + p]);
  }

  static void fill(spgemm_task const& t, i64 first, i64 last, i64 before, void* at) {
    product<V, I, O> const c(t, first, before);
    if (!t.values_only && !t.place)
      for (i64 i = first; i < last; ++i)
        static_cast<O*>(t.row_ptr)[i + 1] += static_cast<O>(before);
    std::size_t used = 0;
    lists const s = lists_at(t, at, used);
    dense_scratch<value> const dense(t, static_cast<std::byte*>(at));
    tiny_row<I, O> tiny;
    for (i64 i = first; i < last; ++i) {
      row_kind const kind = c.kind(i);
      switch (kind) {
      case row_kind::empty:
      case row_kind::split:
        break;
      case row_kind::copy:
        copy(c, i);
        break;
      case row_kind::tiny:
        if (program_goes_on(c, i, last)) {
          tiny.move_to(c, i, true);
          tiny.template run_program<1>(c, i);
        } else {
          tiny.fill(c, i);
        }
        break;
      case row_kind::program: {
        tiny.move_to(c, i);
        int rows = 1;
        while (rows < program_rows && program_goes_on(c, i + rows - 1, last))
          ++rows;
        if (rows == program_rows) {
          tiny.template run_program<program_rows>(c, i);
          i += rows - 1;
        } else {
          tiny.template run_program<1>(c, i);
        }
        break;
      }
      case row_kind::dense:
      case row_kind::follows: {
        int rows = 1;
        while (rows < group_rows && i + rows < last && c.kind(i + rows) == row_kind::follows)
          ++rows;
        if (rows > 1)
          dense_row<I, O>::fill_group(c, i, rows, dense);
        else
          dense_row<I, O>::fill(c, i, dense);
        i += rows - 1;
        break;
      }
      default:
        list_row<I>::template run<true>(
            kind, c, i, s, row_out<value, I>{c.c_col + c.start(i), c.c_val + c.start(i)});
      }
    }
  }

  static void cut(spgemm_task const& t, split_row const& s) {
    dense_row<I, O>::cut(product<V, I, O>(t), s);
  }
  static i64 count_part(spgemm_task const& t, split_row const& s, int part, void* at) {
    return dense_row<I, O>::count(product<V, I, O>(t), s.row, dense_row<I, O>::extent_of(s),
                                  s.cut[part], s.cut[part + 1], static_cast<std::uint8_t*>(at));
  }
  static void fill_part(spgemm_task const& t, split_row const& s, int part, void* at) {
    product<V, I, O> const c(t, -1);
    dense_row<I, O>::fill(c, s.row, dense_row<I, O>::extent_of(s), s.cut[part], s.cut[part + 1],
                          c.start(s.row) + s.entries[part],
                          dense_scratch<value>(t, static_cast<std::byte*>(at)));
  }
};

} // namespace

#define TULLE_SPGEMM_CELL(tag, V, I, O)                                                            \
  extern spgemm_kernel const spgemm_csr_##tag;                                                     \
  spgemm_kernel const spgemm_csr_##tag = {spgemm_csr<V, I, O>::mark,                               \
                                          spgemm_csr<V, I, O>::survey,                             \
                                          spgemm_csr<V, I, O>::scratch,                            \
                                          spgemm_csr<V, I, O>::clear,                              \
                                          spgemm_csr<V, I, O>::count,                              \
                                          spgemm_csr<V, I, O>::fill,                               \
                                          spgemm_csr<V, I, O>::cut,                                \
                                          spgemm_csr<V, I, O>::count_part,                         \
                                          spgemm_csr<V, I, O>::fill_part};
TULLE_TYPES(TULLE_SPGEMM_CELL)
TULLE_BASIC_TYPES(TULLE_SPGEMM_CELL)

} // namespace tulle::kernels::TULLE_ISA

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
#include "cpu/spgemm/few.hpp"
#include "cpu/spgemm/listed.hpp"
#include "cpu/spgemm/lists.hpp"
#include "cpu/spgemm/scatter.hpp"
#include "cpu/spgemm/tiny.hpp"
#include "kernel/instantiate.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

/// Whether the result for row i, which is tiny or a program, also holds for the next row.
template <class I, class O>
bool program_goes_on(product_pattern<I, O> const& c, i64 i, i64 last) {
  return c.t.kinds && i + 1 < last && c.t.kinds[i + 1] == row_kind::program;
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
  /// What a thread has for its rows.
  struct scratch_view {
    dense_scratch<value> dense;
    lists list;
    std::size_t used = 0; // bytes
    scatter_scratch<value, I> scatter;

    scratch_view(spgemm_task const& t, void* scratch)
        : dense(t, static_cast<std::byte*>(scratch)), list(),
          scatter(cols(t), dense, after_lists(t, static_cast<std::byte*>(scratch))) {
      used += scatter_scratch<value, I>::bytes(t, cols(t));
    }

  private:
    std::byte* after_lists(spgemm_task const& t, std::byte* at) {
      used = dense_scratch<value>::bytes(t);
      used += lists::lay(t, cols(t), at + used, list);
      return at + used;
    }
  };
  static std::size_t scratch(spgemm_task const& t) { return scratch_view(t, nullptr).used; }
  static void clear(spgemm_task const& t, void* at) {
    scratch_view const s(t, at);
    s.dense.clear(t);
    s.list.clear(t, cols(t));
    s.scatter.clear(t, cols(t));
  }

  using dense = dense_row<I, O>;
  using scatter = scatter_row<value, I, O>;

  /// Whether row i is computed by itself, so that counting may keep what it finds.
  static bool is_alone(product<V, I, O> const& c, row_kind kind, i64 i, i64 last) {
    switch (kind) {
    case row_kind::empty:
    case row_kind::copy:
    case row_kind::few:
    case row_kind::listed:
    case row_kind::scatter:
      return true;
    case row_kind::tiny:
      return !program_goes_on(c, i, last);
    default: // dense rows are counted in less time than they take to be moved
      return kind >= row_kind::hash;
    }
  }
  /// Columns and values of such a row from entry `at` on. Returns how many. Unless it is exact,
  /// there is room for a few more.
  static i64 fill_alone(product<V, I, O> const& c, row_kind kind, i64 i, i64 at,
                        tiny_row<I, O>& tiny, scratch_view const& s, bool exact) {
    row_out<value, I> const out{c.c_col + at, c.c_val + at};
    switch (kind) {
    case row_kind::empty:
      return 0;
    case row_kind::copy:
      return copy(c, i, out);
    case row_kind::few:
    case row_kind::listed:
      return listed_row<value, I, O>::fill(c, i, s.scatter, out, exact);
    case row_kind::scatter:
      return scatter::fill(c, i, s.scatter, out, exact);
    case row_kind::tiny:
      return tiny.fill(c, i, out.col, out.val);
    case row_kind::dense:
      return dense::fill(c, i, at, s.dense) - at;
    default:
      return list_row<I>::template run<true>(kind, c, i, s.list, out);
    }
  }

  /// Rows from row i on that few_rows computes together.
  static int rows_at_once(product<V, I, O> const& c, i64 i, i64 last) {
    int n = 0;
    for (; n < few_rows<value, I, O>::at_once && i + n < last; ++n) {
      row_kind const kind = c.kind(i + n);
      if (kind == row_kind::few || kind == row_kind::empty)
        continue;
      if (kind == row_kind::tiny && !program_goes_on(c, i + n, last))
        continue;
      if (kind == row_kind::copy && c.b.length(c.b_row(c.a.begin(i + n))) <= few_products)
        continue;
      break;
    }
    return n;
  }

  static i64 count(spgemm_task const& t, i64 first, i64 last, void* at, kept_rows& kept) {
    product<V, I, O> const c(t), to = c.to(kept);
    scratch_view const s(t, at);
    std::uint8_t* const flags = s.dense.flag;
    tiny_row<I, O> tiny;
    auto* const row_ptr = static_cast<O*>(t.row_ptr);
    i64 sum = 0, n = 0; // n: of the row before
    few_rows<value, I, O> few;
    bool const fits = few.fit(cols(t));
    for (i64 i = first; i < last; ++i) {
      row_kind const kind = c.kind(i);
      if (kept.col && fits)
        if (int const rows = rows_at_once(c, i, last); rows > 0) {
          i64 ends[few.at_once];
          few.fill(c, i, rows, to.c_col + kept.entries, to.c_val + kept.entries, ends);
          if (row_ptr)
            for (int r = 0; r < rows; ++r)
              row_ptr[i + r + 1] = static_cast<O>(sum + ends[r]);
          n = ends[rows - 1];
          sum += n;
          kept.entries += n;
          i += rows - 1;
          continue;
        }
      if (kept.col && is_alone(c, kind, i, last)) {
        n = fill_alone(to, kind, i, kept.entries, tiny, s, false);
        kept.entries += n;
      } else {
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
        case row_kind::few:
        case row_kind::listed:
        case row_kind::scatter:
          n = scatter::count(c, i, s.scatter);
          break;
        case row_kind::dense:
          n = dense::count(c, i, flags);
          break;
        case row_kind::split:
          n = row_ptr ? c.split_entries(i) : dense::count(c, i, flags);
          break;
        case row_kind::follows:
          if (i == first)
            n = dense::count(c, i, flags);
          else
            n -= t.first != nullptr; // the row before has its own number next to this one's columns
          break;
        default:
          n = list_row<I>::template run<false>(kind, c, i, s.list.columns(),
                                               row_out<no_value, I>{});
        }
      }
      sum += n;
      if (row_ptr)
        row_ptr[i + 1] = static_cast<O>(sum); // fits if all of C does
    }
    return sum;
  }

  static i64 copy(product<V, I, O> const& c, i64 i, row_out<value, I> out) {
    i64 const k = c.a.begin(i), j = c.b_row(k);
    i64 const from = c.first_of(k), n = c.b.begin(j + 1) - from;
    value const factor = c.a_val[k];
    if (!c.t.values_only)
      std::memcpy(out.col, c.b.col + from, static_cast<std::size_t>(n) * sizeof(I));
    for (i64 p = 0; p < n; ++p)
      out.val[p] = times(factor, c.b_val[from + p]);
    return n;
  }

  /// Copies n entries from where they are kept.
  static void move(product<V, I, O> const& c, kept_rows const& kept, i64 from, i64 at, i64 n) {
    if (n == 0) // then there may be no arrays
      return;
    std::memcpy(c.c_col + at, static_cast<I const*>(kept.col) + from,
                static_cast<std::size_t>(n) * sizeof(I));
    std::memcpy(c.c_val + at, static_cast<value const*>(kept.val) + from,
                static_cast<std::size_t>(n) * sizeof(value));
  }

  static void fill(spgemm_task const& t, i64 first, i64 last, i64 before, void* at,
                   kept_rows const& kept) {
    product<V, I, O> const c(t, first, before);
    auto* const row_ptr = static_cast<O*>(t.row_ptr);
    if (!t.values_only && !t.place)
      for (i64 i = first; i < last; ++i)
        row_ptr[i + 1] += static_cast<O>(before);
    i64 const end = t.place ? 0 : static_cast<i64>(row_ptr[last]); // of the rows' entries
    if (kept.col && kept.entries == end - before)
      return move(c, kept, 0, before, kept.entries);
    scratch_view const s(t, at);
    tiny_row<I, O> tiny;
    few_rows<value, I, O> few;
    bool const fits = few.fit(cols(t)) && !t.place;
    i64 moved = 0; // of what is kept
    for (i64 i = first; i < last; ++i) {
      row_kind const kind = c.kind(i);
      if (kept.col && is_alone(c, kind, i, last)) {
        i64 const from = c.start(i);
        while (i + 1 < last && is_alone(c, c.kind(i + 1), i + 1, last))
          ++i;
        i64 const n = static_cast<i64>(row_ptr[i + 1]) - from;
        move(c, kept, moved, from, n);
        moved += n;
        continue;
      }
      if (fits && (kind == row_kind::tiny || (kind == row_kind::few && !t.values_only))) {
        int rows = rows_at_once(c, i, last);
        if (t.values_only) // else columns are known
          for (int r = 0; r < rows; ++r)
            if (c.kind(i + r) != row_kind::tiny)
              rows = r;
        if (rows > 0 && static_cast<i64>(c.c_ptr[i + rows]) + kept_padding <= end) {
          i64 ends[few.at_once];
          few.fill(c, i, rows, t.values_only ? nullptr : c.c_col + c.start(i), c.c_val + c.start(i),
                   ends);
          i += rows - 1;
          continue;
        }
      }
      switch (kind) {
      case row_kind::empty:
      case row_kind::split:
        break;
      case row_kind::copy:
        copy(c, i, {c.c_col + c.start(i), c.c_val + c.start(i)});
        break;
      case row_kind::tiny:
        if (program_goes_on(c, i, last)) {
          tiny.move_to(c, i, true);
          tiny.template run_program<1>(c, i);
        } else {
          fill_alone(c, kind, i, c.start(i), tiny, s, true);
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
      case row_kind::few:
      case row_kind::listed:
      case row_kind::scatter: {
        i64 const from = c.start(i);
        if (t.values_only)
          scatter::refill(c, i, s.scatter, {c.c_col + from, c.c_val + from},
                          static_cast<i64>(c.c_ptr[i + 1]) - from);
        else // what is written after a row is written again with the next one
          fill_alone(c, kind, i, from, tiny, s,
                     t.place || static_cast<i64>(c.c_ptr[i + 1]) + kept_padding > end);
        break;
      }
      case row_kind::dense:
      case row_kind::follows: {
        int rows = 1;
        while (rows < group_rows && i + rows < last && c.kind(i + rows) == row_kind::follows)
          ++rows;
        if (rows > 1)
          dense::fill_group(c, i, rows, s.dense);
        else
          fill_alone(c, row_kind::dense, i, c.start(i), tiny, s, true);
        i += rows - 1;
        break;
      }
      default:
        fill_alone(c, kind, i, c.start(i), tiny, s, true);
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

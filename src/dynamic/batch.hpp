// SPDX-License-Identifier: Apache-2.0

// What a change goes through: the entries of a batch in the order of rows, and the entries of a
// row as one list.
#pragma once
#include "tulle/primitive/radix_sort.hpp"

#include "dynamic/rows.hpp"

namespace tulle::dynamic {

/// The entries of a batch by row, those of a row in their order; or by row and column. By rows
/// alone only (row, number) is sorted, a third of the bytes and half of the digits, and columns and
/// values are taken from where they are.
template <class V, class I>
struct sorted_batch {
  using number = std::make_unsigned_t<I>;

  I const* row;
  std::size_t n;

  sorted_batch(I const* row, I const* col, V const* val, std::size_t n, I rows, I cols,
               bool by_column, cpu const& where)
      : row(row), n(n), col_(col), val_(val) {
    bool sorted = true;
    for (std::size_t k = 1; sorted && k < n; ++k)
      sorted =
          row[k - 1] < row[k] || (row[k - 1] == row[k] && (!by_column || col[k - 1] <= col[k]));
    if (sorted)
      return;
    own_row_ = array<I>(n, where.memory);
    by_column ? sort_by_column(row, rows, cols, where) : sort_by_row(row, rows, where);
    this->row = own_row_.data();
  }

  I col(std::size_t k) const { return col_[from(k)]; }
  V val(std::size_t k) const { return val_[from(k)]; }
  /// Columns of entries that are sorted by them.
  I const* cols() const { return col_; }
  void ask_for(std::size_t k) const {
    if (number_.empty())
      return;
    __builtin_prefetch(col_ + number_[k]);
    __builtin_prefetch(val_ + number_[k]);
  }

private:
  std::size_t from(std::size_t k) const { return number_.empty() ? k : number_[k]; }

  void sort_by_row(I const* unsorted, I rows, cpu const& where) {
    number_ = array<number>(narrow<number>(n, "number of entries in a batch"), where.memory);
    for (std::size_t k = 0; k < n; ++k)
      number_[k] = static_cast<number>(k);
    int const bits = static_cast<int>(std::bit_width(static_cast<number>(rows - 1)));
    // Rows without columns: the key of an entry is row | row.
    primitive::detail::radix_buckets<number, number> buckets(unsorted, unsorted, number_.data(), n,
                                                             bits, 0, where);
    buckets.sort([r = own_row_.data(), to = number_.data()](auto const& piece) {
      for (std::size_t k = 0; k < piece.count; ++k) {
        r[piece.first + k] = static_cast<I>(piece.entries[k].key);
        to[piece.first + k] = piece.entries[k].val;
      }
    });
  }

  void sort_by_column(I const* unsorted, I rows, I cols, cpu const& where) {
    own_col_ = array<I>(n, where.memory);
    own_val_ = array<V>(n, where.memory);
    primitive::radix_sort(
        unsorted, col_, val_, n, rows, cols,
        [r = own_row_.data(), c = own_col_.data(), v = own_val_.data()](std::size_t at, I i, I j,
                                                                        V const& value) {
          r[at] = i;
          c[at] = j;
          v[at] = value;
        },
        where);
    col_ = own_col_.data();
    val_ = own_val_.data();
  }

  I const* col_;
  V const* val_;
  array<I> own_row_, own_col_;
  array<V> own_val_;
  array<number> number_; // of each sorted entry in the batch; empty: as they are
};

/// The segments that a row has, to be read and written as one list of entries.
template <class V, class I>
struct row_places {
  dynamic_page<V, I> at[most_segments];
  std::size_t room[most_segments];
  int segments = 0;

  row_places(dynamic_rows<V, I> const& a, std::size_t i) {
    for (; segments < most_segments && !a.segment[segments].empty(); ++segments) {
      I const begin = a.segment[segments][i];
      I const end = a.segment[segments][a.pitch + i];
      if (begin == end)
        break;
      at[segments] = a.at(static_cast<std::size_t>(begin));
      room[segments] = static_cast<std::size_t>(end - begin);
    }
  }
};

/// A position in the list of a row's entries.
template <class V, class I>
struct row_cursor {
  row_places<V, I> const& row;
  int segment = 0;
  std::size_t offset = 0;

  void skip(std::size_t n) {
    for (; segment < row.segments && n >= row.room[segment]; ++segment)
      n -= row.room[segment];
    offset = n;
  }
  void put(I c, V v) {
    row.at[segment].col[offset] = c;
    row.at[segment].val[offset] = v;
    step();
  }
  void step() {
    if (++offset == row.room[segment]) {
      ++segment;
      offset = 0;
    }
  }
};

} // namespace tulle::dynamic

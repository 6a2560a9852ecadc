// SPDX-License-Identifier: Apache-2.0

// What a change goes through: the entries of a batch in the order of rows, and the entries of a
// row as one list.
#pragma once
#include "tulle/op/detail/radix_sort.hpp"

#include "dynamic/rows.hpp"

#include <algorithm>
#include <limits>

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

/// What a row has.
struct row_room {
  std::size_t length = 0;
  std::size_t places = 0;
  int segments = 0;
  int in_use = 0; // segments with entries; erasing leaves others behind them
};
template <class V, class I>
row_room room_of(dynamic_rows<V, I> const& a, std::size_t i) {
  row_room r;
  r.length = static_cast<std::size_t>(a.length[i] < 0 ? ~a.length[i] : a.length[i]);
  for (; r.segments < most_segments && !a.segment[r.segments].empty(); ++r.segments) {
    I const here = static_cast<I>(a.segment[r.segments][a.pitch + i] - a.segment[r.segments][i]);
    if (here == 0)
      break;
    r.in_use += r.places < r.length;
    r.places += static_cast<std::size_t>(here);
  }
  return r;
}

/// Places of the segment that a row of `segments` gets when it is to have `length` entries, of
/// which `there` stay where they are; ~places: all of it moves there.
template <class V, class I>
I new_segment(dynamic_rows<V, I> const& a, dynamic_options const& o, int segments,
              std::size_t length, std::size_t there) {
  bool const moves = segments == o.segments || (segments > 0 && length < o.move_below);
  // A row that moves has shown that it grows: half as much again, or it would move often.
  std::size_t const slack =
      std::max(slack_of(o.slack, length, a.entries, static_cast<std::size_t>(a.rows)),
               moves ? length / 2 : 0);
  std::size_t const size =
      std::min(static_cast<std::size_t>(std::numeric_limits<I>::max()), // refused by growth
               (moves ? length : length - there) + slack);
  return moves ? static_cast<I>(~static_cast<I>(size)) : static_cast<I>(size);
}

template <class V, class I>
void give_segment(dynamic_rows<V, I>& a, std::size_t i, int segment, std::size_t place,
                  std::size_t size) {
  a.segment[segment][i] = static_cast<I>(place);
  a.segment[segment][a.pitch + i] = static_cast<I>(place + size);
}

/// Takes all places from a row but those of its first `kept` entries; how many it has left.
template <class V, class I>
std::size_t cut_row(dynamic_rows<V, I>& a, std::size_t i, std::size_t kept) {
  std::size_t left = 0;
  for (int s = 0; s < most_segments && !a.segment[s].empty(); ++s) {
    auto const begin = static_cast<std::size_t>(a.segment[s][i]);
    std::size_t const room = static_cast<std::size_t>(a.segment[s][a.pitch + i]) - begin;
    std::size_t const stays = std::min(kept, room);
    give_segment(a, i, s, stays ? begin : 0, stays);
    left += room - stays;
    kept -= stays;
  }
  return left;
}

/// How long a row is now, marked where it goes beyond its first segment.
template <class V, class I>
void set_length(dynamic_rows<V, I>& a, std::size_t i, std::size_t length) {
  bool const fits = length <= static_cast<std::size_t>(a.segment[0][a.pitch + i] - a.segment[0][i]);
  a.length[i] = fits ? static_cast<I>(length) : static_cast<I>(~static_cast<I>(length));
}

/// The segments that a row has, to be read and written as one list of entries.
template <class V, class I>
struct row_places {
  dynamic_page<V, I> at[most_segments];
  std::size_t room[most_segments] = {};
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

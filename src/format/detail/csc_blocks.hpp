// SPDX-License-Identifier: Apache-2.0

/// Values of csr to csc where rows and columns come in groups of one pattern.
#pragma once
#include "tulle/format/csr.hpp"

#include "format/detail/alike.hpp"
#include "format/detail/check_pointers.hpp"
#include "format/detail/copy.hpp"

namespace tulle::detail {

/// Blocks of alike columns by alike rows. Columns are gathered out of rows: what is written lies
/// together and can go past the caches, and of a block only the first row is compared and has a
/// place that is kept. What the comparison finds is noted, so that the copy knows where to read.
///
/// ms to refill fem 60000, two threads of Zen 4, the product taking 2.0: compared 2.8 and
/// copied 3.6; entries scattered one by one 9.1. Other ways to copy: places kept once more instead
/// of notes 5.3, notes of the place alone 4.6. In trials that took longer: not past the caches 6.6
/// for 4.5; without prefetching the next line of a row, copied 6.2 for 4.3 and compared 4.0
/// for 2.9.
template <class V, class I, class O>
class csc_blocks {
public:
  csc_blocks(std::size_t rows, std::size_t cols, O const* col_ptr, I const* row, cpu const& where)
      : rows_(rows), col_ptr_(col_ptr), row_(row),
        entries_(static_cast<std::size_t>(col_ptr[cols])),
        parts_(parts_for(entries_, where.threads, rows / 2 + (1 << 15))),
        column_(static_cast<std::size_t>(parts_) + 1, where.memory),
        first_(static_cast<std::size_t>(parts_) + 1, where.memory), width_(cols, where.memory),
        height_(rows, where.memory),
        next_(checked_mul(rows, static_cast<std::size_t>(parts_), "refill"), where.memory) {
    for (int part = 0; part <= parts_; ++part)
      column_[static_cast<std::size_t>(part)] = split_by_entries(col_ptr, cols, part, parts_);
    each_part([&](std::size_t part, std::size_t j, std::size_t end) {
      std::size_t blocks = 0; // at most
      for (; j < end; j += width_[j]) {
        width_[j] = static_cast<std::uint8_t>(alike_from(col_ptr_, row_, j, end));
        blocks += static_cast<std::size_t>(col_ptr_[j + 1] - col_ptr_[j]);
      }
      first_[part + 1] = blocks;
    });
    first_[0] = 0;
    for (std::size_t part = 0; part + 1 < first_.size(); ++part)
      first_[part + 1] += first_[part];
    block_ = array<block>(first_.back(), where.memory);
  }

  /// Whether c has this pattern.
  bool are(csr_view<V, I, O> const& c) {
    parallel(parts_, [&](int part) {
      std::size_t const end = split_by_entries(c.row_ptr, rows_, part + 1, parts_);
      for (std::size_t i = split_by_entries(c.row_ptr, rows_, part, parts_); i < end;) {
        int const n = alike_from(c.row_ptr, c.col, i, end);
        height_[i] = static_cast<std::uint8_t>(n);
        std::fill_n(height_.data() + i + 1, n - 1, std::uint8_t(0));
        for (std::size_t p = 0; p + 1 < column_.size(); ++p)
          next_[p * rows_ + i] =
              first_from(c.col, c.row_ptr[i], c.row_ptr[i + 1], static_cast<I>(column_[p]));
        i += static_cast<std::size_t>(n);
      }
    });
    bool good = true;
    each_part([&](std::size_t part, std::size_t j, std::size_t end) {
      if (!follow(c, part, j, end))
        __atomic_store_n(&good, false, __ATOMIC_RELAXED);
    });
    return good;
  }

  /// The values of c, the last that are() was asked about and said yes.
  void fill(csr_view<V, I, O> const& c, V* val) const {
    bool const past = entries_ * sizeof(V) >= past_caches_from;
    each_part([&](std::size_t part, std::size_t j, std::size_t end) {
      constexpr std::size_t room = 8192 / sizeof(V); // stays in the first cache
      alignas(64) V some[room];
      std::size_t have = 0;
      V* to = val + col_ptr_[j];
      auto const flush = [&] {
        copy_past_caches(some, have, to);
        to += have;
        have = 0;
      };
      block const* from = block_.data() + first_[part];
      for (; j < end; j += width_[j]) {
        auto const length = static_cast<std::size_t>(col_ptr_[j + 1] - col_ptr_[j]);
        std::size_t const values = length * width_[j];
        if (have + values > room)
          flush();
        bool const direct = !past || values > room;
        V* const out = direct ? to : some + have;
        with_width(j, [&](auto width) { from = copy(from, c.val, width, length, out); });
        if (direct)
          to += values;
        else
          have += values;
      }
      flush();
      after_stores();
    });
  }

private:
  struct block {
    O at;   // in csr
    O step; // from one of its rows to the next
    O rows;
  };

  /// f(part, its first column, the next one's), in parallel.
  template <class F>
  void each_part(F&& f) const {
    parallel(parts_, [&](int part) {
      auto const p = static_cast<std::size_t>(part);
      f(p, column_[p], column_[p + 1]);
    });
  }

  /// f(width of the group that begins with column j), the usual one known to the compiler.
  template <class F>
  void with_width(std::size_t j, F&& f) const {
    if (width_[j] == 3)
      f(std::integral_constant<int, 3>());
    else
      f(static_cast<int>(width_[j]));
  }

  /// Notes the blocks of a part's columns; false where c has others. An entry of c has one column
  /// and so one part that may come to it: if all parts come to entries of the right rows and
  /// columns, as many as there are, they come to each once.
  bool follow(csr_view<V, I, O> const& c, std::size_t part, std::size_t j, std::size_t end) {
    O* const next = next_.data() + part * rows_;
    block* to = block_.data() + first_[part];
    bool good = true;
    for (; j < end && good; j += width_[j]) {
      std::size_t const after = j + width_[j]; // the column after those that are skipped
      if (after < end)
        ask_for(row_ + col_ptr_[after],
                static_cast<std::size_t>(col_ptr_[after + 1] - col_ptr_[after]));
      with_width(j, [&](auto width) {
        to = note(c, j, width, next, to);
        good = to != nullptr;
      });
    }
    for (std::size_t i = 0; i < rows_ && good; i += height_[i]) // none went on in the next row
      good = next[i] <= c.row_ptr[i + 1];
    return good;
  }

  /// The blocks of `width` columns from j on; nullptr where c has others.
  template <class Width>
  block* note(csr_view<V, I, O> const& c, std::size_t j, Width width, O* next, block* to) const {
    I const* r = row_ + col_ptr_[j];
    I const* const end = row_ + col_ptr_[j + 1];
    std::uint8_t const* const height = height_.data();
    I const* const col = c.col;
    I other = 0; // no branch per entry
    while (r < end) {
      I const i = *r++;
      int const n = height[i];
      O const at = next[i];
      if (n == 0 || n - 1 > end - r ||
          static_cast<std::size_t>(at) + static_cast<std::size_t>(width) > entries_)
        return nullptr;
      next[i] = static_cast<O>(at + width);
      __builtin_prefetch(col + at + 64 / sizeof(I));
      *to++ = {at, static_cast<O>(c.row_ptr[i + 1] - c.row_ptr[i]), static_cast<O>(n)};
      for (int k = 0; k < width; ++k)
        other = static_cast<I>(other | (col[at + k] ^ static_cast<I>(static_cast<I>(j) + k)));
      for (int k = 1; k < n; ++k)
        other = static_cast<I>(other | (*r++ ^ static_cast<I>(i + k)));
    }
    return other == 0 ? to : nullptr;
  }

  /// A group of `width` columns of that length; returns where the blocks of the next one begin.
  template <class Width>
  static block const* copy(block const* b, V const* val, Width width, std::size_t length, V* to) {
    for (V const* const end = to + length; to < end; ++b) {
      V const* from = val + b->at;
      for (O n = b->rows; n > 0; --n, ++to, from += b->step) {
        __builtin_prefetch(from + 64 / sizeof(V));
        for (int k = 0; k < width; ++k)
          to[static_cast<std::size_t>(k) * length] = from[k];
      }
    }
    return b;
  }

  std::size_t rows_;
  O const* col_ptr_;
  I const* row_;
  std::size_t entries_;
  int parts_;
  array<std::size_t> column_;  // parts + 1: the first of each
  array<std::size_t> first_;   // parts + 1: the first block of each
  array<std::uint8_t> width_;  // columns of the group that begins with each
  array<std::uint8_t> height_; // rows of the group that begins with each, or 0
  array<O> next_;              // for each part: the next entry of rows that begin a group
  array<block> block_;
};

} // namespace tulle::detail

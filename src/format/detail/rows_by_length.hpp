// SPDX-License-Identifier: Apache-2.0

/// Rows of a csr sorted by length, the longest first: what jds, jds_csr, jds_ell and brc are built
/// of.
#pragma once
#include "tulle/format/detail/jds_base.hpp"

#include "format/detail/counting_sort.hpp"
#include "format/detail/lanes.hpp"
#include "format/detail/row_lengths.hpp"

#include <algorithm>

namespace tulle::detail {

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
  /// The length of the row at a place, which is not one of those kept apart.
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

template <class V, class I, class O>
jds_base<V, I, O>::jds_base(rows_by_length<V, I, O>& order, std::size_t stored, cpu const& where)
    : rows(order.a.rows), cols(order.a.cols), nnz(order.a.nnz), longs(static_cast<I>(order.longs)),
      perm(std::move(order.perm)), col(stored, where.memory), val(stored, where.memory),
      coo_row(order.rest, where.memory), coo_col(order.rest, where.memory),
      coo_val(order.rest, where.memory) {}

} // namespace tulle::detail

// SPDX-License-Identifier: Apache-2.0

// Which loop suits a block of CSR rows.
//
//   equal     nearly all rows have one length
//   products  lengths vary: products first, then sums
//   long      each row by vectors of four
//   wide      rows of many entries, by whole vectors
//   plain     each row by a plain loop: few entries, and all complex numbers
//
// The choice is made from row_ptr of the block and from a look at the matrix, so cheaply that a
// call without a plan makes it on its way. A plan keeps it, and looks at all columns: see
// `relation`.
#pragma once
#include "cpu/spmv/equal_rows.hpp"
#include "cpu/spmv/products_first.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

enum class block_kind : std::uint8_t { equal, products, long_rows, wide, plain };
constexpr int block_kinds = 5;

struct block_choice {
  block_kind kind;
  relation how;
};

// Cycles of Zen 4 of a misprediction; what counts is how it compares with the costs below, which
// were fitted to 30 real matrices.
constexpr int mispredicted = 16;
// The same in a matrix of so few rows that the processor learns their lengths by heart.
constexpr int learned = 2;
constexpr std::int64_t few_rows = 20000;

// Entries per row. In long rows products that wait for x keep the sums after them waiting: with
// debian-terms, 42 on average, products first took 1.4 times as long.
constexpr int products_up_to = 32;
// Four entries of each of the rows at 32 places are compared with those of the row after it. Where
// half of them or more are so many columns apart, x is not in the second cache and a plain loop
// keeps more misses in flight: random rows of 10 over 10^6 columns take 1.2 times as long with
// products first. Looking at each block instead took calls without a plan 1.3 times as long.
constexpr int far_places = 32, far_entries_seen = 4;
constexpr std::int64_t far_apart = 1 << 16;
constexpr int longest_equal = 14;                    // of more entries long_rows() is as fast
constexpr int wide_from = prefers_gather ? 16 : 256; // 48: 1.1 times as long for float

constexpr int log2_of(std::size_t n) {
  return n == 1 ? 0 : 1 + log2_of(n / 2);
}

/// What loops would make of the lengths of a block's rows.
struct length_counts {
  int changed = 0;      // rows unlike the one before
  int stepped = 0;      // rows of another number of vectors than the one before
  int other = 0;        // rows unlike the middle one
  int steps = 0;        // vectors that sum_products() loads
  int step_changes = 0; // fours of another number of them than the ones before
};

template <class V, class O>
HWY_INLINE length_counts count_lengths(O const* ptr, int rows) {
  hn::CappedTag<std::int32_t, 8> const d;
  constexpr int lanes = hn::MaxLanes(d);
  constexpr int in_row = log2_of(hn::MaxLanes(long_tag<V>()));
  constexpr int in_sum = log2_of(hn::MaxLanes(sum_tag<V>()));
  HWY_ALIGN std::int32_t room[8 + block_rows + 8];
  std::int32_t* const length = room + 8;
  for (int i = 0; i < rows; ++i)
    length[i] = static_cast<std::int32_t>(ptr[i + 1] - ptr[i]);
  length[-1] = static_cast<std::int32_t>(ptr[1] - ptr[0]);
  for (int i = rows; i < rows + 8; ++i)
    length[i] = static_cast<std::int32_t>(ptr[rows] - ptr[rows - 1]);
  auto const middle = hn::Set(d, static_cast<std::int32_t>(ptr[rows / 2 + 1] - ptr[rows / 2]));
  auto const zero = hn::Zero(d);
  auto changed = zero, stepped = zero, other = zero, steps = zero, step_changes = zero, last = zero;
  auto const unlike = [&](auto a, auto b) HWY_ATTR { return hn::VecFromMask(d, hn::Ne(a, b)); };
  auto const one = hn::Set(d, 1);
  auto const whole = [&](auto n)
                         HWY_ATTR { return hn::ShiftRight<in_row>(hn::Sub(hn::Max(n, one), one)); };
  for (int i = 0; i < rows; i += lanes) {
    auto const here = hn::Load(d, length + i), before = hn::LoadU(d, length + i - 1);
    changed = hn::Sub(changed, unlike(here, before));
    stepped = hn::Sub(stepped, unlike(whole(here), whole(before)));
    other = hn::Sub(other, unlike(here, middle));
    auto most = hn::Max(here, hn::Shuffle2301(here));
    most = hn::Max(most, hn::Shuffle1032(most));
    most = hn::ShiftRight<in_sum>(hn::Add(most, hn::Set(d, (1 << in_sum) - 1)));
    steps = hn::Add(steps, most); // once for each of the four rows
    step_changes = hn::Sub(step_changes, unlike(most, last));
    last = most;
  }
  auto const total = [&](auto v) HWY_ATTR { return hn::GetLane(hn::SumOfLanes(d, v)); };
  return {total(changed), total(stepped), total(other), total(steps), total(step_changes) / 4};
}

/// Whether rows next to each other have columns far apart.
template <class I, class O>
HWY_INLINE bool is_far(O const* ptr, I const* col, std::int64_t rows) {
  if (rows <= few_rows)
    return false;
  int apart = 0, seen = 0;
  for (int place = 0; place < far_places; ++place) {
    std::int64_t const i = (rows - 2) * place / (far_places - 1);
    std::int64_t const k = ptr[i], l = ptr[i + 1], end = ptr[i + 2];
    for (int e = 0; e < far_entries_seen && k + e < l && l + e < end; ++e, ++seen) {
      std::int64_t const d = static_cast<std::int64_t>(col[k + e]) - col[l + e];
      apart += (d < 0 ? -d : d) > far_apart;
    }
  }
  return seen > 0 && 2 * apart >= seen;
}

/// all_rows: of the matrix; far: is_far() of it.
template <class V, class O>
HWY_INLINE block_kind kind_of(O const* ptr, int rows, std::int64_t all_rows, bool far) {
  if constexpr (is_pair<V>)
    return block_kind::plain;
  int const entries = static_cast<int>(ptr[rows] - ptr[0]);
  if (entries >= wide_from * rows)
    return block_kind::wide;
  length_counts const c = count_lengths<V>(ptr, rows);
  int const guess = all_rows <= few_rows ? learned : mispredicted;
  int const by_plain = entries * 7 / 4 + rows / 2 + guess * c.changed;
  if constexpr (!has_quads<V>) {
    return entries + 8 * rows < by_plain ? block_kind::wide : block_kind::plain;
  } else {
    int const by_equal = ptr[rows / 2 + 1] - ptr[rows / 2] <= longest_equal
                             ? entries * 9 / 8 + rows + (guess + mispredicted) * c.other
                             : INT32_MAX;
    int const by_products = entries + 3 * rows + c.steps + guess * c.step_changes;
    int const by_long = // at least one vector per row
        (entries > 4 * rows ? entries : 4 * rows) * 7 / 8 + rows * 9 / 2 + guess * c.stepped;
    if (by_equal <= by_plain && by_equal <= by_long && by_equal <= by_products)
      return block_kind::equal;
    if (by_products < by_plain && by_products < by_long && entries <= products_up_to * rows)
      return far ? block_kind::plain : block_kind::products;
    return by_long < by_plain ? block_kind::long_rows : block_kind::plain;
  }
}

template <class V, class I, class O>
HWY_NOINLINE void run_equal(row_block<V, I, O> const& b, bool streaming) {
  switch (b.length(b.rows / 2)) {
  case 0:
    return plain_rows(b);
#define TULLE_EQUAL(n)                                                                             \
  case n:                                                                                          \
    return equal_rows<n>(b, streaming);
    TULLE_EQUAL(1)
    TULLE_EQUAL(2)
    TULLE_EQUAL(3)
    TULLE_EQUAL(4)
    TULLE_EQUAL(5)
    TULLE_EQUAL(6)
    TULLE_EQUAL(7)
    TULLE_EQUAL(8)
    TULLE_EQUAL(9)
    TULLE_EQUAL(10)
    TULLE_EQUAL(11)
    TULLE_EQUAL(12)
    TULLE_EQUAL(13)
    TULLE_EQUAL(14)
#undef TULLE_EQUAL
  }
}
static_assert(longest_equal == 14);

template <bool streaming, class V, class I, class O>
HWY_INLINE void run_block(block_kind kind, row_block<V, I, O> const& b) {
  if constexpr (!is_pair<V>) {
    if constexpr (has_quads<V>) {
      if (kind == block_kind::equal)
        return run_equal(b, streaming);
      if (kind == block_kind::products)
        return products_first<streaming>(b);
      if (kind == block_kind::long_rows)
        return b.how == relation::same   ? same_rows<streaming, false>(long_tag<V>(), b)
               : b.how == relation::next ? shifted_rows<streaming>(b)
                                         : long_rows<streaming>(b);
    }
    if (kind == block_kind::wide)
      return b.how == relation::same ? same_rows<streaming, true>(wide_tag<V>(), b)
                                     : wide_rows<streaming>(b);
  }
  plain_rows(b);
}

} // namespace
} // namespace tulle::kernels::TULLE_ISA

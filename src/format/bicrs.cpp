// SPDX-License-Identifier: Apache-2.0
#include "tulle/format/bicrs.hpp"

#include "tulle/core/limited.hpp"

#include "format/detail/bicrs_parts.hpp"
#include "format/detail/refill.hpp"
#include "format/instantiate.hpp"

#include <algorithm>

namespace tulle {

namespace detail {

/// Rows, columns and values of a part whose runs are known, to b from its pointers on; or, where
/// `compare`, whether rows and columns are there already.
template <bool compare, class V, class I, class O>
bool encode_bicrs(csr_view<V, I, O> const& a, std::span<bicrs_run<I, O> const> runs, I* row, I* col,
                  V* val) {
  using U = std::make_unsigned_t<I>;
  bool same = true;
  I i = 0;
  U j = 0;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    bicrs_run<I, O> const& run = runs[r];
    if (r == 0 || run.row != i) {
      put_or_compare<compare>(row++, run.row - i, same);
      i = run.row;
      j = static_cast<U>(j - (r == 0 ? U(0) : static_cast<U>(a.cols)));
    }
    for (I e = 0; e < run.count; ++e) {
      U const to = static_cast<U>(a.col[run.begin + static_cast<O>(e)]);
      put_or_compare<compare>(col++, static_cast<I>(static_cast<U>(to - j)), same);
      j = to;
    }
    if constexpr (!compare)
      val = std::copy_n(a.val + run.begin, run.count, val);
  }
  return same;
}

} // namespace detail

template <class V, class I, class O, space S>
bicrs_view<V, I, O, S>::bicrs_view(I rows, I cols, int block,
                                   bicrs_arrays<V, I, O> const& a) requires(S == space::host)
    : bicrs_view(unchecked, rows, cols, block, a) {
  auto const sized = [](char const* name, std::size_t is, std::size_t expected) {
    if (is != expected)
      fail(errc::bad_structure, "bicrs: %s has %zu elements, expected %zu", name, is, expected);
  };
  sized("part_ptr", a.part_ptr.size(), a.part_row.size());
  sized("part_jump", a.part_jump.size(), a.part_row.size());
  sized("col", a.col.size(), a.val.size());
  narrow<O>(a.val.size(), "number of entries");
  narrow<O>(a.row.size(), "number of rows that entries name");
  validate();
}

template <class V, class I, class O, space S>
void bicrs_view<V, I, O, S>::validate() const {
  detail::check_bicrs_parts("bicrs", *this);
  if (block < 0 || block > bicrs_options::most_block || (block & (block - 1)) != 0)
    fail(errc::bad_structure, "bicrs: blocks of %d, expected a power of two or 0", block);
  detail::check_pointers("bicrs: part_ptr", part_ptr, parts, nnz);
  detail::check_pointers("bicrs: part_jump", part_jump, parts, jumps);
  int const bits = detail::hilbert_bits("bicrs", part_row, parts, cols, block);
  using U = std::make_unsigned_t<I>;
  detail::each_bicrs_part(*this, {}, [&](std::size_t p) {
    I const height = static_cast<I>(part_row[p + 1] - part_row[p]);
    O jump = part_jump[p];
    U j = 0;
    I i = 0;
    std::uint64_t before = 0; // place
    for (O k = part_ptr[p]; k < part_ptr[p + 1]; ++k) {
      bool const first = k == part_ptr[p];
      U const was = j;
      I const from = i;
      j = static_cast<U>(j + static_cast<U>(col[k]));
      bool const jumps_here = first || j >= static_cast<U>(cols);
      if (jumps_here && !first)
        j = static_cast<U>(j - static_cast<U>(cols));
      if (j >= static_cast<U>(cols))
        fail(errc::bad_structure, "bicrs: col[%lld] leads outside of %lld columns",
             static_cast<long long>(k), static_cast<long long>(cols));
      if (jumps_here) {
        if (jump == part_jump[p + 1])
          fail(errc::bad_structure, "bicrs: part %zu has %lld rows, col[%lld] wants one more", p,
               static_cast<long long>(jump - part_jump[p]), static_cast<long long>(k));
        I const to = row[jump++];
        if (to < -i || to >= height - i || (to == 0 && !first))
          fail(errc::bad_structure, "bicrs: row[%lld] is %lld at row %lld of a part of %lld",
               static_cast<long long>(jump - 1), static_cast<long long>(to),
               static_cast<long long>(i), static_cast<long long>(height));
        i = static_cast<I>(i + to);
      }
      std::uint64_t const place =
          block == 0 ? 0
                     : detail::hilbert(static_cast<std::uint64_t>(i) / std::uint64_t(block),
                                       static_cast<std::uint64_t>(j) / std::uint64_t(block), bits);
      if (!first && (place < before || (place == before && (i < from || (i == from && j <= was)))))
        fail(errc::bad_structure, "bicrs: entry %lld, row %lld and column %lld, comes too late",
             static_cast<long long>(k), static_cast<long long>(part_row[p] + i),
             static_cast<long long>(j));
      before = place;
    }
    if (jump != part_jump[p + 1])
      fail(errc::bad_structure, "bicrs: part %zu has %lld rows that no entry is in", p,
           static_cast<long long>(part_jump[p + 1] - jump));
  });
}

template <class V, class I, class O, space S>
csr<V, I, O> bicrs_view<V, I, O, S>::to_csr(cpu const& policy) const {
  detail::limited const space("bicrs", policy);
  cpu const& where = space.counted();
  return detail::bicrs_to_csr(*this, where);
}

template <class V, class I, class O>
bicrs<V, I, O> bicrs<V, I, O>::from_csr(csr_view<V, I, O> a, bicrs_options o, cpu const& policy) {
  detail::limited const space("bicrs", policy);
  cpu const& where = space.counted();
  detail::check_bicrs_options("bicrs", o.block, 0, bicrs_options::most_block, o.part);
  detail::canonical<V, I, O> const c(a, where);
  bicrs b;
  b.rows = a.rows;
  b.cols = a.cols;
  b.block = o.block;
  b.part_row = detail::greedy_parts(c.view, o.part, where);
  std::size_t const parts = b.part_row.size() - 1;
  auto const entries = static_cast<std::size_t>(c.view.nnz);
  b.part_ptr = array<O>(parts + 1, where.memory);
  b.part_jump = array<O>(parts + 1, where.memory);
  b.part_ptr[0] = b.part_jump[0] = 0;
  detail::bicrs_runs<V, I, O> runs("bicrs", c.view, o.block, b.part_row.data(), parts, where);
  runs.each_part([&](std::size_t p, auto const& of_part) {
    O jumps = 0;
    for (std::size_t r = 0; r < of_part.size(); ++r)
      jumps = static_cast<O>(jumps + (r == 0 || of_part[r].row != of_part[r - 1].row));
    b.part_jump[p + 1] = jumps;
  });
  for (std::size_t p = 0; p < parts; ++p) {
    b.part_ptr[p + 1] = c.view.row_ptr[b.part_row[p + 1]];
    b.part_jump[p + 1] = static_cast<O>(b.part_jump[p + 1] + b.part_jump[p]); // at most nnz
  }
  b.row = array<I>(static_cast<std::size_t>(b.part_jump[parts]), where.memory);
  b.col = array<I>(entries, where.memory);
  b.val = array<V>(entries, where.memory);
  runs.each_part([&](std::size_t p, auto const& of_part) {
    detail::encode_bicrs<false>(c.view, of_part, b.row.data() + b.part_jump[p],
                                b.col.data() + b.part_ptr[p], b.val.data() + b.part_ptr[p]);
  });
  return b;
}

template <class V, class I, class O>
void bicrs<V, I, O>::refill(csr_view<V, I, O> a, cpu const& policy) {
  detail::limited const space("bicrs", policy);
  cpu const& where = space.counted();
  detail::check_arrays("bicrs", *this);
  auto const parts = view().parts;
  auto const runs_of = [&](csr_view<V, I, O> const& c) {
    return detail::bicrs_runs<V, I, O>("bicrs", c, block, part_row.data(), parts, where);
  };
  detail::refill_if(
      "bicrs", rows, cols, view().nnz, a, where,
      [&](csr_view<V, I, O> const& c) {
        bool good = true;
        for (std::size_t p = 0; p < parts; ++p)
          good = good && c.row_ptr[part_row[p]] == part_ptr[p];
        if (good)
          runs_of(c).each_part([&](std::size_t p, auto const& runs) {
            std::size_t jumps = 0;
            for (std::size_t r = 0; r < runs.size(); ++r)
              jumps += r == 0 || runs[r].row != runs[r - 1].row;
            if (jumps != static_cast<std::size_t>(part_jump[p + 1] - part_jump[p]) ||
                !detail::encode_bicrs<true>(c, runs, row.data() + part_jump[p],
                                            col.data() + part_ptr[p], static_cast<V*>(nullptr)))
              __atomic_store_n(&good, false, __ATOMIC_RELAXED);
          });
        return good;
      },
      [&](csr_view<V, I, O> const& c) {
        runs_of(c).each_part([&](std::size_t p, auto const& runs) {
          V* to = val.data() + part_ptr[p];
          for (auto const& run : runs)
            to = std::copy_n(c.val + run.begin, run.count, to);
        });
      });
}

} // namespace tulle

TULLE_INSTANTIATE_FORMAT(bicrs, every)

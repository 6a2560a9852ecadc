// SPDX-License-Identifier: Apache-2.0
#include "tulle/format/csr_adaptive.hpp"

#include "tulle/core/limited.hpp"

#include "format/detail/check_pointers.hpp"
#include "format/detail/refill.hpp"
#include "format/detail/row_blocks.hpp"
#include "format/detail/row_lengths.hpp"
#include "format/instantiate.hpp"

#include <algorithm>

namespace tulle {

template <class V, class I, class O, space S>
csr_adaptive_view<V, I, O, S>::csr_adaptive_view(csr_view<V, I, O> const& a, int entries,
                                                 std::span<I const> row_block) requires(S ==
                                                                                        space::host)
    : csr_adaptive_view(unchecked, a, entries, I(0),
                        row_block.empty() ? nullptr : row_block.data()) {
  if (!row_block.empty())
    blocks = narrow<I>(row_block.size() - 1, "number of blocks");
  validate();
}

template <class V, class I, class O, space S>
void csr_adaptive_view<V, I, O, S>::validate() const {
  as_csr().validate();
  if (entries < 1 || entries > detail::most_block_entries)
    fail(errc::bad_structure, "csr_adaptive: blocks of %d entries, expected 1 to %d", entries,
         detail::most_block_entries);
  if (blocks < 0)
    fail(errc::bad_structure, "csr_adaptive: %lld blocks; that may not be negative",
         static_cast<long long>(blocks));
  auto const n = static_cast<std::size_t>(blocks);
  detail::check_pointers("csr_adaptive: row_block", row_block, n, rows);
  for (std::size_t b = 0; b < n;) {
    I const i = row_block[b];
    std::size_t again = 0; // how often row i is named
    while (b < n && row_block[b] == i) {
      ++again;
      ++b;
    }
    I const end = row_block[b];
    if (i == end)
      fail(errc::bad_structure, "csr_adaptive: row_block[%zu] is %lld, but there are no more rows",
           b - 1, static_cast<long long>(i));
    O const length = row_ptr[end] - row_ptr[i];
    if (end == i + 1) {
      if (auto const wanted = detail::blocks_of_row(length, entries);
          std::cmp_not_equal(again, wanted))
        fail(errc::bad_structure, "csr_adaptive: row %lld of %lld entries has %zu blocks, not %lld",
             static_cast<long long>(i), static_cast<long long>(length), again,
             static_cast<long long>(wanted));
    } else if (again != 1 || std::cmp_greater(end - i, entries) ||
               std::cmp_greater(length, entries)) {
      fail(errc::bad_structure,
           "csr_adaptive: block %zu has %lld rows of %lld entries, expected up to %d", b - 1,
           static_cast<long long>(end - i), static_cast<long long>(length), entries);
    }
  }
}

template <class V, class I, class O>
csr_adaptive<V, I, O> csr_adaptive<V, I, O>::from_csr(csr_view<V, I, O> a, csr_adaptive_options o,
                                                      cpu const& policy) {
  detail::limited const space("csr_adaptive", policy);
  cpu const& where = space.counted();
  detail::check_block_entries(o.entries);
  csr<V, I, O> c = csr<V, I, O>::from_csr(a, {}, where);
  auto const n = static_cast<std::size_t>(c.rows);
  std::size_t const stretches = (n + detail::block_stretch - 1) / detail::block_stretch;
  auto const in_stretch = [&](std::size_t s, auto&& f) {
    std::size_t const first = s * detail::block_stretch;
    detail::each_row_block(c.row_ptr.data(), first, std::min(n, first + detail::block_stretch),
                           o.entries, f);
  };
  array<O> const first = detail::pointers_of<O>(
      stretches,
      [&](std::size_t s) {
        O count = 0;
        in_stretch(s, [&](std::size_t, std::size_t k) {
          count = static_cast<O>(count + static_cast<O>(k));
        });
        return count;
      },
      where);
  csr_adaptive b;
  b.rows = c.rows;
  b.cols = c.cols;
  b.entries = o.entries;
  auto const blocks = static_cast<std::size_t>(first[stretches]);
  narrow<I>(blocks, "number of blocks");
  b.row_block = array<I>(blocks + 1, where.memory);
  int const parts = parts_for(n, where.threads);
  parallel(parts, [&](int part) {
    for (std::size_t s = split(stretches, part, parts), end = split(stretches, part + 1, parts);
         s < end; ++s) {
      I* to = b.row_block.data() + first[s];
      in_stretch(s, [&](std::size_t i, std::size_t k) {
        std::fill_n(to, k, static_cast<I>(i));
        to += k;
      });
    }
  });
  b.row_block[blocks] = c.rows;
  b.row_ptr = std::move(c.row_ptr);
  b.col = std::move(c.col);
  b.val = std::move(c.val);
  return b;
}

template <class V, class I, class O>
void csr_adaptive<V, I, O>::refill(csr_view<V, I, O> a, cpu const& policy) {
  detail::limited const space("csr_adaptive", policy);
  cpu const& where = space.counted();
  detail::check_arrays("csr_adaptive", *this);
  detail::refill_rows("csr_adaptive", rows, cols, view().nnz, a, row_ptr.data(), col.data(),
                      val.data(), where);
}

} // namespace tulle

TULLE_INSTANTIATE_FORMAT(csr_adaptive, every)

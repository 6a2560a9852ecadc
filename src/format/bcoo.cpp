// SPDX-License-Identifier: Apache-2.0
#include "tulle/format/bcoo.hpp"

#include "tulle/core/limited.hpp"

#include "format/detail/bcsr_build.hpp"
#include "format/detail/block_check.hpp"
#include "format/instantiate.hpp"

#include <algorithm>

namespace tulle {

namespace detail {

/// Where each of n block rows begins.
template <class V, class I, class O>
array<O> block_pointers(bcoo_view<V, I, O> const& a, cpu const& where) {
  std::size_t const n = a.block_rows();
  auto const blocks = static_cast<std::size_t>(a.blocks);
  array<O> ptr(n + 1, where.memory);
  int const parts = parts_for(blocks, where.threads);
  parallel(parts, [&](int part) {
    std::size_t const end = split(blocks, part + 1, parts);
    for (std::size_t k = split(blocks, part, parts); k < end; ++k)
      for (std::size_t i = k == 0 ? 0 : static_cast<std::size_t>(a.block_row[k - 1]) + 1;
           i <= static_cast<std::size_t>(a.block_row[k]); ++i)
        ptr[i] = static_cast<O>(k);
  });
  std::size_t const last = blocks == 0 ? 0 : static_cast<std::size_t>(a.block_row[blocks - 1]) + 1;
  std::fill(ptr.begin() + last, ptr.end(), a.blocks);
  return ptr;
}

} // namespace detail

template <class V, class I, class O, space S>
bcoo_view<V, I, O, S>::bcoo_view(I rows, I cols, int height, int width,
                                 std::span<I const> block_row, std::span<I const> block_col,
                                 std::span<V const> val,
                                 std::span<std::uint64_t const> pattern) requires(S == space::host)
    : rows(rows), cols(cols), height(height), width(width), block_row(block_row.data()),
      block_col(block_col.data()), val(val.data()),
      pattern(pattern.empty() ? nullptr : pattern.data()) {
  detail::check_shape("bcoo", rows, cols);
  detail::check_block_shape("bcoo", height, width);
  if (block_row.size() != block_col.size())
    fail(errc::bad_structure, "bcoo: %zu block rows, %zu block columns", block_row.size(),
         block_col.size());
  blocks = detail::check_block_sizes<O>("bcoo", block_col, val, pattern, height, width);
  check(true);
}

template <class V, class I, class O, space S>
void bcoo_view<V, I, O, S>::check(bool count) {
  detail::block_checker const good("bcoo", *this);
  auto const n = static_cast<std::size_t>(blocks);
  detail::check_indices("bcoo: block_row", block_row, n, static_cast<I>(block_rows()));
  int const parts = parts_for(slots(), 0, 1 << 18);
  auto const begin_of = [&](int part) { // where a block row begins
    std::size_t k = split(n, part, parts);
    while (k > 0 && k < n && block_row[k] == block_row[k - 1])
      ++k;
    return k;
  };
  std::size_t const entries = good.count(parts, [&](int part) {
    std::size_t mine = 0;
    std::size_t const stop = begin_of(part + 1);
    for (std::size_t k = begin_of(part), end; k < stop; k = end) {
      if (k > 0 && block_row[k] < block_row[k - 1])
        fail(errc::bad_structure, "bcoo: block_row[%zu] is %lld after %lld", k,
             static_cast<long long>(block_row[k]), static_cast<long long>(block_row[k - 1]));
      for (end = k + 1; end < n && block_row[end] == block_row[k];)
        ++end;
      mine += good.entries(static_cast<std::size_t>(block_row[k]), k, end);
    }
    return mine;
  });
  if (count)
    nnz = narrow<O>(entries, "number of entries");
  good.check_nnz(entries);
}

template <class V, class I, class O, space S>
csr<V, I, O> bcoo_view<V, I, O, S>::to_csr(cpu const& policy) const {
  detail::limited const space("bcoo", policy);
  cpu const& where = space.counted();
  array<O> const ptr = detail::block_pointers(*this, where);
  return as_bcsr(ptr.data()).to_csr(where);
}

template <class V, class I, class O>
void bcoo<V, I, O>::validate() const {
  if (O const found =
          bcoo_view<V, I, O>(rows, cols, height, width, block_row, block_col, val, pattern).nnz;
      found != nnz)
    fail(errc::bad_structure, "bcoo: the pattern has %lld entries, expected nnz, %lld",
         static_cast<long long>(found), static_cast<long long>(nnz));
}

template <class V, class I, class O>
bcoo<V, I, O> bcoo<V, I, O>::from_csr(csr_view<V, I, O> a, bcoo_options o, cpu const& policy) {
  detail::limited const space("bcoo", policy);
  cpu const& where = space.counted();
  bcsr<V, I, O> b = detail::blocks_from_csr(a, {o.rows, o.cols, o.limit, false}, where, "bcoo");
  bcoo c;
  c.rows = b.rows;
  c.cols = b.cols;
  c.nnz = b.nnz;
  c.height = b.height;
  c.width = b.width;
  c.block_row = array<I>(b.block_col.size(), where.memory);
  std::size_t const n = b.view().block_rows();
  int const parts = parts_for(c.block_row.size(), where.threads);
  if (!c.block_row.empty())
    parallel(parts, [&](int part) {
      std::size_t const end = split_by_entries(b.block_ptr.data(), n, part + 1, parts);
      for (std::size_t i = split_by_entries(b.block_ptr.data(), n, part, parts); i < end; ++i)
        std::fill(c.block_row.begin() + b.block_ptr[i], c.block_row.begin() + b.block_ptr[i + 1],
                  static_cast<I>(i));
    });
  c.block_col.swap(b.block_col);
  c.val.swap(b.val);
  c.pattern.swap(b.pattern);
  return c;
}

template <class V, class I, class O>
void bcoo<V, I, O>::refill(csr_view<V, I, O> a, cpu const& policy) {
  detail::limited const space("bcoo", policy);
  cpu const& where = space.counted();
  detail::check_arrays("bcoo", *this);
  array<O> const ptr = detail::block_pointers(view(), where);
  detail::refill_blocks("bcoo", view().as_bcsr(ptr.data()), val.data(), nnz, a, where);
}

} // namespace tulle

TULLE_INSTANTIATE_FORMAT(bcoo, every)

// SPDX-License-Identifier: Apache-2.0
#include "tulle/format/bcsr.hpp"

#include "tulle/core/limited.hpp"

#include "format/detail/bcsr_build.hpp"
#include "format/detail/block_check.hpp"
#include "format/detail/blocks.hpp"
#include "format/detail/canonical.hpp"
#include "format/detail/check_pointers.hpp"
#include "format/detail/refill.hpp"
#include "format/detail/symmetric.hpp"
#include "format/instantiate.hpp"

namespace tulle {

template <class V, class I, class O, space S>
bcsr_view<V, I, O, S>::bcsr_view(I rows, I cols, int height, int width,
                                 std::span<O const> block_ptr, std::span<I const> block_col,
                                 std::span<V const> val, std::span<std::uint64_t const> pattern,
                                 bool symmetric) requires(S == space::host)
    : rows(rows), cols(cols), height(height), width(width), symmetric(symmetric),
      block_ptr(block_ptr.data()), block_col(block_col.data()), val(val.data()),
      pattern(pattern.empty() ? nullptr : pattern.data()) {
  detail::check_shape("bcsr", rows, cols);
  detail::check_block_shape("bcsr", height, width);
  if (block_ptr.size() != block_rows() + 1 && !(rows == 0 && block_ptr.empty()))
    fail(errc::bad_structure, "bcsr: %zu pointers for %zu block rows, expected one more",
         block_ptr.size(), block_rows());
  blocks = detail::check_block_sizes<O>("bcsr", block_col, val, pattern, height, width);
  check(true);
}

template <class V, class I, class O, space S>
void bcsr_view<V, I, O, S>::check(bool count) {
  detail::block_checker const good("bcsr", *this);
  if (symmetric && (rows != cols || height != width))
    fail(errc::bad_structure, "bcsr: symmetric, but %lld x %lld in blocks of %d x %d",
         static_cast<long long>(rows), static_cast<long long>(cols), height, width);
  std::size_t const n = block_rows();
  detail::check_pointers("bcsr: block_ptr", block_ptr, n, blocks);
  int const parts = parts_for(slots(), 0, 1 << 18);
  std::size_t const entries = good.count(parts, [&](int part) {
    std::size_t mine = 0;
    if (n == 0)
      return mine;
    std::size_t const end = split_by_entries(block_ptr, n, part + 1, parts);
    for (std::size_t i = split_by_entries(block_ptr, n, part, parts); i < end; ++i)
      mine += good.entries(i, static_cast<std::size_t>(block_ptr[i]),
                           static_cast<std::size_t>(block_ptr[i + 1]));
    return mine;
  });
  if (count)
    nnz = narrow<O>(entries, "number of entries");
  good.check_nnz(entries);
}

template <class V, class I, class O, space S>
csr<V, I, O> bcsr_view<V, I, O, S>::to_csr(cpu const& policy) const {
  detail::limited const space("bcsr", policy);
  cpu const& where = space.counted();
  auto const n = static_cast<std::size_t>(rows);
  csr<V, I, O> c(unchecked, rows, cols, array<O>(n + 1, where.memory), {}, {});
  c.row_ptr[0] = 0;
  if (n == 0)
    return c;
  std::size_t const all = block_rows();
  int const parts = parts_for(slots() + n, where.threads);
  auto const each_part = [&](auto&& f) {
    parallel(parts, [&](int part) {
      std::size_t const end = split(all, part + 1, parts);
      for (std::size_t i = split(all, part, parts); i < end; ++i)
        f(i);
    });
  };
  each_part([&](std::size_t i) {
    std::size_t const top = i * static_cast<std::size_t>(height);
    std::fill(&c.row_ptr[top] + 1,
              &c.row_ptr[std::min(n, top + static_cast<std::size_t>(height))] + 1, O(0));
    detail::each_run(*this, i, [&](std::size_t row, std::size_t, std::size_t, int run) {
      c.row_ptr[row + 1] = static_cast<O>(c.row_ptr[row + 1] + run);
      return true;
    });
  });
  for (std::size_t i = 0; i < n; ++i)
    c.row_ptr[i + 1] = static_cast<O>(c.row_ptr[i + 1] + c.row_ptr[i]);
  c.col = array<I>(static_cast<std::size_t>(c.row_ptr[n]), where.memory);
  c.val = array<V>(c.col.size(), where.memory);
  each_part([&](std::size_t i) {
    std::size_t row = n; // none yet
    std::size_t k = 0;
    detail::each_run(*this, i, [&](std::size_t r, std::size_t j, std::size_t slot, int run) {
      if (r != row) {
        row = r;
        k = static_cast<std::size_t>(c.row_ptr[r]);
      }
      for (int e = 0; e < run; ++e, ++k, ++j, ++slot) {
        c.col[k] = static_cast<I>(j);
        c.val[k] = val[slot];
      }
      return true;
    });
  });
  if (!symmetric)
    return c;
  c = detail::lower_triangle(c.view(), where); // of blocks on the diagonal too
  return detail::mirrored(c.view(), where);
}

template <class V, class I, class O>
bcsr<V, I, O>::bcsr(I rows, I cols, int height, int width, array<O> block_ptr, array<I> block_col,
                    array<V> val, array<std::uint64_t> pattern, bool symmetric)
    : bcsr(unchecked, rows, cols, 0, height, width, std::move(block_ptr), std::move(block_col),
           std::move(val), std::move(pattern), symmetric) {
  nnz = checked().nnz;
}

template <class V, class I, class O>
void bcsr<V, I, O>::validate() const {
  if (O const found = checked().nnz; found != nnz)
    fail(errc::bad_structure, "bcsr: the pattern has %lld entries, expected nnz, %lld",
         static_cast<long long>(found), static_cast<long long>(nnz));
}

template <class V, class I, class O>
bcsr<V, I, O> bcsr<V, I, O>::from_csr(csr_view<V, I, O> a, bcsr_options o, cpu const& policy) {
  detail::limited const space("bcsr", policy);
  cpu const& where = space.counted();
  return detail::blocks_from_csr(a, o, where);
}

template <class V, class I, class O>
void bcsr<V, I, O>::refill(csr_view<V, I, O> a, cpu const& policy) {
  detail::limited const space("bcsr", policy);
  cpu const& where = space.counted();
  detail::check_arrays("bcsr", *this);
  if (!symmetric)
    return detail::refill_blocks("bcsr", view(), val.data(), nnz, a, where);
  detail::canonical<V, I, O> const c(a, where);
  if (c.view.rows != rows || c.view.cols != cols || c.view.nnz != nnz)
    detail::refill_mismatch("bcsr");
  detail::check_symmetric("bcsr", c.view, where, true);
  detail::stored_part const kept(c.view, true, where, height); // a matrix of its own
  detail::refill_blocks("bcsr", view(), val.data(), kept.view.nnz, kept.view, where);
}

} // namespace tulle

TULLE_INSTANTIATE_FORMAT(bcsr, every)

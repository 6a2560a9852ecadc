// SPDX-License-Identifier: Apache-2.0

// csr to bccoo: blocks as bcsr, whose pointers become bits; block rows that have blocks are counted
// by a scan.
#include "tulle/format/bccoo.hpp"

#include "cuda/convert/blocks.cuh"
#include "cuda/primitive/search.cuh"

namespace tulle::kernels::cuda {
namespace {

/// What replaces the pointers of block rows.
template <class I>
struct block_flags {
  std::span<std::uint64_t const> flag;
  std::span<I const> before, block_row;
  I filled = 0;
};

template <class I, class O>
block_flags<I> flags_of(O const* ptr, std::size_t n, std::size_t blocks, result const& to) {
  if (blocks == 0)
    return {};
  void* const stream = to.stream();
  scratch<I> const ranks(n + 1, stream); // block rows before that have blocks
  I* const rank = ranks.get();
  each(n, stream, [=] __device__(std::size_t i) { rank[i] = ptr[i] != ptr[i + 1]; });
  to_pointers(rank, n, stream);
  std::size_t const filled = last_of(rank, n, stream);
  bool const has_empty = filled != n;
  std::size_t const words = ceil_div(blocks, std::size_t{64});
  auto* const flag = to.zeros<unsigned long long>(words);
  I* const before = to.take<I>(words);
  I* const block_row = to.take<I>(has_empty ? filled : 0);
  each(n, stream, [=] __device__(std::size_t i) {
    if (ptr[i] == ptr[i + 1])
      return;
    auto const last = static_cast<std::size_t>(ptr[i + 1]) - 1;
    atomicOr(flag + last / 64, 1ull << last % 64);
    if (has_empty)
      block_row[rank[i]] = static_cast<I>(i);
  });
  each(words, stream, [=] __device__(std::size_t w) {
    std::size_t const left = blocks - w * 64;
    flag[w] = ~flag[w] & (left < 64 ? (1ull << left) - 1 : ~0ull);
    before[w] = rank[upper_bound(ptr, n + 1, static_cast<O>(w * 64)) - 1];
  });
  return {{reinterpret_cast<std::uint64_t const*>(flag), words},
          {before, words},
          {block_row, has_empty ? filled : 0},
          static_cast<I>(filled)};
}

template <class V, class I, class O>
bccoo_view<V, I, O, space::cuda> from_csr(device_csr<V, I, O> const& a, bccoo_options const& o,
                                          result const& to) {
  bcsr_options const shape =
      detail::checked_bcsr_options({o.rows, o.cols, o.limit, false}, "bccoo");
  canonical<V, I, O> const c(a, to.stream());
  block_flags<I> f;
  auto const b = blocks_of(c.view, shape, to, "bccoo",
                           [&](O const* ptr, std::size_t n, std::size_t blocks) -> O const* {
                             f = flags_of<I>(ptr, n, blocks, to);
                             return nullptr;
                           });
  return {unchecked,
          a.rows,
          a.cols,
          b.nnz,
          b.height,
          b.width,
          f.filled,
          {f.flag,
           f.before,
           f.block_row,
           {b.block_col, static_cast<std::size_t>(b.blocks)},
           {b.val, b.slots()},
           {b.pattern, b.pattern ? (b.slots() + 63) / 64 : 0}}};
}

} // namespace

TULLE_INSTANTIATE_CUDA_CONVERT(bccoo)

} // namespace tulle::kernels::cuda

// SPDX-License-Identifier: Apache-2.0

// csr to bcsr: the shape by a sample, as on the host; then a thread a block row counts its blocks
// and fills them.
#include "tulle/format/bcsr.hpp"

#include "cuda/convert/convert.cuh"
#include "cuda/convert/symmetric.cuh"

namespace tulle::simt {
namespace {

constexpr int sides = detail::longest_block_side;

/// The shape that detail::choose_block_shape takes, from counts of all shapes. Waits for them.
template <class V, class I, class O>
detail::block_shape choose_shape(device_csr<V, I, O> const& a, bcsr_options const& o,
                                 void* stream) {
  std::vector<unsigned long long> counts;
  if ((o.rows == 0 || o.cols == 0) && a.nnz != 0) {
    auto const n = static_cast<std::size_t>(a.rows);
    auto const nnz = static_cast<std::size_t>(a.nnz);
    std::size_t const places = detail::block_sample(n, nnz, 1).places;
    constexpr std::size_t each_place = detail::block_sample::rows_each;
    scratch<unsigned long long> const found(2 * sides * sides, stream);
    unsigned long long* const to = found.get();
    TULLE_CUDA(cudaMemsetAsync, to, 0, 2 * sides * sides * sizeof(*to),
               static_cast<cudaStream_t>(stream));
    each(sides * sides * places * each_place, stream, [=] __device__(std::size_t k) {
      int const shape = static_cast<int>(k / (places * each_place));
      int const height = shape / sides + 1, width = shape % sides + 1;
      detail::block_sample const sample(n, nnz, height);
      std::size_t const place = k / each_place % places;
      std::size_t const i = sample.first(place) + k % each_place;
      if (i >= sample.last(place))
        return;
      detail::block_counts mine;
      mine.add(a, height, width, i);
      atomicAdd(to + 2 * shape, static_cast<unsigned long long>(mine.blocks));
      atomicAdd(to + 2 * shape + 1, static_cast<unsigned long long>(mine.entries));
    });
    counts = fetch(to, 2 * sides * sides, stream);
  }
  return detail::choose_block_shape(a, o.rows, o.cols, o.symmetric, [&](int height, int width) {
    auto const shape = static_cast<std::size_t>((height - 1) * sides + width - 1);
    return detail::block_counts{counts[2 * shape], counts[2 * shape + 1]};
  });
}

/// Blocks of a canonical matrix, of which kept.view is stored.
template <class V, class I, class O>
bcsr_view<V, I, O, space::device> blocks_of(device_csr<V, I, O> const& a, bcsr_options const& o,
                                            result const& to) {
  void* const stream = to.stream();
  detail::block_shape const shape = choose_shape(a, o, stream);
  int const h = shape.height;
  int const w = shape.width;
  stored_part<V, I, O> const kept(a, o.symmetric, stream, h);
  device_csr<V, I, O> const from = kept.view;
  auto const entries = static_cast<std::size_t>(from.nnz);
  if (h == 1 && w == 1) // csr's arrays
    return {unchecked,
            a.rows,
            a.cols,
            a.nnz,
            h,
            w,
            from.nnz,
            to.row_ptr(from),
            to.copy(from.col, entries),
            to.copy(from.val, entries),
            nullptr,
            o.symmetric};
  auto const size = static_cast<std::size_t>(h * w);
  std::size_t const all = ceil_div(static_cast<std::size_t>(a.rows), static_cast<std::size_t>(h));
  scratch<O> const pointers(all + 1, stream);
  each(all, stream, [=, ptr = pointers.get()] __device__(std::size_t i) {
    O n = 0;
    detail::each_block(from, h, w, i, SIZE_MAX, [&](I, int, O const*, O const*) { ++n; });
    ptr[i] = n;
  });
  to_pointers(pointers.get(), all, stream);
  std::size_t const blocks = last_of(pointers.get(), all, stream);
  bool const holes = blocks * size != entries;
  std::size_t const words = holes ? (blocks * size + 63) / 64 : 0;
  double const bytes = detail::bcsr_bytes<V, I, O>(all, blocks, size, words);
  bcsr_options const least = {o.rows ? o.rows : 1, o.cols ? o.cols : 1, o.limit, o.symmetric};
  if (bytes > double(detail::bytes_of(from)) && (h != least.rows || w != least.cols))
    return blocks_of(a, least, to); // chosen, and wrong
  detail::check_room("bcsr", bytes, detail::bytes_of(a), o.limit);
  std::size_t const slots = checked_mul(blocks, size, "bcsr: slots");
  O* const block_ptr = to.copy(static_cast<O const*>(pointers.get()), all + 1);
  I* const block_col = to.take<I>(blocks);
  V* const val = holes ? to.zeros<V>(slots) : to.take<V>(slots);
  auto* const pattern = to.zeros<unsigned long long>(words);
  each(blocks == 0 ? 0 : all, stream, [=] __device__(std::size_t i) {
    auto at = static_cast<std::size_t>(block_ptr[i]);
    detail::each_block(from, h, w, i, SIZE_MAX, [&](I j, int n, O const* first, O const* last) {
      V* const block = val + at * size;
      I const left = static_cast<I>(j * w);
      std::uint64_t bits = 0;
      block_col[at] = j;
      for (int s = 0; s < n; ++s)
        for (O k = first[s]; k < last[s]; ++k) {
          int const slot = s * w + static_cast<int>(from.col[k] - left);
          block[slot] = from.val[k];
          bits |= std::uint64_t(1) << slot;
        }
      if (holes) {
        unsigned const shift = at * size % 64;
        unsigned long long* const word = pattern + at * size / 64;
        atomicOr(word, static_cast<unsigned long long>(bits << shift));
        if (shift + size > 64)
          atomicOr(word + 1, static_cast<unsigned long long>(bits >> (64 - shift)));
      }
      ++at;
    });
  });
  return {unchecked,
          a.rows,
          a.cols,
          a.nnz,
          h,
          w,
          static_cast<O>(blocks),
          block_ptr,
          block_col,
          val,
          reinterpret_cast<std::uint64_t const*>(pattern),
          o.symmetric};
}

template <class V, class I, class O>
bcsr_view<V, I, O, space::device> from_csr(device_csr<V, I, O> const& a, bcsr_options o,
                                           result const& to) {
  o = detail::checked_bcsr_options(o);
  canonical<V, I, O> const c(a, to.stream());
  if (o.symmetric)
    check_symmetric("bcsr", c.view, to.stream());
  return blocks_of(c.view, o, to);
}

} // namespace

TULLE_INSTANTIATE_CUDA_CONVERT(bcsr)

} // namespace tulle::simt

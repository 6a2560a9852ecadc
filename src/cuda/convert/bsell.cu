// SPDX-License-Identifier: Apache-2.0

// csr to bsell: blocks as bcsr, dealt to slices by one warp each.
#include "tulle/format/bsell.hpp"

#include "cuda/convert/blocks.cuh"
#include "cuda/sort_by_key.cuh"
#include "format/detail/bsell_build.hpp"
#include "format/detail/check_room.hpp"

#include <memory>

namespace tulle::kernels::cuda {
namespace {

/// A result that is only needed during the conversion.
class passing_result {
public:
  explicit passing_result(void* stream) : how_{0, stream, 0, this, take} {}
  passing_result(passing_result const&) = delete;
  passing_result& operator=(passing_result const&) = delete;
  result as_result() const { return result(how_); }

private:
  static void* take(void* owner, std::size_t bytes) {
    auto& self = *static_cast<passing_result*>(owner);
    self.held_.push_back(std::make_unique<scratch<std::byte>>(bytes, self.how_.queue));
    return self.held_.back()->get();
  }
  result_memory how_;
  std::vector<std::unique_ptr<scratch<std::byte>>> held_;
};

/// As detail::sliced_order: nullptr where block rows stay in order.
template <class V, class I, class O>
I* sliced_order(bcsr_view<V, I, O, space::cuda> const& b, bsell_options const& o, std::size_t n,
                result const& to) {
  if (o.sigma == 1 || n == 0)
    return nullptr;
  void* const stream = to.stream();
  O const* const ptr = b.block_ptr;
  auto const sigma = static_cast<std::size_t>(o.sigma);
  auto const chunk = static_cast<std::size_t>(o.chunk);
  auto const longest = static_cast<I>(longest_row(static_cast<I>(n), ptr, stream));
  scratch<I> const key(n, stream), rank(n, stream), sorted(n, stream);
  scratch<O> const order(n, stream), slice(n, stream);
  each(n, stream, [=, key = key.get(), rank = rank.get()] __device__(std::size_t i) {
    key[i] = static_cast<I>(i / sigma);
    rank[i] = longest - static_cast<I>(ptr[i + 1] - ptr[i]);
  });
  order_by(static_cast<I>(ceil_div(n, sigma)), static_cast<I>(longest + 1), static_cast<O>(n),
           static_cast<I const*>(key.get()), static_cast<I const*>(rank.get()), sorted.get(),
           order.get(), stream);
  // Slices by their length, except for one that is not full.
  std::size_t const slices = n / chunk;
  I const most = (longest + 1) / 2;
  each(slices, stream, [=, key = key.get(), order = order.get()] __device__(std::size_t s) {
    auto const i = static_cast<std::size_t>(order[s * chunk]);
    key[s] = most - static_cast<I>((ptr[i + 1] - ptr[i] + 1) / 2);
  });
  order_by(static_cast<I>(most + 1), static_cast<O>(slices), static_cast<I const*>(key.get()),
           sorted.get(), slice.get(), stream);
  auto const place = [=, order = order.get(), slice = slice.get()] __device__(std::size_t p) {
    std::size_t const s = p / chunk;
    return order[s < slices ? static_cast<std::size_t>(slice[s]) * chunk + p % chunk : p];
  };
  if (fold<sum>(n, stream, [=] __device__(std::size_t p) {
        return static_cast<std::size_t>(place(p)) != p;
      }) == 0)
    return nullptr;
  I* const perm = to.take<I>(n);
  each(n, stream, [=] __device__(std::size_t p) { perm[p] = static_cast<I>(place(p)); });
  return perm;
}

/// The shapes of slices, and the range of their columns.
template <class I, class O>
struct slice_arrays {
  I* len;           // of each block row, by place
  O* slice_ptr;     // blocks, padding included
  I *lowest, *span; // the lowest column, and the distance from it to the highest
};

/// One slice, by a warp.
template <class V, class I, class O>
__device__ void measure_slice(bsell_view<V, I, O, space::cuda> const& c,
                              bcsr_view<V, I, O, space::cuda> const& b, std::size_t n,
                              std::size_t chunk, std::size_t s, int lane,
                              slice_arrays<I, O> const& to) {
  constexpr I none = std::numeric_limits<I>::max();
  O longest = 0;
  I lo = none, hi = 0;
  for (std::size_t p = s * chunk + static_cast<std::size_t>(lane); p < min(n, (s + 1) * chunk);
       p += 32) {
    auto const i = static_cast<std::size_t>(c.row_at(p));
    O const begin = b.block_ptr[i], end = b.block_ptr[i + 1];
    to.len[p] = static_cast<I>(end - begin);
    longest = max(longest, static_cast<O>(end - begin));
    if (begin != end) {
      lo = min(lo, b.block_col[begin]);
      hi = max(hi, b.block_col[end - 1]);
    }
  }
  for (int d = 16; d > 0; d /= 2) {
    longest = max(longest, __shfl_xor_sync(whole_warp, longest, d));
    lo = min(lo, __shfl_xor_sync(whole_warp, lo, d));
    hi = max(hi, __shfl_xor_sync(whole_warp, hi, d));
  }
  if (lane == 0) {
    to.slice_ptr[s] = (longest + longest % 2) * static_cast<O>(chunk);
    to.lowest[s] = lo == none ? I(0) : lo;
    to.span[s] = lo == none ? I(0) : static_cast<I>(hi - lo);
  }
}

/// The arrays that slices fill; of col and short_col one is used.
template <class V, class I>
struct block_arrays {
  I const* base; // of each slice's short columns
  std::uint16_t* short_col;
  I* col;
  V* val;
  unsigned long long* pattern;
  bool is_short, has_holes;
};

/// One slice, by a warp.
template <class V, class I, class O>
__device__ void fill_slice(bsell_view<V, I, O, space::cuda> const& c,
                           bcsr_view<V, I, O, space::cuda> const& b, std::size_t n,
                           std::size_t chunk, std::size_t size, std::size_t s, int lane,
                           slice_arrays<I, O> const& of, block_arrays<V, I> const& to) {
  detail::bsell_places const at = c.places_of(s);
  std::size_t const blocks = static_cast<std::size_t>(of.slice_ptr[s + 1] - of.slice_ptr[s]);
  for (std::size_t q = static_cast<std::size_t>(lane); q < blocks; q += 32) {
    std::size_t const k = q / chunk, r = q % chunk;
    std::size_t const place = s * chunk + r;
    bool const here = place < n && k < static_cast<std::size_t>(of.len[place]);
    std::size_t const from = here ? static_cast<std::size_t>(b.block_ptr[c.row_at(place)]) + k : 0;
    std::size_t const block = at.block(k, r);
    I const column = here ? b.block_col[from] : I(0);
    if (to.is_short)
      to.short_col[block] = static_cast<std::uint16_t>(here ? column - to.base[s] : I(0));
    else
      to.col[block] = column;
    for (std::size_t e = 0; e < size; ++e)
      to.val[at.value(k, r, e)] = here ? b.val[from * size + e] : V(0);
    if (!to.has_holes || !here)
      continue;
    std::uint64_t const bits = detail::bits_at(b.pattern, from * size, static_cast<int>(size));
    unsigned const shift = block * size % 64;
    unsigned long long* const word = to.pattern + block * size / 64;
    atomicOr(word, bits << shift);
    if (shift + size > 64)
      atomicOr(word + 1, bits >> (64 - shift));
  }
}

template <class V, class I, class O>
bsell_view<V, I, O, space::cuda> from_csr(device_csr<V, I, O> const& a, bsell_options o,
                                          result const& to) {
  void* const stream = to.stream();
  o = detail::checked_bsell_options<V>(o);
  canonical<V, I, O> const canon(a, stream);
  passing_result const passing(stream);
  bcsr_view<V, I, O, space::cuda> const b =
      blocks_of(canon.view, {o.rows, o.cols, o.limit, false}, passing.as_result());
  bsell_view<V, I, O, space::cuda> c;
  c.rows = a.rows;
  c.cols = a.cols;
  c.nnz = b.nnz;
  c.height = b.height;
  c.width = b.width;
  c.chunk = o.chunk;
  std::size_t const n = c.block_rows();
  std::size_t const slices = c.slices();
  auto const chunk = static_cast<std::size_t>(o.chunk);
  c.perm = sliced_order(b, o, n, to);
  I* const len = to.take<I>(n);
  O* const slice_ptr = to.zeros<O>(slices + 1);
  c.len = len;
  c.slice_ptr = slice_ptr;
  if (n == 0)
    return c;

  scratch<I> const lowest(slices, stream), span(slices, stream);
  slice_arrays<I, O> const shape{len, slice_ptr, lowest.get(), span.get()};
  each_warp(slices, stream, [=] __device__(std::size_t s, int lane) {
    measure_slice(c, b, n, chunk, s, lane, shape);
  });
  std::size_t const all =
      fold<sum>(slices, stream, [=] __device__(std::size_t s) { return slice_ptr[s]; });
  c.stored = narrow<O>(all, "number of blocks");
  to_pointers(slice_ptr, slices, stream);
  if (all == 0)
    return c;
  bool const is_short =
      fold<greatest>(slices, stream, [span = span.get()] __device__(std::size_t s) {
        return span[s];
      }) <= static_cast<std::size_t>(detail::bsell_most_span);
  auto const size = static_cast<std::size_t>(c.size());
  bool const holes = b.pattern != nullptr;
  detail::check_room("bsell",
                     detail::bsell_bytes<V, I, O>(n, slices, all, is_short ? 2 : sizeof(I), size,
                                                  c.perm != nullptr, holes),
                     detail::bytes_of(canon.view), o.limit);
  I* const base = is_short ? to.copy(static_cast<I const*>(lowest.get()), slices) : nullptr;
  auto* const short_col = to.take<std::uint16_t>(is_short ? all : 0);
  I* const col = to.take<I>(is_short ? 0 : all);
  V* const val = to.take<V>(checked_mul(all, size, "bsell: slots"));
  auto* const pattern = to.zeros<unsigned long long>(holes ? (all * size + 63) / 64 : 0);
  block_arrays<V, I> const blocks{base, short_col, col, val, pattern, is_short, holes};
  each_warp(slices, stream, [=] __device__(std::size_t s, int lane) {
    fill_slice(c, b, n, chunk, size, s, lane, shape, blocks);
  });
  c.base = base;
  c.col = col;
  c.short_col = short_col;
  c.val = val;
  c.pattern = reinterpret_cast<std::uint64_t const*>(pattern);
  return c;
}

} // namespace

TULLE_INSTANTIATE_CUDA_CONVERT(bsell)

} // namespace tulle::kernels::cuda

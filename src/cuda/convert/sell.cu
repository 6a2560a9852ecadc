// SPDX-License-Identifier: Apache-2.0

// csr to sell: the order of rows by sorting, then one warp per chunk for its shape and its arrays.
// Each step decides as the host's builder (format/detail/sell_build.hpp) does.
#include "cuda/convert/sell_rows.cuh"
#include "cuda/convert/symmetric.cuh"
#include "cuda/convert/warp_transpose.cuh"
#include "format/detail/sell_build.hpp"

#include <limits>

namespace tulle::kernels::cuda {
namespace {

using count = unsigned long long; // of numbers whose sum is known to fit

template <class T>
__device__ T warp_min(T v) {
#pragma unroll
  for (int d = 16; d > 0; d /= 2) {
    T const other = __shfl_xor_sync(whole_warp, v, d);
    v = other < v ? other : v;
  }
  return v;
}
template <class T>
__device__ T warp_max(T v) {
  return -warp_min(static_cast<T>(-v));
}

/// Merges the offsets column - row of a chunk of consecutive rows: calls f(step, offset, lanes that
/// have it) and returns the number of steps; 0 where there are more than `most` or some lead
/// outside of x. A lane has one or two rows.
template <class V, class I, class O, class F>
__device__ std::size_t merge_offsets(chunked<V, I, O> const& b, std::size_t c, std::size_t most,
                                     int lane, F f) {
  constexpr I none = std::numeric_limits<I>::max();
  int const here = b.rows_of(c);
  I const first = b.row(c * static_cast<std::size_t>(b.wide));
  O at[2], end[2];
  I next[2];
  for (int h = 0; h < 2; ++h) {
    int const l = lane + 32 * h;
    at[h] = l < here ? b.a.row_ptr[first + l] : O(0);
    end[h] = l < here ? b.a.row_ptr[first + l + 1] : O(0);
    next[h] = at[h] < end[h] ? b.a.col[at[h]] - first - l : none;
  }
  for (std::size_t steps = 0;; ++steps) {
    I const offset = warp_min(next[0] < next[1] ? next[0] : next[1]);
    if (offset == none)
      return steps;
    if (steps == most || offset < -first ||
        static_cast<std::size_t>(offset + first) + static_cast<std::size_t>(b.wide) >
            static_cast<std::size_t>(b.a.cols))
      return 0;
    bool const has[2] = {next[0] == offset, next[1] == offset};
    f(steps, offset,
      __ballot_sync(whole_warp, has[0]) |
          static_cast<std::uint64_t>(__ballot_sync(whole_warp, has[1])) << 32);
    for (int h = 0; h < 2; ++h)
      if (has[h]) {
        ++at[h];
        next[h] = at[h] < end[h] ? b.a.col[at[h]] - first - (lane + 32 * h) : none;
      }
  }
}

template <class I>
struct shape {
  std::size_t width;
  std::uint8_t kind;
  I low; // least column
};

/// As sell_builder::shape_of.
template <class V, class I, class O>
__device__ shape<I> shape_of(chunked<V, I, O> const& b, std::size_t c, int lane) {
  std::size_t const place = c * static_cast<std::size_t>(b.wide);
  int const here = b.rows_of(c);
  I const first = b.row(place);
  constexpr I none = std::numeric_limits<I>::max();
  I low = none, high = -1;
  O width = 0;
  bool in_order = true;
  for (int l = lane; l < here; l += 32) {
    I const r = b.row(place + static_cast<std::size_t>(l));
    in_order = in_order && r - first == l;
    O const n = b.length(r);
    if (n == 0)
      continue;
    I const l_low = b.a.col[b.a.row_ptr[r]];
    I const l_high = b.a.col[b.a.row_ptr[r + 1] - 1];
    low = l_low < low ? l_low : low;
    high = l_high > high ? l_high : high;
    width = n > width ? n : width;
  }
  low = warp_min(low);
  high = warp_max(high);
  in_order = __all_sync(whole_warp, in_order);
  shape<I> s{static_cast<std::size_t>(warp_max(width)), 0, low == none ? I(0) : low};
  s.kind = b.short_columns && high - s.low <= UINT16_MAX ? sell_kind::shorts : sell_kind::full;
  if (in_order)
    s.kind |= sell_kind::in_order;
  if (!in_order || !b.shared_offsets || s.width == 0)
    return s;
  auto const wide = static_cast<std::size_t>(b.wide);
  std::size_t const slot = sizeof(V) + (s.kind & sell_kind::shorts ? 2 : sizeof(I));
  std::size_t const most = s.width * wide * slot / (wide * sizeof(V) + sizeof(I));
  bool whole = true;
  std::size_t const steps =
      merge_offsets(b, c, most, lane, [&](std::size_t, I, std::uint64_t lanes) {
        whole = whole && lanes == b.all_lanes();
      });
  if (steps != 0) {
    s.width = steps;
    s.kind = (whole ? sell_kind::shared : sell_kind::holed) | sell_kind::in_order;
  }
  return s;
}

/// Where the arrays of each chunk begin, as counts and then as positions; each has one more element
/// than there are chunks.
struct chunk_places {
  count *step, *col, *short_col, *mask;
  count* temporary;    // in the offsets and masks of chunks that share or merge them
  std::uint8_t* again; // set for a chunk that has the offsets of the one before it
};
/// Their memory.
struct chunk_memory {
  scratch<count> step, col, short_col, mask, temporary;
  scratch<std::uint8_t> again;

  chunk_memory(std::size_t chunks, void* stream)
      : step(chunks + 1, stream), col(chunks + 1, stream), short_col(chunks + 1, stream),
        mask(chunks + 1, stream), temporary(chunks + 1, stream), again(chunks, stream) {}
  chunk_places places() const {
    return {step.get(), col.get(), short_col.get(), mask.get(), temporary.get(), again.get()};
  }
};

/// The input and the output of fill_kernel.
template <class V, class I, class O>
struct filled {
  chunked<V, I, O> b;
  count const *step, *col_at, *short_at, *mask_at, *temporary;
  std::uint8_t const *kind, *again;
  I const* offset; // of chunks that share or merge them, from temporary[c] on
  std::uint64_t const* mask;
  O *step_ptr, *col_ptr;
  I *base, *len, *col;
  std::uint16_t* short_col;
  std::uint64_t* masks;
  V* val;
};

template <class V, class I, class O>
__global__ void fill_kernel(filled<V, I, O> f) {
  __shared__ transpose_room<V, I> rooms[transpose_warps];
  auto& room = rooms[threadIdx.x / 32];
  int const lane = threadIdx.x % 32;
  std::size_t const c = blockIdx.x * std::size_t{transpose_warps} + threadIdx.x / 32;
  if (c >= f.b.chunks)
    return;
  auto const wide = static_cast<std::size_t>(f.b.wide);
  auto const width = static_cast<std::size_t>(f.step[c + 1] - f.step[c]);
  std::uint8_t const tag = f.kind[c] & sell_kind::mask;
  auto const col_first = static_cast<std::size_t>(tag == sell_kind::shorts ? f.short_at[c]
                                                  : f.again[c]             ? f.col_at[c] - width
                                                                           : f.col_at[c]);
  I const low = tag == sell_kind::shorts ? f.base[c] : I(0);
  if (lane == 0) {
    f.step_ptr[c + 1] = static_cast<O>(f.step[c + 1]);
    if (c == 0)
      f.step_ptr[0] = 0;
    f.col_ptr[c] = static_cast<O>(col_first);
    if (tag == sell_kind::holed)
      f.base[c] = static_cast<I>(f.mask_at[c]);
  }
  int const here = f.b.rows_of(c);
  for (int lanes = 0; lanes < f.b.wide; lanes += 32) {
    int const l = lanes + lane;
    std::size_t const place = c * wide + static_cast<std::size_t>(l);
    O k = 0, n = 0;
    if (l < here) {
      I const r = f.b.row(place);
      k = f.b.a.row_ptr[r];
      n = f.b.a.row_ptr[r + 1] - k;
      f.len[place] = static_cast<I>(n);
    }
    auto const put_val = [&](std::size_t s, V v) {
      if (l < f.b.wide)
        f.val[(static_cast<std::size_t>(f.step[c]) + s) * wide + static_cast<std::size_t>(l)] = v;
    };
    auto const put_col = [&](std::size_t s, I j) {
      std::size_t const at = col_first + s * wide + static_cast<std::size_t>(l);
      if (l >= f.b.wide)
        return;
      if (tag == sell_kind::full)
        f.col[at] = j;
      else
        f.short_col[at] = static_cast<std::uint16_t>(j - low);
    };
    I const last = n == 0 ? low : f.b.a.col[k + n - 1]; // padding repeats the row's last column
    if (tag != sell_kind::holed && width > narrow_width) {
      put_transposed(f.b.a.val, k, n, width, V(0), room.val, lane, put_val);
      if (tag < sell_kind::shared)
        put_transposed(f.b.a.col, k, n, width, last, room.col, lane, put_col);
      continue;
    }
    for (std::size_t s = 0; s < width; ++s) {
      bool const has = tag == sell_kind::holed ? f.mask[f.temporary[c] + s] >> l & 1
                                               : s < static_cast<std::size_t>(n);
      put_val(s, has ? f.b.a.val[k] : V(0));
      if (tag < sell_kind::shared)
        put_col(s, has ? f.b.a.col[k] : last);
      k += has;
    }
  }
  for (auto s = static_cast<std::size_t>(lane); tag >= sell_kind::shared && s < width; s += 32) {
    if (!f.again[c])
      f.col[col_first + s] = f.offset[f.temporary[c] + s];
    if (tag == sell_kind::holed)
      f.masks[f.mask_at[c] + s] = f.mask[f.temporary[c] + s];
  }
}

/// The shape of every chunk: kind, base, and where its steps begin.
template <class V, class I, class O>
void shape_chunks(chunked<V, I, O> const& b, chunk_places const& p, std::uint8_t* kind, I* base,
                  void* stream) {
  each_warp(b.chunks, stream,
            [=, step = p.step, temporary = p.temporary] __device__(std::size_t c, int lane) {
              shape<I> const s = shape_of(b, c, lane);
              if (lane != 0)
                return;
              step[c] = s.width;
              kind[c] = s.kind;
              base[c] = (s.kind & sell_kind::shorts) ? s.low : I(0);
              temporary[c] = (s.kind & sell_kind::shared) ? s.width : 0;
            });
  to_pointers(p.step, b.chunks, stream);
  to_pointers(p.temporary, b.chunks, stream);
}

/// The offsets, and the lanes that have them, of chunks that share or merge them.
template <class V, class I, class O>
void write_offsets(chunked<V, I, O> const& b, count const* temporary, std::uint8_t const* kind,
                   I* offset, std::uint64_t* mask, void* stream) {
  each_warp(b.chunks, stream, [=] __device__(std::size_t c, int lane) {
    if (!(kind[c] & sell_kind::shared))
      return;
    merge_offsets(b, c, SIZE_MAX, lane, [&](std::size_t s, I least, std::uint64_t lanes) {
      if (lane == 0) {
        offset[temporary[c] + s] = least;
        mask[temporary[c] + s] = lanes;
      }
    });
  });
}

/// Marks chunks that repeat the offsets of the one before, and finds where the columns and masks of
/// chunks begin.
template <class I>
void place_columns(std::size_t chunks, std::size_t wide, chunk_places const& p,
                   std::uint8_t const* kind, I const* offset, void* stream) {
  each_warp(chunks, stream,
            [=, step = p.step, temporary = p.temporary, again = p.again, col_at = p.col,
             short_at = p.short_col, mask_at = p.mask] __device__(std::size_t c, int lane) {
              auto const width = static_cast<std::size_t>(step[c + 1] - step[c]);
              std::uint8_t const tag = kind[c] & sell_kind::mask;
              bool same = c > 0 && (kind[c] & kind[c - 1] & sell_kind::shared) &&
                          width == static_cast<std::size_t>(step[c] - step[c - 1]);
              if (same) {
                for (auto k = static_cast<std::size_t>(lane); k < width; k += 32)
                  same = same && offset[temporary[c] + k] == offset[temporary[c - 1] + k];
                same = __all_sync(whole_warp, same);
              }
              if (lane != 0)
                return;
              again[c] = same;
              col_at[c] = same || tag == sell_kind::shorts ? 0
                          : tag == sell_kind::full         ? width * wide
                                                           : width;
              short_at[c] = tag == sell_kind::shorts ? width * wide : 0;
              mask_at[c] = tag == sell_kind::holed ? width : 0;
            });
  to_pointers(p.col, chunks, stream);
  to_pointers(p.short_col, chunks, stream);
  to_pointers(p.mask, chunks, stream);
}

/// How long the arrays of all chunks are.
struct chunk_sizes {
  std::size_t steps, cols, shorts, masks;
};

/// Waits for the stream.
inline chunk_sizes sizes_of(std::size_t chunks, chunk_places const& p, void* stream) {
  scratch<count> const sums(4, stream);
  each(1, stream, [=, to = sums.get()] __device__(std::size_t) {
    to[0] = p.step[chunks];
    to[1] = p.col[chunks];
    to[2] = p.short_col[chunks];
    to[3] = p.mask[chunks];
  });
  auto const sizes = fetch(sums.get(), 4, stream);
  return {sizes[0], sizes[1], sizes[2], sizes[3]};
}

/// The shape of every chunk, and its arrays.
template <class V, class I, class O>
void fill_chunks(chunked<V, I, O> const& b, sell_options const& o,
                 sell_view<V, I, O, space::cuda>& v, result const& to) {
  void* const stream = to.stream();
  std::size_t const chunks = b.chunks;
  auto const wide = static_cast<std::size_t>(b.wide);
  O* const step_ptr = to.take<O>(chunks + 1);
  std::uint8_t* const kind = to.take<std::uint8_t>(chunks);
  O* const col_ptr = to.take<O>(chunks);
  I* const base = to.take<I>(chunks);
  v.step_ptr = step_ptr;
  v.kind = kind;
  v.col_ptr = col_ptr;
  v.base = base;
  chunk_memory const memory(chunks, stream);
  chunk_places const at = memory.places();
  shape_chunks(b, at, kind, base, stream);
  std::size_t const merged = last_of(at.temporary, chunks, stream);
  scratch<I> const offset(merged, stream);
  scratch<std::uint64_t> const mask(merged, stream);
  if (merged != 0)
    write_offsets(b, at.temporary, kind, offset.get(), mask.get(), stream);
  place_columns(chunks, wide, at, kind, static_cast<I const*>(offset.get()), stream);
  chunk_sizes const size = sizes_of(chunks, at, stream);
  std::size_t const stored = checked_mul(size.steps, wide, "sell");
  detail::check_sell_sizes<V, I, O>(o, detail::bytes_of(v), static_cast<std::size_t>(v.rows), v.nnz,
                                    stored, size.cols, size.shorts, size.masks);
  I* const len = to.take<I>(b.places);
  I* const col = to.take<I>(size.cols);
  std::uint16_t* const short_col = to.take<std::uint16_t>(size.shorts);
  std::uint64_t* const masks = to.take<std::uint64_t>(size.masks);
  V* const val = to.take<V>(stored);
  launch(fill_kernel<V, I, O>, ceil_div(chunks, std::size_t{transpose_warps}), 32 * transpose_warps,
         stream,
         filled<V, I, O>{b, at.step, at.col, at.short_col, at.mask, at.temporary, kind, at.again,
                         offset.get(), mask.get(), step_ptr, col_ptr, base, len, col, short_col,
                         masks, val});
  v.stored = static_cast<O>(stored);
  v.col_size = static_cast<O>(size.cols);
  v.short_size = static_cast<O>(size.shorts);
  v.mask_size = static_cast<O>(size.masks);
  v.len = len;
  v.col = col;
  v.short_col = short_col;
  v.mask = masks;
  v.val = val;
}

template <class V, class I, class O>
sell_view<V, I, O, space::cuda> from_csr(device_csr<V, I, O> const& a, sell_options o,
                                         result const& to) {
  detail::check_sell_options(o);
  canonical<V, I, O> const c(a, to.stream());
  if (o.symmetric) {
    check_symmetric("sell", c.view, to.stream());
    o.split = 0;
  }
  stored_part<V, I, O> const kept(c.view, o.symmetric, to.stream());
  sell_view<V, I, O, space::cuda> v;
  v.rows = a.rows;
  v.cols = a.cols;
  v.nnz = c.view.nnz;
  v.chunk = o.chunk;
  v.sigma = o.sigma;
  v.symmetric = o.symmetric;
  if (a.rows == 0)
    return v;
  std::unique_ptr<scratch<I>> perm = split_rows(kept.view, o.split, v, to);
  chunked<V, I, O> b{kept.view,       perm ? perm->get() : nullptr,
                     v.places(),      v.chunks(),
                     o.chunk,         o.short_columns,
                     o.shared_offsets};
  if (o.sigma > 1 && b.places != 0)
    sort_windows(b, static_cast<std::size_t>(o.sigma), perm, to.stream());
  if (perm && b.places != 0) {
    I const* const chosen = to.copy(static_cast<I const*>(perm->get()), b.places);
    b.perm = v.perm = chosen;
  }
  if (b.chunks != 0)
    fill_chunks(b, o, v, to);
  return v;
}

} // namespace

TULLE_INSTANTIATE_CUDA_CONVERT(sell)

} // namespace tulle::kernels::cuda

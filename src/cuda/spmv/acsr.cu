// SPDX-License-Identifier: Apache-2.0

// y = alpha A x + beta y, A in ACSR.
//
// Ashari et al., SC 2014: a bin uses as many lanes per row as its lengths need. All bins are one
// launch; a thread block finds its bin by its number. Rows too long for a warp come first and are
// added up by a block, or in parts by several blocks. The blocks of other bins run in the order of
// their first rows, so that neighbouring rows of different bins find each other's lines of the
// matrix and of y in the cache; if one bin has nearly all rows, this holds in any case. With the
// option `streams` each bin is a separate launch on its own stream. Where nearly all entries are of
// long rows, long_rows.cuh takes over.
#include "tulle/format/acsr.hpp"

#include "cuda/each.cuh"
#include "cuda/long_rows.cuh"
#include "cuda/side_streams.cuh"
#include "cuda/sort_by_key.cuh"
#include "cuda/spmv/ell_rows.cuh"
#include "cuda/spmv/parts.cuh"

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
using view = acsr_view<V, I, O, space::cuda>;

// us of a product, double, H200, blocks bin by bin and in the order of rows, in two runs: circuit
// 2000000 116, 93; rmat 21 16 264, 274 (other formats took 1.05 times as long in the second); fem
// 500000 115, 119; lattice 4000000 78, 84; poisson2d5 4096 465, 501. So blocks are not reordered if
// one bin has nearly all rows: lattice 81, poisson2d5 459. Tried and dropped, us instead of those
// of this kernel: loads that stay in the caches: circuit 97 for 92, rmat 277 for 270, fem 151 for
// 120, lattice 80 for 79. Twice as many lanes per row: 133 for 92, 269 for 271, 152 for 122, 103
// for 81. Blocks of 128 threads: 89 for 92, 278 for 271, 119 for 120, 78 for 81, poisson2d5 444 for
// 459, lp 4096 1100000 2600 92 for 99. Bins in streams: 128 for 92, 296 for 271, 126 for 120, 83
// for 81, 475 for 459. One block for the short rows of all bins in a window of 4096 rows and
// entries: circuit 101 for 91, rmat 285 for 269, fem 115 for 121. First entries and lengths of rows
// stored by places, so that row_ptr is not read: 91 for 91. lp with eight loads per lane in flight
// 93 for 92, rows of up to 4096 by a warp 101, parts of 1024 98 to 100.
constexpr int wide_block = 256;
// If rows have fewer entries on average than wide_least, or more than wide_most.
constexpr int narrow_block = 128;
constexpr std::int64_t wide_least = 8, wide_most = 512;
// Loads per lane in flight; a lane of a short row has at most so many entries.
constexpr int batch = 4;
// Lower bins use so many lanes per row that each lane has up to `batch` entries.
constexpr int lane_bins = 7;
constexpr int warp_bins = 11;               // lower bins use one warp per row
constexpr std::int64_t part_entries = 4096; // of a row, per block

__host__ __device__ constexpr int lanes_of(int b) {
  return b < 2 ? 1 : b < lane_bins ? 1 << (b - 1) : 32;
}
/// Parts per row of bin b; b >= warp_bins.
__host__ __device__ constexpr std::int64_t parts_of(int b) {
  return b < 11 ? 1 : std::int64_t{1} << (b - 11);
}
static_assert(lanes_of(lane_bins) * batch == 128 && parts_of(12) * part_entries == 8192);

/// Where bins begin among the places, and among the blocks of the launch, where the last bin comes
/// first.
template <class I>
struct bins_at {
  int bins, threads; // of a block
  I place[detail::most_bins + 1] = {};
  unsigned block[detail::most_bins + 1] = {}; // [b]: the first of bin b - 1, and the end of bin b

  template <class A>
  bins_at(A const& a, plan_view const& p)
      : bins(static_cast<int>(a.bins)),
        threads(a.rows == 0 || (a.nnz / a.rows >= wide_least && a.nnz / a.rows <= wide_most)
                    ? wide_block
                    : narrow_block) {
    std::size_t blocks = 0;
    place[bins] = static_cast<I>(p.info[bins]);
    for (int b = bins - 1; b >= 0; --b) {
      place[b] = static_cast<I>(p.info[b]);
      auto const rows = static_cast<std::size_t>(place[b + 1] - place[b]);
      blocks += b < warp_bins ? ceil_div(rows, static_cast<std::size_t>(threads / lanes_of(b)))
                              : rows * static_cast<std::size_t>(parts_of(b));
      if (blocks > most_blocks)
        check(cudaErrorInvalidConfiguration, "launch: more blocks than a grid holds");
      block[b] = static_cast<unsigned>(blocks);
    }
  }
  /// The bin of a block.
  __device__ int bin_of(unsigned number) const {
    int b = bins - 1;
    while (number >= block[b])
      --b;
    return b;
  }
  /// The first block of bin b.
  __host__ __device__ unsigned first_block(int b) const { return b + 1 < bins ? block[b + 1] : 0; }
  /// The first place of a block of a bin below warp_bins.
  __device__ std::size_t first_place(int b, unsigned number) const {
    return static_cast<std::size_t>(place[b]) +
           static_cast<std::size_t>(number - first_block(b)) * (threads / lanes_of(b));
  }
  std::size_t blocks() const { return blocks_from(0); }
  /// The number of blocks, and of rows, of the bins from b on.
  std::size_t blocks_from(int b) const { return b < bins ? block[b] : 0; }
  std::size_t rows_from(int b) const {
    return b < bins ? static_cast<std::size_t>(place[bins] - place[b]) : 0;
  }
  /// Whether no bin has nearly all rows.
  bool is_mixed() const {
    std::size_t most = 0;
    for (int b = 0; b < bins && b < warp_bins; ++b)
      most = std::max(most, static_cast<std::size_t>(place[b + 1] - place[b]));
    return most < rows_from(0) / 8 * 7;
  }
};

/// The sum over the entries of [k, end) that lane `lane` of `lanes` has.
template <int lanes, class V, class I, class O>
__device__ V sum_row(view<V, I, O> const& a, O k, O end, int lane, V const* x) {
  constexpr std::integral_constant<int, lanes> stride;
  int const mine = (static_cast<int>(end - k) - lane + lanes - 1) / lanes;
  return sum_steps<batch>(a.val + k + lane, stride, a.col + k + lane, stride, 0, mine, batch, x);
}

/// One row per `lanes` lanes of the block.
template <int lanes, class V, class I, class O>
__device__ void add_bin(V alpha, view<V, I, O> const& a, std::size_t first, std::size_t end,
                        V const* x, V beta, V* y) {
  std::size_t const q = first + threadIdx.x / lanes;
  int const lane = threadIdx.x % lanes;
  I const i = q < end ? a.bin_row[q] : I(0);
  V sum = 0;
  if (q < end)
    sum = sum_row<lanes>(a, a.row_ptr[i], a.row_ptr[i + 1], lane, x);
  sum = reduce<lanes>(sum);
  if (q < end && lane == 0)
    update(y + i, alpha, sum, beta);
}

/// Blocks from `from` on. is_ordered: blocks of short rows are in the order of `order`.
template <int threads, class V, class I, class O>
__global__ void __launch_bounds__(threads, (sizeof(I) == 4 ? 6 : 4) * wide_block / threads)
    bins_kernel(V alpha, view<V, I, O> a, bins_at<I> at, unsigned from, bool is_ordered,
                O const* order, unsigned long_blocks, V const* x, V beta, V* y,
                row_parts<V> parts) {
  __shared__ block_room<V> room;
  wait_for_launch_before();
  unsigned block = from + blockIdx.x;
  if (block < long_blocks) {
    int const b = at.bin_of(block);
    std::size_t const number = block - at.first_block(b);
    auto const most = static_cast<std::size_t>(parts_of(b));
    I const i = a.bin_row[static_cast<std::size_t>(at.place[b]) + number / most];
    O const begin = a.row_ptr[i];
    O const end = a.row_ptr[i + 1];
    std::size_t const skipped = number % most * part_entries;
    if (skipped >= static_cast<std::size_t>(end - begin)) // k may not fit O otherwise
      return;
    O const k = begin + static_cast<O>(skipped);
    V const sum = block_reduce<threads>(
        sum_row<threads>(a, k, end - k < part_entries ? end : static_cast<O>(k + part_entries),
                         static_cast<int>(threadIdx.x), x),
        room);
    if (most > 1)
      parts.template leave<threads>(
          sum, block - number % most, number % most,
          static_cast<std::size_t>(ceil_div<std::int64_t>(end - begin, part_entries)), room, alpha,
          beta, y + i);
    else if (threadIdx.x == 0)
      update(y + i, alpha, sum, beta);
    return;
  }
  if (is_ordered)
    block = static_cast<unsigned>(order[block - long_blocks]) + long_blocks;
  int const b = at.bin_of(block);
  std::size_t const first = at.first_place(b, block);
  auto const end = static_cast<std::size_t>(at.place[b + 1]);
  switch (lanes_of(b)) {
  case 1:
    return add_bin<1>(alpha, a, first, end, x, beta, y);
  case 2:
    return add_bin<2>(alpha, a, first, end, x, beta, y);
  case 4:
    return add_bin<4>(alpha, a, first, end, x, beta, y);
  case 8:
    return add_bin<8>(alpha, a, first, end, x, beta, y);
  case 16:
    return add_bin<16>(alpha, a, first, end, x, beta, y);
  default:
    return add_bin<32>(alpha, a, first, end, x, beta, y);
  }
}

/// The plan: parts of rows, and the order of blocks.
template <class V, class I, class O>
struct kept {
  std::size_t parts, long_blocks, others;
  bool is_ordered;
  row_parts<V> part;
  O* order;

  kept(view<V, I, O> const& a, bins_at<I> const& at, carver& work)
      : parts(at.blocks_from(warp_bins + 1)), long_blocks(at.blocks_from(warp_bins)),
        others(at.blocks() - long_blocks), is_ordered(!a.streams && at.is_mixed()),
        part(parts, work), order(work.take<O>(is_ordered ? others : 0)) {}
};

template <class V, class I, class O>
bool is_long(view<V, I, O> const& a) {
  return !a.streams && are_long(a.rows, a.nnz) && a.bins <= most_joined_bits;
}

template <class V, class I, class O>
std::size_t prepare(view<V, I, O> a, plan_view& p) {
  if (p.transposed)
    refuse("acsr", "transposed products have no kernel; those of csr and csc do");
  if (is_long(a))
    return long_bytes(long_view(a), p);
  p.method = a.streams ? "bins in streams" : "bins in one launch";
  if (a.bins == 0)
    return 0;
  int b = 0;
  for (I const at : fetch(a.bin_ptr, static_cast<std::size_t>(a.bins) + 1, p.stream))
    p.info[b++] = at;
  carver work;
  kept<V, I, O>(a, bins_at<I>(a, p), work);
  return work.used();
}

template <class V, class I, class O>
void fill(view<V, I, O> a, plan_view const& p) {
  if (is_long(a))
    return fill_long(long_view(a), p);
  bins_at<I> const at(a, p);
  carver work(p.work);
  kept<V, I, O> const k(a, at, work);
  k.part.clear(k.parts, p.stream);
  if (a.streams)
    // So that the streams are made here, not by the first product.
    side_streams const streams(p.stream, true);
  if (!k.is_ordered || k.others == 0)
    return;
  scratch<I> const keys(k.others, p.stream), sorted(k.others, p.stream);
  each(k.others, p.stream, [=, key = keys.get()] __device__(std::size_t n) {
    auto const block = static_cast<unsigned>(n + k.long_blocks);
    key[n] = a.bin_row[at.first_place(at.bin_of(block), block)];
  });
  order_by(a.rows, static_cast<O>(k.others), static_cast<I const*>(keys.get()), sorted.get(),
           k.order, p.stream);
}

template <class V, class I, class O>
void spmv(V alpha, view<V, I, O> a, V const* x, V beta, V* y, plan_view const& p, void* stream) {
  if (is_long(a))
    return multiply_long(alpha, long_view(a), x, beta, y, p, stream);
  bins_at<I> const at(a, p);
  carver work(p.work);
  kept<V, I, O> const k(a, at, work);
  auto const run = [&](unsigned from, std::size_t blocks, void* on) {
    auto const kernel = at.threads == narrow_block ? bins_kernel<narrow_block, V, I, O>
                                                   : bins_kernel<wide_block, V, I, O>;
    launch_early(kernel, blocks, at.threads, on, alpha, a, at, from, k.is_ordered,
                 static_cast<O const*>(k.order), static_cast<unsigned>(k.long_blocks), x, beta, y,
                 k.part);
  };
  if (a.streams) {
    side_streams streams(stream, at.bins > 1);
    for (int b = at.bins - 1, used = 0; b >= 0; --b)
      if (at.block[b] != at.first_block(b))
        run(at.first_block(b), at.block[b] - at.first_block(b),
            streams.side(used++ % side_streams::most));
  } else {
    run(0, at.blocks(), stream);
  }
}

} // namespace

TULLE_INSTANTIATE_CUDA_SPMV(acsr)

} // namespace tulle::kernels::cuda

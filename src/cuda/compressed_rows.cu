// SPDX-License-Identifier: Apache-2.0

// Chooses the kernel of a product over compressed rows; all kernels are compiled here, once for all
// formats.
#include "cuda/scale.cuh"
#include "cuda/spmv/compressed.cuh"

namespace tulle::kernels::cuda {
namespace {

// us of a product, double, H200, groups / blocks / segments: fem 500000 142, 104, 147; poisson3d27
// 160 537, 368, 541; poisson2d9 2000 230, 131, 185; poisson2d5 4096 514, 332, 446; lattice 4000000
// 108, 74, 95. Rows of 201 126, 125, 176; random ones of 120 -, 197, 193. Groups with eight loads
// per lane in flight 111, 396, 140, 374, 78; 127. Blocks whose loads bypass the caches were slower
// on all but fem.
constexpr std::int64_t even = 2; // rows up to this times the average are of one length

template <class I, class O>
way choose(I rows, O nnz, O const* row_ptr, plan_view& p) {
  if (nnz == 0)
    return way::nothing;
  if (p.wanted == spmv_method::merge)
    return way::merge;
  if (p.wanted == spmv_method::segments)
    return way::segments;
  std::int64_t const average = static_cast<std::int64_t>(nnz / rows);
  std::int64_t const most = find_longest(rows, row_ptr, p);
  p.info[chosen_width] = width_for(average);
  if (most <= longest)
    return way::blocks;
  return p.wanted == spmv_method::rows || most <= even * average ? way::groups : way::segments;
}

} // namespace

template <class V, class I, class O>
void fill_lines(I rows, O nnz, O const* row_ptr, plan_view& p, carver& work) {
  way const w = choose(rows, nnz, row_ptr, p);
  p.info[chosen_way] = static_cast<std::int64_t>(w);
  auto const s = shares_of<V>(rows, nnz, w, work);
  std::size_t const grid = ceil_div<std::size_t>(s.count + 1, row_threads);
  switch (w) {
  case way::nothing:
    p.method = "no entries";
    return;
  case way::groups:
    p.method = "rows";
    return;
  case way::merge:
    p.method = "merge";
    return launch(crossings_kernel<I, O>, grid, row_threads, p.stream, rows, nnz, row_ptr, s.first,
                  s.count, std::size_t{share_of<V>});
  case way::blocks:
  case way::segments:
    p.method = w == way::blocks ? "blocks of rows" : "segments";
    return launch(first_rows_kernel<I, O>, grid, row_threads, p.stream, rows, row_ptr, s.first,
                  s.count, static_cast<std::size_t>(w == way::blocks ? tile_of<V> : share_of<V>));
  }
}

template <class V, class I, class O>
void run_lines(V alpha, lines<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p,
               carver& work, void* stream) {
  check_aligned(a.val, x, y);
  auto const rows = static_cast<std::size_t>(a.rows);
  auto const w = static_cast<way>(p.info[chosen_way]);
  auto const s = shares_of<V>(a.rows, a.nnz, w, work);
  std::size_t const joins = ceil_div<std::size_t>(s.count * 32, row_threads);
  switch (w) {
  case way::nothing:
    return scale(beta, y, rows, stream);
  case way::groups:
    return with_width(p.info[chosen_width], [&]<int width>(std::integral_constant<int, width>) {
      launch_early(groups_kernel<width, V, I, O>, ceil_div<std::size_t>(rows * width, row_threads),
                   row_threads, stream, alpha, a, x, beta, y);
    });
  case way::blocks:
    return launch_early(blocks_kernel<V, I, O>, s.count, row_threads, stream, alpha, a, x, beta, y,
                        static_cast<I const*>(s.first));
  case way::merge:
    launch_early(merge_kernel<V, I, O>, s.count, tile_threads, stream, alpha, a, x, beta, y, s);
    return launch_early(merge_join_kernel<V, I, O>, joins, row_threads, stream, alpha, a, beta, y,
                        s);
  case way::segments:
    launch_early(segments_kernel<V, I, O>, s.count, tile_threads, stream, alpha, a, x, beta, y, s);
    return launch_early(segments_join_kernel<V, I, O>, joins, row_threads, stream, alpha, a, beta,
                        y, s);
  }
}

#define TULLE_COMPRESSED_ROWS(tag, V, I, O)                                                        \
  template void fill_lines<V, I, O>(I, O, O const*, plan_view&, carver&);                          \
  template void run_lines(V, lines<V, I, O> const&, V const*, V, V*, plan_view const&, carver&,    \
                          void*);
TULLE_KERNEL_TYPES(TULLE_COMPRESSED_ROWS)

} // namespace tulle::kernels::cuda

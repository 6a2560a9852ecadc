// SPDX-License-Identifier: Apache-2.0

// csr to cmrs: strips in the order of csr, sorted by column, or padded. All strips are sorted at
// once, by (strip, column).
#include "tulle/format/cmrs.hpp"

#include "cuda/convert/convert.cuh"
#include "cuda/sort_by_key.cuh"
#include "format/detail/strips.hpp"

namespace tulle::kernels::cuda {
namespace {

/// The padded strips of a, one thread each.
template <class V, class I, class O>
cmrs_view<V, I, O, space::cuda> padded(device_csr<V, I, O> const& a, cmrs_layout const& layout,
                                       double limit, result const& to) {
  auto const n = static_cast<std::size_t>(a.rows);
  auto const h = static_cast<std::size_t>(layout.height);
  std::size_t const strips = ceil_div(n, h);
  scratch<unsigned long long> const slots(strips + 1, to.stream());
  each(strips, to.stream(), [=, slots = slots.get()] __device__(std::size_t s) {
    slots[s] = detail::warps_of(a.row_ptr, s * h, min(n, (s + 1) * h), layout) *
               static_cast<std::size_t>(layout.warp);
  });
  to_pointers(slots.get(), strips, to.stream());
  std::size_t const stored = last_of(slots.get(), strips, to.stream());
  detail::check_strip_sizes<V, I, O>(strips, stored, detail::bytes_of(a), limit);
  O* const strip_ptr = to.take<O>(strips + 1);
  I* const col = to.take<I>(stored);
  V* const val = to.take<V>(stored);
  each(strips + 1, to.stream(), [=, slots = slots.get()] __device__(std::size_t s) {
    strip_ptr[s] = static_cast<O>(slots[s]);
    if (s == strips)
      return;
    auto const warps =
        static_cast<std::size_t>(slots[s + 1] - slots[s]) / static_cast<std::size_t>(layout.warp);
    detail::write_warps(a, s * h, min(n, (s + 1) * h), warps, layout, col + slots[s],
                        val + slots[s]);
  });
  return {unchecked, a.rows, a.cols, a.nnz, static_cast<O>(stored), layout, strip_ptr, col, val};
}

template <class V, class I, class O>
cmrs_view<V, I, O, space::cuda> from_csr(device_csr<V, I, O> const& a, cmrs_options const& o,
                                         result const& to) {
  cmrs_layout const layout = detail::layout_of(o);
  detail::check_column_words(a.cols, layout);
  canonical<V, I, O> const c(a, to.stream());
  if (o.padded)
    return padded(c.view, layout, o.limit, to);
  device_csr<V, I, O> const from = c.view;
  auto const n = static_cast<std::size_t>(from.nnz);
  auto const rows = static_cast<std::size_t>(a.rows);
  auto const h = static_cast<std::size_t>(layout.height);
  std::size_t const strips = ceil_div(rows, h);
  O* const strip_ptr = to.take<O>(strips + 1);
  I* const col = to.take<I>(n);
  V* const val = to.take<V>(n);
  each(strips + 1, to.stream(), [=] __device__(std::size_t s) {
    strip_ptr[s] = s == 0 ? O(0) : from.row_ptr[min(rows, s * h)];
  });
  int const bits = layout.bits();
  scratch<I> const row(n, to.stream());
  expand_rows(a.rows, from.nnz, from.row_ptr, row.get(), to.stream());
  scratch<O> const order(layout.sorted && h > 1 ? n : 0, to.stream());
  bool const sorts = layout.sorted && h > 1; // strips of one row are sorted anyway
  if (sorts && n != 0) {
    scratch<I> const strip(n, to.stream()), sorted(n, to.stream());
    each(n, to.stream(), [=, row = row.get(), strip = strip.get()] __device__(std::size_t k) {
      strip[k] = row[k] >> bits;
    });
    order_by(static_cast<I>(strips), a.cols, from.nnz, static_cast<I const*>(strip.get()), from.col,
             sorted.get(), order.get(), to.stream());
  }
  each(n, to.stream(), [=, row = row.get(), order = order.get()] __device__(std::size_t at) {
    std::size_t const k = sorts ? static_cast<std::size_t>(order[at]) : at;
    col[at] = from.col[k] << bits | (row[k] & static_cast<I>(h - 1));
    val[at] = from.val[k];
  });
  return {unchecked, a.rows, a.cols, from.nnz, from.nnz, layout, strip_ptr, col, val};
}

} // namespace

TULLE_INSTANTIATE_CUDA_CONVERT(cmrs)

} // namespace tulle::kernels::cuda

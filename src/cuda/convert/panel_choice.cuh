// SPDX-License-Identifier: Apache-2.0

// Which rows and which columns of a csr stand together in panels.
#pragma once
#include "tulle/format/panels.hpp"

#include "cuda/convert/convert.cuh"
#include "cuda/primitive/search.cuh"
#include "cuda/sort_by_key.cuh"
#include "format/detail/panel_choice.hpp"

#include <algorithm>

namespace tulle::kernels::cuda {
namespace {

/// As detail::choose_groups: where groups of rows begin. If only the height ends groups, they are
/// known at once; otherwise one thread finds one after the other.
template <class V, class I, class O>
I* choose_groups(device_csr<V, I, O> const& a, panels_options const& o, result const& to,
                 std::size_t& groups) {
  auto const rows = static_cast<std::size_t>(a.rows);
  auto const height = static_cast<std::size_t>(o.height);
  std::size_t const least = std::min(height, detail::few_rows);
  if (least == height) {
    groups = ceil_div(rows, height);
    I* const ptr = to.take<I>(groups + 1);
    each(groups + 1, to.stream(),
         [=] __device__(std::size_t g) { ptr[g] = static_cast<I>(min(rows, g * height)); });
    return ptr;
  }
  std::size_t const most = ceil_div(rows, least); // groups
  std::size_t const share = static_cast<std::size_t>(a.nnz) / detail::many_groups + 1;
  scratch<I> const ends(most + 1, to.stream());
  counter const found(to.stream());
  each(1, to.stream(),
       [=, row_ptr = a.row_ptr, ptr = ends.get(), found = found.get()] __device__(std::size_t) {
         std::size_t g = 0;
         ptr[0] = 0;
         for (std::size_t i = 0; i < rows; ptr[++g] = static_cast<I>(i)) {
           // The first row past the share, by row_ptr, limited to between least and height rows.
           std::size_t const within = min(height, rows - i);
           std::size_t const end = static_cast<std::size_t>(row_ptr[i]) + share;
           std::size_t wanted = 1;
           for (std::size_t left = within - 1; left > 0;) {
             std::size_t const half = left / 2;
             bool const below = static_cast<std::size_t>(row_ptr[i + wanted + half]) < end;
             wanted += below ? half + 1 : 0;
             left = below ? left - half - 1 : half;
           }
           i = min(rows, i + max(least, min(wanted, height)));
         }
         *found = g;
       });
  groups = static_cast<std::size_t>(found.value());
  return to.copy(static_cast<I const*>(ends.get()), groups + 1);
}

/// As detail::column_classes::of.
__device__ int class_of(unsigned long long n) {
  return 64 - __clzll(static_cast<long long>(n));
}

/// As detail::choose_panels: sets the width and, where columns are ordered by their entries,
/// v.order and v.places. Returns whether they are ordered.
template <class V, class I, class O>
bool choose_order(device_csr<V, I, O> const& a, panels_options const& o, result const& to,
                  panels_view<V, I, O, space::cuda>& v) {
  if (!detail::choose_width(a, o, v.width))
    return false;
  void* const stream = to.stream();
  auto const s = static_cast<cudaStream_t>(stream);
  auto const cols = static_cast<std::size_t>(a.cols);
  constexpr int most = detail::column_classes::most;
  using count = unsigned long long;
  scratch<count> const counts(cols, stream), of_class(2 * (most + 1), stream);
  TULLE_CUDA(cudaMemsetAsync, counts.get(), 0, cols * sizeof(count), s);
  TULLE_CUDA(cudaMemsetAsync, of_class.get(), 0, 2 * (most + 1) * sizeof(count), s);
  each(static_cast<std::size_t>(a.nnz), stream,
       [col = a.col, counts = counts.get()] __device__(std::size_t k) {
         atomicAdd(counts + col[k], count(1));
       });
  each(cols, stream, [counts = counts.get(), to = of_class.get()] __device__(std::size_t j) {
    int const c = class_of(counts[j]);
    atomicAdd(to + c, count(1));
    atomicAdd(to + (most + 1) + c, counts[j]);
  });
  auto const found = fetch(of_class.get(), 2 * (most + 1), stream);
  detail::column_classes classes;
  std::copy_n(found.begin(), most + 1, classes.columns);
  std::copy_n(found.begin() + (most + 1), most + 1, classes.entries);
  if (!classes.is_hot(cols, static_cast<std::size_t>(a.nnz), o.hot))
    return false;
  if (o.width == 0)
    v.width = detail::narrow_panel;
  // By class, columns without entries last; then by panel and column.
  std::size_t const used = classes.used(cols);
  I* const order = to.take<I>(used);
  scratch<I> const key(cols, stream), sorted(cols, stream), panel(used, stream), col(used, stream);
  scratch<O> const by_class(cols, stream), by_panel(used, stream);
  each(cols, stream, [counts = counts.get(), key = key.get()] __device__(std::size_t j) {
    key[j] = static_cast<I>(most - class_of(counts[j]));
  });
  order_by(static_cast<I>(most + 1), static_cast<O>(cols), static_cast<I const*>(key.get()),
           sorted.get(), by_class.get(), stream);
  each(used, stream,
       [=, width = static_cast<std::size_t>(v.width), by_class = by_class.get(),
        panel = panel.get(), col = col.get()] __device__(std::size_t l) {
         panel[l] = static_cast<I>(l / width);
         col[l] = static_cast<I>(by_class[l]);
       });
  order_by(static_cast<I>(used / static_cast<std::size_t>(v.width) + 1), a.cols,
           static_cast<O>(used), static_cast<I const*>(panel.get()),
           static_cast<I const*>(col.get()), sorted.get(), by_panel.get(), stream);
  each(used, stream, [=, col = col.get(), by_panel = by_panel.get()] __device__(std::size_t l) {
    order[l] = col[by_panel[l]];
  });
  v.places = used;
  v.order = order;
  return true;
}

} // namespace
} // namespace tulle::kernels::cuda

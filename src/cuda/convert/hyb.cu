// SPDX-License-Identifier: Apache-2.0

// csr to hyb: the first entries of each row as ell, the others as coo, one thread per row.
#include "tulle/format/hyb.hpp"

#include "cuda/convert/padded.cuh"
#include "cuda/primitive/search.cuh"
#include "format/detail/check_room.hpp"
#include "format/detail/hyb_build.hpp"

namespace tulle::kernels::cuda {
namespace {

/// detail::width_by_lengths: the largest width that a third of the rows reach, i.e. the length of
/// the last row of that third when rows are sorted by length.
template <class V, class I, class O>
std::size_t width_by_lengths(device_csr<V, I, O> const& a, void* stream) {
  auto const n = static_cast<std::size_t>(a.rows);
  if (n == 0)
    return 0;
  scratch<I> const lengths(n, stream), sorted(n, stream);
  each(n, stream, [=, row_ptr = a.row_ptr, length = lengths.get()] __device__(std::size_t i) {
    length[i] = static_cast<I>(row_ptr[i + 1] - row_ptr[i]); // at most the number of columns
  });
  sort_keys(static_cast<I const*>(lengths.get()), sorted.get(), n, a.cols, stream);
  return static_cast<std::size_t>(fetch(sorted.get() + (n - (n + 2) / 3), 1, stream)[0]);
}

template <class V, class I, class O>
hyb_view<V, I, O, space::cuda> from_csr(device_csr<V, I, O> const& a, hyb_options o,
                                        result const& to) {
  detail::check_hyb_options(o);
  canonical<V, I, O> const c(a, to.stream());
  auto const n = static_cast<std::size_t>(a.rows);
  std::size_t const width = o.width == 0 ? width_by_lengths(c.view, to.stream())
                                         : std::min(static_cast<std::size_t>(o.width),
                                                    static_cast<std::size_t>(longest_row(
                                                        c.view.rows, c.view.row_ptr, to.stream())));
  scratch<O> const rest_ptr(n + 1, to.stream());
  each(n, to.stream(),
       [=, row_ptr = c.view.row_ptr, rest = rest_ptr.get()] __device__(std::size_t i) {
         auto const length = static_cast<std::size_t>(row_ptr[i + 1] - row_ptr[i]);
         rest[i] = static_cast<O>(length > width ? length - width : 0);
       });
  to_pointers(rest_ptr.get(), n, to.stream());
  std::size_t const rest = last_of(rest_ptr.get(), n, to.stream());
  detail::check_room("hyb", detail::hyb_bytes<V>(n, static_cast<I>(width), rest),
                     detail::bytes_of(c.view), o.limit);
  auto regular = first_entries(c.view, static_cast<I>(width), to);
  regular.nnz = static_cast<O>(c.view.nnz - static_cast<O>(rest));
  I* const row = to.take<I>(rest);
  I* const col = to.take<I>(rest);
  V* const val = to.take<V>(rest);
  each(rest, to.stream(),
       [=, rows = a.rows, from = c.view, ptr = rest_ptr.get()] __device__(std::size_t at) {
         auto const i = upper_bound(ptr, static_cast<O>(rows) + 1, static_cast<O>(at)) - 1;
         O const k = from.row_ptr[i + 1] - (ptr[i + 1] - static_cast<O>(at));
         row[at] = static_cast<I>(i);
         col[at] = from.col[k];
         val[at] = from.val[k];
       });
  return {unchecked, regular,
          coo_view<V, I, O, space::cuda>(unchecked, a.rows, a.cols, static_cast<O>(rest), row, col,
                                         val)};
}

} // namespace

TULLE_INSTANTIATE_CUDA_CONVERT(hyb)

} // namespace tulle::kernels::cuda

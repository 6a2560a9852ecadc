// SPDX-License-Identifier: Apache-2.0
#include "cuda/convert/symmetric.cuh"
#include "cuda/cub.cuh"
#include "cuda/each.cuh"
#include "cuda/primitive/search.cuh"
#include "cuda/sort_by_key.cuh"

namespace tulle::kernels::cuda {
namespace {

/// The place of (i, j) in row i; that row's end where it is not stored.
template <class V, class I, class O>
__device__ O find(device_csr<V, I, O> const& a, I i, I j) {
  O const first = a.row_ptr[i];
  O const end = a.row_ptr[i + 1];
  O const at = first + lower_bound(a.col + first, end - first, j);
  return at < end && a.col[at] == j ? at : end;
}

template <class V>
__device__ bool same_bits(V const& a, V const& b) {
  if constexpr (sizeof(V) == 4)
    return __float_as_uint(a) == __float_as_uint(b);
  else
    return __double_as_longlong(a) == __double_as_longlong(b);
}

} // namespace

template <class V, class I, class O>
void check_symmetric(char const* format, device_csr<V, I, O> const& a, void* stream) {
  detail::check_square(format, a.rows, a.cols);
  auto const n = static_cast<std::size_t>(a.nnz);
  if (n == 0)
    return;
  scratch<I> const row(n, stream);
  expand_rows(a.rows, a.nnz, a.row_ptr, row.get(), stream);
  // The first entry, row by row, whose mirror image is missing or different.
  std::size_t const first =
      fold<least>(n, stream, [=, row = row.get()] __device__(std::size_t k) -> unsigned long long {
        I const j = a.col[k];
        if (j == row[k])
          return ~0ull;
        O const twin = find(a, j, row[k]);
        return twin != a.row_ptr[j + 1] && same_bits(a.val[twin], a.val[k]) ? ~0ull : k;
      });
  if (first == ~std::size_t(0))
    return;
  detail::lone_entry<V, I> lone;
  lone.found = true;
  lone.row = fetch(row.get() + first, 1, stream)[0];
  lone.col = fetch(a.col + first, 1, stream)[0];
  lone.value = fetch(a.val + first, 1, stream)[0];
  auto const ends = fetch(a.row_ptr + lone.col, 2, stream);
  auto const length = static_cast<std::size_t>(ends[1] - ends[0]);
  auto const columns = fetch(a.col + ends[0], length, stream);
  auto const twin = std::lower_bound(columns.begin(), columns.end(), lone.row);
  if (twin != columns.end() && *twin == lone.row) {
    lone.has_twin = true;
    lone.twin = fetch(a.val + ends[0] + (twin - columns.begin()), 1, stream)[0];
  }
  detail::refuse_lone(format, lone);
}

template <class V, class I, class O>
scratch_csr<V, I, O> lower_triangle(device_csr<V, I, O> const& a, void* stream, int side) {
  auto const n = static_cast<std::size_t>(a.rows);
  scratch_csr<V, I, O> l;
  l.row_ptr = std::make_unique<scratch<O>>(n + 1, stream);
  O* const ptr = l.row_ptr->get();
  each(n, stream, [=] __device__(std::size_t i) {
    auto const m = static_cast<std::size_t>(side);
    ptr[i] = upper_bound(a.col + a.row_ptr[i], a.row_ptr[i + 1] - a.row_ptr[i],
                         static_cast<I>(min(n, i / m * m + m) - 1));
  });
  to_pointers(ptr, n, stream);
  auto const stored = static_cast<std::size_t>(fetch(ptr + n, 1, stream)[0]);
  l.col = std::make_unique<scratch<I>>(stored, stream);
  l.val = std::make_unique<scratch<V>>(stored, stream);
  each(stored, stream,
       [=, rows = static_cast<O>(a.rows), col = l.col->get(),
        val = l.val->get()] __device__(std::size_t at) {
         O const i = upper_bound(ptr, rows + 1, static_cast<O>(at)) - 1;
         O const k = a.row_ptr[i] + (static_cast<O>(at) - ptr[i]);
         col[at] = a.col[k];
         val[at] = a.val[k];
       });
  l.view = {unchecked, a.rows, a.cols, static_cast<O>(stored), ptr, l.col->get(), l.val->get()};
  return l;
}

#define TULLE_SYMMETRIC(tag, V, I, O)                                                              \
  template void check_symmetric(char const*, device_csr<V, I, O> const&, void*);                   \
  template scratch_csr<V, I, O> lower_triangle(device_csr<V, I, O> const&, void*, int);
TULLE_TYPES(TULLE_SYMMETRIC)

} // namespace tulle::kernels::cuda

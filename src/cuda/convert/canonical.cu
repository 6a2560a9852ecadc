// SPDX-License-Identifier: Apache-2.0
#include "cuda/convert/canonical.cuh"
#include "cuda/cub.cuh"
#include "cuda/each.cuh"
#include "cuda/sort_by_key.cuh"
#include "cuda/types.hpp"

#include <algorithm>
#include <cstddef>

namespace tulle::kernels::cuda {

// What the check of a csr finds.
struct csr_found {
  unsigned long long inside;  // columns that do not ascend, minus those at which a row begins
  unsigned long long empty;   // rows
  unsigned long long pointer; // the first wrong one; ~0: none
  unsigned long long column;
};

namespace {

// Columns may only fail to ascend from one row to the next, so both counts must be equal. So one
// pass suffices, without knowing the row of an entry; it never reads past the columns, whatever
// row_ptr holds.
template <class V, class I, class O>
__global__ void look_kernel(device_csr<V, I, O> a, csr_found* to) {
  auto const nnz = static_cast<std::size_t>(a.nnz);
  auto const rows = static_cast<std::size_t>(a.rows);
  std::size_t const step = gridDim.x * std::size_t{each_threads};
  std::size_t const first = blockIdx.x * std::size_t{each_threads} + threadIdx.x;
  unsigned long long inside = 0, empty = 0, pointer = ~0ull, column = ~0ull;
#pragma unroll 4
  for (std::size_t k = first; k < nnz; k += step) {
    I const j = a.col[k];
    if (j < 0 || j >= a.cols)
      column = least::join(column, k);
    inside += k > 0 && j <= a.col[k - 1];
  }
  for (std::size_t i = first; a.row_ptr && i <= rows; i += step) {
    O const k = a.row_ptr[i];
    O const next = i < rows ? a.row_ptr[i + 1] : a.nnz;
    if (next < k || (i == 0 && k != 0) || (i == rows && k != a.nnz))
      pointer = least::join(pointer, i);
    empty += i < rows && next == k;
    if (k > 0 && k < a.nnz && k < next && i < rows)
      inside -= a.col[k] <= a.col[k - 1];
  }
  fold_warp<sum>(inside, &to->inside);
  fold_warp<sum>(empty, &to->empty);
  fold_warp<least>(pointer, &to->pointer);
  fold_warp<least>(column, &to->column);
}

/// Throws errc::bad_structure if what was found is not valid.
template <class V, class I, class O>
void check_found(device_csr<V, I, O> const& a, csr_found const& f, void* stream) {
  if (f.pointer != ~0ull) {
    auto const i = static_cast<std::size_t>(f.pointer);
    auto const rows = static_cast<std::size_t>(a.rows);
    auto const p = fetch(a.row_ptr + i, i < rows ? 2 : 1, stream);
    if (i == 0 && p[0] != 0)
      fail(errc::bad_structure, "csr: row_ptr[0] is %lld, expected 0",
           static_cast<long long>(p[0]));
    if (i < rows)
      fail(errc::bad_structure, "csr: row_ptr decreases from %lld to %lld at %zu",
           static_cast<long long>(p[0]), static_cast<long long>(p[1]), i + 1);
    fail(errc::bad_structure, "csr: row_ptr ends at %lld but there are %lld entries",
         static_cast<long long>(p[0]), static_cast<long long>(a.nnz));
  }
  if (f.column != ~0ull)
    fail(errc::bad_structure, "csr: col[%llu] is %lld, outside [0, %lld)", f.column,
         static_cast<long long>(fetch(a.col + f.column, 1, stream)[0]),
         static_cast<long long>(a.cols));
}

} // namespace

template <class V, class I, class O>
csr_look<V, I, O>::csr_look(device_csr<V, I, O> const& a, void* stream, bool is_concurrent)
    : a(a), stream(stream) {
  detail::check_shape("csr", a.rows, a.cols);
  if (a.row_ptr == nullptr && (a.rows != 0 || a.nnz != 0))
    fail(errc::bad_structure, "csr: row_ptr is null, but it has %lld lines and %lld entries",
         static_cast<long long>(a.rows), static_cast<long long>(a.nnz));
  if (a.nnz < 0)
    fail(errc::bad_structure, "csr: %lld entries; that may not be negative",
         static_cast<long long>(a.nnz));
  detail::check_present("csr: col", a.col, static_cast<std::size_t>(a.nnz));
  detail::check_present("csr: val", a.val, static_cast<std::size_t>(a.nnz));
  auto const s = static_cast<cudaStream_t>(stream);
  std::size_t const n = static_cast<std::size_t>(std::max<O>(a.nnz, a.rows)) + 1;
  found = std::make_unique<scratch<csr_found>>(1, s);
  TULLE_CUDA(cudaMemsetAsync, found->get(), 0xff, sizeof(csr_found), s);
  TULLE_CUDA(cudaMemsetAsync, found->get(), 0, offsetof(csr_found, pointer), s);
  streams = std::make_unique<side_streams>(stream, is_concurrent);
  launch(look_kernel<V, I, O>, std::min(fold_blocks, ceil_div(n, std::size_t{each_threads})),
         each_threads, streams->side(0), a, found->get());
}

template <class V, class I, class O>
scratch_csr<V, I, O> compress(I rows, I cols, O nnz, I const* row, I const* col, V const* val,
                              void* stream) {
  auto const s = static_cast<cudaStream_t>(stream);
  auto const lines = static_cast<std::size_t>(rows);
  auto const n = static_cast<std::size_t>(nnz);
  scratch_csr<V, I, O> c;
  c.row_ptr = std::make_unique<scratch<O>>(lines + 1, s);
  O* const row_ptr = c.row_ptr->get();
  if (n == 0) {
    TULLE_CUDA(cudaMemsetAsync, row_ptr, 0, (lines + 1) * sizeof(O), s);
    c.view = {unchecked, rows, cols, O(0), row_ptr, nullptr, nullptr};
    return c;
  }
  scratch<I> const sorted(n, s);
  scratch<O> const order(n, s), places(n + 1, s);
  order_by(rows, cols, nnz, row, col, sorted.get(), order.get(), stream);
  // Of entries at the same place the first is kept.
  each(
      n, stream,
      [=, row = sorted.get(), order = order.get(), place = places.get()] __device__(std::size_t k) {
        place[k] = k == 0 || row[k] != row[k - 1] || col[order[k]] != col[order[k - 1]];
      });
  to_pointers(places.get(), n, stream);
  auto const kept = static_cast<std::size_t>(fetch(places.get() + n, 1, s)[0]);
  c.col = std::make_unique<scratch<I>>(kept, s);
  c.val = std::make_unique<scratch<V>>(kept, s);
  each(n, stream,
       [=, order = order.get(), place = places.get(), to_col = c.col->get(),
        to_val = c.val->get()] __device__(std::size_t k) {
         O const at = place[k];
         if (place[k + 1] == at)
           return;
         V sum = val[order[k]];
         for (std::size_t next = k + 1; next < n && place[next + 1] == at + 1; ++next)
           sum += val[order[next]];
         to_col[at] = col[order[k]];
         to_val[at] = sum;
       });
  line_pointers(rows, nnz, static_cast<I const*>(sorted.get()), row_ptr, stream);
  each(lines + 1, stream,
       [=, place = places.get()] __device__(std::size_t i) { row_ptr[i] = place[row_ptr[i]]; });
  c.view = {unchecked, rows, cols, static_cast<O>(kept), row_ptr, c.col->get(), c.val->get()};
  return c;
}

template <class V, class I, class O>
canonical<V, I, O>::canonical(csr_look<V, I, O> const& at) : view(at.a) {
  device_csr<V, I, O> const& a = at.a;
  void* const stream = at.stream;
  csr_found const f = fetch(at.found->get(), 1, at.streams->side(0))[0];
  check_found(a, f, stream);
  has_empty_rows = f.empty != 0;
  if (f.inside == 0)
    return;
  scratch<I> const row(static_cast<std::size_t>(a.nnz), stream);
  expand_rows(a.rows, a.nnz, a.row_ptr, row.get(), stream);
  copy = compress(a.rows, a.cols, a.nnz, static_cast<I const*>(row.get()), a.col, a.val, stream);
  view = copy.view;
}

#define TULLE_CANONICAL(tag, V, I, O)                                                              \
  template scratch_csr<V, I, O> compress(I, I, O, I const*, I const*, V const*, void*);            \
  template struct csr_look<V, I, O>;                                                               \
  template struct canonical<V, I, O>;
TULLE_KERNEL_TYPES(TULLE_CANONICAL)

} // namespace tulle::kernels::cuda

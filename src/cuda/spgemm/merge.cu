// SPDX-License-Identifier: Apache-2.0

// Rows of C by merges, if asked for: a block merges one row of B after the other into the current
// row, by ranks.
//
// Liu, thesis 2015, sec. 9.4: rows of more than 512 products. There as here a row begins with room
// for 256 columns; where the next row of B may not fit, the block leaves a checkpoint, the host
// takes twice the memory for all rows that are left, and they go on from there. Unlike the thesis,
// this pass only counts and holds no values; once C is allocated, a row is merged back and forth
// between its place in C and a spare one. Rows are in global memory from the beginning, not in
// shared memory.
#include "cuda/convert/convert.cuh"
#include "cuda/primitive/block.cuh"
#include "cuda/primitive/search.cuh"
#include "cuda/spgemm/forced.cuh"
#include "cuda/types.hpp"

namespace tulle::kernels::cuda {
namespace {

using number = unsigned long long;

constexpr int merge_threads = 128;                         // others were not tried
constexpr number first_room = 256, first_room_of_any = 32; // of the thesis's long rows; of all rows

/// The progress of a row: the entries of A before `next` are merged, into n columns from `at` on.
struct checkpoint {
  number row, next, n, at;
};

template <class I>
struct merge_room {
  I col[merge_threads];
  int before[merge_threads + 1]; // new columns
  block_room<int> scan;
};

/// Merges x, of n columns, and m > 0 columns of a row of B into `to`; returns their number. Values
/// are merged if has_values. A column of both keeps x's place, and B's product is added to it.
template <bool has_values, class V, class I>
__device__ number merge(I const* x, V const* x_val, number n, I const* y, V const* y_val, number m,
                        V factor, I* to, V* to_val, merge_room<I>& room) {
  int const t = threadIdx.x;
  number placed = 0, fresh = 0; // columns of x in `to`, and columns of y that x did not have
  for (number chunk = 0; chunk < m; chunk += merge_threads) {
    int const here = static_cast<int>(min(number{merge_threads}, m - chunk));
    number rank = 0;
    bool is_new = false;
    if (t < here) {
      room.col[t] = y[chunk + t];
      rank = lower_bound(x, n, room.col[t]);
      is_new = rank == n || x[rank] != room.col[t];
    }
    int const before = block_exclusive_scan<merge_threads>(is_new, room.scan);
    room.before[t] = before;
    if (t == merge_threads - 1)
      room.before[merge_threads] = before + is_new;
    if (is_new) {
      to[rank + fresh + before] = room.col[t];
      if (has_values)
        to_val[rank + fresh + before] = factor * y_val[chunk + t];
    }
    __syncthreads();
    number const stop = chunk + here == m ? n : lower_bound(x, n, y[chunk + here]);
    for (number k = placed + t; k < stop; k += merge_threads) {
      int const q = lower_bound(room.col, here, x[k]);
      number const at = k + fresh + room.before[q];
      to[at] = x[k];
      if (has_values)
        to_val[at] =
            q < here && room.col[q] == x[k] ? x_val[k] + factor * y_val[chunk + q] : x_val[k];
    }
    placed = stop;
    fresh += room.before[here];
    __syncthreads();
  }
  return n + fresh;
}

/// Merges rows from their checkpoints on, each with room for twice `columns` at its place in `now`.
/// Rows that end are counted, the others leave a new checkpoint.
template <class I, class O>
__global__ void __launch_bounds__(merge_threads)
    merge_count_kernel(pattern<I, O> a, pattern<I, O> b, checkpoint const* from, I const* before,
                       number columns, I* now, checkpoint* to, number* stopped, O* counts) {
  __shared__ merge_room<I> room;
  checkpoint row = from[blockIdx.x];
  number at = blockIdx.x * 2 * columns, other = at + columns;
  for (number k = threadIdx.x; k < row.n; k += merge_threads)
    now[at + k] = before[row.at + k];
  __syncthreads();
  number const end = a.ptr[row.row + 1];
  for (; row.next < end; ++row.next) {
    I const j = a.col[row.next];
    O const first = b.ptr[j], length = b.ptr[j + 1] - first;
    if (row.n + length > columns)
      break;
    if (length == 0)
      continue;
    row.n = merge<false, char>(now + at, nullptr, row.n, b.col + first, nullptr, length, 0,
                               now + other, nullptr, room);
    number const was = at;
    at = other;
    other = was;
  }
  if (threadIdx.x != 0)
    return;
  row.at = at;
  if (row.next == end)
    counts[row.row] = static_cast<O>(row.n);
  else
    to[atomicAdd(stopped, number{1})] = row;
}

/// Columns and values of rows whose length is known. One block per row.
template <class V, class I, class O>
__global__ void __launch_bounds__(merge_threads)
    merge_fill_kernel(pattern<I, O> a, V const* a_val, pattern<I, O> b, V const* b_val,
                      I const* list, O const* c_ptr, I* c_col, V* c_val, I* spare_col,
                      V* spare_val) {
  __shared__ merge_room<I> room;
  I const i = list[blockIdx.x];
  O const begin = a.ptr[i], end = a.ptr[i + 1], at = c_ptr[i];
  int merges = 0;
  for (O k = begin; k < end; k += merge_threads) {
    O const mine = k + threadIdx.x;
    merges += __syncthreads_count(mine < end && b.ptr[a.col[mine]] < b.ptr[a.col[mine] + 1]);
  }
  bool in_c = merges % 2 == 0; // so that the last merge ends in C
  number n = 0;
  for (O k = begin; k < end; ++k) {
    O const first = b.ptr[a.col[k]], length = b.ptr[a.col[k] + 1] - first;
    if (length == 0)
      continue;
    n = merge<true>((in_c ? c_col : spare_col) + at, (in_c ? c_val : spare_val) + at, n,
                    b.col + first, b_val + first, length, a_val[k], (in_c ? spare_col : c_col) + at,
                    (in_c ? spare_val : c_val) + at, room);
    in_c = !in_c;
  }
}

} // namespace

template <class V, class I, class O>
void count_merge(product_state const& p, operand<V, I, O> const& a, operand<V, I, O> const& b,
                 O* counts) {
  std::size_t left = rows_in(p, row_bin::tiled);
  auto from = std::make_unique<scratch<checkpoint>>(left, p.stream);
  auto before = std::make_unique<scratch<I>>(0, p.stream);
  each(left, p.stream,
       [=, list = listed<I>(p, row_bin::tiled), ptr = a.ptr,
        to = from->get()] __device__(std::size_t k) {
         to[k] = {number(list[k]), ptr[list[k]]};
       });
  number columns = p.method == spgemm_method::heap_esc_merge ? first_room : first_room_of_any;
  for (; left != 0; columns *= 2) {
    auto now = std::make_unique<scratch<I>>(2 * columns * left, p.stream);
    auto to = std::make_unique<scratch<checkpoint>>(left, p.stream);
    counter const stopped(p.stream);
    launch(merge_count_kernel<I, O>, left, merge_threads, p.stream, a, b,
           static_cast<checkpoint const*>(from->get()), static_cast<I const*>(before->get()),
           columns, now->get(), to->get(), stopped.get(), counts);
    left = static_cast<std::size_t>(stopped.value());
    from = std::move(to);
    before = std::move(now);
  }
}

template <class V, class I, class O>
void fill_merge(product_state const& p, operand<V, I, O> const& a, operand<V, I, O> const& b,
                O* c_ptr, I* c_col, V* c_val) {
  std::size_t const rows = rows_in(p, row_bin::tiled);
  if (rows == 0)
    return;
  std::size_t const nnz = last_of(c_ptr, static_cast<std::size_t>(a.rows), p.stream);
  scratch<I> const spare_col(nnz, p.stream);
  scratch<V> const spare_val(nnz, p.stream);
  launch(merge_fill_kernel<V, I, O>, rows, merge_threads, p.stream, a, a.val, b, b.val,
         listed<I>(p, row_bin::tiled), c_ptr, c_col, c_val, spare_col.get(), spare_val.get());
}

#define TULLE_MERGE(tag, V, I, O) TULLE_FORCED(merge, V, I, unsigned_t<O>)
TULLE_KERNEL_TYPES(TULLE_MERGE)

} // namespace tulle::kernels::cuda

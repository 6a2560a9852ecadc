// SPDX-License-Identifier: Apache-2.0

// Rows of C that are made of at most 32 rows of B, if asked for: a thread keeps the heads of those
// rows in a heap, ordered by column and then by the order of A's row.
//
// Liu, thesis 2015, sec. 9.4.2, there for rows of up to 32 products.
#include "cuda/spgemm/forced.cuh"
#include "cuda/types.hpp"

namespace tulle::kernels::cuda {
namespace {

constexpr int heap_threads = 64;

/// A thread's heap; its elements are interleaved with those of the other threads, so that these are
/// in different banks of shared memory.
template <class I>
struct heads {
  I* column;
  std::uint8_t* term;
  int size;

  __device__ I& column_of(int k) { return column[k * heap_threads]; }
  __device__ std::uint8_t& term_of(int k) { return term[k * heap_threads]; }
  __device__ bool is_before(int k, I c, int t) {
    return column_of(k) < c || (column_of(k) == c && term_of(k) < t);
  }
  __device__ void put(int k, I c, int t) {
    column_of(k) = c;
    term_of(k) = static_cast<std::uint8_t>(t);
  }
  /// Adds an element.
  __device__ void push(I c, int t) {
    int k = size++;
    while (k > 0 && !is_before((k - 1) / 2, c, t)) {
      put(k, column_of((k - 1) / 2), term_of((k - 1) / 2));
      k = (k - 1) / 2;
    }
    put(k, c, t);
  }
  /// Replaces the first element.
  __device__ void replace(I c, int t) {
    int k = 0;
    while (2 * k + 1 < size) {
      int child = 2 * k + 1;
      if (child + 1 < size && is_before(child + 1, column_of(child), term_of(child)))
        ++child;
      if (!is_before(child, c, t))
        break;
      put(k, column_of(child), term_of(child));
      k = child;
    }
    put(k, c, t);
  }
  __device__ void pop() {
    --size;
    if (size > 0)
      replace(column_of(size), term_of(size));
  }
};

/// Counts rows of C, or writes them once C is allocated. One thread per row.
template <bool writes, class V, class I, class O>
__global__ void __launch_bounds__(heap_threads)
    heap_kernel(pattern<I, O> a, V const* a_val, pattern<I, O> b, V const* b_val, I const* list,
                std::size_t rows, O* counts, I* c_col, V* c_val) {
  __shared__ I columns[heap_terms * heap_threads];
  __shared__ O places[heap_terms * heap_threads];
  __shared__ std::uint8_t terms[heap_terms * heap_threads];
  std::size_t const h = blockIdx.x * std::size_t{heap_threads} + threadIdx.x;
  if (h >= rows)
    return;
  I const i = list[h];
  O const begin = a.ptr[i];
  int const length = static_cast<int>(a.ptr[i + 1] - begin);
  heads<I> heap = {columns + threadIdx.x, terms + threadIdx.x, 0};
  O* const at = places + threadIdx.x;
  for (int t = 0; t < length; ++t) {
    I const j = a.col[begin + t];
    at[t * heap_threads] = b.ptr[j];
    if (b.ptr[j] < b.ptr[j + 1])
      heap.push(b.col[b.ptr[j]], t);
  }
  O to = writes ? counts[i] : O(0);
  while (heap.size > 0) {
    I const column = heap.column_of(0);
    V sum = nothing<V>();
    while (heap.size > 0 && heap.column_of(0) == column) {
      int const t = heap.term_of(0);
      O const k = at[t * heap_threads]++;
      if (writes)
        sum = sum + a_val[begin + t] * b_val[k];
      if (k + 1 < b.ptr[a.col[begin + t] + 1])
        heap.replace(b.col[k + 1], t);
      else
        heap.pop();
    }
    if (writes) {
      c_col[to] = column;
      c_val[to] = sum;
    }
    ++to;
  }
  if (!writes)
    counts[i] = to;
}

template <bool writes, class V, class I, class O>
void run_heap(product_state const& p, pattern<I, O> const& a, V const* a_val,
              pattern<I, O> const& b, V const* b_val, O* counts, I* c_col, V* c_val) {
  std::size_t const rows = rows_in(p, row_bin::heap);
  launch(heap_kernel<writes, V, I, O>, ceil_div(rows, std::size_t{heap_threads}), heap_threads,
         p.stream, a, a_val, b, b_val, listed<I>(p, row_bin::heap), rows, counts, c_col, c_val);
}

} // namespace

template <class V, class I, class O>
void count_heap(product_state const& p, operand<V, I, O> const& a, operand<V, I, O> const& b,
                O* counts) {
  char const* const none = nullptr; // no values
  run_heap<false, char, I, O>(p, a, none, b, none, counts, nullptr, nullptr);
}
template <class V, class I, class O>
void fill_heap(product_state const& p, operand<V, I, O> const& a, operand<V, I, O> const& b,
               O* c_ptr, I* c_col, V* c_val) {
  run_heap<true, V, I, O>(p, a, a.val, b, b.val, c_ptr, c_col, c_val);
}

#define TULLE_HEAP(tag, V, I, O) TULLE_FORCED(heap, V, I, unsigned_t<O>)
TULLE_KERNEL_TYPES(TULLE_HEAP)

} // namespace tulle::kernels::cuda

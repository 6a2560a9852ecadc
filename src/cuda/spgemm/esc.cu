// SPDX-License-Identifier: Apache-2.0

// Rows of C with up to 4096 products by expand, sort, compress, if asked for: products go to shared
// memory, keys of column and place are sorted by a bitonic network, and the thread that finds a
// column's first product adds those that follow.
//
// Liu, thesis 2015, sec. 9.4.2, there for 33 to 512 products. The place in the key makes the order
// stable, so products of one column are added in the order of A's row.
#include "cuda/primitive/bitonic.cuh"
#include "cuda/spgemm/forced.cuh"
#include "cuda/spgemm/short.cuh"
#include "cuda/types.hpp"

namespace tulle::kernels::cuda {
namespace {

template <int threads, int most, class V, class O>
struct esc_room {
  terms_room<threads, V, O> terms;
  V product[most];
  unsigned long long key[most]; // column, then place
};

/// Counts rows of C, or writes them once C is allocated. One block per row.
template <int threads, int items, bool writes, class V, class I, class O>
__global__ void __launch_bounds__(threads)
    esc_kernel(pattern<I, O> a, V const* a_val, pattern<I, O> b, V const* b_val, I const* list,
               O* counts, I* c_col, V* c_val) {
  extern __shared__ double2 short_room[];
  auto& room = *reinterpret_cast<esc_room<threads, threads * items, V, O>*>(short_room);
  I const i = list[blockIdx.x];
  int n = 0;
  each_chunk<threads, writes>(a.ptr[i], a.ptr[i + 1], a, a_val, b, room.terms, [&](int products) {
    for (int q = threadIdx.x; q < products; q += threads) {
      int const r = row_of(room.terms, q);
      O const k = room.terms.start[r] + q;
      room.key[n + q] = key_of(b.col[k], n + q);
      if (writes)
        room.product[n + q] = room.terms.factor[r] * b_val[k];
    }
    n += products;
  });
  int const all = power_of_two(n);
  for (int k = n + threadIdx.x; k < all; k += threads)
    room.key[k] = ~0ull;
  bitonic_sort<threads>(room.key, all);
  auto const is_head = [&](int k) {
    return k < n && (k == 0 || key_column(room.key[k]) != key_column(room.key[k - 1]));
  };
  int const first = threadIdx.x * items;
  int heads = 0;
  for (int k = first; k < first + items; ++k)
    heads += is_head(k);
  int const before = block_exclusive_scan<threads>(heads, room.terms.scan);
  if constexpr (!writes) {
    if (threadIdx.x == threads - 1)
      counts[i] = before + heads;
  } else {
    O at = counts[i] + before;
    for (int k = first; k < first + items; ++k)
      if (is_head(k)) {
        V sum = nothing<V>();
        int next = k;
        do
          sum = sum + room.product[key_place(room.key[next])];
        while (++next < n && !is_head(next));
        c_col[at] = static_cast<I>(key_column(room.key[k]));
        c_val[at++] = sum;
      }
  }
}

template <bool writes, class V, class I, class O>
void run_esc(product_state const& p, pattern<I, O> const& a, V const* a_val, pattern<I, O> const& b,
             V const* b_val, O* counts, I* c_col, V* c_val) {
  check_keys("esc", b.cols);
  each_short_bin<I>(p, [&](auto threads, auto items, std::size_t rows, I const* list) {
    launch_shared(esc_kernel<threads(), items(), writes, V, I, O>, rows, threads(),
                  sizeof(esc_room<threads(), threads() * items(), V, O>), p.stream, a, a_val, b,
                  b_val, list, counts, c_col, c_val);
  });
}

} // namespace

template <class V, class I, class O>
void count_esc(product_state const& p, operand<V, I, O> const& a, operand<V, I, O> const& b,
               O* counts) {
  char const* const none = nullptr; // no values
  run_esc<false, char, I, O>(p, a, none, b, none, counts, nullptr, nullptr);
}
template <class V, class I, class O>
void fill_esc(product_state const& p, operand<V, I, O> const& a, operand<V, I, O> const& b,
              O* c_ptr, I* c_col, V* c_val) {
  run_esc<true, V, I, O>(p, a, a.val, b, b.val, c_ptr, c_col, c_val);
}

#define TULLE_ESC(tag, V, I, O) TULLE_FORCED(esc, V, I, unsigned_t<O>)
TULLE_KERNEL_TYPES(TULLE_ESC)

} // namespace tulle::kernels::cuda

// SPDX-License-Identifier: Apache-2.0

// Methods that compute the rows of a bin only if asked for. Each counts the entries of its rows,
// and writes columns and values together.
#pragma once
#include "cuda/spgemm/pattern.cuh"

namespace tulle::kernels::cuda {

/// A sort key in shared memory: a column, and its number among up to 8192.
__device__ inline unsigned long long key_of(long long column, int place) {
  return static_cast<unsigned long long>(column) << 13 | static_cast<unsigned>(place);
}
__device__ inline long long key_column(unsigned long long key) {
  return static_cast<long long>(key >> 13);
}
__device__ inline int key_place(unsigned long long key) {
  return static_cast<int>(key & 8191);
}
inline void check_keys(char const* method, long long cols) {
  if (cols > 1ll << 51)
    fail(errc::unsupported, "spgemm: B has %lld columns, the method %s counts up to 2^51 on cuda",
         cols, method);
}

#define TULLE_DECLARE_FORCED(method)                                                               \
  template <class V, class I, class O>                                                             \
  void count_##method(product_state const& p, operand<V, I, O> const& a,                           \
                      operand<V, I, O> const& b, O* counts);                                       \
  template <class V, class I, class O>                                                             \
  void fill_##method(product_state const& p, operand<V, I, O> const& a, operand<V, I, O> const& b, \
                     O* c_ptr, I* c_col, V* c_val);
TULLE_DECLARE_FORCED(esc)   // esc.cu
TULLE_DECLARE_FORCED(hash)  // hash.cu
TULLE_DECLARE_FORCED(heap)  // heap.cu
TULLE_DECLARE_FORCED(merge) // merge.cu; waits for the device

/// C by a sort of all products of as many rows as there is memory for: global_esc.cu. Its rows are
/// counted before. Waits for the device.
template <class V, class I, class O>
void fill_global_esc(product_state const& p, operand<V, I, O> const& a, operand<V, I, O> const& b,
                     O const* c_ptr, I* c_col, V* c_val);

/// The same for rows of many products in columns far apart, wherever they are; waits, too.
/// can_scatter(): whether there is memory for any.
bool can_scatter(std::size_t cols);
template <class V, class I, class O>
void count_scattered(product_state const& p, operand<V, I, O> const& a, operand<V, I, O> const& b,
                     O* counts);
template <class V, class I, class O>
void fill_scattered(product_state const& p, operand<V, I, O> const& a, operand<V, I, O> const& b,
                    O const* c_ptr, I* c_col, V* c_val);

#define TULLE_FORCED(method, V, I, O)                                                              \
  template void count_##method(product_state const&, operand<V, I, O> const&,                      \
                               operand<V, I, O> const&, O*);                                       \
  template void fill_##method(product_state const&, operand<V, I, O> const&,                       \
                              operand<V, I, O> const&, O*, I*, V*);

} // namespace tulle::kernels::cuda

// SPDX-License-Identifier: Apache-2.0

// What the file of a conversion includes: the result's memory, the canonical form of the input, and
// the cells of the table.
#pragma once
#include "tulle/format/csr.hpp"

#include "cuda/convert/canonical.cuh"
#include "cuda/cub.cuh"
#include "cuda/each.cuh"

#include <new>

namespace tulle::kernels::cuda {

/// Takes device memory that the caller owns; knows the stream that fills it.
class result {
public:
  explicit result(result_memory const& to) : to_(to) {}
  void* stream() const { return to_.queue; }
  /// Room for n elements; nullptr for none.
  template <class T>
  T* take(std::size_t n) const {
    if (n == 0)
      return nullptr;
    void* const p = to_.take(to_.owner, checked_mul(n, sizeof(T), "an array"));
    if (!p)
      throw failure{worded(outcome::no_memory, "convert", "no device memory for the result")};
    return static_cast<T*>(p);
  }
  /// Gives back everything taken so far.
  void begin_anew() const { to_.give_all(to_.owner); }
  /// A copy of n elements on the device.
  template <class T>
  T* copy(T const* from, std::size_t n) const {
    T* const to = take<T>(n);
    if (n != 0)
      TULLE_CUDA(cudaMemcpyAsync, to, from, n * sizeof(T), cudaMemcpyDeviceToDevice,
                 static_cast<cudaStream_t>(stream()));
    return to;
  }
  /// Room for n elements whose bytes are 0.
  template <class T>
  T* zeros(std::size_t n) const {
    T* const to = take<T>(n);
    if (n != 0)
      TULLE_CUDA(cudaMemsetAsync, to, 0, n * sizeof(T), static_cast<cudaStream_t>(stream()));
    return to;
  }
  /// A copy of row_ptr, with rows + 1 elements even where a has none.
  template <class V, class I, class O>
  O* row_ptr(device_csr<V, I, O> const& a) const {
    return a.row_ptr ? copy(a.row_ptr, static_cast<std::size_t>(a.rows) + 1) : zeros<O>(1);
  }
  /// A copy of a.
  template <class V, class I, class O>
  device_csr<V, I, O> copy(device_csr<V, I, O> const& a) const {
    auto const n = static_cast<std::size_t>(a.nnz);
    return {unchecked, a.rows, a.cols, a.nnz, row_ptr(a), copy(a.col, n), copy(a.val, n)};
  }

private:
  result_memory const& to_;
};

/// The last of n + 1 pointers. Waits for it.
template <class O>
std::size_t last_of(O const* ptr, std::size_t n, void* stream) {
  return static_cast<std::size_t>(fetch(ptr + n, 1, stream)[0]);
}

} // namespace tulle::kernels::cuda

// A cell calls the file's own from_csr(view, options, result), and to_csr(view, result) where it
// has that, of internal linkage; each returns a view.
#define TULLE_CUDA_FROM_CSR(tag, V, I, O, format)                                                  \
  static outcome from_csr_##format##_##tag(void const* a, void const* options,                     \
                                           result_memory const& to, void* view) {                  \
    return guarded([&] {                                                                           \
      device_guard const on(to.device);                                                            \
      scratch_limit const limit(to.workspace_limit);                                               \
      new (view) format##_view<V, I, O, space::cuda>(                                              \
          from_csr(*static_cast<device_csr<V, I, O> const*>(a),                                    \
                   *static_cast<format##_options const*>(options), result(to)));                   \
    });                                                                                            \
  }
#define TULLE_CUDA_TO_CSR(tag, V, I, O, format)                                                    \
  static outcome to_csr_##format##_##tag(void const* a, result_memory const& to, void* csr) {      \
    return guarded([&] {                                                                           \
      device_guard const on(to.device);                                                            \
      scratch_limit const limit(to.workspace_limit);                                               \
      new (csr) device_csr<V, I, O>(                                                               \
          to_csr(*static_cast<format##_view<V, I, O, space::cuda> const*>(a), result(to)));        \
    });                                                                                            \
  }
#define TULLE_CUDA_ONE_WAY(tag, V, I, O, format)                                                   \
  TULLE_CUDA_FROM_CSR(tag, V, I, O, format)                                                        \
  extern conversion const convert_##format##_##tag;                                                \
  conversion const convert_##format##_##tag = {from_csr_##format##_##tag, nullptr};
#define TULLE_CUDA_BOTH_WAYS(tag, V, I, O, format)                                                 \
  TULLE_CUDA_FROM_CSR(tag, V, I, O, format)                                                        \
  TULLE_CUDA_TO_CSR(tag, V, I, O, format)                                                          \
  extern conversion const convert_##format##_##tag;                                                \
  conversion const convert_##format##_##tag = {from_csr_##format##_##tag, to_csr_##format##_##tag};

/// The conversion for every pair of TULLE_TYPES; for every pair of types.def; for every pair of
/// types.def and in both directions.
#define TULLE_INSTANTIATE_CUDA_CONVERT(format) TULLE_TYPES(TULLE_CUDA_ONE_WAY, format)
#define TULLE_INSTANTIATE_CUDA_CONVERT_BASIC(format) TULLE_KERNEL_TYPES(TULLE_CUDA_ONE_WAY, format)
#define TULLE_INSTANTIATE_CUDA_CONVERT_BASIC_BACK(format)                                          \
  TULLE_KERNEL_TYPES(TULLE_CUDA_BOTH_WAYS, format)

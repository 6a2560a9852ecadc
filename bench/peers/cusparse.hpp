// SPDX-License-Identifier: Apache-2.0

/// What the files of the cuSPARSE peer share: checked calls, owners of what CUDA hands out, and the
/// problem in device memory. Everything runs on the default stream, so that the events of the
/// stopwatch lie in order with it.
#pragma once
#include "tulle/core/fail.hpp"

#include "bench/peers/peer.hpp"

#include <chrono>
#include <cstdint>
#include <cuda_runtime_api.h>
#include <cusparse.h>
#include <exception>
#include <memory>
#include <type_traits>

namespace tulle::bench {

template <class V, class I>
std::vector<contestant> contestants(spmv_problem<V, I> const& p);
template <class V, class I>
std::vector<contestant> contestants(spmm_problem<V, I> const& p);
template <class V, class I>
std::vector<contestant> contestants(spgemm_problem<V, I> const& p);

} // namespace tulle::bench

/// CHECKED(cusparseSpMV, arguments...): the call, and errc::backend where it fails.
#define CHECKED(function, ...) ::tulle::bench::cuda::check(function(__VA_ARGS__), #function)

namespace tulle::bench::cuda {

inline void check(cudaError_t status, char const* call) {
  if (status != cudaSuccess) {
    cudaGetLastError(); // else the next call that looks there finds it again
    fail(errc::backend, "cusparse: %s: %s", call, cudaGetErrorName(status));
  }
}
inline void check(cusparseStatus_t status, char const* call) {
  if (status != CUSPARSE_STATUS_SUCCESS) {
    cudaGetLastError();
    fail(errc::backend, "cusparse: %s: %s", call, cusparseGetErrorName(status));
  }
}

template <class V>
constexpr cudaDataType value_type = std::is_same_v<V, float> ? CUDA_R_32F : CUDA_R_64F;
template <class I>
constexpr cusparseIndexType_t index_type = sizeof(I) == 4 ? CUSPARSE_INDEX_32I : CUSPARSE_INDEX_64I;
constexpr auto plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
constexpr auto from_zero = CUSPARSE_INDEX_BASE_ZERO;

/// Bytes that are allocated, and the most there ever were.
struct meter {
  std::size_t now = 0;
  std::size_t peak = 0;
};

/// Device memory. It is shared because contestants are copied.
using buffer = std::shared_ptr<void>;
using memory_pool = std::shared_ptr<std::remove_pointer_t<cudaMemPool_t>>;
/// From cudaMalloc, or from a pool where one is given; a meter counts it until it is freed.
buffer allocate(std::size_t bytes, memory_pool const& pool = nullptr,
                std::shared_ptr<meter> const& counted = nullptr);

template <class T>
buffer upload(T const* from, std::size_t size) {
  buffer const to = allocate(size * sizeof(T));
  CHECKED(cudaMemcpy, to.get(), from, size * sizeof(T), cudaMemcpyHostToDevice);
  return to;
}
template <class T>
void download(buffer const& from, std::size_t size, T* to) {
  CHECKED(cudaMemcpy, to, from.get(), size * sizeof(T), cudaMemcpyDeviceToHost);
}

using matrix = std::shared_ptr<cusparseSpMatDescr const>;

/// What all contestants of a problem share.
struct device {
  std::shared_ptr<cusparseContext> handle;
  std::shared_ptr<stopwatch> watch;
  std::string library; ///< "cuSPARSE 12.6.3"
};
/// errc::backend where there is no GPU.
device open_device();

template <class V, class I>
struct device_csr {
  I rows, cols, nnz;
  buffer row_ptr, col, val;

  explicit device_csr(csr_view<V, I, I> a)
      : rows(a.rows), cols(a.cols), nnz(a.nnz), col(upload(a.col, static_cast<std::size_t>(nnz))),
        val(upload(a.val, static_cast<std::size_t>(nnz))) {
    I const none = 0;
    row_ptr = a.row_ptr ? upload(a.row_ptr, static_cast<std::size_t>(rows) + 1) : upload(&none, 1);
  }

  std::size_t bytes() const {
    return static_cast<std::size_t>(nnz) * (sizeof(V) + sizeof(I)) +
           (static_cast<std::size_t>(rows) + 1) * sizeof(I);
  }
  /// A new one each time: preprocessing ties a workspace to a descriptor.
  matrix describe() const {
    cusparseConstSpMatDescr_t made;
    CHECKED(cusparseCreateConstCsr, &made, rows, cols, nnz, row_ptr.get(), col.get(), val.get(),
            index_type<I>, index_type<I>, from_zero, value_type<V>);
    return {made, cusparseDestroySpMat};
  }
};

/// A matrix in the format that it multiplies in.
struct stored {
  matrix descriptor;
  std::vector<buffer> arrays;
  std::size_t bytes = 0;
  std::int64_t rows = 0, cols = 0; ///< as the library sees them: whole blocks
};
template <class V, class I>
stored as_csr(device_csr<V, I> const& a) {
  return {a.describe(), {a.row_ptr, a.col, a.val}, a.bytes(), a.rows, a.cols};
}
/// Columns and values are a's; row indices are made on the device for int32, on the host for int64,
/// which no routine of the library takes.
template <class V, class I>
stored as_coo(device const& on, device_csr<V, I> const& a);

/// Where results lie. Contestants share it: twenty results of a large spmm would not fit.
struct output {
  buffer values;
  std::size_t bytes;
  int last = -1; ///< whose result it is

  explicit output(std::size_t bytes) : values(allocate(bytes)), bytes(bytes) {}
  void poison() {
    CHECKED(cudaMemset, values.get(), 0xff, bytes); // NaN, in either type
    last = -1;
  }
  void require(int who) const {
    if (last != who)
      fail(errc::backend, "cusparse: the result is that of another run");
  }
};

/// A device-to-device copy that reads and writes `bytes` together: what no kernel that moves as
/// many passes.
contestant copy_bound(device const& on, std::size_t bytes);

contestant named(device const& on, std::string format, std::string const& path);

/// Seconds of f() when done a second time: in the first the driver loads kernels.
template <class F>
double seconds_of(F&& f) {
  f();
  CHECKED(cudaDeviceSynchronize);
  auto const start = std::chrono::steady_clock::now();
  f();
  CHECKED(cudaDeviceSynchronize);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Adds what make() gives after a run for trial. What the library refuses, or what does not fit
/// the memory, is left out. Throws where the device fails for good, as after a wild access.
template <class F>
void attempt(std::vector<contestant>& to, F&& make) {
  try {
    contestant c = make();
    c.run();
    CHECKED(cudaDeviceSynchronize);
    to.push_back(std::move(c));
  } catch (std::exception const&) {
    CHECKED(cudaDeviceSynchronize);
  }
}

} // namespace tulle::bench::cuda

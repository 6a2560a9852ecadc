// SPDX-License-Identifier: Apache-2.0

// A dynamic matrix as the module keeps it.
#pragma once
#include "tulle/core/narrow.hpp"

#include "cuda/convert/canonical.cuh"
#include "cuda/dynamic/rows.cuh"
#include "cuda/dynamic/table.hpp"
#include "cuda/workspace.cuh"

#include <limits>
#include <utility>

namespace tulle::simt {

/// Device memory of the caller's.
class owned {
public:
  owned() = default;
  owned(cuda_memory const& from, std::size_t bytes) : from_(from), bytes_(bytes) {
    if (bytes == 0)
      return;
    p_ = from.take(from.owner, bytes);
    if (!p_)
      throw failure{{cuda_status::no_memory, "dynamic_csr", "no device memory"}};
  }
  owned(owned&& other) noexcept { swap(other); }
  owned& operator=(owned other) noexcept {
    swap(other);
    return *this;
  }
  ~owned() {
    if (p_)
      from_.give(from_.owner, p_);
  }
  template <class T>
  T* as() const {
    return static_cast<T*>(p_);
  }
  std::size_t bytes() const { return bytes_; }

private:
  void swap(owned& other) noexcept {
    std::swap(from_, other.from_);
    std::swap(p_, other.p_);
    std::swap(bytes_, other.bytes_);
  }
  cuda_memory from_{};
  void* p_ = nullptr;
  std::size_t bytes_ = 0;
};

/// What a batch finds out on the device, and the host reads when it is through.
struct findings {
  unsigned long long bad;     // n less the first entry that is outside; 0: none is
  unsigned long long places;  // wanted
  unsigned long long longest; // row, where longer than those before
  unsigned long long fresh, removed;
  int levels; // tables wanted
  int full;   // a row has no segment left
};

template <class V, class I>
struct matrix {
  cuda_dynamic_options o;
  I rows, cols;
  std::size_t entries = 0;
  std::size_t capacity = 0; // places of the pool
  std::size_t used = 0;     // of them
  std::size_t longest = 0;  // no row has more entries
  bool compact = true;      // no row has entries beyond its first segment, or fewer
  owned length, first;
  owned further; // tables of segments
  int levels = 0;
  owned col, val;
  owned found;              // findings
  findings* read = nullptr; // pinned
  owned work;               // of batches
  std::size_t counted = 0;  // entries that it is for
  std::size_t room_bytes = 0;
  owned row_ptr, plan; // of products
  bool planned = false;
  plan_view how;
  cuda_spmv_kernel const* csr = nullptr; // of a compact one
  cudaEvent_t order = nullptr;

  cudaStream_t stream() const { return static_cast<cudaStream_t>(o.stream); }
  std::size_t pitch() const { return (static_cast<std::size_t>(rows) + 31) / 32 * 32; }
  fragments<V, I> view() const {
    return {
        rows,           static_cast<I>(entries), row_ptr.as<I>(),          col.as<I>(), val.as<V>(),
        length.as<I>(), first.as<I>(),           further.as<segment<I>>(), pitch(),     levels};
  }
  /// Of a compact one.
  device_csr<V, I, I> as_csr() const {
    return {unchecked,     rows,        cols,       static_cast<I>(entries),
            first.as<I>(), col.as<I>(), val.as<V>()};
  }
  owned take(std::size_t n, std::size_t each) const {
    return owned(o.memory, checked_mul(n, each, "dynamic_csr"));
  }

  matrix(cuda_dynamic_options const& options, cuda_spmv_kernel const* csr_kernel)
      : o(options), rows(static_cast<I>(options.rows)), cols(static_cast<I>(options.cols)),
        csr(csr_kernel) {
    TULLE_CUDA(cudaMallocHost, &read, sizeof(findings));
    TULLE_CUDA(cudaEventCreateWithFlags, &order, cudaEventDisableTiming);
  }
  ~matrix() {
    if (order)
      cudaEventDestroy(order);
    cudaFreeHost(read);
  }
  matrix(matrix const&) = delete;
  matrix& operator=(matrix const&) = delete;
};

// matrix.cu
/// errc::overflow, errc::out_of_memory where a pool of so many places may not be.
template <class V, class I>
void check_places(matrix<V, I> const& m, std::size_t places);
/// A pool of at least so many places, with the entries where they are.
template <class V, class I>
void grow(matrix<V, I>& m, std::size_t places);
/// All rows in their first segments, as they are or sorted, or sorted and added up.
template <class V, class I>
void defragment(matrix<V, I>& m, bool sort, bool combine);

// change.cu
template <class V, class I>
void change(matrix<V, I>& m, cuda_batch const& b);
/// Entries in the order of their rows.
template <class V, class I>
void insert_sorted(matrix<V, I>& m, std::size_t n, I const* row, I const* col, V const* val);

} // namespace tulle::simt

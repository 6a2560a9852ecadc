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

/// Entries behind its first segment beyond which blocks share a row.
constexpr int long_behind = 4096;

/// What a batch finds out on the device.
struct findings {
  unsigned long long bad;    // n less the first entry that is outside; 0: none is
  unsigned long long places; // wanted
  unsigned long long grown;  // rows that are not listed yet
  unsigned long long fresh, removed;
  int levels;      // tables wanted
  int full;        // a row has no segment left
  int holes;       // a row has fewer entries than its first segment has places
  int crowded;     // a row has more than long_behind behind it
  unsigned listed; // entries of rows that have several: counted.cuh
  unsigned crowds; // rows that have many
};

/// The same as the host hears it, in pinned memory; `number` is that of the try, and comes last.
struct notice {
  findings found;
  unsigned number;
};

/// How segments are given, as numbers.
struct growth {
  double factor;
  std::size_t plus;
  int most;         // segments behind the first
  std::size_t used; // places
  std::size_t capacity;
  std::size_t grown, most_grown; // rows
  bool tight;                    // no slack: there are no places for it
};

/// What the kernels of a batch are given.
template <class V, class I>
struct batch {
  std::size_t n;
  I const *row, *col; // as they came
  V const* val;
  fragments<V, I> a;
  growth g;
  findings* found;
  findings* next; // of the next batch: the first kernel of this one clears them
};

template <class V, class I>
struct matrix {
  cuda_dynamic_options o;
  I rows, cols;
  std::size_t entries = 0;
  std::size_t capacity = 0; // places of the pool
  std::size_t used = 0;     // of them
  std::size_t in_first = 0; // entries of first segments, when they were made
  bool compact = true;      // all entries are in first segments, which are full
  bool holes = false;       // some first segments are not
  bool crowded = false;     // some rows may have more than long_behind behind theirs
  double debt = 0;          // what products paid for entries behind: matrix.cu
  owned length, first;
  owned listed, grown; // rows that have grown
  std::size_t grown_rows = 0;
  owned further; // tables of segments
  int levels = 0;
  owned col, val;
  owned found; // of this batch and the next, in turns
  int turn = 0;
  notice* heard = nullptr; // pinned
  unsigned tries = 0;
  owned tallies;           // of rows: counted.cuh
  bool is_tallied = false; // they are not all zero
  owned work;              // of batches
  std::size_t counted = 0; // entries that it is for
  std::size_t room_bytes = 0;
  owned row_ptr, scan;        // of copies
  owned plan;                 // of products with the first segments
  owned shared;               // of products with rows that are crowded: behind.cuh
  std::size_t shared_for = 0; // entries behind
  bool planned = false;
  plan_view how;
  cuda_spmv_kernel const* csr = nullptr;
  cudaEvent_t order = nullptr;

  cudaStream_t stream() const { return static_cast<cudaStream_t>(o.stream); }
  std::size_t pitch() const { return (static_cast<std::size_t>(rows) + 31) / 32 * 32; }
  fragments<V, I> view() const {
    return {rows,
            static_cast<I>(entries),
            row_ptr.as<I>(),
            col.as<I>(),
            val.as<V>(),
            length.as<I>(),
            first.as<I>(),
            listed.as<I>(),
            grown.as<grown_row<I>>(),
            further.as<segment<I>>(),
            pitch(),
            levels};
  }
  /// The first segments.
  device_csr<V, I, I> as_csr() const {
    return {unchecked,     rows,        cols,       static_cast<I>(in_first),
            first.as<I>(), col.as<I>(), val.as<V>()};
  }
  owned take(std::size_t n, std::size_t each) const {
    return owned(o.memory, checked_mul(n, each, "dynamic_csr"));
  }

  matrix(cuda_dynamic_options const& options, cuda_spmv_kernel const* csr_kernel)
      : o(options), rows(static_cast<I>(options.rows)), cols(static_cast<I>(options.cols)),
        csr(csr_kernel) {
    TULLE_CUDA(cudaMallocHost, &heard, sizeof(notice));
    *heard = {};
    TULLE_CUDA(cudaEventCreateWithFlags, &order, cudaEventDisableTiming);
  }
  ~matrix() {
    if (order)
      cudaEventDestroy(order);
    cudaFreeHost(heard);
  }
  matrix(matrix const&) = delete;
  matrix& operator=(matrix const&) = delete;
};

/// Places that a pool may have.
template <class V, class I>
std::size_t most_places(matrix<V, I> const& m) {
  constexpr auto most = static_cast<std::size_t>(std::numeric_limits<I>::max());
  return m.o.limit < most ? m.o.limit : most;
}

// matrix.cu
/// A pool of at least so many places, with the entries where they are.
template <class V, class I>
void grow(matrix<V, I>& m, std::size_t places);

// defragment.cu
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

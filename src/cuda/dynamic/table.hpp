// SPDX-License-Identifier: Apache-2.0

// What the library and libtulle_cuda.so know of each other about dynamic matrices: a table of its
// own, behind an entry point of its own.
#pragma once
#include "tulle/op/spgemm_method.hpp"
#include "tulle/view/dense.hpp"

#include "cuda/module.hpp"

namespace tulle {

/// Whose memory a matrix takes: take() gives nullptr where there is none, and the owner knows why.
struct cuda_memory {
  void* owner;
  void* (*take)(void* owner, std::size_t bytes);
  void (*give)(void* owner, void* p);
};

struct cuda_dynamic_options {
  int device;
  void* stream;
  cuda_memory memory;
  double factor; // of dynamic_slack
  std::size_t plus;
  bool mean;
  std::size_t width;
  int segments;
  bool combine; // duplicates at once
  bool combine_at_defragmenting;
  bool exact;                  // rows have their entries in the order they came
  bool maps;                   // the pool is mapped, and grows in its place
  std::size_t limit;           // places
  std::size_t workspace_limit; // bytes, of products of matrices
  long long rows, cols;
};

enum class dynamic_change : int { insert, assign, erase, scale };

/// Entries that are wherever the driver finds them.
struct cuda_batch {
  dynamic_change kind;
  std::size_t n;
  void const* row;
  void const* col; // none where rows are scaled
  void const* val; // none where entries are erased
  bool on_host;
};

struct cuda_dynamic_shape {
  std::size_t entries, places, segments, bytes;
  bool compact;
};

/// One cell of the table. A matrix is the module's own; calls on one are one after the other.
struct cuda_dynamic_kernel {
  /// Of a csr's view on the device; nullptr: without entries.
  cuda_status (*make)(cuda_dynamic_options const& o, void const* csr, void*& matrix);
  void (*drop)(void* matrix);
  cuda_status (*change)(void* matrix, cuda_batch const& batch);
  cuda_status (*merge)(void* matrix, void const* csr);
  /// Of two csr's views.
  cuda_status (*add_product)(void* matrix, void const* b, void const* c, spgemm_method method);
  cuda_status (*defragment)(void* matrix, bool sort, bool combine);
  /// A csr's view of the matrix, which is compact then.
  cuda_status (*freeze)(void* matrix, void* csr);
  cuda_status (*multiply)(void* matrix, void* stream, void const* alpha, void const* x,
                          void const* beta, void* y);
  cuda_status (*multiply_dense)(void* matrix, void* stream, void const* alpha,
                                detail::dense_ref const& b, void const* beta,
                                detail::dense_ref const& c);
  cuda_status (*shape)(void* matrix, cuda_dynamic_shape& to);
};

struct cuda_dynamic_module {
  int version;                                    // must be cuda_dynamic_version of the library
  cuda_dynamic_kernel const* (*kernel)(int type); // nullptr where none is built
};
inline constexpr int cuda_dynamic_version = 5;

} // namespace tulle

extern "C" tulle::cuda_dynamic_module const* tulle_cuda_dynamic_module();

// SPDX-License-Identifier: Apache-2.0

// The canonical form of a csr on the device: valid, rows sorted, duplicates summed in the order
// they were stored.
#pragma once
#include "tulle/format/csr.hpp"

#include "cuda/side_streams.cuh"
#include "cuda/workspace.cuh"

#include <memory>

namespace tulle::kernels::cuda {

template <class V, class I, class O>
using device_csr = csr_view<V, I, O, space::cuda>;

/// A csr whose memory is from the stream's pool.
template <class V, class I, class O>
struct scratch_csr {
  std::unique_ptr<scratch<O>> row_ptr;
  std::unique_ptr<scratch<I>> col;
  std::unique_ptr<scratch<V>> val;
  device_csr<V, I, O> view;
};

/// Makes a csr of triplets in any order.
template <class V, class I, class O>
scratch_csr<V, I, O> compress(I rows, I cols, O nnz, I const* row, I const* col, V const* val,
                              void* stream);

struct csr_found;

/// A running check whether a csr is canonical. If `is_concurrent`, it runs on a side stream while
/// the stream goes on; kernels launched before the answer must cope with any row_ptr.
template <class V, class I, class O>
struct csr_look {
  device_csr<V, I, O> a;
  void* stream;
  std::unique_ptr<scratch<csr_found>> found;
  std::unique_ptr<side_streams> streams;
  csr_look(device_csr<V, I, O> const& a, void* stream, bool is_concurrent = true);
};

/// As detail::canonical on the host, with the same errors. A canonical matrix is used as it is, at
/// the cost of reading its columns once. Waits for the check, and for the stream if it makes a copy
/// or fails.
template <class V, class I, class O>
struct canonical {
  scratch_csr<V, I, O> copy;
  device_csr<V, I, O> view;
  bool has_empty_rows;
  explicit canonical(csr_look<V, I, O> const& at);
  canonical(device_csr<V, I, O> const& a, void* stream) : canonical(csr_look(a, stream, false)) {}
};

} // namespace tulle::kernels::cuda

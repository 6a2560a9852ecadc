// SPDX-License-Identifier: Apache-2.0

// What the library and libtulle_cuda.so know of each other about spmm: a table of its own, behind
// an entry point of its own.
#pragma once
#include "cuda/module.hpp"
#include "kernel/spmm.hpp"

namespace tulle {

/// One cell of the table, as cuda_spmv_kernel is.
struct cuda_spmm_kernel {
  cuda_status (*prepare)(void const* a, detail::dense_ref const& b, detail::dense_ref const& c,
                         plan_view& plan, std::size_t& bytes);
  cuda_status (*fill)(void const* a, detail::dense_ref const& b, plan_view& plan);
  cuda_status (*run)(spmm_call const& call);
};

struct cuda_spmm_module {
  char const* version; // must be cuda_module_version of the library
  /// nullptr where none is built.
  cuda_spmm_kernel const* (*kernel)(int format, int type);
  /// C = beta C, of the values of a type; beta == 0 does not read C.
  cuda_status (*scale)(int device, void* stream, int type, void const* beta,
                       detail::dense_ref const& c);
  /// A column of n values of a type from one stride to another.
  cuda_status (*copy)(int device, void* stream, int type, void* to, std::size_t to_stride,
                      void const* from, std::size_t from_stride, std::size_t n);
};

} // namespace tulle

extern "C" tulle::cuda_spmm_module const* tulle_cuda_spmm_module();

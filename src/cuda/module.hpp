// SPDX-License-Identifier: Apache-2.0

// What the library and libtulle_cuda.so know of each other: a table of functions behind one C entry
// point. Nothing is thrown across; a call that fails says which, and what the driver said.
#pragma once
#include "tulle/core/fail.hpp"

#include "kernel/spmv.hpp"

#include <cstddef>

namespace tulle {

namespace detail {
struct dense_ref; // view/dense.hpp
}

struct cuda_status {
  enum : int { fine, failed, no_memory, unsupported, refused } code = fine;
  char const* call = "";
  char const* text = "";
  errc why = errc::backend; ///< where refused: as the library itself would, in the words of text
};

struct cuda_properties {
  char name[256];
  int major, minor, multiprocessors;
  std::size_t memory, free_memory, l2;
};

/// One cell of the table of kernels. prepare() looks at the matrix and asks for workspace, fill()
/// computes what run() finds there; both may wait for the device. run() puts work on a stream and
/// neither waits nor allocates.
struct cuda_spmv_kernel {
  cuda_status (*prepare)(void const* a, plan_view& plan, std::size_t& bytes);
  cuda_status (*fill)(void const* a, plan_view& plan);
  cuda_status (*run)(spmv_call const& call);
};

/// Where a conversion works, and whose memory its result takes: take() gives nullptr where there is
/// none, and the owner knows why.
struct cuda_result {
  int device;
  void* stream;
  std::size_t workspace_limit; ///< of bytes beside the result, while it works
  void* owner;
  void* (*take)(void* owner, std::size_t bytes);
  void (*give_all)(void* owner); ///< what was taken so far
};

/// One cell of the table of conversions; they wait for the device where sizes depend on what is
/// there. Views are written whole, or not at all.
struct cuda_conversion {
  cuda_status (*from_csr)(void const* csr, void const* options, cuda_result const& to, void* view);
  cuda_status (*to_csr)(void const* a, cuda_result const& to, void* csr); ///< nullptr where none is
};

struct cuda_product; // cuda/spgemm/product.hpp

/// One cell of the table of products C = A B, all three csr.
struct cuda_spgemm_kernel {
  /// C in memory of `to`, and what fill() needs beside it, in memory of `keep`. Waits for the
  /// device. The view is written whole, or not at all.
  cuda_status (*multiply)(void const* a, void const* b, cuda_result const& to,
                          cuda_result const& keep, cuda_product& product, void* c);
  /// C's values again, of operands with the patterns that product is of. Waits and allocates only
  /// if they are not canonical, rows are scattered and have no map, or the method is told to.
  cuda_status (*fill)(void const* a, void const* b, cuda_product const& product, void const* c);
};

/// On the device, -1 being the thread's current one, and in the order of the stream.
struct cuda_module {
  char const* version; // must be cuda_module_version() of the library
  cuda_status (*count)(int& devices);
  cuda_status (*describe)(int device, cuda_properties& to);
  cuda_status (*allocate)(int device, void* stream, std::size_t bytes, void*& to);
  cuda_status (*deallocate)(int device, void* stream, void* p);
  cuda_status (*copy)(int device, void* stream, void* to, void const* from, std::size_t bytes);
  cuda_status (*set)(int device, void* stream, void* to, unsigned char byte, std::size_t bytes);
  cuda_status (*synchronize)(int device, void* stream);
  /// y = beta y, of the values of a type; beta == 0 does not read y.
  cuda_status (*scale)(int device, void* stream, int type, void const* beta, void* y,
                       std::size_t n);
  /// to = conj(from), of the values of a type; they may be one.
  cuda_status (*conjugate)(int device, void* stream, int type, detail::dense_ref const& from,
                           detail::dense_ref const& to);
  /// nullptr where none is built.
  cuda_spmv_kernel const* (*spmv)(int format, int type);
  cuda_conversion const* (*convert)(int format, int type);
  cuda_spgemm_kernel const* (*spgemm)(int type);
  /// A pair of events, and the seconds between them when the second has come.
  cuda_status (*timer_make)(int device, void*& timer);
  cuda_status (*timer_start)(void* timer, void* stream);
  cuda_status (*timer_stop)(void* timer, void* stream, double& seconds);
  cuda_status (*timer_drop)(void* timer);
};

/// Versions, formats and structs of both sides must be one build's.
#define TULLE_FORMAT(name, types, spmv, spmm) #name " "
constexpr char const* cuda_module_version = "10 "
#include "tulle/format/formats.def"
    ;
#undef TULLE_FORMAT

} // namespace tulle

extern "C" tulle::cuda_module const* tulle_cuda_module();

// SPDX-License-Identifier: Apache-2.0

// What passes between op/spmv and its kernels: plain structs, since kernel files are
// compiled for instruction sets that the rest of the library may not use.
#pragma once
#include "tulle/op/spmv_method.hpp"

#include "kernel/outcome.hpp"

#include <cstddef>
#include <cstdint>

namespace tulle {

/// Told of rows whose y is as the product leaves it, by the thread that has just computed them:
/// each row once, in any order.
struct rows_done {
  void (*tell)(void const* with, std::int64_t first, std::int64_t last);
  void const* with;

  // Inlined: kernels may not leave this to the linker.
  [[gnu::always_inline]] void operator()(std::int64_t first, std::int64_t last) const {
    tell(with, first, last);
  }
};

/// What is known once per pattern. The kernel's prepare() fills info and asks for workspace; run()
/// reads it.
struct plan_view {
  int threads = 1;
  bool transposed = false;
  bool streaming = false;   // entries come from beyond the threads' own caches: prefetch pays
  bool from_memory = false; // entries come from beyond the cache that threads share
  bool once = false;        // for one call: what prepares for many is left out
  bool one_pattern = false; // set by prepare(): what it found holds for this pattern alone
  spmv_method wanted = spmv_method::automatic; // or one that the format has: prepare() may choose
  void* work = nullptr;                        // what prepare() asked for, 64-byte aligned
  char const* method = "";                     // for path(): set by prepare() or fill()
  int device = -1, multiprocessors = 0;        // of a device
  void* stream = nullptr;                      // where prepare() and fill() run; a call has its own
  rows_done const* done = nullptr;             // of csr, where `wanted` is automatic
  std::int64_t info[160] = {};                 // the kernel's own
};

struct spmv_call {
  void const* alpha;
  void const* a; // the format's view
  void const* x;
  void const* beta;
  void* y;
  plan_view const* plan;
  void* stream = nullptr; // of a device: its queue
};

/// One cell of a backend's table. prepare() looks at the matrix and asks for workspace, fill()
/// computes what run() finds there, where that is more than nothing; on a device both may wait.
/// run() neither waits nor allocates, and on the host none of them fails.
struct spmv_kernel {
  outcome (*prepare)(void const* a, plan_view& plan, std::size_t& bytes);
  outcome (*fill)(void const* a, plan_view& plan); // nullptr: there is nothing to compute
  outcome (*run)(spmv_call const& call);
};

} // namespace tulle

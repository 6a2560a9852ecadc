// SPDX-License-Identifier: Apache-2.0

/// Where and how an operation runs: the first argument of every operation.
#pragma once
#include "tulle/core/array.hpp"
#include "tulle/core/space.hpp"

#include <cstddef>
#include <cstdint>

namespace tulle {

/// Threads and SIMD on this machine.
struct cpu {
  int threads = 0; ///< 0: default_threads(); 1: the caller's alone
  std::pmr::memory_resource* memory =
      nullptr;                            ///< of results and workspace; nullptr: default_memory()
  std::size_t workspace_limit = SIZE_MAX; ///< bytes beyond operands and result
  bool exact = true;                      ///< same bits on every run (on the cpu: always)
};

/// An NVIDIA GPU. Work is put on the stream in order and is not waited for, unless a result comes
/// to the host.
struct cuda {
  int device = -1;                             ///< -1: the calling thread's current one
  void* stream = nullptr;                      ///< a cudaStream_t; nullptr: the default stream
  std::pmr::memory_resource* memory = nullptr; ///< of device memory; nullptr: the driver's
  std::size_t workspace_limit = SIZE_MAX;      ///< bytes beyond operands and result
  bool exact = true;                           ///< same bits on every run
};

/// A device of any vendor, by OpenCL. Work is put on the queue in order.
struct opencl {
  int device = -1;                             ///< -1: the first one
  void* queue = nullptr;                       ///< a cl_command_queue; nullptr: the library's own
  std::pmr::memory_resource* memory = nullptr; ///< of device memory; nullptr: the driver's
  std::size_t workspace_limit = SIZE_MAX;      ///< bytes beyond operands and result
  bool exact = true;                           ///< same bits on every run
};

/// One plain loop on one thread: what every kernel is compared with.
struct reference {
  std::pmr::memory_resource* memory = nullptr;
};

/// Any device and its queue: cuda{} and opencl{} convert to it for the parts of the library that
/// serve all devices.
struct device {
  tulle::backend backend = tulle::backend::cuda;
  int number = -1;
  void* queue = nullptr; ///< a cudaStream_t or a cl_command_queue
  std::pmr::memory_resource* memory = nullptr;
  std::size_t workspace_limit = SIZE_MAX;
  bool exact = true;

  device() = default;
  /// The default device of a memory space other than the host's.
  explicit device(tulle::space s) : backend(backend_of(s)) {}
  device(cuda const& p)
      : backend(tulle::backend::cuda), number(p.device), queue(p.stream), memory(p.memory),
        workspace_limit(p.workspace_limit), exact(p.exact) {}
  device(opencl const& p)
      : backend(tulle::backend::opencl), number(p.device), queue(p.queue), memory(p.memory),
        workspace_limit(p.workspace_limit), exact(p.exact) {}
};

/// Any policy. Operations take this, so that a policy chosen at run time needs no template.
struct where {
  tulle::backend backend = tulle::backend::cpu;
  int threads = 0; ///< of cpu
  std::pmr::memory_resource* memory = nullptr;
  std::size_t workspace_limit = SIZE_MAX;
  bool exact = true;
  int number = -1;       ///< of a device
  void* queue = nullptr; ///< of a device

  where() = default;
  where(cpu const& p)
      : threads(p.threads), memory(p.memory), workspace_limit(p.workspace_limit), exact(p.exact) {}
  where(device const& p)
      : backend(p.backend), memory(p.memory), workspace_limit(p.workspace_limit), exact(p.exact),
        number(p.number), queue(p.queue) {}
  where(cuda const& p) : where(device(p)) {}
  where(opencl const& p) : where(device(p)) {}
  where(reference const& p) : backend(tulle::backend::reference), threads(1), memory(p.memory) {}

  /// For the part of an operation that runs on the host, whatever the backend.
  cpu as_cpu() const { return {threads, memory, workspace_limit, exact}; }
  /// The device of a policy that names one.
  device as_device() const {
    device d;
    d.backend = backend;
    d.number = number;
    d.queue = queue;
    d.memory = memory;
    d.workspace_limit = workspace_limit;
    d.exact = exact;
    return d;
  }
};

inline space space_of(device const& d) {
  return space_of(d.backend);
}
inline space space_of(where const& w) {
  return space_of(w.backend);
}

namespace literals {
constexpr std::size_t operator""_KiB(unsigned long long n) {
  return n << 10;
}
constexpr std::size_t operator""_MiB(unsigned long long n) {
  return n << 20;
}
constexpr std::size_t operator""_GiB(unsigned long long n) {
  return n << 30;
}
} // namespace literals

} // namespace tulle

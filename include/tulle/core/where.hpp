// SPDX-License-Identifier: Apache-2.0

/// Where and how an operation runs: the first argument of every operation.
#pragma once
#include "tulle/core/array.hpp"

#include <cstddef>
#include <cstdint>

namespace tulle {

enum class backend : std::uint8_t { reference, cpu, cuda, opencl };
inline constexpr std::size_t backend_count = 4;

constexpr char const* name(backend b) {
  constexpr char const* names[] = {"reference", "cpu", "cuda", "opencl"};
  return names[static_cast<std::size_t>(b)];
}

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

/// One plain loop, one thread: what every kernel answers to.
struct reference {
  std::pmr::memory_resource* memory = nullptr;
};

/// Any policy. Operations take this, so that a policy chosen at run time needs no template.
struct where {
  tulle::backend backend = tulle::backend::cpu;
  int threads = 0;
  std::pmr::memory_resource* memory = nullptr;
  std::size_t workspace_limit = SIZE_MAX;
  bool exact = true;
  int device = -1;        ///< of cuda
  void* stream = nullptr; ///< of cuda

  where() = default;
  where(cpu const& p)
      : threads(p.threads), memory(p.memory), workspace_limit(p.workspace_limit), exact(p.exact) {}
  where(cuda const& p)
      : backend(tulle::backend::cuda), memory(p.memory), workspace_limit(p.workspace_limit),
        exact(p.exact), device(p.device), stream(p.stream) {}
  where(reference const& p) : backend(tulle::backend::reference), threads(1), memory(p.memory) {}

  /// For the part of an operation that runs on this machine whatever the backend is.
  cpu as_cpu() const { return {threads, memory, workspace_limit, exact}; }
};

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

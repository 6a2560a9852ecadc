// SPDX-License-Identifier: Apache-2.0

/// Where memory is. Part of every view's type, so that handing device memory to a host kernel does
/// not compile.
#pragma once
#include "tulle/version.hpp"

#include <cstddef>
#include <cstdint>

namespace tulle {

enum class space : std::uint8_t { host, cuda, opencl };

constexpr char const* name(space s) {
  constexpr char const* names[] = {"host", "cuda", "opencl"};
  return names[static_cast<std::size_t>(s)];
}

/// What runs an operation.
enum class backend : std::uint8_t { reference, cpu, cuda, opencl };
inline constexpr std::size_t backend_count = 4;

constexpr char const* name(backend b) {
  constexpr char const* names[] = {"reference", "cpu", "cuda", "opencl"};
  return names[static_cast<std::size_t>(b)];
}

/// The memory that a backend works in, and the backend that usually works there.
constexpr space space_of(backend b) {
  constexpr space spaces[] = {space::host, space::host, space::cuda, space::opencl};
  return spaces[static_cast<std::size_t>(b)];
}
constexpr backend backend_of(space s) {
  constexpr backend backends[] = {backend::cpu, backend::cuda, backend::opencl};
  return backends[static_cast<std::size_t>(s)];
}

} // namespace tulle

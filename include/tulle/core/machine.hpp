// SPDX-License-Identifier: Apache-2.0

/// What this machine has, and what the library uses of it.
#pragma once
#include "tulle/version.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace tulle {

/// The instruction sets that kernels are compiled for.
enum class isa : std::uint8_t { baseline, avx2, avx512 };
inline constexpr std::size_t isa_count = 3;

constexpr char const* name(isa i) {
  constexpr char const* names[] = {"baseline", "avx2", "avx512"};
  return names[static_cast<std::size_t>(i)];
}

/// Whether this processor runs that set and this build has it.
bool has(isa i) noexcept;
/// The set that kernels use: TULLE_ISA if set, else the best for this processor. errc::unsupported
/// if TULLE_ISA names no instruction set, or one that this processor lacks.
isa active_isa();

/// What `tulle devices` shows of the host.
struct machine {
  std::string processor;
  int cores = 0;
  std::size_t l1 = 0, l2 = 0, l3 = 0; ///< bytes of data cache, of one instance each; 0: unknown
  std::size_t memory = 0;
  static machine const& here();
};

} // namespace tulle

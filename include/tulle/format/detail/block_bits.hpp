// SPDX-License-Identifier: Apache-2.0

/// Slots of small dense blocks, one bit each: set for an entry, clear for a hole.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tulle::detail {

inline constexpr int longest_block_side = 8;

/// The n bits, at most 64, that begin at bit `at`. Always inlined, since kernels call it and share
/// no symbol with others.
[[gnu::always_inline]] constexpr std::uint64_t bits_at(std::uint64_t const* words, std::size_t at,
                                                       int n) {
  std::size_t const word = at / 64;
  int const shift = static_cast<int>(at % 64);
  std::uint64_t bits = words[word] >> shift;
  if (shift + n > 64)
    bits |= words[word + 1] << (64 - shift);
  return n == 64 ? bits : bits & ((std::uint64_t(1) << n) - 1);
}

} // namespace tulle::detail

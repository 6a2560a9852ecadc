// SPDX-License-Identifier: Apache-2.0

/// Numbers from bytes of either order, at any address.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

namespace tulle::detail {

template <class T>
T load(char const* from, bool big_endian = false) {
  std::array<char, sizeof(T)> bytes;
  std::memcpy(bytes.data(), from, sizeof(T));
  if (big_endian != (std::endian::native == std::endian::big))
    std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<T>(bytes);
}

} // namespace tulle::detail

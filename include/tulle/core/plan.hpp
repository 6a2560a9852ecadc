// SPDX-License-Identifier: Apache-2.0

/// What is computed once per pattern and reused.
#pragma once
#include "tulle/core/array.hpp"
#include "tulle/core/device.hpp"

#include <cstddef>
#include <string>

namespace tulle {

/// What every plan can say of itself. A plan belongs to one call at a time.
class plan {
public:
  /// What making it cost.
  double seconds() const noexcept { return seconds_; }
  /// What it keeps, workspace included.
  std::size_t bytes() const noexcept { return workspace_.bytes() + on_device_.bytes(); }
  /// Which road the operation takes: "cpu/avx512 csr rows, 2 threads".
  std::string const& path() const noexcept { return path_; }

protected:
  double seconds_ = 0;
  std::string path_;
  array<std::byte> workspace_;
  detail::device_block on_device_;
};

} // namespace tulle

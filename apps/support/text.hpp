// SPDX-License-Identifier: Apache-2.0

/// Numbers as people read them.
#pragma once
#include <cstdint>
#include <string>

namespace tulle::app {

/// 1234567 as "1,234,567".
std::string count_text(std::uint64_t n);
/// 1536 as "1.5 KiB".
std::string bytes_text(std::uint64_t n);
/// 0.0312 as "3.12 %". All and nothing are said only where they are true: 0.99999 is "> 99.9 %".
std::string percent_text(double fraction);
/// "1 row", "2 rows".
std::string plural(std::uint64_t n, char const* noun);

} // namespace tulle::app

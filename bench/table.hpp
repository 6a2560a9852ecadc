// SPDX-License-Identifier: Apache-2.0

/// Records as people read them.
#pragma once
#include "bench/record.hpp"

#include <string>
#include <vector>

namespace tulle::bench {

/// The table of one problem, fastest first; wrong results last and without a rank.
std::string table(std::vector<record> records, bool colour);
/// Who won where, and by how much: one line.
std::string closing_line(std::vector<record> const& records);

} // namespace tulle::bench

// SPDX-License-Identifier: Apache-2.0

/// Records as people and programs read them.
#pragma once
#include "bench/options.hpp"

#include <string>
#include <vector>

namespace tulle::bench {

/// The table of one matrix, fastest first; wrong results last and without a rank.
std::string table(std::vector<record> records, bool colour);
/// Who won where, and by how much: one line.
std::string closing_line(std::vector<record> const& records);
/// One line of JSON.
std::string json_line(record const& r);

} // namespace tulle::bench

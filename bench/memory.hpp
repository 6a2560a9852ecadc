// SPDX-License-Identifier: Apache-2.0

/// How much memory contestants may take, so that a large matrix ends with results.
#pragma once
#include <cstddef>
#include <exception>
#include <filesystem>
#include <string>

namespace tulle::bench {

/// What this process may still allocate: the least of what the machine has available, of what its
/// control groups leave, and of its address space (ulimit -v). `root` is where /proc and /sys are.
std::size_t available_memory(std::filesystem::path const& root = "/");

/// std::bad_alloc, or an error with errc::out_of_memory.
bool is_out_of_memory(std::exception const& e);

/// "1.5 GB".
std::string size_text(std::size_t bytes);

} // namespace tulle::bench

// SPDX-License-Identifier: Apache-2.0

/// Input that can be read only once, for commands that read it more often.
#pragma once
#include <string>

namespace tulle::app {

/// The path of what `path` holds, to be read any number of times, by child processes too. "-" is
/// standard input. What is no regular file is copied to memory at the first call. Other paths, and
/// the names of generators, come back as they are.
std::string rereadable(std::string const& path);

} // namespace tulle::app

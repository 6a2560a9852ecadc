// SPDX-License-Identifier: Apache-2.0

/// What `--json` prints.
#pragma once
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

namespace tulle::app {

using json = nlohmann::ordered_json;

/// One value, indented, with a newline. Bytes that are not UTF-8 (a file's comments, its name)
/// become U+FFFD; numbers that are not finite become null.
inline void print(json const& value) {
  std::string const text = value.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
}

} // namespace tulle::app

// SPDX-License-Identifier: Apache-2.0

/// What `--json` prints.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace tulle::app {

using json = nlohmann::ordered_json;

/// Where `--json[=FILE]` puts JSON; see add_json_option().
class json_output {
public:
  /// Whether it was asked for.
  explicit operator bool() const { return !path.empty(); }
  /// Whether standard output is for JSON alone: no text goes there.
  bool alone() const { return path == "-"; }

  /// One value, indented, with a newline. Bytes that are not UTF-8 (a file's comments, its name)
  /// become U+FFFD; numbers that are not finite become null. errc::io names the file.
  void print(json const& value) const;
  /// Text that is JSON already, as lines of records are.
  void write(std::string_view text) const;

  std::string path; ///< empty: no JSON; "-": standard output
};

} // namespace tulle::app

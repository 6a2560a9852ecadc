// SPDX-License-Identifier: Apache-2.0
#include "apps/support/json.hpp"

#include "tulle/core/error.hpp"

#include <cstdio>
#include <fstream>

namespace tulle::app {

void json_output::print(json const& value) const {
  write(value.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
}

void json_output::write(std::string_view text) const {
  if (alone()) {
    std::fwrite(text.data(), 1, text.size(), stdout); // main() sees whether that went well
    return;
  }
  std::ofstream file(path);
  if (!(file << text << std::flush))
    fail(errc::io, "%s: cannot be written", path.c_str());
}

} // namespace tulle::app

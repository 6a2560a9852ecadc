// SPDX-License-Identifier: Apache-2.0

/// Results as one page of HTML: no script, nothing loaded, so that it can be mailed and printed.
#pragma once
#include "bench/record.hpp"

#include <string>

namespace tulle::bench {

std::string html_page(results const& r, std::string const& title);

} // namespace tulle::bench

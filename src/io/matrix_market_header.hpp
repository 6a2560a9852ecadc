// SPDX-License-Identifier: Apache-2.0

/// The head of a Matrix Market file, and words for its errors.
#pragma once
#include "tulle/io/matrix_market.hpp"

#include "io/text_source.hpp"

namespace tulle::detail {

struct parsed_header {
  matrix_market_header header;
  std::uint64_t lines = 0; ///< up to and with the size line
};

/// Reads up to and with the size line; the source stands at the first entry then.
parsed_header read_header(text_source& source);

/// Text of a file as a message may quote it: printable, and not too long. NUL-terminated.
struct quoted {
  explicit quoted(text_range text);
  char text[64];
};

} // namespace tulle::detail

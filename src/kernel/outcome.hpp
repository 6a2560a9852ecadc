// SPDX-License-Identifier: Apache-2.0

// What a call into a backend came to. Nothing is thrown across; two words, so that it is returned
// in registers.
#pragma once
#include "tulle/core/fail.hpp"

#include <cstdint>

namespace tulle {

struct outcome {
  enum kind : std::uint8_t { fine, failed, no_memory, unsupported, refused };
  kind code = fine;
  errc why = errc::backend;   ///< where refused: as the library itself would, in the words of text
  char const* text = nullptr; ///< where not fine: what failed and why; valid until the next call
};

} // namespace tulle

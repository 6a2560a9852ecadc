// SPDX-License-Identifier: Apache-2.0
#include "tulle/version.hpp"

namespace tulle {

char const* version() noexcept {
  return TULLE_VERSION_STRING;
}

} // namespace tulle

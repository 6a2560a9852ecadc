// SPDX-License-Identifier: Apache-2.0

/// The one exception type of the library.
#pragma once
#include "tulle/core/fail.hpp"

#include <stdexcept>
#include <string>

namespace tulle {

/// What every operation throws. what() names the operation and both numbers that did not fit.
class error : public std::runtime_error {
public:
  error(errc code, std::string const& message) : std::runtime_error(message), code_(code) {}
  errc code() const noexcept { return code_; }

private:
  errc code_;
};

/// "shape_mismatch", and so on.
char const* name(errc code) noexcept;

} // namespace tulle

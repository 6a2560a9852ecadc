// SPDX-License-Identifier: Apache-2.0

// What the pool hands from a call to the threads that help it.
#pragma once
#include "tulle/core/stop.hpp"

namespace tulle::detail {

/// Of this thread: the token of its innermost stop_scope, and whether what runs may be stopped.
struct stop_state {
  std::stop_token const* token = nullptr;
  bool may_stop = false;

  bool is_wanted() const { return may_stop && token && token->stop_requested(); }
};
stop_state& this_stop() noexcept;

} // namespace tulle::detail

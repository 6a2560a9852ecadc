// SPDX-License-Identifier: Apache-2.0
#include "core/stop.hpp"

#include "tulle/core/fail.hpp"
#include "tulle/core/parallel.hpp"

namespace tulle {

stop_scope::stop_scope(std::stop_token token)
    : token_(std::move(token)), before_(std::exchange(detail::this_stop().token, &token_)) {}
stop_scope::~stop_scope() {
  detail::this_stop().token = before_;
}

namespace detail {

stop_state& this_stop() noexcept {
  thread_local stop_state state;
  return state;
}

stoppable::stoppable() : before_(std::exchange(this_stop().may_stop, true)) {
  check_stop();
}
stoppable::~stoppable() {
  this_stop().may_stop = before_;
}

void check_stop() {
  if (this_stop().is_wanted())
    fail(errc::stopped, "stopped, as was asked for");
}

} // namespace detail
} // namespace tulle

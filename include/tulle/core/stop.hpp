// SPDX-License-Identifier: Apache-2.0

/// Stopping long work from another thread.
///
///     std::stop_source stop;                            // elsewhere: stop.request_stop();
///     tulle::stop_scope const scope(stop.get_token());  // for the calls of this thread
///     auto c = tulle::spgemm(a, b);                     // throws errc::stopped soon after
///
/// Applies to long calls that make a new matrix: spgemm in all forms, galerkin, convert, optimize,
/// transpose, add and reading files, on the host. They leave their arguments as they were. Other
/// calls run to their end, since they write to what is given.
#pragma once
#include <stop_token>
#include <utility>

namespace tulle {

class stop_scope {
public:
  explicit stop_scope(std::stop_token token);
  ~stop_scope();
  stop_scope(stop_scope const&) = delete;
  stop_scope& operator=(stop_scope const&) = delete;

private:
  std::stop_token token_;
  std::stop_token const* before_;
};

} // namespace tulle

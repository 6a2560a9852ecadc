// SPDX-License-Identifier: Apache-2.0

/// Being told of what the library does in a slower way than was asked for.
///
///     tulle::set_diagnostics([](tulle::diagnostic const& d) {
///       std::fprintf(stderr, "tulle: %s: %s\n", tulle::name(d.what), d.text);
///     });
///
/// The function is called where it happens, by the thread it happens on, at the same time by
/// several. It may call the library; what that has to tell is not told. What it throws is dropped.
/// Without a function nothing is looked at, and products that run as planned look at nothing either
/// way.
#pragma once
#include "tulle/version.hpp"

#include <functional>

namespace tulle {

enum class event {
  fallback,         ///< no kernel: through csr, or column by column
  pattern_compared, ///< a plan met arrays it did not know, and all indices were read
  thread_refused,   ///< the system gave no thread: fewer do the work
  module_missing,   ///< a backend's module was asked for and cannot be used
};
/// "fallback", "pattern compared", "thread refused", "module missing".
char const* name(event e);

struct diagnostic {
  event what;
  char const* text; ///< one sentence; valid during the call
};
using diagnostics = std::function<void(diagnostic const&)>;

/// Has f called from now on, for all threads; an empty one: nobody. Returns the one before, which
/// calls that are under way may still be in.
diagnostics set_diagnostics(diagnostics f);

namespace detail {

/// Formats as printf does, and tells; for what is rare. Does not throw.
[[gnu::format(printf, 2, 3)]] void tell(event what, char const* text, ...) noexcept;

} // namespace detail
} // namespace tulle

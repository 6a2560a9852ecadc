// SPDX-License-Identifier: Apache-2.0
#include "tulle/core/diagnostics.hpp"

#include "tulle/core/limited.hpp"
#include "tulle/op/detail/hub.hpp"

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <utility>

namespace tulle {
namespace {

// All functions that were ever set: a thread may be in any of them, so none is destroyed.
struct told {
  diagnostics f;
  told const* before;
};
std::atomic<told const*> latest = nullptr;
thread_local bool is_telling = false;

} // namespace

char const* name(event e) {
  switch (e) {
  case event::fallback:
    return "fallback";
  case event::pattern_compared:
    return "pattern compared";
  case event::thread_refused:
    return "thread refused";
  case event::module_missing:
    break;
  }
  return "module missing";
}

diagnostics set_diagnostics(diagnostics f) {
  return detail::typed_memory("set_diagnostics", [&] {
    auto* const now = new told{std::move(f), latest.load()};
    while (!latest.compare_exchange_weak(now->before, now)) {
    }
    return now->before ? now->before->f : diagnostics();
  });
}

namespace detail {

void tell(event what, char const* text, ...) noexcept {
  told const* const now = latest.load(std::memory_order_acquire);
  if (!now || !now->f || is_telling)
    return;
  char line[512];
  va_list values;
  va_start(values, text);
  std::vsnprintf(line, sizeof line, text, values);
  va_end(values);
  is_telling = true;
  try {
    now->f({what, line});
  } catch (...) { // an operation does not fail for being watched
  }
  is_telling = false;
}

void tell_converted(format f) noexcept {
  tell(event::fallback, "a %s operand is converted to csr for one call", name(f));
}

} // namespace detail
} // namespace tulle

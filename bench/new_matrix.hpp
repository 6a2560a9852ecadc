// SPDX-License-Identifier: Apache-2.0

/// tulle's contestants of operations whose result is a csr: made anew in each call, or kept by a
/// plan.
#pragma once
#include "bench/peers/result.hpp"

#include <string>
#include <utility>

namespace tulle::bench {

/// f() returns the result.
template <class V, class I, class F>
contestant make_new_matrix(std::string const& operation, F f) {
  contestant c;
  c.path = operation + ", a new matrix";
  auto const kept = keep_matrix<V, I>(c);
  c.run = [kept, f = std::move(f)] {
    *kept = {}; // its memory first, as in a loop of a user's
    *kept = f();
  };
  c.run();
  c.bytes = c.peak_bytes = kept->bytes();
  return c;
}

/// f() fills the plan's result; the plan took `seconds` to make.
template <class V, class I, class Plan, class F>
contestant make_planned_matrix(std::shared_ptr<Plan> const& plan, double seconds, F f) {
  contestant c;
  c.convert_seconds = seconds;
  c.format = "csr planned";
  c.path = plan->path();
  c.bytes = plan->result().bytes();
  c.peak_bytes = c.bytes + plan->bytes();
  c.run = std::move(f);
  c.result = [plan](void* to) { *static_cast<csr<V, I, I>*>(to) = plan->result(); };
  return c;
}

} // namespace tulle::bench

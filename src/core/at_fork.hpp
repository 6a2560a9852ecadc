// SPDX-License-Identifier: Apache-2.0

// What is locked while the process forks, so that the child finds it whole.
#pragma once

namespace tulle::detail {

struct fork_handlers {
  void* with;
  void (*before)(void*);
  void (*in_parent)(void*);
  void (*in_child)(void*);
};

/// From now on, in every fork. For what lives until the process ends.
void at_fork(fork_handlers handlers);

} // namespace tulle::detail

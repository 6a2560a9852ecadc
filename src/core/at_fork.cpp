// SPDX-License-Identifier: Apache-2.0
#include "core/at_fork.hpp"

#include <mutex>
#include <pthread.h>
#include <vector>

namespace tulle::detail {
namespace {

struct all_handlers {
  std::mutex mutex;
  std::vector<fork_handlers> list;

  static all_handlers& get() {
    static auto* const all = [] {
      auto* const made = new all_handlers; // never destroyed: a fork may come at any time
      pthread_atfork(
          [] {
            get().mutex.lock();
            for (fork_handlers const& h : get().list)
              h.before(h.with);
          },
          [] {
            for (fork_handlers const& h : get().list)
              h.in_parent(h.with);
            get().mutex.unlock();
          },
          [] {
            for (fork_handlers const& h : get().list)
              h.in_child(h.with);
            get().mutex.unlock();
          });
      return made;
    }();
    return *all;
  }
};

} // namespace

void at_fork(fork_handlers handlers) {
  auto& all = all_handlers::get();
  std::lock_guard const lock(all.mutex);
  all.list.push_back(handlers);
}

} // namespace tulle::detail

// SPDX-License-Identifier: Apache-2.0

// Threads that work in step within one call of parallel(), where calls for each step would cost
// more than the step. Parts of a call must not wait for parts that nobody has begun, so a team has
// the threads that have come: the first one works alone until then, and those who come later leave
// at once.
#pragma once
#include "kernel/threads.hpp"

#include <sched.h>

namespace tulle::kernels::TULLE_ISA {
namespace {

/// Waits until done() is true, by a thread that runs or will. Where processors are scarce, it makes
/// room after a while.
template <class F>
void wait_until(F const& done) {
  for (int k = 0; !done(); ++k) {
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
    if (k >= 4096) // about 50 us
      sched_yield();
  }
}

class team {
public:
  /// done: 8 numbers for each thread that may come.
  explicit team(std::uint64_t* done, int most) : done_(done), most_(most) {
    for (int t = 0; t < most; ++t)
      done_[t * 8] = 0;
  }

  /// The number of this thread, 0 for the first one.
  int enter() { return __atomic_fetch_add(&entered_, 1, __ATOMIC_RELAXED); }
  /// Of the first thread, until it closes the team: whether all have come.
  bool is_full() const { return __atomic_load_n(&entered_, __ATOMIC_RELAXED) >= most_; }
  bool has_more() const { return __atomic_load_n(&entered_, __ATOMIC_RELAXED) > 1; }
  /// By the first thread: the team has the threads that have come, and what was written before is
  /// seen by them.
  void close() {
    int const n = __atomic_load_n(&entered_, __ATOMIC_RELAXED);
    __atomic_store_n(&size_, n < most_ ? n : most_, __ATOMIC_RELEASE);
  }
  /// By the others: false for those who have come too late.
  bool wait_for_close(int thread) const {
    wait_until([&] { return __atomic_load_n(&size_, __ATOMIC_ACQUIRE) != 0; });
    return thread < size_;
  }
  int size() const { return size_; }

  /// A thread is done with its share of the steps before `step`.
  void tell(int thread, std::int64_t step) {
    __atomic_store_n(done_ + thread * 8, static_cast<std::uint64_t>(step), __ATOMIC_RELEASE);
  }
  /// Waits until all others are.
  void wait_for(int thread, std::int64_t step) const {
    for (int t = 0; t < size_; ++t)
      if (t != thread)
        wait_until([&] {
          return __atomic_load_n(done_ + t * 8, __ATOMIC_ACQUIRE) >=
                 static_cast<std::uint64_t>(step);
        });
  }

private:
  std::uint64_t* done_;
  int most_;
  int entered_ = 0, size_ = 0;
};

} // namespace
} // namespace tulle::kernels::TULLE_ISA

// SPDX-License-Identifier: Apache-2.0

// Queues: what is put on one is written down, and runs when somebody waits for it, no earlier. So a
// library that forgets to wait reads what was there before, in every run.
#pragma once
#include "tulle/core/error.hpp"

#include "backend/backend.hpp"

#include <cstdio>
#include <functional>
#include <mutex>
#include <new>

namespace tulle::test_device {

/// Of everything.
std::recursive_mutex& device_lock();

struct failure {
  outcome came_to;
};

/// Puts it on a queue; `at` is checked. Nothing that it holds may be the caller's: the call is over
/// when it runs.
void launch(work_place const& at, std::function<void()> work);
/// Puts a release on a queue, which runs even after work that failed.
void release(work_place const& at, void* p);
/// Runs all of a queue. Throws where any of it failed.
void wait(work_place const& at);
/// errc::backend where there is no such device or queue.
void check_place(work_place const& at);

/// f(), with what it throws as an outcome.
template <class F>
outcome guarded(F&& f) noexcept {
  static thread_local char text[512]; // valid until the next call
  try {
    f();
    return {};
  } catch (failure const& e) {
    return e.came_to;
  } catch (error const& e) { // of the library's own loops, in its words
    std::snprintf(text, sizeof text, "%s", e.what());
    return {outcome::refused, e.code(), text};
  } catch (std::bad_alloc const&) {
    return {outcome::no_memory, errc::out_of_memory, "no memory is left"};
  } catch (...) {
    return {outcome::failed, errc::backend, "an exception of unknown kind"};
  }
}

void* make_queue();
void drop_queue(void* queue);
std::size_t pending(void const* queue);
std::size_t launches();
std::size_t waits();
void fail_launch(std::size_t n);
void fail_execution(std::size_t n);

} // namespace tulle::test_device

// SPDX-License-Identifier: Apache-2.0

// How many threads a call has: what it asks for, what the environment says, what the system allows.
#include "core/threads.hpp"

#include "tulle/core/fail.hpp"
#include "tulle/core/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

namespace tulle {
namespace {

std::atomic<int> limit = 0;
// As a tile of the products by rows has, which one thread goes through. Others were not measured.
std::atomic<std::size_t> least_work = 8192;
thread_local int asked_by_policy = 0;

// A number from 1 to most_threads at the beginning of a text; `rest` is what follows it. Else 0.
int number_in(char const* text, char const*& rest) {
  int n = 0;
  auto const [end, error] = std::from_chars(text, text + std::strlen(text), n);
  rest = end;
  return error == std::errc() && n >= 1 && n <= most_threads ? n : 0;
}

#ifdef __linux__
cpu_set_t processors_of_this_thread() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  return set;
}
cpu_set_t const when_loaded = processors_of_this_thread();
#endif

int count_processors() {
#ifdef __linux__
  if (int const n = CPU_COUNT(&detail::allowed_processors()); n > 0)
    return n;
#endif
  return static_cast<int>(std::thread::hardware_concurrency());
}

// Processors' worth of time that the control group allows; 0: no limit known.
int allowed_time() {
  std::string quota;
  double period = 0;
  if (std::ifstream v2("/sys/fs/cgroup/cpu.max"); !(v2 >> quota >> period)) {
    std::ifstream("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") >> quota;
    std::ifstream("/sys/fs/cgroup/cpu/cpu.cfs_period_us") >> period;
  }
  double const time = std::atof(quota.c_str()); // "max" and -1: none
  return time > 0 && period > 0 ? static_cast<int>(time / period + 0.999) : 0;
}

// Read once: getenv beside a setenv of another thread is a race.
int unlimited_default() {
  static int const found = [] {
    char const* rest = nullptr;
    if (char const* const text = std::getenv("TULLE_THREADS")) {
      int const n = number_in(text, rest);
      if (n == 0 || *rest != '\0')
        fail(errc::unsupported, "TULLE_THREADS=%s; expected a number from 1 to %d", text,
             most_threads);
      return n;
    }
    if (char const* const text = std::getenv("OMP_NUM_THREADS")) // "4,2": of the outer level
      if (int const n = number_in(text, rest); n != 0)
        return n;
    int const time = allowed_time();
    int const processors = count_processors();
    return std::clamp(time > 0 ? std::min(time, processors) : processors, 1, most_threads);
  }();
  return found;
}

} // namespace

int default_threads() {
  int const most = limit.load(std::memory_order_relaxed);
  int const n = unlimited_default();
  return most > 0 && most < n ? most : n;
}

int limit_threads(int n) {
  if (n < 0 || n > most_threads)
    fail(errc::unsupported, "limit_threads: %d; expected 0 (no limit) to %d", n, most_threads);
  return limit.exchange(n, std::memory_order_relaxed);
}

namespace detail {

#ifdef __linux__
cpu_set_t const& allowed_processors() {
  static cpu_set_t const found = [] {
    char const* const bind = std::getenv("OMP_PROC_BIND");
    bool const is_bound = bind && std::string_view(bind) != "false";
    return is_bound ? when_loaded : processors_of_this_thread();
  }();
  return found;
}
#endif

std::size_t work_per_thread() noexcept {
  return least_work.load(std::memory_order_relaxed);
}
void set_work_per_thread(std::size_t work) noexcept {
  least_work.store(work, std::memory_order_relaxed);
}

policy_threads::policy_threads(int asked) noexcept : before_(asked_by_policy) {
  asked_by_policy = asked;
}
policy_threads::~policy_threads() {
  asked_by_policy = before_;
}

} // namespace detail

int threads_of(int asked) {
  if (asked == 0)
    asked = asked_by_policy;
  if (asked == 0)
    return default_threads();
  if (asked < 0 || asked > most_threads)
    fail(errc::unsupported, "threads is %d; expected 0 (the default) to %d", asked, most_threads);
  int const most = limit.load(std::memory_order_relaxed);
  return most > 0 && most < asked ? most : asked;
}

} // namespace tulle

// SPDX-License-Identifier: Apache-2.0

/// Threads. All of the library's work goes through run_parallel(), which has threads of its own:
/// they wait for work without spinning long, survive a fork, and are as many as the system gives.
///
///     tulle::limit_threads(4);                       // no call uses more, whatever it asks for
///     tulle::spmv(tulle::cpu{.threads = 2}, ...);    // this one asks for two
#pragma once
#include <cstddef>
#include <type_traits>

namespace tulle {

/// The largest number of threads that a policy may ask for.
inline constexpr int most_threads = 1024;

/// What `threads == 0` means: TULLE_THREADS if set, else OMP_NUM_THREADS, else the processors that
/// this process may use, by its affinity and its control group. At most limit_threads().
/// errc::unsupported for a TULLE_THREADS that is not a number from 1 to most_threads.
int default_threads();

/// No call uses more than n threads from now on, whatever it asks for; 0: no limit. Results do not
/// depend on it. Returns the limit before. errc::unsupported for n outside [0, most_threads].
int limit_threads(int n);

namespace detail {

/// The threads that a policy asks for: default_threads() for 0. errc::unsupported outside
/// [0, most_threads].
int threads_of(int asked);

/// While one lives, 0 means so many threads to this thread: for what takes no policy, as validate()
/// of most formats, within a call that has one.
class policy_threads {
public:
  explicit policy_threads(int asked) noexcept;
  ~policy_threads();
  policy_threads(policy_threads const&) = delete;
  policy_threads& operator=(policy_threads const&) = delete;

private:
  int before_;
};

/// body(context, part) for each part in [0, parts), the caller's thread taking part 0 and those
/// that no other thread has begun when it is done. With one part, or where no other thread can be
/// had, it is the caller's alone. Parts may not wait for one another. The first exception by part
/// number is thrown again after all parts have ended. Threads have the caller's rounding mode.
void run_parallel(int parts, void* context, void (*body)(void*, int));

/// f(part) for part in [0, parts), in parallel.
template <class F>
void parallel(int parts, F&& f) {
  run_parallel(parts, &f, [](void* context, int part) {
    (*static_cast<std::remove_reference_t<F>*>(context))(part);
  });
}

/// While one lives, this thread's calls of parallel() end early where a stop_scope asks for it: for
/// operations whose results are new. errc::stopped.
class stoppable {
public:
  stoppable();
  ~stoppable();
  stoppable(stoppable const&) = delete;
  stoppable& operator=(stoppable const&) = delete;

private:
  bool before_;
};
/// errc::stopped where that is so.
void check_stop();

/// f(item, part) for item in [0, n), in parallel: each part takes the next one, so that items may
/// be large and small.
template <class F>
void parallel_each(std::size_t n, int parts, F&& f) {
  std::size_t taken = 0;
  parallel(parts, [&](int part) {
    for (std::size_t item; (item = __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED)) < n;) {
      check_stop();
      f(item, part);
    }
  });
}

/// Entries and rows of a product that are worth a thread. Tests set it to 1, so that small matrices
/// are shared as well.
std::size_t work_per_thread() noexcept;
void set_work_per_thread(std::size_t work) noexcept;

/// How many parts are worth it: one thread for each `grain` items of work, at least one, at most
/// `threads`.
inline int parts_for(std::size_t work, int threads, std::size_t grain = 1 << 15) {
  auto const most = static_cast<std::size_t>(threads_of(threads));
  std::size_t const wanted = work / grain + 1;
  return static_cast<int>(wanted < most ? wanted : most);
}

/// First item of part `part` when n items are dealt evenly to `parts`.
constexpr std::size_t split(std::size_t n, int part, int parts) {
  auto const p = static_cast<std::size_t>(part);
  auto const all = static_cast<std::size_t>(parts);
  return n / all * p + n % all * p / all;
}

/// First row of part `part` when the entries counted by ptr[0..n] are dealt evenly.
template <class O>
std::size_t split_by_entries(O const* ptr, std::size_t n, int part, int parts) {
  if (part >= parts)
    return n;
  std::size_t const target = split(static_cast<std::size_t>(ptr[n]), part, parts);
  std::size_t lo = 0;
  std::size_t hi = n;
  while (lo < hi) {
    std::size_t const mid = lo + (hi - lo) / 2;
    if (static_cast<std::size_t>(ptr[mid]) < target)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

} // namespace detail
} // namespace tulle

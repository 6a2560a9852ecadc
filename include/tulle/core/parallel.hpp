// SPDX-License-Identifier: Apache-2.0

/// Threads, and the parallel loops that the library itself is written in.
///
///     tulle::limit_threads(4);                       // no call uses more, whatever it asks for
///     tulle::spmv(tulle::cpu{.threads = 2}, ...);    // this one asks for two
///
///     int const parts = tulle::parts_for(n, 0);
///     tulle::parallel(parts, [&](int part) {
///       std::size_t const end = tulle::split(n, part + 1, parts);
///       for (std::size_t i = tulle::split(n, part, parts); i < end; ++i)
///         y[i] = 2 * x[i];
///     });
///
/// The threads belong to the library. They are started when a call first needs them and spin only
/// briefly while they wait. After a fork the child starts its own. There are as many as the system
/// allows.
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

/// The threads that a policy asks for: default_threads() for 0. At most limit_threads().
/// errc::unsupported outside [0, most_threads].
int threads_of(int asked);

namespace detail {

/// While an object lives, a request for 0 threads means `asked` threads in this thread: for
/// functions without a policy, such as validate() of most formats, within a call that has one.
class policy_threads {
public:
  explicit policy_threads(int asked) noexcept;
  ~policy_threads();
  policy_threads(policy_threads const&) = delete;
  policy_threads& operator=(policy_threads const&) = delete;

private:
  int before_;
};

/// parallel() without the type of its function: body(context, part) for each part. Kernels, which
/// may hold no shared inline code, call it directly.
void run_parallel(int parts, void* context, void (*body)(void*, int));

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

/// The number of entries and rows of a product that justifies one thread. Tests set it to 1, so
/// that small matrices are shared as well.
std::size_t work_per_thread() noexcept;
void set_work_per_thread(std::size_t work) noexcept;

} // namespace detail

/// Calls f(part) for each part in [0, parts), in parallel; returns when all calls have ended.
///
/// Parts       Each is called once, in any order and by any thread. Parts may outnumber threads and
///             must not wait for one another. What depends on `parts` alone is the same for every
///             number of threads.
/// Threads     The caller's, which begins with part 0, and idle ones of the library: up to `parts`
///             in all, and no more than limit_threads(). Where none is idle or the system gives
///             none, the caller runs all parts. One part runs on the caller's thread at once.
/// Memory      A part sees what the caller wrote before, and the caller sees what parts wrote.
///             Threads have the caller's rounding mode and treatment of denormal numbers.
/// Exceptions  An exception of a part is thrown again by the caller, after all calls have ended;
///             of several, that of the lowest part. The other parts run all the same. Of more than
///             most_threads parts, some may be left out then, and another exception may be thrown.
/// Nesting     f may call parallel() and any operation of the library. Several threads may call
///             parallel() at the same time; each gets the idle threads that it finds.
template <class F>
void parallel(int parts, F&& f) {
  detail::run_parallel(parts, &f, [](void* context, int part) {
    (*static_cast<std::remove_reference_t<F>*>(context))(part);
  });
}

/// Calls f(item, part) for each item in [0, n), in parallel; for items of unequal cost.
///
/// Each part takes the lowest item that none has taken, until there is none left. So the items of a
/// part ascend, but which they are differs from call to call. Calls with one `part` do not overlap:
/// f may use scratch memory of that number. The rest is as in parallel(); after an exception items
/// may be left out.
template <class F>
void parallel_each(std::size_t n, int parts, F&& f) {
  std::size_t taken = 0;
  parallel(parts, [&](int part) {
    for (std::size_t item; (item = __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED)) < n;) {
      detail::check_stop();
      f(item, part);
    }
  });
}

/// How many parts to make: one per `grain` items of work, at least one, at most
/// threads_of(threads).
inline int parts_for(std::size_t work, int threads, std::size_t grain = 1 << 15) {
  auto const most = static_cast<std::size_t>(threads_of(threads));
  std::size_t const wanted = work / grain + 1;
  return static_cast<int>(wanted < most ? wanted : most);
}

/// The first item of part `part` when n items are dealt to `parts` in order and evenly: part p has
/// the items from split(n, p, parts) up to split(n, p + 1, parts), which for the last is n. Sizes
/// differ by one at most.
constexpr std::size_t split(std::size_t n, int part, int parts) {
  auto const p = static_cast<std::size_t>(part);
  auto const all = static_cast<std::size_t>(parts);
  return n / all * p + n % all * p / all;
}

/// The first row of part `part` when n rows are dealt in order so that parts have about as many
/// entries each; row i has the entries from ptr[i] to ptr[i + 1]. n for part == parts. Rows are
/// whole, so a part may be empty. O(log n).
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

namespace detail { // for files that have not been renamed yet
using tulle::parallel;
using tulle::parallel_each;
using tulle::parts_for;
using tulle::split;
using tulle::split_by_entries;
using tulle::threads_of;
} // namespace detail
} // namespace tulle

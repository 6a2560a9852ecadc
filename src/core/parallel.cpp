// SPDX-License-Identifier: Apache-2.0

// The threads of the library.
//
// A call offers its parts to threads that wait, one each, and takes part 0 itself. Whoever is done
// with a part takes one that nobody has begun, so that a call never waits for a thread that has not
// woken up: on a machine whose processors are busy it does the work itself, as with one thread.
// Threads wait for the next call for a while before they sleep, for as long as that has paid
// lately. One that was woken too late for its part waits awake for the next call's.
#include "tulle/core/parallel.hpp"

#include "tulle/core/diagnostics.hpp"
#include "tulle/core/fail.hpp"

#include "core/at_fork.hpp"
#include "core/stop.hpp"
#include "core/threads.hpp"

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <cstdint>
#include <exception>
#include <mutex>
#include <new>
#include <pthread.h>
#include <signal.h>
#include <thread>
#include <vector>
#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace tulle::detail {
namespace {

using clock = std::chrono::steady_clock;

// How long a thread waits awake. A product of 10^4 entries takes 5 us and the gaps between those of
// a solver are shorter; waking a thread up takes 5 to 50 us.
constexpr auto longest_wait = std::chrono::microseconds(60);
constexpr auto shortest_wait = std::chrono::microseconds(2);
// After a call shorter than this that woke threads up, of which none came in time, the next one
// wakes none, after another one the next two, and so on: to wake a thread takes a few us. Threads
// that are awake have their parts offered all the same.
constexpr auto short_call = std::chrono::microseconds(100);
constexpr int most_skipped = 32;

inline void pause() {
#ifdef __x86_64__
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// The rounding mode and what becomes of denormal numbers.
struct float_mode {
#ifdef __x86_64__
  unsigned vectors = _mm_getcsr() & ~0x3fu; // without the flags of what has happened
  unsigned short x87 = word_of_x87();       // of long double

  static unsigned short word_of_x87() {
    unsigned short word;
    asm volatile("fnstcw %0" : "=m"(word));
    return word;
  }
  void set() const {
    if ((_mm_getcsr() & ~0x3fu) != vectors)
      _mm_setcsr(vectors);
    if (word_of_x87() != x87)
      asm volatile("fldcw %0" : : "m"(x87));
  }
#else
  std::fenv_t all;
  float_mode() {
    std::fegetenv(&all);
  }
  void set() const {
    std::fesetenv(&all);
  }
#endif
};

struct job {
  void* context;
  void (*body)(void*, int);
  int parts;
  float_mode mode = {};
  stop_state stop = this_stop();
  std::atomic<int> left; // parts that nobody has begun
  std::atomic<std::uint64_t> begun[most_threads / 64] = {};
  std::mutex failing = {};
  std::exception_ptr failure = nullptr;
  int failed_part = 0;

  job(void* context, void (*body)(void*, int), int parts)
      : context(context), body(body), parts(parts), left(parts) {}

  // Whether it was the caller who began the part.
  bool begin(int part) {
    std::uint64_t const bit = std::uint64_t{1} << (part % 64);
    if (begun[part / 64].load(std::memory_order_relaxed) & bit)
      return false;
    return !(begun[part / 64].fetch_or(bit, std::memory_order_relaxed) & bit);
  }
  void run(int part) {
    left.fetch_sub(1, std::memory_order_relaxed);
    try {
      check_stop();
      body(context, part);
    } catch (...) {
      std::lock_guard const lock(failing);
      if (!failure || part < failed_part) {
        failure = std::current_exception();
        failed_part = part;
      }
    }
  }
  // The part of one's own, then those after it that nobody has begun. Returns how many they were.
  int work(int own) {
    int done = 0;
    for (int k = 0; k < parts && left.load(std::memory_order_relaxed) > 0; ++k) {
      int const part = own + k < parts ? own + k : own + k - parts;
      if (begin(part)) {
        run(part);
        ++done;
      }
    }
    return done;
  }
};

// A thread that waits for jobs. The job is taken back by whoever offered it where the thread has
// not come; else `offered` is null again when the thread is done with it.
struct alignas(64) worker {
  static inline char taken_mark = 0; // its address stands for the job once the thread has it

  std::atomic<void*> offered = nullptr;
  std::atomic<int> own_part = 0;
  std::atomic<int> asleep = 0;  // the thread waits for it to change
  std::atomic<int> awaited = 0; // the caller waits for it to change

  bool sleeps() const { return asleep.load(std::memory_order_relaxed) != 0; }

  // Whether the thread had to be woken up.
  bool offer(job* j, int part) {
    own_part.store(part, std::memory_order_relaxed);
    offered.store(j, std::memory_order_seq_cst);
    bool const slept = asleep.load(std::memory_order_seq_cst) != 0 && asleep.exchange(0) != 0;
    if (slept)
      asleep.notify_one();
    return slept;
  }
  // Whether the thread had come for it. Returns when it is done.
  bool take_back(job* j) {
    void* there = j;
    if (offered.compare_exchange_strong(there, nullptr))
      return false;
    for (auto const start = clock::now(); offered.load(std::memory_order_acquire) != nullptr;) {
      for (int k = 0; k < 64 && offered.load(std::memory_order_acquire) != nullptr; ++k)
        pause();
      if (clock::now() - start > longest_wait)
        sleep_until_done();
    }
    return true;
  }
  void sleep_until_done() {
    awaited.store(1);
    if (offered.load() != nullptr)
      awaited.wait(1);
    awaited.store(0);
  }
  void end() {
    offered.store(nullptr);
    if (awaited.load() != 0 && awaited.exchange(0) != 0)
      awaited.notify_one();
  }

  // Whether there is an offer within that time.
  bool is_offered_within(std::chrono::nanoseconds time) const {
    auto const start = clock::now();
    do {
      for (int k = 0; k < 32; ++k) {
        if (offered.load(std::memory_order_relaxed) != nullptr)
          return true;
        pause();
      }
    } while (clock::now() - start < time);
    return false;
  }
  void wait_for_offer(std::chrono::nanoseconds& patience) {
    if (is_offered_within(patience)) {
      patience = std::min<std::chrono::nanoseconds>(2 * patience, longest_wait);
      return;
    }
    patience = std::max<std::chrono::nanoseconds>(patience / 2, shortest_wait);
    do {
      asleep.store(1);
      if (offered.load() == nullptr)
        asleep.wait(1);
      asleep.store(0);
    } while (!is_offered_within(longest_wait)); // the call that woke it up may have taken it back
  }
  [[noreturn]] void live() {
    std::chrono::nanoseconds patience = longest_wait;
    for (;;) {
      wait_for_offer(patience);
      void* j = offered.load(std::memory_order_relaxed);
      if (j == nullptr || !offered.compare_exchange_strong(j, &taken_mark))
        continue; // taken back
      auto& the_job = *static_cast<job*>(j);
      the_job.mode.set();
      this_stop() = the_job.stop;
      the_job.work(own_part.load(std::memory_order_relaxed));
      end();
    }
  }
};

// Threads that are not at work. They live until the process ends; a fork has none of them.
struct pool {
  std::mutex mutex;
  std::vector<worker*> idle;
  int threads = 0;
  bool refused = false; // by the system: asked again when one is wanted that never was
  int most_wanted = 0;

  pool() {
    idle.reserve(most_threads);
    at_fork({this, [](void* p) { static_cast<pool*>(p)->mutex.lock(); },
             [](void* p) { static_cast<pool*>(p)->mutex.unlock(); },
             [](void* p) {
               auto& here = *static_cast<pool*>(p);
               here.idle.clear();
               here.threads = 0;
               here.refused = false;
               here.mutex.unlock();
             }});
  }

  static pool& get() {
    static auto* const all = new pool; // never destroyed: its threads do not end
    return *all;
  }

  // Not more threads than processors, unless one call wants more.
  bool start_one() noexcept {
    auto* const w = new (std::nothrow) worker;
    if (!w)
      return false;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
#ifdef __linux__
    // Not those of the caller, which may be bound to one of them.
    cpu_set_t const& where = allowed_processors();
    if (CPU_COUNT(&where) > 0)
      pthread_attr_setaffinity_np(&attributes, sizeof where, &where);
#endif
    sigset_t all;
    sigset_t before;
    sigfillset(&all); // signals are for the threads of the caller
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t id;
    int const status = pthread_create(
        &id, &attributes,
        [](void* p) -> void* {
          static_cast<worker*>(p)->live();
          return nullptr;
        },
        w);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    if (status != 0) {
      delete w;
      return false;
    }
    ++threads;
    idle.push_back(w);
    return true;
  }

  // Up to `wanted` of them.
  int take(int wanted, worker** to) {
    static int const processors = static_cast<int>(std::thread::hardware_concurrency());
    std::unique_lock lock(mutex);
    bool const was_refused = refused;
    if (wanted > most_wanted) {
      most_wanted = wanted;
      refused = false;
    }
    while (static_cast<int>(idle.size()) < wanted && !refused &&
           threads < std::max(processors - 1, wanted))
      refused = !start_one();
    int const n = std::min(wanted, static_cast<int>(idle.size()));
    for (int k = 0; k < n; ++k) { // the same threads for the same parts, call after call
      to[k] = idle.back();
      idle.pop_back();
    }
    bool const tells = refused && !was_refused;
    int const there = threads;
    lock.unlock();
    if (tells)
      tell(event::thread_refused, "the system gave no thread beside the %d that there are", there);
    return n;
  }
  void give_back(worker** from, int n) {
    std::lock_guard const lock(mutex);
    while (n > 0)
      idle.push_back(from[--n]);
  }
};

// Of this thread's calls: how many of them in a row no thread came to, and how many of the next
// ones wake no thread up.
struct misses {
  int in_a_row = 0;
  int skip = 0;
};
thread_local misses missed;

} // namespace

void run_parallel(int parts, void* context, void (*body)(void*, int)) {
  if (parts <= 1) { // here and not in the header, where each body would be compiled twice
    if (parts == 1) {
      check_stop();
      body(context, 0);
    }
    return;
  }
  if (parts > most_threads)
    return parallel(most_threads, [=](int first) {
      for (int part = first; part < parts; part += most_threads)
        body(context, part);
    });
  auto const start = clock::now();
  job j(context, body, parts);
  worker* team[most_threads];
  int const n = pool::get().take(threads_of(parts) - 1, team);
  int offered = 0;    // team[0] to team[offered - 1] have their parts
  bool slept = false; // one of these had to be woken up
  auto const offer = [&](bool wakes) {
    for (int k = offered; k < n; ++k)
      if (wakes || !team[k]->sleeps()) {
        std::swap(team[offered], team[k]);
        slept = team[offered]->offer(&j, offered + 1) || slept;
        ++offered;
      }
  };
  offer(missed.skip == 0);
  if (missed.skip > 0 && offered < n) {
    --missed.skip;
    if (j.begin(0)) // nobody who is awake has been as far as that
      j.run(0);
    if (clock::now() - start > short_call / 2)
      offer(true);
  }
  j.work(0);
  bool came = false;
  for (int k = 0; k < offered; ++k)
    came = team[k]->take_back(&j) || came;
  pool::get().give_back(team, n);
  if (came || clock::now() - start > short_call)
    missed = {};
  else if (slept)
    missed.skip = missed.in_a_row = std::min(missed.in_a_row + 1, most_skipped);
  if (j.failure)
    std::rethrow_exception(j.failure);
}

} // namespace tulle::detail

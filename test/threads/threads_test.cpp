// SPDX-License-Identifier: Apache-2.0

// threads = 1 means the caller's thread alone, in every operation; and what happens where the
// system makes no threads. The loop over threads is the library's, and this program puts its own in
// its place.
#include "tulle/core/parallel.hpp"
#include "tulle/dynamic/dynamic_csr.hpp"
#include "tulle/gen/generate.hpp"

#include "support/expect.hpp"
#include "support/operations.hpp"
#include "support/zoo.hpp"

#include <atomic>
#include <cerrno>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

namespace {

std::atomic<int> most_parts{0};
std::atomic<bool> makes_threads{true};

} // namespace

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(TULLE_SANITIZED_THREAD)
#define TULLE_OWN_THREADS 0
#else
#define TULLE_OWN_THREADS 1
extern "C" int pthread_create(pthread_t* thread, pthread_attr_t const* how, void* (*f)(void*),
                              void* with) noexcept {
  if (!makes_threads)
    return EAGAIN;
  using create = int (*)(pthread_t*, pthread_attr_t const*, void* (*)(void*), void*);
  static auto const real = reinterpret_cast<create>(dlsym(RTLD_NEXT, "pthread_create"));
  return real(thread, how, f, with);
}
#endif

/// All parts by the caller, one after another.
void tulle::detail::run_parallel(int parts, void* context, void (*body)(void*, int)) {
  for (int most = most_parts; most < parts && !most_parts.compare_exchange_weak(most, parts);)
    continue;
  for (int part = 0; part < parts; ++part)
    body(context, part);
}

namespace tulle::test::threads_test {
namespace {

TEST(threads, one_is_the_callers_alone_in_every_operation) {
  csr<double> const a = generate("poisson2d5:250"); // 311 thousand entries
  std::size_t parallel = 0;
  for (operation const& op : every_operation(a)) {
    for (int const threads : {1, 3}) {
      most_parts = 0;
      try {
        op.run(cpu{.threads = threads}, [] { most_parts = 0; });
      } catch (error const& e) {
        ADD_FAILURE() << op.name << ": " << e.what();
      }
      EXPECT_LE(most_parts, threads) << op.name;
    }
    parallel += most_parts > 1;
  }
  EXPECT_GT(parallel, 100u); // or the loop above is not the one that runs
}

TEST(threads, defragments_in_the_call_where_no_thread_can_be_made) {
  if (!TULLE_OWN_THREADS)
    GTEST_SKIP() << "threads are the sanitizer's";
  auto m = dynamic_csr<double>::from_csr(find("skewed").matrix.view(), {.where = {.threads = 1}});
  for (std::int32_t k = 0; k < m.rows(); ++k)
    m.insert(k, 0, 1.0);
  ASSERT_FALSE(m.shape().compact);
  csr<double> const before = m.to_csr();
  makes_threads = false;
  EXPECT_NO_THROW(m.defragment_in_background({.compact = true}));
  EXPECT_TRUE(m.shape().compact);
  EXPECT_NO_THROW(m.wait());
  makes_threads = true;
  EXPECT_EQ(m.to_csr(), before);
}

} // namespace
} // namespace tulle::test::threads_test

// SPDX-License-Identifier: Apache-2.0

// A system that gives no threads: every call is done by the caller's own.
#include "tulle/core/diagnostics.hpp"
#include "tulle/gen/generate.hpp"
#include "tulle/op/spgemm.hpp"
#include "tulle/op/spmv.hpp"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <pthread.h>
#include <vector>

extern "C" int pthread_create(pthread_t*, pthread_attr_t const*, void* (*)(void*), void*) noexcept {
  return EAGAIN;
}

int main() {
  static std::atomic<int> refusals = 0;
  tulle::set_diagnostics([](tulle::diagnostic const& d) {
    refusals += d.what == tulle::event::thread_refused ? 1 : 0;
  });
  auto const a = tulle::generate("poisson2d5:100");
  std::vector<double> const x(static_cast<std::size_t>(a.cols), 1.5);
  std::vector<double> y(x.size()), expected(x.size());
  tulle::spmv(tulle::cpu{.threads = 1}, 1.0, a, x, 0.0, expected);
  for (int run = 0; run < 10; ++run)
    tulle::spmv(tulle::cpu{.threads = 4}, 1.0, a, x, 0.0, y);
  bool const good = y == expected && tulle::spgemm(tulle::cpu{.threads = 4}, a, a) ==
                                         tulle::spgemm(tulle::cpu{.threads = 1}, a, a);
  std::printf("told %d times\n", refusals.load());
  if (refusals == 0)
    return 1;
  std::puts(good ? "the same without threads" : "WRONG without threads");
  return good ? 0 : 1;
}

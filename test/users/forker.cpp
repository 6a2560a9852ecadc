// SPDX-License-Identifier: Apache-2.0
// A program that forks after it has computed with threads, and computes in the child.
// prints: the child has the same product
#include <cstdio>
#include <sys/wait.h>
#include <tulle/tulle.hpp>
#include <unistd.h>
#include <vector>

int main() {
  auto const a = tulle::generate("poisson2d5:200");
  std::vector<double> const x(40000, 1.5);
  std::vector<double> y(40000), again(40000);
  tulle::cpu const two{.threads = 2};
  tulle::spmv(two, 1.0, a, x, 0.0, y);
  if (pid_t const child = fork(); child == 0) {
    alarm(60);
    tulle::spmv(two, 1.0, a, x, 0.0, again);
    _exit(again == y ? 0 : 1);
  }
  int status = 0;
  wait(&status);
  std::puts(status == 0 ? "the child has the same product" : "the child failed");
}

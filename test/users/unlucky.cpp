// SPDX-License-Identifier: Apache-2.0
// Somebody with bad luck: whatever is wrong is an error that says so, and y stays as it was.
// prints: bad_structure unsupported shape_mismatch bad_structure out_of_memory, y is 5
#include <cstdio>
#include <tulle/tulle.hpp>
#include <vector>

template <class F>
void attempt(F&& f) {
  try {
    f();
    std::printf("nothing ");
  } catch (tulle::error const& e) {
    std::printf("%s", name(e.code()));
  }
}

int main() {
  auto const a = tulle::generate("poisson2d5:30"), b = tulle::generate("random:900:900:4380@3");
  std::vector<double> const x(900, 1.0);
  std::vector<double> y(900, 5.0);
  std::vector<int> const ptr{0, 2}, col{0, 9};
  std::vector<double> const val{1, 2};
  attempt([&] { tulle::csr_view<double>(1, 3, ptr, col, val); }), std::printf(" ");
  attempt([&] { tulle::spmv(tulle::cpu{.threads = -1}, 1.0, a, x, 0.0, y); }), std::printf(" ");
  attempt([&] { tulle::spmv(1.0, a, val, 0.0, y); }), std::printf(" ");
  tulle::spmv_plan plan(tulle::transposed(a));
  attempt([&] { tulle::spmv(plan, 1.0, tulle::transposed(b), x, 0.0, y); }), std::printf(" ");
  attempt([&] { tulle::spgemm(tulle::cpu{.workspace_limit = 10}, a, a); });
  std::printf(", y is %g\n", y[0]);
}

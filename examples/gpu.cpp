// SPDX-License-Identifier: Apache-2.0

// A product on a GPU. Without one, what is missing is said and nothing else happens.
#include <cstdio>
#include <tulle/tulle.hpp>
#include <vector>

int main() {
  if (tulle::devices(tulle::backend::cuda).empty()) {
    std::printf("no GPU here: %s\n", tulle::backend_state(tulle::backend::cuda).c_str());
    return 0;
  }
  auto const a = tulle::generate("poisson2d5:1000");
  std::vector<double> const ones(a.cols, 1.0);
  std::vector<double> result(a.rows);

  auto const there = tulle::convert(tulle::upload(a), tulle::format::dia); // made on the device
  tulle::device_array<double> const x(ones);
  tulle::device_array<double> y(result.size());

  auto plan = tulle::spmv_plan(tulle::cuda{}, there); // once per pattern
  tulle::spmv(plan, 1.0, there, x, 0.0, y);           // on the stream: not waited for
  y.copy_to(result.data());                           // waits
  std::printf("%s: y[0] = %g\n", plan.path().c_str(), result[0]);
}

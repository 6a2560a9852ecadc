// SPDX-License-Identifier: Apache-2.0
// The code of docs/use/gpu.md. Without a GPU it says what is missing.
#include <cstdio>
#include <tulle/tulle.hpp>
#include <vector>

int main() {
  // [is_there]
  if (tulle::devices(tulle::backend::cuda).empty()) {
    std::printf("no GPU: %s\n", tulle::backend_state(tulle::backend::cuda).c_str());
    return 0;
  }
  // [/is_there]

  // [product]
  auto const a = tulle::generate("diffusion2d5:1000");
  std::vector<double> const ones(a.cols, 1.0);

  auto const da = tulle::upload(a);               // any format, array by array
  tulle::device_array<double> x(ones), y(a.rows); // x is copied, y is not initialised
  tulle::spmv(1.0, da, x, 0.0, y);                // put on the stream, not waited for
  std::vector<double> result(a.rows);
  y.copy_to(result.data()); // waits
  // [/product]

  // [convert]
  auto const fast =
      tulle::convert(da, tulle::layout_for(tulle::format::sell, tulle::backend::cuda));
  tulle::spmv_plan plan(tulle::cuda{}, fast); // once per matrix on the device
  tulle::spmv(plan, 1.0, fast, x, 0.0, y);    // neither waits nor allocates
  // [/convert]
  std::printf("%s\n", plan.path().c_str());

  // [sparse]
  using namespace tulle::literals;
  auto const c = tulle::spgemm(tulle::cuda{.workspace_limit = 512_MiB}, da, da); // a device_matrix
  tulle::any_matrix const host = tulle::download(c);
  // [/sparse]
  std::printf("%zu entries\n", host.nnz());

  // [borrow]
  int* row_ptr = nullptr; // device pointers of your own, from cudaMalloc
  int* col = nullptr;
  double* val = nullptr;
  // [/borrow]
  using device_csr = tulle::csr_view<double, int, int, tulle::space::cuda>;
  auto const there = da.view<device_csr>();
  row_ptr = const_cast<int*>(there.row_ptr);
  col = const_cast<int*>(there.col);
  val = const_cast<double*>(there.val);
  // [borrowed]
  tulle::csr_view<double, int, int, tulle::space::cuda> const mine(
      tulle::unchecked, a.rows, a.cols, static_cast<int>(a.val.size()), row_ptr, col, val);
  tulle::spmv(1.0, mine, x, 0.0, y);
  // [/borrowed]

  // [grow]
  tulle::device_dynamic_csr<double> grows(1000, 1000);
  std::vector<int> const row{0, 7}, column{1, 7};
  std::vector<double> const value{1, 3};
  grows.insert(row, column, value); // from the host, or device arrays
  // [/grow]
  tulle::synchronize();
  std::printf("%zu\n", grows.shape().entries);
}

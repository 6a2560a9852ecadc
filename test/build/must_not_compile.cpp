// SPDX-License-Identifier: Apache-2.0

// Each case is one mistake that the types must catch. CMakeLists.txt reads the names off this file.
#include <tulle/op/convert.hpp>
#include <tulle/op/spmm.hpp>
#include <tulle/op/spmv.hpp>
#include <vector>

using namespace tulle;

void calls(csr<double> const& a, csr_view<double, std::int32_t, std::int32_t, space::device> device,
           any_matrix const& any, std::vector<double> const& x, std::vector<double>& y,
           vector_view<double const, space::device> device_x, csr<double, std::int8_t>& tiny) {
  spmv(1.0, a, x, 0.0, y);
  spmv(1.0, any, x, 0.0, y);
  spmv(1.0, transposed(scaled(a, 2.0)), x, 0.0, y);
  spmv(1.0, a, vector_view<double const>(x), 0.0, vector_view<double>(y));
  dense_view<double const> const in = row_major(x.data(), 3, 1);
  dense_view<double> const out = row_major(y.data(), 4, 1);
  spmm(1.0, a, in, 0.0, out);
  spmm(1.0, any, out, 0.0, out);
  spmm(cpu{}, 1.0, transposed(scaled(a, 2.0)), in, 0.0, out);
  (void)device, (void)device_x, (void)tiny;
#if defined CASE_device_matrix_on_the_host
  spmv(1.0, device, x, 0.0, y);
#elif defined CASE_device_matrix_planned_on_the_host
  spmv_plan plan(cpu{}, device);
#elif defined CASE_device_matrix_multiplied_on_the_host
  vector_view<double, space::device> device_y;
  spmv(cpu{}, 1.0, device, device_x, 0.0, device_y);
#elif defined CASE_host_vectors_on_the_device
  spmv(cuda{}, 1.0, device, x, 0.0, y);
#elif defined CASE_device_vector_on_the_host
  spmv(1.0, a, device_x, 0.0, y);
#elif defined CASE_float_x_with_a_double_matrix
  spmv(1.0, a, std::vector<float>(3), 0.0, y);
#elif defined CASE_float_y_with_a_double_matrix
  std::vector<float> z(3);
  spmv(1.0, a, x, 0.0, z);
#elif defined CASE_constant_y
  spmv(1.0, a, x, 0.0, x);
#elif defined CASE_constant_y_with_any_matrix
  spmv(1.0, any, x, 0.0, x);
#elif defined CASE_float_x_and_double_y_with_any_matrix
  spmv(1.0, any, std::vector<float>(3), 0.0, y);
#elif defined CASE_integer_vectors_with_any_matrix
  std::vector<int> const in(3);
  std::vector<int> out(3);
  spmv(1, any, in, 0, out);
#elif defined CASE_types_that_are_not_built
  spmv(1.0, tiny, x, 0.0, y);
#elif defined CASE_types_that_are_not_built_in_any_matrix
  any_matrix const boxed = tiny;
#elif defined CASE_scaling_what_has_no_type
  spmv(1.0, scaled(any, 2.0), x, 0.0, y);
#elif defined CASE_a_number_as_a_matrix
  spmv(1.0, 3.0, x, 0.0, y);
#elif defined CASE_device_matrix_with_dense_ones_on_the_host
  spmm(1.0, device, in, 0.0, out);
#elif defined CASE_dense_ones_on_the_device_multiplied_on_the_host
  spmm(cpu{}, 1.0, device, row_major<space::device>(x.data(), 3, 1), 0.0,
       row_major<space::device>(y.data(), 4, 1));
#elif defined CASE_host_matrix_with_dense_ones_on_the_device
  spmm(1.0, a, row_major<space::device>(x.data(), 3, 1), 0.0,
       row_major<space::device>(y.data(), 4, 1));
#elif defined CASE_float_c_with_a_double_matrix
  std::vector<float> z(4);
  spmm(1.0, a, in, 0.0, row_major(z.data(), 4, 1));
#elif defined CASE_float_b_and_double_c_with_any_matrix
  std::vector<float> const few(3);
  spmm(1.0, any, row_major(few.data(), 3, 1), 0.0, out);
#elif defined CASE_constant_c
  spmm(1.0, a, in, 0.0, in);
#elif defined CASE_a_copied_plan
  spmv_plan plan(a);
  spmv_plan copy = plan;
#endif
}

// SPDX-License-Identifier: Apache-2.0

// Each case is one mistake that the types must catch. CMakeLists.txt reads the names off this file;
// where a `// says` follows, that must be in what the compiler says.
#include <array>
#include <span>
#include <tulle/interop/arrays.hpp>
#include <tulle/op/assemble.hpp>
#include <tulle/op/convert.hpp>
#include <tulle/op/optimize.hpp>
#include <tulle/op/spgemm.hpp>
#include <tulle/op/spmm.hpp>
#include <tulle/op/spmv.hpp>
#include <tulle/op/trsm.hpp>
#include <vector>

using namespace tulle;

csr<double> made();
std::vector<int> indices();
std::vector<double> values();

/// Every third element of something, as the row of an Eigen matrix of three rows is; and a matrix.
struct third_elements {
  static constexpr int InnerStrideAtCompileTime = 3;
  double* data() const;
  std::ptrdiff_t size() const;
};
struct three_by_three {
  static constexpr int InnerStrideAtCompileTime = 1, RowsAtCompileTime = 3, ColsAtCompileTime = 3;
  double* data() const;
  std::ptrdiff_t size() const;
};

void calls(csr<double> const& a, csr_view<double, std::int32_t, std::int32_t, space::cuda> device,
           any_matrix const& any, std::vector<double> const& x, std::vector<double>& y,
           vector_view<double const, space::cuda> device_x, csr<double, std::int8_t>& tiny) {
  spmv(1.0, a, x, 0.0, y);
  spmv(1.0, any, x, 0.0, y);
  spmv(1.0, transposed(scaled(a, 2.0)), x, 0.0, y);
  spmv(1.0, a, vector_view<double const>(x), 0.0, vector_view<double>(y));
  dense_view<double const> const in = row_major(x.data(), 3, 1);
  dense_view<double> const out = row_major(y.data(), 4, 1);
  spmm(1.0, a, in, 0.0, out);
  spmm(1.0, any, out, 0.0, out);
  spmm(cpu{}, 1.0, transposed(scaled(a, 2.0)), in, 0.0, out);
  trsv(1.0, a, x, y);
  trsm(1.0, a, in, out);
  (void)device, (void)device_x, (void)tiny;

  // What is given a name may be borrowed, a view may die, and what is copied may be a temporary.
  std::vector<int> const ptr = indices(), col = indices();
  csr_view<double> const view(2, 3, ptr, col, x);
  csr_view<double> const of_spans(2, 3, std::span(ptr), std::span<int const>(col), std::span(x));
  csr_view<double> const of_owner = a;
  csr_view<double> const of_pointers(2, 3, ptr.data(), col.data(), x.data());
  matrix_ref const ref(view);
  matrix_ref const inside = any.ref();
  spmv(1.0, transposed(csr_view<double>(a)), x, 0.0, y);
  spmv(1.0, scaled(transposed(view), 2.0), x, 0.0, y);
  spmv(1.0, adjoint(a), x, 0.0, y);
  spmv(1.0, made(), x, 0.0, y);
  csr<double> const copied = csr_from(2, 3, indices(), indices(), values());
  any_matrix const converted = convert(made(), format::csr), best = optimize(made());
  element<double, int> const of_named(ptr, col, x);
  (void)of_spans, (void)of_owner, (void)of_pointers, (void)ref, (void)inside, (void)copied;
  (void)of_named;
#if defined CASE_device_matrix_on_the_host
  spmv(1.0, device, x, 0.0, y);
#elif defined CASE_device_matrix_planned_on_the_host
  spmv_plan plan(cpu{}, device);
#elif defined CASE_device_matrix_multiplied_on_the_host
  vector_view<double, space::cuda> device_y;
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
#elif defined CASE_types_that_are_not_built             // says Every format is built for
  spmv(1.0, tiny, x, 0.0, y);
#elif defined CASE_values_that_are_not_built            // says tulle is not built for this
  std::vector<long double> const z = {1};
  std::vector<long double> w = {1};
  spmv(1.0L, csr_view(1, 1, ptr, col, z), z, 0.0L, w);
#elif defined CASE_indices_that_are_not_built           // says tulle is not built for this
  std::vector<short> const few = {0, 1};
  spmv(1.0, csr_view(1, 1, few, few, x), x, 0.0, y);
#elif defined CASE_products_of_types_that_are_not_built // says tulle is not built for this
  spgemm(tiny, tiny);
#elif defined CASE_types_that_are_not_built_in_any_matrix
  any_matrix const boxed = tiny;
#elif defined CASE_scaling_what_has_no_type
  spmv(1.0, scaled(any, 2.0), x, 0.0, y);
#elif defined CASE_a_number_as_a_matrix
  spmv(1.0, 3.0, x, 0.0, y);
#elif defined CASE_device_matrix_with_dense_ones_on_the_host
  spmm(1.0, device, in, 0.0, out);
#elif defined CASE_dense_ones_on_the_device_multiplied_on_the_host
  spmm(cpu{}, 1.0, device, row_major<space::cuda>(x.data(), 3, 1), 0.0,
       row_major<space::cuda>(y.data(), 4, 1));
#elif defined CASE_host_matrix_with_dense_ones_on_the_device
  spmm(1.0, a, row_major<space::cuda>(x.data(), 3, 1), 0.0, row_major<space::cuda>(y.data(), 4, 1));
#elif defined CASE_float_c_with_a_double_matrix
  std::vector<float> z(4);
  spmm(1.0, a, in, 0.0, row_major(z.data(), 4, 1));
#elif defined CASE_float_b_and_double_c_with_any_matrix
  std::vector<float> const few(3);
  spmm(1.0, any, row_major(few.data(), 3, 1), 0.0, out);
#elif defined CASE_a_triangle_on_the_device
  trsv(1.0, device, x, y);
#elif defined CASE_a_plan_of_a_triangle_on_the_device
  trsv_plan const plan(device);
#elif defined CASE_many_right_sides_for_a_triangle_on_the_device
  trsm(1.0, device, in, out);
#elif defined CASE_a_constant_solution
  trsm(1.0, a, in, in);
#elif defined CASE_constant_c
  spmm(1.0, a, in, 0.0, in);
#elif defined CASE_a_transposed_temporary                  // says deleted
  auto const t = transposed(made());
#elif defined CASE_a_scaled_temporary                      // says deleted
  auto const t = scaled(made(), 2.0);
#elif defined CASE_an_adjoint_temporary                    // says deleted
  auto const t = adjoint(made());
#elif defined CASE_a_transposed_temporary_any_matrix       // says deleted
  auto const t = transposed(any_matrix(a));
#elif defined CASE_a_reference_to_a_temporary_view         // says deleted
  matrix_ref const r{csr_view<double>(a)};
#elif defined CASE_a_reference_into_a_temporary            // says deleted
  matrix_ref const r = any_matrix(a).ref();
#elif defined CASE_a_reference_into_an_optimized_temporary // says deleted
  matrix_ref const r = optimize(a).ref();
#elif defined CASE_a_view_of_a_temporary_owner             // says deleted
  csr_view<double> const v = made();
#elif defined CASE_a_view_of_a_temporary_row_ptr           // says deleted
  csr_view<double> const v(2, 3, std::vector<int>{0, 1, 2}, col, x);
#elif defined CASE_a_view_of_temporary_columns             // says deleted
  csr_view<double> const v(2, 3, ptr, indices(), x);
#elif defined CASE_a_view_of_temporary_values              // says deleted
  csr_view<double> const v(2, 3, ptr, col, values());
#elif defined CASE_a_deduced_view_of_temporary_values      // says deleted
  auto const v = csr_view(2, 3, ptr, col, std::array<double, 2>{1, 2});
#elif defined CASE_a_csc_view_of_a_temporary               // says deleted
  auto const v = csc_view(2, 3, ptr, indices(), x);
#elif defined CASE_a_coo_view_of_a_temporary               // says deleted
  auto const v = coo_view(2, 3, indices(), col, x);
#elif defined CASE_a_view_of_indices_as_wide_as_no_other
  csr_view<double> const v(2, 3, ptr, std::span<short const>(), x);
#elif defined CASE_an_element_of_temporaries // says deleted
  element<double, int> const e(ptr, indices(), x);
#elif defined CASE_a_vector_with_gaps        // says deleted
  spmv(1.0, a, third_elements(), 0.0, y);
#elif defined CASE_a_result_with_gaps        // says deleted
  spmv(1.0, a, x, 0.0, third_elements());
#elif defined CASE_a_matrix_as_a_vector      // says deleted
  spmv(1.0, a, three_by_three(), 0.0, y);
#elif defined CASE_an_adjoint_of_other_values
  std::vector<std::complex<double>> z;
  spmv(1.0, adjoint(csr_view<std::complex<float>>()), z, 0.0, z);
#elif defined CASE_a_copied_plan
  spmv_plan plan(a);
  spmv_plan copy = plan;
#endif
}

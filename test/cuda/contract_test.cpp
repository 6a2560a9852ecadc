// SPDX-License-Identifier: Apache-2.0

// What products on a GPU promise beside the laws of devices: graphs, large grids, alignment.
#include "tulle/gen/generate.hpp"
#include "tulle/op/convert.hpp"

#include "device/operands.hpp"
#include "support/expect.hpp"
#include "support/layouts.hpp"
#include "support/zoo.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

namespace tulle::test::cuda_contract_test {
namespace {

#define RUNS(call) ASSERT_EQ(call, cudaSuccess)

std::vector<double> product_here(csr<double> const& a, std::vector<double> const& x) {
  std::vector<double> y(static_cast<std::size_t>(a.rows));
  spmv(reference{}, 1.0, a, x, 0.0, y);
  return y;
}

// A planned call is one node of a graph or more, and nothing else: no allocation, no waiting.
TEST(cuda, planned_calls_can_be_captured_in_a_graph) {
  csr<double> const a = find("skewed").matrix;
  std::vector<double> const xs = integers(static_cast<std::size_t>(a.cols), 1);
  std::vector<double> const wanted = product_here(a, xs);
  device_array<double> const x(xs);
  device_array<double> y(wanted.size());
  for_each_layout(any_matrix(a), [&](std::string const& what, any_matrix const& host) {
    device_matrix const there = put(host);
    if (!has_plan(there, false))
      return;
    own_queue const s;
    spmv_plan plan(policy(s), there);
    synchronize(s);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready = nullptr;
    RUNS(cudaStreamBeginCapture(s.handle, cudaStreamCaptureModeGlobal));
    spmv(plan, 1.0, there, x, 0.0, y);
    ASSERT_EQ(cudaStreamEndCapture(s.handle, &graph), cudaSuccess) << what;
    RUNS(cudaGraphInstantiate(&ready, graph, 0));
    for (int again = 0; again < 2; ++again) {
      detail::device_set(y.data(), 0xff, y.bytes(), {});
      synchronize();
      RUNS(cudaGraphLaunch(ready, s.handle));
      synchronize(s);
      EXPECT_EQ(from_there(y), wanted) << what;
    }
    RUNS(cudaGraphExecDestroy(ready));
    RUNS(cudaGraphDestroy(graph));
  });
}

// More blocks than 65535, the most that a grid has in its other dimensions.
TEST(cuda, many_rows) {
  csr<double> const a = generate("poisson2d5:4500");
  std::vector<double> xs(static_cast<std::size_t>(a.cols));
  for (std::size_t j = 0; j < xs.size(); ++j)
    xs[j] = static_cast<double>(j % 9) - 4;
  std::vector<double> wanted(static_cast<std::size_t>(a.rows));
  spmv(1.0, a, xs, 0.0, wanted);
  device_array<double> const x(xs);
  device_array<double> y(wanted.size());
  for (char const* const text : {"csr", "coo", "csr5", "sell", "dia", "ell"}) {
    layout const l = layout::parse(text);
    device_matrix const there = put(convert(a, layout_for(l.format, backend::cuda)));
    if (!has_plan(there, false))
      continue;
    detail::device_set(y.data(), 0xff, y.bytes(), {});
    spmv(1.0, there, x, 0.0, y);
    EXPECT_EQ(from_there(y), wanted) << text;
  }
}

TEST(cuda, complex_values_that_are_not_aligned_are_refused) { // they are read at once
  csr<double> const a = find("skewed").matrix;
  using complex = std::complex<double>;
  any_matrix const of_complex = as_type(a, type_tag::c64_i32);
  device_matrix const complex_there = put(of_complex);
  device_array<complex> u(static_cast<std::size_t>(a.cols)),
      v(static_cast<std::size_t>(a.rows) + 1);
  vector_view<complex, space::cuda> const apart(
      reinterpret_cast<complex*>(reinterpret_cast<char*>(v.data()) + 8), v.size() - 1);
  for (complex const alpha : {0.0, 1.0})
    EXPECT_TRUE(fails_with(errc::bad_structure, {"multiple of their size"},
                           [&] { spmv(alpha, complex_there, u, 0.0, apart); }));
}

} // namespace
} // namespace tulle::test::cuda_contract_test

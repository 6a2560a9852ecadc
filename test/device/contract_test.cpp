// SPDX-License-Identifier: Apache-2.0

// What products on a device promise beside the numbers: streams, graphs, errors, memory.
#include "tulle/gen/generate.hpp"
#include "tulle/op/convert.hpp"

#include "cuda/device_types.hpp"
#include "cuda/memory.hpp"
#include "cuda/stream.hpp"
#include "support/expect.hpp"
#include "support/layouts.hpp"
#include "support/zoo.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

namespace tulle::test::contract_test {
namespace {

#define RUNS(call) ASSERT_EQ(call, cudaSuccess)

std::vector<double> product_here(csr<double> const& a, std::vector<double> const& x) {
  std::vector<double> y(static_cast<std::size_t>(a.rows));
  spmv(reference{}, 1.0, a, x, 0.0, y);
  return y;
}

std::vector<double> from_there(device_array<double> const& y) {
  std::vector<double> here(y.size());
  y.copy_to(here.data());
  return here;
}

TEST(cuda, says_what_devices_there_are) {
  std::vector<device_info> const all = devices(backend::cuda);
  ASSERT_FALSE(all.empty());
  EXPECT_FALSE(all[0].name.empty());
  EXPECT_GT(all[0].memory, 0u);
  EXPECT_GT(all[0].multiprocessors, 0);
  EXPECT_NE(backend_state(backend::cuda).find("device"), std::string::npos);
}

TEST(cuda, every_type_comes_back_as_it_was) {
  for (std::size_t t = 0; t < type_count; ++t) {
    any_matrix const csr = as_type(find("skewed").matrix, static_cast<type_tag>(t));
    for_each_format(csr, [&](any_matrix const& a) {
      any_matrix const back = download(upload(a)), wanted = convert(a, format::csr);
      visit(csr.type(), [&](auto types) {
        using T = decltype(types);
        using owner = tulle::csr<typename T::value, typename T::index, typename T::offset>;
        EXPECT_EQ(*back.get_if<owner>(), *wanted.get_if<owner>()) << name(a.format());
      });
    });
  }
}

TEST(cuda, every_format_comes_back_as_it_was) {
  for (animal const& animal : zoo()) {
    any_matrix const csr = animal.matrix;
    for_each_layout(csr, [&](std::string const& what, any_matrix const& a) {
      device_matrix const there = upload(a);
      EXPECT_EQ(there.bytes(), a.bytes()) << animal.name << " " << what;
      any_matrix const back = download(there);
      any_matrix const wanted = convert(a, format::csr);
      EXPECT_EQ(*back.get_if<tulle::csr<double>>(), *wanted.get_if<tulle::csr<double>>())
          << animal.name << " " << what;
    });
  }
}

TEST(cuda, views_over_the_callers_own_memory) {
  csr<double> const a = find("skewed").matrix;
  std::vector<double> const xs = integers(static_cast<std::size_t>(a.cols), 1);
  device_array<std::int32_t> const row_ptr(a.row_ptr), col(a.col);
  device_array<double> const val(a.val), x(xs);
  device_array<double> y(static_cast<std::size_t>(a.rows));
  csr_view<double, std::int32_t, std::int32_t, space::cuda> const view(
      unchecked, a.rows, a.cols, static_cast<std::int32_t>(a.val.size()), row_ptr.data(),
      col.data(), val.data());
  spmv(1.0, view, x, 0.0, y);
  EXPECT_EQ(from_there(y), product_here(a, xs));
  spmv(cuda{}, 1.0, scaled(view, 2.0), x, -1.0, y);
  EXPECT_EQ(from_there(y), product_here(a, xs));
}

// A planned call is one node of a graph or more, and nothing else: no allocation, no waiting.
TEST(cuda, planned_calls_can_be_captured_in_a_graph) {
  csr<double> const a = find("skewed").matrix;
  std::vector<double> const xs = integers(static_cast<std::size_t>(a.cols), 1);
  std::vector<double> const wanted = product_here(a, xs);
  device_array<double> const x(xs);
  device_array<double> y(wanted.size());
  for_each_layout(any_matrix(a), [&](std::string const& what, any_matrix const& host) {
    device_matrix const there = upload(host);
    if (!has_plan(there, false))
      return;
    stream const s;
    spmv_plan plan(cuda(s), there);
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

TEST(cuda, two_streams_interleave) {
  csr<double> const a = generate("poisson2d5:300"), b = generate("rmat:13:16");
  std::vector<double> const xa = integers(static_cast<std::size_t>(a.cols), 1);
  std::vector<double> const xb = integers(static_cast<std::size_t>(b.cols), 2);
  stream const s, t;
  device_matrix const there_a = upload(a), there_b = upload(b);
  spmv_plan plan_a(cuda(s), there_a), plan_b(cuda(t), there_b);
  device_array<double> const in_a(xa), in_b(xb);
  device_array<double> out_a(static_cast<std::size_t>(a.rows)),
      out_b(static_cast<std::size_t>(b.rows));
  synchronize();
  for (int i = 0; i < 50; ++i) {
    spmv(plan_a, 1.0, there_a, in_a, 0.0, out_a);
    spmv(plan_b, 1.0, there_b, in_b, 0.0, out_b);
  }
  synchronize(s);
  synchronize(t);
  std::vector<double> first_a = from_there(out_a), first_b = from_there(out_b);
  spmv(cuda{}, 1.0, there_a, in_a, 0.0, out_a);
  spmv(cuda{}, 1.0, there_b, in_b, 0.0, out_b);
  EXPECT_EQ(from_there(out_a), first_a);
  EXPECT_EQ(from_there(out_b), first_b);
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
    device_matrix const there = upload(convert(a, layout_for(l.format, backend::cuda)));
    if (!has_plan(there, false))
      continue;
    detail::device_set(y.data(), 0xff, y.bytes(), {});
    spmv(1.0, there, x, 0.0, y);
    EXPECT_EQ(from_there(y), wanted) << text;
  }
}

TEST(cuda, an_allocation_that_fails_leaves_everything_usable) {
  EXPECT_TRUE(fails_with(errc::out_of_memory, {"device memory", "cudaMallocAsync"},
                         [] { device_array<char>(std::size_t{1} << 50); }));
  csr<double> const a = find("skewed").matrix;
  std::vector<double> const xs = integers(static_cast<std::size_t>(a.cols), 1);
  device_matrix const there = upload(a);
  device_array<double> const x(xs);
  device_array<double> y(static_cast<std::size_t>(a.rows));
  spmv(1.0, there, x, 0.0, y);
  EXPECT_EQ(from_there(y), product_here(a, xs));
}

TEST(cuda, memory_comes_from_the_callers_resource) {
  counted memory;
  {
    csr<double> const a = find("skewed").matrix;
    device_matrix const there = upload(a, {.memory = &memory});
    EXPECT_EQ(memory.now, there.bytes());
    spmv_plan const plan(cuda{.memory = &memory}, transposed(there));
    EXPECT_EQ(memory.now, there.bytes() + plan.bytes());
  }
  EXPECT_EQ(memory.now, 0u);
  EXPECT_GT(memory.most, 0u);
}

TEST(cuda, bad_arguments_are_named) {
  csr<double> const a = find("skewed").matrix;
  device_matrix const there = upload(a), twin = upload(a);
  device_array<double> x(static_cast<std::size_t>(a.cols)), y(static_cast<std::size_t>(a.rows) + 1);
  EXPECT_TRUE(
      fails_with(errc::shape_mismatch, {"y has", "A has"}, [&] { spmv(1.0, there, x, 0.0, y); }));
  device_array<double> z(static_cast<std::size_t>(a.rows));
  spmv_plan plan(there);
  EXPECT_TRUE(fails_with(errc::bad_structure, {"plan", "elsewhere"},
                         [&] { spmv(plan, 1.0, twin, x, 0.0, z); }));
  EXPECT_TRUE(fails_with(errc::out_of_memory, {"limit"},
                         [&] { spmv_plan(cuda{.workspace_limit = 1}, transposed(there)); }));
  EXPECT_TRUE(fails_with(errc::unsupported, {"device memory", "cpu"},
                         [&] { spmv(where(cpu{}), 1.0, there, x, 0.0, z); }));
  EXPECT_TRUE(
      fails_with(errc::bad_structure, {"nothing"}, [&] { spmv(1.0, device_matrix(), x, 0.0, z); }));
  EXPECT_TRUE(
      fails_with(errc::backend, {"cuda"}, [&] { device_array<double>(5, {.device = 999}); }));
  // Complex values are read at once.
  using complex = std::complex<double>;
  any_matrix const of_complex = as_type(a, type_tag::c64_i32);
  device_matrix const complex_there = upload(of_complex);
  device_array<complex> u(x.size()), v(y.size());
  vector_view<complex, space::cuda> const apart(
      reinterpret_cast<complex*>(reinterpret_cast<char*>(v.data()) + 8), z.size());
  for (complex const alpha : {0.0, 1.0})
    EXPECT_TRUE(fails_with(errc::bad_structure, {"multiple of their size"},
                           [&] { spmv(alpha, complex_there, u, 0.0, apart); }));
}

} // namespace
} // namespace tulle::test::contract_test

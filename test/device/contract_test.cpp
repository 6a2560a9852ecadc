// SPDX-License-Identifier: Apache-2.0

// What products on a device promise beside the numbers: queues, errors, memory.
#include "tulle/gen/generate.hpp"
#include "tulle/op/convert.hpp"

#include "device/memory.hpp"
#include "device/operands.hpp"
#include "device/under_test.hpp"
#include "support/expect.hpp"
#include "support/layouts.hpp"
#include "support/zoo.hpp"

#include <gtest/gtest.h>

namespace tulle::test::device_contract_test {
namespace {

std::vector<double> product_here(csr<double> const& a, std::vector<double> const& x) {
  std::vector<double> y(static_cast<std::size_t>(a.rows));
  spmv(reference{}, 1.0, a, x, 0.0, y);
  return y;
}

TEST(device, says_what_devices_there_are) {
  std::vector<device_info> const all = devices(backend_there);
  ASSERT_FALSE(all.empty());
  EXPECT_FALSE(all[0].name.empty());
  EXPECT_GT(all[0].memory, 0u);
  EXPECT_GT(all[0].units, 0);
  EXPECT_NE(backend_state(backend_there).find("device"), std::string::npos);
}

TEST(device, every_type_comes_back_as_it_was) {
  for (std::size_t t = 0; t < type_count; ++t) {
    any_matrix const csr = as_type(find("skewed").matrix, static_cast<type_tag>(t));
    for_each_format(csr, [&](any_matrix const& a) {
      any_matrix const back = download(put(a)), wanted = convert(a, format::csr);
      visit(csr.type(), [&](auto types) {
        using T = decltype(types);
        using owner = tulle::csr<typename T::value, typename T::index, typename T::offset>;
        EXPECT_EQ(*back.get_if<owner>(), *wanted.get_if<owner>()) << name(a.format());
      });
    });
  }
}

TEST(device, every_format_comes_back_as_it_was) {
  for (animal const& animal : zoo()) {
    any_matrix const csr = animal.matrix;
    if (is_slow && csr.nnz() > 2'000)
      continue;
    for_each_layout(csr, [&](std::string const& what, any_matrix const& a) {
      device_matrix const there = put(a);
      EXPECT_EQ(there.bytes(), a.bytes()) << animal.name << " " << what;
      any_matrix const back = download(there);
      any_matrix const wanted = convert(a, format::csr);
      EXPECT_EQ(*back.get_if<tulle::csr<double>>(), *wanted.get_if<tulle::csr<double>>())
          << animal.name << " " << what;
    });
  }
}

TEST(device, views_over_the_callers_own_memory) {
  csr<double> const a = find("skewed").matrix;
  std::vector<double> const xs = integers(static_cast<std::size_t>(a.cols), 1);
  there_array<std::int32_t> const row_ptr(a.row_ptr), col(a.col);
  there_array<double> const val(a.val), x(xs);
  there_array<double> y(static_cast<std::size_t>(a.rows));
  csr_view<double, std::int32_t, std::int32_t, space_there> const view(
      unchecked, a.rows, a.cols, static_cast<std::int32_t>(a.val.size()), row_ptr.data(),
      col.data(), val.data());
  spmv(1.0, view, x, 0.0, y);
  EXPECT_EQ(from_there(y), product_here(a, xs));
  spmv(policy{}, 1.0, scaled(view, 2.0), x, -1.0, y);
  EXPECT_EQ(from_there(y), product_here(a, xs));
}

TEST(device, two_queues_interleave) {
  csr<double> const a = generate("poisson2d5:300"), b = generate("rmat:13:16");
  std::vector<double> const xa = integers(static_cast<std::size_t>(a.cols), 1);
  std::vector<double> const xb = integers(static_cast<std::size_t>(b.cols), 2);
  own_queue const s, t;
  device_matrix const there_a = put(a), there_b = put(b);
  spmv_plan plan_a(policy(s), there_a), plan_b(policy(t), there_b);
  there_array<double> const in_a(xa), in_b(xb);
  there_array<double> out_a(static_cast<std::size_t>(a.rows)),
      out_b(static_cast<std::size_t>(b.rows));
  synchronize(policy{});
  for (int i = 0; i < 50; ++i) {
    spmv(plan_a, 1.0, there_a, in_a, 0.0, out_a);
    spmv(plan_b, 1.0, there_b, in_b, 0.0, out_b);
  }
  synchronize(s);
  synchronize(t);
  std::vector<double> first_a = from_there(out_a), first_b = from_there(out_b);
  spmv(policy{}, 1.0, there_a, in_a, 0.0, out_a);
  spmv(policy{}, 1.0, there_b, in_b, 0.0, out_b);
  EXPECT_EQ(from_there(out_a), first_a);
  EXPECT_EQ(from_there(out_b), first_b);
}

TEST(device, an_allocation_that_fails_leaves_everything_usable) {
  EXPECT_TRUE(fails_with(errc::out_of_memory, {"device memory", allocation_there},
                         [] { there_array<char>(std::size_t{1} << 50); }));
  csr<double> const a = find("skewed").matrix;
  std::vector<double> const xs = integers(static_cast<std::size_t>(a.cols), 1);
  device_matrix const there = put(a);
  there_array<double> const x(xs);
  there_array<double> y(static_cast<std::size_t>(a.rows));
  spmv(1.0, there, x, 0.0, y);
  EXPECT_EQ(from_there(y), product_here(a, xs));
}

TEST(device, memory_comes_from_the_callers_resource) {
  counted memory;
  {
    csr<double> const a = find("skewed").matrix;
    device_matrix const there = upload(a, policy{.memory = &memory});
    EXPECT_EQ(memory.now, there.bytes());
    spmv_plan const plan(policy{.memory = &memory}, transposed(there));
    EXPECT_EQ(memory.now, there.bytes() + plan.bytes());
  }
  EXPECT_EQ(memory.now, 0u);
  EXPECT_GT(memory.most, 0u);
}

TEST(device, bad_arguments_are_named) {
  csr<double> const a = find("skewed").matrix;
  device_matrix const there = put(a), twin = put(a);
  there_array<double> x(static_cast<std::size_t>(a.cols)), y(static_cast<std::size_t>(a.rows) + 1);
  EXPECT_TRUE(
      fails_with(errc::shape_mismatch, {"y has", "A has"}, [&] { spmv(1.0, there, x, 0.0, y); }));
  there_array<double> z(static_cast<std::size_t>(a.rows));
  spmv_plan plan(there);
  EXPECT_TRUE(fails_with(errc::bad_structure, {"plan", "elsewhere"},
                         [&] { spmv(plan, 1.0, twin, x, 0.0, z); }));
  EXPECT_TRUE(fails_with(errc::out_of_memory, {"limit"},
                         [&] { spmv_plan(policy{.workspace_limit = 1}, transposed(there)); }));
  EXPECT_TRUE(fails_with(errc::unsupported, {std::string(name(space_there)) + " memory", "cpu"},
                         [&] { spmv(where(cpu{}), 1.0, there, x, 0.0, z); }));
  EXPECT_TRUE(
      fails_with(errc::bad_structure, {"nothing"}, [&] { spmv(1.0, device_matrix(), x, 0.0, z); }));
  EXPECT_TRUE(fails_with(errc::backend, {name(backend_there)},
                         [&] { there_array<double>(5, policy{.device = 999}); }));
}

} // namespace
} // namespace tulle::test::device_contract_test

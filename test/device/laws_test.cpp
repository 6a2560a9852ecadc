// SPDX-License-Identifier: Apache-2.0

// What every device keeps beside the numbers: order on queues, plans, timers, and what is left
// where something fails.
#include "tulle/gen/generate.hpp"
#include "tulle/op/convert.hpp"
#include "tulle/op/spmm.hpp"

#include "device/memory.hpp"
#include "device/operands.hpp"
#include "device/spgemm.hpp"
#include "support/expect.hpp"
#include "support/zoo.hpp"

#include <gtest/gtest.h>
#include <thread>

namespace tulle::test::device_laws_test {
namespace {

std::vector<double> product_here(csr<double> const& a, std::vector<double> const& x) {
  std::vector<double> y(static_cast<std::size_t>(a.rows));
  spmv(reference{}, 1.0, a, x, 0.0, y);
  return y;
}

// Each product reads what the one before has written; nothing waits in between.
TEST(device_queue, work_runs_in_the_order_it_was_put_there) {
  csr<double> a = generate("random:60:60:300");
  for (std::size_t k = 0; k < a.val.size(); ++k)
    a.val[k] = static_cast<double>(k % 3) - 1;
  std::vector<double> wanted = integers(60, 1);
  own_queue const queue;
  device_matrix const there = upload(a, queue);
  there_array<double> x(wanted, queue), y(60, queue);
  spmv_plan plan(policy(queue), there);
  for (int k = 0; k < 6; ++k) {
    spmv(plan, 1.0, there, x, 0.0, y);
    detail::device_copy_there(x.data(), y.data(), y.bytes(), queue);
    wanted = product_here(a, wanted);
  }
  synchronize(queue);
  EXPECT_EQ(from_there(x), wanted);
}

// Without a plan, and without waiting: what the call took is given back in the queue's order.
TEST(device_queue, what_a_call_takes_lives_until_its_work_is_done) {
  csr<double> const a = find("lengths_0_to_70").matrix;
  std::vector<double> const xs = integers(static_cast<std::size_t>(a.rows), 1);
  std::vector<double> wanted(static_cast<std::size_t>(a.cols));
  spmv(reference{}, 1.0, transposed(a), xs, 0.0, wanted);
  own_queue const queue;
  counted memory;
  policy w = queue;
  w.memory = &memory;
  device_matrix const there = upload(a, queue);
  there_array<double> const x(xs, queue);
  std::size_t const before = bytes_in_use();
  for (policy const& where : {policy(queue), w}) {
    there_array<double> y(wanted.size(), queue);
    spmv(where, 1.0, transposed(there), x, 0.0, y);
    synchronize(queue);
    EXPECT_EQ(from_there(y), wanted);
  }
  // Matrices of one column go through spmv.
  for (std::size_t const width : {1, 3}) {
    there_array<double> b(xs.size() * width, queue), c(wanted.size() * width, queue);
    for (std::size_t j = 0; j < width; ++j)
      detail::device_copy(b.data() + j * xs.size(), xs.data(), xs.size() * sizeof(double), queue);
    spmm(w, 1.0, transposed(there), col_major<space_there>(b.data(), xs.size(), width), 0.0,
         col_major<space_there>(c.data(), wanted.size(), width));
    synchronize(queue);
    std::vector<double> const got = from_there(c);
    for (std::size_t j = 0; j < width; ++j)
      EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(),
                             got.begin() + static_cast<std::ptrdiff_t>(j * wanted.size())));
  }
  EXPECT_EQ(memory.now, 0u);
  EXPECT_EQ(bytes_in_use(), before);
}

TEST(device_queue, a_conversion_and_a_product_see_what_is_on_the_queue) {
  csr<double> const a = rough(find("lengths_0_to_70").matrix),
                    square = rough(generate("random:50:50:400"));
  own_queue const queue;
  policy const where = queue;
  device_matrix const there = upload(a, where);
  auto const view = there.view<csr_view<double, std::int32_t, std::int32_t, space_there>>();
  there_array<double> const twice(std::vector<double>(a.val.size(), 2), where);
  detail::device_copy_there(const_cast<double*>(view.val), twice.data(), twice.bytes(), where);
  csr<double> wanted = a;
  for (double& v : wanted.val)
    v = 2;
  any_matrix const back = download(convert(there, format::csc, where));
  EXPECT_EQ(*back.get_if<csr<double>>(), wanted);
  device_matrix const of_square = upload(square, where);
  device_matrix const c = spgemm(where, of_square, of_square), d = spgemm(where, c, of_square);
  any_matrix const here = spgemm(cpu{}, any_matrix(spgemm(cpu{}, square, square)), square);
  EXPECT_TRUE(same_as(d, here));
}

TEST(device_queue, timers_measure_what_is_on_it) {
  own_queue const queue;
  device_timer timer(queue);
  there_array<char> y(1 << 20, queue);
  timer.start();
  for (int k = 0; k < 3; ++k)
    detail::device_set(y.data(), 1, y.bytes(), queue);
  double const seconds = timer.stop();
  EXPECT_GT(seconds, 0);
  EXPECT_LT(seconds, 60);
  EXPECT_EQ(from_there(y)[100], 1); // stop() has waited
  timer.start();
  EXPECT_GE(timer.stop(), 0);
}

TEST(device_queue, threads_have_queues_of_their_own) {
  csr<double> const a = generate("random:200:200:3000");
  std::vector<std::string> wrong(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      own_queue const queue;
      for (unsigned k = 0; k < 20 && wrong[t].empty(); ++k) {
        std::vector<double> const xs = roughs(200, k + static_cast<unsigned>(t));
        device_matrix const there = upload(a, queue);
        there_array<double> const x(xs, queue);
        there_array<double> y(200, queue), z(200, queue);
        spmv(policy(queue), 1.0, there, x, 0.0, y);
        spmv(policy(queue), 1.0, convert(there, format::csr, policy(queue)), x, 0.0, z);
        synchronize(queue);
        if (from_there(y) != from_there(z))
          wrong[t] = "another product";
      }
    });
  for (std::thread& t : threads)
    t.join();
  for (std::string const& w : wrong)
    EXPECT_EQ(w, "");
}

TEST(device_plan, knows_its_matrix_by_its_arrays) {
  csr<double> const a = generate("random:71:71:900"); // square, as symmetric formats want it
  device_matrix const there = put(a), twin = put(a);
  there_array<double> const x(integers(static_cast<std::size_t>(a.cols), 1));
  there_array<double> y(static_cast<std::size_t>(a.rows));
  for (format const f : all_formats) {
    if (!is_on_device(f))
      continue;
    device_matrix const one = put(convert(a, f)), other = put(convert(a, f));
    spmv_plan plan(one);
    EXPECT_EQ(plan.path().find(path_there), 0u) << plan.path();
    plan.check(one);
    EXPECT_TRUE(
        fails_with(errc::bad_structure, {"elsewhere", name(f)}, [&] { plan.check(other); }));
    EXPECT_TRUE(
        fails_with(errc::bad_structure, {"elsewhere"}, [&] { spmv(plan, 1.0, other, x, 0.0, y); }));
    plan.rebind(other);
    spmv(plan, 1.0, other, x, 0.0, y);
    EXPECT_EQ(from_there(y), product_here(a, integers(static_cast<std::size_t>(a.cols), 1)));
    EXPECT_TRUE(fails_with(errc::bad_structure, {"elsewhere"}, [&] { plan.check(one); }));
  }
  // A view of a matrix is that matrix, whatever its values.
  auto const view = there.view<csr_view<double, std::int32_t, std::int32_t, space_there>>();
  spmv_plan plan(there);
  plan.check(view);
  EXPECT_TRUE(fails_with(errc::shape_mismatch, {"spmv", "plan"},
                         [&] { plan.check(put(generate("random:9:9:20"))); }));
  spmv_plan moved = std::move(plan);
  moved.check(there);
  EXPECT_TRUE(fails_with(errc::bad_structure, {"moved from"}, [&] { plan.check(there); }));
  auto const in = row_major<space_there>(x.data(), x.size(), 1);
  auto const out = row_major<space_there>(y.data(), y.size(), 1);
  spmm_plan wide(there, in, out);
  EXPECT_TRUE(fails_with(errc::bad_structure, {"elsewhere"}, [&] { wide.check(twin); }));
  wide.rebind(twin);
  wide.check(twin);
}

// Memory is used again: a plan is not for what comes to lie where its matrix was.
TEST(device_plan, is_not_for_another_matrix_at_the_same_place) {
  csr<double> const a = generate("random:50:50:400@7"), b = generate("random:50:50:400@8");
  ASSERT_FALSE(a == b);
  there_array<double> const x(integers(50, 1));
  there_array<double> y(50);
  auto there = std::make_unique<device_matrix>(put(a));
  spmv_plan plan(*there);
  there.reset();
  synchronize(policy{});
  device_matrix const next = put(b);
  EXPECT_TRUE(
      fails_with(errc::bad_structure, {"elsewhere"}, [&] { spmv(plan, 1.0, next, x, 0.0, y); }));
}

TEST(device_limits, are_of_workspace_alone) {
  csr<double> const a = find("lengths_0_to_70").matrix;
  device_matrix const there = put(a);
  there_array<double> x(static_cast<std::size_t>(a.rows)), y(static_cast<std::size_t>(a.cols));
  std::size_t const bytes = spmv_plan(transposed(there)).bytes();
  ASSERT_GT(bytes, 0u);
  spmv_plan const fits(policy{.workspace_limit = bytes}, transposed(there));
  EXPECT_TRUE(fails_with(errc::out_of_memory, {"spmv", "limit", std::to_string(bytes)}, [&] {
    spmv_plan(policy{.workspace_limit = bytes - 1}, transposed(there));
  }));
  EXPECT_TRUE(fails_with(errc::out_of_memory, {"limit"}, [&] {
    spmv(policy{.workspace_limit = bytes - 1}, 1.0, transposed(there), x, 0.0, y);
  }));
}

/// run(memory) where memory ends at the first allocation, at the second, and so on until there is
/// enough; what is left each time is as before.
template <class F>
void expect_nothing_left(char const* what, std::size_t least, F run) {
  counted memory;
  std::size_t const before = bytes_in_use();
  std::size_t k = 0;
  for (bool is_enough = false; !is_enough && k < 100; ++k) {
    memory.left = k;
    try {
      run(memory);
      is_enough = true;
    } catch (error const& e) {
      EXPECT_EQ(e.code(), errc::out_of_memory) << what << ": " << e.what();
    }
    EXPECT_EQ(memory.now, 0u) << what;
    EXPECT_EQ(bytes_in_use(), before) << what;
  }
  EXPECT_GE(k, least) << what;
  EXPECT_LT(k, 100u) << what;
}

TEST(device_memory, nothing_is_left_where_it_ends) {
  csr<double> const a = generate("random:71:71:900"); // square, as symmetric formats want it
  device_matrix const there = put(a);
  for (format const f : all_formats) {
    if (!is_on_device(f))
      continue;
    any_matrix const here = convert(a, f);
    expect_nothing_left(name(f), 3, [&](counted& m) { upload(here, policy{.memory = &m}); });
    expect_nothing_left(name(f), 3, [&](counted& m) { convert(there, f, policy{.memory = &m}); });
  }
  expect_nothing_left("array", 2, [&](counted& m) {
    there_array<double>(std::vector<double>(9), policy{.memory = &m});
  });
  expect_nothing_left("spmv_plan", 2,
                      [&](counted& m) { spmv_plan(policy{.memory = &m}, transposed(there)); });
  there_array<double> const b(a.val.size() * 40);
  there_array<double> c(a.val.size() * 40);
  expect_nothing_left("spmm_plan", 2, [&](counted& m) {
    spmm_plan(policy{.memory = &m}, transposed(there),
              row_major<space_there>(b.data(), there.rows(), 3),
              row_major<space_there>(c.data(), there.cols(), 3));
  });
}

TEST(device_memory, what_is_not_there_is_not_taken) {
  std::size_t const before = bytes_in_use();
  {
    there_array<double> const none(0, policy{});
    EXPECT_EQ(none.data(), nullptr);
    device_matrix const empty = put(csr<double>(0, 0, {0}, {}, {}));
    there_array<double> y(0, policy{});
    spmv(1.0, empty, none, 0.0, y);
    EXPECT_FALSE(empty.empty());
    device_matrix const nothing;
    EXPECT_TRUE(nothing.empty());
    EXPECT_TRUE(fails_with(errc::bad_structure, {"nothing"}, [&] { download(nothing); }));
  }
  EXPECT_EQ(bytes_in_use(), before);
}

TEST(device_operands, are_where_the_policy_is) {
  csr<double> const a = find("lengths_0_to_70").matrix;
  device_matrix const there = put(a);
  constexpr space other = space_there == space::cuda ? space::opencl : space::cuda;
  device const elsewhere(other);
  EXPECT_TRUE(fails_with(errc::unsupported, {"device_array", name(other), name(space_there)},
                         [&] { there_array<double>(5, elsewhere); }));
  EXPECT_TRUE(fails_with(errc::unsupported, {"convert", name(space_there), name(other), "upload"},
                         [&] { convert(there, format::csc, elsewhere); }));
  EXPECT_TRUE(fails_with(errc::unsupported, {"spgemm", name(space_there), name(other)},
                         [&] { spgemm(elsewhere, there, there); }));
  EXPECT_TRUE(fails_with(errc::unsupported, {"on a device already"},
                         [&] { upload(there.ref().matrix, policy{}); }));
  using f32 = csr_view<float, std::int32_t, std::int32_t, space_there>;
  EXPECT_TRUE(fails_with(errc::unsupported, {"f32_i32", "f64_i32"}, [&] { there.view<f32>(); }));
  using host = csr_view<double, std::int32_t, std::int32_t>;
  EXPECT_TRUE(
      fails_with(errc::unsupported, {"host", name(space_there)}, [&] { there.view<host>(); }));
  there_array<float> const x(there.cols());
  there_array<float> y(there.rows());
  EXPECT_TRUE(fails_with(errc::unsupported, {"f64_i32"}, [&] { spmv(1.0f, there, x, 0.0f, y); }));
  there_array<double> both(there.rows() + there.cols());
  EXPECT_TRUE(fails_with(errc::bad_structure, {"x and y overlap"}, [&] {
    spmv(1.0, there, vector_view<double const, space_there>(both.data(), there.cols()), 0.0,
         vector_view<double, space_there>(both.data() + there.cols() - 1, there.rows()));
  }));
  auto const view = there.view<csr_view<double, std::int32_t, std::int32_t, space_there>>();
  there_array<double> const z(there.cols());
  EXPECT_TRUE(fails_with(errc::bad_structure, {"y overlaps the arrays of A"}, [&] {
    spmv(1.0, there, z, 0.0,
         vector_view<double, space_there>(const_cast<double*>(view.val), there.rows()));
  }));
}

} // namespace
} // namespace tulle::test::device_laws_test

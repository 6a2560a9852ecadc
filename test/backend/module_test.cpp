// SPDX-License-Identifier: Apache-2.0

// What only a device that counts and fails on demand can show: which calls wait and allocate, what
// is read too early, and what is left where any allocation, launch or kernel fails.
#include "tulle/dynamic/device_dynamic_csr.hpp"
#include "tulle/gen/generate.hpp"
#include "tulle/op/convert.hpp"
#include "tulle/op/spmm.hpp"

#include "backend/under_test.hpp"
#include "device/spgemm.hpp"
#include "support/expect.hpp"
#include "support/layouts.hpp"
#include "support/zoo.hpp"

#include <functional>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tulle::test::module_test {
namespace {

using c64 = std::complex<double>;

TEST(test_device, says_what_it_is) {
  std::vector<device_info> const all = devices(backend::opencl);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].name, "a device for tests");
  EXPECT_EQ(backend_state(backend::opencl), "1 device");
}

TEST(test_device_memory, is_not_the_hosts_to_touch) {
  there_array<double> const y(std::vector<double>(10, 1));
  EXPECT_DEATH(std::printf("%g\n", *const_cast<double const volatile*>(y.data())), "");
  double const* gone = nullptr;
  {
    there_array<double> const z(10, policy{});
    gone = z.data();
  }
  synchronize(policy{});
  EXPECT_DEATH(detail::device_copy(const_cast<double*>(y.data()), gone, 80, policy{}), "");
}

TEST(test_device_memory, starts_as_nan) {
  for (double const v : from_there(there_array<double>(100, policy{})))
    EXPECT_NE(v, v);
}

TEST(test_device_queue, runs_nothing_before_it_is_waited_for) {
  own_queue const queue;
  there_array<double> const x(std::vector<double>(5, 3), queue);
  std::vector<double> here(5, 0);
  detail::device_copy_there(here.data(), x.data(), x.bytes(), queue);
  EXPECT_EQ(here, std::vector<double>(5, 0));
  EXPECT_EQ(control().pending(queue.handle), 1u);
  synchronize(queue);
  EXPECT_EQ(here, std::vector<double>(5, 3));
  EXPECT_EQ(control().pending(queue.handle), 0u);
}

/// What f() did.
struct counts {
  std::size_t waits = control().waits(), allocations = control().allocations(),
              launches = control().launches();
};
template <class F>
counts done_by(F f) {
  counts const before;
  f();
  counts after;
  after.waits -= before.waits;
  after.allocations -= before.allocations;
  after.launches -= before.launches;
  return after;
}

TEST(test_device_plan, calls_neither_wait_nor_allocate) {
  csr<double> const a = find("lengths_0_to_70").matrix;
  auto const rows = static_cast<std::size_t>(a.rows), cols = static_cast<std::size_t>(a.cols);
  there_array<double> b(rows * 2 + cols * 2), c(rows * 2 + cols * 2);
  for (format const f : {format::csr, format::csc, format::coo, format::ell, format::sell}) {
    device_matrix const there = put(convert(a, f));
    for (bool const t : {false, true}) {
      spmv_plan plan = t ? spmv_plan(transposed(there)) : spmv_plan(there);
      vector_view<double const, space_there> const x(b.data(), t ? rows : cols);
      vector_view<double, space_there> const y(c.data(), t ? cols : rows);
      counts const n = done_by([&] {
        if (t)
          spmv(plan, 1.0, transposed(there), x, 0.0, y);
        else
          spmv(plan, 1.0, there, x, 0.0, y);
      });
      EXPECT_EQ(n.waits, 0u) << name(f);
      EXPECT_EQ(n.allocations, 0u) << name(f);
      EXPECT_EQ(n.launches, 1u) << name(f);
    }
    auto const in = row_major<space_there>(b.data(), cols, 2);
    auto const out = row_major<space_there>(c.data(), rows, 2);
    spmm_plan plan(there, in, out);
    counts const n = done_by([&] { spmm(plan, 1.0, there, in, 0.0, out); });
    EXPECT_EQ(n.waits, 0u) << name(f);
    EXPECT_EQ(n.allocations, 0u) << name(f);
  }
  device_matrix const square = put(generate("random:50:50:400"));
  spgemm_plan plan(square, square);
  counts const n = done_by([&] { spgemm(plan, square, square); });
  EXPECT_EQ(n.waits, 0u);
  EXPECT_EQ(n.allocations, 0u);
  EXPECT_EQ(n.launches, 1u);
}

TEST(test_device_queue, calls_without_a_plan_do_not_wait) {
  device_matrix const there = put(find("lengths_0_to_70").matrix);
  there_array<double> const x(there.rows());
  there_array<double> y(there.cols());
  counts const n = done_by([&] { spmv(1.0, transposed(there), x, 0.0, y); });
  EXPECT_EQ(n.waits, 0u);
}

/// Something that is done on the device, and what comes of it.
struct deed {
  std::string name;
  std::function<std::vector<double>(policy const&)> run;
};

std::vector<double> values_of(device_matrix const& there) {
  any_matrix const here = download(there);
  auto const& val = here.get_if<csr<double>>()->val;
  return {val.begin(), val.end()};
}

std::vector<deed> every_deed() {
  static csr<double> const a = find("lengths_0_to_70").matrix;
  static csr<double> const square = generate("random:50:50:400");
  static device_matrix const there = put(a), there_square = put(square),
                             mask_there = put(generate("random:50:50:300@3")),
                             columns = put(convert(square, format::csc));
  static any_matrix const of_complex = as_type(square, type_tag::c64_i32);
  static device_matrix const complex_there = put(of_complex);
  auto const in_columns = [](policy const& w, bool adjoint) {
    there_array<c64> const b(std::vector<c64>(50 * 3, c64(1, 2)), w);
    there_array<c64> c(std::vector<c64>(50 * 3, c64(2, 1)), w);
    auto const in = row_major<space_there>(b.data(), 50, 3);
    auto const out = row_major<space_there>(c.data(), 50, 3);
    if (adjoint)
      spmm(w, 1.0, tulle::adjoint(complex_there), in, 2.0, out);
    else
      spmm(w, 1.0, transposed(complex_there), in, 2.0, out);
    synchronize(w);
    std::vector<double> parts;
    for (c64 const& v : from_there(c))
      parts.insert(parts.end(), {v.real(), v.imag()});
    return parts;
  };
  std::vector<deed> all = {
      {"upload", [](policy const& w) { return values_of(upload(a, w)); }},
      {"spmv",
       [](policy const& w) {
         there_array<double> const x(integers(there.cols(), 1), w);
         there_array<double> y(there.rows(), w);
         spmv(w, 1.0, there, x, 0.0, y);
         synchronize(w);
         return from_there(y);
       }},
      {"spmv, zero",
       [](policy const& w) {
         there_array<double> const x(there.cols(), w);
         there_array<double> y(integers(there.rows(), 1), w);
         spmv(w, 0.0, there, x, 2.0, y);
         synchronize(w);
         return from_there(y);
       }},
      {"spmv, adjoint",
       [](policy const& w) {
         there_array<c64> const x(std::vector<c64>(50, c64(1, 2)), w);
         there_array<c64> y(std::vector<c64>(50, c64(2, 1)), w);
         spmv(w, 1.0, tulle::adjoint(complex_there), x, 1.0, y);
         synchronize(w);
         std::vector<double> parts;
         for (c64 const& v : from_there(y))
           parts.insert(parts.end(), {v.real(), v.imag()});
         return parts;
       }},
      {"spmm", [=](policy const& w) { return in_columns(w, false); }},
      {"spmm, adjoint", [=](policy const& w) { return in_columns(w, true); }},
      {"spgemm", [](policy const& w) { return values_of(spgemm(w, there_square, there_square)); }},
      {"spgemm of csc",
       [](policy const& w) { return values_of(spgemm(w, columns, there_square)); }},
      {"spgemm, mask",
       [](policy const& w) {
         return values_of(spgemm(w, mask(mask_there), plus_pair(), there_square, there_square));
       }},
      {"spgemm, sum",
       [](policy const& w) {
         return values_of(spgemm(w, 2, there_square, there_square, -1, mask_there));
       }},
      {"spgemm, planned",
       [](policy const& w) {
         spgemm_plan plan(w, there_square, there_square);
         return values_of(spgemm(plan, there_square, there_square));
       }},
      {"galerkin",
       [](policy const& w) { return values_of(galerkin(w, there_square, there_square)); }}};
  for (format const f : {format::csr, format::csc, format::coo, format::ell, format::sell})
    all.push_back({std::string("to ") + name(f),
                   [f](policy const& w) { return values_of(convert(there, f, w)); }});
  return all;
}

/// fail(n) for n = 1, 2 ... until nothing fails; what is left each time is as it was before.
template <class Fail>
void expect_survived(char const* what, errc code, Fail fail) {
  for (deed const& d : every_deed()) {
    std::vector<double> const wanted = d.run({});
    own_queue const queue;
    synchronize(policy{});
    std::size_t const bytes = control().bytes(), blocks = control().blocks();
    std::size_t n = 1;
    for (bool is_done = false; !is_done && n < 1000; ++n) {
      fail(n);
      try {
        EXPECT_EQ(d.run(queue), wanted) << what << " of " << d.name;
        is_done = true;
      } catch (error const& e) {
        EXPECT_EQ(e.code(), code) << what << " " << n << " of " << d.name << ": " << e.what();
      }
      fail(0);
      try {
        synchronize(queue); // what has failed meanwhile is said once
      } catch (error const&) {
      }
      EXPECT_EQ(control().bytes(), bytes) << what << " " << n << " of " << d.name;
      EXPECT_EQ(control().blocks(), blocks) << what << " " << n << " of " << d.name;
    }
    EXPECT_GT(n, 2u) << d.name;
    EXPECT_LT(n, 1000u) << d.name;
    EXPECT_EQ(d.run(queue), wanted) << what << " of " << d.name << " once more";
  }
}

TEST(test_device_failures, any_allocation_may_fail) {
  expect_survived("allocation", errc::out_of_memory, control().fail_allocation);
}
TEST(test_device_failures, any_launch_may_fail) {
  expect_survived("launch", errc::backend, control().fail_launch);
}
TEST(test_device_failures, any_kernel_may_fail) {
  expect_survived("kernel", errc::backend, control().fail_execution);
}

TEST(test_device, has_no_dynamic_matrices) {
  using matrix = device_dynamic_csr<double, std::int32_t, space::opencl>;
  device_dynamic_options o;
  o.where = policy{};
  EXPECT_TRUE(fails_with(errc::unsupported, {"opencl", "f64_i32"}, [&] { matrix(3, 3, o); }));
}

TEST(test_device, has_no_kernel_for_other_formats) {
  device_matrix const there = put(convert(find("lengths_0_to_70").matrix, format::dia));
  there_array<double> const x(there.cols());
  there_array<double> y(there.rows());
  EXPECT_TRUE(fails_with(errc::unsupported, {"opencl has no kernel for dia of f64_i32"},
                         [&] { spmv(1.0, there, x, 0.0, y); }));
  EXPECT_TRUE(fails_with(errc::unsupported, {"no dia of f64_i32 is made on a device"},
                         [&] { convert(put(find("lengths_0_to_70").matrix), format::dia); }));
}

TEST(test_device, a_queue_that_is_not_there_is_an_error) {
  int nothing = 0;
  EXPECT_TRUE(
      fails_with(errc::backend, {"queue"}, [&] { synchronize(policy{.queue = &nothing}); }));
  EXPECT_TRUE(fails_with(errc::backend, {"device memory", "queue"},
                         [&] { there_array<double>(3, policy{.queue = &nothing}); }));
}

TEST(test_device, works_in_a_forked_process) {
  csr<double> const a = find("lengths_0_to_70").matrix;
  device_matrix const there = put(a);
  there_array<double> const x(integers(there.cols(), 1));
  there_array<double> y(there.rows());
  spmv(1.0, there, x, 0.0, y);
  std::vector<double> const wanted = from_there(y);
  pid_t const child = fork();
  if (child == 0) {
    poison(y);
    spmv(1.0, there, x, 0.0, y);
    _exit(from_there(y) == wanted ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

} // namespace
} // namespace tulle::test::module_test

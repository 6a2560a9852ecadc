// SPDX-License-Identifier: Apache-2.0

// A B on the device against the cpu, bit for bit: the zoo, plans, limits and errors, in every type
// of the device.
#include "tulle/gen/generate.hpp"
#include "tulle/op/convert.hpp"
#include "tulle/op/spgemm_forecast.hpp"

#include "device/memory.hpp"
#include "device/spgemm.hpp"
#include "support/expect.hpp"
#include "support/zoo.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <memory_resource>

namespace tulle::test::device_spgemm_test {
namespace {

using namespace device_products;

class device_spgemm : public testing::TestWithParam<type_tag> {
protected:
  type_tag const type = GetParam();
};
INSTANTIATE_TEST_SUITE_P(types, device_spgemm, testing::ValuesIn(every_type),
                         [](auto const& info) { return name(info.param); });

TEST_P(device_spgemm, has_the_bits_of_the_cpu) {
  for (animal const& animal : zoo()) {
    bool const is_large = animal.matrix.val.size() > (is_slow      ? 200u
                                                      : is_quick() ? 1'000u
                                                                   : 20'000u);
    if (is_large && (type != type_tag::f64_i32 || is_quick()))
      continue;
    any_matrix const a = as_type(rough(animal.matrix), type);
    for (std::int32_t const cols : {0, 1, 500, 200'000})
      expect_product(a, as_type(factor_for(animal.matrix, cols, 5), type),
                     animal.name + " times " + std::to_string(cols));
    if (animal.matrix.rows == animal.matrix.cols)
      expect_square(a, animal.name + " squared");
  }
}

TEST_P(device_spgemm, renews_the_values_of_a_plan) {
  for (char const* const text : {"poisson2d5:20", "fem:600", "rmat:10:20", "random:90:90:400"})
    for (bool const is_unsorted : {false, true}) {
      csr<double> const base = is_unsorted ? duplicated(unsorted(generate(text))) : generate(text);
      any_matrix const a = as_type(rough(base, 3), type), next = as_type(rough(base, 4), type);
      device_matrix const there = put(a), other = put(next);
      spgemm_plan plan(there, there);
      // A's indices with the values of another.
      with_csr(a, [&]<class V, class I, class O>(csr<V, I, O> const&) {
        using view = csr_view<V, I, O, space_there>;
        view mixed = there.view<view>();
        mixed.val = other.view<view>().val;
        device_ref const renewed{matrix_ref(mixed)};
        EXPECT_TRUE(same_as(spgemm(plan, renewed, there.ref()), spgemm(cpu{}, next, a))) << text;
        EXPECT_TRUE(same_as(spgemm(plan, renewed, renewed), spgemm(cpu{}, next, next))) << text;
      });
      EXPECT_TRUE(same_as(spgemm(plan, there, there), spgemm(cpu{}, a, a))) << text;
      EXPECT_GT(plan.bytes(), 0u);
      EXPECT_TRUE(fails_with(errc::bad_structure, {"spgemm", "elsewhere", "A"},
                             [&] { spgemm(plan, other, there); }));
    }
}

// Sums that come out as -0, in each method: they stay entries and keep their sign.
TEST_P(device_spgemm, keeps_zeros_and_their_sign) {
  for (char const* const text : {"poisson2d5:30", "fem:300", "rmat:10:20", "random:30:30:200"}) {
    csr<double> a = generate(text), b = a;
    for (std::size_t k = 0; k < a.val.size(); ++k) {
      a.val[k] = k % 3 == 0 ? -1 : -2;
      b.val[k] = k % 5 == 0 ? 1 : 0;
    }
    expect_product(as_type(a, type), as_type(b, type), text);
  }
}

TEST(device, products_pass_nan_on_through_stored_entries_alone) {
  csr<double> a = generate("rmat:9:8"), b = a;
  a.val[7] = INFINITY;
  b.val[40] = NAN;
  b.val[41] = 0;
  csr<double> const wanted = spgemm(cpu{}, a, b);
  any_matrix const found = download(spgemm(put(a), put(b)));
  csr<double> const& c = *found.get_if<csr<double>>();
  ASSERT_EQ(c.val.size(), wanted.val.size());
  for (std::size_t k = 0; k < c.val.size(); ++k)
    EXPECT_TRUE(c.val[k] == wanted.val[k] || (std::isnan(c.val[k]) && std::isnan(wanted.val[k])))
        << k;
}

TEST(device, large_products_have_the_bits_of_the_cpu) {
  for (char const* const text :
       {"fem:20000", "lattice:100000", "poisson2d9:300", "rmat:15:8", "circuit:3000"})
    if (!is_quick() || text == std::string("circuit:3000"))
      expect_square(random(text), text);
}

TEST_P(device_spgemm, takes_coo_and_csc) {
  any_matrix const a = as_type(random("random:300:200:3000"), type),
                   b = as_type(random("random:200:500:3000"), type);
  any_matrix const wanted = spgemm(cpu{}, a, b);
  for (format const f : {format::coo, format::csc}) {
    device_matrix const there_a = put(convert(a, f));
    EXPECT_TRUE(same_as(spgemm(there_a, put(b)), wanted)) << name(f);
    EXPECT_TRUE(same_as(spgemm(put(a), put(convert(b, f))), wanted)) << name(f);
    EXPECT_TRUE(fails_with(errc::unsupported, {"spgemm", "csr", name(f)},
                           [&] { spgemm_plan plan(there_a, put(b)); }));
  }
}

TEST(device, products_that_cannot_be_are_refused) {
  device_matrix const a = put(random("random:30:40:300"));
  EXPECT_TRUE(fails_with(errc::shape_mismatch, {"spgemm", "A is 30 x 40", "B is 30 x 40"},
                         [&] { spgemm(a, a); }));
  EXPECT_TRUE(fails_with(errc::shape_mismatch, {"spgemm", "A is 30 x 40", "B is 30 x 40"},
                         [&] { spgemm_plan plan(a, a); }));
  device_matrix const f32 = put(as_type(random("random:40:30:300"), type_tag::f32_i32));
  EXPECT_TRUE(
      fails_with(errc::unsupported, {"spgemm", "f64_i32", "f32_i32"}, [&] { spgemm(a, f32); }));
  device_matrix const b = put(random("random:40:20:300"));
  EXPECT_TRUE(fails_with(errc::bad_structure, {"nothing"}, [&] { spgemm(a, device_matrix()); }));
  std::vector<int> const row_ptr = {0, 1, 2, 3}, col = {0, 7, 2};
  std::vector<double> const val = {1, 2, 3};
  device_matrix const broken =
      put(csr_view<double, int, int>(unchecked, 3, 3, 3, row_ptr.data(), col.data(), val.data()));
  EXPECT_TRUE(fails_with(errc::bad_structure, {"col[1] is 7"}, [&] { spgemm(broken, broken); }));
  spgemm_plan plan(a, b);
  EXPECT_TRUE(fails_with(errc::shape_mismatch, {"spgemm", "30 x 40"}, [&] { spgemm(plan, b, a); }));
}

TEST(device, forecasts_say_what_comes) {
  for (char const* const text : {"poisson2d5:30", "fem:300", "rmat:10:20", "random:200:200:3000"}) {
    csr<double> const a = random(text);
    device_matrix const there = put(a);
    device_matrix const c = spgemm(there, there);
    product_forecast const f = spgemm_forecast(there, there), here = spgemm_forecast(cpu{}, a, a);
    spgemm_plan const plan(there, there, {.method = spgemm_method::tiny}); // has no map
    EXPECT_TRUE(f.is_exact);
    EXPECT_EQ(f.entries, static_cast<double>(c.nnz())) << text;
    EXPECT_EQ(f.products, here.products) << text;
    EXPECT_GE(f.most_entries, c.nnz()) << text;
    EXPECT_EQ(f.result_bytes, c.bytes()) << text;
    EXPECT_EQ(f.peak_bytes, c.bytes() + plan.bytes()) << text;
    EXPECT_GT(f.seconds, 0) << text;
    EXPECT_NE(plan.path().find(f.path), std::string::npos) << f.path;
  }
  device_matrix const wide = put(random("random:30:40:300"));
  EXPECT_TRUE(fails_with(errc::shape_mismatch, {"spgemm", "A is 30 x 40", "B is 30 x 40"},
                         [&] { spgemm_forecast(wide, wide); }));
  device_matrix const none = put(csr<double>(3, 3, {0, 0, 0, 0}, {}, {}));
  EXPECT_EQ(spgemm_forecast(none, none).entries, 0);
}

TEST(device, a_product_keeps_to_its_queue_and_memory) {
  own_queue const queue;
  csr<double> const a = random("rmat:10:12");
  any_matrix const wanted = spgemm(cpu{}, a, a);
  device_matrix const there = put(a);
  {
    counted memory;
    policy where = queue;
    where.memory = &memory;
    {
      device_matrix const c = spgemm(where, there, there);
      EXPECT_EQ(memory.now, c.bytes());
      synchronize(where);
      EXPECT_TRUE(same_as(c, wanted));
      spgemm_plan const plan(where, there, there);
      EXPECT_EQ(memory.now, 2 * c.bytes() + plan.bytes());
    }
    EXPECT_EQ(memory.now, 0u);
    for (std::size_t const allocations : {0, 1}) {
      memory.left = allocations;
      EXPECT_TRUE(fails_with(errc::out_of_memory, {}, [&] { spgemm(where, there, there); }));
      EXPECT_EQ(memory.now, 0u);
    }
    for (std::size_t allocations = 0; allocations < 5; ++allocations) {
      memory.left = allocations;
      EXPECT_TRUE(
          fails_with(errc::out_of_memory, {}, [&] { spgemm_plan plan(where, there, there); }));
      EXPECT_EQ(memory.now, 0u);
    }
  }
  EXPECT_TRUE(fails_with(errc::out_of_memory, {"workspace", "limit"},
                         [&] { spgemm(policy{.workspace_limit = 100}, there, there); }));
  EXPECT_TRUE(same_as(spgemm(there, there), wanted));
}

} // namespace
} // namespace tulle::test::device_spgemm_test

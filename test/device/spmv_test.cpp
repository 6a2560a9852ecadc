// SPDX-License-Identifier: Apache-2.0

// spmv of every format with a kernel on the device, in every layout and type, on the whole zoo.
#include "tulle/op/convert.hpp"

#include "device/operands.hpp"
#include "device/product.hpp"
#include "support/layouts.hpp"
#include "support/zoo.hpp"

#include <cstdlib>
#include <gtest/gtest.h>
#include <limits>

namespace tulle::test::device_spmv_test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double tolerance = 8; // in units of epsilon times the row's magnitude

class device_spmv : public testing::TestWithParam<std::size_t> {
protected:
  type_tag const type = static_cast<type_tag>(GetParam());
};
std::string type_name(testing::TestParamInfo<std::size_t> const& info) {
  return name(static_cast<type_tag>(info.param));
}
INSTANTIATE_TEST_SUITE_P(types, device_spmv, testing::Range<std::size_t>(0, type_count), type_name);

std::size_t in(any_matrix const& a, bool transposed) {
  return transposed ? a.rows() : a.cols();
}
std::size_t out(any_matrix const& a, bool transposed) {
  return transposed ? a.cols() : a.rows();
}

// The format's own way, and what else it has.
std::vector<spmv_options> every_method(format f, bool transposed) {
  std::vector<spmv_options> all = {{}};
  if (!transposed)
    for (spmv_method const m : spmv_methods(f))
      all.push_back({m});
  return all;
}

// TULLE_TEST_QUICK=1, for tools that take a hundred times as long: matrices that are not large,
// each as it is by default and as suits a GPU.
bool is_wanted(any_matrix const& csr) {
  return !is_quick() || csr.nnz() < (is_slow && csr.type() != type_tag::f64_i32 ? 300 : 5'000);
}
bool is_wanted(any_matrix const& a, std::string const& what) {
  return !is_quick() || is_default(what) || what == name(layout_for(a.format(), backend_there));
}

// f(what, matrix on the device, transposed, method) for all that the device multiplies with.
template <class F>
void for_each_there(any_matrix const& csr, F&& f) {
  if (!is_wanted(csr))
    return;
  for_each_layout(csr, [&](std::string const& what, any_matrix const& a) {
    if (!is_wanted(a, what))
      return;
    device_matrix const there = put(a);
    for (bool const transposed : {false, true})
      for (spmv_options const o : every_method(a.format(), transposed))
        if (!testing::Test::HasFatalFailure() && has_plan(there, transposed, o))
          f(what + " " + name(o.method), there, transposed, o);
  });
}

TEST(device, every_promised_format_multiplies) {
  any_matrix const csr = find("dense").matrix;
  for_each_format(csr, [&](any_matrix const& a) {
    if (is_on_device(a.format())) {
      EXPECT_TRUE(has_plan(put(a), false)) << name(a.format());
    }
  });
  EXPECT_TRUE(has_plan(put(csr), true));
}

TEST_P(device_spmv, is_exact_on_integers) {
  for (animal const& animal : zoo()) {
    any_matrix const csr = as_type(animal.matrix, type);
    if (!is_wanted(csr))
      continue;
    dense xs[2], ys[2];
    product exact[2];
    for (bool const t : {false, true}) {
      xs[t] = to_dense(type, integers(in(csr, t), 1));
      ys[t] = to_dense(type, integers(out(csr, t), 2));
      exact[t] = exact_product(csr, t, xs[t]);
    }
    for_each_there(csr,
                   [&](std::string const& what, device_matrix const& a, bool t, spmv_options o) {
                     struct {
                       double alpha, beta;
                     } const scalars[] = {{1, 0}, {-1, 2.5}, {2.5, 1}, {0, 0}, {0, 2.5}};
                     for (auto const s : scalars) {
                       wide const alpha = scalar(type, s.alpha), beta = scalar(type, s.beta);
                       dense got = s.beta == 0 ? constant(type, ys[t].size(), nan) : ys[t];
                       multiply_there(a, t, alpha, xs[t], beta, got, o, s.alpha == -1 ? 1 : 0);
                       ASSERT_TRUE(is_product(exact[t], alpha, beta, ys[t], got, 0, 0))
                           << animal.name << " " << what << (t ? " transposed" : "") << " alpha "
                           << s.alpha << " beta " << s.beta;
                     }
                   });
    if (HasFatalFailure())
      return;
  }
}

TEST_P(device_spmv, is_within_rounding_and_the_same_bits_again) {
  for (animal const& animal : zoo()) {
    any_matrix const csr = as_type(rough(animal.matrix), type);
    if (!is_wanted(csr))
      continue;
    dense xs[2], ys[2];
    product exact[2];
    for (bool const t : {false, true}) {
      xs[t] = to_dense(type, roughs(in(csr, t), 1));
      ys[t] = to_dense(type, roughs(out(csr, t), 2));
      exact[t] = exact_product(csr, t, xs[t]);
    }
    for_each_there(
        csr, [&](std::string const& what, device_matrix const& a, bool t, spmv_options o) {
          wide const alpha = scalar(type, 0.75), beta = scalar(type, -1.25);
          dense got = ys[t];
          multiply_there(a, t, alpha, xs[t], beta, got, o);
          ASSERT_TRUE(is_product(exact[t], alpha, beta, ys[t], got, epsilon(type), tolerance))
              << animal.name << " " << what << (t ? " transposed" : "");
          for (int again = 0; again < 3; ++again) {
            dense other = ys[t];
            multiply_there(a, t, alpha, xs[t], beta, other, o);
            ASSERT_TRUE(same_bits(got, other)) << animal.name << " " << what;
          }
        });
    if (HasFatalFailure())
      return;
  }
}

// Columns without entries: what x holds there reaches nothing.
TEST_P(device_spmv, x_without_entries_reaches_nothing) {
  for (char const* const animal :
       {"5x0", "0x5", "all_rows_empty", "entry_last_last", "first_rows_empty", "wide",
        "lengths_0_to_70", "row_of_8192_between", "mostly_empty_rows", "blocks_with_a_gap",
        "tile_ends_in_empty_rows", "column_over_blocks"}) {
    any_matrix const csr = as_type(find(animal).matrix, type);
    for_each_there(csr,
                   [&](std::string const& what, device_matrix const& a, bool t, spmv_options o) {
                     dense x = to_dense(type, integers(in(csr, t), 1));
                     product const p = exact_product(csr, t, x);
                     product const touched = exact_product(csr, !t, constant(type, out(csr, t), 1));
                     std::size_t free = 0;
                     for (std::size_t j = 0; j < touched.magnitude.size(); ++j)
                       if (touched.magnitude[j] == 0)
                         set(x, j, ++free % 2 ? nan : inf);
                     dense got = constant(type, out(csr, t), nan);
                     multiply_there(a, t, 1, x, 0, got, o);
                     ASSERT_TRUE(is_product(p, 1, 0, got, got, 0, 0))
                         << animal << " " << what << (t ? " transposed" : "");
                   });
  }
}

// A hole that a format fills is not an entry: NaN and Inf in x reach the rows that hold them.
TEST_P(device_spmv, nan_and_inf_reach_just_the_rows_that_hold_their_column) {
  for (char const* const animal :
       {"last_row_empty", "blocks_with_a_gap", "skewed", "lengths_0_to_70"})
    for (double const bad : {nan, inf}) {
      any_matrix const csr = as_type(find(animal).matrix, type);
      for (std::size_t const step : {1, 7}) {
        dense x = to_dense(type, integers(csr.cols(), 1));
        dense marks = constant(type, csr.cols(), 0);
        for (std::size_t j = 0; j < csr.cols(); j += step) {
          set(x, j, bad);
          set(marks, j, 1);
        }
        product const hit = exact_product(csr, false, marks);
        for_each_there(
            csr, [&](std::string const& what, device_matrix const& a, bool t, spmv_options o) {
              if (t)
                return;
              dense got = constant(type, csr.rows(), 0);
              multiply_there(a, false, 1, x, 0, got, o);
              std::vector<wide> const y = widen(got);
              for (std::size_t i = 0; i < y.size(); ++i)
                ASSERT_EQ(std::isfinite(y[i].real()), hit.magnitude[i] == 0)
                    << animal << " " << what << " row " << i << " of " << bad;
            });
      }
    }
}

} // namespace
} // namespace tulle::test::device_spmv_test

// SPDX-License-Identifier: Apache-2.0

// Rows that a GPU cuts into tiles.
#include "tulle/op/convert.hpp"

#include "device/operands.hpp"
#include "support/zoo.hpp"

#include <gtest/gtest.h>
#include <limits>

namespace tulle::test::cuda_spmv_test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

class cuda_spmv : public testing::TestWithParam<std::size_t> {
protected:
  type_tag const type = static_cast<type_tag>(GetParam());
};
std::string type_name(testing::TestParamInfo<std::size_t> const& info) {
  return name(static_cast<type_tag>(info.param));
}
INSTANTIATE_TEST_SUITE_P(types, cuda_spmv, testing::Range<std::size_t>(0, type_count), type_name);

// Rows longer than tiles, beside short and empty ones; few columns, and more than a cache holds.
TEST_P(cuda_spmv, tiles_within_long_rows) {
  std::size_t const lengths[] = {0, 1, 2, 127, 128, 129, 3000, 0, 5000, 64, 256};
  for (std::size_t const step : {1, 40}) {
    std::vector<std::int32_t> ptr = {0}, col;
    for (std::size_t i = 0; i < 40; ++i) {
      for (std::size_t k = 0; k < lengths[i % std::size(lengths)]; ++k)
        col.push_back(static_cast<std::int32_t>(k * step + i % step));
      ptr.push_back(static_cast<std::int32_t>(col.size()));
    }
    std::vector<double> const val = integers(col.size(), 3);
    auto const taken = [](auto const& v) { return array(v.data(), v.size()); };
    csr<double> const a(40, static_cast<std::int32_t>(5000 * step), taken(ptr), taken(col),
                        taken(val));
    any_matrix const here = as_type(a, type);
    dense const x = to_dense(type, integers(here.cols(), 1));
    dense const before = to_dense(type, integers(here.rows(), 2));
    product const exact = exact_product(here, false, x);
    for (format const f : {format::csr5, format::csr, format::acsr, format::csr_adaptive}) {
      if (!is_built(f, type))
        continue;
      device_matrix const there = put(convert(here, layout_for(f, backend::cuda)));
      EXPECT_NE(spmv_plan(there).path().find("long rows"), std::string::npos) << name(f);
      for (double const beta : {0.0, 1.0, 2.5}) {
        wide const factor = scalar(type, 2.5), scale = scalar(type, beta);
        dense got = beta == 0 ? constant(type, before.size(), nan) : before;
        multiply_there(there, false, factor, x, scale, got, {}, 1);
        ASSERT_TRUE(is_product(exact, factor, scale, before, got, 0, 0)) << name(f) << " " << step;
      }
    }
  }
}

} // namespace
} // namespace tulle::test::cuda_spmv_test

// SPDX-License-Identifier: Apache-2.0

/// Every registered format as a list of types for GoogleTest, and their names.
#pragma once
#include "tulle/core/registry.hpp"
#include "tulle/format/formats.hpp"

#include <gtest/gtest.h>
#include <string>

namespace tulle::test {

template <class Tuple>
struct to_gtest;
template <class... F>
struct to_gtest<std::tuple<F...>> {
  using type = testing::Types<F...>;
};
using every_format = to_gtest<formats_over<double, std::int32_t, std::int32_t>::type>::type;

struct format_names {
  template <class F>
  static std::string GetName(int) {
    return name(owner_traits<F>::format);
  }
};

} // namespace tulle::test

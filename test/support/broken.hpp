// SPDX-License-Identifier: Apache-2.0

/// Arrays that break one invariant each.
#pragma once
#include "support/expect.hpp"

#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace tulle::test {

/// What is wrong, how Arrays come to be so, and what the message names.
template <class Arrays>
struct broken {
  char const* what;
  std::function<void(Arrays&)> change;
  std::vector<std::string> expected;
};

/// Arrays::view() takes them as they are, and refuses each of these.
template <class Arrays>
void expect_refused(std::vector<broken<Arrays>> const& cases) {
  EXPECT_NO_THROW(borrowed(Arrays()));
  for (broken<Arrays> const& b : cases) {
    Arrays m;
    b.change(m);
    EXPECT_TRUE(fails_with(errc::bad_structure, b.expected, [&] { m.view(); })) << b.what;
  }
}

} // namespace tulle::test

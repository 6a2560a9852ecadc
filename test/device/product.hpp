// SPDX-License-Identifier: Apache-2.0

/// Products of matrices on the device whose types only run time tells.
#pragma once
#include "device/under_test.hpp"
#include "support/expect.hpp"

#include <cstdlib>
#include <gtest/gtest.h>

namespace tulle::test {

inline constexpr type_tag every_type[] = {
#define TULLE_TAG(tag, V, I, O) type_tag::tag,
    TULLE_TYPES(TULLE_TAG) TULLE_BASIC_TYPES(TULLE_TAG)
#undef TULLE_TAG
};

inline bool is_quick() {
  return is_slow || std::getenv("TULLE_TEST_QUICK") != nullptr;
}

/// f(the csr inside), whose type run time tells.
template <class F>
auto with_csr(any_matrix const& a, F&& f) {
  return visit(a.type(), [&](auto types) {
    using T = decltype(types);
    return f(*a.get_if<csr<typename T::value, typename T::index, typename T::offset>>());
  });
}

/// Bit for bit.
inline testing::AssertionResult same_as(device_matrix const& there, any_matrix const& wanted) {
  if (there.type() != wanted.type() || there.format() != format::csr)
    return testing::AssertionFailure() << "a " << name(there.format());
  any_matrix const here = download(there);
  return with_csr(wanted, [&](auto const& c) {
    using owner = std::remove_cvref_t<decltype(c)>;
    return same_arrays(here.get_if<owner>()->view(), c.view());
  });
}

} // namespace tulle::test

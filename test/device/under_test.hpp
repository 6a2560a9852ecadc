// SPDX-License-Identifier: Apache-2.0

/// The device that the laws of this folder are held by: a backend brings its policy and a few names
/// (backend/under_test.hpp, cuda/under_test.hpp), and compiles all of the folder with them.
#pragma once
#ifdef TULLE_TEST_CUDA
#include "cuda/under_test.hpp"
#else
#include "backend/under_test.hpp"
#endif

#include "tulle/core/device_matrix.hpp"

#include <vector>

namespace tulle::test {

template <class T>
using there_array = device_array<T, space_there>;

/// upload() to the device under test.
template <class A>
device_matrix put(A const& a) {
  return upload(a, policy{});
}

template <class T>
std::vector<T> from_there(there_array<T> const& y) {
  std::vector<T> here(y.size());
  y.copy_to(here.data());
  return here;
}

/// Full of NaN.
template <class T>
void poison(there_array<T>& y) {
  detail::device_set(y.data(), 0xff, y.bytes(), policy{});
  synchronize(policy{});
}

} // namespace tulle::test

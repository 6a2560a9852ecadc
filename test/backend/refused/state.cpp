// SPDX-License-Identifier: Apache-2.0

// Prints what the library says of the module that TULLE_OPENCL_MODULE names, and of work there.
#include "tulle/core/device_matrix.hpp"
#include "tulle/core/error.hpp"
#include "tulle/format/csr.hpp"

#include <cstdio>

int main() {
  using namespace tulle;
  std::printf("%s; ", backend_state(backend::opencl).c_str());
  try {
    device_matrix const there = upload(csr<double>(1, 1, {0, 1}, {0}, {5}), opencl{});
    std::printf("%zu entries\n", there.nnz());
    return devices(backend::opencl).size() == 1 ? 0 : 1;
  } catch (error const& e) {
    std::printf("%s: %s\n", name(e.code()), e.what());
    return devices(backend::opencl).empty() ? 0 : 1;
  }
}

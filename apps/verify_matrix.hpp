// SPDX-License-Identifier: Apache-2.0

/// The checks of `tulle verify` on one matrix.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tulle::app {

struct verification {
  std::string name;
  std::uint64_t rows = 0, cols = 0, nnz = 0;
  std::vector<std::string> formats, types;
  std::uint64_t checks = 0;
  std::uint64_t failed = 0;
  std::vector<std::string> failures; ///< the first few
  std::vector<std::string> notes;    ///< what was left out, and why
  double seconds = 0;
  bool ok() const { return failed == 0; }
};

/// Reads the matrix and compares every format and type pair built, on every backend, with sums in
/// extended precision: plain and transposed, same bits for 1, 2, 3 and 7 threads, nothing read that
/// is not stored; conversion there and back; refill. Whatever is thrown counts as a failure.
verification verify_matrix(std::string const& spec);

} // namespace tulle::app

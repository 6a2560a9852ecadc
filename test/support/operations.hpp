// SPDX-License-Identifier: Apache-2.0

/// Every operation that takes a policy, to be run under limits, with one thread and where memory
/// ends.
#pragma once
#include "tulle/core/where.hpp"
#include "tulle/format/csr.hpp"

#include <functional>
#include <string>
#include <vector>

namespace tulle::test {

struct operation {
  std::string name;
  /// Runs it; begin() when its operands are there. Returns the bytes of the result that come from
  /// the policy's memory. Throws what it throws, after having looked whether what it was to change
  /// is as before.
  std::function<std::size_t(cpu const& where, std::function<void()> const& begin)> run;
};

/// Of a square matrix; it lives as long as they do.
std::vector<operation> every_operation(csr<double> const& a);

} // namespace tulle::test

// SPDX-License-Identifier: Apache-2.0

// What a plan of C = A B keeps: one kind of state per host type, one for all devices.
#pragma once
#include "tulle/op/spgemm.hpp"

#include <string>

namespace tulle {

struct spgemm_plan::state {
  tulle::where where;
  spgemm_options options;
  any_matrix here;     // the result, a csr
  device_matrix there; // the same on a device
  std::string path;

  state(tulle::where const& w, spgemm_options o) : where(w), options(o) {}
  virtual ~state() = default;
  virtual std::size_t bytes() const noexcept = 0; // beside the result
  virtual void check(matrix_ref const& a, matrix_ref const& b) = 0;
  virtual void run(matrix_ref const& a, matrix_ref const& b) = 0;
};

namespace detail {

/// An operand is built, where the policy wants it, and has its arrays.
void check_product_operand(char const* which, matrix_ref const& m, where const& w);
/// Both are, and of one type.
void check_product_operands(matrix_ref const& a, matrix_ref const& b, where const& w);
/// errc::unsupported where one is not a csr.
void check_planned(matrix_ref const& a, matrix_ref const& b);

std::unique_ptr<spgemm_plan::state> product_on_device(where const& w, matrix_ref const& a,
                                                      matrix_ref const& b, spgemm_options o);

} // namespace detail
} // namespace tulle

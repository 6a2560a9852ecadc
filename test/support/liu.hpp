// SPDX-License-Identifier: Apache-2.0

/// The matrix that W. Liu's thesis (2015) stores in every sliced and blocked format.
#pragma once
#include "tulle/format/csr.hpp"

namespace tulle::test {

/// A_5, figures 5.10 to 5.17.
inline csr<double> liu_a5() {
  return {6,
          6,
          {0, 2, 4, 8, 10, 12, 14},
          {0, 1, 0, 2, 0, 1, 4, 5, 2, 3, 2, 3, 4, 5},
          {1, 2, 1, 2, 1, 2, 3, 4, 1, 2, 1, 2, 1, 2}};
}

} // namespace tulle::test

// SPDX-License-Identifier: Apache-2.0

/// How much of a processor others had: a shared machine is noisy, and a reader should know.
#pragma once
#include <string>

namespace tulle::bench {

/// Watches from its making on.
class load_meter {
public:
  load_meter();
  /// Part of the processors' time that the host gave to other guests.
  double steal() const;

private:
  double stolen_ = 0, total_ = 0;
};

} // namespace tulle::bench

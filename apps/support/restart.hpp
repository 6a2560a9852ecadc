// SPDX-License-Identifier: Apache-2.0

/// Settings that are read when a library is loaded: OpenMP's, which only a second start of the
/// program can change.
#pragma once

namespace tulle::app {

/// Starts this program again with that variable set, unless it is set already. Returns where it was
/// set, or where starting again fails; call it before any work or output.
void restart_with(char const* variable, char const* value);

} // namespace tulle::app

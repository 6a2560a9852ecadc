// SPDX-License-Identifier: Apache-2.0

/// Results as a table for documents: a line a matrix, a column a contestant.
#pragma once
#include "bench/record.hpp"

#include <string>

namespace tulle::bench {

/// One table for each operation, backend, type and state of the caches. Cells are ratios to the
/// bound, or milliseconds where there is none; the best of a line is bold. A peer's best variant
/// stands for it. Products are followed by the bytes of formats, and by what conversion leaves of
/// their gain after 50 and 500 calls.
std::string markdown(results const& r);

} // namespace tulle::bench

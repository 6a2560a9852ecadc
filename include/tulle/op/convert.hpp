// SPDX-License-Identifier: Apache-2.0

/// Any format to any other, through csr, when the formats are known at run time.
#pragma once
#include "tulle/core/any_matrix.hpp"

namespace tulle {

/// Whether a format is built for a type pair.
bool is_built(format f, type_tag t) noexcept;

/// a in format f. errc::unsupported where the format is not built for a's types.
any_matrix convert(matrix_ref a, format f, cpu const& where = {});
inline any_matrix convert(any_matrix const& a, format f, cpu const& where = {}) {
  return convert(a.ref(), f, where);
}

} // namespace tulle

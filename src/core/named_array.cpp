// SPDX-License-Identifier: Apache-2.0
#include "tulle/core/named_array.hpp"

#include "core/format_table.hpp"

#include <string>

namespace tulle {
std::vector<named_array> arrays(matrix_ref const& a) {
  if (!a.view)
    fail(errc::bad_structure, "arrays: the matrix_ref refers to no matrix");
  formats::format_ops const& ops = formats::ops(a.format, a.type);
  if (!ops.named_arrays)
    fail(errc::unsupported, "arrays: %s is not built for %s", name(a.format), name(a.type));
  return ops.named_arrays(a.view);
}

named_array array_of(matrix_ref const& a, std::string_view wanted) {
  std::string known;
  for (named_array const& one : arrays(a)) {
    if (wanted == one.name)
      return one;
    known += known.empty() ? "" : ", ";
    known += one.name;
  }
  fail(errc::unsupported, "array_of: %s has no array '%.*s'; it has %s", name(a.format),
       static_cast<int>(wanted.size()), wanted.data(), known.c_str());
}

} // namespace tulle

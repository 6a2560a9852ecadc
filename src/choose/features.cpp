// SPDX-License-Identifier: Apache-2.0
#include "choose/features.hpp"

#include "tulle/op/convert.hpp"

#include "core/format_table.hpp"

namespace tulle {

features look_at(matrix_ref a, cpu const& where) {
  formats::check_present("look_at", a);
  return detail::typed_memory("look_at", [&] {
    any_matrix csr;
    if (a.format != format::csr) {
      csr = convert(a, format::csr, where);
      a = csr.ref();
    }
    return visit(a.type, [&](auto types) {
      using T = decltype(types);
      return choose::look_at_csr(
          a.as<csr_view<typename T::value, typename T::index, typename T::offset>>(), where);
    });
  });
}

} // namespace tulle

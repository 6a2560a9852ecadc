// SPDX-License-Identifier: Apache-2.0
#include "tulle/core/any_matrix.hpp"

#include "core/short_offsets.hpp"

namespace tulle {

void any_matrix::refill(matrix_ref csr, cpu const& where) {
  holder& to = checked();
  type_tag const type = to.ref.type;
  bool const is_csr = csr.view && csr.format == format::csr && csr.space == space::host;
  if (!is_csr || (csr.type != type && formats::with_short_offsets(csr.type) != type))
    fail(errc::unsupported, "refill: expected a csr of %s%s, found a %s of %s", name(type),
         csr.space == space::host ? "" : " in host memory", csr.view ? name(csr.format) : "null",
         name(csr.type));
  detail::typed_memory("refill", [&] {
    detail::limited const space("refill", where);
    cpu const& counted = space.counted();
    if (csr.type == type)
      return to.refill(csr, counted);
    formats::with_short_offsets(csr, counted, [&](matrix_ref const& a) {
      if (a.type != type)
        fail(errc::overflow, "refill: the offsets of %zu entries do not fit those of %s", csr.nnz,
             name(type));
      to.refill(a, counted);
    });
  });
}

} // namespace tulle

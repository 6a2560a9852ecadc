// SPDX-License-Identifier: Apache-2.0

/// What from_csr() of each format starts from.
#pragma once
#include "tulle/format/csr.hpp"

namespace tulle::detail {

/// A view of the canonical form of a: of a itself where that is canonical, of a sorted copy where
/// it is not. Conversions start here, so that a format sees canonical rows only.
template <class V, class I, class O>
struct canonical {
  csr<V, I, O> copy;
  csr_view<V, I, O> view;

  canonical(csr_view<V, I, O> a, cpu const& where) : view(a) {
    a.validate(where);
    if (!a.is_canonical(where)) {
      copy = a.to_csr(where);
      view = copy.view();
    }
  }
};

} // namespace tulle::detail

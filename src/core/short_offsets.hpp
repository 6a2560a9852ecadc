// SPDX-License-Identifier: Apache-2.0

// A csr with offsets as wide as its indices, for what is not built for wider ones: columns and
// values stay where they are.
#pragma once
#include "tulle/core/any_matrix.hpp"

#include <algorithm>
#include <type_traits>

namespace tulle::formats {

/// f(csr) of a itself, or of a with shorter offsets if it has wider ones and they fit.
template <class F>
auto with_short_offsets(matrix_ref const& a, cpu const& where, F&& f) {
  return visit(a.type, [&](auto types) {
    using T = decltype(types);
    using I = typename T::index;
    using O = typename T::offset;
    if constexpr (sizeof(O) > sizeof(I))
      if (auto const& wide = a.as<csr_view<typename T::value, I, O>>();
          std::in_range<I>(wide.nnz)) {
        wide.validate(where); // offsets that lead elsewhere must not be cut to some that do not
        array<I> row_ptr(wide.row_ptr ? static_cast<std::size_t>(wide.rows) + 1 : 0, where.memory);
        std::transform(wide.row_ptr, wide.row_ptr + row_ptr.size(), row_ptr.data(),
                       [](O at) { return static_cast<I>(at); });
        csr_view<typename T::value, I, I> const view(unchecked, wide.rows, wide.cols,
                                                     static_cast<I>(wide.nnz), row_ptr.data(),
                                                     wide.col, wide.val);
        return f(matrix_ref(view));
      }
    return f(a);
  });
}

/// The tag of the same values and indices with short offsets.
inline type_tag with_short_offsets(type_tag t) {
  return visit(t, [](auto types) {
    using T = decltype(types);
    return type_of<typename T::value, typename T::index, typename T::index>::value;
  });
}

} // namespace tulle::formats

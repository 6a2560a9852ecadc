// SPDX-License-Identifier: Apache-2.0

/// Rows of csr side by side, as formats store them that go step by step.
#pragma once
#include <algorithm>

namespace tulle::detail {

/// Up to `chunk` rows of a csr, at most 64: lane l has n[l] entries from from[l] on.
template <class O>
struct row_lanes {
  O from[64];
  O n[64];
  int chunk, here; ///< lanes, and how many have rows
  O common, most;  ///< the least and the greatest n; common is 0 where lanes have no row

  /// row(l) is the row in lane l; of each row there are the first `width` entries.
  template <class Row>
  row_lanes(O const* row_ptr, int chunk, int here, O width, Row const& row)
      : chunk(chunk), here(here), common(here == chunk ? width : O(0)), most(0) {
    for (int l = 0; l < here; ++l) {
      auto const i = row(l);
      from[l] = row_ptr[i];
      n[l] = std::min<O>(static_cast<O>(row_ptr[i + 1] - row_ptr[i]), width);
      common = std::min(common, n[l]);
      most = std::max(most, n[l]);
    }
  }

  /// f(lane, k) for entry k of each lane, step by step: what lanes have at one step lies together.
  template <class F>
  void each(F&& f) const {
    each(f, [](O) {});
  }
  /// The same, with before(k) every 8 steps of those: all that a step ahead needs asked for at once
  /// would keep the processor from going on.
  template <class F, class G>
  void each(F&& f, G&& before) const {
    auto const steps = [&](int wide) {
      for (O k = 0; k < common;) {
        before(k);
        for (O const stop = std::min<O>(common, k + 8); k < stop; ++k)
          for (int l = 0; l < wide; ++l)
            f(l, k);
      }
    };
    if (chunk == 8) // the usual one known to the compiler
      steps(8);
    else
      steps(chunk);
    for (O k = common; k < most; ++k)
      for (int l = 0; l < here; ++l)
        if (k < n[l])
          f(l, k);
  }
};

} // namespace tulle::detail

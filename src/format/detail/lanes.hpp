// SPDX-License-Identifier: Apache-2.0

/// Rows of csr side by side, as formats store them that go step by step.
#pragma once
#include "tulle/format/detail/arrays.hpp"

#include "format/detail/copy.hpp"

#include <algorithm>

namespace tulle::detail {

// Up to so many entries a row is never kept apart; other numbers have not been measured.
inline constexpr int least_long = 64;

/// Rows of more entries than this are kept apart: `split` times the average, 0 for none.
constexpr std::size_t most_length(int split, std::size_t rows, std::size_t nnz) {
  return split == 0 ? SIZE_MAX
                    : std::max<std::size_t>(least_long,
                                            static_cast<std::size_t>(split) * (nnz / rows + 1));
}

/// to(k)[l] = row[l][k] for eight rows and n steps, with before(k) every 8 of them; as put() where
/// `past`. Two steps at once: a store of one value each takes longer than to read it.
template <class V, class To, class G>
void copy_eight_rows(V const* const (&row)[8], std::size_t n, bool past, To&& to, G&& before) {
  std::size_t k = 0;
  if constexpr (sizeof(V) == sizeof(long long))
    for (; k + 2 <= n; k += 2) {
      if (k % 8 == 0)
        before(k);
      V* const here = to(k);
      V* const next = to(k + 1);
      for (int l = 0; l < 8; l += 2) {
        two_words a, b;
        std::memcpy(&a, row[l] + k, sizeof a);
        std::memcpy(&b, row[l + 1] + k, sizeof b);
        put(__builtin_shufflevector(a, b, 0, 2), here + l, past);
        put(__builtin_shufflevector(a, b, 1, 3), next + l, past);
      }
    }
  for (; k < n; ++k) {
    if (k % 8 == 0)
      before(k);
    for (int l = 0; l < 8; ++l)
      to(k)[l] = row[l][k];
  }
}

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
    rest(f);
  }

  /// to(k)[l] = array[from[l] + k] for all of them; as put() where `past`.
  template <class V, class To, class G>
  void copy(V const* array, bool past, To&& to, G&& before) const {
    if (chunk != 8)
      return each([&](int l, O k) { to(k)[l] = array[from[l] + k]; }, before);
    V const* row[8];
    for (int l = 0; l < here; ++l)
      row[l] = array + from[l];
    copy_eight_rows(row, static_cast<std::size_t>(common), past, to, before);
    rest([&](int l, O k) { to(k)[l] = array[from[l] + k]; });
  }

private:
  template <class F>
  void rest(F&& f) const {
    for (O k = common; k < most; ++k)
      for (int l = 0; l < here; ++l)
        if (k < n[l])
          f(l, k);
  }
};

} // namespace tulle::detail

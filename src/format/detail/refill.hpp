// SPDX-License-Identifier: Apache-2.0

/// New values on the same pattern.
#pragma once
#include "tulle/format/csr.hpp"

#include "format/detail/canonical.hpp"
#include "format/detail/check_pointers.hpp"
#include "format/detail/copy.hpp"

namespace tulle::detail {

[[noreturn]] inline void refill_mismatch(char const* name) {
  fail(errc::bad_structure, "%s: refill with another pattern; build a new matrix instead", name);
}

/// New values for a format of that shape: fill(c) where is(c) says that c, the canonical form of a,
/// has its pattern. is() may be given any columns, but never row_ptr that lead outside of them.
/// refuse(c) may throw something better than a mismatch.
template <class V, class I, class O, class Is, class Fill,
          class Refuse = void (*)(csr_view<V, I, O> const&)>
void refill_if(
    char const* name, I rows, I cols, O nnz, csr_view<V, I, O> const& a, cpu const& where,
    Is const& is, Fill const& fill, Refuse const& refuse = [](csr_view<V, I, O> const&) {}) {
  auto const fits = [&](csr_view<V, I, O> const& c) {
    return c.rows == rows && c.cols == cols && c.nnz == nnz && is(c);
  };
  // What equals a canonical pattern is canonical: that is a pass over the columns, where to ask
  // whether they are in range and ascend takes two more.
  check_shape("csr", a.rows, a.cols);
  check_pointers("csr: row_ptr", a.row_ptr, static_cast<std::size_t>(a.rows), a.nnz);
  check_present("csr: col", a.col, static_cast<std::size_t>(a.nnz));
  check_present("csr: val", a.val, static_cast<std::size_t>(a.nnz));
  if (fits(a))
    return fill(a);
  canonical<V, I, O> const c(a, where);
  if (!fits(c.view)) {
    refuse(c.view);
    refill_mismatch(name);
  }
  fill(c.view);
}

/// to[0, n) = from[0, n) by all threads, past the caches where that is much.
template <class V>
void copy_values(V const* from, std::size_t n, V* to, cpu const& where) {
  int const parts = parts_for(n, where.threads);
  bool const past = n * sizeof(V) >= past_caches_from;
  if (n != 0)
    parallel(parts, [&](int part) {
      std::size_t const k = split(n, part, parts);
      std::size_t const count = split(n, part + 1, parts) - k;
      if (!past) {
        std::copy_n(from + k, count, to + k);
        return;
      }
      copy_past_caches(from + k, count, to + k);
      after_stores();
    });
}

/// The same where the pattern is row_ptr and col and the values go to val.
template <class V, class I, class O>
void refill_rows(char const* name, I rows, I cols, O nnz, csr_view<V, I, O> const& a,
                 O const* row_ptr, I const* col, V* val, cpu const& where) {
  auto const n = static_cast<std::size_t>(nnz);
  int const parts = parts_for(n, where.threads);
  refill_if(
      name, rows, cols, nnz, a, where,
      [&](csr_view<V, I, O> const& c) {
        bool good = c.rows == 0 || same(c.row_ptr, row_ptr, static_cast<std::size_t>(c.rows) + 1);
        if (good)
          parallel(parts, [&](int part) {
            std::size_t const k = split(n, part, parts);
            if (!same(c.col + k, col + k, split(n, part + 1, parts) - k))
              __atomic_store_n(&good, false, __ATOMIC_RELAXED);
          });
        return good;
      },
      [&](csr_view<V, I, O> const& c) { copy_values(c.val, n, val, where); });
}

} // namespace tulle::detail

// SPDX-License-Identifier: Apache-2.0

// What every form of C = A B asks of its operands, and the stages for them.
#pragma once
#include "tulle/format/csr.hpp"

#include "backend/cpu_csr.hpp"
#include "format/detail/canonical.hpp"
#include "kernel/spgemm.hpp"
#include "op/known_pattern.hpp"
#include "op/spgemm_stages.hpp"

#include <algorithm>
#include <memory>

namespace tulle::detail {

template <class V, class I, class O>
void check_product(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b, where const& w) {
  check_operand("spgemm", "A", a, w);
  check_operand("spgemm", "B", b, w);
  if (a.cols != b.rows)
    fail(errc::shape_mismatch, "spgemm: A is %lld x %lld but B is %lld x %lld",
         static_cast<long long>(a.rows), static_cast<long long>(a.cols),
         static_cast<long long>(b.rows), static_cast<long long>(b.cols));
}

template <class V, class I, class O>
bool is_same(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b) {
  return a.col == b.col && a.val == b.val && a.row_ptr == b.row_ptr && a.nnz == b.nnz &&
         a.rows == b.rows && a.cols == b.cols;
}

/// Which operands are canonical; A A is looked at once.
struct canonical_operands {
  bool a = true, b = true;
};
template <class V, class I, class O>
canonical_operands which_canonical(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b,
                                   where const& w) {
  bool const of_a = a.is_canonical(w.as_cpu());
  return {of_a, is_same(a, b) ? of_a : b.is_canonical(w.as_cpu())};
}

// Bytes up to which all rows are computed once, before C is allocated; else they are computed
// twice. ms without and with, by bytes: cond-mat-2005 (115 MB) 79, 56; thesaurus-en-us (140 MB)
// 174, 136; as-22july06 (304 MB) 89, 130; c-62 (680 MB) 187, 230: fresh pages cost more than sums.
constexpr std::size_t most_kept = std::size_t{192} << 20;

/// A and B in canonical form; copies count against the limit.
template <class V, class I, class O>
struct product_operands {
  csr_view<V, I, O> a, b;
  std::size_t taken; // of the policy's limit, with what the caller has taken
  std::size_t limit; // what that leaves of it

  product_operands(csr_view<V, I, O> const& from_a, csr_view<V, I, O> const& from_b,
                   canonical_operands are, where const& w, std::size_t by_caller = 0)
      : a(from_a), b(from_b), taken(by_caller) {
    bool const sorts_b = !are.b && !is_same(from_a, from_b);
    std::size_t held = taken, wanted = taken;
    auto const want = [&](csr_view<V, I, O> const& from) {
      wanted = std::max(wanted, held + bytes_of(from) + longest(from) * sizeof(O));
      held += bytes_of(from);
    };
    if (!are.a)
      want(a);
    if (sorts_b)
      want(b);
    if (wanted > w.workspace_limit)
      fail(errc::out_of_memory,
           "spgemm: %zu bytes of workspace wanted to sort operands, the limit is %zu", wanted,
           w.workspace_limit);
    if (!are.a)
      a = sorted(a, copy_a_, w);
    if (sorts_b)
      b = sorted(b, copy_b_, w);
    else if (!are.b)
      b = a;
    limit = w.workspace_limit - taken;
  }
  product_operands(product_operands const&) = delete;

  spgemm_room room(std::size_t at_least = 0) const { return {limit, taken, at_least}; }
  /// Where count() may keep rows for fill().
  spgemm_room keeping_room() const { return {limit, taken, 0, most_kept}; }

private:
  static std::size_t longest(csr_view<V, I, O> const& from) {
    O most = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(from.rows); ++i)
      most = std::max<O>(most, from.row_ptr[i + 1] - from.row_ptr[i]);
    return static_cast<std::size_t>(most);
  }
  /// In room for all entries, duplicates included: gaps are closed there.
  csr_view<V, I, O> sorted(csr_view<V, I, O> const& from, csr<V, I, O>& copy, where const& w) {
    auto const rows = static_cast<std::size_t>(from.rows), n = static_cast<std::size_t>(from.nnz);
    copy = csr<V, I, O>(unchecked, from.rows, from.cols, array<O>(rows + 1, w.memory),
                        array<I>(n, w.memory), array<V>(n, w.memory));
    taken += bytes_of(from);
    std::size_t const parts = (w.workspace_limit - taken) / (longest(from) * sizeof(O));
    cpu where = w.as_cpu();
    where.threads = static_cast<int>(
        std::min<std::size_t>(parts, static_cast<std::size_t>(parts_for(n + rows, where.threads))));
    sort_rows(from, copy, where);
    for (std::size_t i = 0; i < rows; ++i) {
      auto const at = static_cast<std::size_t>(copy.row_ptr[i]),
                 length = static_cast<std::size_t>(copy.row_ptr[i + 1]) - at,
                 gap = static_cast<std::size_t>(from.row_ptr[i]);
      if (at == gap)
        continue;
      std::copy_n(copy.col.data() + gap, length, copy.col.data() + at);
      std::copy_n(copy.val.data() + gap, length, copy.val.data() + at);
    }
    return {unchecked,           from.rows,       from.cols,      copy.row_ptr[rows],
            copy.row_ptr.data(), copy.col.data(), copy.val.data()};
  }

  csr<V, I, O> copy_a_, copy_b_;
};

template <class V, class I, class O>
std::unique_ptr<spgemm_stages> make_stages(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b,
                                           spgemm_options const& o, where const& w,
                                           spgemm_room const& room, O const* first = nullptr) {
  return std::make_unique<spgemm_stages>(
      formats::cpu_spgemm(active_isa(), type_of<V, I, O>::value),
      spgemm_sizes{static_cast<std::size_t>(a.rows), static_cast<std::size_t>(b.rows),
                   static_cast<std::size_t>(a.nnz), sizeof(V), sizeof(I), first},
      &a, &b, o, w, room);
}

/// C with room for its entries; row_ptr becomes true when they are filled in.
template <class V, class I, class O>
csr<V, I, O> counted(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b, spgemm_stages& s,
                     where const& w) {
  auto const rows = static_cast<std::size_t>(a.rows);
  csr<V, I, O> c(unchecked, a.rows, b.cols, array<O>(rows + 1, w.memory), {}, {});
  c.row_ptr[0] = 0;
  auto const nnz =
      static_cast<std::size_t>(narrow<O>(s.count(c.row_ptr.data()), "spgemm: number of entries"));
  c.col = array<I>(nnz, w.memory);
  c.val = array<V>(nnz, w.memory);
  return c;
}

} // namespace tulle::detail

// SPDX-License-Identifier: Apache-2.0

/// R A P, the coarse matrix of a multigrid method; R is P^T where none is given.
///
///     auto coarse = tulle::galerkin(a, p);              // P^T A P
///     auto coarse = tulle::galerkin(r, a, p, {.order = tulle::galerkin_order::ra_first});
///
/// The first product is there as a whole, unless that would take more than half of the
/// workspace_limit. Then R's rows go in blocks, each with the rows of A and of P from the first to
/// the last that it needs, so that little is computed twice where the numbering is local. The bits
/// are those of the order for every number of blocks. To go in blocks saves memory, not time: on
/// grids 16 of them take 1.0 to 1.2 times as long in (R A) P, and 1.2 to 2.2 in R (A P), where the
/// rows of A that blocks share are more. P^T, copies of operands, the first product, and C's values
/// once more when its blocks are put together count against the limit.
#pragma once
#include "tulle/op/spgemm_forecast.hpp"
#include "tulle/op/transpose.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace tulle {

enum class galerkin_order : std::uint8_t {
  automatic, ///< the one with fewer products, as spgemm_forecast sees them; (R A) P where close
  ra_first,  ///< (R A) P
  ap_first,  ///< R (A P)
};
struct galerkin_options {
  galerkin_order order = galerkin_order::automatic;
  std::size_t blocks = 0; ///< of R's rows, on the host; 0: as many as the workspace_limit wants
};

/// How R A P is computed.
struct galerkin_road {
  galerkin_order order = galerkin_order::ra_first;
  std::size_t blocks = 1;

  /// "(R A) P, 4 blocks of rows"
  std::string path() const {
    std::string const text = order == galerkin_order::ra_first ? "(R A) P" : "R (A P)";
    return blocks > 1 ? text + ", " + std::to_string(blocks) + " blocks of rows" : text;
  }
};

namespace detail {

/// errc::shape_mismatch where R A P is not one.
template <class R, class A, class P>
void check_galerkin(R const& r, A const& a, P const& p) {
  if (r.cols != a.rows || a.cols != p.rows)
    fail(errc::shape_mismatch, "galerkin: R is %lld x %lld, A %lld x %lld, P %lld x %lld",
         static_cast<long long>(r.rows), static_cast<long long>(r.cols),
         static_cast<long long>(a.rows), static_cast<long long>(a.cols),
         static_cast<long long>(p.rows), static_cast<long long>(p.cols));
}

/// The one with fewer products: of each entry of the first product the second makes as many as P's
/// rows, or R's columns, are long on average.
/// `ra_cost` is what one of (R A) P takes, of what one of R (A P) does.
template <class R, class P>
galerkin_order cheaper_order(product_forecast const& ra, P const& p, product_forecast const& ap,
                             R const& r, double ra_cost = 1) {
  auto const mean = [](auto entries, auto lines) {
    return static_cast<double>(entries) / static_cast<double>(lines > 0 ? lines : 1);
  };
  double const ra_first = static_cast<double>(ra.products) + ra.entries * mean(p.nnz, p.rows);
  double const ap_first = static_cast<double>(ap.products) + ap.entries * mean(r.nnz, r.cols);
  return ra_cost * ra_first < ap_first ? galerkin_order::ra_first : galerkin_order::ap_first;
}

template <class V, class I, class O>
galerkin_road road_of(where const& w, csr_view<V, I, O> const& r, csr_view<V, I, O> const& a,
                      csr_view<V, I, O> const& p, galerkin_options const& o) {
  constexpr std::size_t samples = 200, blocks_limit = 1024;
  // P^T A P has as many in both orders if A is symmetric. On four grids (R A) P took .68 to .81 of
  // the time on one thread: it has fewer and longer rows.
  constexpr double ra_cost = .75;
  galerkin_road road{o.order, std::max<std::size_t>(1, o.blocks)};
  bool const may_block = o.blocks == 0 && w.workspace_limit != SIZE_MAX;
  bool const chooses = o.order == galerkin_order::automatic;
  product_forecast ra, ap;
  if (chooses || (may_block && o.order == galerkin_order::ra_first))
    ra = spgemm_forecast(w, r, a, samples);
  if (chooses || (may_block && o.order == galerkin_order::ap_first))
    ap = spgemm_forecast(w, a, p, samples);
  if (chooses)
    road.order = cheaper_order(ra, p, ap, r, ra_cost);
  if (may_block) {
    std::size_t const room = w.workspace_limit / 2 + 1;
    std::size_t const bytes = (road.order == galerkin_order::ra_first ? ra : ap).result_bytes;
    road.blocks = bytes <= room ? 1 : (bytes + bytes_of(r) + bytes_of(a)) / room + 1;
    road.blocks = std::min(road.blocks, blocks_limit);
  }
  road.blocks = std::min(road.blocks, std::max<std::size_t>(1, static_cast<std::size_t>(r.rows)));
  return road;
}

/// Rows [first, last) of a matrix, and of its columns those from the first to the last they have.
template <class V, class I, class O>
struct row_block {
  std::size_t low, high; // of columns
  array<O> row_ptr;
  array<I> col;
  csr_view<V, I, O> view;

  row_block(csr_view<V, I, O> const& a, std::size_t first, std::size_t last, cpu const& where)
      : low(static_cast<std::size_t>(a.cols)), high(0), row_ptr(last - first + 1, where.memory) {
    O const begin = first < last ? a.row_ptr[first] : O(0);
    row_ptr[0] = 0;
    for (std::size_t i = first; i < last; ++i) { // of ascending columns
      O const from = a.row_ptr[i], to = a.row_ptr[i + 1];
      row_ptr[i - first + 1] = to - begin;
      if (from == to)
        continue;
      low = std::min(low, static_cast<std::size_t>(a.col[from]));
      high = std::max(high, static_cast<std::size_t>(a.col[to - 1]) + 1);
    }
    low = std::min(low, high);
    O const n = row_ptr[last - first];
    col = array<I>(static_cast<std::size_t>(n), where.memory);
    for (O k = 0; k < n; ++k)
      col[static_cast<std::size_t>(k)] = a.col[begin + k] - static_cast<I>(low);
    view = csr_view<V, I, O>(unchecked, static_cast<I>(last - first), static_cast<I>(high - low), n,
                             row_ptr.data(), col.data(), a.val + begin);
  }
};

/// a, or its canonical form where that is something else.
template <class V, class I, class O>
csr<V, I, O> canonical_of(csr_view<V, I, O>& a, cpu const& where) {
  csr<V, I, O> copy;
  if (!a.is_canonical(where)) {
    copy = a.to_csr(where);
    a = copy.view();
  }
  return copy;
}

/// An array of all blocks, each of which gives up its own.
template <class M, class T>
array<T> join(std::vector<M>& blocks, array<T> M::*part, std::size_t n, where const& w) {
  array<T> all(n, w.memory);
  T* to = all.data();
  for (M& block : blocks) {
    to = std::copy((block.*part).begin(), (block.*part).end(), to);
    block.*part = {};
  }
  return all;
}

/// The first of two products, which counts: it may take half of what is left, and its workspace the
/// other half.
template <class V, class I, class O>
csr<V, I, O> first_product(limited const& space, csr_view<V, I, O> const& a,
                           csr_view<V, I, O> const& b) {
  where w = space.counted();
  w.workspace_limit = space.left() == SIZE_MAX ? SIZE_MAX : space.left() / 2;
  return spgemm(w, a, b, {}, 0);
}

/// R A P in one order; `taken` bytes of the limit are more than space knows of.
template <class V, class I, class O>
csr<V, I, O> multiply_three(where const& w, limited const& space, csr_view<V, I, O> const& r,
                            csr_view<V, I, O> const& a, csr_view<V, I, O> const& p,
                            galerkin_order order, std::size_t taken = 0) {
  if (order == galerkin_order::ra_first) {
    csr<V, I, O> const ra = first_product(space, r, a);
    return spgemm(w, ra.view(), p, {}, space.taken() + taken);
  }
  csr<V, I, O> const ap = first_product(space, a, p);
  return spgemm(w, r, ap.view(), {}, space.taken() + taken);
}

template <class V, class I, class O>
csr<V, I, O> galerkin_by_blocks(where const& w, limited const& space, csr_view<V, I, O> r,
                                csr_view<V, I, O> a, csr_view<V, I, O> p,
                                galerkin_road const& road) {
  csr<V, I, O> const copies[] = {canonical_of(r, space.counted()), canonical_of(a, space.counted()),
                                 canonical_of(p, space.counted())};
  auto const rows = static_cast<std::size_t>(r.rows);
  std::vector<csr<V, I, O>> made;
  made.reserve(road.blocks);
  array<O> row_ptr(rows + 1, w.memory);
  row_ptr[0] = 0;
  std::size_t nnz = 0;
  for (std::size_t k = 0, first = 0, last; k < road.blocks; ++k, first = last) {
    last = first + rows / road.blocks + (k < rows % road.blocks);
    row_block<V, I, O> const of_r(r, first, last, space.counted());
    row_block<V, I, O> const of_a(a, of_r.low, of_r.high, space.counted());
    row_block<V, I, O> const of_p(p, of_a.low, of_a.high, space.counted());
    made.push_back(multiply_three(w, space, of_r.view, of_a.view, of_p.view, road.order,
                                  (last - first + 1) * sizeof(O)));
    csr<V, I, O>& block = made.back();
    for (I& j : block.col)
      j += static_cast<I>(of_p.low);
    narrow<O>(nnz + block.col.size(), "galerkin: number of entries");
    for (std::size_t i = first; i < last; ++i)
      row_ptr[i + 1] = static_cast<O>(nnz) + block.row_ptr[i - first + 1];
    block.row_ptr = {};
    nnz += block.col.size();
  }
  if (std::size_t const twice = nnz * std::max(sizeof(V), sizeof(I)); twice > space.left())
    fail(errc::out_of_memory,
         "galerkin: %zu bytes of workspace wanted to put %zu blocks together, the limit is %zu",
         space.taken() + twice, road.blocks, w.workspace_limit);
  array<I> col = join(made, &csr<V, I, O>::col, nnz, w);
  array<V> val = join(made, &csr<V, I, O>::val, nnz, w);
  return csr<V, I, O>(unchecked, r.rows, p.cols, std::move(row_ptr), std::move(col),
                      std::move(val));
}

template <class V, class I, class O>
csr<V, I, O> galerkin(where const& w, limited const& space, csr_view<V, I, O> const& r,
                      csr_view<V, I, O> const& a, csr_view<V, I, O> const& p,
                      galerkin_options const& o) {
  check_galerkin(r, a, p);
  galerkin_road const road = road_of(space.rest(w), r, a, p, o);
  return typed_memory("galerkin", [&] {
    return road.blocks > 1 ? galerkin_by_blocks(w, space, r, a, p, road)
                           : multiply_three(w, space, r, a, p, road.order);
  });
}

} // namespace detail

/// What galerkin() will do.
template <detail::hub_operand R, detail::hub_operand A, detail::hub_operand P>
galerkin_road galerkin_road_of(where const& w, R const& r, A const& a, P const& p,
                               galerkin_options o = {}) {
  detail::limited const space("galerkin", w);
  auto const of_r = detail::hub_of(r, space.counted());
  auto const of_a = detail::hub_of(a, space.counted());
  auto const of_p = detail::hub_of(p, space.counted());
  detail::check_galerkin(of_r.view, of_a.view, of_p.view);
  return detail::road_of(space.rest(w), of_r.view, of_a.view, of_p.view, o);
}

/// The two orders have different bits, each the same for every number of threads.
template <detail::hub_operand R, detail::hub_operand A, detail::hub_operand P>
auto galerkin(where const& w, R const& r, A const& a, P const& p, galerkin_options o = {}) {
  detail::limited const space("galerkin", w);
  auto const of_r = detail::hub_of(r, space.counted());
  auto const of_a = detail::hub_of(a, space.counted());
  auto const of_p = detail::hub_of(p, space.counted());
  return detail::galerkin(w, space, of_r.view, of_a.view, of_p.view, o);
}
template <detail::hub_operand R, detail::hub_operand A, detail::hub_operand P>
auto galerkin(R const& r, A const& a, P const& p, galerkin_options o = {}) {
  return galerkin(where{}, r, a, p, o);
}
template <detail::hub_operand A, detail::hub_operand P>
auto galerkin(where const& w, A const& a, P const& p, galerkin_options o = {}) {
  detail::limited const space("galerkin", w);
  auto const of_a = detail::hub_of(a, space.counted());
  auto const of_p = detail::hub_of(p, space.counted());
  auto const r = transpose(space.rest(where(space.counted())), of_p.view);
  return detail::galerkin(w, space, r.view(), of_a.view, of_p.view, o);
}
template <detail::hub_operand A, detail::hub_operand P>
auto galerkin(A const& a, P const& p, galerkin_options o = {}) {
  return galerkin(where{}, a, p, o);
}

} // namespace tulle

// SPDX-License-Identifier: Apache-2.0

// R A P: two products, the one with fewer products first. P^T of a matrix on a device is P's csc.
#include "tulle/op/galerkin.hpp"

#include "tulle/format/csc.hpp"
#include "tulle/op/convert.hpp"

#include "op/transpose_device.hpp"

#include <algorithm>
#include <vector>

namespace tulle {

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
  check_galerkin(r, a, p);
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
  galerkin_road const road = road_of(space.rest(w), r, a, p, o);
  return typed_memory("galerkin", [&] {
    return road.blocks > 1 ? galerkin_by_blocks(w, space, r, a, p, road)
                           : multiply_three(w, space, r, a, p, road.order);
  });
}

#define TULLE_GALERKIN(tag, V, I, O)                                                               \
  template galerkin_road road_of(where const&, csr_view<V, I, O> const&, csr_view<V, I, O> const&, \
                                 csr_view<V, I, O> const&, galerkin_options const&);               \
  template csr<V, I, O> galerkin(where const&, limited const&, csr_view<V, I, O> const&,           \
                                 csr_view<V, I, O> const&, csr_view<V, I, O> const&,               \
                                 galerkin_options const&);
TULLE_TYPES(TULLE_GALERKIN)
TULLE_BASIC_TYPES(TULLE_GALERKIN)
#undef TULLE_GALERKIN

device_matrix galerkin(device const& where, matrix_ref const& r, matrix_ref const& a,
                       matrix_ref const& p, galerkin_options const& o) {
  check_galerkin(r, a, p);
  galerkin_order const order =
      o.order == galerkin_order::automatic
          ? cheaper_order(spgemm_forecast(where, r, a), p, spgemm_forecast(where, a, p), r)
          : o.order;
  if (order == galerkin_order::ra_first) {
    device_matrix const ra = spgemm(where, r, a, {});
    return spgemm(where, ra.ref().matrix, p, {});
  }
  device_matrix const ap = spgemm(where, a, p, {});
  return spgemm(where, r, ap.ref().matrix, {});
}

device_matrix galerkin(device const& where, matrix_ref const& a, matrix_ref const& p,
                       galerkin_options const& o) {
  device_matrix const by_columns = convert(device_ref(p, where), format::csc, where);
  return with_transpose(by_columns,
                        [&](matrix_ref const& r) { return galerkin(where, r, a, p, o); });
}

} // namespace detail

} // namespace tulle

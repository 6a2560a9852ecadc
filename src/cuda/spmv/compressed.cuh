// SPDX-License-Identifier: Apache-2.0

// Products over compressed rows, those of a csr or those that a plan makes of other entries: which
// of the ways of rows.cuh and tiles.cuh, and with what.
#pragma once
#include "cuda/long_rows.cuh"
#include "cuda/scale.cuh"
#include "cuda/sort_by_key.cuh"
#include "cuda/spmv/rows.cuh"
#include "cuda/spmv/tiles.cuh"
#include "cuda/workspace.cuh"

#include <algorithm>

namespace tulle::simt {
namespace {

// us of a product, double, H200, groups / blocks / segments: fem 500000 142, 104, 147; poisson3d27
// 160 537, 368, 541; poisson2d9 2000 230, 131, 185; poisson2d5 4096 514, 332, 446; lattice 4000000
// 108, 74, 95. Rows of 201 126, 125, 176; random ones of 120 -, 197, 193. Groups with eight loads
// of a lane on their way 111, 396, 140, 374, 78; 127. Blocks past the caches were slower on all
// but fem.
enum class way : std::int64_t { nothing, groups, blocks, merge, segments };
constexpr std::int64_t even = 2; // rows up to this times the average are of one length

// Of plan_view::info. longest_line may be told; 0: it is not known yet.
enum : int { chosen_way, chosen_width, is_turned, is_long, longest_line };

/// Room for the way that wants most of it.
template <class V, class I, class O>
shares<V, I> shares_of(I rows, O nnz, way w, carver& work) {
  std::size_t const all =
      static_cast<std::size_t>(nnz) + (w == way::merge ? static_cast<std::size_t>(rows) : 0);
  shares<V, I> s;
  s.count = ceil_div<std::size_t>(all, w == way::blocks ? tile : share);
  s.first = work.take<I>(s.count + 1);
  s.head = work.take<V>(s.count);
  s.tail = work.take<V>(s.count);
  return s;
}
template <class V, class I, class O>
void reserve_lines(I rows, O nnz, carver& work) {
  shares_of<V>(rows, nnz, way::merge, work);
}

/// Waits for the device, unless it is known.
template <class I, class O>
std::int64_t find_longest(I lines, O const* ptr, plan_view& p) {
  if (p.info[longest_line] == 0)
    p.info[longest_line] = longest_row(lines, ptr, p.stream);
  return p.info[longest_line];
}

template <class I, class O>
way choose(I rows, O nnz, O const* row_ptr, plan_view& p) {
  if (nnz == 0)
    return way::nothing;
  if (p.wanted == spmv_method::merge)
    return way::merge;
  if (p.wanted == spmv_method::segments)
    return way::segments;
  std::int64_t const average = static_cast<std::int64_t>(nnz / rows);
  std::int64_t const most = find_longest(rows, row_ptr, p);
  p.info[chosen_width] = width_for(average);
  if (most <= longest)
    return way::blocks;
  return p.wanted == spmv_method::rows || most <= even * average ? way::groups : way::segments;
}

/// Chooses a way by the lengths of rows, and computes what it needs.
template <class V, class I, class O>
void fill_lines(I rows, O nnz, O const* row_ptr, plan_view& p, carver& work) {
  way const w = choose(rows, nnz, row_ptr, p);
  p.info[chosen_way] = static_cast<std::int64_t>(w);
  auto const s = shares_of<V>(rows, nnz, w, work);
  std::size_t const grid = ceil_div<std::size_t>(s.count + 1, row_threads);
  switch (w) {
  case way::nothing:
    p.method = "no entries";
    return;
  case way::groups:
    p.method = "rows";
    return;
  case way::merge:
    p.method = "merge";
    return launch(crossings_kernel<I, O>, grid, row_threads, p.stream, rows, nnz, row_ptr, s.first,
                  s.count);
  case way::blocks:
  case way::segments:
    p.method = w == way::blocks ? "blocks of rows" : "segments";
    return launch(first_rows_kernel<I, O>, grid, row_threads, p.stream, rows, row_ptr, s.first,
                  s.count, static_cast<std::size_t>(w == way::blocks ? tile : share));
  }
}

template <class V, class I, class O>
void run_lines(V alpha, lines<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p,
               carver& work, void* stream) {
  auto const rows = static_cast<std::size_t>(a.rows);
  auto const w = static_cast<way>(p.info[chosen_way]);
  auto const s = shares_of<V>(a.rows, a.nnz, w, work);
  std::size_t const joins = ceil_div<std::size_t>(s.count * 32, row_threads);
  switch (w) {
  case way::nothing:
    return scale(beta, y, rows, stream);
  case way::groups:
    return with_width(p.info[chosen_width], [&]<int width>(std::integral_constant<int, width>) {
      launch_early(groups_kernel<width, V, I, O>, ceil_div<std::size_t>(rows * width, row_threads),
                   row_threads, stream, alpha, a, x, beta, y);
    });
  case way::blocks:
    return launch_early(blocks_kernel<V, I, O>, s.count, row_threads, stream, alpha, a, x, beta, y,
                        static_cast<I const*>(s.first));
  case way::merge:
    launch_early(merge_kernel<V, I, O>, s.count, tile_threads, stream, alpha, a, x, beta, y, s);
    return launch_early(merge_join_kernel<V, I, O>, joins, row_threads, stream, alpha, a, beta, y,
                        s);
  case way::segments:
    launch_early(segments_kernel<V, I, O>, s.count, tile_threads, stream, alpha, a, x, beta, y, s);
    return launch_early(segments_join_kernel<V, I, O>, joins, row_threads, stream, alpha, a, beta,
                        y, s);
  }
}

/// Rows that a plan makes: entries in the order of a key that they are not stored by.
template <class I, class O>
struct turned_lines {
  O* ptr;
  I* other; // what the key is not: read x by this
  O* perm;  // nullptr, as other is: they are stored by the key
};
template <class I, class O>
turned_lines<I, O> turned_of(I count, O nnz, bool turned, carver& work) {
  auto const n = static_cast<std::size_t>(nnz);
  turned_lines<I, O> t;
  t.ptr = work.take<O>(static_cast<std::size_t>(count) + 1);
  t.other = turned ? work.take<I>(n) : nullptr;
  t.perm = turned ? work.take<O>(n) : nullptr;
  return t;
}

template <class V, class I, class O>
std::size_t prepare_turned(I count, O nnz, bool turned, plan_view& p) {
  p.info[is_turned] = turned;
  carver work;
  turned_of(count, nnz, turned, work);
  reserve_lines<V>(count, nnz, work);
  return work.used();
}

template <class V, class I, class O>
void fill_turned(I count, O nnz, I const* key, I const* other, plan_view& p) {
  carver work(p.work);
  auto const t = turned_of(count, nnz, p.info[is_turned] != 0, work);
  if (t.perm)
    sort_by_key(count, nnz, key, other, t.ptr, t.other, t.perm, p.stream);
  else
    line_pointers(count, nnz, key, t.ptr, p.stream);
  fill_lines<V>(count, nnz, static_cast<O const*>(t.ptr), p, work);
}

template <class V, class I, class O>
void run_turned(V alpha, I count, O nnz, I const* other, V const* val, V const* x, V beta, V* y,
                plan_view const& p, void* stream) {
  carver work(p.work);
  auto const t = turned_of(count, nnz, p.info[is_turned] != 0, work);
  run_lines<V, I, O>(alpha, {count, nnz, t.ptr, t.perm ? t.other : other, val, t.perm}, x, beta, y,
                     p, work, stream);
}

/// A matrix by lines, and whether its product goes by them or across: csr and csc are this.
template <class V, class I, class O>
struct compressed {
  I lines, across;
  O nnz;
  O const* ptr;
  I const* index;
  V const* val;
  bool is_across;

  long_rows<V, I, O> long_view() const { return {lines, across, nnz, ptr, index, val}; }

  std::size_t prepare(plan_view& p) const {
    p.info[is_long] = !is_across && p.wanted == spmv_method::automatic && are_long(lines, nnz) &&
                      find_longest(lines, ptr, p) <= std::int64_t{1} << most_joined_bits;
    if (p.info[is_long] != 0)
      return long_bytes(long_view(), p);
    if (is_across)
      return prepare_turned<V>(across, nnz, true, p);
    carver work;
    reserve_lines<V>(lines, nnz, work);
    return work.used();
  }
  void fill(plan_view& p) const {
    if (p.info[is_long] != 0)
      return fill_long(long_view(), p);
    if (is_across) {
      scratch<I> const line(static_cast<std::size_t>(nnz), p.stream);
      expand_rows(lines, nnz, ptr, line.get(), p.stream);
      return fill_turned<V>(across, nnz, index, static_cast<I const*>(line.get()), p);
    }
    carver work(p.work);
    fill_lines<V>(lines, nnz, ptr, p, work);
  }
  void multiply(V alpha, V const* x, V beta, V* y, plan_view const& p, void* stream) const {
    if (p.info[is_long] != 0)
      return multiply_long(alpha, long_view(), x, beta, y, p, stream);
    if (is_across)
      return run_turned<V, I, O>(alpha, across, nnz, nullptr, val, x, beta, y, p, stream);
    carver work(p.work);
    run_lines<V, I, O>(alpha, {lines, nnz, ptr, index, val, nullptr}, x, beta, y, p, work, stream);
  }
};

} // namespace
} // namespace tulle::simt

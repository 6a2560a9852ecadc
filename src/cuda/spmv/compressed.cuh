// SPDX-License-Identifier: Apache-2.0

// Products over compressed rows, of a csr or made by a plan from other formats, by one of the
// kernels of rows.cuh and tiles.cuh.
#pragma once
#include "cuda/long_rows.cuh"
#include "cuda/scale.cuh"
#include "cuda/sort_by_key.cuh"
#include "cuda/spmv/rows.cuh"
#include "cuda/spmv/tiles.cuh"
#include "cuda/workspace.cuh"

#include <algorithm>

namespace tulle::kernels::cuda {
namespace {

enum class way : std::int64_t { nothing, groups, blocks, merge, segments };

// Indices of plan_view::info. longest_line may be set by the caller; 0: not known yet.
enum : int { chosen_way, chosen_width, is_turned, is_long, longest_line };

/// Workspace for the kernel that needs most.
template <class V, class I, class O>
shares<V, I> shares_of(I rows, O nnz, way w, carver& work) {
  std::size_t const all =
      static_cast<std::size_t>(nnz) + (w == way::merge ? static_cast<std::size_t>(rows) : 0);
  shares<V, I> s;
  s.count = ceil_div<std::size_t>(all, w == way::blocks ? tile_of<V> : share_of<V>);
  s.first = work.take<I>(s.count + 1);
  s.head = work.take<V>(s.count);
  s.tail = work.take<V>(s.count);
  return s;
}
template <class V, class I, class O>
void reserve_lines(I rows, O nnz, carver& work) {
  shares_of<V>(rows, nnz, way::merge, work);
}

/// The length of the longest line. Waits for the device, unless it is known.
template <class I, class O>
std::int64_t find_longest(I lines, O const* ptr, plan_view& p) {
  if (p.info[longest_line] == 0)
    p.info[longest_line] = longest_row(lines, ptr, p.stream);
  return p.info[longest_line];
}

} // namespace

// Defined in compressed_rows.cu, where the kernels are.

/// Chooses a kernel by the lengths of rows, and computes what it needs.
template <class V, class I, class O>
void fill_lines(I rows, O nnz, O const* row_ptr, plan_view& p, carver& work);
template <class V, class I, class O>
void run_lines(V alpha, lines<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p,
               carver& work, void* stream);

namespace {

/// Rows that a plan makes: entries in the order of a key other than the stored order.
template <class I, class O>
struct turned_lines {
  O* ptr;
  I* other; // the index that is not the key: x is read at it
  O* perm;  // nullptr, as `other`: entries are stored by the key
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

/// A matrix by lines, and whether its product goes along lines or across: csr and csc.
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
} // namespace tulle::kernels::cuda

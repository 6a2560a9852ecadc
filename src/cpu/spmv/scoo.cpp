// SPDX-License-Identifier: Apache-2.0

// src/cpu/spmv/scoo.cpp:  y = alpha*A*x + beta*y, A in SCOO.
//
// A slice's entries are stored by column: x is read in order, and the sums of its rows are in L1.
// Entries add to two sums per row in turn, so that neighbours of one row do not wait for one
// another. Slices are dealt to threads as strips.hpp does. Bytes that must move, double with 32-bit
// indices: 14 per entry, 8 per row and 8 per column.
#include "tulle/format/scoo.hpp"

#include "cpu/spmv/scatter.hpp"
#include "cpu/spmv/strips.hpp"
#include "kernel/instantiate.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

constexpr int slice_group = 8;    // entries per turn of the loop
constexpr int slice_ahead = 4096; // prefetch distance in val, bytes; as in rows.hpp

template <bool streaming, class V, class I>
struct slice_reader {
  static constexpr int lanes = 2, most_rows = detail::most_slice_rows,
                       most_sums = lanes * most_rows;
  std::uint16_t const* row;
  I const* col;
  V const* val;
  V const* x;
  std::int64_t height;

  std::int64_t sums() const { return lanes * height; }

  HWY_INLINE void add(V* HWY_RESTRICT sums, std::int64_t k, int lane) const {
    V* const s = sums + lane * height + row[k];
    *s = mul_add(val[k], x[col[k]], *s);
  }
  HWY_INLINE void multiply(V* HWY_RESTRICT sums, std::int64_t k, std::int64_t end,
                           V* HWY_RESTRICT out) const {
    for (; k + slice_group <= end; k += slice_group) {
      if constexpr (streaming) {
        __builtin_prefetch(reinterpret_cast<char const*>(val + k) + slice_ahead);
        __builtin_prefetch(reinterpret_cast<char const*>(col + k) + slice_ahead / 2);
        __builtin_prefetch(reinterpret_cast<char const*>(row + k) + slice_ahead / 4);
      }
      HWY_UNROLL(slice_group)
      for (int i = 0; i < slice_group; ++i)
        add(sums, k + i, i % lanes);
    }
    for (int lane = 0; k < end; ++k, ++lane)
      add(sums, k, lane % lanes);
    for (std::int64_t r = 0; r < height; ++r) {
      out[r] = sums[r] + sums[height + r];
      sums[r] = sums[height + r] = V{};
    }
  }
};

template <class V, class I, class O>
strips_of<O> slices_in(scoo_view<V, I, O> const& a) {
  return {a.slice_ptr, a.rows, a.height, a.nnz};
}

template <class V, class I, class O>
std::size_t prepare(scoo_view<V, I, O> const& a, plan_view& p) {
  if (p.transposed)
    return prepare_scatter<V>(a.col, a.nnz, p);
  p.method = "slices";
  return strips_layout(slices_in(a), sizeof(V), p.threads).bytes;
}

template <class V, class I, class O>
void spmv(V alpha, scoo_view<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p) {
  if (p.transposed)
    return multiply_scatter(
        alpha, static_cast<std::int64_t>(a.cols), static_cast<std::int64_t>(a.nnz), beta, y, p,
        [&](std::int64_t k, std::int64_t end, V* out) {
          for (std::int64_t s = k < end ? strip_of(slices_in(a), k) : 0; k < end; ++s) {
            V const* const xs = x + s * a.height;
            std::int64_t const slice_end = a.slice_ptr[s + 1];
            for (std::int64_t const stop = slice_end < end ? slice_end : end; k < stop; ++k)
              out[a.col[k]] = mul_add(a.val[k], xs[a.row[k]], out[a.col[k]]);
          }
        });
  if (p.streaming)
    multiply_strips(alpha, slices_in(a), slice_reader<true, V, I>{a.row, a.col, a.val, x, a.height},
                    beta, y, p);
  else
    multiply_strips(alpha, slices_in(a),
                    slice_reader<false, V, I>{a.row, a.col, a.val, x, a.height}, beta, y, p);
}

} // namespace

TULLE_INSTANTIATE_SPMV(scoo)

} // namespace tulle::kernels::TULLE_ISA

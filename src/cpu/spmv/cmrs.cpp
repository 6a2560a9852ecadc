// SPDX-License-Identifier: Apache-2.0

// src/cpu/spmv/cmrs.cpp:  y = alpha*A*x + beta*y, A in CMRS.
//
// Koza et al., 2014, alg. 1, with a thread in place of a warp and `lanes` sums per row in place of
// 32: slots add to the sums of their rows in turn, so that neighbours of one row do not wait for
// one another, and the sums are added up at the strip's end. The lengths of rows are not read.
// Padded strips have as many sums as their layout allows (sec. 6.7); padding is multiplied, and
// where that gives NaN, the strip is computed again without it.
//
// Strips are dealt to threads as strips.hpp does. Bytes that must move, double with 32-bit indices:
// 12 per slot, 8 + 4 / height per row and 8 per column, 2 flops per slot.
#include "tulle/format/cmrs.hpp"

#include "cpu/spmv/scatter.hpp"
#include "cpu/spmv/strips.hpp"
#include "kernel/instantiate.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

// Prefetch distance in val in bytes, half of it in col, as in rows.hpp; 0 where entries come from
// the caches. A separate loop without prefetches for that case: .97 of the time of fem 1000, and
// twice the code.
constexpr int strip_ahead = 4096;
constexpr int group = 8; // slots per turn of the loop

/// A column word: the column, and the row in its strip.
template <class I>
struct column_word {
  using U = hwy::MakeUnsigned<I>;
  U word;
  HWY_INLINE std::size_t row(U mask) const { return word & mask; }
  template <bool padded>
  HWY_INLINE std::size_t column(int bits) const { // without the sign bit, which marks padding
    return padded ? (word << 1) >> (bits + 1) : word >> bits;
  }
};

template <int lanes, bool padded, class V, class I>
struct strip_reader {
  static constexpr int most_rows = 64, most_sums = most_rows * lanes;
  I const* col;
  V const* val;
  V const* x;
  int bits;
  int height;
  int ahead; // prefetch distance in val, bytes; 0: entries come from the caches

  std::int64_t sums() const { return most_sums; }

  /// Adds slot k to sum `lane` of its row. Sums of a lane are contiguous, so the row alone is the
  /// index.
  HWY_INLINE void add(V* sums, std::int64_t k, int lane) const {
    column_word<I> const w{static_cast<hwy::MakeUnsigned<I>>(col[k])};
    V* const s = sums + lane * most_rows + w.row(static_cast<hwy::MakeUnsigned<I>>(height - 1));
    *s = mul_add(val[k], x[w.template column<padded>(bits)], *s);
  }

  /// Adds slots [k, end), to lanes in turn.
  HWY_INLINE void add_all(V* HWY_RESTRICT sums, std::int64_t k, std::int64_t end) const {
    int const ahead = this->ahead; // a copy: stores to sums might change it
    for (; k + group <= end; k += group) {
      for (std::size_t line = 0; line < group * sizeof(V); line += 64)
        __builtin_prefetch(reinterpret_cast<char const*>(val + k) + ahead + line);
      __builtin_prefetch(reinterpret_cast<char const*>(col + k) + ahead / 2);
      HWY_UNROLL(group)
      for (int i = 0; i < group; ++i)
        add(sums, k + i, i % lanes);
    }
    for (int lane = 0; k < end; ++k, ++lane)
      add(sums, k, lane % lanes);
  }

  /// The same without padding, for where a product with padding gave NaN.
  HWY_NOINLINE void add_exact(V* sums, std::int64_t k, std::int64_t end) const {
    for (int lane = 0; k < end; ++k, ++lane)
      if (col[k] >= 0)
        add(sums, k, lane % lanes);
  }

  /// Adds up the sums of rows, and clears them.
  HWY_INLINE void reduce(V* HWY_RESTRICT sums, V* HWY_RESTRICT out) const {
    for (int r = 0; r < height; ++r) {
      V* const s = sums + r;
      if constexpr (lanes == 4)
        out[r] = (s[0] + s[2 * most_rows]) + (s[most_rows] + s[3 * most_rows]);
      else if constexpr (lanes == 2)
        out[r] = s[0] + s[most_rows];
      else
        out[r] = s[0];
      for (int i = 0; i < lanes; ++i)
        s[i * most_rows] = V{};
    }
  }

  /// out[0..height) = rows of the slots [k, end). `sums` are zero before and after.
  HWY_INLINE void multiply(V* sums, std::int64_t k, std::int64_t end, V* out) const {
    add_all(sums, k, end);
    reduce(sums, out);
    if constexpr (padded) {
      bool shows = false;
      for (int r = 0; r < height; ++r)
        shows |= out[r] != out[r];
      if (shows) {
        add_exact(sums, k, end);
        reduce(sums, out);
      }
    }
  }
};

template <class V, class I, class O>
strips_of<O> strips_in(cmrs_view<V, I, O> const& a) {
  return {a.strip_ptr, a.rows, a.layout.height, a.stored};
}

template <class V, class I, class O>
std::size_t prepare(cmrs_view<V, I, O> const& a, plan_view& p) {
  int const bits = __builtin_ctz(static_cast<unsigned>(a.layout.height));
  if (p.transposed)
    return prepare_scatter_of<V>(
        a.stored, a.stored, p, [&](std::int64_t begin, std::int64_t end, extent& e) {
          for (std::int64_t k = begin; k < end; ++k) // padding has a neighbour's column
            e.add(static_cast<std::int64_t>(
                column_word<I>{static_cast<hwy::MakeUnsigned<I>>(a.col[k])}.template column<true>(
                    bits)));
        });
  p.method = a.layout.warp ? "padded strips" : a.layout.sorted ? "sorted strips" : "strips";
  return strips_layout(strips_in(a), sizeof(V), p.threads).bytes;
}

/// The transpose: slots [begin, end) to out, each scaled by x of its row.
template <class V, class I, class O>
void scatter_strips(cmrs_view<V, I, O> const& a, V const* x, std::int64_t begin, std::int64_t end,
                    V* out) {
  std::int64_t const h = a.layout.height;
  int const bits = __builtin_ctz(static_cast<unsigned>(h));
  std::int64_t s = strip_of(strips_in(a), begin);
  for (std::int64_t k = begin; k < end; ++s) {
    std::int64_t const strip_end = a.strip_ptr[s + 1];
    V const* const xs = x + s * h;
    for (std::int64_t const stop = strip_end < end ? strip_end : end; k < stop; ++k) {
      I const w = a.col[k];
      if (w >= 0)
        out[w >> bits] = mul_add(a.val[k], xs[w & static_cast<I>(h - 1)], out[w >> bits]);
    }
  }
}

template <bool padded, int lanes, class V, class I, class O>
void multiply_with(V alpha, cmrs_view<V, I, O> const& a, V const* x, V beta, V* y,
                   plan_view const& p) {
  int const height = a.layout.height;
  int const bits = __builtin_ctz(static_cast<unsigned>(height));
  strip_reader<lanes, padded, V, I> const reader{a.col, a.val,  x,
                                                 bits,  height, p.streaming ? strip_ahead : 0};
  multiply_strips(alpha, strips_in(a), reader, beta, y, p);
}

template <class V, class I, class O>
void spmv(V alpha, cmrs_view<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p) {
  if (p.transposed)
    return multiply_scatter(alpha, static_cast<std::int64_t>(a.cols), a.stored, beta, y, p,
                            [&](std::int64_t begin, std::int64_t end, V* out) {
                              if (begin < end)
                                scatter_strips(a, x, begin, end, out);
                            });
  if (a.layout.warp == 0)
    return multiply_with<false, 4>(alpha, a, x, beta, y, p);
  if (a.layout.modulo == 1)
    return multiply_with<true, 1>(alpha, a, x, beta, y, p);
  if (a.layout.modulo == 2)
    return multiply_with<true, 2>(alpha, a, x, beta, y, p);
  return multiply_with<true, 4>(alpha, a, x, beta, y, p);
}

} // namespace

TULLE_INSTANTIATE_SPMV(cmrs)

} // namespace tulle::kernels::TULLE_ISA

// SPDX-License-Identifier: Apache-2.0

// z = alpha*x + beta*y of two rows with ascending indices, by four methods of one shape: each
// writes z's entries, ascending, to index and val, which have room for x.n + y.n, and returns how
// many there are. z has the places of both whatever the values are. No place has more than two
// values, and a sum of two has one order, so all methods give the same bits.
//
// Liu, thesis 2015, sec. 7.3-7.4. There the heap takes rows of up to 32 candidates, bitonic ESC
// those of up to 512, and merge the longer ones (sec. 9.4.2), as suits a GPU whose scratchpad holds
// the first two; what suits a core stands beside add_method_for.
#pragma once
#include "tulle/core/narrow.hpp"
#include "tulle/op/add_method.hpp"

#include "primitive/d_heap.hpp"
#include "primitive/network_sort.hpp"

#include <bit>
#include <complex>
#include <cstdint>
#include <cstring>

namespace tulle::detail {

/// One operand: its entries and what they are multiplied by.
template <class V, class I>
struct scaled_row {
  I const* index;
  V const* val;
  std::size_t n;
  V factor;
};

/// factor * val[k]. A factor of zero reads one zero again and again and no value, so that loops
/// need no branch for it.
template <class V>
class terms {
public:
  template <class I>
  explicit terms(scaled_row<V, I> const& r)
      : factor_(r.factor == V(0) ? V(0) : r.factor), val_(r.factor == V(0) ? &zero : r.val),
        mask_(r.factor == V(0) ? 0 : ~std::size_t(0)) {}
  V operator[](std::size_t k) const { return factor_ * val_[k & mask_]; }

private:
  static constexpr V zero = V(0);
  V factor_;
  V const* val_;
  std::size_t mask_;
};

/// Room that a method works in, 64-byte aligned: add_scratch_bytes of it, after
/// clear_add_scratch. It may serve one row after another.
struct add_scratch {
  std::byte* data = nullptr;
  std::size_t cols = 0; // of the rows
};

constexpr int add_heap_arity = 4; // other numbers have not been measured

template <class I>
using add_heap = primitive::d_heap<I, add_heap_arity>;

// Each array of the scratch begins at a multiple of 64 bytes.
constexpr std::size_t add_padded(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

/// For rows of together at most `bound` entries; errc::overflow where 64 bits do not count them.
template <class V, class I>
constexpr std::size_t add_scratch_bytes(add_method m, std::size_t bound, std::size_t cols) {
  switch (m) {
  case add_method::spa:
    checked_mul(cols, sizeof(V) + 1, "add: the accumulator"); // a byte covers the bit
    return add_padded(cols / 64 * 8 + 8) + cols * sizeof(V);
  case add_method::heap: {
    std::size_t const slots = add_heap<I>::slots(bound);
    return add_padded(slots * sizeof(I)) + add_padded(slots * 4) + bound * 4;
  }
  default:
    return 0;
  }
}

/// Once before the first row; each method leaves the scratch fit for the next.
inline void clear_add_scratch(add_method m, add_scratch s) {
  if (m == add_method::spa)
    std::memset(s.data, 0, s.cols / 64 * 8 + 8);
}

/// A dense accumulator and one bit for each of its places that is taken. Unlike algorithm 27, which
/// looks at every place for values that are not zero, it goes through the bits: zeros stay, and 64
/// empty places cost one look.
template <class V, class I>
std::size_t add_spa(scaled_row<V, I> const& x, scaled_row<V, I> const& y, I* index, V* val,
                    add_scratch s) {
  if (x.n + y.n == 0)
    return 0;
  auto* const taken = reinterpret_cast<std::uint64_t*>(s.data);
  auto* const sum = reinterpret_cast<V*>(s.data + add_padded(s.cols / 64 * 8 + 8));
  terms<V> const ax(x), by(y);
  for (std::size_t k = 0; k < x.n; ++k) {
    auto const j = static_cast<std::size_t>(x.index[k]);
    sum[j] = ax[k];
    taken[j / 64] |= std::uint64_t(1) << j % 64;
  }
  for (std::size_t k = 0; k < y.n; ++k) {
    auto const j = static_cast<std::size_t>(y.index[k]);
    bool const both = taken[j / 64] >> j % 64 & 1;
    sum[j] = both ? sum[j] + by[k] : by[k];
    taken[j / 64] |= std::uint64_t(1) << j % 64;
  }
  // From the word of the first index to that of the last.
  I const none = static_cast<I>(s.cols - 1);
  I const x_first = x.n ? x.index[0] : none, y_first = y.n ? y.index[0] : none;
  I const x_last = x.n ? x.index[x.n - 1] : 0, y_last = y.n ? y.index[y.n - 1] : 0;
  auto const first = static_cast<std::size_t>(x_first < y_first ? x_first : y_first) / 64;
  auto const last = static_cast<std::size_t>(x_last < y_last ? y_last : x_last) / 64;
  std::size_t n = 0;
  for (std::size_t w = first; w <= last; ++w) {
    for (std::uint64_t bits = taken[w]; bits != 0; bits &= bits - 1) {
      std::size_t const j = w * 64 + static_cast<std::size_t>(std::countr_zero(bits));
      index[n] = static_cast<I>(j);
      val[n++] = sum[j];
    }
    taken[w] = 0;
  }
  return n;
}

/// All entries go into a heap. They come out from the greatest index down and are put at the end of
/// the room, each fused with the one before where their indices are equal. x.n + y.n fits 31 bits.
template <class V, class I>
std::size_t add_heap_sort(scaled_row<V, I> const& x, scaled_row<V, I> const& y, I* index, V* val,
                          add_scratch s) {
  using name = typename add_heap<I>::name;
  std::size_t const bound = x.n + y.n;
  std::size_t const slots = add_heap<I>::slots(bound);
  auto* const keys = reinterpret_cast<I*>(s.data);
  auto* const names = reinterpret_cast<name*>(s.data + add_padded(slots * sizeof(I)));
  auto* const places = names + add_padded(slots * sizeof(name)) / sizeof(name);
  add_heap<I> heap(keys, names, places, bound);
  // From the greatest down, so that none has far to rise.
  for (std::size_t k = x.n; k-- > 0;)
    heap.insert(static_cast<name>(k), x.index[k]);
  for (std::size_t k = y.n; k-- > 0;)
    heap.insert(static_cast<name>(x.n + k), y.index[k]);

  terms<V> const ax(x), by(y);
  std::size_t at = bound;
  while (!heap.empty()) {
    auto const top = heap.delete_max();
    auto const who = static_cast<std::size_t>(top.who);
    V const term = who < x.n ? ax[who] : by[who - x.n];
    if (at < bound && index[at] == top.key) { // the other one is there already
      val[at] += term;
    } else {
      index[--at] = top.key;
      val[at] = term;
    }
  }
  std::size_t const n = bound - at;
  if (n != 0) {
    std::memmove(index, index + at, n * sizeof(I));
    std::memmove(static_cast<void*>(val), val + at, n * sizeof(V));
  }
  return n;
}

/// Expand, sort, compress, all in the room for the result.
template <class V, class I>
std::size_t add_esc(scaled_row<V, I> const& x, scaled_row<V, I> const& y, I* index, V* val,
                    add_scratch = {}) {
  std::size_t const bound = x.n + y.n;
  terms<V> const ax(x), by(y);
  for (std::size_t k = 0; k < x.n; ++k) {
    index[k] = x.index[k];
    val[k] = ax[k];
  }
  for (std::size_t k = 0; k < y.n; ++k) {
    index[x.n + k] = y.index[k];
    val[x.n + k] = by[k];
  }
  primitive::bitonic_sort(index, val, bound);
  std::size_t n = 0;
  for (std::size_t k = 0; k < bound; ++k) {
    if (n != 0 && index[n - 1] == index[k]) {
      val[n - 1] += val[k];
    } else {
      index[n] = index[k];
      val[n++] = val[k];
    }
  }
  return n;
}

/// v, or the zero that changes nothing where it is added: x + -0.0 is x for every x, 0.0 and -0.0
/// among them.
inline double only_if(bool there, double v) {
  std::uint64_t const mask = -static_cast<std::uint64_t>(there);
  return std::bit_cast<double>((std::bit_cast<std::uint64_t>(v) & mask) |
                               (~mask & std::uint64_t(1) << 63));
}
inline float only_if(bool there, float v) {
  std::uint32_t const mask = -static_cast<std::uint32_t>(there);
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(v) & mask) |
                              (~mask & std::uint32_t(1) << 31));
}
template <class R>
std::complex<R> only_if(bool there, std::complex<R> v) {
  return {only_if(there, v.real()), only_if(there, v.imag())};
}

/// The smaller of the two heads, both where they are equal. No branch depends on which comes next,
/// since the processor would guess wrong every other time: 2.8 ns an entry in rows of 512 on Zen 4,
/// where three branches took 4.2 and a conditional for the value 5.5.
template <class V, class I>
std::size_t add_merge(scaled_row<V, I> const& x, scaled_row<V, I> const& y, I* index, V* val,
                      add_scratch = {}) {
  terms<V> const ax(x), by(y);
  std::size_t i = 0, j = 0, n = 0;
  while (i < x.n && j < y.n) {
    I const p = x.index[i], q = y.index[j];
    bool const of_x = p <= q, of_y = q <= p;
    index[n] = of_x ? p : q;
    val[n++] = only_if(of_x, ax[i]) + only_if(of_y, by[j]);
    i += of_x;
    j += of_y;
  }
  for (; i < x.n; ++i) {
    index[n] = x.index[i];
    val[n++] = ax[i];
  }
  for (; j < y.n; ++j) {
    index[n] = y.index[j];
    val[n++] = by[j];
  }
  return n;
}

/// How many indices two ascending lists share.
template <class I>
std::size_t count_common(I const* a, std::size_t na, I const* b, std::size_t nb) {
  std::size_t n = 0;
  for (std::size_t i = 0, j = 0; i < na && j < nb;) {
    I const p = a[i], q = b[j];
    n += p == q;
    i += p <= q;
    j += q <= p;
  }
  return n;
}

/// What `automatic` means for rows of together `bound` entries: merge for all of them. One thread
/// of Zen 4, double and int32, ns for each entry of both, indices spread over 100 times as many
/// places as a row has entries:
///
///     bound      4     16     32    128    512   4096  65536   10^6
///     spa      6.1    6.4    6.3    6.3    6.4    6.6   26.9   32.7
///     heap     9.8   12.3   17.2   25.9   34.8   50.2   75.3   82.9
///     esc      5.8   10.6   16.0   25.1   37.4   94.6  109.1
///     merge    4.1    3.2    3.1    3.0    3.0    4.0    3.1    3.2
///
/// Over 4 times as many places spa is ahead up to a bound of 16, 3.0 to 3.2 there and 3.7 to 4.7 at
/// 4, which does not pay for the scratch.
constexpr add_method add_method_for(std::size_t) {
  return add_method::merge;
}

/// By the method asked for; automatic means merge, which needs no scratch.
template <class V, class I>
std::size_t add_row(add_method m, scaled_row<V, I> const& x, scaled_row<V, I> const& y, I* index,
                    V* val, add_scratch s) {
  switch (m) {
  case add_method::spa:
    return add_spa(x, y, index, val, s);
  case add_method::heap:
    return add_heap_sort(x, y, index, val, s);
  case add_method::esc:
    return add_esc(x, y, index, val, s);
  default:
    return add_merge(x, y, index, val, s);
  }
}

} // namespace tulle::detail

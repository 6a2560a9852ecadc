// SPDX-License-Identifier: Apache-2.0

// C's values over any of the semirings on known places: those of the usual product, or of a mask.
// On the former, tiny and window rows are computed as in the usual product. For other rows a warp
// has up to 1024 places of a row in shared memory and goes through the rows of B, in the order of
// A's row, each from the first to the last column of its places; an entry's place is found by a
// search. No zero of a semiring is needed: a sum begins with its first product.
#include "cuda/primitive/search.cuh"
#include "cuda/spgemm/semiring.cuh"
#include "cuda/spgemm/small.cuh"
#include "cuda/spgemm/window.cuh"
#include "cuda/types.hpp"

namespace tulle::kernels::cuda {
namespace {

using number = unsigned long long;

constexpr int semiring_places = 1024; // others were not tried

template <class S, class V, class I, class O>
__global__ void __launch_bounds__(32)
    semiring_kernel(pattern<I, O> a, V const* a_val, pattern<I, O> b, V const* b_val,
                    pattern<I, O> t, number const* jobs, V* val, std::uint8_t* has, bool is_asked) {
  __shared__ V sum[semiring_places];
  __shared__ I col[semiring_places];
  __shared__ std::uint8_t is_there[semiring_places];
  constexpr S s;
  int const lane = threadIdx.x;
  number const job = blockIdx.x;
  auto const row =
      static_cast<std::size_t>(upper_bound(jobs, static_cast<long long>(t.rows) + 1, job) - 1);
  O const first = t.ptr[row] + static_cast<O>(job - jobs[row]) * semiring_places;
  O const rest = t.ptr[row + 1] - first;
  int const n = rest < semiring_places ? static_cast<int>(rest) : semiring_places;
  for (int k = lane; k < n; k += 32) {
    col[k] = t.col[first + k];
    sum[k] = V(0);
    is_there[k] = 0;
  }
  __syncwarp();
  O const end = a.ptr[row + 1];
  for (O chunk = a.ptr[row]; chunk < end; chunk += 32) {
    O from = 0, to = 0;
    V factor = V(0);
    if (chunk + lane < end) {
      I const j = a.col[chunk + lane];
      from = b.ptr[j];
      to = b.ptr[j + 1];
      factor = a_val[chunk + lane];
      from += lower_bound(b.col + from, to - from, col[0]);
      to = from + upper_bound(b.col + from, to - from, col[n - 1]);
    }
    unsigned left = __ballot_sync(whole_warp, from < to);
    for (; left != 0; left &= left - 1) {
      int const lead = __ffs(static_cast<int>(left)) - 1;
      V const x = shuffle(factor, lead);
      O const stop = __shfl_sync(whole_warp, to, lead);
      for (O k = __shfl_sync(whole_warp, from, lead) + lane; k < stop; k += 32) {
        I const j = b.col[k];
        int const place = lower_bound(col, n, j);
        if (col[place] != j) // j is at most the last
          continue;
        V const product = s.multiply(x, b_val[k]);
        sum[place] = is_there[place] ? s.add(sum[place], product) : product;
        is_there[place] = 1;
      }
      __syncwarp();
    }
  }
  for (int k = lane; k < n; k += 32) {
    val[first + k] = sum[k];
    if (is_asked)
      has[first + k] = is_there[k];
  }
}

/// Calls f(semiring) with the type known to the compiler. Complex values have only the usual
/// semiring.
template <class V, class F>
void with_semiring(semiring_kind s, F&& f) {
  if constexpr (std::is_floating_point_v<V>) {
    if (s == semiring_kind::or_and)
      return f(or_and());
    if (s == semiring_kind::min_plus)
      return f(min_plus());
    if (s == semiring_kind::plus_pair)
      return f(plus_pair());
  }
  f(plus_times());
}

} // namespace

template <class V, class I, class O>
void fill_semiring(product_state const& p, operand<V, I, O> const& a, operand<V, I, O> const& b,
                   pattern<I, O> const& t, V* val, std::uint8_t* has, bool is_asked) {
  auto const rows = static_cast<std::size_t>(t.rows);
  bool const has_bins = !is_asked && p.all.products != 0;
  scratch<number> const jobs(rows + 1, p.stream);
  each(rows, p.stream, [=, bins = p.bins, count = jobs.get()] __device__(std::size_t i) {
    bool const is_filled = has_bins && bins[i] <= row_bin::small;
    number const places = is_filled ? 0 : t.ptr[i + 1] - t.ptr[i];
    count[i] = (places + semiring_places - 1) / semiring_places;
  });
  to_pointers(jobs.get(), rows, p.stream);
  auto const all = last_of(static_cast<number const*>(jobs.get()), rows, p.stream);
  with_semiring<V>(p.semiring, [&]<class S>(S) {
    if constexpr (!is_usual<S>) // which does not come here without a mask
      if (has_bins) {
        fill_tiny<S>(p, a, b, t.ptr, static_cast<I*>(nullptr), val, false);
        fill_small<S>(p, a, b, t.ptr, static_cast<I*>(nullptr), val, false);
        if (p.group_count != 0)
          fill_windows<S>(p, a, b, t.ptr, t.col, val);
      }
    launch(semiring_kernel<S, V, I, O>, all, 32, p.stream, a, a.val, b, b.val, t,
           static_cast<number const*>(jobs.get()), val, has, is_asked);
  });
}

template <class I, class O>
void find_outside(pattern<I, O> const& t, pattern<I, O> const& mask, std::uint8_t* has,
                  void* stream) {
  each_warp(static_cast<std::size_t>(t.rows), stream, [=] __device__(std::size_t i, int lane) {
    I const* const col = mask.col + mask.ptr[i];
    O const n = mask.ptr[i + 1] - mask.ptr[i];
    for (O k = t.ptr[i] + lane; k < t.ptr[i + 1]; k += 32) {
      O const place = lower_bound(col, n, t.col[k]);
      has[k] = place == n || col[place] != t.col[k];
    }
  });
}

template <class V, class I, class O>
device_csr<V, I, O> leave(device_csr<V, I, O> const& t, V const* val, std::uint8_t const* has,
                          result const& to) {
  auto const rows = static_cast<std::size_t>(t.rows), places = static_cast<std::size_t>(t.nnz);
  if (places == 0)
    return {unchecked, t.rows, t.cols, O(0), to.zeros<O>(rows + 1), nullptr, nullptr};
  O* const row_ptr = to.take<O>(rows + 1);
  scratch<O> const before(places + 1, to.stream()); // places that are kept
  each(places, to.stream(),
       [=, count = before.get()] __device__(std::size_t k) { count[k] = has[k]; });
  to_pointers(before.get(), places, to.stream());
  each(rows + 1, to.stream(), [=, at = before.get(), from = t.row_ptr] __device__(std::size_t i) {
    row_ptr[i] = at[from[i]];
  });
  std::size_t const n = last_of(before.get(), places, to.stream());
  I* const col = to.take<I>(n);
  V* const left = to.take<V>(n);
  each(places, to.stream(), [=, at = before.get(), from = t.col] __device__(std::size_t k) {
    if (has[k]) {
      col[at[k]] = from[k];
      left[at[k]] = val[k];
    }
  });
  return {unchecked, t.rows, t.cols, static_cast<O>(n), row_ptr, col, left};
}

#define TULLE_OUTSIDE(I, O)                                                                        \
  template void find_outside(pattern<I, O> const&, pattern<I, O> const&, std::uint8_t*, void*);
TULLE_OUTSIDE(std::int32_t, std::uint32_t)
TULLE_OUTSIDE(std::int64_t, std::uint64_t)
TULLE_OUTSIDE(std::int32_t, std::uint64_t)
#define TULLE_SEMIRING(tag, V, I, O)                                                               \
  template void fill_semiring(product_state const&, operand<V, I, unsigned_t<O>> const&,           \
                              operand<V, I, unsigned_t<O>> const&,                                 \
                              pattern<I, unsigned_t<O>> const&, V*, std::uint8_t*, bool);          \
  template device_csr<V, I, O> leave(device_csr<V, I, O> const&, V const*, std::uint8_t const*,    \
                                     result const&);
TULLE_KERNEL_TYPES(TULLE_SEMIRING)

} // namespace tulle::kernels::cuda

// SPDX-License-Identifier: Apache-2.0

// csr to dia: diagonals are counted by sorting the entries' offsets, so the time does not depend on
// their number; then each entry finds its place.
#include "tulle/format/dia.hpp"

#include "cuda/convert/convert.cuh"
#include "cuda/convert/symmetric.cuh"
#include "cuda/primitive/search.cuh"
#include "cuda/sort_by_key.cuh"
#include "format/detail/check_room.hpp"
#include "format/detail/dia_convert.hpp"

namespace tulle::kernels::cuda {
namespace {

using count = unsigned long long;

/// As detail::dia_choice: the diagonals to keep, and how many entries they have.
template <class I>
struct dia_choice {
  I const* diagonal = nullptr;
  std::size_t diagonals = 0, entries = 0, stretches = 0;
};

template <class V, class I, class O>
dia_choice<I> choose_diagonals(device_csr<V, I, O> const& a, I const* row,
                               detail::dia_grid const& g, dia_options const& o, result const& to) {
  dia_choice<I> c;
  using U = std::make_unsigned_t<I>; // column - row + rows - 1 may need its sign
  auto const n = static_cast<std::size_t>(a.nnz);
  if (n == 0)
    return c;
  void* const stream = to.stream();
  scratch<I> const keys(n, stream), sorted(n, stream);
  auto const shift = static_cast<U>(a.rows - 1);
  each(n, stream, [=, key = keys.get()] __device__(std::size_t k) {
    key[k] = static_cast<I>(static_cast<U>(a.col[k]) - static_cast<U>(row[k]) + shift);
  });
  sort_keys(static_cast<I const*>(keys.get()), sorted.get(), n,
            static_cast<I>(shift + static_cast<U>(a.cols - 1)), stream);
  scratch<O> const numbers(n + 1, stream);
  each(n, stream, [=, key = sorted.get(), number = numbers.get()] __device__(std::size_t k) {
    number[k] = k == 0 || key[k] != key[k - 1];
  });
  to_pointers(numbers.get(), n, stream);
  std::size_t const runs = static_cast<std::size_t>(fetch(numbers.get() + n, 1, stream)[0]);
  scratch<O> const begins(runs + 1, stream), kept(runs + 1, stream);
  each(n + 1, stream, [=, number = numbers.get(), begin = begins.get()] __device__(std::size_t k) {
    if (k == n || number[k] != number[k + 1])
      begin[number[k]] = static_cast<O>(k);
  });
  auto const offset = [=, key = sorted.get(), begin = begins.get()] __device__(std::size_t r) {
    return static_cast<std::int64_t>(static_cast<U>(key[begin[r]])) - (g.rows - 1);
  };
  each(runs, stream,
       [=, fill = o.fill, symmetric = o.symmetric, begin = begins.get(),
        kept = kept.get()] __device__(std::size_t r) {
         kept[r] = g.keeps(offset(r), begin[r + 1] - begin[r], fill, symmetric);
       });
  to_pointers(kept.get(), runs, stream);
  c.diagonals = last_of(kept.get(), runs, stream);
  I* const chosen = to.take<I>(c.diagonals);
  c.diagonal = chosen;
  if (c.diagonals == 0)
    return c;
  each(runs, stream, [=, kept = kept.get()] __device__(std::size_t r) {
    if (kept[r] != kept[r + 1])
      chosen[kept[r]] = static_cast<I>(offset(r));
  });
  c.entries = fold<sum>(runs, stream,
                        [=, symmetric = o.symmetric, begin = begins.get(),
                         kept = kept.get()] __device__(std::size_t r) -> count {
                          return kept[r] == kept[r + 1]
                                     ? 0
                                     : static_cast<count>(begin[r + 1] - begin[r])
                                           << (symmetric && offset(r) < 0);
                        });
  c.stretches = fold<sum>(c.diagonals, stream, [=] __device__(std::size_t d) {
    return g.end_block(chosen[d]) - g.first_block(chosen[d]);
  });
  return c;
}

/// Entries on no kept diagonal, of rows that have some.
template <class V, class I, class O>
void add_strays(device_csr<V, I, O> const& a, O* place, std::size_t strays,
                dia_view<V, I, O, space::cuda>& m, result const& to) {
  auto const n = static_cast<std::size_t>(a.nnz);
  auto const rows = static_cast<std::size_t>(a.rows);
  to_pointers(place, n, to.stream());
  scratch<O> const numbers(rows + 1, to.stream());
  O* const number = numbers.get();
  each(rows, to.stream(), [=] __device__(std::size_t i) {
    number[i] = place[a.row_ptr[i]] != place[a.row_ptr[i + 1]];
  });
  to_pointers(number, rows, to.stream());
  std::size_t const lines = last_of(number, rows, to.stream());
  I* const stray_row = to.take<I>(lines);
  O* const stray_ptr = to.take<O>(lines + 1);
  I* const stray_col = to.take<I>(strays);
  V* const stray_val = to.take<V>(strays);
  each(rows + 1, to.stream(), [=] __device__(std::size_t i) {
    if (i == rows) {
      stray_ptr[lines] = static_cast<O>(strays);
    } else if (number[i] != number[i + 1]) {
      stray_row[number[i]] = static_cast<I>(i);
      stray_ptr[number[i]] = place[a.row_ptr[i]];
    }
  });
  each(n, to.stream(), [=] __device__(std::size_t k) {
    if (place[k] == place[k + 1])
      return;
    stray_col[place[k]] = a.col[k];
    stray_val[place[k]] = a.val[k];
  });
  m.stray_rows = static_cast<I>(lines);
  m.strays = static_cast<O>(strays);
  m.stray_row = stray_row;
  m.stray_ptr = stray_ptr;
  m.stray_col = stray_col;
  m.stray_val = stray_val;
}

/// A hash of n values; never 0.
template <class V>
__device__ unsigned long long hash_of(V const* val, std::size_t n) {
  using bits = std::conditional_t<sizeof(V) == 4, unsigned, unsigned long long>;
  unsigned long long h = 1;
  for (std::size_t i = 0; i < n; ++i) {
    h = (h ^ reinterpret_cast<bits const*>(val)[i]) * 0x9e3779b97f4a7c15u;
    h ^= h >> 32;
  }
  return h != 0 ? h : 1;
}

/// As detail::dia_share: copies each distinct one of the m.stretches at val once to m.val, and
/// writes to m.shared which one each stretch is. A table has for each hash the first stretch with
/// it; a stretch with the same hash and other values is not shared.
template <class V, class I, class O>
void share(V const* val, dia_view<V, I, O, space::cuda>& m, result const& to) {
  std::size_t const n = m.stretches;
  auto const block = static_cast<std::size_t>(m.block);
  std::size_t room = 64;
  while (room < 2 * n)
    room *= 2;
  scratch<count> const keys(room, to.stream()), firsts(room, to.stream()), places(n, to.stream());
  TULLE_CUDA(cudaMemsetAsync, keys.get(), 0, room * sizeof(count),
             static_cast<cudaStream_t>(to.stream()));
  TULLE_CUDA(cudaMemsetAsync, firsts.get(), 0xff, room * sizeof(count),
             static_cast<cudaStream_t>(to.stream()));
  each(n, to.stream(),
       [=, key = keys.get(), first = firsts.get(), place = places.get()] __device__(std::size_t s) {
         count const h = hash_of(val + s * block, block);
         std::size_t at = h & (room - 1);
         // Most find the value they would write, so they read it first: all equal stretches meet
         // there.
         for (;; at = (at + 1) & (room - 1))
           if (count k = __ldcg(key + at);
               k == h || (k == 0 && ((k = atomicCAS(key + at, 0, h)) == 0 || k == h)))
             break;
         if (__ldcg(first + at) > s)
           atomicMin(first + at, static_cast<count>(s));
         place[s] = at;
       });
  scratch<O> const numbers(n + 1, to.stream());
  each(n, to.stream(),
       [=, first = firsts.get(), place = places.get(),
        number = numbers.get()] __device__(std::size_t s) {
         using bits = std::conditional_t<sizeof(V) == 4, unsigned, unsigned long long>;
         auto const* const mine = reinterpret_cast<bits const*>(val + s * block);
         auto const* const its = reinterpret_cast<bits const*>(val + first[place[s]] * block);
         bool same = true;
         for (std::size_t i = 0; same && i < block; ++i)
           same = mine[i] == its[i];
         place[s] = same ? first[place[s]] : s;
         number[s] = place[s] == s;
       });
  to_pointers(numbers.get(), n, to.stream());
  std::size_t const kept = last_of(numbers.get(), n, to.stream());
  O* const shared = to.take<O>(n);
  V* const once = to.take<V>(kept * block);
  each(n, to.stream(), [=, place = places.get(), number = numbers.get()] __device__(std::size_t s) {
    shared[s] = number[place[s]];
    if (place[s] == s)
      for (std::size_t i = 0; i < block; ++i)
        once[static_cast<std::size_t>(shared[s]) * block + i] = val[s * block + i];
  });
  m.shared = shared;
  m.val = once;
  m.stored = kept * block;
}

template <class V, class I, class O>
dia_view<V, I, O, space::cuda> from_csr(device_csr<V, I, O> const& a, dia_options const& o,
                                        result const& to) {
  detail::check_dia_options(o);
  canonical<V, I, O> const c(a, to.stream());
  if (o.symmetric)
    check_symmetric("dia", c.view, to.stream());
  device_csr<V, I, O> const from = c.view;
  detail::dia_grid const g{a.rows, a.cols, o.block};
  auto const n = static_cast<std::size_t>(from.nnz);
  auto const block = static_cast<std::size_t>(o.block);
  std::size_t const bytes = (block + 7) / 8; // of a stretch's mask
  scratch<I> const rows(n, to.stream());
  expand_rows(a.rows, from.nnz, from.row_ptr, rows.get(), to.stream());
  I const* const row = rows.get();
  dia_choice<I> const chosen = choose_diagonals(from, row, g, o, to);
  std::size_t const strays = n - chosen.entries;
  detail::check_room("dia",
                     detail::dia_bytes<V, I, O>(g, chosen.diagonals,
                                                static_cast<double>(chosen.stretches), strays),
                     detail::bytes_of(from), o.limit);
  narrow<O>(chosen.stretches, "number of stretches of diagonals");
  dia_view<V, I, O, space::cuda> m;
  m.rows = a.rows;
  m.cols = a.cols;
  m.nnz = from.nnz;
  m.block = o.block;
  m.symmetric = o.symmetric;
  m.diagonals = static_cast<I>(chosen.diagonals);
  m.diagonal = chosen.diagonal;
  std::size_t const blocks = g.blocks();
  O* const block_ptr = to.take<O>(blocks + 1);
  m.block_ptr = block_ptr;
  scratch<std::size_t> const firsts(blocks, to.stream()); // diagonal of a block
  each(blocks, to.stream(),
       [=, first = firsts.get(), diagonal = chosen.diagonal,
        diagonals = chosen.diagonals] __device__(std::size_t b) {
         // As detail::dia_range: the diagonals that meet the block's rows.
         first[b] = lower_bound(diagonal, diagonals, static_cast<I>(-g.last_row(b)));
         block_ptr[b] = static_cast<O>(
             upper_bound(diagonal, diagonals, static_cast<I>(g.cols - 1 - g.first_row(b))) -
             first[b]);
       });
  to_pointers(block_ptr, blocks, to.stream());
  m.stored = checked_mul(chosen.stretches, block, "dia");
  m.stretches = chosen.stretches;
  bool const shares = o.shared && m.stretches != 0;
  scratch<V> const all(shares ? m.stored : 0, to.stream());
  V* const val = shares ? all.get() : to.zeros<V>(m.stored);
  m.val = val;
  if (shares)
    TULLE_CUDA(cudaMemsetAsync, val, 0, m.stored * sizeof(V),
               static_cast<cudaStream_t>(to.stream()));
  if (n == 0)
    return m;

  // Bits are set in whole words; the mask may end within the last one.
  std::size_t const mask_bytes = chosen.stretches * bytes;
  std::size_t const words = mask_bytes / 4 + 1;
  scratch<unsigned> const bits(words, to.stream());
  scratch<O> const places(n + 1, to.stream());
  TULLE_CUDA(cudaMemsetAsync, bits.get(), 0, words * sizeof(unsigned),
             static_cast<cudaStream_t>(to.stream()));
  each(n, to.stream(),
       [=, first = firsts.get(), diagonal = chosen.diagonal, diagonals = chosen.diagonals,
        symmetric = o.symmetric, mask = bits.get(),
        place = places.get()] __device__(std::size_t k) {
         auto const i = static_cast<std::size_t>(row[k]);
         I const offset = from.col[k] - row[k];
         std::size_t const d = lower_bound(diagonal, diagonals, offset);
         bool const on = d < diagonals && diagonal[d] == offset;
         bool mirrored = false;
         if (on) {
           std::size_t const stretch =
               static_cast<std::size_t>(block_ptr[i / block]) + (d - first[i / block]);
           val[stretch * block + i % block] = from.val[k];
           std::size_t const byte = stretch * bytes + i % block / 8;
           atomicOr(mask + byte / 4, 1u << (byte % 4 * 8 + i % block % 8));
         } else if (symmetric && offset > 0) {
           std::size_t const twin = lower_bound(diagonal, diagonals, static_cast<I>(-offset));
           mirrored = twin < diagonals && diagonal[twin] == -offset;
         }
         place[k] = !on && !mirrored;
       });
  m.mask = to.copy(reinterpret_cast<std::uint8_t const*>(bits.get()), mask_bytes);
  if (strays != 0)
    add_strays(from, places.get(), strays, m, to);
  if (shares)
    share(val, m, to);
  return m;
}

} // namespace

TULLE_INSTANTIATE_CUDA_CONVERT(dia)

} // namespace tulle::kernels::cuda

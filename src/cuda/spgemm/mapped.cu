// SPDX-License-Identifier: Apache-2.0

// C's values where a plan knows the products that each is the sum of: it keeps the products in the
// order of C's entries, those of one entry in the order of A's row, two or four bytes each. A block
// computes the products of as many entries as have 1024 in all, in parallel, and one thread per
// entry adds its products in order. No columns are read, and nothing is searched.
//
//     code of a product    which of the entries of A that the block needs, which entry of the row
//                          of B that it names
//     start of an entry    of C: its first product, in the window of 1024 products it is in
//
// Bytes that must move: codes, two bytes per entry of C, C's values, A's values and a pointer for
// each, and the part of B that the caches do not hold. cuSPARSE keeps 32 bytes per product.
//
// The order of products is made by a stable radix sort by the place in C, for as many rows at once
// as there is memory for.
#include "cuda/convert/convert.cuh"
#include "cuda/cub.cuh"
#include "cuda/primitive/search.cuh"
#include "cuda/spgemm/mapped.cuh"
#include "cuda/types.hpp"

#include <bit>
#include <limits>

namespace tulle::kernels::cuda {
namespace {

using number = unsigned long long;

constexpr int window = 1024; // products of a block, except for further ones of its last entry
constexpr int map_threads = 256;
constexpr int products_a_thread = window / map_threads;
constexpr unsigned most_staged =
    1024; // entries of A in shared memory; further ones are read from global memory
constexpr std::size_t most_times = 4;           // a map takes at most so many times the bytes of C
constexpr number most_sorted = number{1} << 24; // products at once, 17 bytes each

/// A block's entries of C, from `entry` up to the next block's, and the entries of A that they
/// need.
template <class O>
struct map_block {
  number product;
  O entry, term;
  unsigned terms;
};

template <class Code, class V, class O>
__global__ void __launch_bounds__(map_threads, 2048 / map_threads)
    mapped_kernel(V const* a_val, V const* b_val, O const* first, Code const* codes,
                  std::uint16_t const* start, map_block<O> const* blocks, int shift,
                  unsigned staged, V* c_val) {
  extern __shared__ double2 mapped_room[];
  V* const product = reinterpret_cast<V*>(mapped_room);
  V* const factor = product + window; // of entries of A
  O* const from = reinterpret_cast<O*>(factor + staged);
  int const t = threadIdx.x;
  map_block<O> const here = blocks[blockIdx.x];
  number const products = blocks[blockIdx.x + 1].product - here.product;
  int const entries = static_cast<int>(blocks[blockIdx.x + 1].entry - here.entry);
  if (entries == 0)
    return;
  codes += here.product;
  start += here.entry;
  c_val += here.entry;
  a_val += here.term;
  first += here.term;
  unsigned const mask = (1u << shift) - 1;
  int const at = static_cast<int>(here.product % window); // of its first product
  int const n = static_cast<int>(min(products, number{window - static_cast<unsigned>(at)}));
  // Computes the products from `done` on, as many as fit.
  auto const compute = [&](number done, int n, int at) {
    Code code[products_a_thread];
#pragma unroll
    for (int u = 0; u < products_a_thread; ++u)
      code[u] = t + u * map_threads < n ? codes[done + t + u * map_threads] : Code(0);
    bool const is_staged = here.terms <= staged;
    if (is_staged && done == 0) {
      for (unsigned k = t; k < here.terms; k += map_threads) {
        factor[k] = a_val[k];
        from[k] = first[k];
      }
      __syncthreads();
    }
    auto const multiply = [&](V const* factors, O const* rows) {
      V x[products_a_thread];
#pragma unroll
      for (int u = 0; u < products_a_thread; ++u)
        x[u] = t + u * map_threads < n ? b_val[rows[code[u] >> shift] + (code[u] & mask)] : V(0);
#pragma unroll
      for (int u = 0; u < products_a_thread; ++u)
        if (t + u * map_threads < n)
          product[at + t + u * map_threads] = factors[code[u] >> shift] * x[u];
    };
    if (is_staged)
      multiply(factor, from);
    else
      multiply(a_val, first);
    __syncthreads();
  };
  compute(0, n, at);
  V sum = nothing<V>();
  for (int e = t; e < entries; e += map_threads) {
    bool const is_last = e + 1 == entries;
    int const end = is_last ? at + n : start[e + 1];
    sum = nothing<V>();
    for (int q = start[e]; q < end; ++q)
      sum = sum + product[q];
    if (!is_last || products == static_cast<number>(n))
      c_val[e] = sum;
  }
  // Products of the last entry beyond the window.
  bool const is_owner = t == (entries - 1) % map_threads;
  for (number done = n; done < products; done += window) {
    int const more = static_cast<int>(min(products - done, number{window}));
    __syncthreads();
    compute(done, more, 0);
    if (is_owner)
      for (int q = 0; q < more; ++q)
        sum = sum + product[q];
    if (is_owner && done + static_cast<number>(more) == products)
      c_val[entries - 1] = sum;
  }
}

/// The input and the output of making a map.
template <class I, class O>
struct map_making {
  pattern<I, O> a, b, c;
  O terms; // entries of A
  number products;
  number const* before; // products of entries of A before each, and of all
  O const* first;
  map_block<O>* blocks;
  std::uint16_t* start;
  void* codes;
  int shift;
  /// The entry of A of a product; then its row.
  __device__ O term_of(number product) const { return upper_bound(before, terms + 1, product) - 1; }
  __device__ I row_of(O term) const { return upper_bound(a.ptr, a.rows + 1, term) - 1; }
  /// A block, without its entries of C. Sorting keeps products among those of their row, so the
  /// rows of a window are known before.
  __device__ map_block<O> block(number j) const {
    number const end = (j + 1) * window < products ? (j + 1) * window : products;
    O const from = a.ptr[row_of(term_of(j * window))];
    O const to = a.ptr[row_of(term_of(end - 1)) + 1];
    return {0, 0, from, static_cast<unsigned>(to - from)};
  }
};

/// Sorts the n products of rows from `row` on, which follow `base` others.
template <class Code, class I, class O>
void map_rows(map_making<I, O> const& m, std::size_t row, number base, number n, void* stream) {
  // Places among the entries of those rows.
  scratch<unsigned> const keys(n, stream), sorted_keys(n, stream);
  scratch<unsigned> const products(n, stream), sorted_products(n, stream);
  each(n, stream, [=, key = keys.get(), product = products.get()] __device__(std::size_t q) {
    O const k = m.term_of(base + q);
    I const i = m.row_of(k);
    I const column = m.b.col[m.first[k] + (base + q - m.before[k])];
    O const at = m.c.ptr[i];
    key[q] = static_cast<unsigned>(at - m.c.ptr[row] +
                                   lower_bound(m.c.col + at, m.c.ptr[i + 1] - at, column));
    product[q] = static_cast<unsigned>(q);
  });
  sort_pairs(keys.get(), sorted_keys.get(), products.get(), sorted_products.get(), n,
             std::max(1, static_cast<int>(std::bit_width(n - 1))), stream);
  number const first_block = ceil_div(base, number{window});
  each(ceil_div(base + n, number{window}) - first_block, stream,
       [=, key = sorted_keys.get()] __device__(std::size_t r) {
         number const j = first_block + r, q = j * window - base;
         bool const is_head = q == 0 || key[q] != key[q - 1];
         m.blocks[j].entry = m.c.ptr[row] + key[q] + !is_head;
         m.blocks[j].product =
             is_head ? j * window : base + q + upper_bound(key + q, n - q, key[q]);
       });
  each(n, stream,
       [=, key = sorted_keys.get(), product = sorted_products.get()] __device__(std::size_t q) {
         O const e = m.c.ptr[row] + key[q];
         number const at = base + q, from = base + product[q];
         if (q == 0 || key[q] != key[q - 1])
           m.start[e] = static_cast<std::uint16_t>(at % window);
         number j = at / window; // the block that has the entry, which may have begun before
         while (m.blocks[j].entry > e)
           --j;
         O const k = m.term_of(from);
         static_cast<Code*>(m.codes)[at] = static_cast<Code>(
             static_cast<unsigned>(k - m.blocks[j].term) << m.shift | (from - m.before[k]));
       });
}

/// The rows at which sorts begin, and the end; empty if a row has more than `most` products.
template <class I, class O>
std::vector<std::pair<std::size_t, number>> cut(map_making<I, O> const& m, number products,
                                                number most, void* stream) {
  auto const rows = static_cast<std::size_t>(m.a.rows);
  if (products <= most)
    return {{0, 0}, {rows, products}};
  scratch<number> const before(rows + 1, stream);
  each(rows + 1, stream,
       [=, to = before.get()] __device__(std::size_t i) { to[i] = m.before[m.a.ptr[i]]; });
  auto const ends = fetch(before.get(), rows + 1, stream);
  std::vector<std::pair<std::size_t, number>> cuts = {{0, 0}};
  for (std::size_t i = 0; i < rows; ++i) {
    if (ends[i + 1] - ends[i] > most)
      return {};
    if (ends[i + 1] - cuts.back().second > most)
      cuts.emplace_back(i, ends[i]);
  }
  cuts.emplace_back(rows, products);
  return cuts;
}

/// Whether many rows have the same columns: sharing work is cheaper then.
bool is_grouped(product_state const& p, std::size_t rows) {
  std::size_t const windows = rows_in(p, row_bin::window);
  return windows > rows / 2 && static_cast<std::size_t>(p.group_count) * 3 <= windows * 2;
}

template <class I, class O>
void make_map(product_state& p, pattern<I, O> const& a, pattern<I, O> const& b,
              pattern<I, O> const& c, std::size_t entry_bytes, result_memory const& keep) {
  void* const stream = p.stream;
  number const products = p.all.products;
  map_making<I, O> m = {a, b, c, fetch(a.ptr + a.rows, 1, stream)[0], products};
  if (m.terms > std::numeric_limits<unsigned>::max() / 2) // a block counts them in 32 bits
    return;
  std::size_t const terms = m.terms, entries = fetch(c.ptr + c.rows, 1, stream)[0];
  scratch<number> const before(terms + 1, stream);
  each(terms, stream, [=, to = before.get()] __device__(std::size_t k) {
    to[k] = b.ptr[a.col[k] + 1] - b.ptr[a.col[k]];
  });
  to_pointers(before.get(), terms, stream);
  m.before = before.get();

  std::size_t const blocks = ceil_div(products, number{window});
  product_map map;
  map.block_count = blocks;
  map.most_terms =
      fold<greatest>(blocks, stream, [=] __device__(std::size_t j) { return m.block(j).terms; });
  number const longest =
      fold<greatest>(static_cast<std::size_t>(b.rows), stream,
                     [=] __device__(std::size_t j) { return b.ptr[j + 1] - b.ptr[j]; });
  map.shift = m.shift = std::bit_width(longest - 1);
  int const bits = m.shift + std::bit_width(map.most_terms - 1);
  map.code_bytes = bits <= 16 ? 2 : 4;
  O* first = nullptr;
  auto const lay_out = [&](carver room) {
    m.blocks = room.take<map_block<O>>(blocks + 1);
    first = room.take<O>(terms);
    m.start = room.take<std::uint16_t>(entries);
    m.codes = room.take<char>(products * static_cast<std::size_t>(map.code_bytes));
    return room.used();
  };
  std::size_t const bytes = lay_out(carver()), rest = scratch_limit::rest();
  constexpr std::size_t a_sorted = 4 * sizeof(unsigned) + 1, cub_bytes = std::size_t{1} << 20;
  if (bits > 32 || map.shift > 31 || bytes > most_times * entries * entry_bytes ||
      rest < bytes + cub_bytes)
    return;
  auto const cuts = cut(
      m, products, std::min<number>(most_sorted, (rest - bytes - cub_bytes) / a_sorted), stream);
  if (cuts.empty())
    return;

  scratch_limit::take(bytes);
  map.memory = result(keep).take<char>(bytes);
  p.bytes += bytes;
  lay_out(carver(map.memory));
  m.first = first;
  each(terms, stream, [=] __device__(std::size_t k) { first[k] = b.ptr[a.col[k]]; });
  each(blocks + 1, stream, [=] __device__(std::size_t j) {
    m.blocks[j] = j < blocks ? m.block(j) : map_block<O>{products, static_cast<O>(entries), 0, 0};
  });
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
    auto const [row, base] = cuts[k];
    if (number const n = cuts[k + 1].second - base; n == 0)
      continue;
    else if (map.code_bytes == 2)
      map_rows<std::uint16_t>(m, row, base, n, stream);
    else
      map_rows<std::uint32_t>(m, row, base, n, stream);
  }
  map.blocks = m.blocks;
  map.first = first;
  map.start = m.start;
  map.codes = m.codes;
  p.map = map;
  p.bytes = bytes;
}

} // namespace

template <class I, class O>
void map_products(product_state& p, pattern<I, O> const& a, pattern<I, O> const& b,
                  pattern<I, O> const& c, std::size_t entry_bytes, result_memory const& keep) {
  if (p.method != spgemm_method::automatic || p.all.products == 0 ||
      is_grouped(p, static_cast<std::size_t>(a.rows)))
    return;
  try {
    make_map(p, a, b, c, entry_bytes, keep);
    TULLE_CUDA(cudaStreamSynchronize, static_cast<cudaStream_t>(p.stream));
  } catch (failure const& e) {
    if (e.came_to.code != outcome::no_memory && e.came_to.why != errc::out_of_memory)
      throw;
    p.map = {};
  }
}

template <class V, class I, class O>
void fill_mapped(product_state const& p, V const* a_val, V const* b_val, V* c_val) {
  auto const staged = static_cast<unsigned>(
      std::min<number>(ceil_div(p.map.most_terms, number{2}) * 2, most_staged));
  auto const run = [&]<class Code>(Code const* codes) {
    launch_shared(mapped_kernel<Code, V, O>, p.map.block_count, map_threads,
                  window * sizeof(V) + staged * (sizeof(V) + sizeof(O)), p.stream, a_val, b_val,
                  static_cast<O const*>(p.map.first), codes, p.map.start,
                  static_cast<map_block<O> const*>(p.map.blocks), p.map.shift, staged, c_val);
  };
  if (p.map.code_bytes == 2)
    run(static_cast<std::uint16_t const*>(p.map.codes));
  else
    run(static_cast<std::uint32_t const*>(p.map.codes));
}

#define TULLE_MAP(I, O)                                                                            \
  template void map_products(product_state&, pattern<I, O> const&, pattern<I, O> const&,           \
                             pattern<I, O> const&, std::size_t, result_memory const&);
TULLE_MAP(std::int32_t, std::uint32_t)
TULLE_MAP(std::int64_t, std::uint64_t)
TULLE_MAP(std::int32_t, std::uint64_t)
#define TULLE_FILL_MAPPED(tag, V, I, O)                                                            \
  template void fill_mapped<V, I, unsigned_t<O>>(product_state const&, V const*, V const*, V*);
TULLE_KERNEL_TYPES(TULLE_FILL_MAPPED)

} // namespace tulle::kernels::cuda

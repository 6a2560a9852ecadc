// SPDX-License-Identifier: Apache-2.0

// z = alpha*x + beta*y of sparse vectors. By merging, each thread takes an even share of both lists
// (merge path): it counts its entries, and when all have counted, writes them where they belong.
// The other methods go through the whole at once; they are for rows, and here to be compared.
#include "tulle/op/level1.hpp"

#include "op/add_row.hpp"
#include "op/sparse_operands.hpp"
#include "primitive/merge.hpp"
#include "reference/level1.hpp"

#include <algorithm>

namespace tulle::detail {
namespace {

constexpr std::size_t grain = 1 << 14; // entries that a thread is started for

// The first n entries of both arrays as a vector; the arrays themselves where that is all.
template <class V, class I>
sparse_vector<V, I> first_of(I size, array<I> index, array<V> val, std::size_t n,
                             std::pmr::memory_resource* memory) {
  if (n == index.size())
    return {unchecked, size, std::move(index), std::move(val)};
  return {unchecked, size, array<I>(index.data(), n, memory), array<V>(val.data(), n, memory)};
}

template <class V, class I>
sparse_vector<V, I> merged(where const& w, I size, scaled_row<V, I> const& x,
                           scaled_row<V, I> const& y) {
  std::size_t const bound = x.n + y.n;
  int const parts = parts_for(bound, w.threads, grain);
  auto const lines = static_cast<std::size_t>(parts) + 1;
  array<std::size_t> x_at(lines, w.memory), y_at(lines, w.memory), first(lines, w.memory);
  for (int part = 0; part <= parts; ++part) {
    std::size_t const diagonal = split(bound, part, parts);
    std::size_t const i = primitive::merge_path(x.index, x.n, y.index, y.n, diagonal);
    std::size_t j = diagonal - i;
    if (i > 0 && j < y.n && x.index[i - 1] == y.index[j])
      ++j; // both of one place go to one thread
    x_at[static_cast<std::size_t>(part)] = i;
    y_at[static_cast<std::size_t>(part)] = j;
  }
  auto const share = [&](scaled_row<V, I> const& r, array<std::size_t> const& at, std::size_t p) {
    return scaled_row<V, I>{r.index + at[p], r.factor == V(0) ? nullptr : r.val + at[p],
                            at[p + 1] - at[p], r.factor};
  };
  first[0] = 0;
  parallel(parts, [&](int part) {
    auto const p = static_cast<std::size_t>(part);
    scaled_row<V, I> const mine = share(x, x_at, p), yours = share(y, y_at, p);
    first[p + 1] = mine.n + yours.n - count_common(mine.index, mine.n, yours.index, yours.n);
  });
  for (std::size_t p = 1; p < lines; ++p)
    first[p] += first[p - 1];
  sparse_vector<V, I> z(unchecked, size, array<I>(first.back(), w.memory),
                        array<V>(first.back(), w.memory));
  parallel(parts, [&](int part) {
    auto const p = static_cast<std::size_t>(part);
    add_merge(share(x, x_at, p), share(y, y_at, p), z.index.data() + first[p],
              z.val.data() + first[p]);
  });
  return z;
}

} // namespace

template <class V, class I>
sparse_vector<V, I> level1_add<V, I>::add(where const& w, V alpha, sparse_vector_view<V, I> x,
                                          V beta, sparse_vector_view<V, I> y, add_options options) {
  if (x.size != y.size)
    fail(errc::shape_mismatch, "add: x has size %lld but y has size %lld",
         static_cast<long long>(x.size), static_cast<long long>(y.size));
  check_arrays("add", "x", x);
  check_arrays("add", "y", y);
  scaled_row<V, I> const a{x.index, x.val, static_cast<std::size_t>(x.nnz), alpha};
  scaled_row<V, I> const b{y.index, y.val, static_cast<std::size_t>(y.nnz), beta};
  std::size_t const bound = a.n + b.n;
  bool const plain = by_reference("add", w);
  add_method const method =
      options.method == add_method::automatic ? add_method_for(bound) : options.method;
  if (!plain && method == add_method::merge)
    return merged(w, x.size, a, b);

  auto const cols = static_cast<std::size_t>(x.size);
  if (method == add_method::heap)
    narrow<std::int32_t>(bound, "add: the entries that a heap is asked to hold");
  std::size_t const bytes = plain ? 0 : add_scratch_bytes<V, I>(method, bound, cols);
  if (bytes > w.workspace_limit)
    fail(errc::out_of_memory, "add: %zu bytes of workspace wanted, the limit is %zu", bytes,
         w.workspace_limit);
  array<std::byte> room(bytes, w.memory);
  array<I> index(bound, w.memory);
  array<V> val(bound, w.memory);
  add_scratch const scratch{room.data(), cols};
  clear_add_scratch(method, scratch);
  std::size_t const n = plain ? kernels::reference::add(alpha, x, beta, y, index.data(), val.data())
                              : add_row(method, a, b, index.data(), val.data(), scratch);
  return first_of(x.size, std::move(index), std::move(val), n, w.memory);
}

#define TULLE_LEVEL1_ADD(V, I) template struct level1_add<V, I>;
TULLE_VECTOR_TYPES(TULLE_LEVEL1_ADD)

} // namespace tulle::detail

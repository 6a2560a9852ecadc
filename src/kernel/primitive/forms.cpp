// SPDX-License-Identifier: Apache-2.0
#include "kernel/primitive/forms.hpp"

#include "kernel/primitive/d_heap.hpp"
#include "kernel/primitive/merge.hpp"
#include "kernel/primitive/network_sort.hpp"
#include "kernel/primitive/segmented.hpp"
#include "kernel/primitive/set.hpp"
#include "primitive/d_heap.hpp"

namespace tulle::kernels {
namespace {

namespace s = TULLE_ISA;

template <class V, class Op>
V reduce(V const* in, std::int64_t n, V init) {
  return s::reduce(in, n, init, Op());
}

template <class V>
constexpr sum_forms<V> sums = {reduce<V, s::plus>,   reduce<V, s::least>,  reduce<V, s::greatest>,
                               s::inclusive_scan<V>, s::exclusive_scan<V>, s::segmented_scan<V>,
                               s::segmented_sum<V>};

template <class K, class V>
constexpr pair_forms<K, V> pairs = {s::bitonic_sort<K, V>, s::merge<K, V, std::int64_t>};

template <class K>
constexpr key_forms<K> keys = {
    s::bitonic_sort<K>,    s::merge<K, std::int64_t>, s::intersection<K, std::int32_t>,
    pairs<K, float>,       pairs<K, double>,          pairs<K, std::int32_t>,
    pairs<K, std::int64_t>};

template <class K, int d>
void sort_by_heap(K const* in, std::int64_t n, K* out, K* keys, std::int32_t* names,
                  std::int32_t* places) {
  primitive::d_heap<K, d, s::find_max_child<d>> heap(keys, names, places,
                                                     static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i)
    heap.insert(static_cast<std::int32_t>(i), in[i]);
  for (std::int64_t i = 0; i < n; ++i)
    out[i] = heap.delete_max().key;
}

template <class K>
constexpr heap_forms<K> heaps = {sort_by_heap<K, 2>, sort_by_heap<K, 4>,  sort_by_heap<K, 5>,
                                 sort_by_heap<K, 8>, sort_by_heap<K, 16>, sort_by_heap<K, 32>,
                                 sort_by_heap<K, 64>};

constexpr forms all = {sums<std::int32_t>, sums<std::int64_t>,  sums<std::uint32_t>,
                       sums<float>,        sums<double>,        keys<std::int32_t>,
                       keys<std::int64_t>, heaps<std::int32_t>, heaps<std::int64_t>,
                       heaps<float>,       heaps<double>};

} // namespace

forms const TULLE_ISA::primitives = all;

} // namespace tulle::kernels

// SPDX-License-Identifier: Apache-2.0

// d-heaps of every fan-out against a plain list of keys.
#include "tulle/core/array.hpp"

#include "inputs.hpp"
#include "primitive/d_heap.hpp"

#include <gtest/gtest.h>
#include <optional>
#include <utility>

namespace tulle::test::d_heap_test {
namespace {

namespace pr = primitive;

template <class K, int d>
struct owned_heap {
  using heap_type = pr::d_heap<K, d>;
  array<K> keys;
  array<std::int32_t> names, places;
  heap_type heap;

  explicit owned_heap(std::size_t capacity)
      : keys(heap_type::slots(capacity)), names(heap_type::slots(capacity)), places(capacity),
        heap(keys.data(), names.data(), places.data(), capacity) {}
};

template <class K, int d>
void sorts(std::size_t n, shape s) {
  std::vector<K> want = keys<K>(s, n);
  owned_heap<K, d> owned(n);
  for (std::size_t i = 0; i < n; ++i)
    owned.heap.insert(static_cast<std::int32_t>(i), want[i]);
  std::vector<K> got;
  while (!owned.heap.empty()) {
    auto const [who, key] = owned.heap.peek();
    ASSERT_EQ(key, want[static_cast<std::size_t>(who)]);
    ASSERT_EQ(owned.heap.delete_max().who, who);
    ASSERT_FALSE(owned.heap.contains(who));
    got.push_back(key);
  }
  std::sort(want.rbegin(), want.rend());
  ASSERT_EQ(got, want) << "d " << d << " n " << n;
}

// Inserts, deletes and changes in random order.
template <class K, int d>
void survives_changes() {
  constexpr std::size_t capacity = 300;
  std::mt19937 random(d);
  owned_heap<K, d> owned(capacity);
  auto& heap = owned.heap;
  std::vector<std::optional<K>> plain(capacity);
  for (int step = 0; step < 4000; ++step) {
    auto const who = static_cast<std::int32_t>(random() % capacity);
    auto& mine = plain[static_cast<std::size_t>(who)];
    K const key = static_cast<K>(random() % 1000);
    ASSERT_EQ(heap.contains(who), mine.has_value());
    if (!mine) {
      heap.insert(who, key);
      mine = key;
    } else if (random() % 2) {
      heap.update_key(who, key);
      mine = key;
    } else {
      auto const top = heap.delete_max();
      auto const most = *std::max_element(plain.begin(), plain.end());
      ASSERT_EQ(top.key, *most) << "d " << d << " step " << step;
      auto& taken = plain[static_cast<std::size_t>(top.who)];
      ASSERT_EQ(taken, top.key);
      taken.reset();
    }
    if (mine) {
      ASSERT_EQ(heap.key(who), *mine);
    }
  }
}

template <class K, int... d>
void every_fan_out() {
  for (std::size_t const n : lengths())
    (sorts<K, d>(n, all_shapes[n % std::size(all_shapes)]), ...);
  for (shape const s : all_shapes)
    (sorts<K, d>(500, s), ...);
  (survives_changes<K, d>(), ...);
}

TEST(d_heap, gives_the_greatest_first) {
  every_fan_out<std::int32_t, 2, 3, 4, 5, 8, 16, 32, 64>();
  every_fan_out<std::int64_t, 4, 7, 16>();
  every_fan_out<std::uint32_t, 2, 63>();
  every_fan_out<float, 8>();
  every_fan_out<double, 2, 4, 8, 64>();
}

template <std::size_t... d>
void fan_outs_from_two(std::index_sequence<d...>) {
  for (std::size_t const n : {0, 1, 64, 65, 130, 4100})
    (sorts<std::int32_t, static_cast<int>(d) + 2>(n, shape::random), ...);
}
TEST(d_heap, may_have_any_fan_out_up_to_64) {
  fan_outs_from_two(std::make_index_sequence<63>());
}

// Groups of children begin at multiples of d.
TEST(d_heap, aligns_children) {
  owned_heap<double, 8> owned(100);
  for (std::int32_t i = 0; i < 100; ++i)
    owned.heap.insert(i, 100 - i);
  EXPECT_EQ(owned.keys[7], 100); // the root behind d - 1 empty slots
  EXPECT_EQ(owned.keys[8], 99);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&owned.keys[8]) % 64, 0u);
}

} // namespace
} // namespace tulle::test::d_heap_test

// SPDX-License-Identifier: Apache-2.0
#include "tulle/core/error.hpp"
#include "tulle/core/recycling.hpp"

#include "support/memory.hpp"

#include <gtest/gtest.h>

namespace tulle::test::recycling_test {
namespace {

constexpr std::size_t large = 8 << 20;

TEST(recycling_memory, hands_out_a_block_again_to_requests_of_about_its_size) {
  recycling_memory memory;
  void const* first;
  {
    array<char> const a(large, &memory);
    first = a.data();
  }
  EXPECT_EQ(memory.waiting(), large);
  array<char> const more(large + 1, &memory);
  array<char> const less(large / 2, &memory);
  EXPECT_NE(more.data(), first);
  EXPECT_NE(less.data(), first);
  array<char> const same(large - large / 20, &memory);
  EXPECT_EQ(same.data(), first);
  EXPECT_EQ(memory.waiting(), 0u);
}

TEST(recycling_memory, has_as_many_sizes_as_are_asked_for) {
  recycling_memory memory(SIZE_MAX, nullptr, 1);
  void const* first;
  {
    array<char> const a(large + 1, &memory);
    first = a.data();
  }
  EXPECT_EQ(memory.waiting(), 2 * large);
  EXPECT_NE(array<char>(large, &memory).data(), first);
  EXPECT_EQ(array<char>(2 * large, &memory).data(), first);
}

TEST(recycling_memory, gives_everything_back) {
  failing_memory counted;
  {
    recycling_memory memory(SIZE_MAX, &counted);
    { array<char> const a(large, &memory), b(2 * large + 1, &memory), small(100, &memory); }
    EXPECT_EQ(counted.outstanding(), memory.waiting());
    EXPECT_GT(counted.outstanding(), 3 * large);
    memory.release();
    EXPECT_EQ(counted.outstanding(), 0u);
    EXPECT_EQ(memory.waiting(), 0u);
    { array<char> const a(large, &memory); }
  }
  EXPECT_EQ(counted.outstanding(), 0u);
}

TEST(recycling_memory, keeps_no_more_than_it_may_and_what_came_last) {
  failing_memory counted;
  recycling_memory memory(3 * large, &counted);
  void const* last;
  { array<char> const a(2 * large, &memory); }
  {
    array<char> const a(large, &memory), b(large, &memory);
    last = a.data(); // freed after b
  }
  EXPECT_EQ(memory.waiting(), 2 * large);
  { array<char> const a(4 * large, &memory); }
  EXPECT_EQ(memory.waiting(), 2 * large);
  EXPECT_EQ(counted.outstanding(), 2 * large);
  EXPECT_EQ(array<char>(large, &memory).data(), last);
  for (int i = 0; i < 200; ++i) // sizes of many kinds
    array<char>((std::size_t{1} << 20) + static_cast<std::size_t>(i) * 40'000, &memory);
  EXPECT_LE(memory.waiting(), 3 * large);
  EXPECT_EQ(counted.outstanding(), memory.waiting());
}

TEST(recycling_memory, keeps_blocks_when_there_is_no_more) {
  failing_memory counted;
  recycling_memory memory(SIZE_MAX, &counted);
  { array<char> const a(large, &memory); }
  counted.fail_at(1);
  EXPECT_THROW(array<char>(3 * large, &memory), error);
  EXPECT_NO_THROW(array<char>(large, &memory));
}

TEST(recycling_memory, serves_many_threads) {
  recycling_memory memory;
  int wrong = 0;
#pragma omp parallel num_threads(4) reduction(+ : wrong)
  for (std::size_t i = 0; i < 200; ++i) {
    array<std::size_t> a((std::size_t{1} << 17) + i % 7 * 20'000, &memory);
    a[0] = a.back() = i;
    wrong += a[0] != i || a.back() != i;
  }
  EXPECT_EQ(wrong, 0);
}

} // namespace
} // namespace tulle::test::recycling_test

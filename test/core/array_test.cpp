// SPDX-License-Identifier: Apache-2.0
#include "tulle/core/array.hpp"

#include "support/expect.hpp"
#include "support/memory.hpp"

#include <complex>
#include <gtest/gtest.h>
#include <numeric>

namespace tulle::test::array_test {
namespace {

TEST(array, is_aligned_to_64_bytes) {
  for (std::size_t const n : {1, 3, 1000, 600'000, 5'000'000}) { // the last on huge pages
    array<double> const a(n);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data()) % 64, 0u) << n;
    array<char> const b(n);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b.data()) % 64, 0u) << n;
  }
}

TEST(array, huge_ones_can_be_written_to_the_end_and_freed) {
  for (std::size_t const bytes : {(4u << 20) - 1, 4u << 20, (4u << 20) + 1, 9u << 20}) {
    array<unsigned char> a(bytes);
    a[0] = 1;
    a.back() = 2;
    EXPECT_EQ(a[0] + a[bytes - 1], 3);
  }
}

TEST(array, empty_ones_have_no_memory) {
  failing_memory memory(1); // would fail if asked
  array<int> const a(0, &memory);
  EXPECT_EQ(a.data(), nullptr);
  EXPECT_TRUE(a.empty());
  EXPECT_EQ(a.begin(), a.end());
  array<int> const b;
  EXPECT_EQ(a, b);
  EXPECT_EQ(array<int>(b), b);
  EXPECT_EQ(memory.allocations(), 0u);
}

TEST(array, memory_comes_from_the_resource_and_goes_back) {
  failing_memory memory;
  {
    array<std::int32_t> a(100, &memory);
    EXPECT_EQ(memory.outstanding(), 400u);
    EXPECT_EQ(a.bytes(), 400u);
    array<std::int32_t> moved = std::move(a);
    EXPECT_EQ(memory.outstanding(), 400u);
    EXPECT_EQ(moved.size(), 100u);
    EXPECT_EQ(a.size(), 0u);
    a = array<std::int32_t>(7, &memory);
    EXPECT_EQ(memory.outstanding(), 428u);
    moved.swap(a);
    EXPECT_EQ(moved.size(), 7u);
    a = array<std::int32_t>();
    EXPECT_EQ(memory.outstanding(), 28u);
  }
  EXPECT_EQ(memory.outstanding(), 0u);
}

TEST(array, elements_are_not_touched) { // the pattern left in the resource's block shows through
  struct recycler final : std::pmr::memory_resource {
    alignas(64) unsigned char block[64];
    void* do_allocate(std::size_t, std::size_t) override { return block; }
    void do_deallocate(void*, std::size_t, std::size_t) override {}
    bool do_is_equal(memory_resource const& o) const noexcept override { return this == &o; }
  } memory;
  for (unsigned char& b : memory.block)
    b = 0xa5;
  array<unsigned char> const a(64, &memory);
  EXPECT_EQ(a[0], 0xa5);
  EXPECT_EQ(a[63], 0xa5);
}

TEST(array, copies_and_compares) {
  array<double> a{1, 2, 3};
  array<double> b = a;
  EXPECT_EQ(a, b);
  EXPECT_NE(a.data(), b.data());
  b[2] = 4;
  EXPECT_FALSE(a == b);
  EXPECT_EQ(a[2], 3);
  auto& self = a;
  a = self;
  EXPECT_EQ(a, (array<double>{1, 2, 3}));
  EXPECT_EQ((array<double>(3, 2.5)), (array<double>{2.5, 2.5, 2.5}));
  EXPECT_FALSE((array<double>{1, 2} == array<double>{1, 2, 3}));
  EXPECT_EQ(std::accumulate(a.begin(), a.end(), 0.0), 6);
  array<std::complex<float>> const c{{1, 2}};
  EXPECT_EQ(c.back(), std::complex<float>(1, 2));
}

TEST(array, what_cannot_be_had_is_an_error) {
  failing_memory memory(1);
  EXPECT_TRUE(fails_with(errc::out_of_memory, {"800 bytes"}, [&] { array<double>(100, &memory); }));
  EXPECT_TRUE(fails_with(errc::overflow, {"2305843009213693952", "8"},
                         [] { array<double>(std::size_t{1} << 61); }));
#ifndef TULLE_SANITIZED // sanitizers end the program instead
  EXPECT_TRUE(fails_with(errc::out_of_memory, {"1152921504606846976 bytes"},
                         [] { array<char>(std::size_t{1} << 60); }));
#endif
  array<double> kept{1, 2};
  EXPECT_ANY_THROW(kept = array<double>(100, &memory));
  EXPECT_EQ(kept, (array<double>{1, 2}));
}

} // namespace
} // namespace tulle::test::array_test

// SPDX-License-Identifier: Apache-2.0

// What warps and blocks do together, against plain loops.
#include "cuda/primitive/bitonic.cuh"
#include "cuda/primitive/block.cuh"
#include "cuda/primitive/search.cuh"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <vector>

namespace tulle::kernels::cuda {
namespace {

constexpr int threads = 128;

/// f(thread) of one block for each of its threads, as it comes back.
template <class T, class F>
__global__ void call_kernel(F f, T* to) {
  to[threadIdx.x] = f(static_cast<int>(threadIdx.x));
}
template <class T, class F>
std::vector<T> call(F const& f) {
  T* there = nullptr;
  EXPECT_EQ(cudaMalloc(&there, threads * sizeof(T)), cudaSuccess);
  call_kernel<<<1, threads>>>(f, there);
  std::vector<T> here(threads);
  EXPECT_EQ(cudaMemcpy(here.data(), there, threads * sizeof(T), cudaMemcpyDefault), cudaSuccess);
  cudaFree(there);
  return here;
}

// Sums of these are exact, and no two places have the same.
__host__ __device__ double value(int i) {
  return static_cast<double>(i * 7 % 31) - 11 + i * 32;
}
/// Where segments start: none, all, every so many, and at random.
__host__ __device__ bool starts(int i, int pattern) {
  return pattern == 0   ? false
         : pattern == 1 ? true
         : pattern < 70 ? i % pattern == pattern / 2
                        : (i * 2654435761u >> 13) % 5 == 0;
}
constexpr int patterns[] = {0, 1, 2, 3, 31, 32, 33, 64, 70};

// Lambdas for the device may not stand in a test's body.
template <int width>
std::vector<double> there_reduce() {
  return call<double>([] __device__(int i) { return reduce<width>(value(i)); });
}
std::vector<double> there_reduce(int width) {
  return call<double>([=] __device__(int i) { return reduce(value(i), width); });
}
std::vector<double> there_inclusive_scan() {
  return call<double>([] __device__(int i) { return inclusive_scan(value(i)); });
}
std::vector<double> there_segmented_scan(int p) {
  return call<double>([=] __device__(int i) { return segmented_scan(value(i), starts(i, p)); });
}
std::vector<double> there_block_reduce() {
  return call<double>([] __device__(int i) {
    __shared__ block_room<double> room;
    return block_reduce<threads>(value(i), room);
  });
}
std::vector<int> there_block_exclusive_scan() {
  return call<int>([] __device__(int i) {
    __shared__ block_room<int> room;
    return block_exclusive_scan<threads>(i * 5 % 13, room);
  });
}
std::vector<double> there_block_segmented_scan(int p) {
  return call<double>([=] __device__(int i) {
    __shared__ block_room<double> room;
    return block_segmented_scan<threads>(value(i), starts(i, p), room);
  });
}
__host__ __device__ complex<double> complex_value(int i) {
  return {value(i), -3 * value(i + 5)};
}
std::vector<complex<double>> there_complex_reduce() {
  return call<complex<double>>([] __device__(int i) { return reduce<32>(complex_value(i)); });
}
std::vector<complex<double>> there_complex_block_segmented_scan(int p) {
  return call<complex<double>>([=] __device__(int i) {
    __shared__ block_room<complex<double>> room;
    return block_segmented_scan<threads>(complex_value(i), starts(i, p), room);
  });
}
/// Operands that round.
__host__ __device__ complex<double> third(int i) {
  return {value(i) / 3, value(i + 7) / 7};
}
std::vector<complex<double>> there_complex_fma() {
  return call<complex<double>>(
      [] __device__(int i) { return fma(third(i), third(i + 1), third(i + 2)); });
}
std::vector<complex<double>> there_complex_nothing() {
  return call<complex<double>>([] __device__(int i) {
    complex<double> const zero = nothing<complex<double>>();
    return is_nothing(zero) && !is_nothing(complex<double>(0)) ? zero : complex_value(i);
  });
}
std::vector<int> there_lower_bound(int const* keys, int n) {
  return call<int>([=] __device__(int i) { return lower_bound(keys, n, i - 2); });
}
std::vector<int> there_upper_bound(int const* keys, int n) {
  return call<int>([=] __device__(int i) { return upper_bound(keys, n, i - 2); });
}
std::vector<int> there_merge_path(int const* ends, int n, int nnz) {
  return call<int>(
      [=] __device__(int d) { return d <= n + nnz ? merge_path(ends, n, nnz, d) : -1; });
}

std::vector<int> there_bitonic_sort(int n, int different) {
  return call<int>([=] __device__(int i) {
    __shared__ int key[4 * threads];
    for (int k = i; k < n; k += threads)
      key[k] = static_cast<int>(k * 2654435761u >> 8) % different;
    bitonic_sort<threads>(key, n);
    int sum = 0; // of what lies at this thread's places, each by its place
    for (int k = i; k < n; k += threads)
      sum += key[k] * (k / threads + 1);
    return sum;
  });
}
std::vector<int> there_power_of_two() {
  return call<int>([] __device__(int i) { return power_of_two(i); });
}

template <int width>
void expect_groups() {
  auto const got = there_reduce<width>();
  auto const same = there_reduce(width);
  for (int i = 0; i < threads; ++i) {
    double wanted = 0;
    for (int k = i / width * width; k < (i / width + 1) * width; ++k)
      wanted += value(k);
    EXPECT_EQ(got[i], wanted) << width << " lanes, thread " << i;
    EXPECT_EQ(same[i], wanted) << width << " lanes, thread " << i;
  }
}

TEST(cuda_primitive, reduce_adds_up_groups_of_lanes) {
  expect_groups<1>();
  expect_groups<2>();
  expect_groups<4>();
  expect_groups<8>();
  expect_groups<16>();
  expect_groups<32>();
}

TEST(cuda_primitive, scans_of_a_warp) {
  auto const got = there_inclusive_scan();
  double sum = 0;
  for (int i = 0; i < threads; ++i) {
    sum = i % 32 == 0 ? value(i) : sum + value(i);
    EXPECT_EQ(got[i], sum) << i;
  }
  for (int const p : patterns) {
    auto const parts = there_segmented_scan(p);
    for (int i = 0; i < threads; ++i) {
      sum = i % 32 == 0 || starts(i, p) ? value(i) : sum + value(i);
      EXPECT_EQ(parts[i], sum) << i << " of pattern " << p;
    }
  }
}

TEST(cuda_primitive, what_a_block_adds_up) {
  auto const all = there_block_reduce();
  auto const before = there_block_exclusive_scan();
  double sum = 0;
  int count = 0;
  for (int i = 0; i < threads; ++i) {
    EXPECT_EQ(before[i], count) << i;
    count += i * 5 % 13;
    sum += value(i);
  }
  EXPECT_EQ(all[0], sum);
  for (int const p : patterns) {
    auto const parts = there_block_segmented_scan(p);
    double open = 0; // of the threads before
    for (int i = 0; i < threads; ++i) {
      EXPECT_EQ(parts[i], open) << i << " of pattern " << p;
      open = starts(i, p) ? value(i) : open + value(i);
    }
  }
}

TEST(cuda_primitive, complex_values_are_shuffled_and_added_by_parts) {
  std::vector<complex<double>> const sums = there_complex_reduce();
  for (int i = 0; i < threads; ++i) {
    complex<double> sum = 0;
    for (int k = i / 32 * 32; k < i / 32 * 32 + 32; ++k)
      sum += complex_value(k);
    EXPECT_TRUE(sums[static_cast<std::size_t>(i)] == sum) << i;
  }
  for (int const p : patterns) {
    std::vector<complex<double>> const found = there_complex_block_segmented_scan(p);
    complex<double> before = 0;
    for (int i = 0; i < threads; ++i) {
      EXPECT_TRUE(found[static_cast<std::size_t>(i)] == before) << p << " " << i;
      before = starts(i, p) ? complex_value(i) : before + complex_value(i);
    }
  }
}

TEST(cuda_primitive, complex_fma_rounds_four_times) {
  std::vector<complex<double>> const found = there_complex_fma();
  for (int i = 0; i < threads; ++i) {
    complex<double> const a = third(i), b = third(i + 1), s = third(i + 2);
    double const re = std::fma(-a.im, b.im, std::fma(a.re, b.re, s.re));
    double const im = std::fma(a.im, b.re, std::fma(a.re, b.im, s.im));
    EXPECT_EQ(found[static_cast<std::size_t>(i)].re, re) << i;
    EXPECT_EQ(found[static_cast<std::size_t>(i)].im, im) << i;
  }
  for (complex<double> const v : there_complex_nothing())
    EXPECT_TRUE(v == complex<double>(0) && std::signbit(v.re) && std::signbit(v.im));
}

TEST(cuda_primitive, bitonic_sort_puts_keys_in_order) {
  for (int const n : {1, 2, 4, 32, 64, 128, 256, 512})
    for (int const different : {1, 2, 7, 1000}) {
      std::vector<int> keys(static_cast<std::size_t>(n));
      for (int k = 0; k < n; ++k)
        keys[static_cast<std::size_t>(k)] = static_cast<int>(k * 2654435761u >> 8) % different;
      std::sort(keys.begin(), keys.end());
      auto const got = there_bitonic_sort(n, different);
      for (int i = 0; i < threads; ++i) {
        int wanted = 0;
        for (int k = i; k < n; k += threads)
          wanted += keys[static_cast<std::size_t>(k)] * (k / threads + 1);
        EXPECT_EQ(got[i], wanted) << i << " of " << n << " keys, " << different << " different";
      }
    }
  auto const powers = there_power_of_two();
  for (int i = 0, power = 1; i < threads; ++i) {
    power = i > power ? 2 * power : power;
    EXPECT_EQ(powers[i], power) << i;
  }
}

TEST(cuda_primitive, searches_find_what_the_library_does) {
  for (int const n : {0, 1, 2, 3, 31, 64, 100}) {
    std::vector<int> keys(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i)
      keys[static_cast<std::size_t>(i)] = i / 3 * 2; // with equal ones
    int* there = nullptr;
    ASSERT_EQ(cudaMalloc(&there, 128 * sizeof(int)), cudaSuccess);
    ASSERT_EQ(cudaMemcpy(there, keys.data(), keys.size() * sizeof(int), cudaMemcpyDefault),
              cudaSuccess);
    auto const low = there_lower_bound(there, n);
    auto const high = there_upper_bound(there, n);
    // As row ends: where each diagonal crosses the path.
    int const nnz = n == 0 ? 0 : keys.back();
    auto const crossing = there_merge_path(there, n, nnz);
    cudaFree(there);
    for (int i = 0; i < threads; ++i) {
      EXPECT_EQ(low[i], std::lower_bound(keys.begin(), keys.end(), i - 2) - keys.begin());
      EXPECT_EQ(high[i], std::upper_bound(keys.begin(), keys.end(), i - 2) - keys.begin());
    }
    int row = 0, entry = 0;
    for (int d = 0; d <= n + nnz && d < threads; ++d) {
      EXPECT_EQ(crossing[d], row) << "diagonal " << d << " of " << n << " rows";
      if (row < n && keys[static_cast<std::size_t>(row)] <= entry)
        ++row;
      else
        ++entry;
    }
  }
}

} // namespace
} // namespace tulle::kernels::cuda

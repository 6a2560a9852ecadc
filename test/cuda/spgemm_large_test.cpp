// SPDX-License-Identifier: Apache-2.0

// A B on the device where 32 bits do not count its entries, or just those of an operand.
#include "tulle/op/spgemm.hpp"

#include "support/expect.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

namespace tulle::test::spgemm_large_test {
namespace {

constexpr std::int32_t many = 50'000; // whose square is more than 32 bits count

/// A column and a row whose product is all of many x many, value j at column j.
template <class O>
std::pair<device_matrix, device_matrix> column_and_row() {
  array<O> each(many + 1);
  array<std::int32_t> none(many, 0), all(many);
  array<float> val(many);
  for (std::int32_t i = 0; i <= many; ++i)
    each[static_cast<std::size_t>(i)] = i;
  std::copy_n(each.begin(), many, all.begin());
  std::copy_n(each.begin(), many, val.begin());
  return {upload(csr<float, std::int32_t, O>(many, 1, each, none, array<float>(many, 1.f))),
          upload(csr<float, std::int32_t, O>(1, many, {0, many}, all, val))};
}

TEST(cuda, a_product_with_too_many_entries_is_an_overflow) {
  auto const [tall, wide] = column_and_row<std::int32_t>();
  EXPECT_TRUE(
      fails_with(errc::overflow, {"spgemm", "2500000000", "32-bit"}, [&] { spgemm(tall, wide); }));
  EXPECT_EQ(spgemm_forecast(tall, wide).entries, 2'500'000'000.0);
}

/// n elements of device memory.
template <class T>
std::vector<T> from_there(T const* from, std::size_t n) {
  std::vector<T> to(n);
  EXPECT_EQ(cudaMemcpy(to.data(), from, n * sizeof(T), cudaMemcpyDefault), cudaSuccess);
  return to;
}

TEST(cuda, products_have_more_entries_than_32_bits_count) {
  if (devices(backend::cuda).at(0).free_memory < std::size_t{24} << 30)
    GTEST_SKIP() << "for devices with 24 GiB";
  auto const [tall, wide] = column_and_row<std::int64_t>();
  device_matrix const c = spgemm(tall, wide);
  ASSERT_EQ(c.nnz(), std::size_t{many} * many);
  auto const view = c.view<csr_view<float, std::int32_t, std::int64_t, space::cuda>>();
  std::size_t const n = many;
  for (std::size_t const i : {std::size_t{0}, n * 43 / 50, n - 1}) {
    EXPECT_EQ(from_there(view.row_ptr + i, 1)[0], static_cast<std::int64_t>(i * n));
    auto const col = from_there(view.col + i * n, n);
    auto const val = from_there(view.val + i * n, n);
    for (std::size_t j = 0; j < n; ++j)
      ASSERT_TRUE(static_cast<std::size_t>(col[j]) == j && val[j] == static_cast<float>(j)) << j;
  }
}

/// A device_array that repeats what it begins with.
template <class T>
device_array<T> repeated(std::vector<T> const& once, std::size_t n) {
  device_array<T> all(n);
  EXPECT_EQ(cudaMemcpy(all.data(), once.data(), once.size() * sizeof(T), cudaMemcpyDefault),
            cudaSuccess);
  for (std::size_t has = once.size(); has < n; has *= 2)
    EXPECT_EQ(cudaMemcpy(all.data() + has, all.data(), std::min(has, n - has) * sizeof(T),
                         cudaMemcpyDefault),
              cudaSuccess);
  return all;
}

// Kernels look some places beyond a row's last entry, and these end where 32 bits do.
TEST(cuda, operands_may_have_as_many_entries_as_32_bits_count) {
  if (devices(backend::cuda).at(0).free_memory < std::size_t{24} << 30)
    GTEST_SKIP() << "for devices with 24 GiB";
  std::int32_t const rows = 2048, cols = 1 << 20, nnz = 2147483647; // one is missing
  std::vector<std::int32_t> ptr(rows + 1, nnz), all(cols);
  for (std::int32_t i = 0; i < rows; ++i)
    ptr[static_cast<std::size_t>(i)] = i * cols;
  for (std::int32_t j = 0; j < cols; ++j)
    all[static_cast<std::size_t>(j)] = j;
  device_array<std::int32_t> const row_ptr(ptr), col = repeated(all, nnz);
  device_array<float> const val = repeated(std::vector<float>{1}, nnz);
  csr_view<float, std::int32_t, std::int32_t, space::cuda> const view(
      unchecked, rows, cols, nnz, row_ptr.data(), col.data(), val.data());
  device_ref const a{matrix_ref(view)};
  // Of B's rows the last ones have an entry each, so many columns apart.
  struct {
    std::int32_t entries, apart;
  } const cases[] = {{20, 1}, {200, 100}, {900, 30}, {3000, 10}, {5000, 4}};
  for (auto const& c : cases) {
    auto const n = static_cast<std::size_t>(c.entries);
    array<std::int32_t> b_ptr(cols + 1, 0), b_col(n);
    array<float> b_val(n);
    for (std::size_t k = 0; k < n; ++k) {
      b_ptr[static_cast<std::size_t>(cols) - n + k + 1] = static_cast<std::int32_t>(k + 1);
      b_col[k] = static_cast<std::int32_t>(k) * c.apart;
      b_val[k] = static_cast<float>(k);
    }
    csr<float> const b(cols, c.entries * c.apart, b_ptr, b_col, b_val);
    device_matrix const b_there = upload(b);
    device_matrix const product = spgemm({}, a, b_there.ref());
    any_matrix const back = download(product);
    csr<float> const& found = *back.get_if<csr<float>>();
    ASSERT_EQ(found.val.size(), static_cast<std::size_t>(rows * c.entries - 1)) << c.entries;
    for (std::size_t k = 0; k < found.val.size(); ++k)
      ASSERT_EQ(found.val[k], static_cast<float>(k % n)) << k;
  }
  // The last rows of such a B.
  csr<float> const pick(2, rows, {0, 1, 3}, {rows - 1, rows - 2, rows - 1}, {1, 1, 1});
  device_matrix const pick_there = upload(pick);
  any_matrix const back = download(spgemm({}, pick_there.ref(), a));
  csr<float> const& found = *back.get_if<csr<float>>();
  ASSERT_EQ(found.val.size(), static_cast<std::size_t>(2 * cols - 1));
  for (std::size_t k = 0; k < found.val.size(); ++k)
    ASSERT_EQ(found.val[k], k + 1 < cols || k + 1 == found.val.size() ? 1.f : 2.f) << k;
}

} // namespace
} // namespace tulle::test::spgemm_large_test

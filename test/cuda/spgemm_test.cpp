// SPDX-License-Identifier: Apache-2.0

// A B on a GPU: every bin of rows, methods, maps of plans, and workspace.
#include "device/memory.hpp"
#include "device/spgemm.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

namespace tulle::test::cuda_spgemm_test {
namespace {

using namespace device_products;

/// The first row, the first column and the diagonal.
csr<double> arrowhead(std::int32_t n) {
  std::vector<std::int32_t> ptr = {0}, col;
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int32_t j = 0; j < n; ++j)
      if (i == 0 || j == 0 || i == j)
        col.push_back(j);
    ptr.push_back(static_cast<std::int32_t>(col.size()));
  }
  return csr<double>(n, n, {ptr.data(), ptr.size()}, {col.data(), col.size()},
                     array<double>(col.size(), 1.0));
}

class cuda_spgemm : public testing::TestWithParam<type_tag> {
protected:
  type_tag const type = GetParam();
};
INSTANTIATE_TEST_SUITE_P(types, cuda_spgemm, testing::ValuesIn(every_type),
                         [](auto const& info) { return name(info.param); });

/// Generated operands, b empty for a square, and what the path of their product has.
struct road {
  std::string a, b, path;
};
/// Columns of a hub; sums of 16 bytes are not kept for as many.
std::string columns_of_heavy(type_tag type) {
  return name(type)[0] == 'c' && name(type)[1] == '6' ? "8000" : "16000";
}
std::string expect_road(road const& r, type_tag type) {
  any_matrix const a = as_type(random(r.a), type);
  std::string const path =
      r.b.empty() ? expect_square(a, r.a)
                  : expect_product(a, as_type(random(r.b), type), r.a + " times " + r.b);
  EXPECT_NE(path.find(r.path), std::string::npos) << r.a << ": " << path;
  return path;
}

TEST_P(cuda_spgemm, takes_each_bin) {
  road const cases[] = {
      {"poisson2d5:30", "", " tiny"},
      {"lattice:900", "", "900 tiny"},
      {"poisson2d9:30", "", " window"},
      {"poisson2d9:100", "", " small"},
      {"poisson3d27:9", "", " window"},
      {"fem:900", "", " groups of window rows"},
      {"banded:1500:300", "", " window"},
      {"dense:300", "", " window"},
      {"dense:200", "", " heavy"},
      {"rmat:11:20", "", " heavy"},
      {"random:40:2000:20000", "random:2000:" + columns_of_heavy(type) + ":64000", " heavy"},
      {"dense:3:5000", "dense:5000:16", " heavy"}, // in more turns than claims have at once
      {"random:300:4000:6000", "random:4000:3000000:24000", " few"},
      {"random:300:4000:24000", "random:4000:3000000:24000", " sorted 1K"},
      {"random:100:4000:40000", "random:4000:3000000:24000", " sorted 4K"},
      {"random:200:300:2400", "random:300:300000:15000", " long 1K"},
      {"random:4200:300:50400", "random:300:300000:15000", " long 1K"},
      {"random:4200:300:126000", "random:300:300000:15000", " long 4K"},
      {"random:40:4000:40000", "random:4000:300000:40000", " tiled"},
      {"rmat:11:20", "", " window"},
      {"random:60:40:400", "random:40:90000:900000", " tiled"},
      {"random:20:6000:20000", "random:6000:900000:60000", " scattered"},
  };
  for (road const& c : cases)
    if (!is_quick() || c.path != " heavy") { // on which racecheck did not end
      EXPECT_EQ(expect_road(c, type).find("cuda/sm_"), 0u) << c.a;
    }
}

TEST_P(cuda_spgemm, takes_small_hubs) {
  road const cases[] = {
      {"dense:70", "", "70 heavy"},
      {"random:8:2000:2000", "random:2000:400:40000", "8 heavy"},
      {"dense:3:800", "dense:800:16", "3 heavy"},
      {"random:6:3000:3000", "random:3000:" + columns_of_heavy(type) + ":60000", "6 heavy"},
  };
  for (road const& c : cases)
    expect_road(c, type);
}

TEST_P(cuda_spgemm, does_as_it_is_told) {
  struct {
    spgemm_method method;
    char const* path;
  } const cases[] = {
      {spgemm_method::tiny, " tiny"},          {spgemm_method::heap, " heap"},
      {spgemm_method::esc, " esc 256"},        {spgemm_method::hash, " hash 256"},
      {spgemm_method::dense, " tiled"},        {spgemm_method::global_esc, "sorts"},
      {spgemm_method::merge, " merge"},        {spgemm_method::heap_esc_merge, " merge, "},
      {spgemm_method::heap_esc_merge, " heap"}};
  std::vector<std::pair<any_matrix, any_matrix>> products;
  for (animal const& animal : zoo())
    if (animal.matrix.val.size() <= (is_quick() ? 1'000u : 5'000u))
      products.emplace_back(as_type(rough(animal.matrix), type),
                            as_type(factor_for(animal.matrix, 3000, 5), type));
  for (char const* const text : {"poisson2d5:30", "fem:300", "rmat:10:20", "random:200:200:3000"}) {
    any_matrix const a = as_type(random(text), type);
    products.emplace_back(a, a);
  }
  products.emplace_back(as_type(random("random:100:4000:40000"), type),
                        as_type(random("random:4000:3000000:24000"), type));
  for (auto const& c : cases) {
    std::string paths;
    for (auto const& [a, b] : products) {
      any_matrix const wanted = spgemm(cpu{}, a, b);
      device_matrix const there_a = put(a), there_b = put(b);
      std::string const what = std::string(name(c.method)) + " " + std::to_string(a.rows()) +
                               " x " + std::to_string(b.cols());
      EXPECT_TRUE(same_as(spgemm(there_a, there_b, {.method = c.method}), wanted)) << what;
      spgemm_plan plan(there_a, there_b, {.method = c.method});
      EXPECT_TRUE(same_as(spgemm(plan, there_a, there_b), wanted)) << what << " again";
      paths += plan.path() + "\n";
    }
    EXPECT_NE(paths.find(c.path), std::string::npos) << paths;
  }
}

// Columns that a plain hash puts all at one slot.
TEST(cuda, hashed_products_stand_columns_far_apart) {
  csr<double> const a = random("random:50:60:900");
  array<std::int32_t> ptr(61), col(60 * 40);
  array<double> val(60 * 40, 1.5);
  for (std::size_t i = 0; i <= 60; ++i)
    ptr[i] = static_cast<std::int32_t>(i) * 40;
  for (std::size_t k = 0; k < col.size(); ++k)
    col[k] = static_cast<std::int32_t>(k % 40 * 3 + k / 40 % 3) << 20;
  csr<double> const b(60, 1 << 28, ptr, col, val);
  for (spgemm_method const method : {spgemm_method::hash, spgemm_method::automatic})
    EXPECT_TRUE(same_as(spgemm(put(a), put(b), {.method = method}), spgemm(cpu{}, a, b)));
}

// All products of a row at one place but one, and far from it: they add in turns, as many as there
// are.
TEST_P(cuda_spgemm, adds_many_products_at_one_place) {
  for (std::int32_t const n : {300, 1024, 4096}) {
    csr<double> const a = random("dense:3:" + std::to_string(n));
    array<std::int32_t> ptr(static_cast<std::size_t>(n) + 1), col(static_cast<std::size_t>(n), 0);
    for (std::int32_t i = 0; i <= n; ++i)
      ptr[static_cast<std::size_t>(i)] = i;
    col[static_cast<std::size_t>(n) - 1] = 1 << 20;
    csr<double> const b = rough(csr<double>(n, 1 << 21, ptr, col, array<double>(col.size(), 1.0)));
    expect_product(as_type(a, type), as_type(b, type), std::to_string(n) + " at one place");
  }
}

TEST(cuda, a_sort_of_all_products_keeps_to_its_limit) {
  csr<double> const a = random("random:2000:2000:40000");
  device_matrix const there = put(a);
  any_matrix const wanted = spgemm(cpu{}, any_matrix(a), any_matrix(a));
  spgemm_options const o{.method = spgemm_method::global_esc};
  EXPECT_TRUE(same_as(spgemm(policy{.workspace_limit = 3 << 20}, there, there, o), wanted));
  EXPECT_TRUE(fails_with(errc::out_of_memory, {"global_esc", "products of row 0"}, [&] {
    spgemm(policy{.workspace_limit = (1 << 20) + 40'000}, there, there, o);
  }));
}

// More columns than go at once: bands, of which the limit makes more.
TEST_P(cuda_spgemm, goes_over_columns_in_bands) {
  any_matrix const a = as_type(random("random:6:6000:30000"), type);
  any_matrix const b = as_type(random("random:6000:5000000:240000"), type);
  EXPECT_NE(expect_product(a, b, "wide").find("bands of 768 tiles"), std::string::npos);
  if (is_quick())
    return;
  EXPECT_NE(expect_product(a, b, "limited", {.workspace_limit = 400'000}).find("bands of"),
            std::string::npos);
}

// Few rows of B are those of long rows: bands are for these alone.
TEST_P(cuda_spgemm, goes_over_the_rows_that_are_named) {
  any_matrix const a = as_type(random("random:20:300000:20000"), type);
  any_matrix const b = as_type(random("random:300000:2000000:3000000"), type);
  policy const unsorted{.workspace_limit = std::size_t{80} << 20}; // for tiles, not for a sort
  std::string const path = expect_product(a, b, "few of many", unsorted);
  std::size_t const at = path.find(" tiles for ");
  ASSERT_NE(at, std::string::npos) << path;
  EXPECT_LT(std::stoul(path.substr(at + 11)), 20'001u) << path;
  expect_product(a, b, "limited", {.workspace_limit = 12 << 20});
}

// Where each product falls is kept where that is small, and there is memory for it.
TEST_P(cuda_spgemm, plans_map_products) {
  road const cases[] = {
      {"poisson2d5:30", "", " 2 bytes per product"},
      {"lattice:900", "", " 2 bytes per product"},
      {"random:3000:3000:30000", "", " 2 bytes per product"},
      {"random:40:4000:40000", "random:4000:300000:400000", " 4 bytes per product"},
      {"random:60:40:400", "random:40:90000:900000", " 4 bytes per product"},
      {"circuit:20000", "", " 4 bytes per product"},
      {"rmat:12:10", "", " 4 bytes per product"},
  };
  for (road const& c : cases)
    expect_road(c, type);
  any_matrix const arrow = as_type(rough(arrowhead(1200)), type); // 1200 products of one entry
  EXPECT_NE(expect_square(arrow, "arrow").find(" map "), std::string::npos);
  std::string const grouped = expect_square(as_type(random("fem:900"), type), "fem");
  EXPECT_EQ(grouped.find(" map "), std::string::npos) << grouped;
  any_matrix const a = as_type(random("rmat:12:10"), type);
  std::string const limited =
      expect_product(a, a, "limited", {.workspace_limit = std::size_t{3} << 20});
  EXPECT_EQ(limited.find(" map "), std::string::npos) << limited;
  any_matrix const b = as_type(random("random:3000:3000:30000"), type);
  std::string const sorted_in_parts =
      expect_product(b, b, "in parts", {.workspace_limit = std::size_t{4} << 20});
  EXPECT_NE(sorted_in_parts.find(" map "), std::string::npos) << sorted_in_parts;
}

/// What the pool had to give at once while f() ran. It is to keep what it has: else large blocks
/// are not of it.
template <class F>
std::size_t peak_of(F&& f) {
  cudaMemPool_t pool = nullptr;
  EXPECT_EQ(cudaDeviceGetDefaultMemPool(&pool, 0), cudaSuccess);
  std::uint64_t kept = UINT64_MAX;
  cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept);
  synchronize();
  std::uint64_t before = 0, peak = 0;
  cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &before);
  std::uint64_t zero = 0;
  cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &zero);
  f();
  synchronize();
  cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &peak);
  cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &zero);
  return static_cast<std::size_t>(peak - before);
}

TEST(cuda, products_keep_to_a_workspace_limit) {
  device_matrix const a = put(random("random:400:30000:600000"));
  device_matrix const b = put(random("random:30000:400000:300000"));
  device_matrix c;
  std::size_t const peak = peak_of([&] { c = spgemm(a, b); });
  std::size_t const extra = peak - c.bytes();
  any_matrix const wanted = download(c);
  EXPECT_LE(extra, (std::size_t{64} << 20) + c.bytes() / 20);
  for (std::size_t const part : {2, 4, 10}) {
    c = {};
    std::size_t const limited =
        peak_of([&] { c = spgemm(policy{.workspace_limit = extra / part}, a, b); });
    EXPECT_TRUE(same_as(c, wanted)) << part;
    EXPECT_LE(limited - c.bytes(), extra / part + 4096) << part; // by which the pool rounds up
  }
}

// The same in tiles: sums that come out as -0 stay entries and keep their sign.
TEST_P(cuda_spgemm, tiles_keep_zeros_and_their_sign) {
  csr<double> a = generate("random:20:400:8000"), b = generate("random:400:50000:80000");
  for (std::size_t k = 0; k < a.val.size(); ++k)
    a.val[k] = -1;
  for (std::size_t k = 0; k < b.val.size(); ++k)
    b.val[k] = k % 2 == 0 ? 0 : 1;
  EXPECT_NE(expect_product(as_type(a, type), as_type(b, type), "tiled").find(" tiled"),
            std::string::npos);
}

// What is not canonical is sorted before the product.
TEST_P(cuda_spgemm, plans_say_what_is_sorted_first) {
  for (bool const is_unsorted : {false, true}) {
    csr<double> const base = generate("fem:600");
    device_matrix const there =
        put(as_type(rough(is_unsorted ? duplicated(unsorted(base)) : base, 3), type));
    spgemm_plan const plan(there, there);
    EXPECT_EQ(plan.path().find("sorted first") != std::string::npos, is_unsorted) << plan.path();
  }
}

} // namespace
} // namespace tulle::test::cuda_spgemm_test

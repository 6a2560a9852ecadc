// SPDX-License-Identifier: Apache-2.0

// The workspace_limit of C = A B: the least one that works is the one that is named, and more of it
// never makes tiles narrower.
#include "tulle/gen/generate.hpp"
#include "tulle/op/spgemm.hpp"

#include "support/expect.hpp"
#include "support/memory.hpp"
#include "support/zoo.hpp"

#include <cstdlib>
#include <gtest/gtest.h>

namespace tulle::test::spgemm_limits_test {
namespace {

constexpr spgemm_method methods[] = {spgemm_method::automatic,  spgemm_method::tiny,
                                     spgemm_method::heap,       spgemm_method::esc,
                                     spgemm_method::merge,      spgemm_method::hash,
                                     spgemm_method::dense,      spgemm_method::scatter,
                                     spgemm_method::global_esc, spgemm_method::heap_esc_merge};
static_assert(std::size(methods) == spgemm_method_count);

csr<double> full(std::int32_t rows, std::int32_t cols) {
  return rough(from_lengths(cols, std::vector<std::int32_t>(static_cast<std::size_t>(rows), cols)));
}

struct factors {
  std::string name;
  csr<double> a, b;
};
std::vector<factors> const& pairs() {
  static std::vector<factors> const all = [] {
    std::vector<factors> made;
    made.push_back({"full", full(8, 8), full(8, 3)});
    made.push_back({"wide", full(20, 8), full(8, 700)});
    made.push_back({"no rows", csr<double>(0, 3, {0}, {}, {}), full(3, 5)});
    made.push_back({"no entries", csr<double>(3, 3, {0, 0, 0, 0}, {}, {}), full(3, 5)});
    for (char const* const spec : {"rmat:6:6", "fem:60", "poisson2d5:8"}) {
      csr<double> const a = rough(generate(spec));
      made.push_back({spec, a, a});
    }
    return made;
  }();
  return all;
}

/// The first number of a message: the bytes that are wanted.
std::size_t named(std::string const& message) {
  return std::strtoull(message.c_str() + message.find_first_of("0123456789"), nullptr, 10);
}

class spgemm_limits : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(op, spgemm_limits, testing::Range<std::size_t>(0, type_count),
                         [](auto const& info) { return name(static_cast<type_tag>(info.param)); });

TEST_P(spgemm_limits, the_least_that_works_is_the_one_that_is_named) {
  auto const type = static_cast<type_tag>(GetParam());
  visit(type, [&](auto types) {
    using T = decltype(types);
    using owner = csr<typename T::value, typename T::index, typename T::offset>;
    for (factors const& f : pairs()) {
      any_matrix const of_a = as_type(f.a, type), of_b = as_type(f.b, type);
      owner const &a = *of_a.get_if<owner>(), &b = *of_b.get_if<owner>();
      owner const expected = spgemm(reference{}, a, b);
      for (spgemm_method const m : methods)
        for (int const threads : {1, 2, 5}) {
          std::string const what = f.name + " " + name(m) + " " + std::to_string(threads);
          auto const with = [&](std::size_t limit) {
            tracking_memory memory;
            owner const c =
                spgemm(cpu{.threads = threads, .memory = &memory, .workspace_limit = limit}, a, b,
                       {.method = m});
            EXPECT_EQ(c, expected) << what << " " << limit;
            EXPECT_LE(memory.peak(), expected.bytes() + limit) << what;
          };
          std::size_t least = 0;
          try {
            with(0);
            ADD_FAILURE() << what << " takes no workspace";
          } catch (error const& e) {
            EXPECT_EQ(e.code(), errc::out_of_memory) << what;
            least = named(e.what());
          }
          ASSERT_GT(least, 0u) << what;
          EXPECT_NO_THROW(with(least)) << what << " " << least;
          EXPECT_TRUE(fails_with(errc::out_of_memory, {"spgemm", std::to_string(least)}, [&] {
            with(least - 1);
          })) << what;
          for (std::size_t const more : {least + 1, 2 * least, 20 * least})
            EXPECT_NO_THROW(with(more)) << what << " " << more;
        }
    }
  });
}

TEST(spgemm_limits, copies_of_operands_count_and_are_named) {
  for (factors const& f : pairs()) {
    csr<double> const a = unsorted(duplicated(f.a)), b = duplicated(f.b);
    csr<double> const expected = spgemm(reference{}, a, b);
    std::size_t limit = 0;
    for (int step = 0;; ++step) { // what it takes to sort, then what the product takes
      ASSERT_LE(step, 2) << f.name;
      try {
        tracking_memory memory;
        csr<double> const c =
            spgemm(cpu{.threads = 2, .memory = &memory, .workspace_limit = limit}, a, b);
        EXPECT_EQ(c, expected) << f.name;
        EXPECT_LE(memory.peak(), expected.bytes() + limit) << f.name;
        break;
      } catch (error const& e) {
        EXPECT_EQ(e.code(), errc::out_of_memory);
        ASSERT_GT(named(e.what()), limit) << e.what();
        limit = named(e.what());
      }
    }
    if (limit > 0) {
      EXPECT_TRUE(fails_with(errc::out_of_memory, {"spgemm"}, [&] {
        spgemm(cpu{.threads = 2, .workspace_limit = limit - 1}, a, b);
      })) << f.name;
    }
  }
}

// One thread, 224 bytes: a tile of fewer than no columns.
TEST(spgemm_limits, of_too_few_bytes_for_a_tile_is_refused) {
  any_matrix const a = as_type(full(8, 8), type_tag::f32_i32),
                   b = as_type(full(8, 3), type_tag::f32_i32);
  for (std::size_t limit = 0; limit < 1000; ++limit)
    for (spgemm_method const m : {spgemm_method::merge, spgemm_method::dense})
      try {
        any_matrix const c =
            spgemm(cpu{.threads = 1, .workspace_limit = limit}, a, b, {.method = m});
        EXPECT_EQ(c.nnz(), 24u);
      } catch (error const& e) {
        EXPECT_EQ(e.code(), errc::out_of_memory) << limit;
      }
}

TEST(spgemm_limits, more_of_them_never_makes_tiles_narrower) {
  for (factors const& f : pairs())
    for (spgemm_method const m : {spgemm_method::automatic, spgemm_method::tiny,
                                  spgemm_method::dense, spgemm_method::scatter})
      for (int const threads : {1, 2, 5}) {
        long before = 0;
        for (std::size_t limit = 1300; limit < 300000; limit += limit < 6000 ? 53 : limit / 11) {
          spgemm_plan const plan(cpu{.threads = threads, .workspace_limit = limit}, f.a, f.b,
                                 {.method = m});
          EXPECT_LE(plan.bytes(), limit);
          std::size_t const at = plan.path().find("tiles of ");
          long const tile = at == std::string::npos
                                ? std::numeric_limits<long>::max()
                                : std::strtol(plan.path().c_str() + at + 9, nullptr, 10);
          EXPECT_GE(tile, before) << f.name << " " << name(m) << " " << threads << " threads, "
                                  << limit << " bytes: " << plan.path();
          before = tile;
        }
        EXPECT_EQ(before, std::numeric_limits<long>::max()) << f.name;
      }
}

} // namespace
} // namespace tulle::test::spgemm_limits_test

// SPDX-License-Identifier: Apache-2.0

// A A^T by halves against the whole product, bit for bit.
#include "tulle/format/csc.hpp"
#include "tulle/op/spgemm_aat.hpp"
#include "tulle/op/transpose.hpp"

#include "support/expect.hpp"
#include "support/memory.hpp"
#include "support/zoo.hpp"

#include <gtest/gtest.h>

namespace tulle::test::spgemm_aat_test {
namespace {

template <class V, class I, class O>
csr<V, I, O> upper(csr<V, I, O> const& c) {
  std::vector<I> col;
  std::vector<V> val;
  array<O> ptr(c.row_ptr.size(), O(0));
  for (std::size_t i = 0; i + 1 < ptr.size(); ++i) {
    for (auto k = static_cast<std::size_t>(c.row_ptr[i]);
         k < static_cast<std::size_t>(c.row_ptr[i + 1]); ++k)
      if (static_cast<std::size_t>(c.col[k]) >= i) {
        col.push_back(c.col[k]);
        val.push_back(c.val[k]);
      }
    ptr[i + 1] = static_cast<O>(col.size());
  }
  return csr<V, I, O>(c.rows, c.cols, std::move(ptr), array<I>(col.data(), col.size()),
                      array<V>(val.data(), val.size()));
}

/// Blocks of `size` rows with one pattern, where rows are computed in groups.
csr<double> blocks(std::int32_t nodes, std::int32_t size) {
  std::vector<std::int32_t> ptr{0}, col;
  std::vector<double> val;
  for (std::int32_t i = 0; i < nodes * size; ++i) {
    for (std::int32_t j = 0; j < nodes; ++j)
      if ((j * 7 + i / size * 3) % 17 < 5)
        for (std::int32_t q = 0; q < size; ++q) {
          col.push_back(j * size + q);
          val.push_back(j + q - i);
        }
    ptr.push_back(static_cast<std::int32_t>(col.size()));
  }
  return csr<double>(nodes * size, nodes * size, array<std::int32_t>(ptr.data(), ptr.size()),
                     array<std::int32_t>(col.data(), col.size()),
                     array<double>(val.data(), val.size()));
}

/// Of A A^T.
std::size_t products(csr<double> const& a) {
  std::vector<std::size_t> of_column(static_cast<std::size_t>(a.cols));
  for (std::int32_t const j : a.col)
    ++of_column[static_cast<std::size_t>(j)];
  std::size_t n = 0;
  for (std::size_t const c : of_column)
    n += c * c;
  return n;
}

class halves : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(op, halves, testing::Range<std::size_t>(0, type_count),
                         [](auto const& info) { return name(static_cast<type_tag>(info.param)); });

TEST_P(halves, are_those_of_the_whole_product) {
  auto const type = static_cast<type_tag>(GetParam());
  visit(type, [&](auto types) {
    using T = decltype(types);
    using owner = csr<typename T::value, typename T::index, typename T::offset>;
    auto const expect = [&](csr<double> const& m, std::string const& what) {
      any_matrix const any = as_type(rough(m), type);
      owner const& a = *any.get_if<owner>();
      owner const whole = spgemm(cpu{}, a, transpose(a));
      for (int const threads : {1, 2, 7})
        for (spgemm_method const method :
             {spgemm_method::automatic, spgemm_method::tiny, spgemm_method::heap,
              spgemm_method::esc, spgemm_method::merge, spgemm_method::hash, spgemm_method::dense,
              spgemm_method::scatter, spgemm_method::heap_esc_merge}) {
          if (method != spgemm_method::automatic && (threads != 2 || type != type_tag::f64_i32))
            continue;
          cpu const w{.threads = threads};
          EXPECT_TRUE(same_arrays(borrowed(spgemm_aat(w, a, {.method = method})), whole.view()))
              << what << " " << name(method) << " " << threads;
          EXPECT_TRUE(
              same_arrays(borrowed(spgemm_aat(w, a, {.upper_only = true, .method = method})),
                          borrowed(upper(whole))))
              << what << " " << name(method) << " " << threads;
        }
      EXPECT_TRUE(same_arrays(borrowed(spgemm_aat(reference{}, a)), whole.view())) << what;
      EXPECT_EQ(spgemm_aat(reference{}, a, {.upper_only = true}), upper(whole)) << what;
    };
    for (animal const& a : zoo())
      if (products(a.matrix) <= (type == type_tag::f64_i32 ? 50000u : 10000u))
        expect(a.matrix, a.name);
    for (std::int32_t const size : {1, 2, 3, 4, 5, 9})
      expect(blocks(40, size), "blocks of " + std::to_string(size));
    for (std::vector<std::int32_t> const& first :
         {std::vector{0, 1}, std::vector{0, 2, 3, 9}, std::vector{0, 1, 2, 5, 6}})
      expect(stairs(70, first), "stairs of " + std::to_string(first.size()));
    expect(from_lengths(30000, {2, 30000, 30000, 30000, 9}), "long rows");
  });
}

TEST(spgemm_aat, keeps_to_a_limit_or_says_what_it_wants) {
  csr<double> const a = blocks(60, 3);
  csr<double> const whole = spgemm_aat(a);
  std::size_t const little = a.bytes() + 8192;
  EXPECT_EQ(spgemm_aat(cpu{.workspace_limit = little}, a), whole);
  EXPECT_EQ(spgemm_aat(cpu{.workspace_limit = 2 * little}, a, {.upper_only = true}), upper(whole));
  for (bool const half : {false, true})
    EXPECT_TRUE(fails_with(errc::out_of_memory, {"A^T", "100"}, [&] {
      spgemm_aat(cpu{.workspace_limit = 100}, a, {.upper_only = half});
    }));
  EXPECT_EQ(spgemm_aat(a, {.method = spgemm_method::global_esc}), whole);
  EXPECT_TRUE(fails_with(errc::unsupported, {"global_esc"}, [&] {
    spgemm_aat(a, {.upper_only = true, .method = spgemm_method::global_esc});
  }));
}

TEST(spgemm_aat, survives_every_allocation_that_fails) {
  csr<double> const a = blocks(10, 3);
  csr<double> const whole = spgemm_aat(a);
  for (std::size_t k = 1;; ++k) {
    failing_memory memory(k);
    try {
      csr<double> const c =
          spgemm_aat(cpu{.threads = 1, .memory = &memory}, a, {.upper_only = true});
      EXPECT_EQ(c, upper(whole));
      EXPECT_GT(k, 8u);
      break;
    } catch (error const& e) {
      EXPECT_EQ(e.code(), errc::out_of_memory);
    }
    EXPECT_EQ(memory.outstanding(), 0u) << k;
  }
}

TEST(spgemm_aat, takes_other_formats_and_rectangles) {
  csr<double> const a{2, 3, {0, 2, 3}, {0, 2, 2}, {1, 2, 3}};
  csr<double> const expected{2, 2, {0, 2, 4}, {0, 1, 0, 1}, {5, 6, 6, 9}};
  EXPECT_EQ(spgemm_aat(a), expected);
  EXPECT_EQ(spgemm_aat(csc<double>::from_csr(a.view())), expected);
}

} // namespace
} // namespace tulle::test::spgemm_aat_test

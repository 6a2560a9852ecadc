// SPDX-License-Identifier: Apache-2.0

// The arrays of any matrix by name.
#include "tulle/core/named_array.hpp"
#include "tulle/format/formats.hpp"
#include "tulle/op/convert.hpp"

#include "support/expect.hpp"
#include "support/layouts.hpp"
#include "support/zoo.hpp"

#include <gtest/gtest.h>
#include <type_traits>

namespace tulle::test::named_array_test {
namespace {

csr<double> example() {
  return {4, 4, {0, 2, 3, 4, 7}, {0, 2, 1, 3, 0, 1, 2}, {1, 2, 3, 4, 5, 6, 7}};
}

template <class T>
std::vector<T> values(named_array const& a) {
  auto const all = a.as<T>();
  return {all.begin(), all.end()};
}

TEST(named_array, gives_what_the_owner_has) {
  auto const owner = csr5<double>::from_csr(borrowed(example()), {.omega = 2, .sigma = 3});
  any_matrix const m = owner;
  EXPECT_EQ(values<std::int32_t>(array_of(m, "row_ptr")), (std::vector{0, 2, 3, 4, 7}));
  EXPECT_EQ(values<double>(array_of(m, "val")), (std::vector<double>{1, 4, 2, 5, 3, 6, 7}));
  EXPECT_EQ(values<std::uint32_t>(array_of(m, "tile_desc")),
            (std::vector<std::uint32_t>{0x0a000000, 0x4c000000}));
  EXPECT_EQ(array_of(m, "tile_ptr").element, element_type::u32);
  EXPECT_EQ(array_of(m, "empty_offset").size, 0u);
  csr5_view<double> const view = owner.view();
  EXPECT_EQ(array_of(matrix_ref(view), "col").data, owner.col.data());
}

// Of every format: what the view lists, no more and no less.
TEST(named_array, bytes_of_all_are_those_of_the_matrix) {
  for_each_format(example(), [](any_matrix const& a) {
    std::size_t bytes = 0;
    for (named_array const& one : arrays(a)) {
      EXPECT_STRNE(one.name, "");
      bytes += one.bytes();
      visit(one, [&](auto const& all) {
        EXPECT_EQ(all.size_bytes(), one.bytes());
        EXPECT_EQ(static_cast<void const*>(all.data()), one.data);
      });
    }
    EXPECT_EQ(bytes, a.bytes()) << name(a.format());
  });
}

TEST(named_array, elements_have_the_types_of_the_matrix) {
  csr<std::complex<float>, std::int32_t, std::int64_t> const a(1, 1, {0, 1}, {0}, {{1, 2}});
  any_matrix const m = a;
  EXPECT_EQ(array_of(m, "row_ptr").element, element_type::i64);
  EXPECT_EQ(array_of(m, "col").element, element_type::i32);
  EXPECT_EQ(array_of(m, "val").element, element_type::c32);
  EXPECT_EQ(array_of(m, "val").as<std::complex<float>>()[0], std::complex<float>(1, 2));
}

TEST(named_array, says_what_is_wrong) {
  any_matrix const m = example();
  EXPECT_TRUE(
      fails_with(errc::unsupported, {"'ia'", "row_ptr, col, val"}, [&] { array_of(m, "ia"); }));
  EXPECT_TRUE(fails_with(errc::unsupported, {"val", "type f64, not f32"},
                         [&] { array_of(m, "val").as<float>(); }));
  EXPECT_TRUE(fails_with(errc::bad_structure, {"no matrix"}, [] { arrays(matrix_ref()); }));
  matrix_ref wrong = m.ref();
  wrong.format = format::csr5;
  wrong.type = type_tag::c64_i32;
  EXPECT_TRUE(
      fails_with(errc::unsupported, {"csr5 is not built for c64_i32"}, [&] { arrays(wrong); }));
}

template <class T>
concept has_arrays = requires(T&& m) {
  arrays(static_cast<T&&>(m));
};
static_assert(has_arrays<any_matrix const&> && has_arrays<any_matrix&> && !has_arrays<any_matrix>,
              "arrays of a temporary would dangle");

} // namespace
} // namespace tulle::test::named_array_test

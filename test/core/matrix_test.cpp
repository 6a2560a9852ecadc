// SPDX-License-Identifier: Apache-2.0

// any_matrix, the registry, the types, convert.
#include "tulle/core/any_matrix.hpp"
#include "tulle/format/formats.hpp"
#include "tulle/op/convert.hpp"

#include "support/expect.hpp"
#include "support/layouts.hpp"
#include "support/zoo.hpp"

#include <functional>
#include <gtest/gtest.h>
#include <set>

namespace tulle::test::matrix_test {
namespace {

csr<double> small() {
  return from_lengths(9, {2, 0, 3, 1});
}

TEST(any_matrix, knows_what_is_inside) {
  for_each_format(small(), [](any_matrix const& a) {
    EXPECT_FALSE(a.empty());
    EXPECT_EQ(a.type(), type_tag::f64_i32);
    EXPECT_EQ(a.rows(), 4u);
    EXPECT_EQ(a.cols(), 9u);
    EXPECT_EQ(a.nnz(), 6u);
    EXPECT_NO_THROW(a.validate());
    EXPECT_GE(a.bytes(), 6 * 10u); // a value and 16 bits
  });
}

TEST(any_matrix, gives_the_owner_only_by_its_own_type) {
  any_matrix const a = small();
  ASSERT_NE(a.get_if<csr<double>>(), nullptr);
  EXPECT_TRUE(same_arrays(a.get_if<csr<double>>()->view(), borrowed(small())));
  EXPECT_EQ(a.get_if<csr<float>>(), nullptr);
  EXPECT_EQ(a.get_if<coo<double>>(), nullptr);
  EXPECT_EQ((a.get_if<csr<double, std::int32_t, std::int64_t>>()), nullptr);
  EXPECT_EQ(any_matrix().get_if<csr<double>>(), nullptr);
}

TEST(any_matrix, copies_are_deep_and_moves_leave_it_empty) {
  any_matrix a = small();
  any_matrix b = a;
  b.refill(any_matrix(other_values(small())));
  EXPECT_TRUE(same_arrays(a.get_if<csr<double>>()->view(), borrowed(small())));
  EXPECT_FALSE(same_arrays(b.get_if<csr<double>>()->view(), borrowed(small())));
  EXPECT_EQ(b.ref().view == a.ref().view, false);
  any_matrix c = std::move(a);
  EXPECT_TRUE(a.empty());
  EXPECT_EQ(c.nnz(), 6u);
  a = c;
  EXPECT_EQ(a.nnz(), 6u);
  auto& self = a;
  a = self;
  EXPECT_TRUE(same_arrays(a.get_if<csr<double>>()->view(), borrowed(small())));
  EXPECT_TRUE(any_matrix(any_matrix()).empty());
}

TEST(any_matrix, an_empty_one_says_so) {
  any_matrix a;
  EXPECT_TRUE(a.empty());
  for (auto const& ask : std::vector<std::function<void()>>{
           [&] { (void)a.format(); }, [&] { (void)a.type(); }, [&] { (void)a.rows(); },
           [&] { (void)a.cols(); }, [&] { (void)a.nnz(); }, [&] { (void)a.bytes(); },
           [&] { a.validate(); }, [&] { (void)a.ref(); }, [&] { a.refill(any_matrix(small())); },
           [&] { (void)convert(a, format::csr); }})
    EXPECT_TRUE(fails_with(errc::bad_structure, {"any_matrix"}, ask));
  any_matrix b = small();
  EXPECT_TRUE(fails_with(errc::bad_structure, {"any_matrix"}, [&] { b.refill(a); }));
}

TEST(any_matrix, refill_wants_a_csr_of_its_own_type) {
  for_each_format(small(), [](any_matrix a) {
    any_matrix const fresh = other_values(small());
    a.refill(fresh);
    any_matrix const back = convert(a, format::csr);
    EXPECT_TRUE(same_arrays(back.get_if<csr<double>>()->view(), borrowed(other_values(small()))));
    EXPECT_TRUE(fails_with(errc::unsupported, {"f64_i32", "f32_i32", "csr"},
                           [&] { a.refill(as_type(small(), type_tag::f32_i32)); }));
    EXPECT_TRUE(fails_with(errc::unsupported, {"csr", "coo"},
                           [&] { a.refill(convert(fresh, format::coo)); }));
  });
}

TEST(any_matrix, validate_reaches_the_owner) {
  csr<double> bad = small();
  bad.col[2] = -1;
  EXPECT_TRUE(fails_with(errc::bad_structure, {"col[2]"}, [&] { any_matrix(bad).validate(); }));
}

TEST(registry, names_are_distinct_and_found_again) {
  std::set<std::string> names;
  for (format const f : all_formats) {
    names.insert(name(f));
    EXPECT_EQ(format_of(name(f)), f);
  }
  EXPECT_EQ(names.size(), all_formats.size());
}

TEST(registry, an_unknown_name_is_answered_with_those_there_are) {
  std::vector<std::string> words = {"'crs'"};
  for (format const f : all_formats)
    words.emplace_back(name(f));
  EXPECT_TRUE(fails_with(errc::unsupported, words, [] { (void)format_of("crs"); }));
  for (char const* const wrong : {"", "cs", "csr ", "CSR"})
    EXPECT_TRUE(fails_with(errc::unsupported, {wrong}, [&] { (void)format_of(wrong); })) << wrong;
}

TEST(registry, traits_lead_from_a_type_to_its_tags) {
  static_assert(owner_traits<csr<double>>::is_owner && !owner_traits<csr_view<double>>::is_owner);
  static_assert(view_traits<coo_view<float>>::is_view && !view_traits<coo<float>>::is_view);
  static_assert(owner_traits<csc<float, std::int64_t>>::type == type_tag::f32_i64);
  static_assert(owner_traits<csc<float, std::int64_t>>::format == format::csc);
  static_assert(std::tuple_size_v<formats_over<double, int, int>::type> == format_count);
}

TEST(types, every_tag_has_a_name_and_a_type) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < type_count; ++i) {
    auto const t = static_cast<type_tag>(i);
    names.insert(name(t));
    type_tag const back = visit(t, [](auto types) {
      using T = decltype(types);
      return type_of<typename T::value, typename T::index, typename T::offset>::value;
    });
    EXPECT_EQ(back, t);
  }
  EXPECT_EQ(names.size(), type_count);
  EXPECT_EQ(names.count("?"), 0u);
  EXPECT_STREQ(name(type_tag::c64_i32_i64), "c64_i32_i64");
  EXPECT_STREQ(name(static_cast<type_tag>(200)), "?");
}

TEST(convert, any_format_to_any_other_in_any_type) {
  for (std::size_t i = 0; i < type_count; ++i) {
    auto const t = static_cast<type_tag>(i);
    any_matrix const csr =
        convert(as_type(find("lengths_0_to_70_unsorted").matrix, t), format::csr);
    for_each_format(csr, [&](any_matrix const& from) {
      for_each_format(csr, [&](any_matrix const& to) {
        any_matrix const a = convert(from, to.format());
        EXPECT_EQ(a.format(), to.format());
        EXPECT_EQ(a.type(), t);
        EXPECT_NO_THROW(a.validate());
        any_matrix const back = convert(a, format::csr);
        visit(t, [&](auto types) {
          using T = decltype(types);
          using owner = tulle::csr<typename T::value, typename T::index, typename T::offset>;
          EXPECT_TRUE(same_arrays(back.get_if<owner>()->view(), csr.get_if<owner>()->view()));
        });
      });
    });
  }
}

} // namespace
} // namespace tulle::test::matrix_test

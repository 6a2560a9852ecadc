// SPDX-License-Identifier: Apache-2.0

// A B over semirings and under masks on the device, bit for bit as on the cpu.
#include "tulle/gen/generate.hpp"
#include "tulle/op/convert.hpp"
#include "tulle/op/spgemm_semiring.hpp"

#include "device/product.hpp"
#include "support/zoo.hpp"

#include <cstring>
#include <gtest/gtest.h>

namespace tulle::test::device_spgemm_semiring_test {
namespace {

/// Bits, and NaN is NaN.
template <class V>
bool same_value(V x, V y) {
  return std::memcmp(&x, &y, sizeof x) == 0 || (x != x && y != y);
}

template <class V, class I, class O>
testing::AssertionResult same_as(device_matrix const& there, csr<V, I, O> const& wanted) {
  any_matrix const back = download(there);
  auto const* const c = back.get_if<csr<V, I, O>>();
  if (!c)
    return testing::AssertionFailure() << "a " << name(back.type());
  if (!(c->row_ptr == wanted.row_ptr && c->col == wanted.col && c->cols == wanted.cols))
    return testing::AssertionFailure()
           << "other places: " << c->col.size() << " of them, wanted " << wanted.col.size();
  for (std::size_t k = 0; k < wanted.val.size(); ++k)
    if (!same_value(c->val[k], wanted.val[k]))
      return testing::AssertionFailure()
             << "value " << k << " is " << c->val[k] << ", wanted " << wanted.val[k];
  return testing::AssertionSuccess();
}

template <class V, class I, class O, class S>
void expect_semiring(S const& s, csr<V, I, O> const& a, csr<V, I, O> const& b,
                     csr<V, I, O> const& m, std::string const& what) {
  device_matrix const there_a = put(a), there_b = put(b), there_m = put(m);
  EXPECT_TRUE(same_as(spgemm(s, there_a, there_b), spgemm(s, a, b))) << what;
  for (bool const complement : {false, true})
    EXPECT_TRUE(same_as(spgemm(mask(there_m, {complement}), s, there_a, there_b),
                        spgemm(mask(m, {complement}), s, a, b)))
        << what << (complement ? " outside a mask" : " in a mask");
}

/// Some places of an m x n matrix, dense and sparse rows among them.
csr<double> some_mask(std::int32_t rows, std::int32_t cols) {
  std::vector<std::int32_t> lengths;
  for (std::int32_t i = 0; i < rows; ++i)
    lengths.push_back(std::min(cols, i % 7 == 0 ? 0 : i % 5 == 0 ? 3000 : i % 40));
  return from_lengths(cols, lengths, 3);
}

template <class T>
class device_spgemm_semiring : public testing::Test {};
template <class V, class I, class O>
struct types {
  using matrix = csr<V, I, O>;
};
using product_types = testing::Types<types<double, std::int32_t, std::int32_t>,
                                     types<float, std::int64_t, std::int64_t>,
                                     types<float, std::int32_t, std::int64_t>>;
TYPED_TEST_SUITE(device_spgemm_semiring, product_types);

TYPED_TEST(device_spgemm_semiring, has_the_bits_of_the_cpu) {
  using matrix = typename TypeParam::matrix;
  type_tag const type = owner_traits<matrix>::type;
  std::vector<std::pair<std::string, csr<double>>> all;
  for (animal const& animal : zoo())
    if (animal.matrix.val.size() <= (is_slow ? 60u : is_quick() ? 300u : 2'000u))
      all.emplace_back(animal.name, rough(animal.matrix));
  for (char const* const text : {"poisson2d5:20", "fem:300", "rmat:9:20", "random:301:301:40000"})
    if (!is_slow || text == std::string("poisson2d5:20"))
      all.emplace_back(text, rough(generate(text)));
  for (auto const& [name, a] : all) {
    std::vector<std::int32_t> lengths;
    for (std::int32_t i = 0; i < a.cols; ++i)
      lengths.push_back(i % 97 == 0 ? 300 : i % 6);
    // Narrow rows are windows, wide ones are not.
    csr<double> b = rough(from_lengths(a.rows % 2 == 0 ? 3000
                                       : is_slow       ? 9000
                                                       : 100'000,
                                       lengths, 7),
                          7);
    for (std::size_t k = 0; k < b.val.size(); ++k)
      if (k % 5 == 0)
        b.val[k] = k % 3 == 0 ? NAN : 0;
    any_matrix const any_a = as_type(a, type), any_b = as_type(b, type);
    any_matrix const any_m = as_type(some_mask(a.rows, b.cols), type);
    matrix const &x = *any_a.template get_if<matrix>(), &y = *any_b.template get_if<matrix>(),
                 &m = *any_m.template get_if<matrix>();
    expect_semiring(plus_times(), x, y, m, name + " plus times");
    expect_semiring(or_and(), x, y, m, name + " or and");
    expect_semiring(min_plus(), x, y, m, name + " min plus");
    expect_semiring(plus_pair(), x, y, m, name + " plus pair");
  }
}

TEST(device, masks_of_complex_products_have_the_bits_of_the_cpu) {
  using matrix = csr<std::complex<double>>;
  auto const complex = [](csr<double> const& a) {
    return *as_type(a, type_tag::c64_i32).get_if<matrix>();
  };
  for (char const* const text : {"poisson2d5:20", "fem:300", "rmat:9:20"}) {
    matrix const a = complex(rough(generate(text)));
    expect_semiring(plus_times(), a, a, complex(some_mask(a.rows, a.cols)), text);
    device_matrix const there = put(a);
    EXPECT_TRUE(fails_with(errc::unsupported, {"plus_times", "complex"},
                           [&] { spgemm(plus_pair(), there, there); }));
  }
}

TEST(device, masks_count_triangles) {
  csr<double> const a = generate("rmat:12:16");
  device_matrix const there = put(a);
  EXPECT_TRUE(
      same_as(spgemm(mask(there), plus_pair(), there, there), spgemm(mask(a), plus_pair(), a, a)));
  // As a mask, what is not sorted, has duplicates or another format is the same.
  csr<double> const rude = duplicated(unsorted(a));
  EXPECT_TRUE(same_as(spgemm(mask(put(rude)), plus_pair(), there, there),
                      spgemm(mask(a), plus_pair(), a, a)));
  EXPECT_TRUE(
      same_as(spgemm(mask(put(convert(any_matrix(a), format::coo))), plus_pair(), there, there),
              spgemm(mask(a), plus_pair(), a, a)));
}

TEST(device, masks_that_do_not_fit_are_refused) {
  device_matrix const a = put(generate("random:30:40:300"));
  device_matrix const b = put(generate("random:40:20:300"));
  EXPECT_TRUE(fails_with(errc::shape_mismatch, {"mask is 30 x 40", "A B is 30 x 20"},
                         [&] { spgemm(mask(a), plus_times(), a, b); }));
  EXPECT_TRUE(fails_with(errc::shape_mismatch, {"A is 30 x 40", "B is 30 x 40"},
                         [&] { spgemm(or_and(), a, a); }));
  device_matrix const f32 = put(generate<float, std::int32_t, std::int32_t>("random:30:20:99"));
  EXPECT_TRUE(fails_with(errc::unsupported, {"mask", "f32_i32", "f64_i32"},
                         [&] { spgemm(mask(f32), plus_times(), a, b); }));
  EXPECT_TRUE(fails_with(errc::bad_structure, {"nothing"},
                         [&] { spgemm(mask(device_matrix()), plus_times(), a, b); }));
  device_matrix const m = put(generate("random:30:20:99"));
  EXPECT_TRUE(fails_with(errc::out_of_memory, {"limit"}, [&] {
    spgemm(policy{.workspace_limit = 200}, mask(m), plus_times(), a, b);
  }));
}

} // namespace
} // namespace tulle::test::device_spgemm_semiring_test

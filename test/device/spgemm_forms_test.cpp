// SPDX-License-Identifier: Apache-2.0

// alpha A B + beta D and R A P on the device, bit for bit as on the cpu; and what every form of a
// product does where memory ends.
#include "tulle/gen/generate.hpp"
#include "tulle/op/convert.hpp"
#include "tulle/op/galerkin.hpp"
#include "tulle/op/spgemm_aat.hpp"
#include "tulle/op/spgemm_semiring.hpp"
#include "tulle/op/spmm.hpp"

#include "device/memory.hpp"
#include "device/operands.hpp"
#include "device/product.hpp"
#include "support/zoo.hpp"

#include <cmath>

namespace tulle::test::device_spgemm_forms_test {
namespace {

/// A matrix of so many rows and columns with rows of up to `longest`, some of them unsorted.
csr<double> other(std::int32_t rows, std::int32_t cols, std::int32_t longest, unsigned seed) {
  std::vector<std::int32_t> lengths;
  for (std::int32_t i = 0; i < rows; ++i)
    lengths.push_back(std::min(cols, i * 7 % (longest + 1)));
  return rough(unsorted(from_lengths(cols, lengths, seed)), seed);
}

/// Animals, and matrices that take every bin of rows.
std::vector<std::pair<std::string, csr<double>>> some() {
  std::vector<std::pair<std::string, csr<double>>> all;
  for (animal const& animal : zoo())
    if (animal.matrix.val.size() <= (is_slow ? 60u : is_quick() ? 300u : 2'000u))
      all.emplace_back(animal.name, rough(animal.matrix));
  for (char const* const text : {"poisson2d5:20", "fem:300", "rmat:9:20"})
    all.emplace_back(text, rough(generate(text)));
  return all;
}

class device_spgemm_forms : public testing::TestWithParam<type_tag> {
protected:
  type_tag const type = GetParam();
};
INSTANTIATE_TEST_SUITE_P(types, device_spgemm_forms, testing::ValuesIn(every_type),
                         [](auto const& info) { return name(info.param); });

TEST_P(device_spgemm_forms, three_operands_have_the_bits_of_the_cpu) {
  for (auto const& [animal, matrix] : some()) {
    any_matrix const a = as_type(matrix, type), b = as_type(other(matrix.cols, 900, 9, 5), type),
                     d = as_type(other(matrix.rows, 900, 40, 3), type);
    device_matrix const there_a = put(a), there_b = put(b), there_d = put(d);
    for (auto const& [alpha, beta] : {std::pair(1.1, -.3), {0., 1.7}, {2.3, 0.}, {0., 0.}}) {
      wide const factor = scalar(type, alpha), scale = scalar(type, beta);
      any_matrix const wanted = with_csr(a, [&](auto const& x) -> any_matrix {
        using owner = std::remove_cvref_t<decltype(x)>;
        using V = value_t<owner>;
        return spgemm(cpu{}, round_to<V>(factor), x, *b.get_if<owner>(), round_to<V>(scale),
                      *d.get_if<owner>());
      });
      EXPECT_TRUE(same_as(spgemm(std::complex<double>(factor), there_a, there_b,
                                 std::complex<double>(scale), there_d),
                          wanted))
          << animal << " " << alpha << " " << beta;
    }
  }
}

TEST_P(device_spgemm_forms, galerkin_has_the_bits_of_the_cpu) {
  for (auto const& [animal, matrix] : some()) {
    any_matrix const r = as_type(other(50, matrix.rows, 20, 5), type), a = as_type(matrix, type),
                     p = as_type(other(matrix.cols, 40, 4, 3), type);
    device_matrix const there_r = put(r), there_a = put(a), there_p = put(p);
    auto const on_cpu = [&](galerkin_order order, bool has_r) {
      return with_csr(a, [&](auto const& x) -> any_matrix {
        using owner = std::remove_cvref_t<decltype(x)>;
        auto const &y = *r.get_if<owner>(), &z = *p.get_if<owner>();
        return has_r ? galerkin(cpu{}, y, x, z, {order}) : galerkin(cpu{}, x, z, {order});
      });
    };
    bool const turns = matrix.rows == matrix.cols;
    any_matrix either[2];
    for (galerkin_order const order : {galerkin_order::ra_first, galerkin_order::ap_first}) {
      any_matrix& wanted = either[order == galerkin_order::ap_first] = on_cpu(order, true);
      EXPECT_TRUE(same_as(galerkin(there_r, there_a, there_p, {order}), wanted)) << animal;
      if (turns) {
        EXPECT_TRUE(same_as(galerkin(there_a, there_p, {order}), on_cpu(order, false))) << animal;
      }
    }
    device_matrix const chosen = galerkin(there_r, there_a, there_p);
    EXPECT_TRUE(same_as(chosen, either[0]) || same_as(chosen, either[1])) << animal;
  }
}

TEST_P(device_spgemm_forms, a_times_its_transpose_has_the_bits_of_the_cpu) {
  for (auto const& [animal, matrix] : some()) {
    any_matrix const a = as_type(matrix, type);
    device_matrix const there = put(a);
    for (bool const upper_only : {false, true}) {
      aat_options const o{.upper_only = upper_only};
      any_matrix const wanted =
          with_csr(a, [&](auto const& x) -> any_matrix { return spgemm_aat(cpu{}, x, o); });
      EXPECT_TRUE(same_as(spgemm_aat(there, o), wanted)) << animal << " " << upper_only;
    }
    EXPECT_TRUE(fails_with(errc::unsupported, {"no halves"}, [&] {
      spgemm_aat(there, {.upper_only = true, .method = spgemm_method::global_esc});
    }));
  }
}

// What a product made is multiplied where it is: integers, exact in every order.
TEST_P(device_spgemm_forms, products_are_multiplied_there) {
  csr<double> left = other(200, 300, 9, 5), right = other(300, 150, 30, 3);
  for (csr<double>* const m : {&left, &right})
    for (std::size_t k = 0; k < m->val.size(); ++k)
      m->val[k] = static_cast<double>(k % 7) - 3;
  any_matrix const a = as_type(left, type), b = as_type(right, type);
  any_matrix const wanted = spgemm(cpu{}, a, b);
  device_matrix const c = spgemm(put(a), put(b));
  ASSERT_TRUE(same_as(c, wanted));
  for (bool const transposed : {false, true}) {
    std::size_t const in = transposed ? 200 : 150, out = transposed ? 150 : 200;
    dense const x = to_dense(type, integers(in, 1)), before = to_dense(type, integers(out, 2));
    product const exact = exact_product(wanted, transposed, x);
    for (double const beta : {0.0, 2.0}) {
      dense got = beta == 0 ? constant(type, out, NAN) : before;
      multiply_there(c, transposed, scalar(type, -1), x, scalar(type, beta), got);
      EXPECT_TRUE(is_product(exact, scalar(type, -1), scalar(type, beta), before, got, 0, 0));
    }
  }
  dense const x = to_dense(type, integers(150 * 8, 1));
  std::visit(
      [&](auto const& values) {
        using V = typename std::remove_cvref_t<decltype(values)>::value_type;
        there_array<V> const there(values);
        there_array<V> y(200 * 8);
        spmm(V(1), c, row_major<space_there>(there.data(), 150, 8), V(0),
             row_major<space_there>(y.data(), 200, 8));
        std::vector<V> got(200 * 8), here(200 * 8);
        y.copy_to(got.data());
        spmm(reference{}, V(1), wanted, row_major(values.data(), 150, 8), V(0),
             row_major(here.data(), 200, 8));
        EXPECT_EQ(got, here);
      },
      x.values);
}

TEST(device, galerkin_takes_the_order_with_fewer_products) {
  device_matrix const a = put(generate("random:300:300:9000"));
  device_matrix const few = put(other(2, 300, 9, 3)), many = put(other(300, 250, 90, 3));
  auto const is_ra = [&](device_matrix const& r, device_matrix const& p) {
    any_matrix const ra = download(galerkin(r, a, p, {galerkin_order::ra_first}));
    return bool(same_as(galerkin(r, a, p), ra));
  };
  EXPECT_TRUE(is_ra(few, many));
  EXPECT_FALSE(is_ra(put(other(250, 300, 90, 3)), put(other(300, 2, 2, 3))));
}

TEST(device, products_of_three_take_coo_and_refuse_what_does_not_fit) {
  csr<double> const a = other(30, 40, 9, 3), b = other(40, 20, 9, 4), d = other(30, 20, 9, 5);
  device_matrix const there_a = put(a), there_b = put(b), there_d = put(d);
  any_matrix const wanted = spgemm(cpu{}, 2.0, a, b, 3.0, d);
  EXPECT_TRUE(
      same_as(spgemm(2, there_a, there_b, 3, put(convert(any_matrix(d), format::coo))), wanted));
  EXPECT_TRUE(fails_with(errc::shape_mismatch, {"spgemm", "D is 30 x 40", "A B is 30 x 20"},
                         [&] { spgemm(1, there_a, there_b, 1, there_a); }));
  device_matrix const f32 = put(as_type(d, type_tag::f32_i32));
  EXPECT_TRUE(fails_with(errc::unsupported, {"spgemm", "D is of f32_i32", "A of f64_i32"},
                         [&] { spgemm(1, there_a, there_b, 1, f32); }));
  EXPECT_TRUE(fails_with(errc::shape_mismatch, {"galerkin", "P 30 x 20"},
                         [&] { galerkin(there_b, there_a, there_d); }));
  EXPECT_TRUE(fails_with(errc::unsupported, {"spgemm", "factor is complex", "f64_i32"}, [&] {
    spgemm(std::complex<double>(1, 2), there_a, there_b, 1, there_d);
  }));
  // A column that would be one of D's.
  std::vector<int> const row_ptr = {0, 1, 2, 3}, col = {0, 4, 2};
  std::vector<double> const val = {1, 2, 3};
  device_matrix const broken =
      put(csr_view<double, int, int>(unchecked, 3, 3, 3, row_ptr.data(), col.data(), val.data()));
  EXPECT_TRUE(fails_with(errc::bad_structure, {"col[1] is 4"},
                         [&] { spgemm(1, broken, broken, 1, broken); }));
}

TEST(device, factors_of_zero_read_no_values) {
  csr<double> a = other(30, 40, 9, 3), b = other(40, 20, 9, 4), d = other(30, 20, 9, 5);
  any_matrix const without_d = spgemm(cpu{}, 2.0, a, b, 0.0, d),
                   without_ab = spgemm(cpu{}, 0.0, a, b, 2.0, d);
  csr<double> bad_a = a, bad_b = b, bad_d = d;
  for (csr<double>* const bad : {&bad_a, &bad_b, &bad_d})
    for (double& v : bad->val)
      v = NAN;
  EXPECT_TRUE(same_as(spgemm(2, put(a), put(b), 0, put(bad_d)), without_d));
  EXPECT_TRUE(same_as(spgemm(0, put(bad_a), put(bad_b), 2, put(d)), without_ab));
}

/// run(where) where the memory of results ends at the first allocation, at the second, and so on,
/// and then where the workspace does, until there is enough. Nothing is left behind, and what comes
/// out at last is right.
template <class F>
void expect_nothing_left(char const* what, F run) {
  any_matrix const wanted = download(run(policy{}));
  counted memory;
  std::size_t const before = bytes_in_use();
  auto const is_enough = [&](policy const& where) {
    bool enough = false;
    try {
      device_matrix const c = run(where);
      EXPECT_TRUE(same_as(c, wanted)) << what;
      enough = true;
    } catch (error const& e) {
      EXPECT_EQ(e.code(), errc::out_of_memory) << what << ": " << e.what();
    }
    EXPECT_EQ(memory.now, 0u) << what;
    EXPECT_EQ(bytes_in_use(), before) << what;
    return enough;
  };
  std::size_t k = 0;
  for (;; ++k) {
    memory.left = k;
    if (is_enough({.memory = &memory}) || k == 100)
      break;
  }
  EXPECT_TRUE(k >= 2 && k < 100) << what << ": " << k;
  memory.left = SIZE_MAX;
  std::size_t failures = 0;
  for (std::size_t limit = 0;; limit += limit / 8 + 8, ++failures)
    if (is_enough({.memory = &memory, .workspace_limit = limit}) || limit > 1 << 30)
      break;
  EXPECT_TRUE(failures >= 2 && failures < 150) << what << ": " << failures;
}

TEST(device, products_leave_nothing_behind_where_memory_ends) {
  csr<double> const square = rough(duplicated(unsorted(generate("rmat:9:12"))));
  device_matrix const a = put(square), m = put(other(512, 512, 60, 3)),
                      p = put(other(512, 60, 4, 3));
  for (std::size_t k = 0; k < spgemm_method_count; ++k) {
    spgemm_options const o{.method = static_cast<spgemm_method>(k)};
    expect_nothing_left(name(o.method), [&](policy const& w) { return spgemm(w, a, a, o); });
    expect_nothing_left("planned", [&](policy const& w) {
      spgemm_plan plan(w, a, a, o);
      spgemm(plan, a, a);
      return put(download(plan.result<device_matrix>()));
    });
  }
  expect_nothing_left("min_plus", [&](policy const& w) { return spgemm(w, min_plus(), a, a); });
  for (bool const complement : {false, true})
    expect_nothing_left("masked", [&](policy const& w) {
      return spgemm(w, mask(m, {complement}), plus_pair(), a, a);
    });
  expect_nothing_left("three", [&](policy const& w) { return spgemm(w, 2, a, a, -1, m); });
  for (galerkin_order const order :
       {galerkin_order::automatic, galerkin_order::ra_first, galerkin_order::ap_first})
    expect_nothing_left("galerkin", [&](policy const& w) { return galerkin(w, a, p, {order}); });
  EXPECT_TRUE(same_as(a, square.to_csr()));
}

} // namespace
} // namespace tulle::test::device_spgemm_forms_test

// SPDX-License-Identifier: Apache-2.0

// spmm on the device against the reference, in every arrangement of B and C, with guards beside
// them; its bits run after run; and of matrices that have grown.
#include "tulle/gen/generate.hpp"
#include "tulle/op/convert.hpp"
#include "tulle/op/spmm.hpp"

#include "cuda/device_types.hpp"
#include "cuda/grown.hpp"
#include "cuda/stream.hpp"
#include "op/arranged.hpp"
#include "support/expect.hpp"
#include "support/zoo.hpp"

#include <limits>

namespace tulle::test::device_spmm_test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// One call through device memory, C in an allocation that begins `shift` elements before it.
void multiply_there(device_matrix const& a, bool transposed, wide alpha, dense const& b,
                    places const& in, wide beta, dense& c, places const& out,
                    std::size_t shift = 0) {
  std::visit(
      [&](auto& values) {
        using vector = std::remove_reference_t<decltype(values)>;
        using V = typename vector::value_type;
        device_array<V> const from(std::get<vector>(b.values));
        vector shifted(shift, V(7));
        shifted.insert(shifted.end(), values.begin(), values.end());
        device_array<V> to(shifted);
        dense_view<V const, space::cuda> const x{from.data() + in.begin, in.rows, in.cols,
                                                   in.row_stride, in.col_stride};
        dense_view<V, space::cuda> const y{to.data() + shift + out.begin, out.rows, out.cols,
                                             out.row_stride, out.col_stride};
        if (transposed)
          spmm(round_to<V>(alpha), tulle::transposed(a), x, round_to<V>(beta), y);
        else
          spmm(round_to<V>(alpha), a, x, round_to<V>(beta), y);
        to.copy_to(shifted.data());
        for (std::size_t k = 0; k < shift; ++k)
          EXPECT_EQ(shifted[k], V(7));
        std::copy_n(shifted.begin() + static_cast<std::ptrdiff_t>(shift), values.size(),
                    values.begin());
      },
      c.values);
}

/// Small integers: exact in every order. NaN lies between the elements.
void expect_exact(any_matrix const& csr, device_matrix const& there, bool transposed,
                  std::size_t width, arrangement how_b, arrangement how_c, double beta,
                  std::string const& what, std::size_t shift = 0) {
  std::size_t const b_rows = transposed ? csr.rows() : csr.cols();
  std::size_t const c_rows = transposed ? csr.cols() : csr.rows();
  places const b = arranged(how_b, b_rows, width), c = arranged(how_c, c_rows, width);
  places const b0 = packed(b_rows, width), c0 = packed(c_rows, width);
  dense const from = spread(to_dense(csr.type(), integers(b0.size(), 1)), b0, b,
                            constant(csr.type(), b.size(), nan));
  dense const ground = constant(csr.type(), c.size(), nan);
  dense got =
      beta == 0 ? ground : spread(to_dense(csr.type(), integers(c0.size(), 2)), c0, c, ground);
  dense expected = got;
  wide const factor = scalar(csr.type(), 2), scale = scalar(csr.type(), beta);
  multiply_dense(reference{}, factor, csr, transposed, from, b, scale, expected, c);
  multiply_there(there, transposed, factor, from, b, scale, got, c, shift);
  EXPECT_TRUE(same_values(got, expected))
      << what << (transposed ? " transposed, " : ", ") << width << " columns, B " << name(how_b)
      << ", C " << name(how_c) << ", beta " << beta;
}

csr<double> with_long_rows() {
  std::vector<std::int32_t> lengths(300, 5);
  lengths[0] = 511;
  lengths[1] = 512;
  lengths[100] = 513;
  lengths[299] = 30'000;
  lengths[298] = 0;
  return from_lengths(30'000, lengths);
}

TEST(device_spmm, is_exact_on_integers) {
  for (std::size_t t = 0; t < type_count; ++t) {
    auto const type = static_cast<type_tag>(t);
    for (animal const& animal : zoo()) {
      if (is_quick() && (t != 1 || animal.matrix.val.size() > 3000))
        continue;
      any_matrix const csr = as_type(animal.matrix, type);
      device_matrix const there = upload(csr);
      bool const small = csr.nnz() + csr.rows() < 3000;
      for (std::size_t const width : {1, 3, 8, 17, 32, 128, 300})
        for (arrangement const how : every_arrangement) {
          bool const common = how == arrangement::rows || how == arrangement::columns;
          if (t != 1 && (!common || !small))
            continue;
          if (small ? width <= 17 || common : common && (width == 8 || width == 17))
            expect_exact(csr, there, false, width, how, how, width == 8 ? 0 : -1, animal.name);
        }
    }
  }
}

TEST(device_spmm, rows_of_all_lengths_are_exact) {
  for (csr<double> const& a :
       {with_long_rows(), other_values(generate(is_quick() ? "rmat:8:8" : "rmat:13:16")),
        other_values(generate("fem:900")), other_values(generate("circuit:3000"))}) {
    any_matrix const csr = a;
    device_matrix const there = upload(csr);
    for (std::size_t const width : {2, 3, 8, 16, 32, 64, 128, 130}) {
      expect_exact(csr, there, false, width, arrangement::rows, arrangement::rows, 0, "rows");
      expect_exact(csr, there, false, width, arrangement::rows, arrangement::columns, -1, "mixed");
      expect_exact(csr, there, false, width, arrangement::columns, arrangement::rows, 0, "packed");
      expect_exact(csr, there, false, width, arrangement::rows, arrangement::rows, -1, "shifted",
                   1);
    }
  }
}

TEST(device_spmm, every_format_and_transpose_goes_column_by_column) {
  any_matrix const csr = find("skewed").matrix;
  device_matrix const there = upload(csr);
  for (arrangement const how : every_arrangement)
    for (double const beta : {0.0, -1.0})
      expect_exact(csr, there, true, 3, how, how, beta, "csr");
  device_matrix const sell_there = upload(convert(csr, format::sell));
  expect_exact(csr, sell_there, false, 3, arrangement::rows, arrangement::columns, -1, "sell");
  device_array<double> const b(csr.cols() * 3);
  device_array<double> c(csr.rows() * 3);
  auto const in = row_major<space::cuda>(b.data(), csr.cols(), 3);
  auto const out = row_major<space::cuda>(c.data(), csr.rows(), 3);
  auto const path = spmm_plan(sell_there, in, out).path();
  EXPECT_NE(path.find("column by column, cuda/sm_"), std::string::npos) << path;
  auto const own = spmm_plan(there, in, out).path();
  EXPECT_NE(own.find(" csr rows"), std::string::npos) << own;
}

// Products of the same plan and of another one.
TEST(device_spmm, bits_are_those_of_the_run_before) {
  for (csr<double> const& source :
       {with_long_rows(), generate("rmat:12:16"), generate("fem:900")}) {
    csr<double> const a = rough(source);
    auto const rows = static_cast<std::size_t>(a.rows), cols = static_cast<std::size_t>(a.cols);
    device_matrix const there = upload(a);
    for (std::size_t const width : {8, 9, 128}) {
      device_array<double> const b(roughs(cols * width, 1));
      std::vector<double> first;
      for (int plans = 0; plans < 3; ++plans) {
        device_array<double> c(rows * width);
        auto const in = row_major<space::cuda>(b.data(), cols, width);
        auto const out = row_major<space::cuda>(c.data(), rows, width);
        spmm_plan plan(there, in, out);
        for (int run = 0; run < 3; ++run) {
          detail::device_set(c.data(), 0xff, c.bytes(), {});
          spmm(plan, 1.0, there, in, 0.0, out);
          std::vector<double> const got = device_dynamic_test::from_there(c);
          if (first.empty())
            first = got;
          EXPECT_TRUE(same_bits(got, first)) << width << " columns";
        }
      }
    }
  }
}

TEST(device_spmm, alpha_zero_reads_neither_a_nor_b_and_errors_change_nothing) {
  csr<double> const a = find("skewed").matrix;
  auto const rows = static_cast<std::size_t>(a.rows), cols = static_cast<std::size_t>(a.cols);
  device_matrix const there = upload(a);
  stream const s;
  for (bool const by_rows : {false, true}) {
    device_array<double> const b(std::vector<double>(cols * 5, nan));
    device_array<double> c(std::vector<double>(rows * 5, 3));
    auto const in = row_major<space::cuda>(b.data(), cols, 5);
    auto const out = by_rows ? row_major<space::cuda>(c.data(), rows, 5)
                             : col_major<space::cuda>(c.data(), rows, 5);
    spmm(cuda(s), 0.0, there, in, 2.0, out);
    synchronize(s);
    EXPECT_EQ(device_dynamic_test::from_there(c), std::vector<double>(rows * 5, 6));
    auto const narrow = row_major<space::cuda>(b.data(), cols, 4);
    EXPECT_TRUE(fails_with(errc::shape_mismatch, {"B has 4 columns", "C has 5"},
                           [&] { spmm(1.0, there, narrow, 0.0, out); }));
    EXPECT_TRUE(fails_with(errc::out_of_memory, {"limit"}, [&] {
      spmm(cuda{.workspace_limit = 1}, 1.0, there, col_major<space::cuda>(b.data(), cols, 5), 0.0,
           out);
    }));
    EXPECT_EQ(device_dynamic_test::from_there(c), std::vector<double>(rows * 5, 6));
    spmm(0.0, there, in, 0.0, out);
    EXPECT_EQ(device_dynamic_test::from_there(c), std::vector<double>(rows * 5, 0));
  }
}

template <class V, class I>
std::vector<V> dense_product(device_dynamic_csr<V, I> const& a, std::vector<V> const& b,
                             std::size_t width) {
  device_array<V> const x(b);
  device_array<V> y(static_cast<std::size_t>(a.rows()) * width);
  detail::device_set(y.data(), 0xff, y.bytes(), {});
  spmm(V(1), a, row_major<space::cuda>(x.data(), static_cast<std::size_t>(a.cols()), width), V(0),
       row_major<space::cuda>(y.data(), static_cast<std::size_t>(a.rows()), width));
  return device_dynamic_test::from_there(y);
}

// From csr with some of it once more, few enough that products do not defragment; and with a row
// that has much behind.
TEST(device_dynamic_spmm, is_exact_on_fragments_and_repeats) {
  using device_dynamic_test::shuffled;
  using matrix = device_dynamic_csr<double>;
  for (csr<double> const& a :
       {with_long_rows(), other_values(generate("poisson2d5:60")),
        other_values(generate("fem:900")), other_values(generate("circuit:3000")),
        find("all_rows_empty").matrix}) {
    auto const b = shuffled(a);
    std::size_t const n = b.val.size(), few = n / 60;
    auto d = matrix::from_csr(a.view()), again = matrix::from_csr(a.view());
    model<double, std::int32_t> m{a.rows, a.cols, {}};
    m.insert(b);
    auto const check = [&](std::size_t width) {
      std::vector<double> const x = integers(static_cast<std::size_t>(a.cols) * width, 3);
      std::vector<double> expected(static_cast<std::size_t>(a.rows) * width);
      for (auto const& [place, v] : m.at)
        for (std::size_t j = 0; j < width; ++j)
          expected[static_cast<std::size_t>(place.first) * width + j] +=
              v * x[static_cast<std::size_t>(place.second) * width + j];
      ASSERT_EQ(dense_product(d, x, width), expected) << width << " columns";
      ASSERT_EQ(dense_product(again, x, width), expected) << width << " columns";
      std::vector<double> const y = roughs(x.size(), 4);
      EXPECT_TRUE(same_bits(dense_product(d, y, width), dense_product(again, y, width)));
    };
    for (std::size_t const width : {8, 3, 32}) {
      auto const some = [&](auto const& from) { return std::span(from).subspan(width, few); };
      d.insert(some(b.row), some(b.col), some(b.val));
      again.insert(some(b.row), some(b.col), some(b.val));
      for (std::size_t k = width; k < width + few; ++k)
        m.at[{b.row[k], b.col[k]}] += b.val[k];
      EXPECT_EQ(d.shape().compact, few == 0);
      check(width);
    }
    if (n == 0)
      continue;
    std::vector<std::int32_t> const row(2000, 1); // crowded
    std::vector<std::int32_t> col(2000);
    for (std::size_t k = 0; k < col.size(); ++k)
      col[k] = static_cast<std::int32_t>(k * 7 % static_cast<std::size_t>(a.cols));
    std::vector<double> const val(2000, 1);
    d.insert(row, col, val);
    again.insert(row, col, val);
    for (std::size_t k = 0; k < col.size(); ++k)
      m.at[{1, col[k]}] += 1;
    EXPECT_FALSE(d.shape().compact);
    check(16);
  }
}

TEST(device_dynamic_spmm, has_its_streams_and_refuses_what_does_not_fit) {
  stream const own, other;
  device_dynamic_options o;
  o.where = own;
  device_dynamic_csr<double> a(4, 3, o);
  a.insert(std::vector<std::int32_t>{1, 3}, std::vector<std::int32_t>{1, 0},
           std::vector<double>{2, 5});
  device_array<double> const b(std::vector<double>(6, 1), other);
  device_array<double> c(std::vector<double>(8, 1), other);
  auto const in = row_major<space::cuda>(b.data(), 3, 2);
  auto const out = row_major<space::cuda>(c.data(), 4, 2);
  spmm(cuda(other), 1.0, a, in, -1.0, out);
  synchronize(other);
  EXPECT_EQ(device_dynamic_test::from_there(c), (std::vector<double>{-1, -1, 1, 1, -1, -1, 4, 4}));
  EXPECT_TRUE(fails_with(errc::shape_mismatch, {"C has 3 rows", "4 rows"},
                         [&] { spmm(1.0, a, in, 0.0, row_major<space::cuda>(c.data(), 3, 2)); }));
  EXPECT_TRUE(fails_with(errc::bad_structure, {"overlap"}, [&] {
    spmm(1.0, a, row_major<space::cuda, double const>(c.data(), 3, 2), 0.0, out);
  }));
}

} // namespace
} // namespace tulle::test::device_spmm_test

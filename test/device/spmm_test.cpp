// SPDX-License-Identifier: Apache-2.0

// spmm on the device against the reference, in every arrangement of B and C, with guards beside
// them; its bits run after run.
#include "tulle/gen/generate.hpp"
#include "tulle/op/convert.hpp"
#include "tulle/op/spmm.hpp"

#include "device/operands.hpp"
#include "device/product.hpp"
#include "device/under_test.hpp"
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
        there_array<V> const from(std::get<vector>(b.values));
        vector shifted(shift, V(7));
        shifted.insert(shifted.end(), values.begin(), values.end());
        there_array<V> to(shifted);
        dense_view<V const, space_there> const x{from.data() + in.begin, in.rows, in.cols,
                                                 in.row_stride, in.col_stride};
        dense_view<V, space_there> const y{to.data() + shift + out.begin, out.rows, out.cols,
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
      device_matrix const there = put(csr);
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
    device_matrix const there = put(csr);
    for (std::size_t const width : {2, 3, 8, 16, 32, 64, 128, 130}) {
      if (is_slow && width > 8)
        continue;
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
  device_matrix const there = put(csr);
  for (arrangement const how : every_arrangement)
    for (double const beta : {0.0, -1.0})
      expect_exact(csr, there, true, 3, how, how, beta, "csr");
  device_matrix const sell_there = put(convert(csr, format::sell));
  expect_exact(csr, sell_there, false, 3, arrangement::rows, arrangement::columns, -1, "sell");
  there_array<double> const b(csr.cols() * 3);
  there_array<double> c(csr.rows() * 3);
  auto const in = row_major<space_there>(b.data(), csr.cols(), 3);
  auto const out = row_major<space_there>(c.data(), csr.rows(), 3);
  auto const path = spmm_plan(sell_there, in, out).path();
  EXPECT_NE(path.find(std::string("column by column, ") + path_there), std::string::npos) << path;
  auto const own = spmm_plan(there, in, out).path();
  EXPECT_NE(own.find(spmm_of_csr), std::string::npos) << own;
}

// Products of the same plan and of another one.
TEST(device_spmm, bits_are_those_of_the_run_before) {
  for (csr<double> const& source :
       {with_long_rows(), generate("rmat:12:16"), generate("fem:900")}) {
    csr<double> const a = rough(source);
    auto const rows = static_cast<std::size_t>(a.rows), cols = static_cast<std::size_t>(a.cols);
    device_matrix const there = put(a);
    for (std::size_t const width : {8, 9, 128}) {
      there_array<double> const b(roughs(cols * width, 1));
      std::vector<double> first;
      for (int plans = 0; plans < 3; ++plans) {
        there_array<double> c(rows * width);
        auto const in = row_major<space_there>(b.data(), cols, width);
        auto const out = row_major<space_there>(c.data(), rows, width);
        spmm_plan plan(there, in, out);
        for (int run = 0; run < 3; ++run) {
          poison(c);
          spmm(plan, 1.0, there, in, 0.0, out);
          std::vector<double> const got = from_there(c);
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
  device_matrix const there = put(a);
  own_queue const s;
  for (bool const by_rows : {false, true}) {
    there_array<double> const b(std::vector<double>(cols * 5, nan));
    there_array<double> c(std::vector<double>(rows * 5, 3));
    auto const in = row_major<space_there>(b.data(), cols, 5);
    auto const out = by_rows ? row_major<space_there>(c.data(), rows, 5)
                             : col_major<space_there>(c.data(), rows, 5);
    spmm(policy(s), 0.0, there, in, 2.0, out);
    synchronize(s);
    EXPECT_EQ(from_there(c), std::vector<double>(rows * 5, 6));
    auto const narrow = row_major<space_there>(b.data(), cols, 4);
    EXPECT_TRUE(fails_with(errc::shape_mismatch, {"B has 4 columns", "C has 5"},
                           [&] { spmm(1.0, there, narrow, 0.0, out); }));
    EXPECT_TRUE(fails_with(errc::out_of_memory, {"limit"}, [&] {
      spmm(policy{.workspace_limit = 1}, 1.0, there, col_major<space_there>(b.data(), cols, 5), 0.0,
           out);
    }));
    EXPECT_EQ(from_there(c), std::vector<double>(rows * 5, 6));
    spmm(0.0, there, in, 0.0, out);
    EXPECT_EQ(from_there(c), std::vector<double>(rows * 5, 0));
  }
}

} // namespace
} // namespace tulle::test::device_spmm_test

// SPDX-License-Identifier: Apache-2.0

// What optimize picks, and what it says of the others.
#include "tulle/gen/generate.hpp"
#include "tulle/op/optimize.hpp"
#include "tulle/op/spmv.hpp"

#include "support/expect.hpp"
#include "support/zoo.hpp"

#include <gtest/gtest.h>

namespace tulle::test::optimize_test {
namespace {

TEST(optimize, multiplies_as_the_matrix_it_was_made_of) {
  for (animal const& a : zoo()) {
    optimized const best = optimize(a.matrix);
    std::vector<double> const x = integers(static_cast<std::size_t>(a.matrix.cols), 1);
    std::vector<double> y(static_cast<std::size_t>(a.matrix.rows), 7), expected = y;
    spmv(1.0, best, x, 0.0, y);
    spmv(reference{}, 1.0, a.matrix, x, 0.0, expected);
    EXPECT_EQ(y, expected) << a.name << "\n" << best.why();
  }
}

TEST(optimize, looks_at_every_format_and_says_so) {
  optimized const best = optimize(find("banded").matrix);
  EXPECT_EQ(best.considered().size(), format_count + 1); // one in two layouts
  for (format const f : all_formats)
    EXPECT_NE(best.why().find(name(f)), std::string::npos) << name(f);
  EXPECT_EQ(best.considered().front().layout.format, best.format());
  for (std::size_t k = 1; k < best.considered().size(); ++k) {
    candidate const& better = best.considered()[k - 1];
    candidate const& worse = best.considered()[k];
    EXPECT_TRUE(!worse.remark.empty() || (better.remark.empty() && better.total <= worse.total));
  }
}

TEST(optimize, shares_stretches_where_coefficients_repeat) {
  EXPECT_EQ(name(optimize(generate("poisson2d5:300"), {.calls = 1000}).considered().front().layout),
            "dia:shared=true");
  EXPECT_EQ(
      name(optimize(generate("banded:100000:4"), {.calls = 1000}).considered().front().layout),
      "dia");
}

TEST(optimize, keeps_csr_where_no_call_pays_for_a_conversion) {
  EXPECT_EQ(optimize(find("banded").matrix, {.calls = 0}).format(), format::csr);
  EXPECT_EQ(optimize(find("banded").matrix, {.calls = 1}).format(), format::csr);
}

TEST(optimize, picks_among_those_named_only) {
  optimized const best =
      optimize(find("banded").matrix, {.among = {layout(format::coo), layout(format::csc)}});
  EXPECT_NE(best.format(), format::csr);
  EXPECT_EQ(best.considered().size(), 2u);
  EXPECT_TRUE(fails_with(errc::unsupported, {"optimize", "none of 1"}, [] {
    optimize(find("banded").matrix, {.among = {layout(format::csr, "colour=1")}});
  }));
}

// By stretches of rows; what they foretell is what conversion makes.
TEST(recommend, foretells_the_bytes_of_large_matrices) {
  csr<double> const a = generate("banded:200000:4");
  auto const view = a.view();
  for (candidate const& c : recommend(matrix_ref(view))) {
    if (!c.remark.empty() || c.layout.format == format::csc) // a stretch has all columns' pointers
      continue;
    double const bytes = static_cast<double>(convert(matrix_ref(view), c.layout).bytes());
    EXPECT_NEAR(c.bytes / bytes, 1, .15) << name(c.layout);
  }
}

TEST(optimize, takes_every_type_and_format) {
  any_matrix const complex = as_type(find("banded").matrix, type_tag::c64_i32);
  EXPECT_EQ(optimize(complex).type(), type_tag::c64_i32);
  any_matrix const coo = convert(any_matrix(find("banded").matrix), format::coo);
  EXPECT_EQ(optimize(coo).nnz(), coo.nnz());
}

TEST(optimize, refuses_what_is_no_matrix) {
  csr<double> a = find("banded").matrix;
  csr<double> const b = std::move(a);
  EXPECT_TRUE(fails_with(errc::bad_structure, {"optimize", "row_ptr"},
                         [&] { optimize(a); })); // NOLINT(bugprone-use-after-move)
}

} // namespace
} // namespace tulle::test::optimize_test

// SPDX-License-Identifier: Apache-2.0

// What optimize picks, and what it says of the others.
#include "tulle/gen/generate.hpp"
#include "tulle/op/optimize.hpp"
#include "tulle/op/spmv.hpp"

#include "support/expect.hpp"
#include "support/zoo.hpp"

#include <algorithm>
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

TEST(optimize, looks_at_the_core_shelf_and_says_so) {
  optimized const best = optimize(find("banded").matrix);
  EXPECT_EQ(best.considered().size(), core_formats.size() + 3); // dia in three layouts, bcsr in two
  for (format const f : core_formats)
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

/// What was said of that layout.
candidate of(std::vector<candidate> const& all, std::string const& layout) {
  for (candidate const& c : all)
    if (name(c.layout) == layout)
      return c;
  return {{}, 0, 0, 0, 0, "nobody looked at " + layout};
}

// 449 thousand entries: more than are converted whole.
TEST(optimize, takes_one_triangle_of_large_symmetric_matrices) {
  csr<double> const a = generate("poisson2d5:300");
  for (char const* const text :
       {"dia:symmetric=true", "bcsr:symmetric=true", "bcsr:rows=2:symmetric=true",
        "sell:symmetric=true", "sell:sigma=64:symmetric=true:chunk=4", "scsr"}) {
    optimized const best = optimize(a, {.among = {layout::parse(text)}});
    ASSERT_EQ(best.considered().size(), 1u) << text;
    candidate const& c = best.considered().front();
    EXPECT_EQ(c.remark, "") << text;
    EXPECT_NEAR(c.bytes / static_cast<double>(best.bytes()), 1, .05) << text;
  }
  for (candidate const& c : recommend(a))
    EXPECT_EQ(c.remark, "") << name(c.layout);
}

// Blocks, and entries far from the diagonal; the rows of a stretch begin anywhere.
TEST(recommend, foretells_the_bytes_of_one_triangle) {
  for (char const* const text : {"fem:10000", "lattice:100000", "poisson3d27:40"}) {
    any_matrix const a(csr<double>(generate(text)));
    for (char const* const l :
         {"dia:symmetric=true", "bcsr:symmetric=true", "sell:symmetric=true", "scsr"}) {
      auto const all = recommend(a.ref(), {.among = {layout::parse(l)}});
      EXPECT_EQ(all[0].remark, "") << text << " " << l;
      double const bytes = static_cast<double>(convert(a, layout::parse(l)).bytes());
      EXPECT_NEAR(all[0].bytes / bytes, 1, .1) << text << " " << l;
    }
  }
}

// Fewer bytes are less time where they come from memory, and the kernel keeps up with that.
TEST(optimize, takes_one_triangle_where_that_saves_time) {
  EXPECT_EQ(name(optimize(generate("fem:60000")).considered().front().layout),
            "bcsr:symmetric=true");
  std::vector<candidate> const large = recommend(generate("poisson3d27:60"));
  EXPECT_LT(of(large, "dia:symmetric=true").call, of(large, "dia").call);
  EXPECT_LT(of(large, "scsr").bytes, of(large, "csr").bytes);
  EXPECT_GE(of(large, "scsr").call, of(large, "csr").call);
  EXPECT_GE(of(large, "bcsr:symmetric=true").call, of(large, "bcsr").call); // of single entries
  std::vector<candidate> const cached = recommend(generate("poisson3d27:30"));
  EXPECT_LT(of(cached, "dia:symmetric=true").bytes, of(cached, "dia").bytes);
  EXPECT_GT(of(cached, "dia:symmetric=true").call, of(cached, "dia").call);
}

TEST(recommend, says_why_there_is_no_triangle) {
  csr<double> a = generate("poisson2d5:300");
  auto const said = [](csr<double> const& m, std::string const& l) {
    return of(recommend(m), l).remark;
  };
  for (char const* const l : {"dia:symmetric=true", "bcsr:symmetric=true", "scsr"}) {
    EXPECT_NE(said(generate("rmat:15:16"), l).find("of a matrix whose ("), std::string::npos) << l;
    EXPECT_NE(said(generate("lp:200:60000:10"), l).find("200 rows and 60000 columns"),
              std::string::npos)
        << l;
  }
  a.val[1] = 7; // of (0, 1)
  EXPECT_NE(said(a, "dia:symmetric=true").find("(0, 1) is 7 and (1, 0) is -1"), std::string::npos);
  // The last row alone.
  a = generate("poisson2d5:300");
  a.val[a.val.size() - 2] = 7;
  EXPECT_NE(said(a, "scsr").find("(89998, 89999) is -1 and (89999, 89998) is 7"),
            std::string::npos);
}

TEST(recommend, options_of_a_triangle_that_cannot_be_are_refused_by_name) {
  any_matrix const a(csr<double>(generate("poisson2d5:300")));
  auto const said = [&](char const* l) {
    return recommend(a.ref(), {.among = {layout::parse(l)}})[0].remark;
  };
  EXPECT_NE(said("dia:symmetric=true:shared=true").find("symmetric and shared"), std::string::npos);
  EXPECT_NE(said("bcsr:rows=2:cols=3:symmetric=true").find("square"), std::string::npos);
  EXPECT_NE(said("csr5:symmetric=true").find("no option"), std::string::npos);
  EXPECT_NE(said("dia:symmetric=maybe").find("true or false"), std::string::npos);
  EXPECT_EQ(said("dia:symmetric=false"), "");
}

TEST(recommend, takes_one_triangle_of_rows_in_any_order) {
  csr<double> a = generate("poisson2d5:300");
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.rows); ++i) {
    std::reverse(a.col.data() + a.row_ptr[i], a.col.data() + a.row_ptr[i + 1]);
    std::reverse(a.val.data() + a.row_ptr[i], a.val.data() + a.row_ptr[i + 1]);
  }
  optimized const best = optimize(a, {.among = {layout(format::dia, "symmetric=true")}});
  EXPECT_EQ(best.considered().front().remark, "");
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

// SPDX-License-Identifier: Apache-2.0

// What a Matrix Market file may look like, and what comes of it.
#include "files.hpp"

#include <cmath>
#include <complex>
#include <limits>
#include <locale>

namespace tulle::test::matrix_market_read_test {
namespace {

using complex = std::complex<double>;
std::string const banner = "%%MatrixMarket matrix coordinate real general\n";

TEST(matrix_market_read, column_order_gives_sorted_rows) {
  EXPECT_EQ(read_text(example_text), example());
}

TEST(matrix_market_read, row_order_gives_the_same_matrix) {
  EXPECT_EQ(read_text(banner + "4 4 7\n1 1 1\n1 3 2\n2 2 3\n3 4 4\n4 1 5\n4 2 6\n4 3 7\n"),
            example());
}

TEST(matrix_market_read, shuffled_entries_give_the_same_matrix) {
  EXPECT_EQ(read_text(banner + "4 4 7\n4 3 7\n1 3 2\n4 1 5\n3 4 4\n2 2 3\n1 1 1\n4 2 6\n"),
            example());
}

TEST(matrix_market_read, coo_is_in_file_order) {
  auto const a = read_text_coo(banner + "3 3 3\n3 1 7\n1 3 8\n2 2 9\n");
  EXPECT_EQ(a, (coo<double>{3, 3, {2, 0, 1}, {0, 2, 1}, {7, 8, 9}}));
}

TEST(matrix_market_read, a_file_reads_like_a_stream) {
  folder const f;
  auto const path = f.write("a.mtx", example_text);
  EXPECT_EQ(read_matrix_market(path), example());
  EXPECT_EQ(read_matrix_market_coo(path), read_text_coo(example_text));
}

TEST(matrix_market_read, crlf_blank_and_indented_lines_are_read) {
  EXPECT_EQ(read_text("  %%MatrixMarket MATRIX Coordinate Real  General\r\n\r\n \t% a comment\r\n"
                      "\r\n  4\t4   7 \r\n\r\n \t1 1 1.\r\n4   1 5\t\r\n\r\n2 2 3e0 \r\n4 2 6\r\n"
                      "1 3 .2E1\r\n \r\n4 3 7\r\n3 4 4\r\n\r\n   "),
            example());
}

TEST(matrix_market_read, the_last_line_needs_no_newline) {
  std::string text = example_text;
  text.pop_back();
  EXPECT_EQ(read_text(text), example());
  folder const f;
  EXPECT_EQ(read_matrix_market(f.write("a.mtx", text)), example());
}

TEST(matrix_market_read, comments_between_entries_are_skipped) {
  EXPECT_EQ(read_text(banner + "2 2 2\n% one\n1 1 1\n  % two 2 2\n%\n2 2 2\n% three"),
            read_text(banner + "2 2 2\n1 1 1\n2 2 2\n"));
}

TEST(matrix_market_read, one_percent_a_byte_order_mark_and_double_are_accepted) {
  EXPECT_EQ(read_text("\xEF\xBB\xBF%MatrixMarket matrix coordinate double general\n1 1 1\n1 1 2\n"),
            (csr<double>{1, 1, {0, 1}, {0}, {2}}));
}

TEST(matrix_market_read, numbers_come_in_many_spellings) {
  auto const a = read_text(banner + "1 12 12\n"
                                    "1 1 +1\n1 2 -1.5\n1 3 1.0D+05\n1 4 1d-2\n1 5 .5\n1 6 5.\n"
                                    "1 7 4.9406564584124654e-324\n1 8 1e-400\n+1 +9 2\n"
                                    "1 10 inf\n1 11 -Infinity\n1 12 nan\n");
  double const inf = std::numeric_limits<double>::infinity();
  double const expected[] = {1, -1.5, 1e5, .01, .5, 5, 4.9406564584124654e-324, 0, 2, inf, -inf};
  for (std::size_t k = 0; k < std::size(expected); ++k)
    EXPECT_EQ(a.val[k], expected[k]) << k;
  EXPECT_TRUE(std::isnan(a.val[11]));
}

TEST(matrix_market_read, fields_have_their_values) {
  std::string const head = "%%MatrixMarket matrix coordinate ";
  EXPECT_EQ(read_text(head + "pattern general\n2 2 2\n1 1\n2 2\n").val, (array<double>{1, 1}));
  EXPECT_EQ(read_text(head + "integer general\n2 2 2\n1 1 -3\n2 2 19223372036854775808\n").val,
            (array<double>{-3, 19223372036854775808.0}));
  EXPECT_EQ(read_text(head + "unsigned-integer general\n1 1 1\n1 1 18446744073709551615\n").val,
            (array<double>{18446744073709551615.0}));
  EXPECT_EQ(read_text<complex>(head + "complex general\n2 2 2\n1 1 1 -2\n2 2 0 3\n").val,
            (array<complex>{{1, -2}, {0, 3}}));
  EXPECT_EQ(read_text<complex>(head + "pattern general\n1 1 1\n1 1\n").val,
            (array<complex>{{1, 0}}));
  EXPECT_EQ(read_text<complex>(head + "real general\n1 1 1\n1 1 2.5\n").val,
            (array<complex>{{2.5, 0}}));
}

TEST(matrix_market_read, symmetric_kinds_are_expanded_with_one_diagonal) {
  std::string const head = "%%MatrixMarket matrix coordinate ";
  EXPECT_EQ(read_text(head + "real symmetric\n2 2 2\n1 1 5\n2 1 7\n"),
            (csr<double>{2, 2, {0, 2, 3}, {0, 1, 0}, {5, 7, 7}}));
  EXPECT_EQ(read_text(head + "real skew-symmetric\n2 2 1\n2 1 7\n"),
            (csr<double>{2, 2, {0, 1, 2}, {1, 0}, {-7, 7}}));
  EXPECT_EQ(read_text<complex>(head + "complex hermitian\n2 2 2\n1 1 5 0\n2 1 7 1\n"),
            (csr<complex>{2, 2, {0, 2, 3}, {0, 1, 0}, {{5, 0}, {7, -1}, {7, 1}}}));
  EXPECT_EQ(read_text(head + "real hermitian\n2 2 1\n2 1 7\n").val, (array<double>{7, 7}));
}

TEST(matrix_market_read, either_triangle_is_mirrored) {
  EXPECT_EQ(read_text("%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n1 3 5\n3 2 7\n"),
            (csr<double>{3, 3, {0, 1, 2, 4}, {2, 2, 0, 1}, {5, 7, 5, 7}}));
}

TEST(matrix_market_read, the_mirrored_entry_follows_its_own_in_coo) {
  EXPECT_EQ(read_text_coo("%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n2 1 7\n1 1 5\n"),
            (coo<double>{2, 2, {1, 0, 0}, {0, 1, 0}, {7, 7, 5}}));
}

TEST(matrix_market_read, the_stored_triangle_is_kept_on_request) {
  matrix_market_header h;
  auto const a = read_text("%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 5\n2 1 7\n",
                           {.symmetry = on_symmetry::keep, .header = &h});
  EXPECT_EQ(a, (csr<double>{2, 2, {0, 1, 2}, {0, 0}, {5, 7}}));
  EXPECT_EQ(h.symmetry, matrix_market::symmetry::symmetric);
}

TEST(matrix_market_read, a_zero_on_a_skew_diagonal_is_an_entry) {
  EXPECT_EQ(
      read_text("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 2\n1 1 0\n2 1 7\n"),
      (csr<double>{2, 2, {0, 2, 3}, {0, 1, 0}, {0, -7, 7}}));
}

TEST(matrix_market_read, arrays_are_stored_whole_column_by_column) {
  EXPECT_EQ(read_text("%%MatrixMarket matrix array real general\n2 3\n1\n2\n0\n4\n5\n6\n"),
            (csr<double>{2, 3, {0, 3, 6}, {0, 1, 2, 0, 1, 2}, {1, 0, 5, 2, 4, 6}}));
  EXPECT_EQ(read_text("%%MatrixMarket matrix array real general\n2 3\n1\n2\n0\n4\n5\n6\n",
                      {.zeros = on_zeros::drop}),
            (csr<double>{2, 3, {0, 2, 5}, {0, 2, 0, 1, 2}, {1, 5, 2, 4, 6}}));
}

TEST(matrix_market_read, arrays_of_a_symmetry_are_lower_triangles) {
  EXPECT_EQ(
      read_text("%%MatrixMarket matrix array real symmetric\n3 3\n1\n2\n3\n4\n5\n6\n"),
      (csr<double>{3, 3, {0, 3, 6, 9}, {0, 1, 2, 0, 1, 2, 0, 1, 2}, {1, 2, 3, 2, 4, 5, 3, 5, 6}}));
  EXPECT_EQ(read_text("%%MatrixMarket matrix array integer skew-symmetric\n3 3\n2\n3\n5\n"),
            (csr<double>{3, 3, {0, 2, 4, 6}, {1, 2, 0, 2, 0, 1}, {-2, -3, 2, -5, 3, 5}}));
  EXPECT_EQ(
      read_text<complex>("%%MatrixMarket matrix array complex hermitian\n2 2\n1 0\n2 3\n4 0\n"),
      (csr<complex>{2, 2, {0, 2, 4}, {0, 1, 0, 1}, {{1, 0}, {2, -3}, {2, 3}, {4, 0}}}));
  EXPECT_EQ(read_text_coo("%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n",
                          {.symmetry = on_symmetry::keep}),
            (coo<double>{2, 2, {0, 1, 1}, {0, 0, 1}, {1, 2, 3}}));
}

TEST(matrix_market_read, vectors_are_matrices_of_one_column) {
  EXPECT_EQ(read_text("%%MatrixMarket vector array real general\n3\n1\n0\n2\n"),
            (csr<double>{3, 1, {0, 1, 2, 3}, {0, 0, 0}, {1, 0, 2}}));
  EXPECT_EQ(read_text("%%MatrixMarket vector coordinate real general\n3 2\n3 1\n1 4\n"),
            (csr<double>{3, 1, {0, 1, 1, 2}, {0, 0}, {4, 1}}));
  EXPECT_EQ(read_text("%%MatrixMarket vector coordinate pattern general\n3 2\n3\n 1 \n").val,
            (array<double>{1, 1}));
}

TEST(matrix_market_read, duplicates_are_kept_in_file_order_or_summed) {
  std::string const text = banner + "2 2 5\n2 2 1\n1 2 3\n2 1 4\n2 2 10\n2 2 100\n";
  EXPECT_EQ(read_text(text), (csr<double>{2, 2, {0, 1, 5}, {1, 0, 1, 1, 1}, {3, 4, 1, 10, 100}}));
  EXPECT_EQ(read_text(text, {.duplicates = on_duplicates::sum}),
            (csr<double>{2, 2, {0, 1, 3}, {1, 0, 1}, {3, 4, 111}}));
  EXPECT_EQ(read_text_coo(text, {.duplicates = on_duplicates::sum}),
            (coo<double>{2, 2, {0, 1, 1}, {1, 0, 1}, {3, 4, 111}}));
}

TEST(matrix_market_read, stored_zeros_stay_unless_dropped) {
  std::string const text = banner + "2 2 3\n1 1 0\n2 1 -0.0\n2 2 3\n";
  EXPECT_EQ(read_text(text).val, (array<double>{0, 0, 3}));
  EXPECT_EQ(read_text(text, {.zeros = on_zeros::drop}), (csr<double>{2, 2, {0, 0, 1}, {1}, {3}}));
}

TEST(matrix_market_read, matrices_without_rows_columns_or_entries_are_read) {
  EXPECT_EQ(read_text(banner + "0 0 0\n"), (csr<double>{0, 0, {0}, {}, {}}));
  EXPECT_EQ(read_text(banner + "3 0 0\n"), (csr<double>{3, 0, {0, 0, 0, 0}, {}, {}}));
  EXPECT_EQ(read_text(banner + "0 3 0\n\n\n"), (csr<double>{0, 3, {0}, {}, {}}));
  EXPECT_EQ(read_text("%%MatrixMarket matrix array real general\n0 3\n"),
            (csr<double>{0, 3, {0}, {}, {}}));
  EXPECT_EQ(read_text("%%MatrixMarket matrix array real skew-symmetric\n1 1\n"),
            (csr<double>{1, 1, {0, 0}, {}, {}}));
}

TEST(matrix_market_read, the_header_keeps_comments_and_sizes) {
  auto const text = "%%MatrixMarket matrix coordinate integer symmetric\n%%GraphBLAS type int8_t\n"
                    "%\n  % kept\r\n\n5 5 1000\n";
  std::istringstream in(text);
  auto const h = read_matrix_market_header(in);
  EXPECT_EQ(h.object, matrix_market::object::matrix);
  EXPECT_EQ(h.format, matrix_market::format::coordinate);
  EXPECT_EQ(h.field, matrix_market::field::integer);
  EXPECT_EQ(h.symmetry, matrix_market::symmetry::symmetric);
  EXPECT_EQ(h.rows, 5);
  EXPECT_EQ(h.cols, 5);
  EXPECT_EQ(h.entries, 1000);
  EXPECT_EQ(h.comments, "%GraphBLAS type int8_t\n\n kept\n");
  folder const f;
  EXPECT_EQ(read_matrix_market_header(f.write("a.mtx", text)), h);
  EXPECT_EQ(read_matrix_market_header(f.write("a", gzip(text))), h);
}

TEST(matrix_market_read, every_value_of_float_is_the_nearest) {
  auto const a = read_text<float>(banner + "1 3 3\n1 1 0.1\n1 2 16777217\n1 3 1e-45\n");
  EXPECT_EQ(a.val, (array<float>{0.1f, 16777216.f, 1e-45f}));
}

TEST(matrix_market_read, progress_ends_with_the_file) {
  folder const f;
  auto const path = f.write("a.mtx", example_text);
  std::pair<std::uint64_t, std::uint64_t> seen;
  read_matrix_market(path, {.progress = {[](void* to, std::uint64_t done, std::uint64_t total) {
                                           *static_cast<decltype(seen)*>(to) = {done, total};
                                         },
                                         &seen}});
  auto const size = std::filesystem::file_size(path);
  EXPECT_EQ(seen, std::make_pair(size, size));
}

struct decimal_comma : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(matrix_market_read, locale_does_not_matter) {
  std::locale const old = std::locale::global(std::locale(std::locale(), new decimal_comma));
  char const* const c_locale = std::setlocale(LC_ALL, "de_DE.UTF-8"); // where installed
  std::istringstream in(banner + "1500 1 1\n1500 1 1234.5\n");
  auto const a = read_matrix_market(in);
  std::ostringstream out;
  write_matrix_market(out, a);
  std::locale::global(old);
  std::setlocale(LC_ALL, "C");
  EXPECT_EQ(a.val[0], 1234.5) << (c_locale ? c_locale : "no de_DE");
  EXPECT_EQ(out.str(), banner + "1500 1 1\n1500 1 1234.5\n");
}

} // namespace
} // namespace tulle::test::matrix_market_read_test

// SPDX-License-Identifier: Apache-2.0

// What is refused, and in which words: file, line, what was found, what was expected.
#include "files.hpp"

#include <complex>

namespace tulle::test::matrix_market_errors_test {
namespace {

std::string const real = "%%MatrixMarket matrix coordinate real general\n";

TEST(matrix_market_errors, name_the_file) {
  folder const f;
  auto const path = f.write("a.mtx", real + "5 5 1\n1 9 1\n");
  EXPECT_EQ(error_of([&] { read_matrix_market(path); }), "io: a.mtx:3: column 9 is outside 1..5");
  EXPECT_EQ(error_of([&] { read_matrix_market(f / "none.mtx"); }),
            "io: none.mtx: cannot open: No such file or directory");
  EXPECT_NE(error_of([&] { read_matrix_market(f / "."); }).find("is a directory"),
            std::string::npos);
}

TEST(matrix_market_errors, bad_banners_are_refused) {
  EXPECT_EQ(error_in(""), "io: stream:1: expected a banner that starts with %%MatrixMarket, found "
                          "the end of the file");
  EXPECT_EQ(error_in("hello\n"),
            "io: stream:1: expected a banner that starts with %%MatrixMarket, found 'hello'");
  EXPECT_EQ(error_in("%%MatrixMarket matrix coordinate\n"),
            "io: stream:1: the banner ends before the field, expected one of real, integer, "
            "unsigned-integer, complex, pattern");
  EXPECT_EQ(error_in("%%MatrixMarket tensor coordinate real general\n"),
            "io: stream:1: unknown object 'tensor', expected one of matrix, vector");
  EXPECT_EQ(error_in("%%MatrixMarket matrix array pattern general\n"),
            "io: stream:1: an array has values, but the field is pattern");
  EXPECT_EQ(error_in("%%MatrixMarket vector array real symmetric\n3\n"),
            "io: stream:1: a vector is general, but the symmetry is symmetric");
  EXPECT_EQ(error_in("%%MatrixMarket matrix coordinate pattern skew-symmetric\n"),
            "io: stream:1: a pattern is general or symmetric, but the symmetry is skew-symmetric");
  EXPECT_EQ(error_in("%%MatrixMarket matrix coordinate real general please\n"),
            "io: stream:1: expected the banner to end after 'general', found 'please'");
}

TEST(matrix_market_errors, a_nul_is_part_of_its_word) {
  EXPECT_EQ(
      error_in(std::string("%%MatrixMarket matrix coordinate real\0(%%M general\n", 50)),
      "io: stream:1: unknown field 'real?(%%M', expected one of real, integer, unsigned-integer, "
      "complex, pattern");
}

TEST(matrix_market_errors, bad_size_lines_are_refused) {
  EXPECT_EQ(error_in(real), "io: stream:1: the file ends before the size line, expected rows, "
                            "columns and entries");
  EXPECT_EQ(error_in(real + "% only\n\n% comments\n"),
            "io: stream:4: the file ends before the size line, expected rows, columns and entries");
  EXPECT_EQ(error_in(real + "%\n3 3\n"),
            "io: stream:3: expected 3 numbers (rows, columns and entries), found 2");
  EXPECT_EQ(error_in(real + "3 3 1 1\n"),
            "io: stream:2: expected 3 numbers (rows, columns and entries), found 4");
  EXPECT_EQ(error_in(real + "-3 3 1\n"), "io: stream:2: expected a number of rows, found '-3'");
  EXPECT_EQ(error_in(real + "3 3 1.5\n"),
            "io: stream:2: expected a number of entries, found '1.5'");
  EXPECT_EQ(error_in(real + "3 99999999999999999999 1\n"),
            "overflow: stream:2: a number of columns is '99999999999999999999', which does not fit "
            "64 bits");
  EXPECT_EQ(error_in("%%MatrixMarket matrix coordinate real symmetric\n3 4 0\n"),
            "io: stream:2: a symmetric matrix is square, but this one has 3 rows and 4 columns");
  EXPECT_EQ((error_in<double, std::int64_t>("%%MatrixMarket matrix array real general\n"
                                            "1000000000000 1000000000000\n")),
            "overflow: stream:2: an array of 1000000000000 rows and 1000000000000 columns has more "
            "than 2^63 entries");
}

TEST(matrix_market_errors, bad_entries_are_told_by_line) {
  auto const in_line_4 = [](std::string const& line) {
    return error_in(real + "3 3 3\n1 1 1\n" + line + "\n3 3 3\n");
  };
  EXPECT_EQ(in_line_4("4 1 1"), "io: stream:4: row 4 is outside 1..3");
  EXPECT_EQ(in_line_4("0 1 1"), "io: stream:4: row 0 is outside 1..3");
  EXPECT_EQ(in_line_4("1 -2 1"), "io: stream:4: column -2 is outside 1..3");
  EXPECT_EQ(in_line_4("19223372036854775808 1 1"),
            "io: stream:4: row 19223372036854775808 is outside 1..3");
  EXPECT_EQ(in_line_4("x 1 1"), "io: stream:4: expected a row number, found 'x'");
  EXPECT_EQ(in_line_4("1 1.5 1"), "io: stream:4: expected a column number, found '1.5'");
  EXPECT_EQ(in_line_4("1 1 abc"), "io: stream:4: expected a number, found 'abc'");
  EXPECT_EQ(in_line_4("1 1 1,5"), "io: stream:4: expected a number, found '1,5'");
  EXPECT_EQ(in_line_4("1 1 +-1"), "io: stream:4: expected a number, found '+-1'");
  EXPECT_EQ(in_line_4("1 1 1D"), "io: stream:4: expected a number, found '1D'");
  EXPECT_EQ(in_line_4("1 1"), "io: stream:4: expected 3 numbers, found 2");
  EXPECT_EQ(in_line_4("1"), "io: stream:4: expected 3 numbers, found 1");
  EXPECT_EQ(in_line_4("1 1 1 1"), "io: stream:4: expected 3 numbers, found 4");
  EXPECT_EQ(in_line_4("1 1 1 % no"), "io: stream:4: expected 3 numbers, found 5");
  EXPECT_EQ(in_line_4(std::string("1 1 1\0", 6)), "io: stream:4: expected a number, found '1?'");
  EXPECT_EQ(in_line_4("1 1 1e400"), "overflow: stream:4: value 1e400 is too large for double");
}

TEST(matrix_market_errors, fields_are_held_to_their_word) {
  std::string const head = "%%MatrixMarket matrix coordinate ";
  EXPECT_EQ(error_in(head + "integer general\n1 1 1\n1 1 1.5\n"),
            "io: stream:3: expected a whole number, found '1.5'");
  EXPECT_EQ(error_in(head + "unsigned-integer general\n1 1 1\n1 1 -1\n"),
            "io: stream:3: expected a number without sign, found '-1'");
  EXPECT_EQ(error_in(head + "pattern general\n1 1 1\n1 1 1\n"),
            "io: stream:3: expected 2 numbers, found 3");
  EXPECT_EQ(error_in<std::complex<double>>(head + "complex general\n1 1 1\n1 1 1\n"),
            "io: stream:3: expected 4 numbers, found 3");
  EXPECT_EQ(error_in(head + "complex general\n1 1 1\n1 1 1 0\n"),
            "unsupported: stream:1: complex values cannot be read into a real matrix");
  EXPECT_EQ(error_in<float>(head + "real general\n1 1 1\n1 1 1e39\n"),
            "overflow: stream:3: value 1e39 is too large for float");
  EXPECT_EQ(error_in("%%MatrixMarket matrix array real general\n1 2\n1 2\n"),
            "io: stream:3: expected 1 number, found 2");
}

TEST(matrix_market_errors, diagonals_fit_the_symmetry) {
  EXPECT_EQ(error_in("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 2 3\n"),
            "io: stream:3: diagonal entry of a skew-symmetric matrix is 2 2 3, expected 0");
  EXPECT_EQ(
      error_in<std::complex<double>>(
          "%%MatrixMarket matrix coordinate complex hermitian\n2 2 1\n2 2 3 1\n"),
      "io: stream:3: diagonal entry of a hermitian matrix is 2 2 3 1, expected a real number");
  EXPECT_EQ(error_in<std::complex<double>>(
                "%%MatrixMarket matrix array complex hermitian\n2 2\n1 0\n2 2\n3 1\n"),
            "io: stream: diagonal entry 2 of a hermitian matrix is not a real number");
}

TEST(matrix_market_errors, the_promised_number_is_kept) {
  EXPECT_EQ(error_in(real + "3 3 3\n1 1 1\n\n2 2 2\n"),
            "io: stream: 3 entries promised, file ends after 2 (line 5)");
  EXPECT_EQ(error_in(real + "3 3 1\n1 1 1\n\n% no entry\n2 2 2\nx\n"),
            "io: stream:6: expected the end of the file after 1 entries, found another");
  EXPECT_EQ(error_in(real + "3 3 1\nx\n2 2 2\n"), "io: stream:3: expected a row number, found 'x'");
}

TEST(matrix_market_errors, sizes_beyond_the_index_type_are_overflows) {
  EXPECT_EQ(error_in(real + "3000000000 1 0\n"),
            "overflow: stream:2: 3000000000 rows do not fit a 32-bit index");
  EXPECT_EQ(error_in(real + "1 3000000000 0\n"),
            "overflow: stream:2: 3000000000 columns do not fit a 32-bit index");
  EXPECT_EQ((error_in<double, std::int64_t>(real + "1 3000000000 0\n")), "");
}

TEST(matrix_market_errors, claims_cost_no_memory) {
  EXPECT_EQ((error_in<double, std::int64_t>(real + "1 1 1000000000000000000\n1 1 1\n")),
            "io: stream: 1000000000000000000 entries promised, file ends after 1 (line 3)");
  EXPECT_EQ(
      (error_in<double, std::int64_t>(real + "1000000000000000000 1 1\n1 1 1\n")),
      "io: stream: 1000000000000000000 rows but 1 entries; CSR has an offset for each row, so "
      "it takes 4194320 of them (max_rows says otherwise), COO any number");
  EXPECT_EQ(error_in("%%MatrixMarket matrix array real general\n2147483647 2147483647\n1\n"),
            "io: stream: 4611686014132420609 entries promised, file ends after 1 (line 3)");
  auto const a = read_text_coo<double, std::int64_t>(real + "1000000000000000000 1 1\n"
                                                            "1000000000000000000 1 1\n");
  EXPECT_EQ(a.row[0], 999999999999999999);
  EXPECT_EQ(read_text(real + "5000000 1 0\n", {.max_rows = 5000000}).rows, 5000000);
}

TEST(matrix_market_errors, text_beyond_max_bytes_is_refused) {
  folder const f;
  std::string const text = example_text;
  read_options const options{.max_bytes = text.size() - 1};
  EXPECT_EQ(error_in(text, options), "out_of_memory: stream: more than 93 bytes of text; raise "
                                     "max_bytes to read them");
  EXPECT_EQ(error_of([&] { read_matrix_market(f.write("a.mtx", text), options); }),
            "out_of_memory: a.mtx: 94 bytes of text, but max_bytes is 93");
  EXPECT_EQ(read_text(text, {.max_bytes = text.size()}), example());
}

TEST(matrix_market_errors, a_megabyte_of_blanks_is_a_blank_line) {
  std::string const blanks(1 << 20, ' ');
  EXPECT_EQ(error_in(blanks).substr(0, 3), "io:");
  EXPECT_EQ(read_text(real + blanks + "\n1 1 1\n" + blanks + "\n1 1" + blanks + "7\n" + blanks).val,
            (array<double>{7}));
  EXPECT_EQ(error_in(real + "1 1 1\n" + blanks + "x"),
            "io: stream:3: expected a row number, found 'x'");
}

TEST(matrix_market_errors, a_long_number_is_quoted_in_part) {
  EXPECT_EQ(error_in(real + "1 1 1\n1 1 " + std::string(1000, 'x') + "\n"),
            "io: stream:3: expected a number, found '" + std::string(60, 'x') + "...'");
}

TEST(matrix_market_errors, bytes_without_meaning_are_refused) {
  for (int c = 0; c < 256; ++c) {
    std::string const text = std::string(200, static_cast<char>(c));
    EXPECT_NE(error_in(text), "") << c;
    EXPECT_NE(error_in(real + text), "") << c;
    EXPECT_NE(error_in(real + "2 2 1\n" + text), "") << c;
  }
}

TEST(matrix_market_errors, a_failed_read_leaves_the_header_alone) {
  matrix_market_header h;
  h.comments = "old";
  EXPECT_NE(error_in(real + "1 1 1\n", {.header = &h}), "");
  EXPECT_EQ(h.comments, "old");
}

TEST(matrix_market_errors, a_stream_that_cannot_be_read_is_told) {
  std::ifstream none("/nonexistent/file");
  EXPECT_EQ(error_of([&] { read_matrix_market(none); }), "io: stream: cannot be read");
}

} // namespace
} // namespace tulle::test::matrix_market_errors_test

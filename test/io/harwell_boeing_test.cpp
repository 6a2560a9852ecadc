// SPDX-License-Identifier: Apache-2.0

// Harwell-Boeing and Rutherford-Boeing: types, Fortran formats, and what is refused.
#include "kinds.hpp"

#include <complex>

namespace tulle::test::harwell_boeing_test {
namespace {

file_hint const hb{.kind = file_kind::harwell_boeing};
using complex = std::complex<double>;

std::string header(std::string const& type, std::string const& sizes, std::string const& formats,
                   std::string const& cards = "3 1 1 1 0") {
  return "Title                                                                   Key     \n" +
         cards + "\n" + type + "           " + sizes + "\n" + formats + "\n";
}

// Of io/read.hpp.
std::string const picture =
    "Title                                                           Key\n"
    "             3             1             1             1\n"
    "rsa                        2             2             3             0\n"
    "(3i4)           (3i4)           (1p,3d12.4)\n"
    "   1   3   4\n"
    "   1   2   2\n"
    "  1.0000D+00 -1.0000D+00  2.0000D+00\n";

// One column of three values.
csr<double> column(double a, double b, double c) {
  return {3, 1, {0, 1, 2, 3}, {0, 0, 0}, {a, b, c}};
}
std::string values(std::string const& format, std::string const& lines) {
  return header("rra", "3 1 3 0", "(2i2) (3i2) " + format) + " 1 4\n 1 2 3\n" + lines;
}

TEST(harwell_boeing, the_picture) {
  EXPECT_EQ(read_kind(picture), (csr<double>{2, 2, {0, 2, 4}, {0, 1, 0, 1}, {1, -1, -1, 2}}));
  EXPECT_EQ(read_kind(gzip(picture)), read_kind(picture));
  std::istringstream in(picture);
  matrix_file const file(in);
  EXPECT_EQ(file.header().symmetry, matrix_market::symmetry::symmetric);
  EXPECT_EQ(file.header().entries, 3);
  EXPECT_EQ(file.header().comments,
            " Title                                                           Key\n");
}

TEST(harwell_boeing, columns_become_rows) {
  // The picture of format/csr.hpp, numbers of pointers and rows over several lines.
  EXPECT_EQ(
      read_kind(header("RUA", "4 4 7 0", "(2I3)           (3I3)           (4F5.1)             ") +
                "  1  3\n  5  7\n  8\n"
                "  1  4  2\n  4  1  4\n  3\n"
                "  1.0  5.0  3.0  6.0\n  2.0  7.0  4.0\n"),
      example());
}

TEST(harwell_boeing, types_of_values) {
  std::string const pattern = " 1 2 4\n 1 1 2\n";
  csr<double> const ones{2, 2, {0, 2, 3}, {0, 1, 1}, {1, 1, 1}};
  EXPECT_EQ(read_kind(header("pua", "2 2 3 0", "(3I2)           (3I2)", "2 1 1 0") + pattern),
            ones);
  EXPECT_EQ(read_kind(header("rua", "2 2 3 0", "(3I2) (3I2) (3F5.0)", "2 1 1 0 0") + pattern),
            ones);
  EXPECT_EQ(read_kind(header("iua", "2 2 3 0", "(3I2) (3I2) (3I3)") + pattern + "  7 -8  9\n"),
            (csr<double>{2, 2, {0, 2, 3}, {0, 1, 1}, {7, -8, 9}}));
  EXPECT_EQ(read_kind<complex>(header("cua", "2 2 3", "(3I2) (3I2) (4F4.0)") + pattern +
                               "  1.  2.  3.  4.\n  5.  6.\n"),
            (csr<complex>{2, 2, {0, 2, 3}, {0, 1, 1}, {{1, 2}, {3, 4}, {5, 6}}}));
  EXPECT_EQ(error_in_kind(header("cua", "2 2 3", "(3I2) (3I2) (6F4.0)") + pattern +
                          "  1.  2.  3.  4.  5.  6.\n"),
            "unsupported: stream: complex values cannot be read into a real matrix");
}

TEST(harwell_boeing, symmetries_are_expanded) {
  std::string const pattern = " 1 3 4\n 1 2 2\n";
  EXPECT_EQ(read_kind(header("psa", "2 2 3 0", "(3I2) (3I2)", "2 1 1 0") + pattern),
            (csr<double>{2, 2, {0, 2, 4}, {0, 1, 0, 1}, {1, 1, 1, 1}}));
  EXPECT_EQ(read_kind(header("rza", "2 2 3 0", "(3I2) (3I2) (3F4.0)") + pattern + "  0.  5.  0.\n"),
            (csr<double>{2, 2, {0, 2, 4}, {0, 1, 0, 1}, {0, -5, 5, 0}}));
  EXPECT_EQ(read_kind<complex>(header("cha", "2 2 3 0", "(3I2) (3I2) (6F4.0)") + pattern +
                               "  1.  0.  2.  3.  4.  0.\n"),
            (csr<complex>{2, 2, {0, 2, 4}, {0, 1, 0, 1}, {{1, 0}, {2, -3}, {2, 3}, {4, 0}}}));
  EXPECT_EQ(
      error_in_kind(header("rza", "2 2 3 0", "(3I2) (3I2) (3F4.0)") + pattern + "  1.  5.  0.\n"),
      "io: stream:7: a diagonal entry of a skew-symmetric matrix is not 0");
  EXPECT_EQ(error_in_kind<complex>(header("cha", "2 2 3 0", "(3I2) (3I2) (6F4.0)") + pattern +
                                   "  1.  7.  2.  3.  4.  0.\n"),
            "io: stream:7: a diagonal entry of a hermitian matrix is not a real number");
}

TEST(harwell_boeing, fortran_formats_are_parsed_truly) {
  auto const abc = column(1, -25, 0.5);
  EXPECT_EQ(read_kind(values("(1P,3D10.3)", " 1.000D+00-2.500D+01 5.000D-01\n")), abc);
  EXPECT_EQ(read_kind(values("(1P2E10.3)", " 1.000E+00-2.500E+01\n 5.000E-01\n")), abc);
  EXPECT_EQ(read_kind(values("( 3 ( g6.1 ) )", "   1.0 -25.0   0.5\n")), abc);
  EXPECT_EQ(read_kind(values("(2X,F4.1,1X,2(F5.1,1X))", "//1.0 /-25.0/00.5 /\n")), abc);
  EXPECT_EQ(read_kind(values("(F4.1,2F5.1)", " 1.0-25.000.50\n")), abc);
  EXPECT_EQ(read_kind(values("(3ES10.3E2)", " 1.000E+00-2.500E+01 5.000E-01\n")), abc);
  // Without a point the last d digits are decimals; without an exponent a scale factor divides.
  EXPECT_EQ(read_kind(values("(3F5.2)", "  100-2500   50\n")), abc);
  EXPECT_EQ(read_kind(values("(2P,3F8.1)", "   100.0 -2500.0    50.0\n")), abc);
  EXPECT_EQ(read_kind(values("(2P,3E8.1)", "1.0E+00 -2.5E+01 5.0E-1 \n")), abc);
  EXPECT_EQ(read_kind(values("(-1P,3F6.2)", "  0.1  -2.5  0.05\n")), abc);
  // Exponents without a letter, with three digits, with blanks.
  EXPECT_EQ(read_kind(values("(3E12.3)", "   1.000+000  -2.500+001     5.0-001\n")), abc);
  EXPECT_EQ(read_kind(values("(3E9.2)", "1.00E 00 -2.50E 01 5.00E-01\n")), abc);
  EXPECT_EQ(read_kind(values("(3D20.13)", " 0.1000000000000D+01-0.2500000000000D+02"
                                          " 0.5000000000000D+00\n")),
            abc);
}

TEST(harwell_boeing, columns_of_scipy_are_narrower_than_its_format) {
  EXPECT_EQ(read_kind(values("(5E15.7)", "-1.5007478E+26 4.2573277E-29 3.0060351E-22\n")),
            column(-1.5007478e26, 4.2573277e-29, 3.0060351e-22));
  // Where numbers touch it cannot be told: an error, not other numbers.
  EXPECT_EQ(error_in_kind(values("(5E15.7)", " 1.5007478E+26-4.2573277E-29 3.0060351E-22\n")),
            "io: stream:7: expected a number, found '1.5007478E+26-'");
}

TEST(harwell_boeing, right_hand_sides_are_skipped) {
  EXPECT_EQ(read_kind(header("rra", "3 1 3 0", "(2i2) (3i2) (3f4.1) (3f4.1)", "5 1 1 1 1") +
                      "F                          1             0\n"
                      " 1 4\n 1 2 3\n 1.0 2.0 3.0\n 7.0 8.0 9.0\n"),
            column(1, 2, 3));
}

TEST(harwell_boeing, empty_matrices) {
  EXPECT_EQ(read_kind(header("rua", "2 1 0 0", "(2I2) (2I2) (3F4.0)") + " 1 1\n"),
            (csr<double>{2, 1, {0, 0, 0}, {}, {}}));
  EXPECT_EQ(read_kind(header("rua", "0 0 0 0", "(2I2) (2I2) (3F4.0)") + " 1\n"),
            (csr<double>{0, 0, {0}, {}, {}}));
}

TEST(harwell_boeing, bad_headers_are_told) {
  auto const error = [](std::string const& text) { return error_in_kind(text, hb); };
  EXPECT_EQ(error(""), "io: stream:0: the file ends before its title");
  EXPECT_EQ(error("t\n"), "io: stream:1: the file ends before the numbers of cards");
  EXPECT_EQ(error("t\n1 2 3\n"),
            "io: stream:2: expected 4 or 5 numbers of cards (all, pointers, indices, values, "
            "right-hand sides), found 3 numbers");
  EXPECT_EQ(error("t\n1 2 x 3\n"),
            "io: stream:2: expected 4 or 5 numbers of cards (all, pointers, indices, values, "
            "right-hand sides), found 'x'");
  EXPECT_EQ(error("t\n1 1 1 1\nxyz\n"),
            "io: stream:3: expected a type such as rua, rsa or pua, found 'xyz'");
  EXPECT_EQ(error("t\n1 1 1 1\nrse 2 2 3 1\n"),
            "unsupported: stream:3: an elemental matrix, of which only the assembled kind is read");
  EXPECT_EQ(error("t\n1 1 1 1\nqua 2 2 3 1\n"),
            "unsupported: stream:3: the values are in another file");
  EXPECT_EQ(error("t\n1 1 1 1\nrua 2 2\n"),
            "io: stream:3: expected numbers of rows, columns and entries, found 2 numbers");
  EXPECT_EQ(error("t\n1 1 1 1\nrua 2 -2 3\n"),
            "io: stream:3: expected numbers of rows, columns and entries, found '-2'");
  EXPECT_EQ(error("t\n1 1 1 1\nrua 2 99999999999999999999 3\n"),
            "overflow: stream:3: '99999999999999999999' does not fit 63 bits");
  EXPECT_EQ(error("t\n1 1 1 1\nrsa 2 3 3\n"),
            "io: stream:3: a symmetric matrix is square, but this one has 2 rows and 3 columns");
}

TEST(harwell_boeing, bad_formats_are_told) {
  auto const with = [](std::string const& format) {
    return error_in_kind(values(format, "1 2 3\n"), hb);
  };
  auto const why = [](std::string const& format, std::string const& reason) {
    return "io: stream:4: cannot read the format of values '" + format + "': " + reason;
  };
  EXPECT_EQ(with("(3Z8)"), why("(3Z8)", "only I, F, E, D, G, X and P are read"));
  EXPECT_EQ(with("(3F)"), why("(3F)", "a field has no width"));
  EXPECT_EQ(with("(3F0.0)"), why("(3F0.0)", "a field has no width"));
  EXPECT_EQ(with("(3F8.)"), why("(3F8.)", "a point has no digits after it"));
  EXPECT_EQ(with("(3E8.1E)"), why("(3E8.1E)", "the width of an exponent is missing"));
  EXPECT_EQ(with("(0F8.1)"), why("(0F8.1)", "a repeat count is 0"));
  EXPECT_EQ(with("(-2F8.1)"), why("(-2F8.1)", "only a scale factor may be negative"));
  EXPECT_EQ(with("(F80.1)"), why("(F80.1)", "a field is wider than 64"));
  EXPECT_EQ(with("(3X)"), why("(3X)", "it has no number"));
  EXPECT_EQ(with("(3F8.1"), why("(3F8.1", "it ends before its )"));
  EXPECT_EQ(with(""), why("", "it does not start with ("));
  for (std::string const bomb : {"(999999(999999(2P)))", "(999999F8.1)", "(999999(999999X),F8.1)"})
    EXPECT_EQ(with(bomb), why(bomb, "it is too long"));
  EXPECT_EQ(with("(((((((((F8.1)))))))))"),
            why("(((((((((F8.1)))))))))", "it has too many groups within groups"));
}

TEST(harwell_boeing, bad_numbers_are_told_by_line) {
  auto const error = [](std::string const& pointers, std::string const& rows,
                        std::string const& vals) {
    return error_in_kind(header("rua", "2 2 3 0", "(3I3) (3I3) (3F5.1)") + pointers + "\n" + rows +
                             "\n" + vals + "\n",
                         hb);
  };
  std::string const p = "  1  2  4", r = "  1  1  2", v = "  1.0  2.0  3.0";
  EXPECT_EQ(error(p, r, v), "");
  EXPECT_EQ(error("  2  2  4", r, v), "io: stream:5: expected a pointer from 1 to 1, found '2'");
  EXPECT_EQ(error("  1  5  4", r, v), "io: stream:5: expected a pointer from 1 to 4, found '5'");
  EXPECT_EQ(error("  1  3  2", r, v), "io: stream:5: expected a pointer from 3 to 4, found '2'");
  EXPECT_EQ(error("  1  x  4", r, v), "io: stream:5: expected a pointer from 1 to 4, found 'x'");
  EXPECT_EQ(error("  1  2  3", r, v),
            "io: stream:5: the last pointer is 3, but 3 entries make it 4");
  EXPECT_EQ(error(p, "  1  1  3", v), "io: stream:6: expected a row from 1 to 2, found '3'");
  EXPECT_EQ(error(p, "  1  0  2", v), "io: stream:6: expected a row from 1 to 2, found '0'");
  EXPECT_EQ(error(p, "  1    2", v),
            "io: stream:6: 3 row indices promised, field 2 of the line is blank");
  EXPECT_EQ(error(p, r, "  1.0  2x0  3.0"), "io: stream:7: expected a number, found '2x0'");
  EXPECT_EQ(error(p, r, "  1.0  2E   3.0"), "io: stream:7: expected a number, found '2E'");
  EXPECT_EQ(error(p, r, "  1.0  2.0"),
            "io: stream:7: 3 values promised, field 3 of the line is blank");
  EXPECT_EQ(error(p, r, "1 1E999 1"), "overflow: stream:7: value 1E999 is too large for double");
  EXPECT_EQ(
      error_in_kind(header("rua", "2 2 3 0", "(3I3) (3I3) (3F5.1)") + p + "\n" + r + "\n", hb),
      "io: stream:6: 3 values promised, the file ends after 0");
}

TEST(harwell_boeing, promises_take_no_memory) {
  EXPECT_EQ(error_in_kind(header("rua", "9 2000000000 9000000000 0", "(3I3) (3I3) (3F5.1)") +
                              "  1  1  1\n",
                          hb),
            "io: stream:5: 2000000001 pointers promised, the file ends after 3");
  survives(header("rua", "9000000000000000000 1 9000000000000000000 0", "(3I20) (3I3) (3F5.1)") +
               "                   1 9000000000000000001\n  1  1  1\n",
           hb);
}

TEST(harwell_boeing, survives_damage) {
  survives_damage(picture, hb);
  survives_damage<complex>(header("cha", "2 2 3 0", "(3I2) (3I2) (1P,6F4.0)") +
                               " 1 3 4\n 1 2 2\n  1.  0.  2.  3.  4.  0.\n",
                           hb);
}

} // namespace
} // namespace tulle::test::harwell_boeing_test

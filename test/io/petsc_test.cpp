// SPDX-License-Identifier: Apache-2.0

// PETSc binary files: widths of integers and scalars, what follows, and what is refused.
#include "kinds.hpp"

#include <complex>

namespace tulle::test::petsc_test {
namespace {

file_hint const petsc{.kind = file_kind::petsc};
using complex = std::complex<double>;

template <class T>
std::string big(std::initializer_list<T> values) {
  std::string out;
  for (T const v : values)
    out += bytes_of(v, true);
  return out;
}

/// example() of files.hpp.
template <class I>
std::string head(I rows = 4, I entries = 7) {
  return big<I>({1211216, rows, 4, entries, 2, 1, 1, 3, 0, 2, 1, 3, 0, 1, 2});
}
std::string const values = big<double>({1, 2, 3, 4, 5, 6, 7});

TEST(petsc, integers_of_4_and_8_bytes) {
  EXPECT_EQ(read_kind(head<std::int32_t>() + values), example());
  EXPECT_EQ(read_kind(head<std::int64_t>() + values), example());
  EXPECT_EQ(read_kind(gzip(head<std::int32_t>() + values)), example());
}

TEST(petsc, scalars_are_told_by_the_length) {
  EXPECT_EQ(read_kind(head<std::int32_t>() + big<float>({1, 2, 3, 4, 5, 6, 7})), example());
  auto const a = read_kind<complex>(head<std::int32_t>() +
                                    big<double>({1, 9, 2, 9, 3, 9, 4, 9, 5, 9, 6, 9, 7, -1}));
  EXPECT_EQ(a.val, (array<complex>{{1, 9}, {2, 9}, {3, 9}, {4, 9}, {5, 9}, {6, 9}, {7, -1}}));
  EXPECT_EQ(a.col, example().col);
  EXPECT_EQ(error_in_kind(head<std::int32_t>() + values + values),
            "unsupported: stream: complex values cannot be read into a real matrix");
}

TEST(petsc, what_follows_the_matrix_is_ignored) {
  std::string const vector = big<std::int32_t>({1211214, 1}) + big<double>({5});
  EXPECT_EQ(read_kind(head<std::int32_t>() + values + vector), example());
  std::string const wide = big<std::int64_t>({1211214, 1}) + big<double>({5});
  EXPECT_EQ(read_kind(head<std::int64_t>() + values + wide), example());
}

TEST(petsc, rows_come_sorted) {
  EXPECT_EQ(read_kind(big<std::int32_t>({1211216, 1, 3, 2, 2, 2, 0}) + big<double>({7, 8})),
            (csr<double>{1, 3, {0, 2}, {0, 2}, {8, 7}}));
  EXPECT_EQ(read_kind(big<std::int32_t>({1211216, 2, 3, 0, 0, 0})),
            (csr<double>{2, 3, {0, 0, 0}, {}, {}}));
}

TEST(petsc, bad_fields_are_told_by_byte) {
  EXPECT_EQ(
      error_in_kind("abcdefgh", petsc),
      "io: stream: byte 0: expected the class id 1211216 of a PETSc matrix, found 1633837924");
  EXPECT_EQ(error_in_kind(big<std::int32_t>({1211216, -1, 4, 7}), petsc),
            "io: stream: byte 4: -1 rows");
  EXPECT_EQ(error_in_kind(big<std::int32_t>({1211216, 4, -9, 7}), petsc),
            "io: stream: byte 8: -9 columns");
  EXPECT_EQ(error_in_kind(big<std::int32_t>({1211216, 4, 4, -7}), petsc),
            "io: stream: byte 12: -7 entries");
  EXPECT_EQ(error_in_kind(big<std::int32_t>({1211216, 4, 4, -1}), petsc),
            "unsupported: stream: byte 12: a dense PETSc matrix, of which only AIJ is read");
  EXPECT_EQ(error_in_kind(head<std::int32_t>(2000000000) + values, petsc),
            "io: stream: byte 16: expected 2000000000 row lengths of 4 bytes, but only 100 bytes "
            "follow");
  EXPECT_EQ(error_in_kind(head<std::int32_t>(4, 2000000000) + values, petsc),
            "io: stream: byte 32: expected 2000000000 column indices of 4 bytes, but only 84 bytes "
            "follow");
  EXPECT_EQ(error_in_kind(head<std::int32_t>() + values + "x", petsc),
            "io: stream: byte 60: expected 7 values of 4, 8 or 16 bytes, but 57 bytes follow");
  auto text = head<std::int32_t>() + values;
  text[35] = 4; // the first column
  EXPECT_EQ(error_in_kind(text, petsc), "io: stream: byte 32: column 4 of row 0 is outside 0..3");
  text = head<std::int32_t>() + values;
  text[19] = 1; // the first row
  EXPECT_EQ(error_in_kind(text, petsc),
            "io: stream: byte 12: 7 entries promised, row lengths add up to 6");
  text[19] = 9;
  EXPECT_EQ(error_in_kind(text, petsc),
            "io: stream: byte 16: row 0 has 9 entries, expected 0 to 7");
}

TEST(petsc, survives_damage) {
  EXPECT_EQ(survives_damage(head<std::int32_t>() + values, petsc), 1); // floats, at half
  EXPECT_EQ(survives_damage(head<std::int64_t>() + values, petsc), 1);
}

} // namespace
} // namespace tulle::test::petsc_test

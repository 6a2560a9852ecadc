// SPDX-License-Identifier: Apache-2.0

// Which kind a file is, and the one door to all of them.
#include "kinds.hpp"

#include <complex>

namespace tulle::test::read_test {
namespace {

std::string kind_in(std::string const& name, std::string const& text) {
  folder const f;
  auto const path = f.write(name, text);
  std::string out;
  auto const error = error_of([&] { out = tulle::name(kind_of(path)); });
  return error.empty() ? out : error;
}

std::string const hb = "t\n3 1 1 1\nrsa 2 2 3 0\n(3i4) (3i4) (3f4.1)\n   1   3   4\n";

TEST(read, kinds_have_names) {
  std::string names;
  for (file_kind const k : all_file_kinds)
    names += std::string(name(k)) + " ";
  EXPECT_EQ(names, "mtx edges metis hb npz petsc ");
}

TEST(read, content_tells_before_the_name) {
  EXPECT_EQ(kind_in("a.txt", example_text), "mtx");
  EXPECT_EQ(kind_in("a.graph", "\xEF\xBB\xBF%%MatrixMarket matrix"), "mtx");
  EXPECT_EQ(kind_in("a.gz", gzip(example_text)), "mtx");
  EXPECT_EQ(kind_in("a.mtx", hb), "hb");
  EXPECT_EQ(kind_in("a.mtx", "PK\3\4 and so on"), "npz");
  EXPECT_EQ(kind_in("a.mtx", bytes_of<std::int32_t>(1211216, true) + "1234"), "petsc");
  EXPECT_EQ(kind_in("a.mtx", bytes_of<std::int64_t>(1211216, true)), "petsc");
}

TEST(read, the_name_tells_where_content_does_not) {
  std::string const numbers = "3 2\n1 2\n3 1\n";
  EXPECT_EQ(kind_in("a.graph", numbers), "metis");
  EXPECT_EQ(kind_in("a.METIS.gz", gzip(numbers)), "metis");
  EXPECT_EQ(kind_in("a.txt", numbers), "edges");
  EXPECT_EQ(kind_in("a.b.el", numbers), "edges");
  EXPECT_EQ(kind_in("a.rua", "nothing"), "hb");
  EXPECT_EQ(kind_in("a.npz", ""), "npz");
  EXPECT_EQ(kind_in("a.mtx", numbers), "mtx");
}

TEST(read, lines_tell_where_there_is_no_name) {
  EXPECT_EQ(kind_in("a", "# SNAP\n1 2\n"), "edges");
  EXPECT_EQ(kind_in("a", "3 2\n1 2\n3 1\n"), "edges");
  EXPECT_EQ(kind_in("a", "% KONECT\n1 2 0.5\n"), "edges");
  EXPECT_EQ(kind_in("a", "3 2\n2\n1 3\n2\n"), "metis");
  EXPECT_EQ(kind_in("a", "% c\n2 0\n\n\n1 1\n"), "metis");
  EXPECT_EQ(kind_in("a", "3 2 11 1\n"), "metis");
}

TEST(read, other_files_are_refused) {
  EXPECT_EQ(kind_in("a", ""), "io: a:1: the file is empty, expected a matrix");
  EXPECT_EQ(
      kind_in("a.pdf", "%PDF-1.5\nhello\n"),
      "io: a.pdf:1: expected %%MatrixMarket, an edge list, a METIS graph, Harwell-Boeing, npz "
      "or PETSc, found '%PDF-1.5'");
  folder const f;
  EXPECT_EQ(error_of([&] { kind_of(f / "none"); }),
            "io: none: cannot open: No such file or directory");
}

TEST(read, a_hint_is_stronger_than_content_and_name) {
  folder const f;
  auto const path = f.write("a.graph", "1 2\n2 1\n");
  EXPECT_EQ(read_matrix(path, {}, {.kind = file_kind::edges}),
            (csr<double>{2, 2, {0, 1, 2}, {1, 0}, {1, 1}}));
  EXPECT_NE(error_of([&] { read_matrix(path); }), "");
}

TEST(read, matrix_market_is_as_its_own_reader_has_it) {
  folder const f;
  for (std::string const& text : {std::string(example_text), gzip(example_text)}) {
    auto const path = f.write("a.mtx", text);
    EXPECT_EQ(read_matrix(path), example());
    EXPECT_EQ((matrix_file(path).to_coo<double, int, int>()), read_matrix_market_coo(path));
  }
  EXPECT_EQ(error_of([&] { read_matrix(f.write("b.mtx", "2 2\n")); }),
            "io: b.mtx:1: expected a banner that starts with %%MatrixMarket, found '2 2'");
}

TEST(read, a_file_is_parsed_before_its_types_are_chosen) {
  folder const f;
  matrix_file file(f.write("a.rsa", hb + "   1   2   2\n 1.0 2.0 3.0\n"));
  EXPECT_EQ(file.kind(), file_kind::harwell_boeing);
  EXPECT_EQ(file.header().rows, 2);
  EXPECT_EQ(file.header().entries, 3);
  EXPECT_EQ((file.to_coo<float, std::int64_t, std::int64_t>()),
            (coo<float, std::int64_t>{2, 2, {0, 1, 0, 1}, {0, 0, 1, 1}, {1, 2, 2, 3}}));
  EXPECT_EQ(error_of([&] { file.to_csr<double, int, int>(); }),
            "bad_structure: a.rsa: its matrix has been taken already");
}

TEST(read, options_hold_for_every_kind) {
  folder const f;
  auto const path = f.write("a.rsa", hb + "   1   2   2\n 1.0 0.0 3.0\n");
  EXPECT_EQ(read_matrix(path, {.symmetry = on_symmetry::keep}),
            (csr<double>{2, 2, {0, 1, 3}, {0, 0, 1}, {1, 0, 3}}));
  EXPECT_EQ(read_matrix(path, {.zeros = on_zeros::drop}),
            (csr<double>{2, 2, {0, 1, 2}, {0, 1}, {1, 3}}));
  matrix_market_header h;
  read_matrix(path, {.header = &h});
  EXPECT_EQ(h.symmetry, matrix_market::symmetry::symmetric);
  EXPECT_NE(error_of([&] { read_matrix(path, {.max_rows = 1}); }), "");
}

} // namespace
} // namespace tulle::test::read_test

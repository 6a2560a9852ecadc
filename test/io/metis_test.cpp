// SPDX-License-Identifier: Apache-2.0

// METIS graphs: every combination of weights, and what is refused.
#include "kinds.hpp"

namespace tulle::test::metis_test {
namespace {

file_hint const metis{.kind = file_kind::metis};
std::string const picture = "% a comment\n4 2 001\n2 5\n1 5 3 7\n2 7\n\n"; // of io/read.hpp
csr<double> const weighted{4, 4, {0, 1, 3, 4, 4}, {1, 0, 2, 1}, {5, 5, 7, 7}};
csr<double> const plain{4, 4, {0, 1, 3, 4, 4}, {1, 0, 2, 1}, {1, 1, 1, 1}};

TEST(metis, the_picture) {
  EXPECT_EQ(read_kind(picture, metis), weighted);
}

TEST(metis, weights_of_every_kind) {
  EXPECT_EQ(read_kind("4 2\n2\n1 3\n2\n\n", metis), plain);
  EXPECT_EQ(read_kind("4 2 0\n2\n3 1\n%\n2\n\n", metis), plain);
  EXPECT_EQ(read_kind("4 2 1\n2 5\n1 5 3 7\n2 7\n\n", metis), weighted);
  EXPECT_EQ(read_kind("4 2 10\n9 2\n9 1 3\n9 2\n9\n", metis), plain);
  EXPECT_EQ(read_kind("4 2 11\n9 2 5\n9 1 5 3 7\n9 2 7\n9\n", metis), weighted);
  EXPECT_EQ(read_kind("4 2 11 2\n9 8 2 5\n9 8 1 5 3 7\n9 8 2 7\n9 8\n", metis), weighted);
  EXPECT_EQ(read_kind("4 2 100\n3 2\n3 1 3\n3 2\n3\n", metis), plain);
  EXPECT_EQ(read_kind("4 2 111 2\n3 9 8 2 5\n3 9 8 1 5 3 7\n3 9 8 2 7\n3 9 8\n", metis), weighted);
  EXPECT_EQ(read_kind("0 0\n", metis), (csr<double>{0, 0, {0}, {}, {}}));
  EXPECT_EQ(read_kind("2 1 0 0\n2\n1", metis), (csr<double>{2, 2, {0, 1, 2}, {1, 0}, {1, 1}}));
}

TEST(metis, gzip_and_crlf) {
  EXPECT_EQ(read_kind(gzip(picture), metis), weighted);
  EXPECT_EQ(read_kind("4 2\r\n2\r\n1 3\r\n2\r\n\r\n\r\n", metis), plain);
}

TEST(metis, bad_headers_are_told) {
  EXPECT_EQ(error_in_kind("", metis),
            "io: stream:0: the file ends before the numbers of vertices and edges");
  EXPECT_EQ(error_in_kind("% a\n\n", metis),
            "io: stream:2: the file ends before the numbers of vertices and edges");
  EXPECT_EQ(error_in_kind("x 2\n", metis),
            "io: stream:1: expected the number of vertices, found 'x'");
  EXPECT_EQ(error_in_kind("4\n", metis), "io: stream:1: the line ends before the number of edges");
  EXPECT_EQ(error_in_kind("4 -2\n", metis),
            "io: stream:1: expected the number of edges, found '-2'");
  EXPECT_EQ(error_in_kind("99999999999999999999 2\n", metis),
            "overflow: stream:1: the number of vertices is '99999999999999999999', which does not "
            "fit 63 bits");
  for (std::string const fmt : {"2", "1000", "x"})
    EXPECT_EQ(error_in_kind("4 2 " + fmt + "\n", metis),
              "io: stream:1: expected which weights there are, up to three digits 0 or 1, found '" +
                  fmt + "'");
  EXPECT_EQ(error_in_kind("4 2 1 3\n", metis),
            "io: stream:1: 3 weights per vertex, but '1' says that vertices have none");
  EXPECT_EQ(error_in_kind("4 2 11 1 7\n", metis),
            "io: stream:1: expected 2 to 4 numbers (vertices, edges, weights, weights per vertex), "
            "then found '7'");
}

TEST(metis, bad_vertices_are_told) {
  auto const line_3 = [](std::string const& line) {
    return error_in_kind("3 2 1\n2 5\n" + line + "\n2 7\n", metis);
  };
  EXPECT_EQ(line_3("1 5 3 7"), "");
  EXPECT_EQ(line_3("1 5 4 7"), "io: stream:3: neighbour 4 is outside 1..3");
  EXPECT_EQ(line_3("1 5 0 7"), "io: stream:3: neighbour 0 is outside 1..3");
  EXPECT_EQ(line_3("1 5 2 7"), "io: stream:3: vertex 2 is its own neighbour");
  EXPECT_EQ(line_3("1 5 x 7"), "io: stream:3: expected a neighbour, found 'x'");
  EXPECT_EQ(line_3("1 5 3"), "io: stream:3: the line ends before the weight of an edge");
  EXPECT_EQ(line_3("1 5 3 y"), "io: stream:3: expected the weight of an edge, found 'y'");
  EXPECT_EQ(line_3("1 5 3 1e999"), "overflow: stream:3: weight 1e999 is too large for double");
  EXPECT_EQ(line_3("1 5"), "io: stream:1: 2 edges promised, which are 4 neighbours, found 3");
  EXPECT_EQ(line_3("1 5 3 8"),
            "io: stream:4: some edge stands on the line of one of its ends only, or has two "
            "weights");
  EXPECT_EQ(error_in_kind("2 1 110\n1 1 2\n1\n", metis),
            "io: stream:3: the line ends before the weight of a vertex");
  EXPECT_EQ(error_in_kind("2 1 100\n1 2\n\n", metis),
            "io: stream:3: the line ends before the size of a vertex");
  EXPECT_EQ(error_in_kind("3 1\n2\n1\n", metis),
            "io: stream:3: 3 vertices promised, the file ends after 2");
  EXPECT_EQ(error_in_kind("2 1\n2\n1\n\n1\n", metis),
            "io: stream:5: expected the end of the file after 2 vertices, found '1'");
}

TEST(metis, each_edge_has_two_ends) {
  // 1 names 2 and 3, but 2 names 3 and 3 names 2: four neighbours, as promised.
  EXPECT_NE(error_in_kind("3 2\n2 3\n3\n2\n", metis).find("one of its ends only"),
            std::string::npos);
}

TEST(metis, promises_take_no_memory) {
  EXPECT_EQ(error_in_kind<>("2000000000 4000000000\n\n", metis),
            "io: stream:2: 2000000000 vertices promised, the file ends after 1");
  survives("2000000000 4000000000 11 1000000000000\n1\n", metis);
}

TEST(metis, survives_damage) {
  survives_damage(picture, metis);
  survives_damage("4 2 111 2\n3 9 8 2 5\n3 9 8 1 5 3 7\n3 9 8 2 7\n3 9 8\n", metis);
}

} // namespace
} // namespace tulle::test::metis_test

// SPDX-License-Identifier: Apache-2.0

// Edge lists: ids, weights, separators, and what is refused.
#include "kinds.hpp"

#include <complex>

namespace tulle::test::edge_list_test {
namespace {

file_hint const edges{.kind = file_kind::edges};
file_hint const from_0{.kind = file_kind::edges, .ids = node_ids::from_0};
file_hint const from_1{.kind = file_kind::edges, .ids = node_ids::from_1};

TEST(edge_list, snap_files_are_directed_and_start_at_0) {
  EXPECT_EQ(read_kind("# Directed graph\n# FromNodeId\tToNodeId\n0\t2\n2\t1\n0\t1\n", edges),
            (csr<double>{3, 3, {0, 2, 2, 3}, {1, 2, 1}, {1, 1, 1}}));
}

TEST(edge_list, ids_start_at_1_where_there_is_no_0) {
  EXPECT_EQ(read_kind("% sym\n1 3\n3 2\n", edges),
            (csr<double>{3, 3, {0, 1, 1, 2}, {2, 1}, {1, 1}}));
  EXPECT_EQ(read_kind("1 3\n3 2\n", from_0), (csr<double>{4, 4, {0, 0, 1, 1, 2}, {3, 2}, {1, 1}}));
  EXPECT_EQ(error_in_kind("1 3\n3 0\n", from_1), "io: stream:2: id 0, but ids are to start at 1");
}

TEST(edge_list, the_header_says_what_ids_start_at) {
  std::istringstream zero("#a\n0 1\n");
  matrix_file const a(zero, {}, edges);
  EXPECT_EQ(a.header().comments, " edge list, ids from 0\na\n");
  EXPECT_EQ(a.header().field, matrix_market::field::pattern);
  EXPECT_EQ(a.header().entries, 1);
  std::istringstream one("1 1 2\n");
  matrix_file const b(one, {}, edges);
  EXPECT_EQ(b.header().comments, " edge list, ids from 1\n");
  EXPECT_EQ(b.header().field, matrix_market::field::real);
}

TEST(edge_list, weights_and_separators) {
  csr<double> const a{2, 2, {0, 1, 2}, {1, 0}, {0.5, -2000}};
  EXPECT_EQ(read_kind("0 1 0.5\n1 0 -2e3\n", edges), a);
  EXPECT_EQ(read_kind("0,1,0.5\n1,0,-2D3", edges), a);
  EXPECT_EQ(read_kind("\xEF\xBB\xBF"
                      " 0 ; 1 ;.5\r\n\r\n\t1;0;-2e+3  \r\n",
                      edges),
            a);
}

TEST(edge_list, rows_are_sorted_and_duplicates_are_as_the_options_say) {
  std::string const text = "0 2 1\n0 1 2\n0 2 3\n";
  EXPECT_EQ(read_kind(text, edges), (csr<double>{3, 3, {0, 3, 3, 3}, {1, 2, 2}, {2, 1, 3}}));
  EXPECT_EQ(read_kind(text, edges, {.duplicates = on_duplicates::sum}),
            (csr<double>{3, 3, {0, 2, 2, 2}, {1, 2}, {2, 4}}));
}

TEST(edge_list, many_edges_grow_over_segments) {
  std::string text;
  for (int k = 0; k < 5000; ++k)
    text += std::to_string(4999 - k) + " " + std::to_string(k) + "\n";
  auto const a = read_kind(text, edges);
  ASSERT_EQ(a.rows, 5000);
  for (std::size_t i = 0; i < 5000; ++i)
    ASSERT_EQ(a.col[i], 4999 - static_cast<int>(i));
  EXPECT_EQ(read_kind(gzip(text), edges), a);
}

TEST(edge_list, every_built_type) {
  EXPECT_EQ((read_kind<float, std::int64_t, std::int64_t>("0 1 0.1\n", edges)),
            (csr<float, std::int64_t, std::int64_t>{2, 2, {0, 1, 1}, {1}, {0.1f}}));
  EXPECT_EQ((read_kind<std::complex<double>>("0 1 0.1\n", edges)),
            (csr<std::complex<double>>{2, 2, {0, 1, 1}, {1}, {0.1}}));
  EXPECT_EQ(error_in_kind<float>("0 1 1e39\n", edges),
            "overflow: stream: value 9.9999999999999994e+38 is too large for float");
}

TEST(edge_list, bad_lines_are_told) {
  auto const line_3 = [](std::string const& line) {
    return error_in_kind("# a\n0 1 2\n" + line + "\n2 1 3\n", edges);
  };
  EXPECT_EQ(line_3("x 1 2"), "io: stream:3: expected the id of a node, found 'x'");
  EXPECT_EQ(line_3("-1 1 2"), "io: stream:3: expected the id of a node, found '-1'");
  EXPECT_EQ(line_3("1 1.5 2"), "io: stream:3: expected the id of a node, found '1.5'");
  EXPECT_EQ(line_3("1,,2"), "io: stream:3: expected the id of a node, found ''");
  EXPECT_EQ(line_3("1 1 x"), "io: stream:3: expected a weight, found 'x'");
  EXPECT_EQ(line_3("1 1 1e999"), "overflow: stream:3: weight 1e999 is too large for double");
  EXPECT_EQ(line_3("1 1"), "io: stream:3: expected 3 numbers as on line 2, found 2");
  EXPECT_EQ(line_3("1"), "io: stream:3: expected 3 numbers as on line 2, found 1");
  EXPECT_EQ(line_3("1 1 1 1"), "io: stream:3: expected 3 numbers as on line 2, found 4");
  EXPECT_EQ(line_3("9223372036854775807 1 1"),
            "overflow: stream:3: id 9223372036854775807 does not fit 63 bits");
  EXPECT_EQ(error_in_kind("1 2 3 4\n", edges),
            "io: stream:1: expected 2 or 3 numbers (from, to, weight), found 4");
  EXPECT_EQ(error_in_kind("7\n", edges),
            "io: stream:1: expected 2 or 3 numbers (from, to, weight), found 1");
  EXPECT_EQ(error_in_kind("# none\n\n", edges), "io: stream:2: the file ends without an edge");
}

TEST(edge_list, one_large_id_takes_no_memory) {
  auto const e = error_in_kind<double, std::int64_t>("0 1\n5 3000000000\n", edges);
  EXPECT_NE(e.find("stream: 3000000001 rows"), std::string::npos) << e;
  EXPECT_EQ(error_in_kind("0 1\n5 3000000000\n", edges),
            "overflow: stream: 3000000001 rows do not fit a 32-bit index");
}

TEST(edge_list, survives_damage) {
  survives_damage("# a\n0\t2\t1.5\n2 1 -2e1\r\n% b\n\n3,0,7\n", edges);
  survives_damage("1 2\n2 3\n", edges);
}

} // namespace
} // namespace tulle::test::edge_list_test

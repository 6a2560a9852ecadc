// SPDX-License-Identifier: Apache-2.0

// Memory follows what a file holds: absurd claims, bombs of what is not an entry.
#include "files.hpp"
#include "support/memory.hpp"

#include <complex>

namespace tulle::test::matrix_market_memory_test {
namespace {

constexpr std::size_t most = std::size_t{64} << 20;
using wide = std::int64_t;

std::string head(std::string const& sizes, char const* symmetry = "general") {
  return "%%MatrixMarket matrix coordinate real " + std::string(symmetry) + "\n" + sizes + "\n";
}
std::string repeat(std::string const& text, std::size_t bytes) {
  std::string out;
  out.reserve(bytes);
  while (out.size() < bytes)
    out += text;
  return out;
}

/// The most bytes that were held while a text was read, and what was thrown.
struct outcome {
  std::size_t csr = 0, coo = 0;
  std::string csr_error, coo_error;
};
template <class V = double>
outcome read_both(std::string const& text, read_options options = {}) {
  outcome out;
  peak_memory csr_memory, coo_memory;
  options.memory = &csr_memory;
  out.csr_error = error_of([&] { read_text<V, wide>(text, options); });
  options.memory = &coo_memory;
  out.coo_error = error_of([&] { read_text_coo<V, wide>(text, options); });
  out.csr = csr_memory.peak();
  out.coo = coo_memory.peak();
  EXPECT_EQ(csr_memory.outstanding() + coo_memory.outstanding(), 0u);
  return out;
}

TEST(matrix_market_memory, rows_are_paid_for_by_entries) {
  for (char const* symmetry : {"general", "symmetric", "skew-symmetric"}) {
    auto const text = head("3000000000 3000000000 2", symmetry) + "3000000000 1 1\n2 1 7\n";
    auto const seen = read_both(text);
    EXPECT_EQ(seen.csr_error,
              "io: stream: 3000000000 rows but 2 entries; CSR has an offset for each row, so it "
              "takes 4194336 of them (max_rows says otherwise), COO any number");
    EXPECT_EQ(seen.coo_error, "");
    EXPECT_LT(seen.csr, most);
    EXPECT_LT(seen.coo, most);
    EXPECT_EQ(read_both(text, {.duplicates = on_duplicates::sum}).coo_error, "");
    EXPECT_LT(read_both(text, {.duplicates = on_duplicates::sum}).coo, most);
  }
}

TEST(matrix_market_memory, text_does_not_pay_for_rows) {
  std::string const text = head("3000000000 1 1") + repeat("\n", 48 << 20) + "5 1 1\n";
  auto const seen = read_both(text);
  EXPECT_EQ(seen.csr_error.substr(0, 3), "io:");
  EXPECT_LT(seen.csr, most);
}

TEST(matrix_market_memory, other_claims_cost_nothing) {
  for (auto const& text :
       {head("3 3000000000 2") + "1 3000000000 1\n3 1 1\n", head("3 3 1000000000000") + "1 1 1\n",
        head("3000000000 3000000000 3000000000") + "1 1 1\n",
        std::string("%%MatrixMarket matrix array real general\n3000000000 3000000000\n1\n"),
        std::string("%%MatrixMarket matrix array real symmetric\n3000000000 3000000000\n1\n"),
        std::string("%%MatrixMarket matrix array real general\n0 3000000000\n")}) {
    auto const seen = read_both(text);
    EXPECT_LT(seen.csr, most) << text;
    EXPECT_LT(seen.coo, most) << text;
  }
}

TEST(matrix_market_memory, hypersparse_duplicates_are_summed) {
  auto const a = read_text_coo<double, wide>(
      head("3000000000 4000000000 4") + "3000000000 7 1\n2 4000000000 2\n3000000000 7 3\n2 9 5\n",
      {.duplicates = on_duplicates::sum});
  EXPECT_EQ(a, (coo<double, wide>{
                   3000000000, 4000000000, {1, 1, 2999999999}, {8, 3999999999, 6}, {5, 2, 4}}));
}

TEST(matrix_market_memory, hypersparse_symmetric_matrices_are_written) {
  std::string const text = head("3000000000 3000000000 2", "symmetric") + "2 2 7\n3000000000 2 1\n";
  auto const a = read_text_coo<double, wide>(text);
  peak_memory memory;
  std::ostringstream out;
  write_matrix_market(out, a, {.symmetry = matrix_market::symmetry::symmetric, .memory = &memory});
  EXPECT_EQ(out.str(), text);
  EXPECT_LT(memory.peak(), most);
  coo<double, wide> const b{3000000000, 3000000000, {2999999999}, {5}, {1}};
  EXPECT_EQ(error_of([&] {
              write_matrix_market(out, b, {.symmetry = matrix_market::symmetry::symmetric});
            }),
            "bad_structure: write_matrix_market: not symmetric: entry (2999999999, 5) is stored "
            "without its mirror image");
}

TEST(matrix_market_memory, bombs_of_lines_are_defused) {
  constexpr std::size_t size = std::size_t{60} << 20;
  for (std::string const line : {"\n", " \n", "% x\n"}) {
    std::string const many = gzip(repeat(line, size));
    for (int threads : {8}) { // whose buffers are the largest
      read_options const how{.threads = threads};
      auto const between = read_both<std::complex<double>>(
          gzip("%%MatrixMarket matrix coordinate pattern general\n1 1 1\n") + many + gzip("1 1\n"),
          how);
      EXPECT_EQ(between.csr_error, "");
      EXPECT_EQ(between.coo_error, "");
      EXPECT_LT(between.csr, most) << line << threads;
      EXPECT_LT(between.coo, most) << line << threads;
      matrix_market_header h;
      read_options before = how;
      before.header = &h;
      auto const seen = read_both(gzip("%%MatrixMarket matrix coordinate real general\n") + many +
                                      gzip("1 1 1\n1 1 7\n"),
                                  before);
      EXPECT_EQ(seen.coo_error, "");
      EXPECT_LT(seen.coo, most) << line << threads;
      EXPECT_LE(h.comments.capacity(), std::size_t{4} << 20) << line << threads;
    }
  }
}

TEST(matrix_market_memory, a_bomb_of_one_line_is_refused) {
  std::string const line = std::string(std::size_t{60} << 20, ' ');
  for (auto const& text : {line, "%" + line}) {
    auto const between = read_both(gzip(head("1 1 1") + text + "\n1 1 7\n"));
    EXPECT_NE(between.csr_error.find("longer than 4194304 bytes"), std::string::npos)
        << between.csr_error;
    EXPECT_LT(between.csr, most);
    auto const before = read_both(
        gzip("%%MatrixMarket matrix coordinate real general\n" + text + "\n1 1 1\n1 1 7\n"));
    EXPECT_NE(before.coo_error.find("longer than 4194304 bytes"), std::string::npos);
    EXPECT_LT(before.coo, most);
  }
}

TEST(matrix_market_memory, a_line_may_have_four_megabytes_whatever_the_buffers) {
  std::size_t const room = (std::size_t{4} << 20) - 5; // beside "1 1 7"
  for (int threads : {1, 2, 8})
    for (std::size_t chunk : {std::size_t{100}, std::size_t{1} << 20, std::size_t{1} << 24}) {
      read_options const how{.threads = threads, .chunk_bytes = chunk};
      EXPECT_EQ(read_text(head("1 1 1") + std::string(room, ' ') + "1 1 7\n", how).val,
                (array<double>{7}));
      EXPECT_EQ(error_in(head("1 1 1") + std::string(room + 1, ' ') + "1 1 7\n", how),
                "io: stream: the line at byte 52 of the text is longer than 4194304 bytes");
    }
}

TEST(matrix_market_memory, members_without_text_cost_nothing) {
  std::string packed = gzip(head("1 1 1"));
  std::string const empty = gzip("");
  for (int k = 0; k < 200000; ++k)
    packed += empty;
  auto const seen = read_both(packed + gzip("1 1 7\n"));
  EXPECT_EQ(seen.csr_error, "");
  EXPECT_LT(seen.csr, most);
}

} // namespace
} // namespace tulle::test::matrix_market_memory_test

// SPDX-License-Identifier: Apache-2.0

// Errors that say what was expected, and the help.
#include "gen/entries.hpp"

#include <gtest/gtest.h>
#include <string>
#include <utility>

namespace tulle::test::errors_test {
namespace {

TEST(gen_errors, name_what_exists_and_what_was_meant) {
  auto const [code, message] = refusal("gen:poison2d5:3");
  EXPECT_EQ(code, errc::unsupported);
  EXPECT_NE(message.find("gen:poison2d5:3"), std::string::npos) << message;
  EXPECT_NE(message.find("did you mean poisson2d5?"), std::string::npos) << message;
  for (gen::generator_info const& g : gen::generators())
    EXPECT_NE(message.find(g.name), std::string::npos) << message;
  EXPECT_NE(refusal("like:webase").second.find("did you mean Webbase?"), std::string::npos);
  EXPECT_NE(refusal("like:qqqqqqqqqqqq").second.find("soc-LiveJournal1"), std::string::npos);
}

TEST(gen_errors, say_what_was_expected) {
  EXPECT_EQ(
      refusal("gen:poisson2d5:abc"),
      std::pair(errc::unsupported,
                std::string(
                    "gen:poisson2d5:abc: expected a number for N in gen:poisson2d5:N, not 'abc'")));
  EXPECT_EQ(refusal("rmat:18"),
            std::pair(errc::unsupported, std::string("rmat:18: expected gen:rmat:SCALE:PER_ROW")));
  for (char const* spec : {"",
                           "gen:",
                           "@",
                           "gen:@3",
                           "poisson2d5",
                           "poisson2d5:",
                           "poisson2d5:-3",
                           "poisson2d5:3.5",
                           "poisson2d5: 3",
                           "poisson2d5:3:",
                           "poisson2d5:3:4",
                           "diffusion2d5:",
                           "diffusion2d5:3:4",
                           "diffusion2d5:3:jumps",
                           "diffusion2d5:3:jumps=",
                           "diffusion2d5:3:jumps=x",
                           "diffusion2d5:3:jumps=2x",
                           "diffusion2d5:3:jumps=0",
                           "diffusion2d5:3:jumps=-2",
                           "diffusion2d5:3:jumps=nan",
                           "diffusion2d5:3:jumps=.5",
                           "diffusion2d5:3:jumps=1e10",
                           "diffusion2d5:3:jumps=2:jumps=2",
                           "diffusion2d5:jumps=2",
                           "rmat:3::4",
                           "rmat::",
                           "dense:1:2:3",
                           "dense:3@",
                           "dense:3@x",
                           "dense:3@-1",
                           "like",
                           "like:",
                           "DENSE:3",
                           "gen:gen:dense:3"})
    EXPECT_EQ(refusal(spec).first, errc::unsupported) << spec;
}

TEST(gen_errors, report_sizes_that_do_not_fit_before_allocating) {
  for (char const* spec : {"dense:100000",
                           "poisson3d27:1000000",
                           "poisson3d27:18446744073709551615",
                           "poisson2d5:46341",
                           "diffusion2d5:46341",
                           "diffusion3d27:1000000:jumps=3",
                           "poisson3d7:700",
                           "poisson2d9:18446744073709551615",
                           "poisson2d5:99999999999999999999999",
                           "fem:200000000",
                           "rmat:31:1",
                           "rmat:64:1",
                           "rmat:18446744073709551615:1",
                           "rmat:20:3000",
                           "circuit:400000000",
                           "lattice:3000000000",
                           "lattice:600000000",
                           "lattice:18446744073709551615",
                           "lp:3000000000:5:1",
                           "lp:2:3000000000:1",
                           "lp:2000000:2000000:1000000",
                           "banded:100000:50000",
                           "banded:18446744073709551615:18446744073709551615",
                           "random:100000:100000:3000000000",
                           "random:3000000000:3:1",
                           "permutation:3000000000",
                           "dense:3000000000:0",
                           "dense:1@99999999999999999999"})
    EXPECT_EQ(refusal(spec).first, errc::overflow) << spec << ": " << refusal(spec).second;
  auto const wide = [](char const* spec) {
    return error_of([&] { generate<double, std::int64_t, std::int64_t>(spec); }).first;
  };
  EXPECT_EQ(wide("poisson3d27:1000000"), errc::overflow);
  EXPECT_EQ(wide("dense:10000000000"), errc::overflow);
  EXPECT_EQ(wide("banded:9223372036854775807:9223372036854775807"), errc::overflow);
  EXPECT_EQ(wide("random:9000000000:9000000000:3"), errc::overflow);
  EXPECT_EQ(
      error_of([] { generate<double, std::int32_t, std::int64_t>("dense:3000000000:1"); }).first,
      errc::overflow);
}

TEST(gen_errors, refuse_more_entries_than_places) {
  EXPECT_EQ(
      refusal("random:2:2:9"),
      std::pair(
          errc::bad_structure,
          std::string("gen:random:2:2:9: 9 entries, but 2 rows of 2 columns have places for 4")));
  EXPECT_EQ(refusal("random:0:5:1").first, errc::bad_structure);
  EXPECT_EQ(refusal("lp:5:5:7").first, errc::bad_structure);
}

TEST(gen_help, mentions_every_generator_and_model) {
  std::string const text = gen::help();
  for (gen::generator_info const& g : gen::generators())
    EXPECT_NE(text.find(std::string(g.name) + ":" + g.parameters), std::string::npos) << g.name;
  for (gen::model const& m : gen::models())
    EXPECT_NE(text.find(m.name), std::string::npos) << m.name;
}

} // namespace
} // namespace tulle::test::errors_test

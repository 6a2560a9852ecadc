// SPDX-License-Identifier: Apache-2.0
#include "tulle/core/error.hpp"

#include "bench/bench.hpp"
#include "bench/report.hpp"
#include "bench/spmv/spmv.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <memory>
#include <unistd.h>

namespace tulle::bench {
namespace {

// One of each kind, a few seconds each.
std::vector<std::string> const quick_suite{
    "gen:poisson2d5:1000", "gen:poisson3d27:60", "gen:fem:60000",          "gen:lattice:500000",
    "gen:rmat:17:16",      "gen:circuit:200000", "gen:lp:1024:250000:1300"};
// The sizes that documentation quotes: well above the caches where the class allows it.
std::vector<std::string> const generated_suite{
    "gen:poisson2d5:2000",      "gen:poisson2d9:1500",  "gen:poisson3d7:160",
    "gen:poisson3d27:100",      "gen:fem:60000",        "gen:lattice:500000",
    "gen:rmat:18:16",           "gen:rmat:20:16",       "gen:circuit:500000",
    "gen:lp:4096:1100000:2600", "gen:banded:1000000:8", "gen:random:1000000:1000000:10000000",
    "gen:permutation:4000000",  "gen:dense:2048"};

// OpenMP reads its settings when it is loaded, so pinned threads need a second start of the
// program.
void pin_threads() {
  if (std::getenv("OMP_PROC_BIND"))
    return;
  setenv("OMP_PROC_BIND", "close", 1);
  setenv("OMP_PLACES", "cores", 0);
  std::vector<std::string> words;
  std::ifstream line("/proc/self/cmdline", std::ios::binary);
  for (std::string word; std::getline(line, word, '\0');)
    words.push_back(word);
  std::vector<char*> arguments;
  for (auto& w : words)
    arguments.push_back(w.data());
  arguments.push_back(nullptr);
  execv("/proc/self/exe", arguments.data()); // where that fails, unpinned threads do
}

void run(options const& o) {
  pin_threads();
  std::vector<std::string> const& matrices = !o.matrices.empty()      ? o.matrices
                                             : o.suite == "generated" ? generated_suite
                                                                      : quick_suite;
  std::ofstream json;
  if (!o.json.empty()) {
    json.open(o.json);
    if (!json)
      fail(errc::io, "%s: cannot be written", o.json.c_str());
  }
  std::vector<record> all;
  for (auto const& matrix : matrices) {
    auto const records = spmv(matrix, o);
    fmt::print("{}\n", table(records, isatty(STDOUT_FILENO)));
    std::fflush(stdout);
    for (record const& r : records) {
      all.push_back(r);
      if (json.is_open())
        json << json_line(r) << '\n';
    }
  }
  fmt::print("ratio: time of a read of the CSR arrays, x and y over the time of the call; 1 is as "
             "fast as CSR can be.\n"
             "convert: time of conversion and planning, in calls.\n{}",
             closing_line(all));
  if (json.is_open() && !json.flush())
    fail(errc::io, "%s: could not be written to the end", o.json.c_str());
}

} // namespace

void add_bench_command(CLI::App& app) {
  auto* const bench =
      app.add_subcommand("bench", "Measure operations, formats and peers side by side");
  bench->require_subcommand(1);
  auto const o = std::make_shared<options>();
  auto* const spmv = bench->add_subcommand("spmv", "y = A x in every format");
  spmv->add_option("matrix", o->matrices,
                   "Files (.mtx, .mtx.gz) or generators (gen:fem:60000); none: the suite");
  spmv->add_option("--suite", o->suite, "quick or generated")
      ->check(CLI::IsMember({"quick", "generated"}));
  spmv->add_option("--formats", o->formats, "Formats, separated by commas, or all")
      ->delimiter(',')
      ->allow_extra_args(false);
  spmv->add_option("--peers", o->peers, "Peers, separated by commas; all or none")
      ->delimiter(',')
      ->allow_extra_args(false);
  spmv->add_option("--value", o->value, "Value type")
      ->check(CLI::IsMember({"f32", "f64"}))
      ->capture_default_str();
  spmv->add_option("--index", o->index, "Index type")
      ->check(CLI::IsMember({"i32", "i64"}))
      ->capture_default_str();
  spmv->add_option("--threads", o->threads, "Threads; 0: all")->check(CLI::Range(0, 4096));
  spmv->add_option("--json", o->json, "Write one record a line to this file");
  spmv->add_flag("--quick", o->quick,
                 "A tenth of a second for each contestant instead of half of one");
  spmv->add_flag("--cold", o->cold, "Flush the caches before each call");
  spmv->footer("Examples:\n"
               "  tulle bench spmv\n"
               "  tulle bench spmv gen:poisson3d27:100 cant.mtx.gz --threads 2 --json out.json\n"
               "  tulle bench spmv --suite generated --formats csr --peers eigen,openmp");
  spmv->callback([o] { run(*o); });
}

} // namespace tulle::bench

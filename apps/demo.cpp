// SPDX-License-Identifier: Apache-2.0

// tulle demo: the first thing to run. On a few matrices csr as given, what optimize() picks and
// why, and the peers that are there; at most 40 lines.
#include "tulle/core/device.hpp"
#include "tulle/core/machine.hpp"

#include "apps/command.hpp"
#include "apps/support/options.hpp"
#include "apps/support/restart.hpp"
#include "apps/support/spool.hpp"
#include "apps/support/text.hpp"
#include "bench/html/model.hpp"
#include "bench/source.hpp"
#include "bench/spmv/spmv.hpp"
#include "bench/summary.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <memory>
#include <unistd.h>

namespace tulle::app {
namespace {

namespace fs = std::filesystem;
using bench::record;

constexpr std::size_t shown_peers = 2; // of each matrix, the fastest ones
constexpr int bar_width = 28;

struct example {
  char const *matrix, *about;
};
// The first two are files that come with tulle.
constexpr example examples[] = {{"4elt.mtx.gz", "a finite-element mesh"},
                                {"rajat01.mtx.gz", "a circuit with a few dense rows"},
                                {"gen:diffusion2d5:1000", "a grid, five points"},
                                {"gen:fem:60000", "finite elements in space"},
                                {"gen:rmat:17:16", "a graph with a power law"}};

/// The program as it was called: what the next commands begin with.
std::string program() {
  std::ifstream words("/proc/self/cmdline", std::ios::binary);
  std::string first;
  std::getline(words, first, '\0');
  return first.empty() ? "tulle" : first;
}

/// A file that comes with tulle: where it is installed, or in the source tree. Empty where it is in
/// neither.
std::string shipped(std::string const& name) {
  std::error_code ignored;
  fs::path const folder = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (char const* const there : {"../share/tulle/data", "../../../data"})
    if (fs::path const file = folder / there / name; fs::exists(file, ignored)) {
      fs::path const shorter = fs::relative(file, ignored);
      return !shorter.empty() && shorter.string().size() < file.lexically_normal().string().size()
                 ? shorter.string()
                 : file.lexically_normal().string();
    }
  return "";
}

bool has_blocks() {
  for (char const* const variable : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (char const* const value = std::getenv(variable); value && *value) {
      std::string const text = value;
      return text.find("UTF-8") != std::string::npos || text.find("utf8") != std::string::npos;
    }
  return false;
}

/// `share` of the whole width, padded to it.
std::string bar(double share, bool blocks) {
  static constexpr char const* eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  double const length = std::clamp(share, 0.0, 1.0) * bar_width;
  int const whole = static_cast<int>(length);
  auto const part = static_cast<std::size_t>((length - whole) * 8);
  std::string out;
  for (int k = 0; k < whole; ++k)
    out += blocks ? "█" : "#";
  bool const has_part = blocks && part > 0;
  out += has_part ? eighths[part] : "";
  return out + std::string(static_cast<std::size_t>(bar_width - whole - has_part), ' ');
}

/// What one matrix gave.
struct finding {
  std::string matrix; ///< as `tulle` takes it
  std::string about;  ///< what kind it is; empty where nobody said
  std::vector<record> records;

  record const* find(char const* format) const {
    for (record const& r : records)
      if (r.verified && r.peer.empty() && r.format == format)
        return &r;
    return nullptr;
  }
  /// The fastest first.
  std::vector<record> peers() const {
    std::vector<record> all;
    for (record const& r : records)
      if (r.verified && !r.peer.empty())
        all.push_back(r);
    std::stable_sort(all.begin(), all.end(),
                     [](record const& a, record const& b) { return a.seconds < b.seconds; });
    return all;
  }
  /// How much faster r is than the fastest peer; 0 without one.
  double against_peers(record const& r) const {
    auto const rivals = peers();
    return rivals.empty() ? 0 : rivals.front().seconds / r.seconds; // as the numbers shown divide
  }
};

class table {
public:
  table() : blocks_(has_blocks()), colour_(isatty(STDOUT_FILENO) == 1) {}

  void print(finding const& f, std::vector<std::string>& hidden) const {
    record const& any = f.records.front();
    fmt::print("{}: {}{} x {}, {} entries\n", bench::matrix_name(f.matrix),
               f.about.empty() ? "" : f.about + ", ", count_text(any.rows), count_text(any.cols),
               count_text(any.nnz));
    std::vector<record> const peers = f.peers();
    double most = 0;
    for (record const& r : f.records)
      most = r.verified ? std::max(most, r.gflops) : most;
    for (auto const& [format, called] :
         {std::pair{"csr", "tulle, CSR as given"}, std::pair{"optimize", "tulle, optimize()"}})
      if (record const* const r = f.find(format))
        line(called, *r, most, f.against_peers(*r));
      else
        fmt::print("  {:<20} no right result\n", called);
    for (std::size_t k = 0; k < peers.size(); ++k)
      if (k < shown_peers)
        line(peers[k].peer == "openmp" ? "OpenMP loop over CSR" : bench::label(peers[k]), peers[k],
             most, 0);
      else
        hidden.push_back(bench::label(peers[k]));
    fmt::print("\n");
    std::fflush(stdout);
  }

private:
  void line(std::string const& called, record const& r, double most, double ratio) const {
    bool const own = r.peer.empty();
    std::string const text = fmt::format(
        "  {:<20} {}{}{} {:>6.2f}  {:<6} {}", called, colour_ ? own ? "\033[34m" : "\033[90m" : "",
        bar(most > 0 ? r.gflops / most : 0, blocks_), colour_ ? "\033[0m" : "", r.gflops,
        ratio > 0 ? fmt::format("{:.2f}x", ratio) : "", r.why);
    fmt::print("{}\n", text.substr(0, text.find_last_not_of(' ') + 1));
  }

  bool blocks_, colour_;
};

double mean(std::vector<finding> const& all, char const* format) {
  std::vector<double> ratios;
  for (finding const& f : all)
    if (record const* const r = f.find(format))
      ratios.push_back(f.against_peers(*r));
  return bench::html::geometric_mean(ratios);
}

json to_json(finding const& f) {
  json list = json::array();
  for (record const& r : f.records)
    list.push_back({{"name", bench::label(r)},
                    {"peer", !r.peer.empty()},
                    {"verified", r.verified},
                    {"seconds", r.seconds},
                    {"gflops", r.gflops},
                    {"against_best_peer", r.verified ? f.against_peers(r) : 0},
                    {"path", r.path},
                    {"why", r.why}});
  record const& any = f.records.front();
  return {{"matrix", f.matrix}, {"about", f.about}, {"rows", any.rows},
          {"cols", any.cols},   {"nnz", any.nnz},   {"contestants", list}};
}

void next_commands(std::string const& matrix) {
  std::string const tulle = program();
  bool const has_gpu = !devices(backend::cuda).empty();
  std::vector<std::pair<std::string, std::string>> const commands = {
      {tulle + " recommend " + matrix, "which format suits a matrix, and what else was considered"},
      {tulle + " demo YOUR.mtx", "the same for a matrix of yours"},
      {tulle + " bench spmv " + matrix + (has_gpu ? " --backend cuda" : ""),
       has_gpu ? "every format on the GPU, against cuSPARSE" : "every format, and every peer"}};
  std::size_t width = 0;
  for (auto const& [command, about] : commands)
    width = std::max(width, command.size());
  fmt::print("Next:\n");
  for (auto const& [command, about] : commands)
    fmt::print("  {:<{}}   {}\n", command, width, about);
}

struct demo_options {
  std::vector<std::string> matrices;
  int threads = 0;
  json_output json;
};

void run(demo_options const& o) {
  setenv("OMP_PLACES", "cores", 0); // as in `tulle bench`: a thread stays where its cache is
  restart_with("OMP_PROC_BIND", "close");
  bench::options how;
  how.formats = {"csr", "optimize"};
  how.how = bench::effort::quick;
  bool const says = !o.json.alone();
  std::vector<finding> wanted;
  std::vector<std::string> remarks;
  for (std::string const& matrix : o.matrices)
    wanted.push_back({matrix, "", {}});
  if (wanted.empty())
    for (auto const& [matrix, about] : examples) {
      bool const is_file = !is_generator(matrix);
      if (std::string const found = is_file ? shipped(matrix) : matrix; !found.empty())
        wanted.push_back({found, about, {}});
      else
        remarks.push_back(fmt::format("{} was not found next to the program", matrix));
    }
  if (says)
    fmt::print(
        "y = A x in double precision on {}, {}.\n"
        "Bars and the first number: GFlop/s. The second: speed against the fastest peer.\n\n",
        machine::here().processor,
        plural(static_cast<std::uint64_t>(bench::threads_of(how)), "thread"));
  table const shown;
  std::vector<finding> all;
  std::vector<std::string> hidden;
  for (finding& f : wanted) {
    f.records = bench::spmv(rereadable(f.matrix), how, remarks);
    if (f.records.empty())
      continue;
    if (says)
      shown.print(f, hidden);
    all.push_back(std::move(f));
  }
  if (all.empty())
    fail(errc::unsupported, "demo: no matrix could be measured");
  double const given = mean(all, "csr"), picked = mean(all, "optimize");
  if (o.json) {
    json list = json::array();
    for (finding const& f : all)
      list.push_back(to_json(f));
    o.json.print({{"processor", machine::here().processor},
                  {"threads", bench::threads_of(how)},
                  {"mean_csr_against_best_peer", given},
                  {"mean_optimize_against_best_peer", picked},
                  {"matrices", list},
                  {"remarks", remarks}});
  }
  if (!says)
    return;
  if (given > 0)
    fmt::print(
        "Geometric mean against the fastest peer: CSR as given {:.2f}x, optimize() {:.2f}x.\n",
        given, picked);
  else
    fmt::print("No peer was built, so there is nothing to compare with.\n");
  std::sort(hidden.begin(), hidden.end());
  hidden.erase(std::unique(hidden.begin(), hidden.end()), hidden.end());
  if (!hidden.empty())
    fmt::print("Also measured, and slower: {}.\n", fmt::join(hidden, ", "));
  next_commands(all.front().matrix);
}

} // namespace

void add_demo_command(CLI::App& app) {
  CLI::App* const command =
      app.add_subcommand("demo", "Measure a few matrices: what tulle is worth on this machine");
  auto const o = std::make_shared<demo_options>();
  command->add_option("MATRIX", o->matrices, std::string(matrix_help) + "; none: five examples");
  add_threads_option(*command);
  add_json_option(*command, o->json);
  command->footer(
      "Compares y = A x for CSR as given, for the format that optimize() picks, and for the\n"
      "libraries that were found when tulle was built. Takes about ten seconds.\n\n"
      "Examples:\n"
      "  tulle demo\n"
      "  tulle demo cant.mtx.gz --threads 8");
  command->callback([o] { run(*o); });
}

} // namespace tulle::app

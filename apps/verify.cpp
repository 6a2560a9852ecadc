// SPDX-License-Identifier: Apache-2.0

// tulle verify: does the file read, and do all formats agree on it?
#include "tulle/core/error.hpp"
#include "tulle/core/machine.hpp"

#include "apps/command.hpp"
#include "apps/support/matrix.hpp"
#include "apps/support/options.hpp"
#include "apps/support/restart.hpp"
#include "apps/support/spool.hpp"
#include "apps/support/text.hpp"
#include "apps/verify_matrix.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <spawn.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace tulle::app {
namespace {

struct verify_options {
  std::vector<std::string> matrices;
  std::string isa = "active";
  json_output json;
};

bool is_matrix_file(std::filesystem::path const& p) {
  std::string const name = p.filename().string();
  return name.ends_with(".mtx") || name.ends_with(".mtx.gz");
}

// Folders as the matrices in them, in the order of their names.
std::vector<std::string> expand(std::vector<std::string> const& specs) {
  std::vector<std::string> out;
  for (std::string const& spec : specs) {
    if (is_generator(spec) || !std::filesystem::is_directory(spec)) {
      out.push_back(spec);
      continue;
    }
    std::vector<std::string> found;
    for (auto const& entry : std::filesystem::directory_iterator(spec))
      if (entry.is_regular_file() && is_matrix_file(entry.path()))
        found.push_back(entry.path().string());
    if (found.empty())
      fail(errc::io, "%s: no .mtx or .mtx.gz file in this folder", spec.c_str());
    std::sort(found.begin(), found.end());
    out.insert(out.end(), found.begin(), found.end());
  }
  return out;
}

json to_json(verification const& v) {
  return {{"matrix", v.name},       {"ok", v.ok()},
          {"rows", v.rows},         {"cols", v.cols},
          {"nnz", v.nnz},           {"formats", v.formats},
          {"types", v.types},       {"isas", {name(active_isa())}},
          {"checks", v.checks},     {"failed", v.failed},
          {"failures", v.failures}, {"notes", v.notes},
          {"seconds", v.seconds}};
}

void print_line(json const& v) {
  bool const ok = v["ok"];
  if (v["checks"] == 0) { // it was not even read
    fmt::print("FAIL  {}\n", v["failures"][0].get<std::string>());
    std::fflush(stdout);
    return;
  }
  std::string sets;
  for (json const& s : v["isas"])
    sets += (sets.empty() ? "" : " ") + s.get<std::string>();
  fmt::print("{:<4}  {:<28} {} x {}, {} entries; {} formats, {} types, {} checks, {}; {:.2f} s\n",
             ok ? "OK" : "FAIL", v["matrix"].get<std::string>(), count_text(v["rows"]),
             count_text(v["cols"]), count_text(v["nnz"]), v["formats"].size(), v["types"].size(),
             count_text(v["checks"]), sets, v["seconds"].get<double>());
  for (json const& f : v["failures"])
    fmt::print("      {}\n", f.get<std::string>());
  if (std::uint64_t const more = v["failed"].get<std::uint64_t>() - v["failures"].size(); more != 0)
    fmt::print("      and {} more\n", count_text(more));
  std::fflush(stdout);
}

// This program again, on one matrix under one instruction set: the choice of a set is made once in
// a process. A crash over there is a failure here.
json run_under(char const* set, std::string const& spec) {
  int ends[2];
  if (pipe(ends) != 0)
    fail(errc::io, "verify: no pipe: %s", std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  if (!isatty(STDERR_FILENO)) // its progress is for a terminal; its complaint is in the JSON
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  setenv("TULLE_ISA", set, 1);
  std::vector<std::string> words = {"tulle", "verify", "--json", "--", spec};
  std::vector<char*> arguments;
  for (std::string& w : words)
    arguments.push_back(w.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  int const started =
      posix_spawn(&child, "/proc/self/exe", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; started == 0 &&
                  ((n = read(ends[0], buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR));)
    text.append(buffer, n > 0 ? static_cast<std::size_t>(n) : 0);
  close(ends[0]);
  if (started != 0)
    fail(errc::io, "verify: cannot start itself: %s", std::strerror(started));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  json const answer = json::parse(text, nullptr, false);
  if (answer.is_object() && answer.contains("matrices") && answer["matrices"].size() == 1)
    return answer["matrices"][0];
  verification none;
  none.name = spec;
  json failed = to_json(none);
  failed["isas"] = {set};
  failed["ok"] = false;
  failed["failed"] = 1;
  failed["failures"] = {WIFSIGNALED(status)
                            ? fmt::format("{}: killed by signal {} ({})", set, WTERMSIG(status),
                                          strsignal(WTERMSIG(status)))
                            : fmt::format("{}: ended with status {}", set, WEXITSTATUS(status))};
  return failed;
}

// One matrix under each set that this processor runs, as one result.
json verify_under_all(std::string const& spec) {
  json all;
  for (std::size_t i = 0; i < isa_count; ++i) {
    isa const set = static_cast<isa>(i);
    if (!has(set))
      continue;
    json one = run_under(name(set), spec);
    bool const read =
        one["checks"] != 0; // else the failure is the file's, and the same under each set
    if (all.is_null()) {
      all = std::move(one);
      if (read)
        for (json& f : all["failures"])
          f = fmt::format("{}: {}", name(set), f.get<std::string>());
      else
        return all;
      continue;
    }
    all["ok"] = all["ok"].get<bool>() && one["ok"].get<bool>();
    all["isas"].push_back(name(set));
    for (json const& f : one["failures"])
      all["failures"].push_back(fmt::format("{}: {}", name(set), f.get<std::string>()));
    for (char const* const sum : {"checks", "failed"})
      all[sum] = all[sum].get<std::uint64_t>() + one[sum].get<std::uint64_t>();
    all["seconds"] = all["seconds"].get<double>() + one["seconds"].get<double>();
  }
  return all;
}

void run(verify_options const& o) {
  // Seven threads on two cores: those that wait must not spin. Ten times faster on small matrices.
  restart_with("OMP_WAIT_POLICY", "passive");
  std::vector<std::string> const specs = expand(o.matrices);
  std::size_t failed = 0;
  json results = json::array();
  for (std::string const& spec : specs) {
    json one = o.isa == "all" ? verify_under_all(rereadable(spec)) : to_json(verify_matrix(spec));
    failed += !one["ok"].get<bool>();
    if (!o.json.alone())
      print_line(one);
    results.push_back(std::move(one));
  }
  if (o.json)
    o.json.print({{"ok", failed == 0}, {"failed", failed}, {"matrices", results}});
  if (failed != 0)
    throw std::runtime_error(fmt::format("verify: {} of {} failed", failed, specs.size()));
}

} // namespace

void add_verify_command(CLI::App& app) {
  CLI::App* const command =
      app.add_subcommand("verify", "Check that all formats and backends agree on a matrix");
  auto const o = std::make_shared<verify_options>();
  command->add_option("MATRIX", o->matrices, std::string(matrix_help) + "; or a folder of files")
      ->required();
  command
      ->add_option("--isa", o->isa,
                   "Instruction sets to run: the active one, or all that this processor has")
      ->check(CLI::IsMember({"active", "all"}))
      ->capture_default_str();
  add_json_option(*command, o->json);
  command->footer("Every format, method and type pair, plain and transposed, is compared with "
                  "sums in extended precision, row by\n"
                  "row within c eps sum |a_ij x_j|, and with itself for 1, 2, 3 and 7 threads, bit "
                  "by bit. Conversion\n"
                  "there and back and refill are checked too. Exit status 1 if anything fails.\n\n"
                  "Examples:\n"
                  "  tulle verify a.mtx b.mtx.gz\n"
                  "  tulle verify matrices --isa all\n"
                  "  tulle verify gen:circuit:5000 --json");
  command->callback([o] { run(*o); });
}

} // namespace tulle::app

// SPDX-License-Identifier: Apache-2.0

// tulle, the command line. Exit status 0, or 1 with one line on stderr.
#include "tulle/core/parallel.hpp"
#include "tulle/version.hpp"

#include "apps/command.hpp"
#include "bench/bench.hpp"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <memory>
#include <new>
#include <string>

namespace {

int complain(std::string message) {
  while (!message.empty() && message.back() == '\n')
    message.pop_back();
  std::replace(message.begin(), message.end(), '\n', ' ');
  std::fflush(stdout);
  fmt::print(stderr, "tulle: {}\n", message);
  return 1;
}

void overview(CLI::App const& app) {
  fmt::print("tulle {}: a parallel Sparse BLAS\n\n", tulle::version());
  for (CLI::App const* const command : app.get_subcommands({}))
    fmt::print("  tulle {:<11} {}\n", command->get_name(), command->get_description());
  fmt::print("\nWherever a matrix is wanted, it is a file (Matrix Market, edge list, METIS,\n"
             "Harwell-Boeing, npz, PETSc) or a generator:\n\n"
             "  tulle info bcsstk13.mtx.gz\n"
             "  tulle spy gen:rmat:12:8 -o rmat.png\n\n"
             "tulle COMMAND --help says more.\n");
}

// --json[=FILE], and no types where names or choices say more.
class help_text : public CLI::Formatter {
public:
  std::string make_option_name(CLI::Option const* o, bool is_positional) const override {
    std::string text = Formatter::make_option_name(o, is_positional);
    if (auto const at = text.find("{-}"); at != std::string::npos)
      text.replace(at, 3, "[=FILE]");
    return text;
  }
  std::string make_option_opts(CLI::Option const* o) const override {
    std::string text = Formatter::make_option_opts(o);
    if (auto const at = text.find(":{"); at != std::string::npos)
      text.erase(1, at); // TEXT
    // The name of an argument that goes by its place says what it is.
    if (o->get_positional() && text.starts_with(" TEXT"))
      text.erase(0, 5);
    struct shorter {
      char const *check, *text;
    };
    for (auto const& [check, by] : {shorter{":INT in ", " in "},
                                    {":FLOAT in ", " in "},
                                    {":POSITIVE", " > 0"},
                                    {":NONNEGATIVE", " >= 0"}})
      if (auto const at = text.find(check); at != std::string::npos)
        text.replace(at, std::string_view(check).size(), by);
    return text;
  }
};

// What was asked for wrongly, in one line, and where to look.
int bad_usage(CLI::App const& app, CLI::ParseError const& e) {
  std::string asked = "tulle";
  CLI::App const* deepest = &app;
  while (!deepest->get_subcommands().empty()) {
    deepest = deepest->get_subcommands().front();
    asked += " " + deepest->get_name();
  }
  if (deepest == &app)
    if (auto const extras = app.remaining(); !extras.empty() && !extras.front().starts_with("-"))
      return complain(
          fmt::format("no command is called '{}'; tulle --help lists them", extras.front()));
  return complain(fmt::format("{}; {} --help says more", e.what(), asked));
}

} // namespace

int main(int argc, char** argv) {
  CLI::App app("A parallel Sparse BLAS: look at matrices, make, convert, check and measure them.",
               "tulle");
  app.formatter(std::make_shared<help_text>());
  app.parse_complete_callback([] { tulle::default_threads(); }); // a bad TULLE_THREADS ends all
  app.set_version_flag("--version", std::string("tulle ") + tulle::version());
  app.require_subcommand(0, 1);
  app.footer("Wherever a matrix is wanted, it is a file (Matrix Market, edge list, METIS, "
             "Harwell-Boeing,\n"
             "npz, PETSc; found by content and name) or a generator (tulle gen --list).\n"
             "--json prints JSON instead of text, --json=FILE writes it to a file as well.\n"
             "--threads or TULLE_THREADS sets the number of threads, 1 to 1024, TULLE_ISA the "
             "instruction\n"
             "set.");
  tulle::app::add_demo_command(app);
  tulle::app::add_info_command(app);
  tulle::app::add_gen_command(app);
  tulle::app::add_convert_command(app);
  tulle::app::add_show_command(app);
  tulle::app::add_spy_command(app);
  tulle::app::add_recommend_command(app);
  tulle::app::add_verify_command(app);
  tulle::bench::add_bench_command(app);
  tulle::app::add_solve_command(app);
  tulle::app::add_devices_command(app);
  tulle::app::add_completion_command(app);

  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty())
      overview(app);
    if (std::fflush(stdout) != 0 || std::ferror(stdout))
      return complain("standard output cannot be written");
    return 0;
  } catch (CLI::ParseError const& e) {
    return e.get_exit_code() == 0 ? app.exit(e) : bad_usage(app, e);
  } catch (std::bad_alloc const&) {
    return complain("out of memory");
  } catch (std::exception const& e) {
    return complain(e.what());
  }
}

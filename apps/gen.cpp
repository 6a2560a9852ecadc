// SPDX-License-Identifier: Apache-2.0

// tulle gen: a generated matrix as a file.
#include "tulle/gen/generate.hpp"

#include "apps/command.hpp"
#include "apps/support/matrix.hpp"
#include "apps/support/options.hpp"
#include "apps/support/progress.hpp"
#include "apps/support/text.hpp"

#include <chrono>
#include <fmt/format.h>
#include <memory>

namespace tulle::app {
namespace {

struct gen_options {
  std::string spec, out = "-", value;
  bool list = false, gzip = false;
  json_output json;
};

void list(json_output const& out) {
  if (!out.alone())
    fmt::print("{}", gen::help());
  if (!out)
    return;
  json generators = json::array();
  for (gen::generator_info const& g : gen::generators())
    generators.push_back({{"name", g.name}, {"parameters", g.parameters}, {"help", g.help}});
  json models = json::array();
  for (gen::model const& m : gen::models())
    models.push_back({{"name", m.name}, {"rows", m.rows}, {"cols", m.cols}, {"nnz", m.nnz}});
  out.print({{"generators", generators}, {"models", models}});
}

void run(gen_options const& o) {
  if (o.list)
    return list(o.json);
  if (o.spec.empty())
    throw CLI::RequiredError("SPEC");
  bool const to_stdout = o.out == "-";
  check_matrix_file(o.out);
  check_one_on_stdout(o.json, to_stdout);
  std::string const spec = is_generator(o.spec) ? o.spec : "gen:" + o.spec;
  loaded const made = load(spec, {.value = o.value});
  write_options options{.comments = "tulle " + made.name + "\n"};
  if (o.gzip)
    options.gzip = true;
  auto const start = std::chrono::steady_clock::now();
  visit(made.matrix.type(), [&](auto types) {
    using T = decltype(types);
    auto const& a =
        *made.matrix.get_if<csr<typename T::value, typename T::index, typename T::offset>>();
    progress const shown("writing " + o.out);
    write_matrix_market(o.out, a, options);
  });
  std::chrono::duration<double> const took = std::chrono::steady_clock::now() - start;
  if (o.json)
    o.json.print({{"matrix", made.name},
                  {"output", o.out},
                  {"rows", made.matrix.rows()},
                  {"cols", made.matrix.cols()},
                  {"nnz", made.matrix.nnz()},
                  {"type", name(made.matrix.type())},
                  {"generate_seconds", made.seconds},
                  {"write_seconds", took.count()}});
  if (!o.json.alone() && !to_stdout)
    fmt::print("{}: {} x {}, {} entries\n", o.out, count_text(made.matrix.rows()),
               count_text(made.matrix.cols()), count_text(made.matrix.nnz()));
}

} // namespace

void add_gen_command(CLI::App& app) {
  CLI::App* const command = app.add_subcommand("gen", "Make a matrix and write it to a file");
  auto const o = std::make_shared<gen_options>();
  command->add_option("SPEC", o->spec,
                      "The generator and its numbers: rmat:18:16, with a seed rmat:18:16@7");
  add_output_option(*command, o->out,
                    "Matrix Market file; compressed if it ends in .gz; - or none: standard output");
  command->add_flag("--gzip", o->gzip, "Compress, whatever the file is called");
  add_value_option(*command, o->value);
  add_threads_option(*command);
  command->add_flag("--list", o->list, "List the generators");
  add_json_option(*command, o->json);
  command->footer("Examples:\n"
                  "  tulle gen --list\n"
                  "  tulle gen poisson2d5:3\n"
                  "  tulle gen rmat:16:8@7 -o rmat.mtx.gz\n"
                  "  tulle gen fem:1000 | tulle info -");
  command->callback([o] { run(*o); });
}

} // namespace tulle::app

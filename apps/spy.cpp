// SPDX-License-Identifier: Apache-2.0

// tulle spy: a picture of the pattern.
#include "apps/command.hpp"
#include "apps/picture.hpp"
#include "apps/support/matrix.hpp"
#include "apps/support/options.hpp"
#include "apps/support/progress.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>

namespace tulle::app {
namespace {

struct spy_options {
  std::string matrix, out;
  std::size_t size = 800;
  bool dark = false;
  json_output json;
};

void run(spy_options const& o) {
  check_one_on_stdout(o.json, o.out == "-");
  loaded const from = load(o.matrix, {.file_order = true});
  progress shown("drawing " + from.name);
  layout const l = lay_out(from.matrix.rows(), from.matrix.cols(), o.size);
  auto const weight = bin_entries(from.matrix, l);
  write_png(o.out, paint(weight, l, o.dark), l.width(), l.height());
  shown.clear();
  if (o.json)
    o.json.print(
        {{"matrix", from.name},
         {"output", o.out},
         {"rows", from.matrix.rows()},
         {"cols", from.matrix.cols()},
         {"nnz", from.matrix.nnz()},
         {"width", l.width()},
         {"height", l.height()},
         {"left", l.margin + 1},
         {"top", l.margin + 1},
         {"bins", {l.y.bins, l.x.bins}},
         {"cell", {l.y.cell, l.x.cell}},
         {"fullest_bin", weight.empty() ? 0 : *std::max_element(weight.begin(), weight.end())}});
  if (!o.json.alone() && o.out != "-")
    fmt::print("{}: {} x {} pixels\n", o.out, l.width(), l.height());
}

} // namespace

void add_spy_command(CLI::App& app) {
  CLI::App* const command = app.add_subcommand("spy", "Draw the pattern as a PNG picture");
  auto const o = std::make_shared<spy_options>();
  command->add_option("MATRIX", o->matrix, matrix_help)->required();
  add_output_option(*command, o->out, "PNG file; -: standard output")->required();
  command->add_option("--size", o->size, "Most pixels on the longer side")
      ->type_name("N")
      ->check(CLI::Range(16, 16384))
      ->capture_default_str();
  command->add_flag("--dark", o->dark, "Light entries on dark paper");
  add_threads_option(*command);
  add_json_option(*command, o->json, "where the picture's pixels lie");
  command->footer(
      "The darker a pixel, the more entries fall on it, by the logarithm of their number. Small\n"
      "matrices are drawn with whole pixels a cell; very long or wide ones are stretched.\n\n"
      "Examples:\n"
      "  tulle spy bcsstk13.mtx.gz -o bcsstk13.png\n"
      "  tulle spy gen:rmat:12:8 -o rmat.png --size 1200 --dark");
  command->callback([o] { run(*o); });
}

} // namespace tulle::app

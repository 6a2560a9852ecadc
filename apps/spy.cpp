// SPDX-License-Identifier: Apache-2.0

// tulle spy: a picture of the pattern, or of where a layout keeps its entries.
#include "tulle/core/error.hpp"
#include "tulle/op/convert.hpp"

#include "apps/command.hpp"
#include "apps/picture.hpp"
#include "apps/storage_order.hpp"
#include "apps/support/matrix.hpp"
#include "apps/support/options.hpp"
#include "apps/support/progress.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>

namespace tulle::app {
namespace {

struct spy_options {
  std::string matrix, out, format;
  std::size_t size = 800;
  bool dark = false;
  json_output json;
};

/// Entries in the colour of their place in a layout.
void run_order(spy_options const& o) {
  loaded const from = load(o.matrix, {.duplicates = on_duplicates::sum});
  any_matrix const csr = convert(from.matrix, format::csr); // rows sorted
  layout const l = lay_out(csr.rows(), csr.cols(), o.size);
  if (l.y.bins < csr.rows() || l.x.bins < csr.cols())
    fail(errc::unsupported,
         "spy: with --format each entry needs a pixel, but a matrix of %zu x %zu is drawn on "
         "%zu x %zu; --size can be larger",
         csr.rows(), csr.cols(), l.y.bins, l.x.bins);
  storage_order const order = storage_order_of(csr, tulle::layout::parse(o.format));
  std::vector<double> at(l.y.bins * l.x.bins, -1);
  double const last = order.slots > 1 ? static_cast<double>(order.slots - 1) : 1;
  for (auto const& [row, col, place] : order.entries)
    at[row * l.x.bins + col] = static_cast<double>(place) / last;
  write_png(o.out, paint_sequence(at, l, o.dark), l.width(), l.height());
  if (o.json)
    o.json.print({{"matrix", from.name},
                  {"output", o.out},
                  {"layout", o.format},
                  {"rows", csr.rows()},
                  {"cols", csr.cols()},
                  {"nnz", csr.nnz()},
                  {"slots", order.slots},
                  {"width", l.width()},
                  {"height", l.height()},
                  {"left", l.margin + 1},
                  {"top", l.margin + 1},
                  {"cell", {l.y.cell, l.x.cell}}});
  if (!o.json.alone() && o.out != "-")
    fmt::print("{}: {} x {} pixels; nnz {}, slots for values {}\n", o.out, l.width(), l.height(),
               csr.nnz(), order.slots);
}

void run(spy_options const& o) {
  check_one_on_stdout(o.json, o.out == "-");
  if (!o.format.empty())
    return run_order(o);
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
  add_layout_option(*command, o->format,
                    "Colour each entry by its place in this layout, blue first and red last: sell, "
                    "sell:chunk=4");
  command->add_flag("--dark", o->dark, "Light entries on dark paper");
  add_threads_option(*command);
  add_json_option(*command, o->json, "where the picture's pixels lie");
  command->footer(
      "The darker a pixel, the more entries fall on it, by the logarithm of their number. Small\n"
      "matrices are drawn with whole pixels a cell; very long or wide ones are stretched.\n\n"
      "Examples:\n"
      "  tulle spy bcsstk13.mtx.gz -o bcsstk13.png\n"
      "  tulle spy gen:rmat:12:8 -o rmat.png --size 1200 --dark\n"
      "  tulle spy gen:poisson2d5:6 -o sell.png --format sell:chunk=4");
  command->callback([o] { run(*o); });
}

} // namespace tulle::app

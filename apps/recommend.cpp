// SPDX-License-Identifier: Apache-2.0

// tulle recommend: the layout that suits a matrix, and what else was looked at.
#include "tulle/choose/features.hpp"
#include "tulle/op/optimize.hpp"

#include "apps/command.hpp"
#include "apps/support/matrix.hpp"
#include "apps/support/options.hpp"
#include "apps/support/progress.hpp"

#include <fmt/format.h>
#include <memory>

namespace tulle::app {
namespace {

struct recommend_options {
  std::string matrix;
  double calls = optimize_options{}.calls;
  json_output json;
};

json of_features(features const& f) {
  return {{"rows", f.rows},
          {"cols", f.cols},
          {"nnz", f.nnz},
          {"value_bytes", f.value_bytes},
          {"row_length", f.row_length},
          {"empty_rows", f.empty_rows},
          {"changed_rows", f.changed_rows},
          {"stepped_rows", f.stepped_rows},
          {"far_entries", f.far_entries},
          {"distant_entries", f.distant_entries},
          {"sliced_fill", f.sliced_fill},
          {"shifted", f.shifted},
          {"same_columns", f.same_columns},
          {"diagonals", f.diagonals},
          {"diagonal_fill", f.diagonal_fill},
          {"repeated_values", f.repeated_values}};
}

void run(recommend_options const& o) {
  loaded const in = load(o.matrix);
  progress shown("looking at " + in.name);
  std::vector<candidate> const all = recommend(in.matrix.ref(), {.calls = o.calls, .among = {}});
  shown.clear();
  if (o.json) {
    json list = json::array();
    for (candidate const& c : all)
      list.push_back(c.remark.empty() ? json{{"layout", name(c.layout)},
                                             {"bytes", c.bytes},
                                             {"call", c.call},
                                             {"convert", c.convert},
                                             {"total", c.total}}
                                      : json{{"layout", name(c.layout)}, {"remark", c.remark}});
    o.json.print({{"matrix", in.name},
                  {"type", name(in.matrix.type())},
                  {"calls", o.calls},
                  {"layout", name(all.front().layout)},
                  {"features", of_features(look_at(in.matrix.ref()))},
                  {"considered", list}});
  }
  if (o.json.alone())
    return;
  fmt::print("{}: {} for {:g} products\n\n  {:<19} {:>10} {:>10} {:>12} {:>10}\n", in.name,
             name(all.front().layout), o.calls, "", "MB", "product", "conversion", "all");
  for (candidate const& c : all)
    if (c.remark.empty())
      fmt::print("  {:<19} {:>10.1f} {:>10.2f} {:>12.0f} {:>10.1f}\n", name(c.layout),
                 c.bytes / 1e6, c.call, c.convert, c.total);
    else
      fmt::print("  {:<19} {}\n", name(c.layout), c.remark);
  fmt::print("\nCosts are in products of csr, estimated from what the matrix looks like; all: "
             "conversion and products.\n");
}

} // namespace

void add_recommend_command(CLI::App& app) {
  CLI::App* const command =
      app.add_subcommand("recommend", "Say which layout suits a matrix, and why");
  auto const o = std::make_shared<recommend_options>();
  command->add_option("MATRIX", o->matrix, matrix_help)->required();
  command->add_option("--calls", o->calls, "Number of products that will follow")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  add_threads_option(*command);
  add_json_option(*command, o->json);
  command->footer("Examples:\n"
                  "  tulle recommend bcsstk13.mtx.gz\n"
                  "  tulle recommend gen:fem:60000 --calls 20");
  command->callback([o] { run(*o); });
}

} // namespace tulle::app

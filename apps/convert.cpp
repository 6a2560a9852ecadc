// SPDX-License-Identifier: Apache-2.0

// tulle convert: Matrix Market in, Matrix Market out.
#include "tulle/op/transpose.hpp"

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

namespace mm = matrix_market;

struct convert_options {
  std::string in, out, value, symmetry = "keep", duplicates = "keep";
  bool transpose = false, pattern = false, gzip = false;
  json_output json;
};

// What the written file's banner says.
write_options choose(convert_options const& o, loaded const& from) {
  write_options w;
  if (!from.header) {
    w.comments = "tulle " + from.name + "\n";
  } else {
    mm::field const field = from.header->field;
    w.comments = from.header->comments;
    w.symmetry = o.symmetry == "keep" ? from.header->symmetry : mm::symmetry::general;
    if (field == mm::field::integer || field == mm::field::unsigned_integer ||
        field == mm::field::pattern)
      w.field = field;
    if (!o.value.empty())
      w.field.reset();
  }
  if (o.pattern)
    w.field = mm::field::pattern;
  // A pattern has no values to be skew or conjugated: both triangles are one pattern.
  if (w.field == mm::field::pattern && w.symmetry != mm::symmetry::general)
    w.symmetry = mm::symmetry::symmetric;
  if (o.gzip)
    w.gzip = true;
  return w;
}

void run(convert_options const& o) {
  bool const to_stdout = o.out == "-";
  check_matrix_file(o.out);
  check_one_on_stdout(o.json, to_stdout);
  loaded from =
      load(o.in, {.value = o.value,
                  .duplicates = o.duplicates == "sum" ? on_duplicates::sum : on_duplicates::keep,
                  .file_order = !o.transpose});
  if (o.transpose)
    from.matrix = transpose(from.matrix);
  write_options const w = choose(o, from);
  auto const start = std::chrono::steady_clock::now();
  matrix_market_header const written = visit(from.matrix.type(), [&](auto types) {
    using T = decltype(types);
    using V = typename T::value;
    using I = typename T::index;
    using O = typename T::offset;
    progress const shown("writing " + o.out);
    auto const write = [&](auto const& a) {
      if (!o.pattern || w.symmetry != mm::symmetry::symmetric)
        return write_matrix_market(o.out, a, w);
      // Ones, so that a skew or Hermitian matrix passes as its own mirror image.
      auto ones = a;
      std::fill(ones.val.begin(), ones.val.end(), V(1));
      return write_matrix_market(o.out, ones, w);
    };
    if (auto const* const a = from.matrix.get_if<coo<V, I, O>>())
      return write(*a);
    return write(*from.matrix.get_if<csr<V, I, O>>());
  });
  std::chrono::duration<double> const took = std::chrono::steady_clock::now() - start;
  if (o.json)
    o.json.print({{"input", o.in},
                  {"output", o.out},
                  {"rows", written.rows},
                  {"cols", written.cols},
                  {"entries", written.entries},
                  {"field", name(written.field)},
                  {"symmetry", name(written.symmetry)},
                  {"type", name(from.matrix.type())},
                  {"read_seconds", from.seconds},
                  {"write_seconds", took.count()}});
  if (!o.json.alone() && !to_stdout)
    fmt::print("{}: {} x {}, {} entries, {} {}\n", o.out,
               count_text(static_cast<std::uint64_t>(written.rows)),
               count_text(static_cast<std::uint64_t>(written.cols)),
               count_text(static_cast<std::uint64_t>(written.entries)), name(written.field),
               name(written.symmetry));
}

} // namespace

void add_convert_command(CLI::App& app) {
  CLI::App* const command =
      app.add_subcommand("convert", "Rewrite a matrix as a Matrix Market file");
  auto const o = std::make_shared<convert_options>();
  command->add_option("MATRIX", o->in, matrix_help)->required();
  command
      ->add_option("OUT", o->out,
                   "Matrix Market file; compressed if it ends in .gz; - for standard output")
      ->required()
      ->type_name("FILE");
  command
      ->add_option(
          "--symmetry", o->symmetry,
          "keep: one triangle where MATRIX has one, its duplicates summed; expand: both triangles")
      ->check(CLI::IsMember({"keep", "expand"}))
      ->capture_default_str();
  command
      ->add_option("--duplicates", o->duplicates,
                   "sum: one entry for each place; keep: as they are")
      ->check(CLI::IsMember({"sum", "keep"}))
      ->capture_default_str();
  command->add_flag("--transpose", o->transpose, "Write the transpose, row by row");
  command->add_flag("--pattern", o->pattern, "Leave the values out");
  add_value_option(*command, o->value);
  command->add_flag("--gzip", o->gzip, "Compress, whatever OUT is called");
  add_threads_option(*command);
  add_json_option(*command, o->json);
  command->footer("Comments are kept.\n\n"
                  "Examples:\n"
                  "  tulle convert a.mtx a.mtx.gz\n"
                  "  tulle convert bcsstk13.mtx.gz both.mtx --symmetry expand\n"
                  "  tulle convert a.mtx transposed.mtx --transpose\n"
                  "  tulle convert a.mtx pattern.mtx --pattern --duplicates sum\n"
                  "  curl -s https://example.org/a.mtx.gz | tulle convert - - --transpose | less");
  command->callback([o] { run(*o); });
}

} // namespace tulle::app

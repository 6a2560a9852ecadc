// SPDX-License-Identifier: Apache-2.0

// tulle show: the arrays of a small matrix in any format.
#include "tulle/core/error.hpp"
#include "tulle/core/named_array.hpp"
#include "tulle/op/convert.hpp"

#include "apps/command.hpp"
#include "apps/drawing.hpp"
#include "apps/support/matrix.hpp"
#include "apps/support/options.hpp"
#include "apps/support/text.hpp"

#include <charconv>
#include <fmt/format.h>
#include <memory>

namespace tulle::app {
namespace {

struct show_options {
  std::string matrix, format = "csr", value, rows, cols;
  std::size_t limit = 500;
  json_output json;
};

struct range {
  std::size_t first = 0, end = 0;
};

// "2:20", ":20", "2:" and "" as rows or columns of a matrix that has n; the end may lie beyond it.
range range_of(char const* option, std::string const& text, std::size_t n) {
  range r{0, n};
  if (text.empty())
    return r;
  auto const number = [&](std::string_view digits, std::size_t& to) {
    auto const [stop, code] = std::from_chars(digits.data(), digits.data() + digits.size(), to);
    return digits.empty() || (code == std::errc() && stop == digits.data() + digits.size());
  };
  std::size_t const colon = text.find(':');
  if (colon == std::string::npos || !number(std::string_view(text).substr(0, colon), r.first) ||
      !number(std::string_view(text).substr(colon + 1), r.end))
    throw CLI::ValidationError(
        option, fmt::format("expected FIRST:END, as in 0:20, counted from 0, found '{}'", text));
  r.end = std::min(r.end, n);
  if (r.first > r.end)
    throw CLI::ValidationError(
        option, fmt::format("{} is none of the {} that the matrix has", text, count_text(n)));
  return r;
}

// The matrix of these rows and columns, counted anew.
any_matrix part_of(any_matrix const& csr_of_all, range rows, range cols) {
  return visit(csr_of_all.type(), [&](auto types) -> any_matrix {
    using T = decltype(types);
    using V = typename T::value;
    using I = typename T::index;
    using O = typename T::offset;
    auto const& a = *csr_of_all.get_if<csr<V, I, O>>();
    array<O> row_ptr(rows.end - rows.first + 1, O(0));
    std::vector<I> col;
    std::vector<V> val;
    for (std::size_t i = rows.first; i < rows.end; ++i) {
      for (auto k = static_cast<std::size_t>(a.row_ptr[i]);
           k < static_cast<std::size_t>(a.row_ptr[i + 1]); ++k)
        if (auto const j = static_cast<std::size_t>(a.col[k]); cols.first <= j && j < cols.end) {
          col.push_back(static_cast<I>(j - cols.first));
          val.push_back(a.val[k]);
        }
      row_ptr[i + 1 - rows.first] = static_cast<O>(col.size());
    }
    return csr<V, I, O>(static_cast<I>(rows.end - rows.first),
                        static_cast<I>(cols.end - cols.first), std::move(row_ptr),
                        array<I>(col.data(), col.size()), array<V>(val.data(), val.size()));
  });
}

json values_of(named_array const& a) {
  json all = json::array();
  visit(a, [&](auto const& elements) {
    for (auto const& v : elements)
      if constexpr (requires { v.real(); })
        all.push_back({v.real(), v.imag()});
      else
        all.push_back(v);
  });
  return all;
}

json to_json(show_options const& o, std::string const& matrix, any_matrix const& a,
             parameter_list const& parameters) {
  json out = {{"matrix", matrix},       {"rows", a.rows()},   {"cols", a.cols()},
              {"nnz", a.nnz()},         {"layout", o.format}, {"format", name(a.format())},
              {"type", name(a.type())}, {"bytes", a.bytes()}};
  out["parameters"] = json::object();
  for (auto const& [name, value] : parameters)
    out["parameters"][name] = value;
  for (named_array const& one : arrays(a))
    out["arrays"][one.name] = {{"type", name(one.element)}, {"values", values_of(one)}};
  return out;
}

void run(show_options const& o) {
  loaded const in = load(o.matrix, {.value = o.value, .duplicates = on_duplicates::sum});
  range const rows = range_of("--rows", o.rows, in.matrix.rows());
  range const cols = range_of("--cols", o.cols, in.matrix.cols());
  bool const whole = o.rows.empty() && o.cols.empty();
  std::string matrix = in.name;
  if (!o.rows.empty())
    matrix += fmt::format(", rows {}:{}", rows.first, rows.end);
  if (!o.cols.empty())
    matrix += fmt::format(", columns {}:{}", cols.first, cols.end);
  char const* const advice = "show a part of the matrix with --rows 0:20 or --cols 0:20, or raise "
                             "--limit";
  auto const check = [&](std::size_t n, std::string const& what) {
    if (n > o.limit)
      fail(errc::unsupported, "%s: %s, and --limit is %zu; %s", matrix.c_str(), what.c_str(),
           o.limit, advice);
  };
  any_matrix plain = convert(in.matrix, format::csr); // rows sorted
  if (!whole)
    plain = part_of(plain, rows, cols);
  check(plain.nnz(), count_text(plain.nnz()) + " entries");
  any_matrix const a = convert(plain, tulle::layout::parse(o.format));
  for (named_array const& one : arrays(a))
    check(one.size, fmt::format("{} has {} elements", one.name, count_text(one.size)));
  parameter_list const parameters = parameters_of(a.ref());
  if (o.json)
    o.json.print(to_json(o, in.name, a, parameters));
  if (o.json.alone())
    return;
  fmt::print("{}: {} x {}, {} entries, {} of {}, {}\n", matrix, count_text(a.rows()),
             count_text(a.cols()), count_text(plain.nnz()), o.format, name(a.type()),
             bytes_text(a.bytes()));
  bool const drawn = is_drawn(a.rows(), a.cols());
  if (!drawn)
    fmt::print("(The matrix itself is drawn up to 50 x 50: --rows 0:20 --cols 0:20.)\n");
  fmt::print("\n{}", drawing(drawn ? matrix_lines(plain.ref()) : std::vector<std::string>(),
                             a.ref(), parameters));
}

} // namespace

void add_show_command(CLI::App& app) {
  CLI::App* const command =
      app.add_subcommand("show", "Print the arrays of a small matrix in any format");
  auto const o = std::make_shared<show_options>();
  command->add_option("MATRIX", o->matrix, matrix_help)->required();
  add_layout_option(*command, o->format, "Format and its options: csr5, csr5:sigma=2");
  add_value_option(*command, o->value);
  command->add_option("--rows", o->rows, "These rows alone, the end not among them: 0:20")
      ->type_name("FIRST:END");
  command->add_option("--cols", o->cols, "These columns alone: 0:20")->type_name("FIRST:END");
  command->add_option("--limit", o->limit, "Most entries, and most elements of an array, to print")
      ->type_name("N")
      ->capture_default_str();
  add_threads_option(*command);
  add_json_option(*command, o->json);
  command->footer(
      "The picture is that of the format's header in include/tulle/format. Rows and columns of a\n"
      "part are counted anew; duplicates are summed.\n\n"
      "Examples:\n"
      "  tulle show gen:poisson2d5:3\n"
      "  tulle show small.mtx --format csr5:omega=2:sigma=2\n"
      "  tulle show cant.mtx.gz --format sell:chunk=4 --rows 0:8 --cols 0:8");
  command->callback([o] { run(*o); });
}

} // namespace tulle::app

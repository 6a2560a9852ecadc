// SPDX-License-Identifier: Apache-2.0
#include "apps/support/options.hpp"

#include "tulle/core/error.hpp"
#include "tulle/core/parallel.hpp"
#include "tulle/op/convert.hpp"

#include "apps/support/matrix.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>

namespace tulle::app {
namespace {

constexpr char const* written_formats = "Matrix Market (.mtx, compressed .mtx.gz)";

void set_threads(std::string const& text) {
  int n = -1;
  char const* const end = text.data() + text.size();
  auto const [stop, code] = std::from_chars(text.data(), end, n);
  if (code != std::errc() || stop != end || n < 0 || n > most_threads)
    throw CLI::ValidationError(
        "--threads", fmt::format("expected a number from 0, the default, to {}, found '{}'",
                                 most_threads, text));
  if (n > 0) // before anything asks for the number of threads
    setenv("TULLE_THREADS", std::to_string(n).c_str(), 1);
}

bool is_format(std::string_view word) {
  for (format const f : all_formats)
    if (word == name(f))
      return true;
  return false;
}

} // namespace

CLI::Option* add_json_option(CLI::App& command, json_output& json, std::string const& what) {
  return command.add_flag("--json{-}", json.path,
                          fmt::format("Print JSON{} instead of text; =FILE: write it to that file "
                                      "as well",
                                      what.empty() ? "" : " (" + what + ")"));
}

void check_one_on_stdout(json_output const& json, bool data_on_stdout) {
  if (json.alone() && data_on_stdout)
    throw CLI::ValidationError("--json", "standard output is for the result itself here; "
                                         "--json=FILE writes JSON to a file");
}

CLI::Option* add_threads_option(CLI::App& command) {
  return command
      .add_option_function<std::string>("--threads", set_threads,
                                        "Number of threads; 0: TULLE_THREADS, or else all cores")
      ->type_name("N");
}

CLI::Option* add_output_option(CLI::App& command, std::string& out, std::string const& what) {
  return command.add_option("-o,--output", out, what)->type_name("FILE");
}

void check_matrix_file(std::string const& path) {
  if (path == "-")
    return;
  std::filesystem::path file(path);
  std::string const whole = file.extension().string();
  if (whole == ".gz")
    file.replace_extension();
  std::string const extension = file.extension().string();
  if (extension.empty() || extension == ".mtx")
    return;
  if (is_format(extension.substr(1)))
    throw CLI::ValidationError(
        path, fmt::format("{0} is a format in memory, not one of files; what is written is {1}; "
                          "'tulle show MATRIX --format {0}' prints the arrays of {0}",
                          extension.substr(1), written_formats));
  throw CLI::ValidationError(
      path, fmt::format("nothing is written to files that end in {}; what is written is {}",
                        extension, written_formats));
}

CLI::Option* add_value_option(CLI::App& command, std::string& value) {
  return command.add_option("--value", value, "Type of the values; the matrix's own if left out")
      ->check(CLI::IsMember(value_names()));
}

CLI::Option* add_layout_option(CLI::App& command, std::string& text, std::string const& what) {
  return command.add_option("--format", text, what)
      ->type_name("LAYOUT")
      ->check([](std::string const& wanted) -> std::string {
        try {
          layout::parse(wanted);
          return "";
        } catch (error const& e) {
          return e.what();
        }
      })
      ->capture_default_str();
}

} // namespace tulle::app

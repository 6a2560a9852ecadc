// SPDX-License-Identifier: Apache-2.0

/// Options that several commands have. Each is spelled, checked and explained here, once. Their
/// types (MATRIX, FILE, FOLDER, LAYOUT, N) are what `tulle completion` completes by.
#pragma once
#include "apps/support/json.hpp"

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace tulle::app {

/// `--json[=FILE]`: without a file, JSON is all that standard output gets; with one, JSON goes
/// there and standard output is as without the option. `what` says more of it in the help. A run
/// that fails leaves its one line on stderr as ever.
CLI::Option* add_json_option(CLI::App& command, json_output& json, std::string const& what = "");
/// Throws CLI::ValidationError where JSON and the output both want standard output: `out` is "-",
/// or empty and that means it.
void check_one_on_stdout(json_output const& json, bool data_on_stdout);

/// `--threads N`: the number of threads of this run, as TULLE_THREADS=N sets it; 0: the default.
CLI::Option* add_threads_option(CLI::App& command);

/// `-o, --output FILE`.
CLI::Option* add_output_option(CLI::App& command, std::string& out, std::string const& what);
/// Throws CLI::ValidationError where `path` does not end in what a matrix file may end in; it says
/// what does, and for what `tulle show` is. "-" and names without an extension pass.
void check_matrix_file(std::string const& path);

/// `--value f32`.
CLI::Option* add_value_option(CLI::App& command, std::string& value);
/// `--format csr5:sigma=2`: a format and its options.
CLI::Option* add_layout_option(CLI::App& command, std::string& layout, std::string const& what);

} // namespace tulle::app

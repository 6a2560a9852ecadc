// SPDX-License-Identifier: Apache-2.0

/// The commands. Each adds itself to the application and runs as its callback; what goes wrong is
/// thrown.
#pragma once
#include <CLI/CLI.hpp>

namespace tulle::app {

void add_info_command(CLI::App& app);
void add_gen_command(CLI::App& app);
void add_convert_command(CLI::App& app);
void add_spy_command(CLI::App& app);
void add_recommend_command(CLI::App& app);
void add_verify_command(CLI::App& app);
void add_solve_command(CLI::App& app);
void add_devices_command(CLI::App& app);
void add_show_command(CLI::App& app);
/// Added last: the script knows the commands of its application.
void add_completion_command(CLI::App& app);

/// What a MATRIX argument may be, for every command's help.
inline constexpr char const* matrix_help =
    "A Matrix Market file, plain or gzip, or a generator: gen:poisson2d5:100";

} // namespace tulle::app

// SPDX-License-Identifier: Apache-2.0

/// The commands. Each adds itself to the application and runs as its callback; what goes wrong is
/// thrown.
#pragma once
#include <CLI/CLI.hpp>

namespace tulle::app {

void add_demo_command(CLI::App& app);
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
    "A file (Matrix Market, edge list, METIS, Harwell-Boeing, npz, PETSc; plain or gzip), - for "
    "standard input, or a generator: gen:poisson2d5:100. Content and name tell the kind, or a word "
    "before the path: mtx:, edges:, edges0: or edges1: (what ids start at), metis:, hb:, npz:, "
    "petsc:";

} // namespace tulle::app

// SPDX-License-Identifier: Apache-2.0

/// The `bench` command.
#pragma once
#include <CLI/CLI.hpp>

namespace tulle::bench {

/// Adds `bench` to the command line: a subcommand an operation, and what is done with results.
void add_bench_command(CLI::App& app);

} // namespace tulle::bench

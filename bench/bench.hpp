// SPDX-License-Identifier: Apache-2.0

/// The `bench` command.
#pragma once
#include <CLI/CLI.hpp>

namespace tulle::bench {

/// Adds `bench spmv` and its options to the command line.
void add_bench_command(CLI::App& app);

} // namespace tulle::bench

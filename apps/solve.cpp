// SPDX-License-Identifier: Apache-2.0

// tulle solve: A x = b by conjugate gradients.
#include "tulle/core/error.hpp"
#include "tulle/op/convert.hpp"
#include "tulle/solve/cg.hpp"

#include "apps/command.hpp"
#include "apps/support/matrix.hpp"
#include "apps/support/options.hpp"
#include "apps/support/progress.hpp"
#include "apps/support/text.hpp"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <iterator>
#include <memory>
#include <stdexcept>

namespace tulle::app {
namespace {

struct solve_options {
  std::string matrix, rhs = "ones", format = "csr", value, out;
  double tolerance = 0;
  std::size_t iterations = 0;
  bool jacobi = false;
  json_output json;
};

// A dense vector of n elements from a file of one column, array or coordinate.
template <class V>
std::vector<V> read_vector(std::string const& path, std::size_t n) {
  auto const file = read_matrix_market_coo<V, std::int64_t, std::int64_t>(path);
  if (file.cols != 1 || static_cast<std::size_t>(file.rows) != n)
    fail(errc::shape_mismatch, "%s is %lld x %lld but the matrix has %zu rows, expected %zu x 1",
         path.c_str(), static_cast<long long>(file.rows), static_cast<long long>(file.cols), n, n);
  std::vector<V> v(n);
  for (std::size_t k = 0; k < file.val.size(); ++k)
    v[static_cast<std::size_t>(file.row[k])] += file.val[k];
  return v;
}

// As a Matrix Market array; beside its place first, so that a write that fails leaves the old file.
template <class V>
void write_vector(std::string const& path, std::vector<V> const& v, std::string const& comment) {
  constexpr bool real = std::is_floating_point_v<V>;
  std::string text = fmt::format("%%MatrixMarket matrix array {} general\n% {}\n{} 1\n",
                                 real ? "real" : "complex", comment, v.size());
  for (V const& e : v)
    if constexpr (real)
      fmt::format_to(std::back_inserter(text), "{}\n", e);
    else
      fmt::format_to(std::back_inserter(text), "{} {}\n", e.real(), e.imag());
  if (path == "-") {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
      fail(errc::io, "stdout cannot be written");
    return;
  }
  std::string const part = path + ".part";
  std::FILE* const file = std::fopen(part.c_str(), "w");
  if (!file)
    fail(errc::io, "%s cannot be opened for writing", path.c_str());
  bool good = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  good = std::fclose(file) == 0 && good;
  std::error_code not_renamed;
  if (good)
    std::filesystem::rename(part, path, not_renamed);
  if (!good || not_renamed) {
    std::remove(part.c_str());
    fail(errc::io, "%s cannot be written", path.c_str());
  }
}

// Ten times a second at most.
struct display {
  progress& shown;
  std::string label;
  std::chrono::steady_clock::time_point last{};

  static void call(void* context, std::size_t iteration, double residual) {
    auto& d = *static_cast<display*>(context);
    auto const now = std::chrono::steady_clock::now();
    if (now - d.last < std::chrono::milliseconds(100))
      return;
    d.last = now;
    d.shown.label(fmt::format("{}: iteration {}, residual {:.1e}", d.label, iteration, residual));
  }
};

json to_json(solve_options const& o, loaded const& in, any_matrix const& a, cg_result const& r) {
  double const each = r.iterations ? r.iteration_seconds / static_cast<double>(r.iterations) : 0;
  return {{"matrix", in.name},
          {"rows", a.rows()},
          {"nnz", a.nnz()},
          {"format", name(a.format())},
          {"type", name(a.type())},
          {"rhs", o.rhs},
          {"jacobi", o.jacobi},
          {"tolerance", r.tolerance},
          {"converged", r.converged},
          {"iterations", r.iterations},
          {"residual", r.residual},
          {"true_residual", r.true_residual},
          {"seconds", r.seconds},
          {"milliseconds_per_iteration", each * 1e3},
          {"bytes_per_iteration", a.bytes() + r.vector_bytes},
          {"path", r.path},
          {"read_seconds", in.seconds}};
}

void print_text(loaded const& in, any_matrix const& a, cg_result const& r) {
  fmt::print("{}: {}\n", in.name,
             r.converged ? "solved in " + plural(r.iterations, "iteration")
                         : "not solved after " + plural(r.iterations, "iteration"));
  fmt::print("  {:<12} {:.2e}, by the recurrence {:.2e}, wanted {:.0e}\n", "residual",
             r.true_residual, r.residual, r.tolerance);
  fmt::print("  {:<12} {:.4g} s", "time", r.seconds);
  if (r.iterations != 0) {
    double const each = r.iteration_seconds / static_cast<double>(r.iterations);
    auto const bytes = static_cast<double>(a.bytes() + r.vector_bytes);
    fmt::print(", {:.4g} ms per iteration, {:.1f} GB/s", each * 1e3, bytes / each * 1e-9);
  }
  fmt::print("\n  {:<12} {}\n", "path", r.path);
}

void run(solve_options const& o) {
  check_matrix_file(o.out);
  check_one_on_stdout(o.json, o.out == "-");
  loaded const in = load(o.matrix, {.value = o.value});
  any_matrix copy;
  layout const wanted = layout::parse(o.format);
  if (wanted.format != format::csr) {
    progress const shown("converting " + in.name);
    copy = convert(in.matrix, wanted);
  }
  any_matrix const& a = wanted.format == format::csr ? in.matrix : copy;
  visit(a.type(), [&](auto types) {
    using V = typename decltype(types)::value;
    std::vector<V> const b =
        o.rhs == "ones" ? std::vector<V>(a.rows(), V(1)) : read_vector<V>(o.rhs, a.rows());
    std::vector<V> x(a.cols());
    progress shown("solving " + in.name);
    display on_terminal{shown, "solving " + in.name};
    cg_result const r = cg(cpu{}, a, b, x,
                           {.tolerance = o.tolerance,
                            .most_iterations = o.iterations,
                            .jacobi = o.jacobi,
                            .progress = {&display::call, &on_terminal}});
    if (r.converged && !o.out.empty())
      write_vector(o.out, x, fmt::format("tulle solve {}", in.name));
    shown.clear();
    if (o.json)
      o.json.print(to_json(o, in, a, r));
    if (!o.json.alone() && o.out != "-")
      print_text(in, a, r);
    if (!r.converged)
      throw std::runtime_error(
          fmt::format("{}: not solved after {}: the residual is {:.2e}, wanted {:.0e}", in.name,
                      plural(r.iterations, "iteration"), r.true_residual, r.tolerance));
  });
}

} // namespace

void add_solve_command(CLI::App& app) {
  CLI::App* const command = app.add_subcommand("solve", "Solve A x = b by conjugate gradients");
  auto const o = std::make_shared<solve_options>();
  command->add_option("MATRIX", o->matrix, matrix_help)->required();
  command
      ->add_option("--rhs", o->rhs,
                   "b: a Matrix Market file of one column, - for standard input, or ones")
      ->type_name("FILE")
      ->capture_default_str();
  command
      ->add_option("--tolerance", o->tolerance,
                   "Of ||b - A x|| / ||b||; 1e-8 if left out, 1e-5 for f32 and c32")
      ->type_name("X")
      ->check(CLI::PositiveNumber);
  command->add_option("--iterations", o->iterations, "At most; ten for each row if left out")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  command->add_flag("--jacobi", o->jacobi, "Precondition with the diagonal");
  add_layout_option(*command, o->format, "Format of A in the products: sell, sell:chunk=8");
  add_value_option(*command, o->value);
  add_threads_option(*command);
  add_output_option(*command, o->out,
                    "Write x to this Matrix Market file if it is found; - for standard output");
  add_json_option(*command, o->json);
  command->footer(
      "A must be symmetric (or Hermitian) and positive definite. Exit status 1 where x\n"
      "is not found; the residual is that of the x found, not the recurrence's.\n\n"
      "Examples:\n"
      "  tulle solve gen:poisson2d5:300\n"
      "  tulle solve bcsstk16.mtx.gz --jacobi --tolerance 1e-10 -o x.mtx");
  command->callback([o] { run(*o); });
}

} // namespace tulle::app

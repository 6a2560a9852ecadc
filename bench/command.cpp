// SPDX-License-Identifier: Apache-2.0
#include "tulle/core/error.hpp"
#include "tulle/op/spgemm_method.hpp"
#include "tulle/op/spmv.hpp"

#include "apps/support/options.hpp"
#include "apps/support/restart.hpp"
#include "apps/support/spool.hpp"
#include "bench/add/add.hpp"
#include "bench/assemble/assemble.hpp"
#include "bench/backend.hpp"
#include "bench/bench.hpp"
#include "bench/compare.hpp"
#include "bench/convert/convert.hpp"
#include "bench/dynamic/dynamic.hpp"
#include "bench/html/page.hpp"
#include "bench/html/plot.hpp"
#include "bench/kron/kron.hpp"
#include "bench/level1/level1.hpp"
#include "bench/markdown.hpp"
#include "bench/memory.hpp"
#include "bench/multiply_elements/multiply_elements.hpp"
#include "bench/primitive/primitive.hpp"
#include "bench/read/read.hpp"
#include "bench/run_info.hpp"
#include "bench/sddmm/sddmm.hpp"
#include "bench/spgemm/spgemm.hpp"
#include "bench/spmm/spmm.hpp"
#include "bench/spmspv/spmspv.hpp"
#include "bench/spmv/spmv.hpp"
#include "bench/suites.hpp"
#include "bench/summary.hpp"
#include "bench/table.hpp"
#include "bench/transpose/transpose.hpp"
#include "bench/trsv/trsv.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <memory>
#include <unistd.h>

namespace tulle::bench {
namespace {

using operation = std::vector<record>(std::string const& matrix, options const& o,
                                      std::vector<std::string>& remarks);

void write(std::ofstream& file, std::string const& name, std::string const& text) {
  if (!(file << text << std::flush))
    fail(errc::io, "%s: could not be written to the end", name.c_str());
}

std::ofstream open(std::string const& name) {
  std::ofstream file(name);
  if (!file)
    fail(errc::io, "%s: cannot be written", name.c_str());
  return file;
}

// One table for each matrix, or function of level 1, and number of columns.
void print_tables(std::vector<record> const& records) {
  for (auto first = records.begin(); first != records.end();) {
    auto const last = std::find_if(first, records.end(), [&](record const& r) {
      return r.columns != first->columns || r.matrix != first->matrix;
    });
    fmt::print("{}\n", table({first, last}, isatty(STDOUT_FILENO)));
    first = last;
  }
  std::fflush(stdout);
}

void print_notes(std::vector<std::string> const& remarks, std::size_t most) {
  for (std::size_t k = 0; k < std::min(most, remarks.size()); ++k)
    fmt::print("{}Note: {}.\n", k == 0 && most < remarks.size() ? "\n" : "", remarks[k]);
  if (most < remarks.size())
    fmt::print("And {} notes more, which --json=FILE keeps.\n", remarks.size() - most);
}

void run(std::string const& op, operation* measure_one, options const& o) {
  // A thread that moves between cores takes its cache with it and shows as noise.
  setenv("OMP_PLACES", "cores", 0);
  app::restart_with("OMP_PROC_BIND", "close");
  app::json_output const json{o.json};
  for (std::string const& matrix : o.matrices)
    if (matrix.ends_with(".json"))
      throw CLI::ValidationError(
          matrix, fmt::format("not a matrix; --json={} writes the records to it", matrix));
  if (json && !json.alone())
    open(o.json); // fails now rather than after the first matrix
  run_watch const watch(o);
  std::vector<record> all, now; // of earlier matrices, of this one
  std::vector<std::string> remarks;
  auto const lines = [&] {
    std::string text = json_line(watch.info(remarks)) + "\n";
    for (auto const* const list : {&all, &now})
      for (record const& r : *list)
        text += json_line(r) + "\n";
    return text;
  };
  auto const save = [&] {
    std::sort(remarks.begin(), remarks.end());
    remarks.erase(std::unique(remarks.begin(), remarks.end()), remarks.end());
    if (json && !json.alone())
      json.write(lines()); // a run may take hours, and be stopped
  };
  bool const is_many = o.suite == "real" || o.suite == "folder"; // a line for each, at the end
  options telling = o;
  telling.on_records = [&](std::vector<record> const& some) {
    now.insert(now.end(), some.begin(), some.end());
    save();
  };
  for (auto const& spec : matrices_of(o, op, remarks)) {
    std::string const matrix = app::rereadable(spec);
    try {
      now = measure_one(matrix, telling, remarks);
    } catch (std::exception const& e) {
      if (!is_out_of_memory(e))
        throw;
      remarks.push_back(matrix + ": memory did not suffice: " + e.what());
    }
    if (!json.alone() && !is_many)
      print_tables(now);
    all.insert(all.end(), now.begin(), now.end());
    now.clear();
    save();
  }
  if (json.alone() && !all.empty())
    return json.write(lines());
  std::string const compared = is_many ? summary({watch.info(remarks), all}) : "";
  fmt::print("{}", compared);
  print_notes(remarks, compared.empty() ? remarks.size() : 5);
  if (all.empty())
    fail(errc::unsupported, "bench %s: nobody computes this on %s", op.c_str(), o.backend.c_str());
  if (!compared.empty())
    return;
  if (is_many) // without peers there is nothing to compare
    print_tables(all);
  fmt::print("ratio: time of the bound over the time of the call, side by side; the median, and "
             "where it lies 95 times of 100.\n"
             "       1 is as fast as the bytes that must be moved in CSR can be read. convert: "
             "conversion and planning, in calls.\n{}",
             closing_line(all));
}

// Of spmv in any format, or of spgemm; and all.
std::vector<std::string> method_names(std::string const& op) {
  std::vector<std::string> names = {"all"};
  if (op == "spgemm") {
    for (std::size_t m = 1; m < spgemm_method_count; ++m)
      names.emplace_back(name(static_cast<spgemm_method>(m)));
    return names;
  }
  for (format const f : all_formats)
    for (spmv_method const m : spmv_methods(f))
      if (std::find(names.begin(), names.end(), name(m)) == names.end())
        names.emplace_back(name(m));
  return names;
}

void add_operation(CLI::App& bench, std::string const& op, std::string const& about,
                   operation* measure_one) {
  auto const o = std::make_shared<options>();
  auto const json = std::make_shared<app::json_output>();
  auto* const command = bench.add_subcommand(op, about);
  std::string matrix =
      "Files (.mtx, .mtx.gz), - for standard input, or generators (gen:fem:60000); none: the suite";
  char const* one = "gen:poisson3d27:100 cant.mtx.gz";
  char const* other = "--suite generated --formats csr";
  if (op == "level1") {
    matrix = "vector:LENGTH:DENSITY; none: one in cache and one in memory";
    one = "vector:100000000:0.01";
    other = "vector:1000000:0.5";
  } else if (op == "primitive") {
    matrix = "lists:NUMBER:LENGTH; none: some of several lengths";
    one = "lists:100000:10";
    other = "lists:1000:1000";
  }
  command->add_option("MATRIX", o->matrices, matrix);
  command
      ->add_option("--suite", o->suite,
                   "quick, generated, large; thesis and graphs, with stand-ins for missing files; "
                   "real: a fixed list of matrices; folder: all files")
      ->check(CLI::IsMember(suite_names()));
  command
      ->add_option("--folder", o->folder,
                   "Where the .mtx and .mtx.gz files of a suite are; default: TULLE_MATRICES")
      ->type_name("FOLDER");
  command->add_option("--backend", o->backend, "Where to compute")
      ->check(CLI::IsMember(backend_names()))
      ->capture_default_str();
  command
      ->add_option(
          "--formats", o->formats,
          "Layouts, separated by commas: sell, sell:chunk=4; core: formats of the core shelf; all: "
          "every format; every: all layouts; of spmv, optimize: what tulle::optimize picks")
      ->type_name("LAYOUTS")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      ->add_option(
          "--peers", o->peers,
          "Peers, separated by commas; all or none; cusparse:reuse for variants that begin so")
      ->type_name("PEERS")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--value", o->value, "Type of the values")
      ->check(CLI::IsMember({"f32", "f64"}))
      ->capture_default_str();
  command->add_option("--index", o->index, "Type of the indices")
      ->check(CLI::IsMember({"i32", "i64"}))
      ->capture_default_str();
  app::add_threads_option(*command);
  if (op == "spmv") {
    command->add_flag("--transposed", o->transposed,
                      "y = A^T x, by csr and csc, with a plan and without");
    command->add_option("--sweep", o->sweep, "One contestant a value, without peers: threads=1,2,4")
        ->type_name("OPTION=N,N,...");
    command
        ->add_option("--method", o->methods,
                     "Methods beside the one that suits, separated by commas, for the formats "
                     "that have them: rows, merge, segments; all")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::IsMember(method_names(op)));
  }
  if (op == "trsm")
    o->columns = {8, 32};
  if (op == "spmm" || op == "sddmm" || op == "trsm")
    command->add_option("--columns", o->columns, "Columns of X (and Y), separated by commas")
        ->type_name("N,N,...")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::Range(1, 4096));
  if (op == "trsv" || op == "trsm") {
    command->add_flag("--upper", o->upper, "With the upper triangle instead of the lower one");
    command
        ->add_option("--method", o->methods,
                     "Methods beside the one that suits, separated by commas: serial, levels, "
                     "sync_free; all")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::IsMember({"all", "serial", "levels", "sync_free"}));
  }
  if (op == "spgemm") {
    command->add_option("--product", o->product, "aa: A A; aat: A A^T")
        ->check(CLI::IsMember({"aa", "aat"}))
        ->capture_default_str();
    command
        ->add_option("--method", o->methods,
                     "Methods beside the default one, separated by commas: hash, dense; all")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::IsMember(method_names(op)));
  }
  if (op == "add")
    command
        ->add_option(
            "--with", o->with,
            "What is added: shift: A moved one column to the right; same: A; transpose: A^T")
        ->check(CLI::IsMember({"shift", "same", "transpose"}))
        ->capture_default_str();
  if (op == "multiply_elements")
    command
        ->add_option("--with", o->with,
                     "The other one: shift: A moved one column to the right; same: A")
        ->check(CLI::IsMember({"shift", "same"}))
        ->capture_default_str();
  command
      ->add_option(
          "--memory", o->memory,
          "That contestants may hold together, 4G; those of spmv, spmm and convert are then "
          "measured in groups, or left out; default: by what is available")
      ->transform(CLI::AsSizeValue(false));
  app::add_json_option(*command, *json, "the run and its records, one per line");
  auto* const quick = command->add_flag_callback(
      "--quick", [o] { o->how = effort::quick; }, "A tenth of a second for each contestant");
  command
      ->add_flag_callback(
          "--thorough", [o] { o->how = effort::thorough; },
          "Up to five seconds for each contestant instead of half of one")
      ->excludes(quick);
  command->add_flag("--cold", o->cold, "Flush the caches before each call");
  command->footer(fmt::format("Examples:\n"
                              "  tulle bench {0}\n"
                              "  tulle bench {0} {1} --threads 2 --json=out.json\n"
                              "  tulle bench {0} {2} --peers eigen,openmp",
                              op, one, other));
  command->callback([op, measure_one, o, json] {
    o->json = json->path;
    run(op, measure_one, *o);
  });
}

void add_report(CLI::App& bench) {
  struct arguments {
    std::vector<std::string> files;
    std::string out = "report.html";
    std::string title = "tulle bench";
    std::string theme = "light";
    app::json_output json;
  };
  auto const a = std::make_shared<arguments>();
  auto* const command =
      bench.add_subcommand("report", "Results as a page (losses first), a plot or a table");
  command->add_option("RESULTS", a->files, "Files that --json=FILE wrote")
      ->required()
      ->type_name("FILE");
  app::add_output_option(
      *command, a->out,
      "An HTML page; where the name ends in .svg, a plot of the speed against the "
      "best peer; .md, tables for documents")
      ->capture_default_str();
  command->add_option("--title", a->title, "Its title")->capture_default_str();
  command->add_option("--theme", a->theme, "Colours of a plot, for a light or a dark page")
      ->check(CLI::IsMember({"light", "dark"}))
      ->capture_default_str();
  app::add_json_option(*command, a->json);
  command->footer("Examples:\n"
                  "  tulle bench spmv --json=out.json && tulle bench report out.json -o out.html\n"
                  "  tulle bench report out.json -o out.svg --theme dark");
  command->callback([a] {
    results all;
    for (auto const& name : a->files) {
      results const one = read_results(name);
      all.run = one.run;
      all.records.insert(all.records.end(), one.records.begin(), one.records.end());
    }
    std::string const text =
        a->out.ends_with(".md") ? markdown(all)
        : a->out.ends_with(".svg")
            ? svg_plot(all, a->title, a->theme == "dark" ? theme::dark : theme::light)
            : html_page(all, a->title);
    std::ofstream page = open(a->out);
    write(page, a->out, text);
    if (a->json)
      a->json.print({{"output", a->out}, {"records", all.records.size()}});
    if (!a->json.alone())
      fmt::print("{}: {} records\n", a->out, all.records.size());
  });
}

app::json to_json(comparison const& c, double threshold) {
  app::json rows = app::json::array();
  for (difference const& d : c.rows)
    rows.push_back({{"contestant", label(d.new_one)},
                    {"matrix", d.new_one.matrix},
                    {"op", d.new_one.op},
                    {"factor", d.factor},
                    {"noise", d.noise},
                    {"beyond", d.is_beyond(threshold)},
                    {"old_seconds", d.old_one.seconds},
                    {"new_seconds", d.new_one.seconds}});
  return {{"threshold", threshold}, {"rows", rows}, {"gone", c.only_old}, {"new", c.only_new}};
}

void add_compare(CLI::App& bench) {
  struct arguments {
    std::string before, after;
    double threshold = .05;
    app::json_output json;
  };
  auto const a = std::make_shared<arguments>();
  auto* const command =
      bench.add_subcommand("compare", "What got slower or faster between two runs, beyond noise");
  command->add_option("OLD", a->before, "A file that --json=FILE wrote")
      ->required()
      ->type_name("FILE");
  command->add_option("NEW", a->after, "A later one")->required()->type_name("FILE");
  command->add_option("--threshold", a->threshold, "What counts, 0.05 for 5 %")
      ->type_name("X")
      ->check(CLI::Range(0.0, 10.0))
      ->capture_default_str();
  app::add_json_option(*command, a->json, "every row that was compared");
  command->footer("Exit status 1 where something of tulle's got slower.\n\n"
                  "Example:\n  tulle bench compare before.json after.json --threshold 0.1");
  command->callback([a] {
    comparison const c = compare(read_results(a->before), read_results(a->after));
    if (a->json)
      a->json.print(to_json(c, a->threshold));
    if (!a->json.alone())
      fmt::print("{}", text_of(c, a->threshold));
    auto const slower = std::count_if(c.rows.begin(), c.rows.end(), [&](difference const& d) {
      return d.new_one.peer.empty() && d.factor < 1 && d.is_beyond(a->threshold);
    });
    if (slower > 0)
      fail(errc::backend, "%td of %zu rows got slower by more than %g %%", slower, c.rows.size(),
           a->threshold * 100);
  });
}

} // namespace

void add_bench_command(CLI::App& app) {
  auto* const bench =
      app.add_subcommand("bench", "Measure operations, formats and peers side by side");
  bench->require_subcommand(1);
  add_operation(*bench, "spmv", "y = A x in every format", spmv);
  add_operation(*bench, "spmm", "Y = A X with a few columns", spmm);
  add_operation(*bench, "sddmm", "C = X Y^T at the places of A", sampled_products);
  add_operation(*bench, "spmspv", "y = A x with a sparse x", sparse_products);
  add_operation(*bench, "spgemm", "C = A A or A A^T, all sparse", spgemm);
  add_operation(*bench, "convert", "From csr into every format", conversions);
  add_operation(*bench, "transpose", "C = A^T", transposes);
  add_operation(*bench, "trsv", "T x = b, T with the pattern of a triangle of A", trsv);
  add_operation(*bench, "trsm", "T X = B with a few columns", trsm);
  add_operation(*bench, "add", "C = alpha A + B, all sparse", sums);
  add_operation(*bench, "multiply_elements", "C = A .* B, all sparse", element_products);
  add_operation(*bench, "kron", "A kron T, T tridiagonal with 8 rows", kronecker_products);
  add_operation(*bench, "assemble", "Triplets in random order into csr", assemblies);
  add_operation(*bench, "dynamic", "A matrix that grows: batches of entries, and products between",
                growths);
  add_operation(*bench, "level1", "Sparse vectors: dot, axpy, gather, scatter, rotate, add",
                vector_calls);
  add_operation(*bench, "primitive", "Many short sorted lists: merge, intersection, sort",
                list_calls);
  add_operation(*bench, "read",
                "A Matrix Market file into memory; generated matrices are written first", reads);
  add_report(*bench);
  add_compare(*bench);
}

} // namespace tulle::bench

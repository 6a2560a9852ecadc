// SPDX-License-Identifier: Apache-2.0
#include "apps/support/matrix.hpp"

#include "tulle/core/error.hpp"
#include "tulle/gen/generate.hpp"

#include "apps/support/progress.hpp"
#include "apps/support/spool.hpp"

#include <chrono>
#include <filesystem>
#include <limits>

namespace tulle::app {
namespace {

any_matrix generate_as(type_tag t, gen::recipe const& recipe, cpu const& where) {
  return visit(t, [&](auto types) -> any_matrix {
    using T = decltype(types);
    return generate<typename T::value, typename T::index, typename T::offset>(recipe, where);
  });
}

any_matrix generate_natural(gen::recipe const& recipe, std::string const& value, bool wide,
                            cpu const& where) {
  if (!wide)
    try {
      return generate_as(with_value(value, type_tag::f64_i32), recipe, where);
    } catch (error const& e) { // sizes are checked before any work
      if (e.code() != errc::overflow)
        throw;
    }
  return generate_as(with_value(value, type_tag::f64_i64), recipe, where);
}

any_matrix read_as(type_tag t, matrix_file& file, bool file_order) {
  return visit(t, [&](auto types) -> any_matrix {
    using T = decltype(types);
    using V = typename T::value;
    using I = typename T::index;
    using O = typename T::offset;
    if (file_order)
      return file.to_coo<V, I, O>();
    return file.to_csr<V, I, O>();
  });
}

// "metis:a.txt" is a.txt and what is known of it; edges0 and edges1 say what ids start at.
std::pair<std::string, file_hint> split_kind(std::string const& spec) {
  std::size_t const colon = spec.find(':');
  if (colon != std::string::npos) {
    std::string const word = spec.substr(0, colon);
    std::string const path = spec.substr(colon + 1);
    if (word == "edges0" || word == "edges1")
      return {path,
              {.kind = file_kind::edges,
               .ids = word == "edges0" ? node_ids::from_0 : node_ids::from_1}};
    for (file_kind const k : all_file_kinds)
      if (word == name(k))
        return {path, {.kind = k}};
  }
  return {spec, {}};
}

std::string file_name(std::string const& path) {
  return path == "-" ? "stdin" : std::filesystem::path(path).filename().string();
}

// Of a matrix in csr: the reader has looked at its rows.
void check_columns(std::string const& path, any_matrix const& a) {
  std::int64_t const most = most_rows(a.nnz());
  if (a.cols() > static_cast<std::size_t>(most))
    fail(errc::io,
         "%s: %zu columns but %zu entries; vectors of that length are made for %lld of them at "
         "most (info, spy and convert take any number)",
         path.c_str(), a.cols(), a.nnz(), static_cast<long long>(most));
}

} // namespace

bool is_generator(std::string const& spec) {
  return spec.starts_with("gen:");
}

std::vector<std::string> const& value_names() {
  static std::vector<std::string> const names = {"f32", "f64", "c32", "c64"};
  return names;
}

bool is_complex(type_tag t) {
  return visit(t, [](auto types) {
    using V = typename decltype(types)::value;
    return !std::is_floating_point_v<V>;
  });
}

bool is_wide(type_tag t) {
  return visit(t, [](auto types) { return sizeof(typename decltype(types)::index) == 8; });
}

type_tag with_value(std::string const& value, type_tag natural) {
  if (value.empty())
    return natural;
  bool const wide = is_wide(natural);
  if (value == "f32")
    return wide ? type_tag::f32_i64 : type_tag::f32_i32;
  if (value == "f64")
    return wide ? type_tag::f64_i64 : type_tag::f64_i32;
  if (value == "c32")
    return wide ? type_tag::c32_i64 : type_tag::c32_i32;
  if (value == "c64")
    return wide ? type_tag::c64_i64 : type_tag::c64_i32;
  fail(errc::unsupported, "no value type is called '%s'; there are f32, f64, c32, c64",
       value.c_str());
}

type_tag natural_type(matrix_market_header const& header, bool wide) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  bool const both = header.symmetry != matrix_market::symmetry::general;
  wide =
      wide || header.rows > most || header.cols > most || header.entries > (both ? most / 2 : most);
  if (header.field == matrix_market::field::complex)
    return wide ? type_tag::c64_i64 : type_tag::c64_i32;
  return wide ? type_tag::f64_i64 : type_tag::f64_i32;
}

loaded load(std::string const& spec, load_options const& options) {
  auto const start = std::chrono::steady_clock::now();
  loaded result;
  if (is_generator(spec)) {
    gen::recipe const recipe = gen::parse(spec);
    result.name = gen::text(recipe);
    progress const shown("generating " + result.name);
    result.matrix = options.type
                        ? generate_as(*options.type, recipe, options.where)
                        : generate_natural(recipe, options.value, options.wide, options.where);
  } else {
    auto const [path, hint] = split_kind(spec);
    result.name = file_name(path);
    progress shown("reading " + result.name);
    matrix_file file(rereadable(path),
                     {.symmetry = options.symmetry,
                      .duplicates = options.duplicates,
                      .threads = options.where.threads,
                      .memory = options.where.memory,
                      .progress = {&progress::call, &shown}},
                     hint);
    result.header = file.header();
    result.kind = file.kind();
    type_tag const natural = natural_type(file.header(), options.wide);
    result.matrix = read_as(options.type ? *options.type : with_value(options.value, natural), file,
                            options.file_order);
    if (!options.file_order)
      check_columns(path, result.matrix);
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

} // namespace tulle::app

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

any_matrix read_as(type_tag t, std::string const& path, read_options const& options,
                   bool file_order) {
  return visit(t, [&](auto types) -> any_matrix {
    using T = decltype(types);
    using V = typename T::value;
    using I = typename T::index;
    using O = typename T::offset;
    if (file_order)
      return read_matrix_market_coo<V, I, O>(path, options);
    return read_matrix_market<V, I, O>(path, options);
  });
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
    result.name = file_name(spec);
    progress shown("reading " + result.name);
    std::string const path = rereadable(spec); // the header first, then all
    result.header.emplace();
    read_options const how{.symmetry = options.symmetry,
                           .duplicates = options.duplicates,
                           .threads = options.where.threads,
                           .memory = options.where.memory,
                           .progress = {&progress::call, &shown},
                           .header = &*result.header};
    type_tag const type =
        options.type ? *options.type
                     : with_value(options.value,
                                  natural_type(read_matrix_market_header(path), options.wide));
    result.matrix = read_as(type, path, how, options.file_order);
    if (!options.file_order)
      check_columns(path, result.matrix);
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

} // namespace tulle::app

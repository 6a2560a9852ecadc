// SPDX-License-Identifier: Apache-2.0

/// Where the command line's matrices come from: a file or a generator.
#pragma once
#include "tulle/core/any_matrix.hpp"
#include "tulle/io/read.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tulle::app {

struct load_options {
  /// nullopt: the natural type, double or complex double with the smallest index that holds it.
  std::optional<type_tag> type = std::nullopt;
  /// With the natural index: "f32", "f64", "c32" or "c64". Empty: as type says.
  std::string value = {};
  bool wide = false; ///< with 64-bit indices, even where the natural ones are 32-bit
  on_symmetry symmetry = on_symmetry::expand;
  on_duplicates duplicates = on_duplicates::keep;
  /// A file comes as coo, its entries as they stand there, and may have any number of rows and
  /// columns; a generator as csr always.
  bool file_order = false;
  cpu where = {};
};

struct loaded {
  any_matrix matrix; ///< csr, or coo where file_order was asked for
  std::string name;  ///< the file's name without its folders, or the generator's text
  std::optional<matrix_market_header> header; ///< of a file
  std::optional<file_kind> kind;              ///< of a file
  double seconds = 0;                         ///< that it took
};

/// `gen:...` by tulle::generate, anything else as the path of a matrix file of any kind, "-" being
/// standard input. The kind may be said: `metis:PATH`, `edges0:PATH` and so on. Shows progress on a
/// terminal. A file with more rows or columns than most_rows() of its entries is errc::io, since
/// commands have vectors of that length, unless file_order is set.
loaded load(std::string const& spec, load_options const& options = {});

/// Whether a spec names a generator.
bool is_generator(std::string const& spec);

/// "f32", "f64", "c32", "c64": what `--value` takes.
std::vector<std::string> const& value_names();
/// The tag of a value's name and the index of a natural type: ("f32", f64_i64) is f32_i64, ("", t)
/// is t.
type_tag with_value(std::string const& value, type_tag natural);
/// What load() would choose.
type_tag natural_type(matrix_market_header const& header, bool wide = false);
bool is_complex(type_tag t);
bool is_wide(type_tag t); ///< 64-bit indices

/// f(csr_view) for a csr of a natural type: the four that load() chooses from. errc::unsupported
/// for others.
template <class F>
decltype(auto) with_natural(any_matrix const& a, F&& f) {
  auto view = [&]<class V, class I>(V, I) -> csr_view<V, I, I> {
    return *static_cast<csr_view<V, I, I> const*>(a.ref().view);
  };
  if (a.format() == format::csr) {
    if (a.type() == type_tag::f64_i32)
      return f(view(double(), std::int32_t()));
    if (a.type() == type_tag::f64_i64)
      return f(view(double(), std::int64_t()));
    if (a.type() == type_tag::c64_i32)
      return f(view(std::complex<double>(), std::int32_t()));
    if (a.type() == type_tag::c64_i64)
      return f(view(std::complex<double>(), std::int64_t()));
  }
  fail(errc::unsupported, "a csr of a natural type was expected, found a %s of %s",
       name(a.format()), name(a.type()));
}

} // namespace tulle::app

// SPDX-License-Identifier: Apache-2.0

/// The matrix of a benchmark, in the types asked for.
#pragma once
#include "tulle/core/parallel.hpp"

#include "apps/support/matrix.hpp"
#include "bench/options.hpp"
#include "bench/record.hpp"

#include <string>

namespace tulle::bench {

inline int threads_of(options const& o) {
  return o.threads > 0 ? o.threads : default_threads();
}

/// f(csr<V, I, I> const&) on the matrix that a spec names, for the types that the options name.
template <class F>
auto with_matrix(std::string const& spec, options const& o, F&& f) {
  auto const typed = [&]<class V, class I>(V, I) {
    app::loaded const source =
        app::load(spec, {.type = type_of<V, I, I>::value, .where = {.threads = threads_of(o)}});
    return f(*source.matrix.get_if<csr<V, I, I>>());
  };
  bool const narrow = o.index == "i32";
  if (o.value == "f32")
    return narrow ? typed(float(), std::int32_t()) : typed(float(), std::int64_t());
  return narrow ? typed(double(), std::int32_t()) : typed(double(), std::int64_t());
}

/// What all records of a matrix share.
template <class V, class I>
record about(std::string const& matrix, csr<V, I, I> const& a, std::string const& op,
             options const& o) {
  record r;
  r.matrix = matrix;
  r.rows = static_cast<std::size_t>(a.rows);
  r.cols = static_cast<std::size_t>(a.cols);
  r.nnz = a.val.size();
  r.op = op;
  r.value = o.value;
  r.index = o.index;
  r.threads = threads_of(o);
  return r;
}

} // namespace tulle::bench

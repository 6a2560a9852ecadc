// SPDX-License-Identifier: Apache-2.0

/// The matrix of a benchmark, in the types asked for.
#pragma once
#include "tulle/core/parallel.hpp"
#include "tulle/op/convert.hpp"

#include "apps/support/matrix.hpp"
#include "bench/backend.hpp"
#include "bench/options.hpp"
#include "bench/record.hpp"

#include <algorithm>
#include <string>

namespace tulle::bench {

inline int threads_of(options const& o) {
  return tulle::threads_of(o.threads);
}

/// The layouts that --formats names: sell:chunk=4; sell: as suits the backend; all: every format
/// so; core: those of the core shelf; every: all layouts of every format. "optimize" is none of
/// them: an operation that knows it asks for it.
inline std::vector<layout> wanted_layouts(options const& o) {
  std::vector<layout> all;
  backend const where = backend_named(o.backend);
  auto const suited = [&](format f) { return layout_for(f, where); };
  for (std::string const& text : o.formats)
    if (text == "all") {
      for (format const f : all_formats)
        all.push_back(suited(f));
    } else if (text == "core") {
      for (format const f : core_formats)
        all.push_back(suited(f));
    } else if (text == "every") {
      for (format const f : all_formats)
        for (layout const& l : layouts(f))
          all.push_back(l);
    } else if (text != "none" && text != "optimize") {
      layout const l = layout::parse(text);
      all.push_back(l.options.empty() ? suited(l.format) : l);
    }
  return all;
}

/// f(V(), I()) for the types that the options name.
template <class F>
auto with_types(options const& o, F&& f) {
  bool const narrow = o.index == "i32";
  if (o.value == "f32")
    return narrow ? f(float(), std::int32_t()) : f(float(), std::int64_t());
  return narrow ? f(double(), std::int32_t()) : f(double(), std::int64_t());
}

/// f(csr<V, I, I> const&) on the matrix that a spec names, for the types that the options name.
template <class F>
auto with_matrix(std::string const& spec, options const& o, F&& f) {
  return with_types(o, [&]<class V, class I>(V, I) {
    app::loaded const source =
        app::load(spec, {.type = type_of<V, I, I>::value, .where = {.threads = threads_of(o)}});
    return f(*source.matrix.get_if<csr<V, I, I>>());
  });
}

/// What a conversion of a and its result may take at once: of ell by its longest row, up to the
/// eightfold of csr that it takes at most, else as most matrices need, with some to spare.
template <class V, class I>
std::size_t bytes_to_make(csr_view<V, I, I> a, layout const& l) {
  std::size_t const bytes = detail::bytes_of(a);
  if (l.format == format::csr && l.options.empty())
    return bytes / 8; // taken as it is, with a plan
  std::size_t const usual = 5 * bytes / 2;
  if (l.format != format::ell)
    return usual;
  I longest = 0;
  for (I i = 0; i < a.rows; ++i)
    longest = std::max(longest, static_cast<I>(a.row_ptr[i + 1] - a.row_ptr[i]));
  std::size_t const a_row = static_cast<std::size_t>(longest) * (sizeof(V) + sizeof(I));
  std::size_t const most = 8 * bytes; // reached where rows * a_row would be more
  std::size_t const padded = a_row > most / (static_cast<std::size_t>(a.rows) + 1)
                                 ? most
                                 : a_row * static_cast<std::size_t>(a.rows);
  return std::max(usual, padded + bytes);
}
/// Of a peer, which may bring several variants: a guess.
template <class V, class I>
std::size_t bytes_of_peer(csr_view<V, I, I> a) {
  return 4 * detail::bytes_of(a);
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

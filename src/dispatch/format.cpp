// SPDX-License-Identifier: Apache-2.0
#include "dispatch/format.hpp"

#include "tulle/format/formats.hpp"
#include "tulle/op/convert.hpp"

#include "dispatch/short_offsets.hpp"

#include <string>

namespace tulle {
namespace dispatch {

#define TULLE_FORMAT(name, types, spmv, spmm) extern format_ops const name##_ops[type_count];
#include "tulle/format/formats.def"
#undef TULLE_FORMAT

format_ops const& ops(format f, type_tag t) {
  static constexpr format_ops const* table[] = {
#define TULLE_FORMAT(name, types, spmv, spmm) name##_ops,
#include "tulle/format/formats.def"
#undef TULLE_FORMAT
  };
  return table[static_cast<std::size_t>(f)][static_cast<std::size_t>(t)];
}

void check_present(char const* op, matrix_ref const& a, array_list const& arrays) {
  if (char const* const array = missing(arrays))
    fail(errc::bad_structure, "%s: the %s of %zu x %zu has no %s; was it moved from?", op,
         name(a.format), a.rows, a.cols, array);
}

} // namespace dispatch

format format_of(std::string_view wanted) {
  std::string known;
  for (format const f : all_formats) {
    if (wanted == name(f))
      return f;
    known += known.empty() ? "" : ", ";
    known += name(f);
  }
  fail(errc::unsupported, "no format is called '%.*s'; there are %s",
       static_cast<int>(wanted.size()), wanted.data(), known.c_str());
}

bool is_built(format f, type_tag t) noexcept {
  return dispatch::ops(f, t).from_csr != nullptr;
}

layout layout::parse(std::string_view text) {
  std::string_view const first = text.substr(0, text.find(':'));
  return {format_of(first),
          std::string(text.substr(first.size() < text.size() ? first.size() + 1 : text.size()))};
}

std::string name(layout const& l) {
  return l.options.empty() ? name(l.format) : std::string(name(l.format)) + ":" + l.options;
}

std::vector<layout> layouts(format f) {
  std::vector<layout> all;
  auto const add = [&](std::string_view options) { all.emplace_back(f, std::string(options)); };
  switch (f) {
#define TULLE_FORMAT(name, types, spmv, spmm)                                                      \
  case format::name:                                                                               \
    detail::for_each_variant<name<double>::options>(add);                                          \
    break;
#include "tulle/format/formats.def"
#undef TULLE_FORMAT
  }
  return all;
}

layout layout_for(format f, backend b) {
  char const* options = "";
  if (b == backend::cuda)
    switch (f) {
#define TULLE_FORMAT(name, types, spmv, spmm)                                                      \
  case format::name:                                                                               \
    options = detail::options_on_cuda<name<double>::options>();                                    \
    break;
#include "tulle/format/formats.def"
#undef TULLE_FORMAT
    }
  return {f, options};
}

any_matrix convert(matrix_ref a, layout const& to, cpu const& where) {
  detail::stoppable const here;
  format const f = to.format;
  bool const is_short = is_built(f, a.type);
  if (!is_built(a.format, a.type) ||
      !(is_short || is_built(f, dispatch::with_short_offsets(a.type))))
    fail(errc::unsupported, "convert: %s to %s is not built for %s", name(a.format), name(f),
         name(a.type));
  dispatch::check_present("convert", a);
  if (a.space != space::host)
    fail(errc::unsupported, "convert: the %s is on a device; see download()", name(a.format));
  return detail::typed_memory("convert", [&] {
    detail::limited const space("convert", where);
    cpu const& counted = space.counted();
    auto const from_csr = [&](matrix_ref const& csr) {
      if (is_short)
        return dispatch::ops(f, csr.type).from_csr(csr.view, to.options, counted);
      return dispatch::with_short_offsets(csr, counted, [&](matrix_ref const& narrow) {
        if (!is_built(f, narrow.type))
          fail(errc::overflow,
               "convert: %s is not built for %s, and the offsets of %zu entries do "
               "not fit shorter ones",
               name(f), name(csr.type), csr.nnz);
        return dispatch::ops(f, narrow.type).from_csr(narrow.view, to.options, counted);
      });
    };
    if (a.format == format::csr)
      return from_csr(a);
    any_matrix csr = dispatch::ops(a.format, a.type).to_csr(a.view, counted);
    if (f == format::csr && to.options.empty())
      return csr;
    return from_csr(csr.ref());
  });
}

} // namespace tulle

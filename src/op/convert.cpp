// SPDX-License-Identifier: Apache-2.0
#include "tulle/op/convert.hpp"

#include "core/format_table.hpp"
#include "core/short_offsets.hpp"

#include <string>
#include <utility>

namespace tulle {

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
  for (std::string& options : formats::options(f).variants())
    all.push_back({f, std::move(options)});
  return all;
}

layout layout_for(format f, backend b) {
  return {f, space_of(b) == space::host ? "" : formats::options(f).on_device};
}

any_matrix convert(matrix_ref a, layout const& to, cpu const& where) {
  detail::stoppable const here;
  format const f = to.format;
  bool const is_short = is_built(f, a.type);
  if (!is_built(a.format, a.type) ||
      !(is_short || is_built(f, formats::with_short_offsets(a.type))))
    fail(errc::unsupported, "convert: %s to %s is not built for %s", name(a.format), name(f),
         name(a.type));
  formats::check_present("convert", a);
  if (a.space != space::host)
    fail(errc::unsupported, "convert: the %s is on a device; see download()", name(a.format));
  return detail::typed_memory("convert", [&] {
    detail::limited const space("convert", where);
    cpu const& counted = space.counted();
    auto const from_csr = [&](matrix_ref const& csr) {
      if (is_short)
        return formats::ops(f, csr.type).from_csr(csr.view, to.options, counted);
      return formats::with_short_offsets(csr, counted, [&](matrix_ref const& narrow) {
        if (!is_built(f, narrow.type))
          fail(errc::overflow,
               "convert: %s is not built for %s, and the offsets of %zu entries do "
               "not fit shorter ones",
               name(f), name(csr.type), csr.nnz);
        return formats::ops(f, narrow.type).from_csr(narrow.view, to.options, counted);
      });
    };
    if (a.format == format::csr)
      return from_csr(a);
    any_matrix csr = formats::ops(a.format, a.type).to_csr(a.view, counted);
    if (f == format::csr && to.options.empty())
      return csr;
    return from_csr(csr.ref());
  });
}

} // namespace tulle

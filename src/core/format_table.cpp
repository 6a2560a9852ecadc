// SPDX-License-Identifier: Apache-2.0
#include "core/format_table.hpp"

#include "tulle/op/convert.hpp"

namespace tulle {
namespace formats {

#define TULLE_FORMAT(name, ...)                                                                    \
  extern format_ops const name##_ops[type_count];                                                  \
  extern format_options const name##_options;
#include "tulle/format/formats.def"
#undef TULLE_FORMAT

namespace {

struct row {
  format_ops const* ops;
  format_options const* options;
};
constexpr row rows[] = {
#define TULLE_FORMAT(name, ...) {name##_ops, &name##_options},
#include "tulle/format/formats.def"
#undef TULLE_FORMAT
};

} // namespace

format_ops const& ops(format f, type_tag t) {
  return rows[static_cast<std::size_t>(f)].ops[static_cast<std::size_t>(t)];
}
format_options const& options(format f) {
  return *rows[static_cast<std::size_t>(f)].options;
}

void check_present(char const* op, matrix_ref const& a, array_list const& arrays) {
  if (char const* const array = missing(arrays))
    fail(errc::bad_structure, "%s: the %s of %zu x %zu has no %s; was it moved from?", op,
         name(a.format), a.rows, a.cols, array);
}

} // namespace formats

format format_of(std::string_view wanted) {
  for (std::size_t f = 0; f < format_count; ++f) // internal ones have names, too
    if (wanted == name(static_cast<format>(f)))
      return static_cast<format>(f);
  std::string known;
  for (format const f : all_formats) {
    known += known.empty() ? "" : ", ";
    known += name(f);
  }
  fail(errc::unsupported, "no format is called '%.*s'; there are %s",
       static_cast<int>(wanted.size()), wanted.data(), known.c_str());
}

bool is_built(format f, type_tag t) noexcept {
  return formats::ops(f, t).from_csr != nullptr;
}

} // namespace tulle

// SPDX-License-Identifier: Apache-2.0
#include "tulle/core/named_array.hpp"

#include "tulle/format/formats.hpp"

#include <string>

namespace tulle {
namespace {

template <class View>
std::vector<named_array> arrays_of_view(void const* view) {
  std::vector<named_array> all;
  static_cast<View const*>(view)->arrays([&]<class T>(char const* name, T const* p, std::size_t n) {
    all.push_back({name, element_type_of<T>(), p, n});
  });
  return all;
}

using lister = std::vector<named_array> (*)(void const* view);

// One row for each format, with the type pairs that it is built for.
#define TULLE_LISTER(tag, V, I, O, format) &arrays_of_view<format##_view<V, I, O>>,
#define TULLE_LISTERS_every(format) {TULLE_TYPES(TULLE_LISTER, format)},
#define TULLE_LISTERS_basic(format)                                                                \
  {TULLE_TYPES(TULLE_LISTER, format) TULLE_BASIC_TYPES(TULLE_LISTER, format)},
#define TULLE_FORMAT(name, types, spmv, spmm) TULLE_LISTERS_##types(name)
constexpr lister listers[format_count][type_count] = {
#include "tulle/format/formats.def"
};
#undef TULLE_FORMAT
#undef TULLE_LISTERS_basic
#undef TULLE_LISTERS_every
#undef TULLE_LISTER

} // namespace

std::vector<named_array> arrays(matrix_ref const& a) {
  if (!a.view)
    fail(errc::bad_structure, "arrays: the matrix_ref refers to no matrix");
  lister const list = listers[static_cast<std::size_t>(a.format)][static_cast<std::size_t>(a.type)];
  if (!list)
    fail(errc::unsupported, "arrays: %s is not built for %s", name(a.format), name(a.type));
  return list(a.view);
}

named_array array_of(matrix_ref const& a, std::string_view wanted) {
  std::string known;
  for (named_array const& one : arrays(a)) {
    if (wanted == one.name)
      return one;
    known += known.empty() ? "" : ", ";
    known += one.name;
  }
  fail(errc::unsupported, "array_of: %s has no array '%.*s'; it has %s", name(a.format),
       static_cast<int>(wanted.size()), wanted.data(), known.c_str());
}

} // namespace tulle

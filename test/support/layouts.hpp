// SPDX-License-Identifier: Apache-2.0

/// Every layout of every format, for tests that hold for all of them.
#pragma once
#include "tulle/core/error.hpp"
#include "tulle/op/convert.hpp"

#include "format/detail/options.hpp"

#include <cstdlib>
#include <gtest/gtest.h>
#include <optional>
#include <string>

namespace tulle::test {

#ifdef TULLE_SANITIZED
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif
inline constexpr std::size_t many_entries = 10'000; // for a sanitizer

/// What f() makes; nothing where the format refuses it for the memory it would take, or a symmetric
/// layout a matrix that is not symmetric, which they may, in those words. (The laws hold the second
/// to it.)
template <class F>
auto unless_refused(F&& f) -> std::optional<decltype(f())> {
  try {
    return f();
  } catch (error const& e) {
    std::string const what = e.what();
    bool const is_too_large =
        what.find("option limit") != std::string::npos && what.find("bytes") != std::string::npos;
    bool const is_lopsided = what.find("symmetric storage of a matrix") != std::string::npos;
    if (e.code() != errc::unsupported || !(is_too_large || is_lopsided))
      throw;
    return std::nullopt;
  }
}

/// Whether a layout, by its name, is without options.
inline bool is_default(std::string const& layout) {
  return layout.find(':') == std::string::npos;
}

/// TULLE_FORMAT_ONLY=csr5: one format alone, while working on it or under a slow tool.
inline bool is_looked_at(format f) {
  char const* const only = std::getenv("TULLE_FORMAT_ONLY");
  return !only || std::string(only) == name(f);
}

/// f(name, matrix) for a csr in every layout that is built for its types and takes it. Options are
/// no part of a kernel's type, so only one type sees all of them; and under sanitizers, which are
/// slow, only matrices that are not large.
template <class F>
void for_each_layout(any_matrix const& csr, F&& f) {
  bool const is_slow = is_sanitized && csr.nnz() > many_entries;
  for (format const wanted : all_formats) {
    if (!is_built(wanted, csr.type()) || !is_looked_at(wanted))
      continue;
    for (layout const& l : layouts(wanted))
      if (l.options.empty() || (csr.type() == type_tag::f64_i32 && !is_slow))
        if (auto const a = unless_refused([&] { return convert(csr, l); }))
          f(name(l), *a);
  }
}

/// f(matrix) for a csr in every format, as it is by default, that is built for its types and takes
/// it.
template <class F>
void for_each_format(any_matrix const& csr, F&& f) {
  for (format const wanted : all_formats)
    if (is_built(wanted, csr.type()))
      if (auto const a = unless_refused([&] { return convert(csr, wanted); }))
        f(*a);
}

/// f(options, text) for every layout of a format, the default first.
template <class Format, class F>
void for_each_options(F&& f) {
  using options = typename Format::options;
  detail::for_each_variant<options>([&](std::string_view text) {
    f(detail::parse_options<options>("a format", text), std::string(text));
  });
}

} // namespace tulle::test

// SPDX-License-Identifier: Apache-2.0

/// Options of a format by name: "chunk=8:sigma=64". An options struct lists its fields in
/// `fields(f)`, which calls f(name, field) for each.
#pragma once
#include "tulle/core/fail.hpp"

#include <charconv>
#include <string>
#include <string_view>
#include <type_traits>

namespace tulle::detail {

/// Text to a number or a bool; errc::unsupported says what was expected.
template <class T>
void parse_option(char const* format, std::string_view name, std::string_view text, T& field) {
  T value{};
  bool good = false;
  if constexpr (std::is_same_v<T, bool>) {
    good = text == "true" || text == "false";
    value = text == "true";
  } else {
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    good = error == std::errc() && end == text.data() + text.size();
  }
  if (!good)
    fail(errc::unsupported, "%s: option %.*s is '%.*s', expected %s", format,
         static_cast<int>(name.size()), name.data(), static_cast<int>(text.size()), text.data(),
         std::is_same_v<T, bool> ? "true or false" : "a number");
  field = value;
}

/// The options that a text names, the others as they are by default. errc::unsupported for a name
/// that the format does not have.
template <class Options>
Options parse_options(char const* format, std::string_view text) {
  Options o;
  while (!text.empty()) {
    std::string_view const one = text.substr(0, text.find(':'));
    text.remove_prefix(one.size() < text.size() ? one.size() + 1 : text.size());
    std::string_view const wanted = one.substr(0, one.find('='));
    std::string_view const value =
        wanted.size() < one.size() ? one.substr(wanted.size() + 1) : std::string_view();
    bool found = false;
    std::string known;
    if constexpr (requires { o.fields([](char const*, auto&) {}); })
      o.fields([&](char const* name, auto& field) {
        known += known.empty() ? " " : ", ";
        known += name;
        if (wanted == name) {
          found = true;
          parse_option(format, wanted, value, field);
        }
      });
    if (!found)
      fail(errc::unsupported, "%s has no option '%.*s'; it has%s", format,
           static_cast<int>(wanted.size()), wanted.data(), known.empty() ? " none" : known.c_str());
  }
  return o;
}

/// What suits a GPU, where that is not the default: Options::on_device.
template <class Options>
constexpr char const* options_on_device() {
  if constexpr (requires { Options::on_device; })
    return Options::on_device;
  else
    return "";
}

/// Layouts beside the default that tests and sweeps go through: Options::variants, each as text.
template <class Options, class F>
void for_each_variant(F&& f) {
  f(std::string_view());
  if constexpr (requires { Options::on_device; })
    f(std::string_view(Options::on_device));
  if constexpr (requires { Options::variants; })
    for (char const* const text : Options::variants)
      f(std::string_view(text));
}

} // namespace tulle::detail

// SPDX-License-Identifier: Apache-2.0

/// Where contestants may run: on the cpu, or by a backend that has memory of its own.
#pragma once
#include "tulle/core/error.hpp"
#include "tulle/core/space.hpp"

#include <array>
#include <cctype>
#include <string>
#include <vector>

namespace tulle::bench {

constexpr bool has_own_memory(backend b) {
  return space_of(b) != space::host;
}

/// The backends of devices.
inline constexpr auto device_backends = [] {
  constexpr std::size_t count = [] {
    std::size_t n = 0;
    for (std::size_t k = 0; k < backend_count; ++k)
      n += has_own_memory(static_cast<backend>(k));
    return n;
  }();
  std::array<backend, count> all{};
  for (std::size_t k = 0, n = 0; k < backend_count; ++k)
    if (has_own_memory(static_cast<backend>(k)))
      all[n++] = static_cast<backend>(k);
  return all;
}();

/// What --backend may say.
inline std::vector<std::string> backend_names() {
  std::vector<std::string> names{name(backend::cpu)};
  for (backend const b : device_backends)
    names.emplace_back(name(b));
  return names;
}

/// A backend's name as headings and formats.def have it: "CPU".
inline std::string in_capitals(std::string text) {
  for (char& c : text)
    c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

/// The backend of that name; errc::unsupported where contestants do not run by it.
inline backend backend_named(std::string const& text) {
  if (text == name(backend::cpu))
    return backend::cpu;
  for (backend const b : device_backends)
    if (text == name(b))
      return b;
  fail(errc::unsupported, "bench: contestants do not run on '%s'", text.c_str());
}

/// f.operator()<S>(), where S is the memory of a device's backend.
template <std::size_t k = 0, class F>
auto with_space(backend b, F&& f) {
  if constexpr (k + 1 < device_backends.size())
    if (b != device_backends[k])
      return with_space<k + 1>(b, f);
  return f.template operator()<space_of(device_backends[k])>();
}

} // namespace tulle::bench

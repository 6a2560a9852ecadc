// SPDX-License-Identifier: Apache-2.0
#include "apps/support/progress.hpp"

#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>

namespace tulle::app {

progress::progress(std::string label)
    : label_(std::move(label)), on_terminal_(isatty(STDERR_FILENO) == 1) {
  draw("");
}

void progress::draw(std::string const& tail) {
  if (!on_terminal_)
    return;
  // Carriage return, text, erase to the end of the line; cut so that a narrow terminal does not
  // wrap.
  std::string text = label_ + tail;
  if (text.size() > 78)
    text.resize(78);
  fmt::print(stderr, "\r{}\x1b[K", text);
  std::fflush(stderr);
  drawn_ = true;
}

void progress::label(std::string text) {
  label_ = std::move(text);
  draw("");
}

void progress::update(std::uint64_t done, std::uint64_t total) {
  if (!on_terminal_)
    return;
  auto const now = std::chrono::steady_clock::now();
  if (now - last_ < std::chrono::milliseconds(100))
    return;
  last_ = now;
  draw(total != 0 ? fmt::format(" {:3.0f} %",
                                100.0 * static_cast<double>(done) / static_cast<double>(total))
                  : fmt::format(" {} MiB", done >> 20));
}

void progress::clear() {
  if (!drawn_)
    return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  drawn_ = false;
}

} // namespace tulle::app

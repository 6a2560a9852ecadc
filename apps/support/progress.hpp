// SPDX-License-Identifier: Apache-2.0

/// How far long work has come: one line on a terminal, nothing in a pipe.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

namespace tulle::app {

/// Shows itself on stderr while it lives, if that is a terminal. One at a time.
class progress {
public:
  explicit progress(std::string label);
  progress(progress const&) = delete;
  progress& operator=(progress const&) = delete;
  ~progress() { clear(); }

  /// Redraws, but not more than ten times a second. total == 0: not known.
  void update(std::uint64_t done, std::uint64_t total);
  void label(std::string text);
  /// Takes the line away, to print something else.
  void clear();

  /// For tulle::read_progress and other callbacks in C's manner; context is the progress.
  static void call(void* context, std::uint64_t done, std::uint64_t total) {
    static_cast<progress*>(context)->update(done, total);
  }

private:
  void draw(std::string const& tail);

  std::string label_;
  bool on_terminal_ = false;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_{};
};

} // namespace tulle::app

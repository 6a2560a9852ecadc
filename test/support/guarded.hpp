// SPDX-License-Identifier: Apache-2.0

/// Cases that may crash, loop for ever or ask for all memory, each told by its name.
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace tulle::test {

/// What a body of run_guarded() tells of its cases.
class guard {
public:
  /// Begins a case; false where it is to be left out, because an earlier run ended there. The time
  /// of the case before it is over.
  [[gnu::format(printf, 2, 3)]] bool begin(char const* format, ...);
  /// The case that runs has a wrong outcome.
  void failed(std::string const& why);
  /// Cases that were run.
  std::size_t cases() const;

private:
  friend struct guarded_run;
  struct shared;
  shared* shared_ = nullptr;
  std::size_t seen_ = 0;
};

/// Runs body(guard) in a child process whose cases have ten seconds of processor time each and
/// whose memory may grow by 256 MiB; goes on behind a case that ended the process. Returns the
/// cases that failed and why. `cases` is how many there were.
std::vector<std::string> run_guarded(std::function<void(guard&)> const& body, std::size_t& cases);

} // namespace tulle::test

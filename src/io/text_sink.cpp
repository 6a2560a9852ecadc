// SPDX-License-Identifier: Apache-2.0
#include "io/text_sink.hpp"

#include "tulle/core/fail.hpp"

#include <ios>
#include <ostream>

namespace tulle::detail {

void stream_sink::write(char const* data, std::size_t n) {
  bool good = false;
  try {
    good = static_cast<bool>(out_.write(data, static_cast<std::streamsize>(n)));
  } catch (std::ios_base::failure const&) { // a stream with an exception mask; told like any other
  }
  if (!good)
    fail(errc::io, "stream: cannot write %zu bytes", n);
}

void stream_sink::finish() {
  bool good = false;
  try {
    good = static_cast<bool>(out_.flush());
  } catch (std::ios_base::failure const&) {
  }
  if (!good)
    fail(errc::io, "stream: cannot write");
}

file_sink::file_sink(std::string const& path)
    : file_(path == "-" ? output_file(output_file::standard_output()) : output_file(path)) {}

} // namespace tulle::detail

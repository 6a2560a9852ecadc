// SPDX-License-Identifier: Apache-2.0

/// Where text goes: a stream, or a file that appears only when it is whole.
#pragma once
#include "io/output_file.hpp"

#include <cstddef>
#include <iosfwd>
#include <string>

namespace tulle::detail {

class text_sink {
public:
  virtual ~text_sink() = default;
  virtual void write(char const* data, std::size_t n) = 0;
  /// All has been written. Without this a file is as if nothing had happened.
  virtual void finish() = 0;
};

class stream_sink final : public text_sink {
public:
  explicit stream_sink(std::ostream& out) : out_(out) {}
  void write(char const* data, std::size_t n) override;
  void finish() override;

private:
  std::ostream& out_;
};

/// A file that appears only when it is whole; "-" is standard output.
class file_sink final : public text_sink {
public:
  explicit file_sink(std::string const& path);
  void write(char const* data, std::size_t n) override { file_.write(data, n); }
  void finish() override { file_.finish(); }

private:
  output_file file_;
};

} // namespace tulle::detail

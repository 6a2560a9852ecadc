// SPDX-License-Identifier: Apache-2.0

/// Where text goes: a stream, or a file that appears only when it is whole.
#pragma once
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

/// Writes beside the file and renames at the end. What is not a regular file (a pipe, a terminal)
/// is written to directly.
class file_sink final : public text_sink {
public:
  explicit file_sink(std::string const& path);
  file_sink(file_sink const&) = delete;
  ~file_sink() override;
  void write(char const* data, std::size_t n) override;
  void finish() override;

private:
  [[noreturn]] void fail_with(char const* what, int code) const;

  std::string name_;      // as the caller spelled it
  std::string target_;    // behind symbolic links
  std::string temporary_; // empty when the target is written to directly
  int fd_ = -1;
};

} // namespace tulle::detail

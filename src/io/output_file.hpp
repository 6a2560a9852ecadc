// SPDX-License-Identifier: Apache-2.0

/// A file that appears under its name only when it is whole.
#pragma once
#include <cstddef>
#include <string>

namespace tulle::detail {

/// Written next to its name, as NAME.PROCESS-NUMBER.tmp, and renamed at the end. The writer holds
/// a lock (flock) on that file, which ends with its process: the next writer of the same name
/// removes what is left of killed ones, the files named so that no one has locked. What is not a
/// regular file (a pipe, a terminal) is written to directly.
class output_file {
public:
  explicit output_file(std::string const& path);
  struct standard_output {};
  explicit output_file(standard_output);
  output_file(output_file const&) = delete;
  /// Without finish() a file is as if nothing had happened.
  ~output_file();

  void write(void const* data, std::size_t n);
  /// All has been written. `to_disk`: and is on the disk, with its name.
  void finish(bool to_disk = false);

private:
  void create(unsigned mode, bool exists);
  [[noreturn]] void fail_with(char const* what, int code) const;

  std::string name_;      // as the caller spelled it
  std::string target_;    // behind symbolic links
  std::string temporary_; // empty when the target is written to directly
  int fd_ = -1;
};

} // namespace tulle::detail

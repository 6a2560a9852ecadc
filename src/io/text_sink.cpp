// SPDX-License-Identifier: Apache-2.0
#include "io/text_sink.hpp"

#include "tulle/core/fail.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <ostream>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

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

file_sink::file_sink(std::string const& path) : name_(path), target_(path) {
  struct stat info {};
  bool const exists = ::stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode))
    fail_with("cannot write", EISDIR);
  if (exists && !S_ISREG(info.st_mode)) {
    fd_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd_ < 0)
      fail_with("cannot open", errno);
    return;
  }
  if (exists) {
    if (::access(path.c_str(), W_OK) != 0) // a rename would replace what may not be written
      fail_with("cannot write", errno);
    if (char* const real = ::realpath(path.c_str(), nullptr)) {
      target_ = real;
      std::free(real);
    }
  }
  static std::atomic<unsigned> serial{0};
  do { // open() rather than mkstemp(), so that the file gets the mode any other new file would
    char suffix[48];
    std::snprintf(suffix, sizeof suffix, ".%ld-%u.tmp", static_cast<long>(::getpid()), serial++);
    temporary_ = target_ + suffix;
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (fd_ < 0 && errno == EEXIST);
  if (fd_ < 0)
    fail_with("cannot create", errno);
  if (exists &&
      ::fchmod(fd_, info.st_mode & 07777) != 0) { // as the old file was, where that is allowed
    int const code = errno;
    ::unlink(temporary_.c_str());
    ::close(fd_);
    fail_with("cannot write", code);
  }
}

file_sink::~file_sink() {
  if (fd_ < 0)
    return;
  ::close(fd_);
  if (!temporary_.empty())
    ::unlink(temporary_.c_str());
}

void file_sink::write(char const* data, std::size_t n) {
  while (n != 0) {
    ssize_t const put = ::write(fd_, data, std::min<std::size_t>(n, std::size_t{1} << 30));
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0)
      fail_with("cannot write", errno);
    data += put;
    n -= static_cast<std::size_t>(put);
  }
}

void file_sink::finish() {
  int code = ::close(std::exchange(fd_, -1)) == 0 ? 0 : errno;
  if (!temporary_.empty()) {
    if (code == 0 && ::rename(temporary_.c_str(), target_.c_str()) != 0)
      code = errno;
    if (code != 0)
      ::unlink(temporary_.c_str());
  }
  if (code != 0)
    fail_with("cannot write", code);
}

void file_sink::fail_with(char const* what, int code) const {
  fail(errc::io, "%s: %s: %s", name_.c_str(), what, std::strerror(code));
}

} // namespace tulle::detail

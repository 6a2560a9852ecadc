// SPDX-License-Identifier: Apache-2.0
#include "io/output_file.hpp"

#include "tulle/core/fail.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace tulle::detail {
namespace {

std::string folder_of(std::string const& path) {
  std::size_t const slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

/// Whether a file's name is that of a temporary of `base`: BASE.PROCESS-NUMBER.tmp.
bool is_temporary_of(std::string_view base, std::string_view name) {
  constexpr std::string_view ending = ".tmp";
  if (!name.starts_with(base) || !name.ends_with(ending) ||
      name.size() < base.size() + 1 + ending.size() || name[base.size()] != '.')
    return false;
  name.remove_prefix(base.size() + 1);
  name.remove_suffix(ending.size());
  auto const dash = name.find('-');
  auto const digits = [](std::string_view s) {
    return !s.empty() && s.find_first_not_of("0123456789") == std::string_view::npos;
  };
  return dash != std::string_view::npos && digits(name.substr(0, dash)) &&
         digits(name.substr(dash + 1));
}

/// What killed writers of this file left. A lock that can be had is a dead writer's; where locks
/// do not work, none can be had and nothing is removed.
void remove_stale(std::string const& target) {
  std::size_t const slash = target.rfind('/');
  std::string const base = slash == std::string::npos ? target : target.substr(slash + 1);
  DIR* const folder = ::opendir(folder_of(target).c_str());
  if (!folder)
    return;
  while (dirent const* const entry = ::readdir(folder)) {
    if (!is_temporary_of(base, entry->d_name))
      continue;
    int const fd =
        ::openat(::dirfd(folder), entry->d_name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
      continue;
    struct stat info {};
    if (::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && ::flock(fd, LOCK_EX | LOCK_NB) == 0)
      ::unlinkat(::dirfd(folder), entry->d_name, 0);
    ::close(fd);
  }
  ::closedir(folder);
}

/// Whether the file is ours for as long as it is open: another writer may have found it between
/// its creation and its lock, and taken it for a dead one's.
bool lock(int fd) {
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0)
    return errno != EWOULDBLOCK; // there are no locks here, so no one removes it
  struct stat info {};
  return ::fstat(fd, &info) == 0 && info.st_nlink != 0;
}

} // namespace

output_file::output_file(standard_output) : name_("stdout") {
  std::fflush(stdout); // what the program printed comes first
  fd_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (fd_ < 0)
    fail_with("cannot open", errno);
}

output_file::output_file(std::string const& path) : name_(path), target_(path) {
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
  remove_stale(target_);
  create(info.st_mode, exists);
}

void output_file::create(unsigned mode, bool exists) {
  static std::atomic<unsigned> serial{0};
  for (bool ours = false; !ours;) {
    char suffix[48];
    std::snprintf(suffix, sizeof suffix, ".%ld-%u.tmp", static_cast<long>(::getpid()), serial++);
    temporary_ = target_ + suffix;
    // open() rather than mkstemp(), so that the file gets the mode any other new file would
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ < 0 && errno != EEXIST)
      fail_with("cannot create", errno);
    ours = fd_ >= 0 && lock(fd_);
    if (fd_ >= 0 && !ours)
      ::close(std::exchange(fd_, -1));
  }
  if (exists && ::fchmod(fd_, mode & 07777) != 0) { // as the old file was, where that is allowed
    int const code = errno;
    ::unlink(temporary_.c_str());
    ::close(std::exchange(fd_, -1));
    fail_with("cannot write", code);
  }
}

output_file::~output_file() {
  if (fd_ < 0)
    return;
  if (!temporary_.empty())
    ::unlink(temporary_.c_str());
  ::close(fd_);
}

void output_file::write(void const* data, std::size_t n) {
  for (auto const* from = static_cast<char const*>(data); n != 0;) {
    ssize_t const put = ::write(fd_, from, std::min<std::size_t>(n, std::size_t{1} << 30));
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0)
      fail_with("cannot write", errno);
    from += put;
    n -= static_cast<std::size_t>(put);
  }
}

void output_file::finish(bool to_disk) {
  if (to_disk && !temporary_.empty() && ::fsync(fd_) != 0)
    fail_with("cannot write to the disk", errno);
  // A second descriptor keeps the lock while it is renamed: closing the first may fail, and tell of
  // writes that did.
  int const held = ::fcntl(fd_, F_DUPFD_CLOEXEC, 3);
  int code = ::close(std::exchange(fd_, -1)) == 0 ? 0 : errno;
  if (!temporary_.empty()) {
    if (code == 0 && ::rename(temporary_.c_str(), target_.c_str()) != 0)
      code = errno;
    if (code != 0)
      ::unlink(temporary_.c_str());
  }
  if (held >= 0)
    ::close(held);
  if (code != 0)
    fail_with("cannot write", code);
  if (!to_disk || temporary_.empty())
    return;
  // The name too. A folder that cannot be opened so has it anyway, if a little later.
  int const folder = ::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    ::fsync(folder);
    ::close(folder);
  }
}

void output_file::fail_with(char const* what, int code) const {
  fail(errc::io, "%s: %s: %s", name_.c_str(), what, std::strerror(code));
}

} // namespace tulle::detail

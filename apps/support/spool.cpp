// SPDX-License-Identifier: Apache-2.0
#include "apps/support/spool.hpp"

#include "tulle/core/error.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace tulle::app {
namespace {

[[noreturn]] void complain(char const* name, char const* what) {
  fail(errc::io, "%s: %s: %s", name, what, std::strerror(errno));
}

// All that `from` gives, in memory: a file without a name, which children inherit.
int copy_to_memory(int from, char const* name) {
  int const to = memfd_create("tulle", 0);
  if (to < 0)
    complain(name, "cannot be kept");
  std::vector<char> buffer(std::size_t{1} << 20);
  for (;;) {
    ssize_t const got = read(from, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      complain(name, "cannot read");
    if (got == 0)
      return to;
    for (ssize_t done = 0; done < got;) {
      ssize_t const put = write(to, buffer.data() + done, static_cast<std::size_t>(got - done));
      if (put < 0 && errno != EINTR)
        complain(name, "cannot be kept");
      done += put < 0 ? 0 : put;
    }
  }
}

bool is_regular(int fd) {
  struct stat info {};
  return fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
}

} // namespace

std::string rereadable(std::string const& path) {
  if (path == "-") {
    if (!is_regular(STDIN_FILENO)) {
      int const copy = copy_to_memory(STDIN_FILENO, "stdin");
      dup2(copy, STDIN_FILENO);
      close(copy);
    }
    return "/dev/stdin";
  }
  struct stat info {};
  if (stat(path.c_str(), &info) != 0 ||
      !(S_ISFIFO(info.st_mode) || S_ISCHR(info.st_mode) || S_ISSOCK(info.st_mode)))
    return path; // a file, a folder or a generator
  int const from = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (from < 0)
    complain(path.c_str(), "cannot open");
  int const copy = copy_to_memory(from, path.c_str());
  close(from);
  return "/dev/fd/" + std::to_string(copy);
}

} // namespace tulle::app

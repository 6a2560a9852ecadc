// SPDX-License-Identifier: Apache-2.0
#include "bench/memory.hpp"

#include "tulle/core/error.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <limits>
#include <new>
#include <sys/resource.h>
#include <unistd.h>

namespace tulle::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

// The number after a name at the start of a line, of the whole file without a name; or `otherwise`.
std::size_t number_in(fs::path const& file, std::string const& name, std::size_t otherwise) {
  std::ifstream in(file);
  for (std::string word; in >> word;) {
    std::size_t number = 0;
    if (name.empty())
      return word.find_first_not_of("0123456789") == word.npos ? std::stoull(word) : otherwise;
    if (word == name && in >> number)
      return number;
  }
  return otherwise;
}

// Pages of files that nobody uses are given up before a limit is enforced.
std::size_t left_by_group(fs::path const& folder, char const* limit, char const* used) {
  std::size_t const most = number_in(folder / limit, "", no_limit);
  if (most == no_limit)
    return no_limit;
  std::size_t const now = number_in(folder / used, "", 0);
  std::size_t const cache = number_in(folder / "memory.stat", "inactive_file", 0);
  std::size_t const held = now - std::min(now, cache);
  return most - std::min(most, held);
}

// A group has no more than the groups that it is part of.
std::size_t left_by_groups(fs::path const& root) {
  std::size_t least = no_limit;
  fs::path const top = root / "sys/fs/cgroup";
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    auto const first = line.find(':');
    auto const second = line.find(':', first + 1);
    if (second == line.npos)
      continue;
    std::string const controllers = line.substr(first + 1, second - first - 1);
    bool const unified = controllers.empty();
    if (!unified && controllers != "memory")
      continue;
    fs::path const base = unified ? top : top / "memory";
    // In a container the path may be one that only its host has: the mount is then the group.
    for (fs::path group = fs::path(line.substr(second + 1)).relative_path();;
         group = group.parent_path()) {
      least = std::min(least, unified ? left_by_group(base / group, "memory.max", "memory.current")
                                      : left_by_group(base / group, "memory.limit_in_bytes",
                                                      "memory.usage_in_bytes"));
      if (group.empty())
        break;
    }
  }
  return least;
}

std::size_t left_of_address_space(fs::path const& root) {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return no_limit;
  std::size_t const used =
      number_in(root / "proc/self/statm", "", 0) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return limit.rlim_cur - std::min<std::size_t>(limit.rlim_cur, used);
}

} // namespace

std::size_t available_memory(fs::path const& root) {
  std::size_t const kib = number_in(root / "proc/meminfo", "MemAvailable:", no_limit / 1024);
  return std::min({kib * 1024, left_by_groups(root), left_of_address_space(root)});
}

bool is_out_of_memory(std::exception const& e) {
  auto const* const ours = dynamic_cast<error const*>(&e);
  return ours ? ours->code() == errc::out_of_memory
              : dynamic_cast<std::bad_alloc const*>(&e) != nullptr;
}

std::string size_text(std::size_t bytes) {
  auto const n = static_cast<double>(bytes);
  if (n >= 1e9)
    return fmt::format("{:.1f} GB", n * 1e-9);
  return n >= 1e6 ? fmt::format("{:.1f} MB", n * 1e-6) : fmt::format("{:.1f} kB", n * 1e-3);
}

} // namespace tulle::bench

// SPDX-License-Identifier: Apache-2.0
#include "bench/peer_modules.hpp"

#include "tulle/core/error.hpp"
#include "tulle/core/machine.hpp"

#include "bench/peers/peer.hpp"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <sstream>

namespace tulle::bench {
namespace {

namespace fs = std::filesystem;

constexpr char const* prefix = "libtulle_peer_";
constexpr char const* suffix = ".so";

std::vector<fs::path> folders() {
  std::vector<fs::path> all;
  if (char const* const given = std::getenv("TULLE_PEERS")) {
    std::istringstream list(given);
    for (std::string folder; std::getline(list, folder, ':');)
      all.emplace_back(folder);
    return all;
  }
  std::error_code ignored;
  fs::path const program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  return {program / "../peers", program / "../lib/tulle/peers"};
}

std::map<std::string, fs::path> const& modules() {
  static std::map<std::string, fs::path> const found = [] {
    std::map<std::string, fs::path> all;
    std::error_code ignored;
    for (auto const& folder : folders())
      for (auto const& file : fs::directory_iterator(folder, ignored)) {
        std::string const name = file.path().filename().string();
        if (name.starts_with(prefix) && name.ends_with(suffix))
          all.emplace(
              name.substr(std::string(prefix).size(), name.size() - std::string(prefix).size() - 3),
              file.path());
      }
    return all;
  }();
  return found;
}

peer_entry* entry_of(std::string const& name) {
  static std::map<std::string, peer_entry*> loaded;
  auto [at, is_new] = loaded.emplace(name, nullptr);
  if (is_new)
    if (void* const module = dlopen(modules().at(name).c_str(), RTLD_NOW | RTLD_LOCAL))
      at->second = reinterpret_cast<peer_entry*>(dlsym(module, "tulle_peer"));
  if (!at->second) {
    char const* const why = dlerror();
    fail(errc::backend, "cannot be loaded: %s", why ? why : "failed before");
  }
  return at->second;
}

} // namespace

std::vector<std::string> peer_names() {
  std::vector<std::string> names;
  for (auto const& [name, path] : modules())
    names.push_back(name);
  return names;
}

std::vector<contestant> ask_peer(std::string const& name, any_problem const& problem) {
  std::vector<contestant> offered;
  entry_of(name)(problem, offered);
  return offered;
}

bool is_wanted(std::vector<std::string> const& list, std::string const& name) {
  return std::any_of(list.begin(), list.end(),
                     [&](auto const& w) { return w == "all" || w == name; });
}

std::vector<entrant> peer_entrants(std::vector<std::string> const& wanted,
                                   any_problem const& problem, std::size_t bytes) {
  std::map<std::string, std::vector<std::string>> starts; // of variants, by peer
  for (auto const& text : wanted) {
    std::string const name = text.substr(0, text.find(':'));
    if (name != "all" && name != "none" && !modules().contains(name))
      fail(errc::unsupported, "no peer is called '%s'; built are: %s", name.c_str(),
           fmt::format("{}", fmt::join(peer_names(), ", ")).c_str());
    starts[name].push_back(text == name ? "" : text.substr(name.size() + 1));
  }
  std::vector<entrant> all;
  if (!has(isa::avx2)) // what the modules are compiled for
    return all;
  for (auto const& name : peer_names())
    if (auto const of = starts.find(starts.contains("all") ? "all" : name); of != starts.end())
      all.push_back({name, bytes,
                     [name, of = of->second, &problem] {
                       std::vector<contestant> offered = ask_peer(name, problem);
                       std::erase_if(offered, [&](contestant const& c) {
                         return std::none_of(of.begin(), of.end(), [&](auto const& start) {
                           return c.format.starts_with(start);
                         });
                       });
                       return offered;
                     },
                     true});
  return all;
}

std::vector<contestant> ask_peers(std::vector<std::string> const& wanted,
                                  any_problem const& problem, std::vector<std::string>& remarks) {
  std::vector<contestant> all;
  for (entrant const& e : peer_entrants(wanted, problem, 0))
    try {
      for (contestant& c : e.make())
        all.push_back(std::move(c));
    } catch (std::exception const& failure) {
      remarks.push_back(took_no_part(e.name, failure));
    }
  return all;
}

} // namespace tulle::bench

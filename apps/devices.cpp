// SPDX-License-Identifier: Apache-2.0

// tulle devices: what this machine has, and what of it is used.
#include "tulle/core/device.hpp"
#include "tulle/core/machine.hpp"
#include "tulle/core/parallel.hpp"
#include "tulle/core/where.hpp"
#include "tulle/op/convert.hpp"

#include "apps/command.hpp"
#include "apps/support/options.hpp"
#include "apps/support/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <sched.h>

namespace tulle::app {
namespace {

#ifdef __x86_64__
constexpr std::size_t compiled_sets = isa_count;
#else
constexpr std::size_t compiled_sets = 1;
#endif

// The word in brackets of "always [madvise] never".
std::string huge_pages() {
  std::ifstream in("/sys/kernel/mm/transparent_hugepage/enabled");
  for (std::string word; in >> word;)
    if (word.size() > 2 && word.front() == '[' && word.back() == ']')
      return word.substr(1, word.size() - 2);
  return "unknown";
}

std::uint64_t available_memory() {
  std::ifstream in("/proc/meminfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("MemAvailable:"))
      return std::stoull(line.substr(13)) << 10;
  return 0;
}

// Cores that this process may run on: a container or taskset may leave fewer than there are.
int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : machine::here().cores;
}

json describe() {
  machine const& here = machine::here();
  json out;
  out["processor"] = here.processor;
  out["cores"] = here.cores;
  out["usable_cores"] = usable_cores();
  out["threads"] = default_threads();
  out["caches"] = {{"l1", here.l1}, {"l2", here.l2}, {"l3", here.l3}};
  out["memory"] = here.memory;
  out["available_memory"] = available_memory();
  out["huge_pages"] = huge_pages();
  json sets = json::array();
  for (std::size_t i = 0; i < isa_count; ++i) {
    isa const set = static_cast<isa>(i);
    sets.push_back({{"name", name(set)},
                    {"compiled", i < compiled_sets},
                    {"available", i < compiled_sets && has(set)},
                    {"active", set == active_isa()}});
  }
  out["instruction_sets"] = std::move(sets);
  json backends = json::array();
  json found = json::array();
  for (std::size_t k = 0; k < backend_count; ++k) {
    auto const b = static_cast<backend>(k);
    backends.push_back({{"name", name(b)}, {"state", backend_state(b)}});
    for (device_info const& d : devices(b))
      found.push_back({{"backend", name(b)},
                       {"name", d.name},
                       {"architecture", d.architecture},
                       {"units", d.units},
                       {"memory", d.memory},
                       {"available_memory", d.free_memory},
                       {"l2", d.l2}});
  }
  out["backends"] = std::move(backends);
  out["devices"] = std::move(found);
  json formats = json::array();
  for (format const f : all_formats)
    formats.push_back(name(f));
  out["formats"] = std::move(formats);
  json types = json::array();
  for (std::size_t t = 0; t < type_count; ++t)
    types.push_back(name(static_cast<type_tag>(t)));
  out["types"] = std::move(types);
  return out;
}

std::string cache_text(json const& caches) {
  std::string text;
  for (auto const& [level, bytes] : caches.items())
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ",
                        level == "l1"   ? "L1"
                        : level == "l2" ? "L2"
                                        : "L3",
                        bytes == 0 ? "unknown" : bytes_text(bytes));
  return text;
}

std::string set_text(json const& set) {
  bool const compiled = set["compiled"];
  bool const available = set["available"];
  bool const active = set["active"];
  return fmt::format("{:<10} {}", set["name"].get<std::string>(),
                     active      ? "active"
                     : available ? "available"
                     : compiled  ? "compiled, not in this processor"
                                 : "not compiled");
}

void print_text(json const& d) {
  auto line = [](char const* what, std::string const& text) {
    fmt::print("{:<18} {}\n", what, text);
  };
  auto const words = [](json const& list) { return list.get<std::vector<std::string>>(); };
  std::string const processor = d["processor"];
  line("processor", processor.empty() ? "unknown" : processor);
  line("cores", fmt::format("{}, {} usable", d["cores"].get<int>(), d["usable_cores"].get<int>()));
  line("threads", fmt::format("{} by default (TULLE_THREADS)", d["threads"].get<int>()));
  line("caches", cache_text(d["caches"]));
  line("memory",
       fmt::format("{}, {} available", bytes_text(d["memory"]), bytes_text(d["available_memory"])));
  line("huge pages", d["huge_pages"]);
  char const* what = "instruction sets";
  for (json const& set : d["instruction_sets"])
    line(std::exchange(what, ""), set_text(set));
  what = "backends";
  for (json const& b : d["backends"])
    line(std::exchange(what, ""),
         fmt::format("{:<10} {}", b["name"].get<std::string>(), b["state"].get<std::string>()));
  what = "devices";
  for (json const& g : d["devices"])
    line(std::exchange(what, ""),
         fmt::format("{} {}, {}, {} units, {}, {} available, L2 {}",
                     g["backend"].get<std::string>(), g["name"].get<std::string>(),
                     g["architecture"].get<std::string>(), g["units"].get<int>(),
                     bytes_text(g["memory"]), bytes_text(g["available_memory"]),
                     bytes_text(g["l2"])));
  line("formats", fmt::format("{}", fmt::join(words(d["formats"]), " ")));
  line("types", fmt::format("{}", fmt::join(words(d["types"]), " ")));
}

} // namespace

void add_devices_command(CLI::App& app) {
  CLI::App* const command =
      app.add_subcommand("devices", "What this machine has, and what of it is used");
  auto const out = std::make_shared<json_output>();
  add_json_option(*command, *out);
  command->footer("Examples:\n  tulle devices\n  TULLE_ISA=avx2 tulle devices --json");
  command->callback([out] {
    json const found = describe();
    if (*out)
      out->print(found);
    if (!out->alone())
      print_text(found);
  });
}

} // namespace tulle::app

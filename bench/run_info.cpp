// SPDX-License-Identifier: Apache-2.0
#include "bench/run_info.hpp"

#include "tulle/core/machine.hpp"
#include "tulle/version.hpp"

#include "bench/source.hpp"

#include <cstdlib>
#include <ctime>
#include <fstream>

namespace tulle::bench {
namespace {

std::string today() {
  std::time_t const now = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", std::gmtime(&now));
  return text;
}

std::string command_line() {
  std::ifstream words("/proc/self/cmdline", std::ios::binary);
  std::string all;
  for (std::string word; std::getline(words, word, '\0');)
    all += (all.empty() ? "" : " ") + word;
  return all;
}

} // namespace

run_info run_watch::info(std::vector<std::string> const& remarks) const {
  machine const& here = machine::here();
  run_info r;
  r.date = today();
  r.host_cpu = here.processor;
  r.isa = name(active_isa());
  r.compiler = "g++ " __VERSION__;
  r.version = version();
  r.command = command_line();
  r.cores = here.cores;
  r.threads = threads_of(options_);
  r.l1d = here.l1;
  r.l2 = here.l2;
  r.l3 = here.l3;
  r.pinned = std::getenv("OMP_PROC_BIND") != nullptr;
  r.steal = load_.steal();
  r.remarks = remarks;
  return r;
}

} // namespace tulle::bench

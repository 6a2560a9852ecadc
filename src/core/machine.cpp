// SPDX-License-Identifier: Apache-2.0
#include "tulle/core/machine.hpp"

#include "tulle/core/fail.hpp"

#include <cstdlib>
#include <fstream>
#include <string_view>
#include <thread>
#include <unistd.h>

namespace tulle {
namespace {

#ifdef __x86_64__
bool runs(isa i) {
  __builtin_cpu_init();
  bool const v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt") &&
                  __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("aes");
  bool const v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  bool const v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  return i == isa::baseline || (i == isa::avx2 && v3) || (i == isa::avx512 && v4);
}
// AMD's gathers are microcoded (Zen 4, ns an entry of a long row in L2: gather 0.42 to 0.51, single
// loads 0.26 to 0.30), and the avx2 set uses loads.
bool prefers_loads() {
  return __builtin_cpu_is("amd");
}
#else
bool runs(isa i) {
  return i == isa::baseline;
}
bool prefers_loads() {
  return true;
}
#endif

isa choose() {
  if (char const* const wanted = std::getenv("TULLE_ISA")) {
    for (isa const i : {isa::baseline, isa::avx2, isa::avx512})
      if (std::string_view(wanted) == name(i)) {
        if (!has(i))
          fail(errc::unsupported, "TULLE_ISA=%s, which this processor does not run", wanted);
        return i;
      }
    fail(errc::unsupported, "TULLE_ISA=%s; expected baseline, avx2 or avx512", wanted);
  }
  if (has(isa::avx512) && !prefers_loads())
    return isa::avx512;
  return has(isa::avx2) ? isa::avx2 : isa::baseline;
}

// Bytes of the data cache of that level, as the kernel sees it; what sysconf says of virtual
// machines is often the whole socket's.
std::size_t cache(int level) {
  for (int i = 0; i < 8; ++i) {
    std::string const folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/";
    int found = 0;
    std::string type;
    std::size_t size = 0;
    char unit = 0;
    if (!(std::ifstream(folder + "level") >> found) || !(std::ifstream(folder + "type") >> type))
      break;
    if (found == level && type != "Instruction" && std::ifstream(folder + "size") >> size >> unit)
      return size << (unit == 'M' ? 20 : 10);
  }
  return 0;
}

} // namespace

bool has(isa i) noexcept {
  static bool const found[isa_count] = {runs(isa::baseline), runs(isa::avx2), runs(isa::avx512)};
  return found[static_cast<std::size_t>(i)];
}

isa active_isa() {
  static isa const chosen = choose();
  return chosen;
}

machine const& machine::here() {
  static machine const found = [] {
    machine m;
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; m.processor.empty() && std::getline(info, line);)
      if (line.starts_with("model name"))
        m.processor = line.substr(line.find(':') + 2);
    m.cores = static_cast<int>(std::thread::hardware_concurrency());
    m.l1 = cache(1);
    m.l2 = cache(2);
    m.l3 = cache(3);
    m.memory = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
               static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return m;
  }();
  return found;
}

} // namespace tulle

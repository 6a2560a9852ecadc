// SPDX-License-Identifier: Apache-2.0
#include "bench/record.hpp"

#include "tulle/core/error.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

namespace tulle::bench {

// Every member with its name, once, for both ways.
#define TULLE_RECORD_MEMBERS(X)                                                                    \
  X(matrix)                                                                                        \
  X(rows)                                                                                          \
  X(cols)                                                                                          \
  X(nnz)                                                                                           \
  X(op)                                                                                            \
  X(backend)                                                                                       \
  X(format) X(path) X(value) X(index) X(columns) X(threads) X(cache) X(turns) X(seconds)           \
      X(fastest) X(spread) X(gflops) X(gbytes_per_s) X(bound_gbytes_per_s) X(csr_bound_ratio)      \
          X(ratio_low) X(ratio_high) X(convert_seconds) X(convert_calls) X(bytes) X(peak_bytes)    \
              X(verified) X(peer) X(option) X(option_value) X(why)
#define TULLE_RUN_MEMBERS(X)                                                                       \
  X(date)                                                                                          \
  X(host_cpu)                                                                                      \
  X(device)                                                                                        \
  X(isa)                                                                                           \
  X(compiler)                                                                                      \
  X(version) X(command) X(cores) X(threads) X(l1d) X(l2) X(l3) X(pinned) X(steal) X(remarks)

std::string label(record const& r) {
  if (r.peer.empty())
    return "tulle " + r.format;
  return r.format.empty() || r.format == "csr" ? r.peer : r.peer + " " + r.format;
}

double times_faster(record const& a, record const& b) {
  if (a.csr_bound_ratio > 0 && b.csr_bound_ratio > 0)
    return a.csr_bound_ratio / b.csr_bound_ratio;
  return b.seconds / a.seconds;
}

#define X(name) j[#name] = r.name;
std::string json_line(run_info const& r) {
  nlohmann::ordered_json j;
  j["run"] = true;
  TULLE_RUN_MEMBERS(X)
  return j.dump();
}

std::string json_line(record const& r) {
  nlohmann::ordered_json j;
  TULLE_RECORD_MEMBERS(X)
  return j.dump();
}
#undef X

results read_results(std::string const& path) {
  std::ifstream file(path);
  if (!file)
    fail(errc::io, "%s: cannot be read", path.c_str());
  results all;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    if (line.empty())
      continue;
    try {
      auto const j = nlohmann::json::parse(line);
#define X(name) r.name = j.value(#name, r.name);
      if (j.contains("run")) {
        run_info& r = all.run;
        TULLE_RUN_MEMBERS(X)
      } else {
        record r;
        TULLE_RECORD_MEMBERS(X)
        if (r.matrix.empty() || r.op.empty())
          fail(errc::io, "%s:%zu: a record without a matrix or an operation", path.c_str(), number);
        all.records.push_back(r);
      }
#undef X
    } catch (nlohmann::json::exception const& e) {
      fail(errc::io, "%s:%zu: not a record of tulle bench: %s", path.c_str(), number, e.what());
    }
  }
  return all;
}

} // namespace tulle::bench

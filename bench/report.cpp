// SPDX-License-Identifier: Apache-2.0
#include "bench/report.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

namespace tulle::bench {
namespace {

std::string label(record const& r) {
  return r.peer.empty() ? "tulle " + r.format : r.peer;
}

std::string count(std::size_t n) {
  if (n >= 10'000'000)
    return fmt::format("{:.1f}M", static_cast<double>(n) * 1e-6);
  if (n >= 10'000)
    return fmt::format("{:.1f}K", static_cast<double>(n) * 1e-3);
  return fmt::format("{}", n);
}

bool faster(record const& a, record const& b) {
  return a.verified != b.verified ? a.verified : a.seconds < b.seconds;
}

} // namespace

std::string table(std::vector<record> records, bool colour) {
  if (records.empty())
    return "";
  std::stable_sort(records.begin(), records.end(), faster);
  record const& first = records.front();
  std::string out = fmt::format(
      "{}  {} x {}, {} entries, {:.1f} a row; {} {}, {} threads, CSR bound {:.1f} GB/s\n",
      first.matrix, count(first.rows), count(first.cols), count(first.nnz),
      first.rows ? static_cast<double>(first.nnz) / static_cast<double>(first.rows) : 0.0,
      first.value, first.index, first.threads, first.bound_gbytes_per_s);
  out += fmt::format("  {:<14} {:>10} {:>7} {:>8} {:>7} {:>9} {:>9}  {}\n", "", "ms", "spread",
                     "GFlop/s", "ratio", "convert", "MB", "path");
  for (record const& r : records) {
    char const* const mark = !colour                  ? ""
                             : !r.verified            ? "\033[31m"
                             : &r == &records.front() ? "\033[32m"
                                                      : "";
    out +=
        fmt::format("  {}{:<14} {:>10.3f} {:>6.0f}% {:>8.2f} {:>7.2f} {:>9.1f} {:>9.1f}  {}{}{}\n",
                    mark, label(r), r.seconds * 1e3, r.spread * 100, r.gflops, r.csr_bound_ratio,
                    r.convert_calls, static_cast<double>(r.bytes) * 1e-6,
                    r.verified ? "" : "WRONG RESULT: ", r.path, *mark ? "\033[0m" : "");
  }
  return out;
}

std::string closing_line(std::vector<record> const& records) {
  std::map<std::string, std::vector<record>> by_matrix;
  for (record const& r : records)
    if (r.verified)
      by_matrix[r.matrix].push_back(r);
  std::string out;
  for (auto& [matrix, list] : by_matrix) {
    std::stable_sort(list.begin(), list.end(), faster);
    record const& best = list.front();
    auto const rival = std::find_if(list.begin() + 1, list.end(), [&](record const& r) {
      return r.peer.empty() != best.peer.empty();
    });
    out += out.empty() ? "" : "; ";
    out += fmt::format("{} on {}", label(best), matrix);
    if (rival != list.end())
      out += fmt::format(" ({:.2f}x {})", rival->seconds / best.seconds, label(*rival));
  }
  return out.empty() ? "" : "Fastest: " + out + ".\n";
}

std::string json_line(record const& r) {
  nlohmann::ordered_json const j{{"matrix", r.matrix},
                                 {"rows", r.rows},
                                 {"cols", r.cols},
                                 {"nnz", r.nnz},
                                 {"op", r.op},
                                 {"backend", r.backend},
                                 {"format", r.format},
                                 {"path", r.path},
                                 {"value", r.value},
                                 {"index", r.index},
                                 {"threads", r.threads},
                                 {"seconds", r.seconds},
                                 {"fastest", r.fastest},
                                 {"spread", r.spread},
                                 {"gflops", r.gflops},
                                 {"gbytes_per_s", r.gbytes_per_s},
                                 {"bound_gbytes_per_s", r.bound_gbytes_per_s},
                                 {"csr_bound_ratio", r.csr_bound_ratio},
                                 {"convert_seconds", r.convert_seconds},
                                 {"convert_calls", r.convert_calls},
                                 {"bytes", r.bytes},
                                 {"peak_bytes", r.peak_bytes},
                                 {"verified", r.verified},
                                 {"peer", r.peer},
                                 {"compiler", "g++ " __VERSION__}};
  return j.dump();
}

} // namespace tulle::bench

// SPDX-License-Identifier: Apache-2.0
#include "bench/table.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace tulle::bench {
namespace {

std::string count(std::size_t n) {
  if (n >= 10'000'000)
    return fmt::format("{:.1f}M", static_cast<double>(n) * 1e-6);
  if (n >= 10'000)
    return fmt::format("{:.1f}K", static_cast<double>(n) * 1e-3);
  return fmt::format("{}", n);
}

bool faster(record const& a, record const& b) {
  return a.verified != b.verified ? a.verified : a.verified && times_faster(a, b) > 1;
}

// Whether the interval of the faster one covers the other's median: of their ratios to the bound,
// or of times, which have no interval but what lies between their quartiles.
bool is_as_fast(record const& r, record const& best) {
  if (r.csr_bound_ratio > 0 && best.csr_bound_ratio > 0)
    return r.csr_bound_ratio >= best.ratio_low;
  return r.seconds <= best.seconds * (1 + best.spread / 2);
}

} // namespace

std::string table(std::vector<record> records, bool colour) {
  if (records.empty())
    return "";
  std::stable_sort(records.begin(), records.end(), faster);
  record const& first = records.front();
  int threads = 0; // the fastest may be one that has no more than one
  for (record const& r : records)
    threads = std::max(threads, r.threads);
  std::string out = fmt::format(
      "{}  {} x {}, {} entries, {:.1f} per row\n", first.matrix, count(first.rows),
      count(first.cols), count(first.nnz),
      first.rows ? static_cast<double>(first.nnz) / static_cast<double>(first.rows) : 0.0);
  out += fmt::format("  {}{} on {}, {} {}, {} caches{}\n", first.op,
                     first.columns > 1 ? fmt::format(" of {} columns", first.columns) : "",
                     first.backend == "cpu" ? fmt::format("{} threads", threads) : first.backend,
                     first.value, first.index, first.cache,
                     first.bound_gbytes_per_s > 0
                         ? fmt::format("; bound {:.1f} GB/s", first.bound_gbytes_per_s)
                         : "");
  out += fmt::format("  {:<22} {:>10} {:>7} {:>8} {:>16} {:>9} {:>9}  {}\n", "", "ms", "spread",
                     first.gflops > 0 ? "GFlop/s" : "GB/s", "ratio", "convert", "MB", "path");
  for (record const& r : records) {
    std::string const who =
        label(r) + (r.option.empty() ? "" : " " + r.option + "=" + r.option_value);
    if (!r.verified) {
      out += fmt::format("  {}{:<22} {:>10}  no rank, not timed: {}{}\n", colour ? "\033[31m" : "",
                         who, "WRONG", r.path, colour ? "\033[0m" : "");
      continue;
    }
    bool const best = &r == &records.front();
    std::string const ratio =
        r.csr_bound_ratio > 0
            ? fmt::format("{:.2f} ({:.2f}-{:.2f})", r.csr_bound_ratio, r.ratio_low, r.ratio_high)
            : "";
    out += fmt::format("  {}{:<22} {:>10.3f} {:>6.0f}% {:>8.2f} {:>16} {:>9.1f} {:>9.1f}  {}{}\n",
                       colour && best ? "\033[32m" : "", who, r.seconds * 1e3, r.spread * 100,
                       r.gflops > 0 ? r.gflops : r.gbytes_per_s, ratio, r.convert_calls,
                       static_cast<double>(r.op == "spgemm" ? r.peak_bytes : r.bytes) * 1e-6,
                       r.path, colour && best ? "\033[0m" : "");
  }
  return out;
}

std::string closing_line(std::vector<record> const& records) {
  std::map<std::string, std::vector<record>> by_matrix;
  for (record const& r : records)
    if (r.verified && r.option.empty())
      by_matrix[r.columns > 1 ? fmt::format("{} ({} columns)", r.matrix, r.columns) : r.matrix]
          .push_back(r);
  std::string fastest, equals;
  for (auto& [matrix, list] : by_matrix) {
    std::stable_sort(list.begin(), list.end(), faster);
    record const& best = list.front();
    auto const rival = std::find_if(list.begin() + 1, list.end(), [&](record const& r) {
      return r.peer.empty() != best.peer.empty();
    });
    if (rival != list.end() && is_as_fast(*rival, best)) {
      equals += fmt::format("On {} {} is as fast as {}.\n", matrix, label(best), label(*rival));
      continue;
    }
    fastest += fastest.empty() ? "" : "; ";
    fastest += fmt::format("{} on {}", label(best), matrix);
    if (rival != list.end())
      fastest += fmt::format(" ({:.2f}x {})", times_faster(best, *rival), label(*rival));
  }
  return (fastest.empty() ? "" : "Fastest: " + fastest + ".\n") + equals;
}

} // namespace tulle::bench

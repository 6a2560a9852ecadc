// SPDX-License-Identifier: Apache-2.0
#include "bench/markdown.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <vector>

namespace tulle::bench {
namespace {

std::string who(record const& r) {
  return r.peer.empty() ? label(r) : r.peer;
}

// What stands in a table of its own.
std::string heading(record const& r) {
  return fmt::format("{} on {}, {} {}, {} caches", r.op,
                     r.backend == "cpu" ? fmt::format("{} threads", r.threads) : r.backend, r.value,
                     r.index, r.cache);
}

std::string line(record const& r) {
  return r.columns > 1 ? fmt::format("{}, {} columns", r.matrix, r.columns) : r.matrix;
}

template <class T>
void add_new(std::vector<T>& list, T const& value) {
  if (std::find(list.begin(), list.end(), value) == list.end())
    list.push_back(value);
}

std::string table(std::vector<record> const& records) {
  std::vector<std::string> lines, columns;
  std::map<std::pair<std::string, std::string>, record> cells;
  for (record const& r : records) {
    add_new(lines, line(r));
    add_new(columns, who(r));
    auto const [at, is_new] = cells.try_emplace({line(r), who(r)}, r);
    if (!is_new && times_faster(r, at->second) > 1)
      at->second = r;
  }
  std::stable_partition(columns.begin(), columns.end(),
                        [](auto const& c) { return c.starts_with("tulle "); });
  std::string out = fmt::format("| matrix | {} |\n|---|", fmt::join(columns, " | "));
  for (std::size_t c = 0; c < columns.size(); ++c)
    out += "---|";
  out += "\n";
  for (auto const& l : lines) {
    record const* best = nullptr;
    for (auto const& c : columns)
      if (auto const at = cells.find({l, c}); at != cells.end())
        if (!best || times_faster(at->second, *best) > 1)
          best = &at->second;
    out += "| " + l + " |";
    for (auto const& c : columns) {
      auto const at = cells.find({l, c});
      if (at == cells.end()) {
        out += " |";
        continue;
      }
      record const& r = at->second;
      std::string const text = r.csr_bound_ratio > 0 ? fmt::format("{:.2f}", r.csr_bound_ratio)
                                                     : fmt::format("{:.3g}", r.seconds * 1e3);
      out += &r == best ? " **" + text + "** |" : " " + text + " |";
    }
    out += "\n";
  }
  return out;
}

} // namespace

std::string markdown(results const& r) {
  std::vector<std::string> headings;
  std::map<std::string, std::vector<record>> by_heading;
  for (record const& one : r.records)
    if (one.verified && one.option.empty()) {
      record shared = one; // peers of one thread stand in the table of the others
      shared.threads = r.run.threads;
      add_new(headings, heading(shared));
      by_heading[heading(shared)].push_back(one);
    }
  std::string out;
  for (auto const& h : headings) {
    bool const has_ratio = by_heading[h].front().csr_bound_ratio > 0;
    out += fmt::format("{}**{}**, {}\n\n{}", out.empty() ? "" : "\n", h,
                       has_ratio ? "part of the bound" : "ms", table(by_heading[h]));
  }
  return out;
}

} // namespace tulle::bench

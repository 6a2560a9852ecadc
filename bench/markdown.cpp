// SPDX-License-Identifier: Apache-2.0
#include "bench/markdown.hpp"

#include "bench/html/model.hpp"

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

std::string head(std::vector<std::string> const& columns) {
  std::string out = fmt::format("| matrix | {} |\n|---|", fmt::join(columns, " | "));
  for (std::size_t c = 0; c < columns.size(); ++c)
    out += "---|";
  return out + "\n";
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
  std::string out = head(columns);
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

/// Bytes that tulle's formats take for an entry.
std::string bytes_table(html::group const& g) {
  std::vector<std::string> names;
  for (html::contender const& c : g.contenders)
    if (c.own)
      names.push_back(c.name);
  std::sort(names.begin(), names.end());
  std::string out = head(names);
  for (html::race const& one : g.races) {
    out += "| " + one.name + " |";
    for (auto const& name : names)
      if (html::entry const* const e = one.find(name); e && e->r->nnz != 0)
        out += fmt::format(" {:.1f} |",
                           static_cast<double>(e->r->bytes) / static_cast<double>(e->r->nnz));
      else
        out += " |";
    out += "\n";
  }
  return out;
}

/// What conversion costs in products, and how many times as fast 50 and 500 products are with it as
/// with the fastest that reads csr: mean and best over the matrices (Liu, thesis 2015, tables
/// 8.5-8.6).
std::string iterations_table(html::group const& g) {
  std::string out = "| | conversion, calls | 50 calls | best | 500 calls | best |\n"
                    "|---|---|---|---|---|---|\n";
  for (html::contender const& c : g.contenders) {
    html::weighed const w = html::weigh(g, c, &html::race::fastest_csr);
    if (w.at_50.empty())
      continue;
    out += fmt::format("| {} | {:.1f} |", c.name, html::median(w.conversion));
    for (auto const* list : {&w.at_50, &w.at_500})
      out += fmt::format(" {:.2f} | {:.2f} |", html::geometric_mean(*list),
                         *std::max_element(list->begin(), list->end()));
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
  for (html::model const m = html::arrange(r); html::group const& g : m.groups)
    if (g.op == "spmv")
      out += fmt::format("\n**{}**, bytes per entry\n\n{}\n**{}**, times as fast as the fastest of "
                         "csr, conversion included\n\n{}",
                         g.title, bytes_table(g), g.title, iterations_table(g));
  return out;
}

} // namespace tulle::bench

// SPDX-License-Identifier: Apache-2.0

// The table of everything: one block a matrix, so that its sizes are said once.
#include "bench/html/tables.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <tuple>

namespace tulle::bench::html {
namespace {

auto key(record const& r) {
  return std::tie(r.op, r.backend, r.value, r.index, r.matrix, r.columns, r.cache);
}

std::string mb(std::size_t bytes) {
  return bytes ? fixed(static_cast<double>(bytes) * 1e-6, 2) : "–";
}

std::string or_dash(double v, int digits) {
  return positive(v) ? fixed(v, digits) : "–";
}

std::string block_head(record const& r) {
  std::string out =
      fmt::format("<tr class=block><th colspan=17><b>{}</b> {}", escape(r.matrix), escape(r.op));
  for (auto const& part : {r.backend, r.value, r.index, r.cache})
    if (!part.empty())
      out += " · " + escape(part);
  if (r.op == "spmm")
    out += fmt::format(" · {} columns", r.columns);
  return out + fmt::format(" <span class=soft>{} × {}, {} entries</span>\n", r.rows, r.cols, r.nnz);
}

std::string row(record const& r) {
  std::string name = escape(label(r));
  if (!r.option.empty())
    name += fmt::format("<br><span class=soft>{} = {}</span>", escape(r.option),
                        escape(r.option_value));
  std::string const interval =
      has_interval(r) ? fixed(r.ratio_low, 2) + "–" + fixed(r.ratio_high, 2) : "–";
  std::string const result = r.verified ? "ok" : "<b class=bad>✕ wrong</b>";
  return fmt::format("<tr{}><td>{}<td class=n>{}<td class=n>{}<td class=n>{}<td class=n>{}"
                     "<td class=n>{}<td class=n>{}<td class=n>{}<td class=n>{}<td class=n>{}"
                     "<td class=n>{}<td class=n>{}<td class=n>{}<td class=n>{}<td "
                     "class=n>{}<td>{}<td class=path>{}\n",
                     r.verified ? "" : " class=wrong", name, r.threads, r.turns,
                     or_dash(r.seconds * 1e3, 3), or_dash(r.fastest * 1e3, 3),
                     fixed(r.spread * 100, 0), or_dash(r.gflops, 2), or_dash(r.gbytes_per_s, 1),
                     or_dash(r.bound_gbytes_per_s, 1), or_dash(r.csr_bound_ratio, 2), interval,
                     fixed(r.convert_seconds * 1e3, 2), fixed(r.convert_calls, 1), mb(r.bytes),
                     mb(r.peak_bytes), result, escape(r.path));
}

} // namespace

std::string all_records(results const& r) {
  // Blocks in the order in which they came; within one as measured, wrong and swept in their place.
  std::vector<std::vector<record const*>> blocks;
  for (record const& one : r.records) {
    auto const at = std::find_if(blocks.begin(), blocks.end(),
                                 [&](auto const& b) { return key(*b.front()) == key(one); });
    if (at == blocks.end())
      blocks.push_back({&one});
    else
      at->push_back(&one);
  }
  std::string out =
      "<div class=wide><table class=\"dense full\">\n<thead><tr><th>contestant<th class=n>threads"
      "<th class=n>turns<th class=n>ms<th class=n>fastest<th class=n>spread, %<th class=n>GFlop/s"
      "<th class=n>GB/s<th class=n>bound, GB/s<th class=n>of bound<th class=n>interval"
      "<th class=n>convert, ms<th class=n>in calls"
      "<th class=n>MB<th class=n>peak, MB<th>result<th>path</tr></thead>\n";
  for (auto const& b : blocks) {
    out += "<tbody>\n" + block_head(*b.front());
    for (record const* one : b)
      out += row(*one);
    out += "</tbody>\n";
  }
  return out + "</table></div>\n";
}

} // namespace tulle::bench::html

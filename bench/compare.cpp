// SPDX-License-Identifier: Apache-2.0
#include "bench/compare.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace tulle::bench {
namespace {

std::string key_of(record const& r) {
  return fmt::format("{} {} {} {} {} {} {} threads {} columns {} {}", r.matrix, r.op, r.backend,
                     label(r), r.value, r.index, r.threads, r.columns, r.cache,
                     r.option.empty() ? "" : r.option + "=" + r.option_value);
}

// Half the interval of a ratio, or the spread where there is no ratio.
double noise_of(record const& r) {
  return r.csr_bound_ratio > 0
             ? std::max(r.ratio_high - r.csr_bound_ratio, r.csr_bound_ratio - r.ratio_low) /
                   r.csr_bound_ratio
             : r.spread;
}

double factor_of(record const& before, record const& after) {
  if (before.csr_bound_ratio > 0 && after.csr_bound_ratio > 0)
    return after.csr_bound_ratio / before.csr_bound_ratio;
  return after.seconds > 0 ? before.seconds / after.seconds : 1;
}

} // namespace

bool difference::is_beyond(double threshold) const {
  return std::fabs(std::log(factor)) > std::max(std::log1p(threshold), std::log1p(noise));
}

comparison compare(results const& before, results const& after) {
  std::map<std::string, record> old_ones;
  for (record const& r : before.records)
    old_ones.emplace(key_of(r), r);
  comparison c;
  for (record const& r : after.records) {
    auto const found = old_ones.find(key_of(r));
    if (found == old_ones.end()) {
      c.only_new.push_back(key_of(r));
      continue;
    }
    difference d;
    d.old_one = found->second;
    d.new_one = r;
    // A result that was right and is wrong now is slower than anything.
    d.factor = r.verified == d.old_one.verified ? factor_of(d.old_one, r) : r.verified ? 1 : 0;
    d.noise = noise_of(d.old_one) + noise_of(r);
    c.rows.push_back(d);
    old_ones.erase(found);
  }
  for (auto const& [key, r] : old_ones)
    c.only_old.push_back(key);
  std::stable_sort(c.rows.begin(), c.rows.end(),
                   [](auto const& a, auto const& b) { return a.factor < b.factor; });
  return c;
}

std::string text_of(comparison const& c, double threshold) {
  std::string out;
  std::size_t slower = 0;
  std::size_t faster = 0;
  for (difference const& d : c.rows) {
    if (!d.is_beyond(threshold))
      continue;
    ++(d.factor < 1 ? slower : faster);
    out += fmt::format("{:<8} {:>6.2f}x  +-{:>3.0f} %  {:>10.3f} ms -> {:>10.3f} ms  {}  {}\n",
                       d.factor == 0  ? "WRONG"
                       : d.factor < 1 ? "slower"
                                      : "faster",
                       d.factor, d.noise * 100, d.old_one.seconds * 1e3, d.new_one.seconds * 1e3,
                       label(d.new_one), d.new_one.matrix);
  }
  for (auto const& key : c.only_old)
    out += fmt::format("gone     {}\n", key);
  for (auto const& key : c.only_new)
    out += fmt::format("new      {}\n", key);
  out += fmt::format("{} rows: {} slower, {} faster, {} within noise or {:.0f} %\n", c.rows.size(),
                     slower, faster, c.rows.size() - slower - faster, threshold * 100);
  return out;
}

} // namespace tulle::bench

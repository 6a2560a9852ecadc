// SPDX-License-Identifier: Apache-2.0
#include "bench/contest.hpp"

#include "apps/support/progress.hpp"
#include "bench/load.hpp"
#include "bench/measure.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace tulle::bench {
namespace {

// A bound that moves by more than this, or a host that gives more than this to others, is said.
constexpr double noisy_spread = .15;
constexpr double noisy_steal = .02;

record describe(contest const& about, contestant const& who, options const& o) {
  record r = about.about;
  r.backend = who.backend;
  r.format = who.format;
  r.path = who.path;
  r.peer = who.peer;
  r.option = who.option;
  r.option_value = who.option_value;
  if (who.threads > 0)
    r.threads = who.threads;
  r.cache = o.cold ? "cold" : "warm";
  r.convert_seconds = who.convert_seconds;
  r.bytes = who.bytes;
  r.peak_bytes = who.peak_bytes;
  return r;
}

bool is_right(contest const& about, contestant const& who, std::vector<std::string>& remarks) {
  try {
    if (who.poison)
      who.poison();
    who.run();
    return about.verify(who);
  } catch (std::exception const& e) {
    remarks.push_back(fmt::format("{} {} on {}: {}", who.peer.empty() ? "tulle" : who.peer,
                                  who.format, about.about.matrix, e.what()));
    return false;
  }
}

} // namespace

std::vector<record> hold(contest const& c, options const& o, std::vector<std::string>& remarks) {
  app::progress progress(c.about.matrix);
  std::vector<contestant> timed;
  std::vector<record> wrong;
  contestant const* bound = nullptr;
  for (contestant const& who : c.contestants) {
    if (who.is_bound) {
      bound = &who;
      continue;
    }
    progress.label(fmt::format("{}: verifying {} {}", c.about.matrix,
                               who.peer.empty() ? "tulle" : who.peer, who.format));
    if (is_right(c, who, remarks))
      timed.push_back(who);
    else
      wrong.push_back(describe(c, who, o));
  }

  progress.label(c.about.matrix + ": measuring");
  load_meter const meter;
  std::vector<turns> const times = measure(timed, bound, o.how, o.cold);
  progress.clear();

  std::vector<record> records;
  std::vector<double> bound_times;
  for (turns const& t : times)
    bound_times.insert(bound_times.end(), t.bound.begin(), t.bound.end());
  statistic const of_bound = statistic_of(bound_times);
  for (std::size_t k = 0; k < timed.size(); ++k) {
    statistic const t = statistic_of(times[k].seconds);
    record r = describe(c, timed[k], o);
    r.verified = true;
    r.turns = static_cast<int>(times[k].seconds.size());
    r.seconds = t.median;
    r.fastest = t.least;
    r.spread = t.spread;
    r.gflops = 1e-9 * c.flops / t.median;
    double const moved =
        c.moved_bytes > 0 ? c.moved_bytes : static_cast<double>(timed[k].bytes) + c.vector_bytes;
    r.gbytes_per_s = 1e-9 * moved / t.median;
    r.convert_calls = r.convert_seconds / t.median;
    if (!times[k].product.empty()) { // the call is the conversion
      r.convert_seconds = t.median;
      r.convert_calls = t.median / statistic_of(times[k].product).median;
    }
    if (bound) {
      statistic const ratio = ratio_of(times[k]);
      r.bound_gbytes_per_s = 1e-9 * c.bound_bytes / of_bound.median;
      r.csr_bound_ratio = ratio.median;
      r.ratio_low = ratio.low;
      r.ratio_high = ratio.high;
    }
    records.push_back(r);
  }
  double const steal = meter.steal();
  if (of_bound.spread > noisy_spread || steal > noisy_steal)
    remarks.push_back(fmt::format(
        "the machine was busy during {}: {}{:.1f} % of the time went to others", c.about.matrix,
        bound ? fmt::format("the bound moved by {:.0f} %, ", of_bound.spread * 100) : "",
        steal * 100));
  records.insert(records.end(), wrong.begin(), wrong.end());
  return records;
}

} // namespace tulle::bench

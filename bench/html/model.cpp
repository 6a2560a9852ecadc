// SPDX-License-Identifier: Apache-2.0
#include "bench/html/model.hpp"

#include "bench/backend.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <set>
#include <tuple>

namespace tulle::bench::html {
namespace {

bool same_group(record const& a, record const& b) {
  return std::tie(a.op, a.backend, a.value) == std::tie(b.op, b.backend, b.value);
}

bool same_race(record const& a, record const& b) {
  return std::tie(a.matrix, a.columns, a.cache, a.index) ==
         std::tie(b.matrix, b.columns, b.cache, b.index);
}

std::string title_of(record const& r) {
  std::string op = r.op == "spmv"     ? "SpMV"
                   : r.op == "spmm"   ? "SpMM"
                   : r.op == "spgemm" ? "SpGEMM"
                                      : r.op;
  std::string const backend = in_capitals(r.backend);
  for (auto const& part : {backend, r.value})
    if (!part.empty())
      op += " · " + part;
  return op;
}

/// The name of a race: the matrix, and of the rest what differs within the group.
void name_races(group& g) {
  std::set<int> columns;
  std::set<std::string> caches;
  std::set<std::string> indices;
  for (race const& one : g.races) {
    columns.insert(one.problem->columns);
    caches.insert(one.problem->cache);
    indices.insert(one.problem->index);
  }
  for (race& one : g.races) {
    record const& p = *one.problem;
    one.name = p.matrix;
    if (columns.size() > 1 || g.op == "spmm")
      one.name += fmt::format(", {} column{}", p.columns, p.columns == 1 ? "" : "s");
    if (caches.size() > 1 && !p.cache.empty())
      one.name += ", " + p.cache;
    if (indices.size() > 1 && !p.index.empty())
      one.name += ", " + p.index;
  }
}

/// A label that a race has with several numbers of threads gets the number, in the whole group.
std::set<std::string> labels_with_threads(std::vector<std::vector<record const*>> const& races) {
  std::set<std::string> out;
  for (auto const& records : races) {
    std::map<std::string, int> threads;
    for (record const* r : records)
      if (auto const [at, isnew] = threads.emplace(label(*r), r->threads);
          !isnew && at->second != r->threads)
        out.insert(at->first);
  }
  return out;
}

void add_contenders(group& g) {
  std::map<std::string, contender> by_name;
  for (race const& one : g.races) {
    std::set<std::string> seen; // the fastest of a name counts
    for (entry const& e : one.ranked)
      if (seen.insert(e.name).second) {
        contender& c = by_name[e.name];
        c.name = e.name;
        c.own = e.r->peer.empty();
        c.score += 1 / one.behind(*e.r) / static_cast<double>(g.races.size());
      }
  }
  for (auto& [name, c] : by_name)
    g.contenders.push_back(c);
  std::stable_sort(g.contenders.begin(), g.contenders.end(),
                   [](contender const& a, contender const& b) { return a.score > b.score; });
  // Okabe and Ito's colours with neighbours of Tol's: cool and filled for tulle, warm or grey and
  // hollow for peers. After eight the colours come again, with another mark.
  static char const* const cool[] = {"#0072B2", "#009E73", "#332288", "#56B4E9",
                                     "#117733", "#6A4C93", "#44AA99", "#3B6FB6"};
  static char const* const warm[] = {"#D55E00", "#555555", "#B8860B", "#882255",
                                     "#999999", "#A0522D", "#CC6677", "#E69F00"};
  static shape const marks[] = {shape::circle, shape::square, shape::triangle, shape::diamond,
                                shape::wedge,  shape::cross,  shape::plus};
  std::size_t used[2] = {0, 0};
  for (contender& c : g.contenders) {
    std::size_t const k = used[c.own]++;
    c.how = {c.own ? cool[k % 8] : warm[k % 8], c.own ? "" : "5 3", marks[k % 7], c.own, 1.6};
  }
}

void add_races(group& g, std::vector<record const*> const& records) {
  std::vector<std::vector<record const*>> races;
  for (record const* r : records) {
    auto const at = std::find_if(races.begin(), races.end(),
                                 [&](auto const& have) { return same_race(*have.front(), *r); });
    if (at == races.end())
      races.push_back({r});
    else
      at->push_back(r);
  }
  auto const with_threads = labels_with_threads(races);
  for (auto const& list : races) {
    race one{.name = {}, .problem = list.front(), .ranked = {}, .wrong = {}, .untimed = {}};
    for (record const* r : list) {
      std::string name = label(*r);
      if (with_threads.count(name))
        name += fmt::format(" ×{}", r->threads);
      (!r->verified ? one.wrong : timed(*r) ? one.ranked : one.untimed).push_back({r, name});
    }
    std::stable_sort(one.ranked.begin(), one.ranked.end(),
                     [](entry const& a, entry const& b) { return times_faster(*a.r, *b.r) > 1; });
    g.has_ratio = g.has_ratio || std::any_of(one.ranked.begin(), one.ranked.end(), [](auto& e) {
                    return positive(e.r->csr_bound_ratio);
                  });
    g.races.push_back(one);
  }
  name_races(g);
  add_contenders(g);
}

bool number(std::string const& text, double& out) {
  char* end = nullptr;
  out = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0' && std::isfinite(out);
}

void add_sweep_point(std::vector<sweep>& sweeps, record const& r) {
  auto const same = [&](sweep const& s) {
    record const& first = *s.points.front();
    return same_group(first, r) && same_race(first, r) && label(first) == label(r) &&
           first.option == r.option;
  };
  auto at = std::find_if(sweeps.begin(), sweeps.end(), same);
  if (at == sweeps.end()) {
    std::string what = label(r) + ", " + title_of(r);
    if (r.op == "spmm")
      what += fmt::format(" · {} columns", r.columns);
    sweeps.push_back({.matrix = r.matrix, .what = what, .option = r.option, .points = {}});
    at = sweeps.end() - 1;
  }
  at->points.push_back(&r);
  at->has_ratio = at->has_ratio || positive(r.csr_bound_ratio);
}

} // namespace

bool positive(double v) {
  return std::isfinite(v) && v > 0;
}

bool timed(record const& r) {
  return r.verified && positive(r.seconds);
}

bool has_interval(record const& r) {
  return positive(r.ratio_low) && positive(r.ratio_high) && r.ratio_low <= r.ratio_high;
}

verdict compare(record const& fast, record const& slow) {
  bool apart = false;
  if (has_interval(fast) && has_interval(slow))
    apart = fast.ratio_low > slow.ratio_high;
  else
    apart = fast.seconds * (1 + fast.spread / 2) < slow.seconds * (1 - slow.spread / 2);
  return apart ? verdict::beyond_noise : verdict::within_noise;
}

entry const* race::best(bool own) const {
  for (entry const& e : ranked)
    if (e.r->peer.empty() == own)
      return &e;
  return nullptr;
}

bool race::took_part(bool own) const {
  for (auto const* list : {&ranked, &wrong, &untimed})
    for (entry const& e : *list)
      if (e.r->peer.empty() == own)
        return true;
  return false;
}

bool race::lost() const {
  return took_part(true) && !ranked.empty() && !ranked.front().r->peer.empty();
}

entry const* race::find(std::string const& wanted) const {
  for (entry const& e : ranked)
    if (e.name == wanted)
      return &e;
  return nullptr;
}

entry const* race::plain_csr() const {
  for (entry const& e : ranked)
    if (e.r->peer.empty() && e.r->format == "csr")
      return &e;
  return nullptr;
}

entry const* race::fastest_csr() const {
  for (entry const& e : ranked)
    if (e.r->format == "csr" || e.r->format.starts_with("csr "))
      return &e;
  return nullptr;
}

double race::behind(record const& r) const {
  return times_faster(*ranked.front().r, r);
}

double flops_per_byte(record const& r) {
  if (r.bytes == 0 || r.op == "spgemm")
    return 0;
  double const value = r.value == "f32" ? 4 : r.value == "c64" ? 16 : 8;
  double const columns = std::max(1, r.columns);
  double const vectors = static_cast<double>(r.rows + r.cols) * value * columns;
  return 2 * static_cast<double>(r.nnz) * columns / (static_cast<double>(r.bytes) + vectors);
}

double row_length(record const& r) {
  return r.rows ? static_cast<double>(r.nnz) / static_cast<double>(r.rows) : 0;
}

double geometric_mean(std::vector<double> const& values) {
  double sum = 0;
  std::size_t n = 0;
  for (double const v : values)
    if (positive(v)) {
      sum += std::log(v);
      ++n;
    }
  return n ? std::exp(sum / static_cast<double>(n)) : 0;
}

double median(std::vector<double> values) {
  values.erase(std::remove_if(values.begin(), values.end(), [](double v) { return !positive(v); }),
               values.end());
  if (values.empty())
    return 0;
  std::sort(values.begin(), values.end());
  auto const half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double speedup_after(double calls, record const& r, record const& csr) {
  if (!timed(r) || !timed(csr) || !std::isfinite(r.convert_seconds) || r.convert_seconds < 0)
    return 0;
  return calls * csr.seconds / (r.convert_seconds + calls * r.seconds);
}

weighed weigh(group const& g, contender const& c, entry const* (race::*csr_of)() const) {
  weighed out;
  for (race const& one : g.races) {
    entry const* const csr = (one.*csr_of)();
    entry const* const e = one.find(c.name);
    if (!csr || !e || !positive(speedup_after(50, *e->r, *csr->r)))
      continue;
    double const gain = csr->r->seconds - e->r->seconds;
    out.conversion.push_back(e->r->convert_seconds / e->r->seconds);
    out.at_50.push_back(speedup_after(50, *e->r, *csr->r));
    out.at_500.push_back(speedup_after(500, *e->r, *csr->r));
    out.pays.push_back(gain > 0 ? e->r->convert_seconds / gain : INFINITY);
  }
  return out;
}

model arrange(results const& r) {
  model out;
  std::vector<std::vector<record const*>> groups;
  for (record const& one : r.records) {
    if (!one.option.empty()) {
      add_sweep_point(out.sweeps, one);
      continue;
    }
    auto const at = std::find_if(groups.begin(), groups.end(),
                                 [&](auto const& have) { return same_group(*have.front(), one); });
    if (at == groups.end())
      groups.push_back({&one});
    else
      at->push_back(&one);
  }
  for (auto const& records : groups) {
    group g;
    g.op = records.front()->op;
    g.title = title_of(*records.front());
    g.id = fmt::format("g{}", out.groups.size() + 1);
    add_races(g, records);
    out.groups.push_back(g);
  }
  for (sweep& s : out.sweeps) {
    double ignored = 0;
    s.numeric = std::all_of(s.points.begin(), s.points.end(),
                            [&](record const* p) { return number(p->option_value, ignored); });
    if (s.numeric)
      std::stable_sort(s.points.begin(), s.points.end(), [](record const* a, record const* b) {
        return std::strtod(a->option_value.c_str(), nullptr) <
               std::strtod(b->option_value.c_str(), nullptr);
      });
  }
  return out;
}

} // namespace tulle::bench::html

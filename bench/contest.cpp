// SPDX-License-Identifier: Apache-2.0
#include "bench/contest.hpp"

#include "tulle/core/error.hpp"

#include "apps/support/progress.hpp"
#include "bench/load.hpp"
#include "bench/measure.hpp"
#include "bench/memory.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <utility>

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
  r.why = who.why;
  if (who.threads > 0)
    r.threads = who.threads;
  r.cache = o.cold ? "cold" : "warm";
  r.convert_seconds = who.convert_seconds;
  r.bytes = who.bytes;
  r.peak_bytes = who.peak_bytes;
  return r;
}

std::string called(contestant const& who) {
  return (who.peer.empty() ? "tulle " : who.peer + " ") + who.format;
}

void leave_out(contest const& about, std::string const& name, std::string const& why,
               std::vector<std::string>& remarks) {
  remarks.push_back(fmt::format("{}: {} is left out: {}", about.about.matrix, name, why));
}

enum class verdict { right, wrong, no_memory };

verdict judge(contest const& about, contestant const& who, std::vector<std::string>& remarks) {
  try {
    if (who.poison)
      who.poison();
    who.run();
    return about.verify(who) ? verdict::right : verdict::wrong;
  } catch (std::exception const& e) {
    if (is_out_of_memory(e)) {
      leave_out(about, called(who), "memory did not suffice to run it", remarks);
      return verdict::no_memory;
    }
    remarks.push_back(fmt::format("{} on {}: {}", called(who), about.about.matrix, e.what()));
    return verdict::wrong;
  }
}

/// Those who hold memory at the same time.
class group {
public:
  group(contest const& c, contestant const* bound, options const& o,
        std::vector<std::string>& remarks)
      : c_(c), bound_(bound), o_(o), remarks_(remarks), progress_(c.about.matrix) {}

  bool empty() const { return members_.empty(); }

  void add(contestant who) {
    held_ += who.peak_bytes;
    members_.push_back(std::move(who));
  }

  /// Whether so much more may be held. A tenth of what is available is for what is not foreseen.
  bool has_room(std::size_t bytes, std::size_t& room) const {
    std::size_t const available = available_memory();
    room = available - available / 10;
    if (o_.memory > 0)
      room = o_.memory - std::min(o_.memory, held_);
    return bytes <= room;
  }

  /// Has the entrant made; false where memory did not suffice.
  bool make(entrant const& e) {
    progress_.label(fmt::format("{}: {} is made", c_.about.matrix, e.name));
    try {
      for (contestant& who : e.make())
        if (!who.is_bound)
          add(std::move(who));
        else if (!bound_)
          bound_ = &peers_bound_.emplace(std::move(who));
    } catch (std::exception const& failure) {
      if (is_out_of_memory(failure))
        return false;
      auto const* const ours = dynamic_cast<error const*>(&failure);
      if (e.is_peer)
        remarks_.push_back(took_no_part(e.name, failure));
      else if (ours && ours->code() == errc::unsupported)
        remarks_.push_back(c_.about.matrix + ": " + ours->what());
      else
        throw;
    }
    return true;
  }

  /// The records of all members, who are gone then.
  std::vector<record> measured() {
    std::vector<contestant> const members = std::exchange(members_, {});
    held_ = 0;
    std::vector<record> const records = records_of(members);
    progress_.clear();
    if (o_.on_records && !records.empty())
      o_.on_records(records);
    return records;
  }

private:
  std::vector<record> records_of(std::vector<contestant> const& members) {
    try {
      return measure_together(members);
    } catch (std::exception const& e) {
      if (!is_out_of_memory(e))
        throw;
    }
    std::vector<record> records;
    if (members.size() == 1) {
      leave_out(c_, called(members.front()), "memory did not suffice to measure it", remarks_);
      return records;
    }
    for (contestant const& who : members)
      for (record const& r : records_of({who}))
        records.push_back(r);
    return records;
  }

  std::vector<record> measure_together(std::vector<contestant> const& members);

  contest const& c_;
  contestant const* bound_;
  std::optional<contestant> peers_bound_; // where tulle has none
  options const& o_;
  std::vector<std::string>& remarks_;
  app::progress progress_;
  std::vector<contestant> members_;
  std::size_t held_ = 0;
};

std::vector<record> group::measure_together(std::vector<contestant> const& members) {
  std::vector<contestant> timed;
  std::vector<record> wrong;
  for (contestant const& who : members) {
    progress_.label(fmt::format("{}: verifying {}", c_.about.matrix, called(who)));
    verdict const found = judge(c_, who, remarks_);
    if (found == verdict::right)
      timed.push_back(who);
    else if (found == verdict::wrong)
      wrong.push_back(describe(c_, who, o_));
  }

  progress_.label(c_.about.matrix + ": measuring");
  load_meter const meter;
  std::vector<turns> const times = measure(timed, bound_, o_.how, o_.cold);

  std::vector<record> records;
  std::vector<double> bound_times;
  for (turns const& t : times)
    bound_times.insert(bound_times.end(), t.bound.begin(), t.bound.end());
  statistic const of_bound = statistic_of(bound_times);
  for (std::size_t k = 0; k < timed.size(); ++k) {
    statistic const t = statistic_of(times[k].seconds);
    record r = describe(c_, timed[k], o_);
    r.verified = true;
    r.turns = static_cast<int>(times[k].seconds.size());
    r.seconds = t.median;
    r.fastest = t.least;
    r.spread = t.spread;
    r.gflops = 1e-9 * c_.flops / t.median;
    double const moved =
        c_.moved_bytes > 0 ? c_.moved_bytes : static_cast<double>(timed[k].bytes) + c_.vector_bytes;
    r.gbytes_per_s = 1e-9 * moved / t.median;
    r.convert_calls = r.convert_seconds / t.median;
    if (!times[k].product.empty()) { // the call is the conversion
      r.convert_seconds = t.median;
      r.convert_calls = t.median / statistic_of(times[k].product).median;
    }
    if (bound_) {
      statistic const ratio = ratio_of(times[k]);
      r.bound_gbytes_per_s = 1e-9 * c_.bound_bytes / of_bound.median;
      r.csr_bound_ratio = ratio.median;
      r.ratio_low = ratio.low;
      r.ratio_high = ratio.high;
    }
    records.push_back(r);
  }
  double const steal = meter.steal();
  if (of_bound.spread > noisy_spread || steal > noisy_steal)
    remarks_.push_back(fmt::format(
        "the machine was busy during {}: {}{:.1f} % of the time went to others", c_.about.matrix,
        bound_ ? fmt::format("the bound moved by {:.0f} %, ", of_bound.spread * 100) : "",
        steal * 100));
  records.insert(records.end(), wrong.begin(), wrong.end());
  return records;
}

} // namespace

std::string took_no_part(std::string const& peer, std::exception const& why) {
  return fmt::format("{} takes no part: {}", peer, why.what());
}

std::vector<record> hold(contest const& c, options const& o, std::vector<std::string>& remarks) {
  contestant const* bound = nullptr;
  for (contestant const& who : c.contestants)
    if (who.is_bound)
      bound = &who;
  group now(c, bound, o, remarks);
  for (contestant const& who : c.contestants)
    if (!who.is_bound)
      now.add(who);
  std::vector<record> all;
  std::size_t groups = 0;
  auto const close = [&] {
    if (now.empty())
      return;
    std::vector<record> const records = now.measured();
    all.insert(all.end(), records.begin(), records.end());
    ++groups;
  };
  for (entrant const& e : c.entrants) {
    std::size_t room = 0;
    if (!now.has_room(e.bytes, room)) {
      close();
      if (!now.has_room(e.bytes, room)) {
        leave_out(c, e.name,
                  fmt::format("it may need {}, and there is room for {}", size_text(e.bytes),
                              size_text(room)),
                  remarks);
        continue;
      }
    }
    bool made = now.make(e);
    if (!made && !now.empty()) {
      close();
      made = now.make(e);
    }
    if (!made)
      leave_out(c, e.name, "memory did not suffice to make it", remarks);
  }
  close();
  if (groups > 1)
    remarks.push_back(
        fmt::format("{}: measured in {} groups, since memory does not hold all at once",
                    c.about.matrix, groups));
  return all;
}

} // namespace tulle::bench

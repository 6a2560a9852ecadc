// SPDX-License-Identifier: Apache-2.0
#include "bench/measure.hpp"

#include "tulle/core/machine.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <unistd.h>

namespace tulle::bench {
namespace {

constexpr double least_turn = 2e-3; // below a millisecond the clock and the wake-up of threads show
constexpr std::size_t least_rounds = 9;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Whether a thread of this process other than the caller runs or wants to. See proc(5): the state
/// stands behind the name, which is in brackets.
bool another_thread_runs() {
  std::string const self = std::to_string(::gettid());
  std::error_code ignored;
  for (auto const& task : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
    if (task.path().filename() == self)
      continue;
    std::ifstream file(task.path() / "stat");
    std::string stat;
    std::getline(file, stat);
    std::size_t const name_ends = stat.rfind(')');
    if (name_ends != std::string::npos && stat.compare(name_ends, 3, ") R") == 0)
      return true;
  }
  return false;
}

/// Waits until the threads of whoever was measured before are asleep. After a call they spin for a
/// while in case the next one comes (those of libgomp for milliseconds), and would take processors
/// from another library's: on two cores csr took 1.2 to 2.4 times as long after an OpenMP peer.
void settle() {
  constexpr auto step = std::chrono::microseconds(200);
  constexpr int most = 100; // OMP_WAIT_POLICY=active: they never sleep
  for (int k = 0; k < most; ++k) {
    std::this_thread::sleep_for(step);
    if (!another_thread_runs())
      return;
  }
}

class host_watch : public stopwatch {
public:
  void start() override { start_ = now(); }
  double stop() override { return now() - start_; }
  void flush() override {
    if (big_.empty())
      big_.resize(4 * std::max(machine::here().l3, std::size_t{64} << 20));
    for (std::size_t i = 0; i < big_.size(); i += 64)
      ++big_[i];
  }

private:
  double start_ = 0;
  std::vector<char> big_;
};

/// Seconds of a call and of the product after it, means of `repeats`.
struct taken {
  double call, product;
};
taken turn_with_products(contestant const& c, stopwatch& watch, int repeats) {
  taken sum{0, 0};
  for (int r = 0; r < repeats; ++r) {
    watch.start();
    c.run();
    sum.call += watch.stop();
    watch.start();
    c.product();
    sum.product += watch.stop();
  }
  return {sum.call / repeats, sum.product / repeats};
}

/// Seconds a call, of `repeats`.
double turn(contestant const& c, stopwatch& host, int repeats, bool cold) {
  stopwatch& watch = c.watch ? *c.watch : host;
  settle();
  if (cold)
    watch.flush();
  if (c.timed_run) {
    double sum = 0;
    for (int r = 0; r < repeats; ++r)
      sum += c.timed_run();
    return sum / repeats;
  }
  if (!cold)
    c.run();
  watch.start();
  for (int r = 0; r < repeats; ++r)
    c.run();
  return watch.stop() / repeats;
}

struct budget {
  double seconds;   // for each contestant
  double precision; // half the interval of a median, over the median
};
budget budget_of(effort how) {
  switch (how) {
  case effort::quick:
    return {.1, .05};
  case effort::normal:
    return {.5, .02};
  case effort::thorough:
    break;
  }
  return {5, .01};
}

bool is_known(turns const& t, double precision) {
  statistic const s = t.bound.empty() ? statistic_of(t.seconds) : ratio_of(t);
  return s.high - s.low <= 2 * precision * s.median;
}

} // namespace

statistic statistic_of(std::vector<double> values) {
  if (values.empty())
    return {};
  std::sort(values.begin(), values.end());
  auto const n = static_cast<double>(values.size());
  auto const at = [&](double rank) {
    return values[static_cast<std::size_t>(std::clamp(rank + .5, 0.0, n - 1))];
  };
  statistic s;
  s.median = at(.5 * (n - 1));
  s.least = values.front();
  s.spread = s.median > 0 ? (at(.75 * (n - 1)) - at(.25 * (n - 1))) / s.median : 0;
  // The number of values below the true median is binomial: order statistics bound it, whatever
  // the distribution.
  double const reach = .98 * std::sqrt(n);
  s.low = at(.5 * (n - 1) - reach);
  s.high = at(.5 * (n - 1) + reach);
  return s;
}

statistic ratio_of(turns const& t) {
  std::vector<double> ratios;
  for (std::size_t r = 0; r < t.bound.size(); ++r)
    ratios.push_back(t.bound[r] / t.seconds[r]);
  return statistic_of(std::move(ratios));
}

std::vector<turns> measure(std::vector<contestant> const& contestants, contestant const* bound,
                           effort how, bool cold) {
  budget const allowed = budget_of(how);
  host_watch host;
  auto const repeats_of = [&](contestant const& c) {
    turn(c, host, 1, false);
    double const once = std::max(turn(c, host, 1, false), 1e-7);
    return cold ? 1 : std::max(1, static_cast<int>(std::ceil(least_turn / once)));
  };
  int const bound_repeats = bound ? repeats_of(*bound) : 0;
  std::vector<int> repeats;
  for (contestant const& c : contestants)
    repeats.push_back(repeats_of(c));
  std::vector<turns> all(contestants.size());
  double const end = now() + allowed.seconds * static_cast<double>(contestants.size());
  for (std::size_t round = 0; !contestants.empty(); ++round) {
    // Each round begins with another one: who comes after whom would else be the same each time.
    for (std::size_t k = 0; k < contestants.size(); ++k) {
      std::size_t const c = (k + round) % contestants.size();
      if (bound)
        all[c].bound.push_back(turn(*bound, host, bound_repeats, cold));
      if (contestants[c].product && !cold) {
        turn(contestants[c], host, 1, cold);
        taken const t = turn_with_products(contestants[c], host, repeats[c]);
        all[c].seconds.push_back(t.call);
        all[c].product.push_back(t.product);
      } else {
        all[c].seconds.push_back(turn(contestants[c], host, repeats[c], cold));
      }
    }
    bool const over = now() >= end;
    if (round + 1 >= least_rounds &&
        (over || std::all_of(all.begin(), all.end(),
                             [&](auto const& t) { return is_known(t, allowed.precision); })))
      break;
  }
  return all;
}

} // namespace tulle::bench

// SPDX-License-Identifier: Apache-2.0

/// Records, sorted into what the page shows: groups of races, and sweeps.
#pragma once
#include "bench/html/svg.hpp"
#include "bench/record.hpp"

#include <string>
#include <vector>

namespace tulle::bench::html {

/// A record under the name that the page gives it: its label, with the threads where a file has the
/// same label with several.
struct entry {
  record const* r;
  std::string name;
};

/// Those who computed the same: one matrix, one number of columns, one state of the caches.
struct race {
  std::string name;          ///< the matrix, and what tells it from its neighbours
  record const* problem;     ///< any record of it, for rows, entries and the like
  std::vector<entry> ranked; ///< verified and timed, fastest first
  std::vector<entry> wrong, untimed;

  /// The fastest of tulle's, or of the peers; nullptr where there is none.
  entry const* best(bool own) const;
  /// Whether tulle, or a peer, took part, be it with a wrong result.
  bool took_part(bool own) const;
  /// Whether tulle took part and a peer won.
  bool lost() const;
  /// The fastest of that name.
  entry const* find(std::string const& name) const;
  /// tulle's csr, against which conversions are weighed.
  entry const* plain_csr() const;
  /// The fastest that reads csr as it is, a peer's too: "csr", "csr alg1 preprocessed", not "csr5".
  entry const* fastest_csr() const;
  /// How much longer than the winner r takes: 1 or more. r must be ranked.
  double behind(record const& r) const;
};

/// A name over all races of a group, and how it is drawn in all plots of the group.
struct contender {
  std::string name;
  bool own = false;
  look how;
  double score = 0; ///< mean over races of winner's time over its own, 0 where it is missing
};

/// One operation on one backend with one type of value.
struct group {
  std::string title, id;
  std::string op;
  std::vector<race> races;
  std::vector<contender> contenders; ///< best first
  bool has_ratio = false; ///< some have a csr_bound_ratio; else GFlop/s stand in its place

  double speed(record const& r) const { return has_ratio ? r.csr_bound_ratio : r.gflops; }
};

/// One option of one contestant on one matrix.
struct sweep {
  std::string matrix, what, option;
  std::vector<record const*> points; ///< numbers ascending, words as they came
  bool numeric = false;
  bool has_ratio = false; ///< as in group

  double speed(record const& r) const { return has_ratio ? r.csr_bound_ratio : r.gflops; }
};

struct model {
  std::vector<group> groups;
  std::vector<sweep> sweeps;
};

/// Points into r, which must outlive it.
model arrange(results const& r);

/// Neither zero nor NaN nor infinite.
bool positive(double v);
/// Verified, and with a time that can be divided by.
bool timed(record const& r);
/// Whether r has an interval that can be drawn.
bool has_interval(record const& r);
enum class verdict { beyond_noise, within_noise };
/// Of two ranked records: whether their intervals overlap, or where they have none, their
/// quartiles.
verdict compare(record const& fast, record const& slow);

double flops_per_byte(record const& r); ///< 0 where unknown
double row_length(record const& r);     ///< mean, 0 without rows
double geometric_mean(std::vector<double> const& values);
double median(std::vector<double> values);
/// How often faster n calls with conversion are than n of plain csr without: 0 where unknown.
double speedup_after(double calls, record const& r, record const& csr);

/// What conversion costs a contender in calls, and leaves of its gain over a csr: one for each race
/// in which both took part.
struct weighed {
  std::vector<double> conversion, at_50, at_500;
  std::vector<double> pays; ///< calls after which it has paid; inf where never
};
weighed weigh(group const& g, contender const& c, entry const* (race::*csr)() const);

} // namespace tulle::bench::html

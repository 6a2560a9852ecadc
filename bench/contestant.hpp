// SPDX-License-Identifier: Apache-2.0

/// Someone who computes a problem: a format of tulle's, or a peer.
#pragma once
#include <functional>
#include <memory>
#include <string>

namespace tulle::bench {

/// How calls are timed where the host's clock does not do: on a GPU, by events.
class stopwatch {
public:
  virtual ~stopwatch() = default;
  virtual void start() = 0;
  /// Seconds since start(), when all that was begun has ended.
  virtual double stop() = 0;
  /// Puts out of the caches what contestants left there.
  virtual void flush() = 0;
};

struct contestant {
  std::string peer; ///< empty for tulle's own
  std::string backend = "cpu";
  std::string format = "csr"; ///< or what the peer calls what it runs: sell, alg2
  std::string path;           ///< library, version, what ran: "oneMKL 2025.0, optimised, 2 threads"
  int threads = 0;            ///< 0: as many as the problem says
  double convert_seconds = 0; ///< from csr, planning and tuning included
  std::size_t bytes = 0;      ///< of the matrix as it multiplies
  std::size_t peak_bytes = 0; ///< with plan and workspace; of spgemm: beyond inputs and result
  std::string option, option_value; ///< of a sweep: "threads", "4"
  std::string why;                  ///< of optimize: what was picked, and for what reason
  bool is_bound = false; ///< not a contestant but the copy that others are measured against

  /// One call. Its result stays where the contestant keeps it.
  std::function<void()> run;
  /// Of conversions: a product by what run() made, in turns with it, as between time steps. What
  /// run() takes is told in these, too.
  std::function<void()> product;
  /// Copies the result of the last run(): V[] for spmv and spmm, into a csr<V, I, I> for most
  /// others; problem.hpp says what. Empty where the problem itself is changed.
  std::function<void(void* to)> result;
  /// Overwrites the result, so that a run that does nothing is found out. May be empty where the
  /// result is a matrix.
  std::function<void()> poison;
  /// Where it is set, a call is timed by it and run() is not: peers in another process.
  std::function<double()> timed_run;
  /// nullptr: the host's clock.
  std::shared_ptr<stopwatch> watch;
};

} // namespace tulle::bench

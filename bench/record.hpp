// SPDX-License-Identifier: Apache-2.0

/// What one measurement says, and files of them: a line of JSON for the run, then one for each
/// record.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace tulle::bench {

/// DESIGN 9's list. Times are of one call.
struct record {
  std::string matrix;
  std::size_t rows = 0, cols = 0, nnz = 0;
  std::string op;      ///< spmv, spmm, spgemm, ...
  std::string backend; ///< where it ran: cpu, or that of a device
  std::string format, path, value, index;
  int columns = 1; ///< of X and Y, for spmm
  int threads = 0;
  std::string cache; ///< warm or cold
  int turns = 0;     ///< how often it was timed
  double seconds = 0;
  double fastest = 0;
  double spread = 0; ///< of the times: between the quartiles, over the median
  double gflops = 0, gbytes_per_s = 0, bound_gbytes_per_s = 0;
  double csr_bound_ratio = 0;           ///< median over turns of bound time over time, side by side
  double ratio_low = 0, ratio_high = 0; ///< where that median lies, 95 times of 100
  double convert_seconds = 0, convert_calls = 0;
  std::size_t bytes = 0, peak_bytes = 0;
  bool verified = false;
  std::string peer;                 ///< empty for tulle's own
  std::string option, option_value; ///< of a sweep: "threads", "4"
  std::string why;                  ///< of optimize: what was picked, and for what reason
};

/// "tulle csr", "petsc sell", "eigen": what tables call it. A peer's format is left out where it is
/// csr.
std::string label(record const& r);

/// How much less time a takes than b, above 1 where it is faster: by their ratios to the bound
/// where both have one, since those were measured side by side and times of a busy machine were
/// not.
double times_faster(record const& a, record const& b);

/// The machine and the run, for a report's head.
struct run_info {
  std::string date, host_cpu, device, isa, compiler, version, command;
  int cores = 0, threads = 0;
  std::size_t l1d = 0, l2 = 0, l3 = 0;
  bool pinned = false;
  double steal = 0;                 ///< part of the time that the machine gave to others
  std::vector<std::string> remarks; ///< what a reader should know: busy neighbours, missing peers
};

struct results {
  run_info run;
  std::vector<record> records;
};

std::string json_line(run_info const& r);
std::string json_line(record const& r);
/// Reads a file that `--json` wrote. errc::io with file and line where it is not one.
results read_results(std::string const& path);

} // namespace tulle::bench

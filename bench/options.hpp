// SPDX-License-Identifier: Apache-2.0

/// What the command line says, and one line of its answer.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace tulle::bench {

struct options {
  std::vector<std::string> matrices;
  std::string suite;
  std::vector<std::string> formats{"all"};
  std::vector<std::string> peers{"all"};
  std::string value = "f64";
  std::string index = "i32";
  int threads = 0;
  std::string json;
  bool quick = false;
  bool cold = false;
};

/// One record of DESIGN 9's list; `peer` is empty for tulle's own.
struct record {
  std::string matrix;
  std::size_t rows = 0, cols = 0, nnz = 0;
  std::string op, backend, format, path, value, index;
  int threads = 0;
  double seconds = 0; ///< median of one call
  double fastest = 0;
  double spread = 0; ///< between the quartiles, over the median
  double gflops = 0, gbytes_per_s = 0, bound_gbytes_per_s = 0, csr_bound_ratio = 0;
  double convert_seconds = 0, convert_calls = 0;
  std::size_t bytes = 0, peak_bytes = 0;
  bool verified = false;
  std::string peer;
};

} // namespace tulle::bench

// SPDX-License-Identifier: Apache-2.0

/// What the command line says.
#pragma once
#include "bench/record.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace tulle::bench {

/// How much time a measurement may take.
enum class effort { quick, normal, thorough };

struct options {
  std::vector<std::string> matrices;
  std::string suite;
  std::string folder; ///< of files, for the suites real and thesis
  std::string backend = "cpu";
  std::vector<std::string> formats{"all"};
  std::vector<std::string> peers{"all"};
  std::string value = "f64";
  std::string index = "i32";
  std::vector<int> columns{8, 32, 128}; ///< of spmm and trsm
  std::vector<std::string> methods;     ///< of spmv and spgemm: beside the default one; all
  bool transposed = false;              ///< of spmv: y = A^T x
  bool upper = false;                   ///< of trsv and trsm: the upper triangle
  std::string product = "aa";           ///< of spgemm: aa, aat
  std::string with = "shift";           ///< of add: shift, same, transpose
  int threads = 0;
  std::size_t memory = 0; ///< bytes that contestants may hold together; 0: by what is available
  std::string sweep;      ///< "threads=1,2,4"
  std::string json;       ///< a file; "-": standard output; empty: none
  effort how = effort::normal;
  bool cold = false;
  /// Told the records of each group of contestants when they are there. May be empty.
  std::function<void(std::vector<record> const&)> on_records;
};

} // namespace tulle::bench

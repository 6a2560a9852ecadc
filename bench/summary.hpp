// SPDX-License-Identifier: Apache-2.0

/// How tulle stands against the best peer on each of many matrices: what a suite of real matrices
/// ends with, and what the plot shows.
#pragma once
#include "bench/record.hpp"

#include <string>
#include <vector>

namespace tulle::bench {

/// One matrix. Ratios are times as fast as the best peer: above 1, tulle is faster. 0: nobody took
/// part whose ratio it would be.
struct standing {
  std::string matrix; ///< without folder and ending
  std::size_t nnz = 0;
  std::string peer;       ///< the fastest one
  double csr = 0;         ///< of csr as given
  double optimized = 0;   ///< of what optimize() picked
  double best = 0;        ///< of the best format
  std::string best_label; ///< which that is: "sell"
};

/// One operation on one backend with one type of value.
struct standings {
  std::string title;              ///< "SpMV · CPU · f64"
  std::string op, value;          ///< "spmv", "f64"
  std::vector<standing> lines;    ///< by csr's ratio, the furthest behind first
  std::vector<std::string> peers; ///< who took part, sorted
};

/// "xenon1" of "matrices/xenon1.mtx.gz"; what is no file stays as it is.
std::string matrix_name(std::string const& matrix);

/// Of matrices that tulle and a peer computed.
std::vector<standings> standings_of(results const& r);

/// Geometric means, then each matrix, losses first. Empty where nothing can be compared.
std::string summary(results const& r);

} // namespace tulle::bench

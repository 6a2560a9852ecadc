// SPDX-License-Identifier: Apache-2.0

/// One problem, all who compute it: each is verified, then all are measured in turns; in groups,
/// where memory does not hold all at once.
#pragma once
#include "bench/contestant.hpp"
#include "bench/options.hpp"
#include "bench/record.hpp"

#include <exception>
#include <functional>
#include <string>
#include <vector>

namespace tulle::bench {

/// Who is made when there is room, and holds memory until its group is measured.
struct entrant {
  std::string name;
  std::size_t bytes = 0; ///< that it may need, being made included
  std::function<std::vector<contestant>()> make;
  bool is_peer = false; ///< which takes no part where it throws; tulle's own only if unsupported
};

struct contest {
  record about;            ///< matrix, sizes, operation, types, threads: what all records share
  double flops = 0;        ///< of one call
  double bound_bytes = 0;  ///< what the bound moves; 0: there is none
  double moved_bytes = 0;  ///< by everyone, where the matrix in memory is not what counts: a file
  double vector_bytes = 0; ///< moved beside the matrix
  std::vector<contestant> contestants; ///< with the bound among them, where there is one
  std::vector<entrant> entrants;       ///< beside those
  /// Whether what the last run of that one left is right.
  std::function<bool(contestant const&)> verify;
};

/// A contestant whose result is wrong, or who throws, is in the records as such and is not timed.
/// Entrants for which memory does not suffice are left out, and a remark says so.
std::vector<record> hold(contest const& c, options const& o, std::vector<std::string>& remarks);

/// The remark about a peer that threw.
std::string took_no_part(std::string const& peer, std::exception const& why);

} // namespace tulle::bench

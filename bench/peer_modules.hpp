// SPDX-License-Identifier: Apache-2.0

/// The peers that were built: libtulle_peer_<name>.so in the folders of TULLE_PEERS, else beside
/// the program. Loaded when asked for the first time, and never unloaded: contestants hold their
/// code.
#pragma once
#include "bench/contest.hpp"
#include "bench/problem.hpp"

#include <string>
#include <vector>

namespace tulle::bench {

/// Names, sorted.
std::vector<std::string> peer_names();

/// What a peer offers for a problem: nothing where it does not know the operation or the types.
/// Throws what the peer throws; errc::backend where it cannot be loaded.
std::vector<contestant> ask_peer(std::string const& name, any_problem const& problem);

/// Whether a list from the command line names it: by name, or by "all".
bool is_wanted(std::vector<std::string> const& list, std::string const& name);
/// The wanted peers, each to be asked when there is room for `bytes`, which are guessed; of
/// "cusparse:reuse" those whose format begins with what follows the colon. errc::unsupported for a
/// name that is no peer's. The problem must outlive them.
std::vector<entrant> peer_entrants(std::vector<std::string> const& wanted,
                                   any_problem const& problem, std::size_t bytes);
/// All of them at once. A peer that fails is a remark.
std::vector<contestant> ask_peers(std::vector<std::string> const& wanted,
                                  any_problem const& problem, std::vector<std::string>& remarks);

} // namespace tulle::bench

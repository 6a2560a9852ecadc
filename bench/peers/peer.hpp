// SPDX-License-Identifier: Apache-2.0

/// What a peer's file includes. A peer is one file here and one line in bench/peers/CMakeLists.txt;
/// it is built as a module, libtulle_peer_<name>.so, so that a library that is missing or does not
/// load is one line of output and nothing worse.
///
///     template <class V, class I>
///     std::vector<contestant> contestants(spmv_problem<V, I> const& p) { ... }   // any overloads
///     TULLE_PEER
///
/// Operations and types without an overload are taken as not offered. An exception is one line of
/// output too. TULLE_PEER is for problems on the CPU; a peer elsewhere says TULLE_PEER_FOR("cuda").
#pragma once
#include "bench/contestant.hpp"
#include "bench/problem.hpp"

#include <vector>

namespace tulle::bench {

/// The one symbol of a module.
using peer_entry = void(any_problem const& problem, std::vector<contestant>& to);

} // namespace tulle::bench

#define TULLE_PEER TULLE_PEER_FOR("cpu")
#define TULLE_PEER_FOR(where)                                                                      \
  extern "C" __attribute__((visibility("default"))) void tulle_peer(                               \
      tulle::bench::any_problem const& problem, std::vector<tulle::bench::contestant>& to) {       \
    using namespace tulle::bench;                                                                  \
    if (problem.backend != where)                                                                  \
      return;                                                                                      \
    std::visit(                                                                                    \
        [&](auto const& op) {                                                                      \
          std::visit(                                                                              \
              [&](auto const& p) {                                                                 \
                if constexpr (requires { contestants(p); })                                        \
                  to = contestants(p);                                                             \
              },                                                                                   \
              op);                                                                                 \
        },                                                                                         \
        problem.op);                                                                               \
  }

// SPDX-License-Identifier: Apache-2.0
// Which functions may be called where? Control-flow analysis (0CFA) of a higher-order program: flow
// is a matrix that grows, since a call makes its argument flow to whatever function arrives there.
#include <cstdio>
#include <set>
#include <tulle/tulle.hpp>
#include <utility>
#include <vector>

// Places of a program: function f is 3 f, its parameter 3 f + 1, its result 3 f + 2; call sites
// follow, with what is called and what comes out.
struct call {
  int callee, argument, result; // places
};
struct program {
  int functions, places;
  std::vector<std::pair<int, int>> flow; // (to, from): a value at `from` may arrive at `to`
  std::vector<call> calls;
};

program generated() {
  int const functions = 30, sites = 60;
  program s{functions, 3 * functions + 2 * sites, {}, {}};
  unsigned seed = 7;
  auto const draw = [&](int n) {
    return static_cast<int>((seed = seed * 1664525 + 1013904223) >> 16) % n;
  };
  for (int c = 0; c < sites; ++c) {
    int const callee = 3 * functions + 2 * c;
    s.calls.push_back({callee, 3 * draw(functions) + (c % 2), callee + 1});
    // Called is a function by name, a parameter, or what another call returned.
    s.flow.emplace_back(callee, c % 3 == 0   ? 3 * draw(functions)
                                : c % 3 == 1 ? 3 * draw(functions) + 1
                                             : 3 * functions + 2 * draw(sites) + 1);
  }
  for (int f = 0; f < functions; ++f) // returns its parameter, a function, or what a call returned
    s.flow.emplace_back(3 * f + 2, f % 3 == 0   ? 3 * f + 1
                                   : f % 3 == 1 ? 3 * draw(functions)
                                                : 3 * functions + 2 * draw(sites) + 1);
  return s;
}

using pairs = std::set<std::pair<int, int>>; // (place, function)

// For each function, where it arrives: one at a time along the edges there are, by products with
// the flow so far; then calls of it add edges.
pairs by_matrix(program const& s, std::size_t& edges) {
  tulle::dynamic_csr<double> flow(s.places, s.places);
  pairs arrived, known(s.flow.begin(), s.flow.end());
  for (auto const& [to, from] : known)
    flow.insert(to, from, 1);
  std::vector<double> at(s.places), next(s.places);
  for (bool grown = true; grown;) {
    grown = false;
    for (int f = 0; f < s.functions; ++f) {
      at.assign(s.places, 0);
      at[3 * f] = 1;
      for (bool moved = true; moved;) {
        tulle::spmv(tulle::cpu{.threads = 1}, 1.0, flow, at, 0.0, next);
        moved = false;
        for (int p = 0; p < s.places; ++p)
          if (next[p] > 0 && at[p] == 0) {
            at[p] = 1;
            moved = true;
          }
      }
      for (int p = 0; p < s.places; ++p)
        if (at[p] > 0)
          arrived.emplace(p, f);
      for (call const& c : s.calls)
        if (at[c.callee] > 0) // its argument is f's parameter, f's result is its own
          for (auto const& e : {std::pair(3 * f + 1, c.argument), std::pair(c.result, 3 * f + 2)})
            if (known.insert(e).second) {
              flow.insert(e.first, e.second, 1);
              grown = true;
            }
    }
  }
  edges = known.size();
  return arrived;
}

// The same by the rules as they stand, until none adds anything.
pairs by_rules(program const& s) {
  std::vector<std::set<int>> at(s.places);
  for (int f = 0; f < s.functions; ++f)
    at[3 * f].insert(f);
  auto const include = [&](int to, int from) {
    std::size_t const before = at[to].size();
    std::set<int> const all = at[from];
    at[to].insert(all.begin(), all.end());
    return at[to].size() != before;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (auto const& [to, from] : s.flow)
      changed |= include(to, from);
    for (call const& c : s.calls)
      for (int const f : std::set<int>(at[c.callee])) {
        changed |= include(3 * f + 1, c.argument);
        changed |= include(c.result, 3 * f + 2);
      }
  }
  pairs all;
  for (int p = 0; p < s.places; ++p)
    for (int const f : at[p])
      all.emplace(p, f);
  return all;
}

int main() {
  program const s = generated();
  std::size_t edges = 0;
  pairs const found = by_matrix(s, edges);
  std::printf("%zu edges became %zu, %zu arrivals, %s\n", s.flow.size(), edges, found.size(),
              found == by_rules(s) ? "as by the rules" : "NOT as by the rules");
}

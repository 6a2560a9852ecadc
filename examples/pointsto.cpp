// SPDX-License-Identifier: Apache-2.0
// Which variables may a pointer point to? Inclusion-based (Andersen): copies are a matrix that
// grows while what it propagates is found, since  p = *q  copies from all that q may point to.
#include <cstdio>
#include <set>
#include <tulle/tulle.hpp>
#include <utility>
#include <vector>

using pairs = std::set<std::pair<int, int>>;
struct program {
  int variables;
  pairs address, copy, load, store; // p = &q, p = q, p = *q, *p = q, as (p, q)
};

// The points-to sets: P grows by C P, and C by what loads and stores copy through P.
pairs by_matrices(program const& s, int& rounds) {
  tulle::dynamic_csr<double> points(s.variables, s.variables), copies(s.variables, s.variables);
  pairs known = s.address, edges = s.copy;
  auto const insert = [](tulle::dynamic_csr<double>& a, pairs const& fresh) {
    std::vector<int> row, col;
    for (auto const& [i, j] : fresh) {
      row.push_back(i);
      col.push_back(j);
    }
    a.insert(row, col, std::vector<double>(row.size(), 1.0));
  };
  insert(points, known);
  insert(copies, edges);
  for (rounds = 1;; ++rounds) {
    auto const reached = tulle::spgemm(tulle::or_and(), copies.to_csr(), points.to_csr());
    pairs fresh, more;
    for (int p = 0; p < s.variables; ++p)
      for (int k = reached.row_ptr[p]; k < reached.row_ptr[p + 1]; ++k)
        if (known.emplace(p, reached.col[k]).second)
          fresh.emplace(p, reached.col[k]);
    for (auto const& [p, q] : s.load) // p = *q
      for (auto t = known.lower_bound({q, 0}); t != known.end() && t->first == q; ++t)
        if (edges.emplace(p, t->second).second)
          more.emplace(p, t->second);
    for (auto const& [p, q] : s.store) // *p = q
      for (auto t = known.lower_bound({p, 0}); t != known.end() && t->first == p; ++t)
        if (edges.emplace(t->second, q).second)
          more.emplace(t->second, q);
    if (fresh.empty() && more.empty())
      return known;
    insert(points, fresh);
    insert(copies, more);
  }
}

// The same, one constraint after the other until none says anything new.
pairs by_constraints(program const& s) {
  pairs known = s.address;
  auto const include = [&](int p, int q) { // what q points to, p does
    std::size_t const before = known.size();
    for (auto t = known.lower_bound({q, 0}); t != known.end() && t->first == q; ++t)
      known.emplace(p, t->second);
    return known.size() != before;
  };
  auto const pointed_to = [&](int q) {
    std::vector<int> all;
    for (auto t = known.lower_bound({q, 0}); t != known.end() && t->first == q; ++t)
      all.push_back(t->second);
    return all;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (auto const& [p, q] : s.copy)
      changed |= include(p, q);
    for (auto const& [p, q] : s.load)
      for (int const t : pointed_to(q))
        changed |= include(p, t);
    for (auto const& [p, q] : s.store)
      for (int const t : pointed_to(p))
        changed |= include(t, q);
  }
  return known;
}

int main() {
  program s{300, {}, {}, {}, {}};
  unsigned seed = 1;
  auto const draw = [&] {
    return static_cast<int>((seed = seed * 1664525 + 1013904223) >> 16) % 300;
  };
  for (int k = 0; k < 120; ++k) {
    s.address.emplace(draw(), draw());
    s.copy.emplace(draw(), draw());
    s.load.emplace(draw(), draw() % 60);
    s.store.emplace(draw() % 60, draw());
  }
  int rounds = 0;
  pairs const found = by_matrices(s, rounds);
  std::printf("%zu pairs in %d rounds, %s\n", found.size(), rounds,
              found == by_constraints(s) ? "as one by one" : "NOT as one by one");
}
